#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A plain mpi4py script: objects and buffers, and a result that only all ranks together can have."""
import array
import os

from mpi4py import MPI

comm = MPI.COMM_WORLD
assert comm.rank == int(os.environ["RANK"])
assert comm.allgather({"rank": comm.rank}) == [{"rank": r} for r in range(comm.size)]
mine, total = array.array("d", [comm.rank] * 1000), array.array("d", [0] * 1000)
comm.Allreduce(mine, total)
assert list(total) == [sum(range(comm.size))] * 1000
os.write(1, f"rank {comm.rank} of {comm.size} is fine\n".encode())  # a line in one write stays whole
