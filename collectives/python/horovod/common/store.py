# SPDX-License-Identifier: Apache-2.0
"""One object on disk, in $BATCHAI_RESTART_DIRECTORY, which all nodes and attempts see."""
import os
import pickle

from horovod.common import basics, files
from horovod.common.elastic import ObjectState
from horovod.common.objects import broadcast_object

_NAME = "state.pickle"


class ObjectStore(object):
    """directory: None where the launcher names none; then nothing is kept."""

    def __init__(self):
        self.directory = os.environ.get("BATCHAI_RESTART_DIRECTORY") or None

    def keep(self, value):
        """Writes it. The file is complete or it is not there."""
        if self.directory is None:
            return
        with files.entered(self.directory, make=True) as place:
            files.write_own(os.path.join(place, _NAME), lambda file: pickle.dump(value, file, 2))

    def load(self):
        """The kept object, or None."""
        if self.directory is None:
            return None
        with files.entered(self.directory) as place:
            if place is None or not files.exists(os.path.join(place, _NAME)):
                return None
            with files.open_own(os.path.join(place, _NAME)) as file:
                return pickle.load(file)

    def remove(self):
        """Removes the file and, if nothing else is in it, the directory."""
        with files.entered(self.directory) as place:
            if place is not None and files.exists(os.path.join(place, _NAME)):
                os.unlink(os.path.join(place, _NAME))
        try:
            os.rmdir(self.directory)
        except OSError:
            pass  # not ours alone, or never made


class StoredState(ObjectState):
    """A state of plain objects and of arrays, which derived classes read and write."""

    def __init__(self, **kwargs):
        self._store, self._arrays = ObjectStore(), []
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
        if found is None:
            return False
        self._saved, self._arrays = found
        self.restore()
        return True

    def finish(self):
        if self._store.directory is not None:
            broadcast_object(None, 0)  # a rank that still works may fail, and need it
            if basics.rank() == 0:
                self._store.remove()
