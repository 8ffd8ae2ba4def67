# SPDX-License-Identifier: Apache-2.0
"""reducescatter, alone and in groups, waiting and not: a part of the reduction for each rank."""
import torch

from horovod.common import basics
from horovod.common.process_sets import global_process_set
from horovod.torch.compression import Compression
from horovod.torch.ops import buffers
from horovod.torch.ops.allgather import allgather_async
from horovod.torch.ops.allreduce import Average, Sum, check, describe
from horovod.torch.ops.handles import synchronize


def _rows(tensor, size):
    """How many rows of the tensor each rank gets: as many, the first ranks one more."""
    return [len(tensor) // size + (rank < len(tensor) % size) for rank in range(size)]


def _submit(tensors, name, op, factors, process_set):
    check(tensors, op)
    if any(tensor.dim() == 0 for tensor in tensors):
        raise ValueError("horovod: reducescatter needs a dimension to split: reshape the scalar")
    communicator = basics.communicator(process_set)
    sent = [buffers.for_reduction(tensor, op, factors) for tensor in tensors]
    rows = [_rows(tensor, communicator.size) for tensor in tensors]
    received = [buffer.new_empty((own[communicator.rank], *buffer.shape[1:]))
                for buffer, own in zip(sent, rows)]

    def start():
        return [communicator.reduce_scatter_async(
            one.data_ptr(), other.data_ptr(), [count * one[:1].numel() for count in counts],
            buffers.reduction_type(one), op, *buffers.library_factors(one, factors))
                for one, other, counts in zip(sent, received, rows)]

    def finish():
        return [buffers.reduced(buffers.scaled(buffer, factors[1]), tensor)
                for tensor, buffer in zip(tensors, received)]

    return basics.queue(process_set).submit("reducescatter", name, describe(tensors, op, factors),
                                            start, finish)


def reducescatter_async(tensor, name=None, op=Average, process_set=global_process_set,
                        prescale_factor=1.0, postscale_factor=1.0):
    """Starts a reduction; every rank gets a part of it. Returns a handle for synchronize().

    tensor: at least one dimension, the same shape and type on all ranks; types, op and factors as
    of allreduce_async(). Its rows are divided among the ranks, in order, as evenly as can be: the
    first ranks get one more. process_set: which ranks these are. The result is a new tensor of this
    rank's rows.
    """
    handle = _submit([tensor], name, op, (prescale_factor, postscale_factor), process_set)
    finish = handle.finish
    handle.finish = lambda: finish()[0]
    return handle


class _Differentiable(torch.autograd.Function):
    """Every rank's rows depend on the same rows of all ranks: their gradients go to all of them."""

    @staticmethod
    def forward(ctx, name, op, factors, process_set, *tensors):
        ctx.name, ctx.op, ctx.factors, ctx.process_set = name, op, factors, process_set
        return tuple(synchronize(_submit(tensors, name, op, factors, process_set)))

    @staticmethod
    def backward(ctx, *gradients):
        if ctx.op not in (Average, Sum):
            raise ValueError("horovod: only sums and averages have gradients")
        # As in Horovod: of the loss that is the ranks' mean, times the number of ranks.
        factor = ctx.factors[0] * ctx.factors[1]
        if ctx.op == Sum:
            factor *= basics.communicator(ctx.process_set).size
        handles = [allgather_async(gradient * factor,
                                   None if ctx.name is None else "%s.gradient.%d" % (ctx.name, i),
                                   ctx.process_set) for i, gradient in enumerate(gradients)]
        return (None, None, None, None, *map(synchronize, handles))


def reducescatter(tensor, name=None, compression=Compression.none, op=Average,
                  process_set=global_process_set, prescale_factor=1.0, postscale_factor=1.0):
    """This rank's part of a reduction over all ranks; see reducescatter_async().

    compression: Compression.none or Compression.fp16. Sums and averages can be differentiated.
    """
    (part,) = grouped_reducescatter([tensor], name, compression, op, process_set, prescale_factor,
                                    postscale_factor)
    return part


def grouped_reducescatter_async(tensors, name=None, op=Average, process_set=global_process_set,
                                prescale_factor=1.0, postscale_factor=1.0):
    """Like reducescatter_async() for a list of tensors, all or none of them; the result is a list.
    """
    return _submit(list(tensors), name, op, (prescale_factor, postscale_factor), process_set)


def grouped_reducescatter(tensors, name=None, compression=Compression.none, op=Average,
                          process_set=global_process_set, prescale_factor=1.0,
                          postscale_factor=1.0):
    """This rank's parts of the reductions of a list of tensors; see reducescatter()."""
    pairs = [compression.compress(tensor) for tensor in tensors]
    parts = _Differentiable.apply(name, op, (prescale_factor, postscale_factor), process_set,
                                  *[tensor for tensor, _ in pairs])
    return [compression.decompress(part, context) for part, (_, context) in zip(parts, pairs)]
