# SPDX-License-Identifier: Apache-2.0
"""A rank that makes communicators without a parent: of a session, and of groups, several times."""

import sys

from mpi4py import MPI

session = MPI.Session.Init()
group = session.Create_group("mpi://WORLD")
for turn in range(3):
    every = MPI.Intracomm.Create_from_group(group, f"every.{turn}")
    rank, ranks = every.Get_rank(), every.Get_size()
    assert every.allreduce(rank) == ranks * (ranks - 1) // 2
    halves = [group.Incl(range(ranks // 2)), group.Incl(range(ranks // 2, ranks))]
    mine = rank >= ranks // 2
    other = MPI.Intercomm.Create_from_groups(halves[mine], 0, halves[not mine], 0, f"halves.{turn}")
    assert other.Get_remote_size() == halves[not mine].Get_size()
    other.Barrier()
    other.Free()
    every.Free()
group.Free()
session.Finalize()
sys.stdout.write(f"rank {rank} of {ranks} is fine\n")
