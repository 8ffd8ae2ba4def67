#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An mpi4py script as any other: says who it is and adds up the ranks. Nothing of ours in it."""
from mpi4py import MPI

comm = MPI.COMM_WORLD
total = comm.allreduce(comm.Get_rank(), op=MPI.SUM)
print("rank %d of %d on %s: the ranks add up to %d"
      % (comm.Get_rank(), comm.Get_size(), MPI.Get_processor_name(), total), flush=True)
