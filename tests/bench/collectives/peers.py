# SPDX-License-Identifier: Apache-2.0
"""The libraries that are compared: with which program and which settings each one runs, and whether it is there.
Each has the settings that are its best here, and those that its users have; docs/benchmarks.md says why."""

import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
OB1 = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader,tcp"}
UCX = {"OMPI_MCA_pml": "ucx", "OMPI_MCA_pml_ucx_tls": "any", "OMPI_MCA_pml_ucx_devices": "any", "OMPI_MCA_btl": "self"}
SM = {"OMPI_MCA_coll_sm_priority": "90"}
HAN = {"OMPI_MCA_coll_han_priority": "90"}


class Library:
    def __init__(self, name, program, environment=None, bound=True, nodes=(1, 4)):
        self.name, self.program = name, program
        self.environment = environment or {}
        self.bound = bound  # to cores, or the ranks run on any
        self.nodes = nodes  # from how many to how many: elsewhere it is the same as another one

    @property
    def is_ours(self):
        return self.program == "batchai"

    def command(self, build):
        return ["/usr/bin/python3", os.path.join(HERE, "torch_gloo.py")] if self.program == "torch" else [
            os.path.join(build, "tests/bench", self.program)]

    def missing(self, build):
        """Why it cannot run here; nothing where it can."""
        if self.program == "torch":
            found = subprocess.run(["/usr/bin/python3", "-c", "import torch.distributed"], capture_output=True, check=False)
            return "" if found.returncode == 0 else "PyTorch is not installed"
        return "" if os.path.exists(self.command(build)[0]) else "not installed when the benchmark was built"


LIBRARIES = [
    Library("batchai", "batchai"),
    Library("batchai-plain", "batchai", {"BENCH_BUFFERS": "plain"}, nodes=(1, 1)),
    Library("openmpi-ob1", "openmpi", OB1),
    Library("openmpi-ob1-sm", "openmpi", {**OB1, **SM}, nodes=(1, 1)),
    Library("openmpi-ob1-han", "openmpi", {**OB1, **HAN}, nodes=(2, 4)),
    Library("openmpi-ucx", "openmpi", UCX),
    Library("openmpi-ucx-han", "openmpi", {**UCX, **HAN}, nodes=(2, 4)),
    Library("mpich", "mpich"),
    # They have threads of their own beside the one that calls.
    Library("gloo", "gloo", {"BENCH_GLOO_ALGORITHM": "ring"}, bound=False),
    Library("gloo-bcube", "gloo", {"BENCH_GLOO_ALGORITHM": "bcube"}, bound=False),
    Library("torch", "torch", bound=False),
]
