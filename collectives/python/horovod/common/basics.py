# SPDX-License-Identifier: Apache-2.0
"""init and shutdown, and who this rank is.

Horovod's interface has one job per process: the global process set. A process that ends normally
shuts down by itself. One that fails (an uncaught exception, a nonzero exit) does not: it would wait
for ranks that wait for it, where its launcher should see it fail.
"""
import atexit
import os
import sys

from horovod.common import process_sets as sets
from horovod.common import stacks
from horovod.common.exceptions import HorovodInternalError
from horovod.common.library import Communicator
from horovod.common.process_sets import ProcessSet, global_process_set
from horovod.common.util import environment_flag, queue_options


def init(comm=None, process_sets=None):
    """Joins the job's ranks; collective. Does nothing where it is initialized already.

    The launcher says who belongs to the job (PMIx); a process without a launcher is a job of one
    rank. process_sets: a list of ProcessSet to register, the same on all ranks; also Horovod's word
    "dynamic", which says that more are added later, as they always may be. Raises ValueError for
    another ``comm`` than None, since every rank takes part, and for sets that cannot be;
    HorovodInternalError where the library or a rank is missing.
    """
    if comm is not None:
        raise ValueError("horovod: init: comm is not supported: every rank of the job takes part")
    wanted = _wanted(process_sets)
    if is_initialized():
        _register(wanted)
        return
    queue_options()  # raises its errors before other ranks wait for this one
    stacks.register()
    sets.begin(Communicator())
    _trace_as_asked()
    _failure_watch.install()
    atexit.register(_shutdown_at_exit)
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
        raise ValueError('horovod: init: process_sets: a list of ProcessSet, or "dynamic", is '
                         "wanted, not %r" % (process_sets,))
    return process_sets


def _register(process_sets):
    for process_set in process_sets:
        if process_set.process_set_id is None:
            sets.add_process_set(process_set)


def shutdown():
    """Leaves the job; collective. Operations not yet synchronized are lost. init() may follow."""
    if is_initialized():
        atexit.unregister(_shutdown_at_exit)
        _failure_watch.remove()
        sets.end()


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

    mark_cycles: mark where a cycle of operations that repeats itself begins anew. Raises ValueError
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
    if not path:
        return
    try:
        start_timeline(path, environment_flag("HOROVOD_TIMELINE_MARK_CYCLES"))
    except (HorovodInternalError, ValueError) as error:  # a job can do without
        print("horovod: HOROVOD_TIMELINE: %s" % error, file=sys.stderr)


def _not_built():
    """False: data goes through shared memory and UCX, none of Horovod's own transports."""
    return False


mpi_threads_supported = mpi_enabled = mpi_built = _not_built
gloo_enabled = gloo_built = nccl_built = ddl_built = ccl_built = cuda_built = rocm_built = _not_built


class _FailureWatch:
    """Knows whether the interpreter ends because the script failed."""

    def __init__(self):
        self._exit = None
        self._failed = False
        self.process = None  # a child forked from this one is not a rank

    def install(self):
        self.process = os.getpid()
        self._exit, sys.exit = sys.exit, self._noting_exit

    def remove(self):
        if sys.exit == self._noting_exit:  # else somebody wrapped it once more: leave theirs
            sys.exit = self._exit

    def failed(self):
        # The interpreter keeps an exception that nobody caught in sys.last_value.
        return self._failed or getattr(sys, "last_value", None) is not None

    def _noting_exit(self, status=None):
        self._failed = status not in (None, 0)
        self._exit(status)


_failure_watch = _FailureWatch()


def _shutdown_at_exit():
    if _failure_watch.process != os.getpid():
        return
    if _failure_watch.failed():
        sets.abandon()
    else:
        shutdown()
