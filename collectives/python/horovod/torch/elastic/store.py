# SPDX-License-Identifier: Apache-2.0
"""Commits on disk, in $BATCHAI_RESTART_DIRECTORY, which all nodes and attempts see.

shared.pt, of rank 0: (number of the commit, the common state of all ranks). rank-N.pt: of the last
two commits of rank N, {number: its own state}. If ranks were ended in the middle of a commit, one of
the two goes with shared.pt. A file is complete or does not exist.
"""
import glob
import os

import torch

from horovod.common import files


class Store:
    """directory: None where the launcher names none; then nothing is kept."""

    def __init__(self):
        self.directory = os.environ.get("BATCHAI_RESTART_DIRECTORY") or None
        self._previous = {}

    def keep(self, rank, commit, shared, own):
        """Writes a commit. own: of this rank; shared counts on rank 0 only."""
        if self.directory is None:
            return
        with files.entered(self.directory, make=True) as place:
            if own:
                _write(place, "rank-%d.pt" % rank, {**self._previous, commit: own})
                self._previous = {commit: own}
            if rank == 0:
                _write(place, "shared.pt", (commit, shared))

    def load(self):
        """(commit, shared state, list of the ranks' own states), or None if there is no commit."""
        if self.directory is None:
            return None
        with files.entered(self.directory) as place:
            if place is None or not files.exists(os.path.join(place, "shared.pt")):
                return None
            commit, shared = _read(os.path.join(place, "shared.pt"))
            parts = []
            for path in sorted(_of_ranks(place), key=_number):
                kept = _read(path)
                fitting = [number for number in kept if number <= commit]
                if fitting:
                    parts.append(kept[max(fitting)])
            return commit, shared, parts

    def remove(self):
        """Removes the files and, if nothing else is in it, the directory."""
        with files.entered(self.directory) as place:
            if place is not None:
                for path in [os.path.join(place, "shared.pt")] + _of_ranks(place):
                    if files.exists(path):
                        os.unlink(path)
        try:
            os.rmdir(self.directory)
        except OSError:
            pass  # not ours alone, or never made


def _of_ranks(place):
    return glob.glob(os.path.join(place, "rank-*.pt"))


def _write(place, name, value):
    files.write_own(os.path.join(place, name), lambda file: torch.save(value, file))


def _read(path):
    with files.open_own(path) as file:
        return torch.load(file, map_location="cpu", weights_only=False)


def _number(path):
    return int(os.path.basename(path)[len("rank-"):-len(".pt")])
