# SPDX-License-Identifier: Apache-2.0
"""horovod.py LIBRARY RANKS - runs horovod_ranks.py in jobs of some shapes, a process for each rank.

LIBRARY: libbatchai_collectives.so. RANKS: libgpu_ranks.so, by which the ranks of a job find each
other without a launcher (ranks.cpp); a job of one rank does without it. All ranks are on this
machine, count as those of the nodes that the shape says, and share its GPUs. Prints a line for each
job, and what a rank has said where it failed. Exit: 0; 1 where a job failed.
"""
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SHAPES = ([1], [2], [1, 1], [2, 2])  # ranks of each node
SECONDS = 150  # for a job; its ranks give up before that, and say where they are


def rank_of(nodes, rank, folder, library, ranks_library):
    """The process of a rank, and the file that it writes to."""
    node = [number for number, count in enumerate(nodes) for _ in range(count)][rank]
    environment = dict(os.environ, BATCHAI_COLLECTIVES_LIBRARY=library,
                       BATCHAI_COLL_NODE="n%d" % node, BATCHAI_COLL_TIMEOUT="60",
                       PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1")
    log = open(folder / ("rank.%d" % rank), "w+b")
    command = [sys.executable, str(pathlib.Path(__file__).resolve().with_name("horovod_ranks.py")),
               ranks_library, str(folder / "board"), str(rank), str(sum(nodes)), str(SECONDS - 20)]
    return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                            stderr=subprocess.STDOUT), log


def run(nodes, library, ranks_library):
    """Runs a job. Returns what its ranks have said that failed; empty: all is well."""
    wrong = []
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        (folder / "board").touch()
        ranks = []
        for rank in range(sum(nodes)):
            process, log = rank_of(nodes, rank, folder, library, ranks_library)
            stack.callback(log.close)
            stack.callback(process.wait)
            stack.callback(process.kill)
            ranks.append((process, log))
        deadline = time.monotonic() + SECONDS
        for rank, (process, log) in enumerate(ranks):
            try:
                code = process.wait(max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                code = "none: it does not end"
            if code != 0:
                log.seek(0)
                wrong.append("rank %d: exit %s\n%s" % (rank, code,
                                                       log.read().decode("utf-8", "replace")))
    return wrong


def main(library, ranks_library):
    """Runs all jobs; returns the exit code."""
    code = 0
    for nodes in SHAPES:
        begin = time.monotonic()
        wrong = run(nodes, os.path.abspath(library), os.path.abspath(ranks_library))
        print("ranks %s: %s (%.1f s)" % (" + ".join(map(str, nodes)), "FAILED" if wrong else "ok",
                                         time.monotonic() - begin), flush=True)
        for text in wrong:
            print(text, flush=True)
            code = 1
    return code


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
