# SPDX-License-Identifier: Apache-2.0
"""allgather, waiting and not. The tensors may differ between ranks in their first dimension."""
import struct

import torch

from horovod.common import basics, library
from horovod.common.process_sets import global_process_set
from horovod.torch.ops import buffers
from horovod.torch.ops.allreduce import Average, allreduce
from horovod.torch.ops.handles import synchronize


def allgather_async(tensor, name=None, process_set=global_process_set):
    """Starts an allgather; returns a handle for poll() and synchronize().

    tensor: any type, at least one dimension; all dimensions but the first the same on all ranks
    (ValueError for a scalar). process_set: which ranks these are. The result is a new tensor: the
    ranks' tensors one after the other along the first dimension.
    """
    buffers.check_dense(tensor)
    if tensor.dim() == 0:
        raise ValueError("horovod: allgather needs a dimension to gather along: reshape the scalar")
    return _Allgather(tensor, process_set).submit(name)


class _Allgather:
    """The library gathers as much from every rank, so shorter tensors travel padded."""

    def __init__(self, tensor, process_set):
        self._communicator = basics.communicator(process_set)
        self._queue = basics.queue(process_set)
        self._device = tensor.device
        self._sent = buffers.for_transport(tensor)
        self._rows = []  # of every rank
        self._received = None

    def submit(self, name):
        description = "of %s" % buffers.shape(self._sent, skip=1)
        return self._queue.submit("allgather", name, description, self._start, self._finish)

    def _start(self):
        communicator = self._communicator
        rows = communicator.allgather_bytes(struct.pack("<q", len(self._sent)))
        self._rows = [struct.unpack("<q", count)[0] for count in rows]
        longest = max(self._rows)
        if len(self._sent) < longest:
            padding = self._sent.new_zeros((longest - len(self._sent), *self._sent.shape[1:]))
            self._sent = torch.cat([self._sent, padding])
        self._received = self._sent.new_empty((communicator.size, *self._sent.shape))
        return [communicator.allgather_async(self._sent.data_ptr(), self._received.data_ptr(),
                                             buffers.byte_count(self._sent), library.UINT8)]

    def _finish(self):
        if min(self._rows) == max(self._rows):
            gathered = self._received.flatten(0, 1)
        else:
            gathered = torch.cat([part[:rows] for part, rows in zip(self._received, self._rows)])
        return gathered.to(self._device)


class _Differentiable(torch.autograd.Function):
    """This rank's gradient is the ranks' average of its rows' gradients, as in Horovod."""

    @staticmethod
    def forward(ctx, tensor, name, process_set):
        handle = allgather_async(tensor, name, process_set)
        ctx.rows, ctx.name, ctx.process_set = len(tensor), name, process_set
        return synchronize(handle)

    @staticmethod
    def backward(ctx, gradient):
        name = None if ctx.name is None else ctx.name + ".gradient"
        reduced = allreduce(gradient, name=name, op=Average, process_set=ctx.process_set)
        rows = synchronize(allgather_async(torch.tensor([ctx.rows]), None, ctx.process_set)).tolist()
        before = sum(rows[:ctx.process_set.rank()])
        return reduced[before:before + ctx.rows], None, None


def allgather(tensor, name=None, process_set=global_process_set):
    """The tensors of all ranks along the first dimension; differentiable. See allgather_async()."""
    return _Differentiable.apply(tensor, name, process_set)

