# SPDX-License-Identifier: Apache-2.0
"""TensorFlow 1's and Keras 2's names on today's TensorFlow, for ``batchai-launch --compat tf1``.

sitecustomize.py imports it. ``import tensorflow`` gives TensorFlow 2 with tf.compat.v1's names
beside its own and without eager execution; ``keras`` and ``tensorflow.keras`` are tf_keras. A name that
neither has raises an error that says so. TensorFlow 1 stays as it is.
"""
import functools
import importlib
import importlib.abc
import importlib.machinery
import os
import sys
import types

_KERAS = "tf_keras.api._v1.keras"
_NAMES = ("keras", "tensorflow.keras")  # tf_keras is imported under both names
# Keras 2 calls its optimizers by either case.
_OPTIMIZERS = {"sgd": "SGD", "rmsprop": "RMSprop", "adagrad": "Adagrad", "adadelta": "Adadelta",
               "adam": "Adam", "adamax": "Adamax", "nadam": "Nadam"}


class _LazyKeras(types.ModuleType):
    """``tensorflow.keras``: the module of ``import keras``, imported at the first use."""

    def __getattr__(self, name):
        return getattr(importlib.import_module("keras"), name)


class _Missing(object):
    """A part of TensorFlow 1 that TensorFlow 2 does not have."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        raise AttributeError("%s.%s: TensorFlow 2 has no %s, and batchai-launch --compat tf1 does "
                             "not supply it" % (self._name, name, self._name))


class _Estimator(_Missing):
    """``tf.estimator``: models take its names of modes without an Estimator as well."""

    class ModeKeys(object):
        TRAIN, EVAL, PREDICT = "train", "eval", "infer"


def _complete_tensorflow(tf):
    """Adds tf.compat.v1's names to a TensorFlow 2 that was just loaded."""
    v1 = tf.compat.v1
    v1.disable_v2_behavior()
    for name in dir(v1):
        if not name.startswith("_") and not hasattr(tf, name):
            setattr(tf, name, getattr(v1, name))
    for name in ("get_variable", "variable_scope", "placeholder", "layers", "losses", "metrics", "train"):
        if hasattr(v1, name):
            setattr(tf, name, getattr(v1, name))
    tf.keras = _LazyKeras("tensorflow.keras")
    if not hasattr(tf, "contrib"):
        tf.contrib = _Missing("tf.contrib")
    if not hasattr(tf, "estimator"):
        tf.estimator = _Estimator("tf.estimator")
    if os.environ.get("PMIX_RANK", "0") == "0":
        sys.stderr.write("batchai: compat tf1: TensorFlow 1's and Keras 2's names on TensorFlow %s and "
                         "tf_keras %s\n" % (tf.__version__, _version_of_keras()))


def _version_of_keras():
    import importlib.metadata  # which Pythons of TensorFlow 1 do not have
    try:
        return importlib.metadata.version("tf_keras")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


def _complete_keras(keras):
    """The same for tf_keras."""
    import tensorflow
    import tf_keras
    if tensorflow.keras is keras:
        return
    keras.__version__ = tf_keras.__version__
    tensorflow.keras = keras
    _use_one_worker(importlib.import_module("tf_keras.src.engine.training_v1").Model)
    for old, new in _OPTIMIZERS.items():
        if not hasattr(keras.optimizers, old):
            setattr(keras.optimizers, old, getattr(keras.optimizers, new))


def _use_one_worker(model):
    """Lets fit_generator() read its data in one thread: with several, tf_keras fails in validation."""
    fit_generator = model.fit_generator

    @functools.wraps(fit_generator)
    def in_one_thread(self, *args, **kwargs):
        kwargs.pop("workers", None)
        return fit_generator(self, *args, **kwargs)
    model.fit_generator = in_one_thread


class _Completing(importlib.abc.Loader):
    """Another loader, after which TensorFlow is completed."""

    def __init__(self, loader):
        self._loader = loader

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        if int(module.__version__.split(".")[0]) >= 2:
            _complete_tensorflow(module)


class _Alias(importlib.abc.Loader):
    """A module under another name."""

    def __init__(self, name):
        self._name = name

    def create_module(self, spec):
        import tensorflow  # which is completed first  # noqa: F401
        try:
            module = importlib.import_module(self._name)
        except ModuleNotFoundError as error:
            advice = ("install tf_keras beside TensorFlow" if error.name == "tf_keras"
                      else "tf_keras does not have it")
            raise ImportError("batchai-launch --compat tf1: %s: %s: %s"
                              % (spec.name, error, advice)) from None
        if spec.name in _NAMES:
            _complete_keras(module)
        return module

    def exec_module(self, module):
        pass


def _keeps_its_own(name):
    """Whether the module is TensorFlow 1's, or imported by a TensorFlow that is being loaded."""
    import tensorflow
    version = getattr(tensorflow, "__version__", None)
    if version is None:
        return name.startswith("tensorflow.")
    return int(version.split(".")[0]) < 2


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "tensorflow":
            spec = importlib.machinery.PathFinder.find_spec(name, path)
            if spec is not None:
                spec.loader = _Completing(spec.loader)
            return spec
        for keras in _NAMES:
            if name == keras or name.startswith(keras + "."):
                if _keeps_its_own(name):
                    return None
                return importlib.machinery.ModuleSpec(name, _Alias(_KERAS + name[len(keras):]),
                                                      is_package=True)
        return None


os.environ["TF_USE_LEGACY_KERAS"] = "1"
sys.meta_path.insert(0, _Finder())
