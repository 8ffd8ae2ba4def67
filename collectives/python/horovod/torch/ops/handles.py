# SPDX-License-Identifier: Apache-2.0
"""Waiting: for one operation, or for all ranks."""
from horovod.common import basics
from horovod.common.process_sets import global_process_set


def poll(handle):
    """Whether the operation of a handle has ended, so that synchronize() returns at once.

    Never waits.
    """
    return handle.queue.poll(handle)


def synchronize(handle):
    """Waits for an asynchronous operation and returns its result: a tensor, or a list for a group.

    Raises HorovodInternalError where the ranks disagree on the operation or one of them is gone.
    """
    return handle.queue.wait(handle)


def join(device=-1):
    """Says that this rank has no more data, and waits until all ranks have said so.

    Until then it takes part in the others' allreduces, sums and averages in host memory, with
    zeros; anything else that they submit is a HorovodInternalError. Returns the rank that joined
    last. device: Horovod's, of the zeros; not needed.
    """
    return synchronize(basics.queue().join())


def barrier(process_set=global_process_set):
    """Returns when every rank of the set has called it."""
    communicator = basics.communicator(process_set)
    synchronize(basics.queue(process_set).submit(
        "barrier", None, "", lambda: [communicator.barrier_async()], lambda: None))
