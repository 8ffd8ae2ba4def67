# SPDX-License-Identifier: Apache-2.0
"""Elastic jobs: state that outlives the ranks, for ``batchai-launch --restarts``.

In Horovod the ranks that are left form a smaller job in the same processes. Here the launcher ends
all ranks after a failure and starts all of them again, on the nodes that are left. They go on from
the last ``commit()``, which is in ``$BATCHAI_RESTART_DIRECTORY``, set by the launcher. A Slurm job
that is requeued (``--requeue-on``) goes on from there as well. Without that variable a commit stays
in memory, and no file is written.
"""
import functools


class State(object):
    """The state of a training, the same on all ranks.

    bcast_object: ``broadcast_object(object, root_rank)``; get_rank: ``rank()``.
    Derived classes implement save(), restore() and sync(), and choose the data that keep() and
    load() write and read.
    """

    def __init__(self, bcast_object, get_rank):
        self._bcast_object = bcast_object
        self._rank = get_rank
        self._reset_callbacks = []

    def register_reset_callbacks(self, callbacks):
        """Adds functions without arguments. They run when the job continues, perhaps with another size."""
        self._reset_callbacks.extend(callbacks)

    def on_reset(self):
        """Called on every rank when the job goes on after a failure, before sync()."""
        self.reset()
        for callback in self._reset_callbacks:
            callback()

    def on_hosts_updated(self, timestamp, update_res):
        """Does nothing: nodes change between attempts only."""

    def commit(self):
        """Saves the state where the next attempt finds it. All ranks, at the same point."""
        self.save()
        self.keep()

    def check_host_updates(self):
        """Does nothing: nodes change between attempts only."""

    def save(self):
        """Remembers the state as it is now."""
        raise NotImplementedError()

    def restore(self):
        """Goes back to the state that was saved last."""
        raise NotImplementedError()

    def sync(self):
        """Gives all ranks rank 0's state. Collective."""
        raise NotImplementedError()

    def reset(self):
        """Does what else a restart makes necessary. Nothing by default."""

    def keep(self):
        """Writes the state that was saved last to a place where it outlives the process."""

    def load(self):
        """Loads the state of an earlier attempt on all ranks; returns whether there was one. Collective."""
        return False

    def finish(self):
        """Removes the kept state: the job has done its work. Collective."""


class ObjectState(State):
    """A State of plain objects: each keyword argument is an attribute."""

    def __init__(self, bcast_object, get_rank, **kwargs):
        super(ObjectState, self).__init__(bcast_object, get_rank)
        self._names = list(kwargs)
        for name, value in kwargs.items():
            setattr(self, name, value)
        self._saved = kwargs

    def save(self):
        self._saved = {name: getattr(self, name) for name in self._names}

    def restore(self):
        for name, value in self._saved.items():
            setattr(self, name, value)

    def sync(self):
        self._saved = self._bcast_object(self._saved, 0)
        ObjectState.restore(self)  # and no more: a derived class has its own ways


def run_fn(func, reset):
    """Returns a function like func(state, ...) that continues from an earlier attempt's commit.

    reset: called if there was such an attempt. An error ends the rank: the launcher starts it again.
    """
    @functools.wraps(func)
    def wrapper(state, *args, **kwargs):
        if state.load():
            reset()
            state.on_reset()
        state.sync()
        result = func(state, *args, **kwargs)
        state.finish()
        return result
    return wrapper


def run(func):
    """Decorates func(state, ...): it continues from the state that an earlier attempt committed."""
    return run_fn(func, lambda: None)
