# SPDX-License-Identifier: Apache-2.0
"""Waiting: for one operation, or for all ranks."""
from horovod.common import basics


def poll(handle):
    """Whether the operation of a handle has ended, so that synchronize() returns at once.

    Waits for the other ranks to submit the operation too, but not for the data.
    """
    return basics.queue().poll(handle)


def synchronize(handle):
    """Waits for an asynchronous operation and returns its result: a tensor, or a list for a group.

    Raises HorovodInternalError where the ranks disagree on the operation or one of them is gone.
    """
    return basics.queue().wait(handle)


def barrier():
    """Returns when every rank has called it."""
    communicator = basics.communicator()
    synchronize(basics.queue().submit("barrier", None, "", lambda: [communicator.barrier_async()],
                                      lambda: None))
