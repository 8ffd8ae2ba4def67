# SPDX-License-Identifier: Apache-2.0
"""What every Python of a rank runs first: batchai-launch puts this folder on PYTHONPATH.

On a signal of the launcher, faulthandler writes the stacks of the process's threads to a file beside the rank's
progress page (collectives/comm/progress.hpp). It needs no help of the interpreter, which may be stuck in a call.
The launcher sends the signal only to a process that catches it and has the file open. Then the module that --compat
names is imported, and at last the sitecustomize that this one hides, as if this one were not there.
"""
import os
import sys

_SIGNAL = 57  # kStackSignal


def _write_stacks_on_signal(path):
    """Has no effect in Python 2, or where the signal is taken: a report of a hang has less in it then."""
    try:
        import faulthandler  # novm
        with open("/proc/self/status") as status:
            masks = dict(line.split(":", 1) for line in status)
        if any(int(masks[name], 16) >> (_SIGNAL - 1) & 1 for name in ("SigCgt", "SigIgn")):
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
        faulthandler.register(_SIGNAL, file=os.open(path, flags, 0o600), all_threads=True)
    except (AttributeError, ImportError, OSError, RuntimeError, TypeError, ValueError):
        pass


if os.environ.get("BATCHAI_COLL_PROGRESS"):
    _write_stacks_on_signal(os.environ["BATCHAI_COLL_PROGRESS"] + ".stack")
if os.environ.get("BATCHAI_COMPAT"):
    __import__("compat_" + os.environ["BATCHAI_COMPAT"])
_folder = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [_path for _path in sys.path if os.path.abspath(_path or ".") != _folder]
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402,F401  # without another one an ImportError, which site.py expects
