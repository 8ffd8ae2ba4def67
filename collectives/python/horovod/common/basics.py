# SPDX-License-Identifier: Apache-2.0
"""init and shutdown, and who this rank is.

Horovod's interface has one job per process; ``_job`` holds it. A process that ends normally shuts
down by itself. One that fails (an uncaught exception, a nonzero exit) does not: it would wait for
ranks that wait for it, where its launcher should see it fail.
"""
import atexit
import os
import sys

from horovod.common import stacks
from horovod.common.library import Communicator
from horovod.common.queue import Queue


class _Job:
    """The communicator and queue between init and shutdown; None outside."""

    communicator = None
    queue = None
    process = None  # a child forked from this one is not a rank


_job = _Job()


def init(comm=None, process_sets=None):
    """Joins the job's ranks; collective. Does nothing where it is initialized already.

    The launcher says who belongs to the job (PMIx); a process without a launcher is a job of one
    rank. ``comm`` and ``process_sets`` must be None: ValueError otherwise, since there are no
    subsets of ranks here. Raises HorovodInternalError where the library or a rank is missing.
    """
    if comm is not None or process_sets is not None:
        raise ValueError("horovod: init: comm and process_sets are not supported: every rank of "
                         "the job takes part")
    if _job.communicator is None:
        stacks.register()
        communicator = Communicator()
        _job.communicator, _job.queue = communicator, Queue(communicator)
        _job.process = os.getpid()
        _failure_watch.install()
        atexit.register(_shutdown_at_exit)


def shutdown():
    """Leaves the job; collective. Operations not yet synchronized are lost. init() may follow."""
    if _job.communicator is not None:
        communicator, operations = _job.communicator, _job.queue
        _job.communicator = _job.queue = None
        atexit.unregister(_shutdown_at_exit)
        _failure_watch.remove()
        operations.close()
        communicator.finalize()


def is_initialized():
    """True between init() and shutdown()."""
    return _job.communicator is not None


def queue():
    """The job's queue of operations. Raises ValueError where init() has not been called."""
    if _job.queue is None:
        raise ValueError("Horovod has not been initialized; use hvd.init().")
    return _job.queue


def communicator():
    """The job's communicator. Raises ValueError where init() has not been called."""
    queue()
    return _job.communicator


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

    def install(self):
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
    if _job.process == os.getpid() and not _failure_watch.failed():
        shutdown()
