# SPDX-License-Identifier: Apache-2.0
"""horovod.py LIBRARY RANKS [CHECKOUT] - horovod.torch's tests in jobs of some shapes.

A process for each rank. LIBRARY: libbatchai_collectives.so. RANKS: libgpu_ranks.so, by which the
ranks of a job find each other without a launcher (ranks.cpp); a job of one rank does without it.
All ranks are on this machine, count as those of the nodes that the shape says, and share its GPUs.
Runs horovod_ranks.py and the check of torch.distributed's backend; with a CHECKOUT of Horovod,
instead, its test_torch.py (which takes a GPU by the local rank, so that each rank is a node's).
Prints a line for each job, and what a rank has said where it failed. Exit: 0; 1 where a job failed;
77 without PyTorch.
"""
import contextlib
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
from importlib import metadata

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 150  # for a job; its ranks give up before that, and say where they are
SUITE_SECONDS = 400


class Job:
    """nodes: how many ranks each has. command: what rank.py takes."""

    def __init__(self, name, nodes, command, seconds=SECONDS, cwd=None):
        self.name, self.nodes, self.command = name, nodes, command
        self.seconds, self.cwd = seconds, cwd

    def run(self, library, ranks_library):
        """Returns what each rank has ended with, and what it has said."""
        with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
            folder = pathlib.Path(name)
            (folder / "board").touch()
            port = free_port()
            ranks = []
            for rank in range(sum(self.nodes)):
                log = stack.enter_context(open(folder / ("rank.%d" % rank), "w+b"))
                process = self._start(rank, folder, library, ranks_library, port, log)
                stack.callback(process.wait)
                stack.callback(process.kill)
                ranks.append((process, log))
            deadline = time.monotonic() + self.seconds
            return [self._end(process, log, deadline) for process, log in ranks]

    def _start(self, rank, folder, library, ranks_library, port, log):
        size = sum(self.nodes)
        node = [number for number, count in enumerate(self.nodes) for _ in range(count)][rank]
        environment = dict(os.environ, BATCHAI_COLLECTIVES_LIBRARY=library,
                           BATCHAI_COLL_NODE="n%d" % node, BATCHAI_COLL_TIMEOUT="60",
                           PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1",
                           MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                           RANK=str(rank), WORLD_SIZE=str(size),
                           PMI_RANK=str(rank), PMI_SIZE=str(size))
        return subprocess.Popen(
            [sys.executable, str(HERE / "rank.py"), ranks_library, str(folder / "board"), str(rank),
             str(size), str(self.seconds - 20)] + self.command,
            env=environment, cwd=self.cwd, stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT)

    @staticmethod
    def _end(process, log, deadline):
        try:
            code = process.wait(max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            code = "none: it does not end"
        log.seek(0)
        return code, log.read().decode("utf-8", "replace")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def own_jobs():
    tests = str(HERE / "horovod_ranks.py")
    backend = str(HERE.parent / "peers" / "torch_backend_check.py")
    jobs = [Job("horovod.torch", nodes, [tests]) for nodes in ([1], [2], [1, 1], [2, 2])]
    if torch_version() >= 2:  # as the backend needs
        jobs.append(Job("torch.distributed", [2, 2], [backend, "gpu"]))
    return jobs


def torch_version():
    """PyTorch's first number; 0: there is none."""
    try:
        return int(metadata.version("torch").split(".")[0])
    except metadata.PackageNotFoundError:
        return 0


def suite_jobs(checkout):
    tests = pathlib.Path(checkout).resolve() / "test" / "parallel"
    if not (tests / "test_torch.py").is_file():
        sys.exit("horovod.py: %s: no checkout of Horovod: there is no test/parallel/test_torch.py"
                 % checkout)
    command = ["-m", "pytest", "-p", "horovod_suite_plugin", "-q", "-rs", "--rootdir=.",
               "-p", "no:cacheprovider", "-W", "ignore", "--tb=short", "test_torch.py"]
    return [Job("test_torch.py", [1, 1], command, SUITE_SECONDS, tests)]


def main(library, ranks_library, checkout=None):
    """Runs all jobs; returns the exit code."""
    if torch_version() == 0:
        print("skipped: there is no PyTorch")
        return 77
    code = 0
    for job in own_jobs() if checkout is None else suite_jobs(checkout):
        begin = time.monotonic()
        ends = job.run(os.path.abspath(library), os.path.abspath(ranks_library))
        wrong = ["rank %d: exit %s\n%s" % (rank, end, text)
                 for rank, (end, text) in enumerate(ends) if end != 0]
        counts = re.findall(r"^(\d+ passed.*?) in ", ends[0][1], re.MULTILINE)
        print("%s, ranks %s: %s (%.1f s)" % (job.name, " + ".join(map(str, job.nodes)),
                                             "FAILED" if wrong else ", ".join(["ok"] + counts),
                                             time.monotonic() - begin), flush=True)
        if checkout is not None and not wrong:
            print("\n".join(re.findall("^SKIPPED.*", ends[0][1], re.MULTILINE)), flush=True)
        for text in wrong:
            print(text, flush=True)
            code = 1
    return code


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
