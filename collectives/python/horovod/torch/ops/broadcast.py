# SPDX-License-Identifier: Apache-2.0
"""broadcast, in place and not, waiting and not."""
import torch

from horovod.common import basics, library
from horovod.common.process_sets import global_process_set
from horovod.torch.ops import buffers
from horovod.torch.ops.allreduce import Average, allreduce
from horovod.torch.ops.handles import synchronize


def _submit(tensor, output, root_rank, name, process_set):
    buffers.check_dense(tensor)
    communicator = basics.communicator(process_set)
    if not isinstance(root_rank, int) or root_rank not in process_set.ranks:
        raise ValueError("horovod: broadcast from rank %r, which is not one of the %d ranks that "
                         "take part" % (root_rank, communicator.size))
    root = communicator.ranks.index(root_rank)
    buffer = buffers.for_transport(tensor)
    if output is None and buffer.data_ptr() == tensor.data_ptr():
        buffer = buffer.clone()

    def start():
        return [communicator.broadcast_async(buffer.data_ptr(), buffers.byte_count(buffer),
                                             library.UINT8, root)]

    def finish():
        return buffer.to(tensor.device) if output is None else buffers.copy_back(output, buffer)

    description = "of %s from rank %d" % (buffers.shape(tensor), root_rank)
    return basics.queue(process_set).submit("broadcast", name, description, start, finish)


def broadcast_async(tensor, root_rank, name=None, process_set=global_process_set):
    """Starts sending root_rank's tensor to all ranks; returns a handle for poll() and synchronize().

    tensor: of the same shape and type (any) on all ranks. process_set: which ranks these are;
    root_rank is one of them, by its number in the job. The result is a new tensor.
    """
    return _submit(tensor, None, root_rank, name, process_set)


def broadcast_async_(tensor, root_rank, name=None, process_set=global_process_set):
    """Like broadcast_async(), but the result replaces the tensor's contents."""
    return _submit(tensor, tensor, root_rank, name, process_set)


class _Differentiable(torch.autograd.Function):
    """The root's gradient is the ranks' average, as in Horovod; the others' input has no effect."""

    @staticmethod
    def forward(ctx, tensor, root_rank, name, process_set):
        ctx.root_rank, ctx.name, ctx.process_set = root_rank, name, process_set
        return synchronize(broadcast_async(tensor, root_rank, name, process_set))

    @staticmethod
    def backward(ctx, gradient):
        name = None if ctx.name is None else ctx.name + ".gradient"
        mean = allreduce(gradient, name=name, op=Average, process_set=ctx.process_set)
        own = mean if basics.rank() == ctx.root_rank else torch.zeros_like(mean)
        return own, None, None, None


def broadcast(tensor, root_rank, name=None, process_set=global_process_set):
    """root_rank's tensor, as a new tensor on every rank; differentiable. See broadcast_async()."""
    return _Differentiable.apply(tensor, root_rank, name, process_set)


def broadcast_(tensor, root_rank, name=None, process_set=global_process_set):
    """Replaces the tensor's contents with root_rank's; see broadcast_async()."""
    return synchronize(broadcast_async_(tensor, root_rank, name, process_set))
