# SPDX-License-Identifier: Apache-2.0
"""Values on disk, in $BATCHAI_RESTART_DIRECTORY, which all nodes and attempts see."""
import glob
import os
import pickle

from horovod.common import basics, files
from horovod.common.elastic import ObjectState
from horovod.common.objects import broadcast_object

_NAME = "state.pickle"  # of a StoredState's file


class Store(object):
    """Files of one value each. A file is complete or does not exist.

    patterns: the files that it may have. write(value, file) and read(file) pickle by default.
    directory: None where the launcher names none; then nothing is kept.
    """

    def __init__(self, patterns, write=lambda value, file: pickle.dump(value, file, 2),
                 read=pickle.load):
        self.directory = os.environ.get("BATCHAI_RESTART_DIRECTORY") or None
        self._patterns, self._write, self._read = patterns, write, read

    def keep(self, values):
        """Writes a dict of values by the names of their files."""
        if self.directory is None:
            return
        with files.entered(self.directory, make=True) as place:
            for name, value in values.items():
                files.write_own(os.path.join(place, name), lambda file: self._write(value, file))

    def load(self):
        """The kept values by the names of their files. OSError: a file is not this user's own."""
        if self.directory is None:
            return {}
        with files.entered(self.directory) as place:
            return {os.path.basename(path): self._value(path) for path in self._paths(place)}

    def remove(self):
        """Removes the files and, if nothing else is in it, the directory."""
        with files.entered(self.directory) as place:
            for path in self._paths(place):
                os.unlink(path)
        try:
            os.rmdir(self.directory)
        except OSError:
            pass  # not ours alone, or never made

    def _paths(self, place):
        """Those of the files that are there. place: None where the directory is missing."""
        if place is None:
            return []
        files.refresh(place)
        return [path for pattern in self._patterns
                for path in sorted(glob.glob(os.path.join(place, pattern)))]

    def _value(self, path):
        with files.open_own(path) as file:
            return self._read(file)


class StoredState(ObjectState):
    """A state of plain objects and of arrays, which derived classes read and write."""

    def __init__(self, **kwargs):
        self._store, self._arrays = Store([_NAME]), []
        super(StoredState, self).__init__(broadcast_object, basics.rank, **kwargs)

    def _read(self):
        """The current values, as a list of arrays."""
        raise NotImplementedError()

    def _write(self, arrays):
        """The reverse."""
        raise NotImplementedError()

    def save(self):
        self._arrays = self._read()
        super(StoredState, self).save()

    def restore(self):
        self._write(self._arrays)
        super(StoredState, self).restore()

    def sync(self):
        self._arrays = broadcast_object(self._read(), 0)
        self._write(self._arrays)
        super(StoredState, self).save()
        super(StoredState, self).sync()

    def keep(self):
        if basics.rank() == 0:
            self._store.keep({_NAME: (self._saved, self._arrays)})

    def load(self):
        found = broadcast_object(self._store.load() if basics.rank() == 0 else None, 0)
        if not found:
            return False
        self._saved, self._arrays = found[_NAME]
        self.restore()
        return True

    def finish(self):
        if self._store.directory is not None:
            broadcast_object(None, 0)  # a rank that still works may fail, and need it
            if basics.rank() == 0:
                self._store.remove()
