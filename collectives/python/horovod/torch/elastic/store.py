# SPDX-License-Identifier: Apache-2.0
"""Commits of all ranks, on disk.

shared.pt, of rank 0: (number of the commit, the common state of all ranks). rank-N.pt: of the last
two commits of rank N, {number: its own state}. If ranks were ended in the middle of a commit, one of
the two goes with shared.pt.
"""
import torch

from horovod.common.store import Store

_SHARED = "shared.pt"


class Commits(Store):
    """Keeps and loads commits."""

    def __init__(self):
        super().__init__([_SHARED, "rank-*.pt"], torch.save, _read)
        self._previous = {}

    def keep(self, rank, commit, shared, own):
        """Writes a commit. own: of this rank; shared counts on rank 0 only."""
        values = {"rank-%d.pt" % rank: {**self._previous, commit: own}} if own else {}
        self._previous = {commit: own} if own else {}
        if rank == 0:
            values[_SHARED] = commit, shared
        super().keep(values)

    def load(self):
        """(commit, shared state, list of the ranks' own states), or None if there is no commit."""
        kept = super().load()
        if _SHARED not in kept:
            return None
        commit, shared = kept.pop(_SHARED)
        parts = []
        for name in sorted(kept, key=_rank):
            fitting = [number for number in kept[name] if number <= commit]
            if fitting:
                parts.append(kept[name][max(fitting)])
        return commit, shared, parts


def _read(file):
    return torch.load(file, map_location="cpu", weights_only=False)


def _rank(name):
    return int(name[len("rank-"):-len(".pt")])
