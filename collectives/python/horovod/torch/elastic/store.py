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
        files.make_directory(self.directory)
        if own:
            self._write("rank-%d.pt" % rank, {**self._previous, commit: own})
            self._previous = {commit: own}
        if rank == 0:
            self._write("shared.pt", (commit, shared))

    def load(self):
        """(commit, shared state, list of the ranks' own states), or None if there is no commit."""
        if self.directory is None or not files.exists(self._path("shared.pt")):
            return None
        commit, shared = _read(self._path("shared.pt"))
        parts = []
        for path in sorted(glob.glob(self._path("rank-*.pt")), key=_number):
            kept = _read(path)
            fitting = [number for number in kept if number <= commit]
            if fitting:
                parts.append(kept[max(fitting)])
        return commit, shared, parts

    def remove(self):
        """Removes the files and, if nothing else is in it, the directory."""
        files.check_place(self.directory)
        for path in [self._path("shared.pt")] + glob.glob(self._path("rank-*.pt")):
            if files.exists(path):
                os.unlink(path)
        try:
            os.rmdir(self.directory)
        except OSError:
            pass  # not ours alone, or never made

    def _path(self, name):
        return os.path.join(glob.escape(self.directory) if "*" in name else self.directory, name)

    def _write(self, name, value):
        files.write_own(self._path(name), lambda file: torch.save(value, file))


def _read(path):
    with files.open_own(path) as file:
        return torch.load(file, map_location="cpu", weights_only=False)


def _number(path):
    return int(os.path.basename(path)[len("rank-"):-len(".pt")])
