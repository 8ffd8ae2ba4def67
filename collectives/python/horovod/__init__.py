# SPDX-License-Identifier: Apache-2.0
"""Horovod's Python interface over libbatchai_collectives.

A training script written for Horovod (``import horovod.torch as hvd``) runs on it unchanged;
docs/horovod.md lists the names. Names without an implementation here are absent rather than imitated.

batchai-launch puts this package before all others. Where it says BATCHAI_HOROVOD=auto and another
Horovod is installed, compiled for some framework, that one takes this one's place.
"""
import importlib
import os
import sys

# The Horovod release whose interface this is, and whose it is.
__version__ = "0.28.1+batchai"


def _others():
    """The folders of other packages of this name that can be imported here; this one's copies are none."""
    own = os.path.realpath(os.path.dirname(__file__))
    for folder in sys.path:
        other = os.path.join(folder or ".", "horovod")
        place = os.path.join(other, "__init__.py")
        if os.path.realpath(other) == own or not os.path.isfile(place):
            continue
        with open(place, "rb") as file:
            if b"+batchai" not in file.read():
                yield other


def _is_compiled(package):
    """Whether a Horovod has been built for some framework."""
    folders = [os.path.join(package, framework) for framework in ("torch", "tensorflow", "mxnet")]
    return any(name.startswith("mpi_lib") and name.endswith(".so")
               for folder in folders if os.path.isdir(folder) for name in os.listdir(folder))


def _tell(text, other):
    """A line of rank 0, in the first of its processes."""
    if os.environ.get("HOROVOD_RANK", "0") == "0" and "BATCHAI_HOROVOD_TOLD" not in os.environ:
        os.environ["BATCHAI_HOROVOD_TOLD"] = "1"
        sys.stderr.write("horovod: %s %s\n" % (other, text))


def _give_way(other):
    """Becomes that package, under the name by which it is being imported."""
    own = os.path.realpath(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    _tell("is imported, which is installed; batchai-launch --horovod=batchai takes Batch AI's own",
          other)
    sys.path[:] = [folder for folder in sys.path if os.path.realpath(folder) != own]
    place = os.path.join(other, "__init__.py")
    with open(place) as file:
        code = compile(file.read(), place, "exec")
    globals().update(__path__=[other], __file__=place)
    exec(code, globals())


if os.environ.get("BATCHAI_HOROVOD") == "auto":
    for _other in sorted(_others(), key=_is_compiled, reverse=True)[:1]:
        if _is_compiled(_other):
            _give_way(_other)
        else:
            _tell("is not imported: it is not compiled for a framework, and Batch AI's own takes its "
                  "place; batchai-launch --horovod=system takes it", _other)


def __getattr__(name):
    """horovod.run, as Horovod has it (Python 3.7 and newer; else from horovod.runner).

    And frameworks' interfaces, where the framework is: PyTorch Lightning looks for them so.
    """
    if name == "run":
        from horovod.runner import run
        return run
    if name in ("torch", "tensorflow", "keras"):
        try:
            return importlib.import_module("horovod." + name)
        except ImportError:
            pass
    raise AttributeError("module 'horovod' has no attribute %r" % name)
