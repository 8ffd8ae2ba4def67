# SPDX-License-Identifier: Apache-2.0
"""allgather, alone and in groups, waiting and not. Ranks may differ in the first dimension."""
import struct

import torch

from horovod.common import basics, library
from horovod.common.process_sets import global_process_set
from horovod.torch.ops import buffers
from horovod.torch.ops.allreduce import Average, grouped_allreduce
from horovod.torch.ops.handles import synchronize


def allgather_async(tensor, name=None, process_set=global_process_set):
    """Starts an allgather; returns a handle for poll() and synchronize().

    tensor: any type, at least one dimension; all dimensions but the first the same on all ranks
    (ValueError for a scalar). process_set: which ranks these are. The result is a new tensor: the
    ranks' tensors one after the other along the first dimension.
    """
    handle = _Allgather([tensor], process_set).submit(name)
    finish = handle.finish
    handle.finish = lambda: finish()[0]
    return handle


def grouped_allgather_async(tensors, name=None, process_set=global_process_set):
    """Like allgather_async() for a list of tensors, all or none of them; the result is a list."""
    return _Allgather(list(tensors), process_set).submit(name)


class _Allgather:
    """Ranks say first how many rows they have of each tensor."""

    def __init__(self, tensors, process_set):
        for tensor in tensors:
            buffers.check_dense(tensor)
            if tensor.dim() == 0:
                raise ValueError("horovod: allgather needs a dimension to gather along: reshape "
                                 "the scalar")
        self._communicator = basics.communicator(process_set)
        self._queue = basics.queue(process_set)
        self._devices = [tensor.device for tensor in tensors]
        self._sent = [buffers.for_transport(tensor) for tensor in tensors]
        self._received = []
        self.rows = []  # of each tensor, those of every rank

    def submit(self, name):
        shapes = ", ".join(buffers.shape(tensor, skip=1) for tensor in self._sent)
        return self._queue.submit("allgather", name, "of " + shapes, self._start, self._finish)

    def _start(self):
        layout = struct.Struct("<%dq" % len(self._sent))
        own = layout.pack(*map(len, self._sent))
        ranks = [layout.unpack(rows) for rows in self._communicator.allgather_bytes(own)]
        self.rows = list(zip(*ranks))
        self._received = [sent.new_empty((sum(rows), *sent.shape[1:]))
                          for sent, rows in zip(self._sent, self.rows)]
        return [self._gather(*parts) for parts in zip(self._sent, self._received, self.rows)]

    def _gather(self, sent, received, rows):
        row = buffers.row_bytes(sent)
        return self._communicator.allgatherv_async(sent.data_ptr(), received.data_ptr(),
                                                   [count * row for count in rows], library.UINT8)

    def _finish(self):
        return [received.to(device) for received, device in zip(self._received, self._devices)]


class _Differentiable(torch.autograd.Function):
    """This rank's gradient is the ranks' average of its rows' gradients, as in Horovod."""

    @staticmethod
    def forward(ctx, name, process_set, *tensors):
        operation = _Allgather(tensors, process_set)
        results = synchronize(operation.submit(name))
        ctx.name, ctx.process_set, ctx.rows = name, process_set, operation.rows
        return tuple(results)

    @staticmethod
    def backward(ctx, *gradients):
        name = None if ctx.name is None else ctx.name + ".gradient"
        reduced = grouped_allreduce(gradients, name=name, op=Average, process_set=ctx.process_set)
        own = ctx.process_set.rank()
        return (None, None, *[gradient.split(rows)[own]
                              for gradient, rows in zip(reduced, ctx.rows)])


def allgather(tensor, name=None, process_set=global_process_set):
    """The tensors of all ranks along the first dimension; differentiable. See allgather_async()."""
    return _Differentiable.apply(name, process_set, tensor)[0]


def grouped_allgather(tensors, name=None, process_set=global_process_set):
    """allgather() of a list of tensors; a list."""
    return list(_Differentiable.apply(name, process_set, *tensors))
