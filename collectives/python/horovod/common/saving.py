# SPDX-License-Identifier: Apache-2.0
"""Saving a model from several ranks at once.

Scripts that let every rank save to one path are common, and HDF5 fails where two of them write one
file. In a job of several ranks a model's file is written in a new directory beside its place, and
renamed: whatever ranks do at one moment, the file is a whole one, of the rank that was last.
"""
import functools
import os
import shutil
import tempfile
import threading

from horovod.common import basics

_ENDINGS = (".h5", ".hdf5", ".keras")
_inside = threading.local()  # .saving: the path is a rank's already


def install(keras):
    """Makes this Keras save so. Does nothing the second time."""
    models = {keras.models.Model, keras.models.Sequential}
    for cls in {owner for model in models for owner in model.__mro__}:
        for name in ("save", "save_weights"):
            if name in vars(cls):
                setattr(cls, name, _wrapped(vars(cls)[name]))
    for module in (keras.models, getattr(keras, "saving", None)):
        if hasattr(module, "save_model"):
            module.save_model = _wrapped(module.save_model)


def _wrapped(function):
    if hasattr(function, "_horovod_saves"):
        return function

    @functools.wraps(function)
    def save(model, filepath, *args, **kwargs):
        if not _applies(filepath, args, kwargs):
            return function(model, filepath, *args, **kwargs)
        filepath = os.path.abspath(os.fspath(filepath) if hasattr(os, "fspath")  # novm
                                   else filepath)
        folder, name = os.path.split(filepath)
        # In a directory of the user's own: in a shared one, others could put links in its place.
        own = tempfile.mkdtemp(prefix=".rank-%d." % basics.rank(), dir=folder)
        partial = os.path.join(own, name)
        _inside.saving = True
        try:
            result = function(model, partial, *args, **kwargs)
            os.rename(partial, filepath)
            return result
        finally:
            _inside.saving = False
            shutil.rmtree(own, ignore_errors=True)
    save._horovod_saves = True
    return save


def _applies(filepath, args, kwargs):
    if getattr(_inside, "saving", False) or not basics.is_initialized() or basics.size() == 1:
        return False
    if not isinstance(filepath, (str, type(u""))) and not hasattr(filepath, "__fspath__"):
        return False
    overwrite = kwargs.get("overwrite", args[0] if args else True)
    if overwrite is False:
        return False  # Keras asks where the file exists
    return str(filepath).endswith(_ENDINGS)
