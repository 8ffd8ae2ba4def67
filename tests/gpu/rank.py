# SPDX-License-Identifier: Apache-2.0
"""rank.py RANKS BOARD RANK SIZE SECONDS SCRIPT [ARGUMENT...] - a script as a rank of horovod.py's job.

The process joins the job (ranks.cpp) before the collective library asks for its rank, and runs the
script, or "-m MODULE", with horovod in its path. One that takes longer than SECONDS ends, and says
where it is.
"""
import ctypes
import faulthandler
import os
import pathlib
import runpy
import sys


def join(library, board, rank, size, seconds):
    faulthandler.enable()
    faulthandler.dump_traceback_later(int(seconds), exit=True, file=os.fdopen(os.dup(2), "w"))
    if int(size) == 1:
        return
    ranks = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    if ranks.gpu_ranks_join(os.fsencode(board), int(rank), int(size)) != 0:
        sys.exit("%s: there is no board for rank %s" % (board, rank))


def main(arguments):
    join(*arguments[:5])
    script, rest = arguments[5], arguments[6:]
    # Not this folder, whose horovod.py is no package.
    root = pathlib.Path(__file__).resolve().parents[2]
    sys.path[0] = str(root / "collectives" / "python")
    if script == "-m":
        sys.path[1:1] = [os.getcwd(), str(root / "tests" / "peers")]
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [script] + rest
        runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    if len(sys.argv) < 7:
        sys.exit(__doc__)
    main(sys.argv[1:])
