# SPDX-License-Identifier: Apache-2.0
"""A value on disk, in $BATCHAI_RESTART_DIRECTORY, which all nodes and attempts see."""
import os
import pickle

from horovod.common import basics, files
from horovod.common.elastic import ObjectState
from horovod.common.objects import broadcast_object


class Store(object):
    """A value in a file of this name, which is complete or does not exist.

    write(value, file) and read(file) pickle by default. directory: None where the launcher names
    none; then nothing is kept.
    """

    def __init__(self, name, write=lambda value, file: pickle.dump(value, file, 2),
                 read=pickle.load):
        self.directory = os.environ.get("BATCHAI_RESTART_DIRECTORY") or None
        self._name, self._write, self._read = name, write, read

    def keep(self, value):
        """Writes the value."""
        if self.directory is None:
            return
        with files.entered(self.directory, make=True) as place:
            files.write_own(os.path.join(place, self._name), lambda file: self._write(value, file))

    def load(self):
        """The kept value, or None. OSError: the file is not this user's own."""
        if self.directory is None:
            return None
        with files.entered(self.directory) as place:
            path = self._path(place)
            if path is None:
                return None
            with files.open_own(path) as file:
                return self._read(file)

    def remove(self):
        """Removes the file and, if nothing else is in it, the directory."""
        with files.entered(self.directory) as place:
            path = self._path(place)
            if path is not None:
                os.unlink(path)
        try:
            os.rmdir(self.directory)
        except OSError:
            pass  # not ours alone, or never made

    def _path(self, place):
        """The file's, if it is there. place: None where the directory is missing."""
        if place is None:
            return None
        files.refresh(place)
        path = os.path.join(place, self._name)
        return path if os.path.lexists(path) else None


class StoredState(ObjectState):
    """A state of plain objects and of arrays, which derived classes read and write."""

    def __init__(self, **kwargs):
        self._store, self._arrays = Store("state.pickle"), []
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
            self._store.keep((self._saved, self._arrays))

    def load(self):
        found = broadcast_object(self._store.load() if basics.rank() == 0 else None, 0)
        if not found:
            return False
        self._saved, self._arrays = found
        self.restore()
        return True

    def finish(self):
        if self._store.directory is not None:
            broadcast_object(None, 0)  # a rank that still works may fail, and need it
            if basics.rank() == 0:
                self._store.remove()
