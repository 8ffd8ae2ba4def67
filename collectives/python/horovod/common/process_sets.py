# SPDX-License-Identifier: Apache-2.0
"""Some of the job's ranks that work together, as Horovod has them, and the list of all such sets.

Each set has a communicator and a queue of its own on the ranks that are included; the job itself is
the set 0. ``basics`` begins and ends the list with the job; in between all ranks of the job together
add and remove sets.
"""
import collections
import itertools

from horovod.common.queue import Queue
from horovod.common.util import queue_options


class ProcessSet(object):
    """Ranks of the job, ascending; of use once it is registered (init() or add_process_set()).

    ``process_set_id`` is None where it is not registered; ``ranks`` are the job's numbers.
    ``queue`` and ``communicator`` are this package's own, None on ranks that are not included.
    """

    process_set_id = None
    queue = None
    communicator = None

    def __init__(self, ranks_or_comm):
        try:
            self.ranks = sorted(ranks_or_comm)
        except TypeError:
            self.ranks = [None]
        if not all(isinstance(rank, int) for rank in self.ranks):
            raise ValueError("horovod: ProcessSet: expected a list of ranks, not a communicator: got "
                             "%r" % (ranks_or_comm,))

    def size(self):
        """How many ranks it has. None where it is not registered."""
        return None if self.process_set_id is None else len(self.ranks)

    def rank(self):
        """This process's number among its ranks; ValueError on a rank that is not included.

        None where it is not registered. Arguments of operations are the job's numbers all the same.
        """
        return None if self.process_set_id is None else member(self).communicator.rank

    def included(self):
        """Whether this process is one of its ranks. None where it is not registered."""
        return None if self.process_set_id is None else self.communicator is not None

    def __repr__(self):
        return "ProcessSet(process_set_id=%s, ranks=%s, mpi_comm=None)" % (self.process_set_id,
                                                                           self.ranks)

    def _enter(self, communicator):
        """Registers it under the lowest free number. communicator: None where this rank is outside."""
        self._begin(communicator, next(number for number in itertools.count()
                                       if number not in _registered))
        _registered[self.process_set_id] = self

    def _begin(self, communicator, number):
        self.queue = None if communicator is None else Queue(communicator, **queue_options())
        self.communicator, self.process_set_id = communicator, number

    def _leave(self):
        """Ends its operations and its communicator; collective over its ranks."""
        communicator, queue = self.communicator, self.queue
        _registered.pop(self.process_set_id, None)
        self.process_set_id = self.communicator = self.queue = None
        if communicator is not None:
            try:
                queue.close()
            finally:  # after a failure too: init() may follow
                communicator.finalize()


_registered = collections.OrderedDict()  # process_set_id -> ProcessSet, the job's first; none outside a job
_groups = []  # of add_group()
global_process_set = ProcessSet([])


def begin(communicator):
    """The job begins: its communicator is the global set's."""
    global_process_set.ranks = list(range(communicator.size))
    global_process_set._enter(communicator)


def end():
    """The job ends: all sets do, the global one last, whatever fails. Collective."""
    failure = None
    ending = list(_registered.values()) + _groups
    del _groups[:]
    for process_set in reversed(ending):
        try:
            process_set._leave()
        except Exception as error:
            failure = failure or error
    if failure is not None:
        raise failure


def abandon():
    """The process ends without its ranks."""
    for process_set in list(_registered.values()) + _groups:
        if process_set.queue is not None:
            process_set.queue.abandon()
    _registered.clear()
    del _groups[:]


def registered(process_set):
    """The set, if it is registered; ValueError otherwise."""
    if not _registered:
        raise ValueError("Horovod has not been initialized; use hvd.init().")
    if not isinstance(process_set, ProcessSet):
        raise ValueError("horovod: expected a ProcessSet, got %r" % (process_set,))
    if process_set.process_set_id is None:
        raise ValueError("horovod: %r is not registered: pass it to hvd.init() or "
                         "hvd.add_process_set()" % process_set)
    return process_set


def member(process_set):
    """The set, if it is registered and this rank is included; ValueError otherwise."""
    if registered(process_set).communicator is None:
        raise ValueError("horovod: rank %d is not part of the process set of ranks %s"
                         % (global_process_set.communicator.rank, process_set.ranks))
    return process_set


def add_process_set(process_set):
    """Registers a ProcessSet, or a list of ranks, and returns the set.

    Collective over all ranks of the job, also those that are not in it. Raises ValueError for ranks
    that the job has not, or that are another set's; HorovodInternalError where the job's ranks
    disagree.
    """
    job = registered(global_process_set)
    if not isinstance(process_set, ProcessSet):
        process_set = ProcessSet(process_set)
    ranks = process_set.ranks
    if not ranks or len(set(ranks)) < len(ranks) or not set(ranks) <= set(job.ranks):
        raise ValueError("horovod: a process set of ranks %s: expected distinct ranks of a job of "
                         "%d ranks" % (ranks, job.size()))
    for other in _registered.values():
        if other.ranks == ranks:
            raise ValueError("horovod: a process set of ranks %s exists already, number %d"
                             % (ranks, other.process_set_id))

    def start():
        process_set._enter(job.communicator.split(ranks))
        return []

    job.queue.wait(job.queue.submit("process_set", "add", "of ranks %s" % ranks, start,
                                    lambda: None))
    return process_set


def remove_process_set(process_set):
    """Removes a set, with its operations that have not ended; collective over all ranks.

    Returns whether it has: the global set, and one that is not registered, cannot be removed.
    """
    job = registered(global_process_set)
    if process_set is job or process_set.process_set_id is None:
        return False

    def start():
        process_set._leave()
        return []

    job.queue.wait(job.queue.submit("process_set", "remove", "of ranks %s" % process_set.ranks,
                                    start, lambda: None))
    return True


def add_group(rank, ranks, exchange):
    """A set of ranks, in this order, that only they know of; this one is number ``rank`` of them.

    Collective over these ranks only; exchange: see Communicator.group(). It has the number -1, is in
    no list, and ends with the job. Another package's groups are such sets.
    """
    job = registered(global_process_set)
    process_set = ProcessSet(ranks)
    communicator = job.communicator.group(rank, ranks, exchange)
    try:
        process_set._begin(communicator, -1)
    except BaseException:
        communicator.finalize()
        raise
    _groups.append(process_set)
    return process_set
