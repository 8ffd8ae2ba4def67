# SPDX-License-Identifier: Apache-2.0
"""init and shutdown, and the number of this rank.

Horovod's interface has one job per process: the global process set. A process that ends normally
calls shutdown() by itself. A process that fails (an uncaught exception, a nonzero exit) does not:
it would wait for ranks that wait for it, and the launcher would not see the failure.
"""
import atexit
import os
import struct
import sys

from horovod.common import process_sets as sets
from horovod.common import variables
from horovod.common.exceptions import HorovodInternalError
from horovod.common.library import Communicator
from horovod.common.process_sets import (ProcessSet, add_process_set, global_process_set,
                                         remove_process_set)
from horovod.common.util import (ccl_built, ddl_built, environment_flag, gloo_built, is_iterable,
                                 mpi_built, nccl_built, queue_options)

# What every framework's module offers of a job.
__all__ = [
    "ProcessSet", "add_process_set", "ccl_built", "cross_rank", "cross_size", "cuda_built",
    "ddl_built", "global_process_set", "gloo_built", "gloo_enabled", "init", "is_homogeneous",
    "is_initialized", "local_rank", "local_size", "mpi_built", "mpi_enabled",
    "mpi_threads_supported", "nccl_built", "rank", "remove_process_set", "rocm_built", "shutdown",
    "size", "start_timeline", "stop_timeline",
]
mpi_threads_supported = mpi_enabled = cuda_built = rocm_built = mpi_built
gloo_enabled = gloo_built


def init(comm=None, process_sets=None):
    """Joins the job's ranks; collective. Does nothing if it was called before.

    The launcher names the ranks of the job (PMIx). A process without a launcher is a job of one rank.
    comm: a list of the job's ranks, or an mpi4py communicator; these ranks become a job of their own.
    All ranks of the job call init(), each with the list that contains it, or all without a list.
    process_sets: a list of ProcessSet to register, the same on all ranks. Horovod's word "dynamic"
    is accepted and has no effect: sets can always be added later. Raises ValueError for wrong lists
    and sets, and HorovodInternalError if the library or a rank is missing.
    """
    wanted = _wanted(process_sets)
    _check_comm(comm)
    if is_initialized():
        _register(wanted)
        return
    queue_options()  # raises its errors before other ranks wait for this one
    variables.apply(int(os.environ.get("PMIX_RANK", "0")))
    job = _own_part(Communicator(), comm)
    _compare_nodes(job)
    sets.begin(job)
    _trace_as_asked()
    _failure_watch.install()
    try:
        _register(wanted)
    except BaseException:
        shutdown()
        raise


def _wanted(process_sets):
    """The argument of init() as a list. ValueError for anything else."""
    if process_sets is None or (isinstance(process_sets, str) and process_sets == "dynamic"):
        return []
    if not isinstance(process_sets, (list, tuple)) or any(
            not isinstance(process_set, ProcessSet) for process_set in process_sets):
        raise ValueError('horovod: init: process_sets: expected a list of ProcessSet or '
                         '"dynamic", got %r' % (process_sets,))
    return process_sets


def _check_comm(comm):
    """Raises ValueError unless comm is None, a list of ranks or a communicator of mpi4py."""
    if comm is None or hasattr(comm, "allgather"):
        return
    if not is_iterable(comm) or not all(isinstance(rank, int) for rank in comm):
        raise ValueError("horovod: init: comm: expected a list of ranks or an mpi4py "
                         "communicator, got %r" % (comm,))


def _own_part(job, comm):
    """The communicator of the ranks that comm names; the job's, where no rank names some.

    Collective over the job, which ends here where ranks name each other in different ways.
    """
    global _whole_job
    if hasattr(comm, "allgather"):
        comm = comm.allgather(job.rank)
    own = sorted(set(comm or range(job.size)))
    listed = bytearray(job.size)
    unknown = [rank for rank in own if not 0 <= rank < job.size]
    for rank in own if not unknown else []:
        listed[rank] = 1
    lists = [tuple(rank for rank, there in enumerate(bytearray(part)) if there)
             for part in job.allgather_bytes(bytes(listed))]
    wrong = [rank for rank, ranks in enumerate(lists)
             if rank not in ranks or any(lists[other] != ranks for other in ranks)]
    if wrong:
        size = job.size
        job.finalize()
        if unknown:
            raise ValueError("horovod: init: comm: ranks %s are not in a job of %d ranks"
                             % (unknown, size))
        raise ValueError("horovod: init: comm: rank %d is not in its own list, or a rank in it "
                         "passed another list: pass the same list on all of its ranks" % wrong[0])
    if len(lists[0]) == job.size:
        return job
    parts = [job.split(list(ranks)) for ranks in sorted(set(lists))]
    _whole_job = job
    return next(part for part in parts if part is not None)


