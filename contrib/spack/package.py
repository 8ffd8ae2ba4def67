# SPDX-License-Identifier: Apache-2.0
"""Spack's recipe for batchai-slurm, from a checkout: it has no release yet.

In a repository of your own (``spack repo create``), as packages/batchai-slurm/package.py:

    spack develop --path CHECKOUT batchai-slurm@=main
    spack install batchai-slurm@=main
"""
from spack.package import *


class BatchaiSlurm(CMakePackage):
    """Runs Azure Batch AI jobs on a Slurm cluster, unchanged."""

    license("Apache-2.0")
    version("main")
    variant("cuda", default=False, description="Collectives on GPUs, with CUDA and NCCL")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("tomlplusplus", type="build")
    depends_on("fmt")
    depends_on("hwloc")
    depends_on("libmd")
    depends_on("libuv")
    depends_on("openssl@3:")
    depends_on("pmix@4:")
    depends_on("slurm")  # the site's own, as an external: the plugin is built for its release
    depends_on("sqlite@3:")
    depends_on("ucx")
    depends_on("python", type="run")
    depends_on("py-numpy", type="run")
    depends_on("cuda@12:", when="+cuda")
    depends_on("nccl@2.18:", when="+cuda")

    generator("ninja")

    def cmake_args(self):
        slurm = self.spec["slurm"].prefix
        return [
            self.define_from_variant("BATCHAI_CUDA", "cuda"),
            self.define("SLURM_INCLUDE_DIR", slurm.include),
            self.define("BATCHAI_SRUN", slurm.bin.srun),
        ]
