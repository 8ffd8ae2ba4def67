# SPDX-License-Identifier: Apache-2.0
"""alltoall, waiting and not: rows of each rank's tensor to each rank, as many as it says."""
import torch

from horovod.common import basics, library
from horovod.common.process_sets import global_process_set
from horovod.torch.ops import buffers
from horovod.torch.ops.handles import synchronize


def alltoall_async(tensor, splits=None, name=None, process_set=global_process_set):
    """Starts an alltoall; returns a handle for poll() and synchronize().

    tensor: any type, at least one dimension; all dimensions but the first the same on all ranks.
    splits: how many of its rows go to each rank, in order of rank: a list or a tensor of one
    dimension whose sum is the first dimension. Without it every rank gets as many rows; ValueError
    where that cannot be. process_set: which ranks these are. The result is a new
    tensor of the rows from all ranks, in order of rank; with splits, that tensor and how many rows
    came from each rank (int32).
    """
    handle = _Alltoall(tensor, splits, process_set).submit(name)
    if splits is None:
        finish = handle.finish
        handle.finish = lambda: finish()[0]
    return handle


class _Alltoall:
    """Ranks say first how many rows they have for each other."""

    def __init__(self, tensor, splits, process_set):
        buffers.check_dense(tensor)
        if tensor.dim() == 0:
            raise ValueError("horovod: alltoall needs a dimension to split: reshape the scalar")
        self._communicator = basics.communicator(process_set)
        self._queue = basics.queue(process_set)
        size = self._communicator.size
        self._rows = _even(tensor, size) if splits is None else _checked(tensor, splits, size)
        self._devices = tensor.device, splits.device if torch.is_tensor(splits) else "cpu"
        self._sent = buffers.for_transport(tensor)
        self._received_rows = self._received = None

    def submit(self, name):
        description = "of %s" % buffers.shape(self._sent, skip=1)
        return self._queue.submit("alltoall", name, description, self._start, self._finish)

    def _start(self):
        self._received_rows = self._communicator.alltoall_numbers(self._rows)
        shape = (sum(self._received_rows), *self._sent.shape[1:])
        self._received = self._sent.new_empty(shape)
        row = buffers.row_bytes(self._sent)
        return [self._communicator.alltoallv_async(
            self._sent.data_ptr(), [rows * row for rows in self._rows], self._received.data_ptr(),
            [rows * row for rows in self._received_rows], library.UINT8)]

    def _finish(self):
        data, rows = self._devices
        return (self._received.to(data),
                torch.tensor(self._received_rows, dtype=torch.int32, device=rows))


def _even(tensor, size):
    if len(tensor) % size != 0:
        raise ValueError("horovod: alltoall: the first dimension, %d, is not a multiple of %d, the "
                         "number of ranks: pass splits" % (len(tensor), size))
    return [len(tensor) // size] * size


def _checked(tensor, splits, size):
    try:
        splits = torch.as_tensor(splits)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError("horovod: alltoall: splits %r: %s" % (splits, error)) from None
    if splits.shape != (size,):
        raise ValueError("horovod: alltoall: splits has the shape %s: expected one number for each "
                         "of %d ranks" % (list(splits.shape), size))
    if splits.dtype == torch.bool or splits.is_floating_point() or splits.is_complex():
        raise ValueError("horovod: alltoall: splits of %s are not integers" % splits.dtype)
    rows = splits.tolist()
    if min(rows) < 0 or sum(rows) != len(tensor):
        raise ValueError("horovod: alltoall: splits %s do not add up to the first dimension, %d"
                         % (rows, len(tensor)))
    return rows


class _Differentiable(torch.autograd.Function):
    """The gradients of the rows go back to where the rows came from."""

    @staticmethod
    def forward(ctx, tensor, splits, name, process_set):
        gathered, rows = synchronize(_Alltoall(tensor, splits, process_set).submit(name))
        ctx.rows, ctx.name, ctx.process_set = rows.tolist(), name, process_set
        ctx.mark_non_differentiable(rows)
        return gathered, rows

    @staticmethod
    def backward(ctx, gradient, _):
        name = None if ctx.name is None else ctx.name + ".gradient"
        returned, _ = synchronize(alltoall_async(gradient, ctx.rows, name, ctx.process_set))
        return returned, None, None, None


def alltoall(tensor, splits=None, name=None, process_set=global_process_set):
    """Rows of each rank's tensor to each rank; differentiable. See alltoall_async()."""
    gathered, rows = _Differentiable.apply(tensor, splits, name, process_set)
    return gathered if splits is None else (gathered, rows)
