# SPDX-License-Identifier: Apache-2.0
"""The stacks of this process's threads, written when the launcher asks for them by a signal.

The launcher, which has named the rank's progress page (collectives/comm/progress.hpp) to it, looks for a
file beside it, sends the signal only to a process that catches it, and reads the file. The handler
is faulthandler's: it needs no help of the interpreter, which may be stuck in a call.
"""
import os

try:
    import faulthandler  # novm
except ImportError:  # Python 2
    faulthandler = None

_SIGNAL = 57  # kStackSignal
_SUFFIX = ".stack"
_file = None  # faulthandler keeps its number only


def register():
    """Has no effect without such a launcher, in Python 2, or where the signal is taken."""
    global _file
    page = os.environ.get("BATCHAI_COLL_PROGRESS")
    if not page or _file is not None or faulthandler is None:
        return
    try:
        if _is_taken(_SIGNAL):
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
        _file = os.fdopen(os.open(page + _SUFFIX, flags, 0o600), "a")
        faulthandler.register(_SIGNAL, file=_file, all_threads=True, chain=False)
    except (OSError, RuntimeError, ValueError):
        pass  # a report of a hang has less in it


def _is_taken(number):
    with open("/proc/self/status") as status:
        masks = dict(line.split(":", 1) for line in status)
    return any(int(masks[name], 16) >> (number - 1) & 1 for name in ("SigCgt", "SigIgn"))