_whole_job = None  # the communicator that the global set's was split from, if any


def _compare_nodes(job):
    global _homogeneous
    _homogeneous = len(set(job.allgather_bytes(struct.pack("<i", job.local_size)))) == 1


_homogeneous = True  # every node has as many ranks


def is_homogeneous():
    """Whether all nodes have the same number of ranks. ValueError before init()."""
    return size() > 0 and _homogeneous


def _register(process_sets):
    for process_set in process_sets:
        if process_set.process_set_id is None:
            add_process_set(process_set)


def shutdown():
    """Leaves the job; collective. Operations not yet synchronized are lost. init() may follow."""
    global _whole_job
    if not is_initialized():
        return
    _failure_watch.remove()
    job, _whole_job = _whole_job, None
    try:
        sets.end()
    finally:
        if job is not None:
            job.finalize()


def is_initialized():
    """True between init() and shutdown()."""
    return global_process_set.process_set_id is not None


def queue(process_set=global_process_set):
    """The set's queue of operations. ValueError before init(), and where this rank is outside."""
    return sets.member(process_set).queue


def communicator(process_set=global_process_set):
    """The set's communicator. ValueError before init(), and where this rank is outside."""
    return sets.member(process_set).communicator


def rank():
    """This process's number in the job, 0 to size() - 1. ValueError before init()."""
    return communicator().rank


def size():
    """How many ranks the job has. ValueError before init()."""
    return communicator().size


def local_rank():
    """This process's number among the ranks of its node. ValueError before init()."""
    return communicator().local_rank


def local_size():
    """How many ranks this node has. ValueError before init()."""
    return communicator().local_size


def cross_rank():
    """The number of this node among the nodes of the job. ValueError before init()."""
    return communicator().node_rank


def cross_size():
    """How many nodes the job has. ValueError before init()."""
    return communicator().node_count


def start_timeline(file_path, mark_cycles=False):
    """Begins a timeline of rank 0's operations, in Chrome's trace format; on other ranks nothing.

    mark_cycles: mark the start of each repetition of a cycle of operations. Raises ValueError
    before init(), HorovodInternalError where the file cannot be written. The environment variables
    HOROVOD_TIMELINE (the file) and HOROVOD_TIMELINE_MARK_CYCLES do the same in init().
    """
    if rank() == 0:
        queue().trace(file_path, mark_cycles)


def stop_timeline():
    """Ends the timeline, so that the file is complete. ValueError before init()."""
    if rank() == 0:
        queue().trace(None, False)


def _trace_as_asked():
    path = os.environ.get("HOROVOD_TIMELINE")
    if not path or path == "DYNAMIC":  # as in Horovod: start_timeline() will say where
        return
    try:
        start_timeline(path, environment_flag("HOROVOD_TIMELINE_MARK_CYCLES"))
    except (HorovodInternalError, ValueError) as error:  # a job can do without
        sys.stderr.write("horovod: HOROVOD_TIMELINE: %s\n" % error)


def _get_process_set_ids_and_ranks():
    """The ranks of each registered process set, by its number: for Horovod's tests."""
    return {number: list(process_set.ranks) for number, process_set in sets._registered.items()}


class _FailureWatch(object):
    """Knows whether the interpreter ends because the script failed."""

    def __init__(self):
        self._exit = None
        self._failed = False
        self.process = None  # a child forked from this one is not a rank

    def install(self):
        self.process = os.getpid()
        self._exit, sys.exit = sys.exit, self._noting_exit

    def remove(self):
        if sys.exit == self._noting_exit:  # else other code wrapped it once more: leave that
            sys.exit = self._exit

    def failed(self):
        # The interpreter keeps an uncaught exception in sys.last_value.
        return self._failed or getattr(sys, "last_value", None) is not None

    def _noting_exit(self, status=None):
        self._failed = status not in (None, 0)
        self._exit(status)


_failure_watch = _FailureWatch()


@atexit.register
def _shutdown_at_exit():
    if not is_initialized() or _failure_watch.process != os.getpid():
        return
    if _failure_watch.failed():
        sets.abandon()
    else:
        shutdown()
