# SPDX-License-Identifier: Apache-2.0
"""allreduce, alone and in groups, in place and not, waiting and not."""
import warnings

import torch

from horovod.common import basics, library
from horovod.common.adasum import ADASUM
from horovod.common.exceptions import HorovodInternalError
from horovod.common.process_sets import global_process_set
from horovod.torch.ops import adasum, buffers, gpu
from horovod.torch.compression import Compression
from horovod.torch.ops.handles import synchronize

Average = library.AVERAGE
Sum = library.SUM
Min = library.MIN
Max = library.MAX
Product = library.PRODUCT
Adasum = ADASUM

OP_NAMES = {Sum: "sum", Average: "average", Min: "min", Max: "max", Product: "product"}


def _chosen(average, op):
    """The reduction that the two arguments ask for. ValueError for both."""
    if average is not None:
        if op is not None:
            raise ValueError("The op parameter supersedes average. Please provide only one of "
                             "them.")
        warnings.warn("Parameter `average` has been replaced with `op` and will be removed",
                      DeprecationWarning, stacklevel=3)
        return Average if average else Sum
    if op is None:
        return Average
    return op


def check(tensors, op):
    """Raises ValueError for an unknown reduction, and for tensors that do not have it."""
    if op == Adasum:
        raise HorovodInternalError("horovod: Adasum is for allreduce and grouped_allreduce only")
    if op not in OP_NAMES:
        raise ValueError("horovod: unknown reduction %r: use Average, Sum, Min, Max or Product"
                         % (op,))
    for tensor in tensors:
        buffers.check_reducible(tensor, op)
        if op == Average and tensor.dtype == torch.bool:
            raise ValueError("horovod: booleans have no average: use Sum or Max (or), Min or "
                             "Product (and)")


def details(tensors, factors=()):
    """Text that must agree on all ranks too. factors: those that the library does not apply."""
    text = "of " + ", ".join(map(buffers.shape, tensors))
    return text if factors in ((), (1.0, 1.0)) else text + " scaled by %r and %r" % factors


def describe(tensors, op, factors):
    """Text that must agree on all ranks."""
    text = "%s of %s" % (OP_NAMES[op], ", ".join(map(buffers.shape, tensors)))
    return text if factors == (1.0, 1.0) else text + " scaled by %r and %r" % factors


def _submit(tensors, outputs, name, op, factors, process_set):
    """One operation over a list of tensors. outputs: where each result goes; None makes a tensor."""
    if op == Adasum:
        return adasum.submit(tensors, outputs, name, factors, process_set)
    check(tensors, op)
    queue = basics.queue(process_set)
    if not tensors:
        return queue.submit("allreduce", name, "of nothing", lambda: [], lambda: [])
    floating = [tensor.is_floating_point() or tensor.is_complex() for tensor in tensors]
    apart = factors != (1.0, 1.0) and any(floating) and not all(floating)
    where = gpu.HOST if apart else gpu.where(queue, tensors)
    sent = [buffers.for_reduction(tensor, op, factors, where.place is not None)
            for tensor in tensors]
    # A copy is reduced in place, and so is a tensor that is its own output.
    received = [buffer if output is not None or buffer.data_ptr() != tensor.data_ptr()
                else torch.empty_like(buffer)
                for tensor, output, buffer in zip(tensors, outputs, sent)]

    def start():  # also of a group in which the library scales some tensors only
        communicator = queue.communicator
        return [communicator.allreduce_async(one.data_ptr(), other.data_ptr(), one.numel(),
                                             buffers.reduction_type(one), op,
                                             *buffers.library_factors(one, factors))
                for one, other in zip(sent, received)]

    def finish():
        where.join(received)
        results = [buffers.scaled(buffer, factors[1]) for buffer in received]
        return [buffers.reduced(result, tensor) if output is None
                else buffers.copy_back(output, result)
                for tensor, output, result in zip(tensors, outputs, results)]

    if apart:
        return queue.submit("allreduce", name, describe(tensors, op, factors), start, finish)
    places = [(one.data_ptr(), other.data_ptr(), one.numel(), buffers.reduction_type(one))
              for one, other in zip(sent, received)]
    return queue.allreduce(name, details(tensors, () if all(floating) else factors), places, op,
                           factors if all(floating) else (1.0, 1.0), finish, (sent, received),
                           place=where.place)


def _submit_one(tensor, output, name, op, factors, process_set):
    handle = _submit([tensor], [output], name, op, factors, process_set)
    finish = handle.finish
    handle.finish = lambda: finish()[0]
    return handle


def allreduce_async(tensor, average=None, name=None, op=None, prescale_factor=1.0,
                    postscale_factor=1.0, process_set=global_process_set):
    """Starts a reduction over all ranks; returns a handle for poll() and synchronize().

    tensor: of the same shape and type on all ranks: float16, bfloat16, float32, float64, complex
    (Sum and Average), bool (not Average) or an integer type, on any device. op: Average (the default), Sum, Min, Max, Product,
    Adasum (of floating-point numbers); integer averages truncate toward zero. average: the older way to say Average or Sum; with op,
    ValueError. The tensor is multiplied by prescale_factor before and the result by
    postscale_factor after. process_set: which ranks these are. The result is a new tensor of the
    same shape and type.
    """
    return _submit_one(tensor, None, name, _chosen(average, op),
                       (prescale_factor, postscale_factor), process_set)


def allreduce_async_(tensor, average=None, name=None, op=None, prescale_factor=1.0,
                     postscale_factor=1.0, process_set=global_process_set):
    """Like allreduce_async(), but the result replaces the tensor's contents."""
    return _submit_one(tensor, tensor, name, _chosen(average, op),
                       (prescale_factor, postscale_factor), process_set)


class _Differentiable(torch.autograd.Function):
    """The gradient of a sum over ranks is the sum of the gradients; so with the average."""

    @staticmethod
    def forward(ctx, name, op, factors, process_set, *tensors):
        ctx.name, ctx.op, ctx.factors, ctx.process_set = name, op, factors, process_set
        return tuple(synchronize(_submit(tensors, [None] * len(tensors), name, op, factors,
                                         process_set)))

    @staticmethod
    def backward(ctx, *gradients):
        if ctx.op not in (Average, Sum):
            raise ValueError("horovod: only sums and averages have gradients")
        name = None if ctx.name is None else ctx.name + ".gradient"
        reduced = synchronize(_submit(gradients, [None] * len(gradients), name, ctx.op,
                                      ctx.factors, ctx.process_set))
        return (None, None, None, None, *reduced)


def allreduce(tensor, average=None, name=None, compression=Compression.none, op=None,
              prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set):
    """The reduction of a tensor over all ranks, as a new tensor; see allreduce_async().

    compression: Compression.none or Compression.fp16. Sums and averages can be differentiated.
    """
    compressed, context = compression.compress(tensor)
    (reduced,) = _Differentiable.apply(name, _chosen(average, op),
                                       (prescale_factor, postscale_factor), process_set, compressed)
    return compression.decompress(reduced, context)


def allreduce_(tensor, average=None, name=None, op=None, prescale_factor=1.0,
               postscale_factor=1.0, process_set=global_process_set):
    """The reduction of a tensor over all ranks, in place; see allreduce_async()."""
    return synchronize(allreduce_async_(tensor, average, name, op, prescale_factor,
                                        postscale_factor, process_set))


def grouped_allreduce_async(tensors, average=None, name=None, op=None, prescale_factor=1.0,
                            postscale_factor=1.0, process_set=global_process_set):
    """Like allreduce_async() for a list of tensors, all or none of them; the result is a list."""
    tensors = list(tensors)
    return _submit(tensors, [None] * len(tensors), name, _chosen(average, op),
                   (prescale_factor, postscale_factor), process_set)


def grouped_allreduce_async_(tensors, average=None, name=None, op=None, prescale_factor=1.0,
                             postscale_factor=1.0, process_set=global_process_set):
    """Like grouped_allreduce_async(), in place."""
    tensors = list(tensors)
    return _submit(tensors, tensors, name, _chosen(average, op),
                   (prescale_factor, postscale_factor), process_set)


def grouped_allreduce(tensors, average=None, name=None, compression=Compression.none, op=None,
                      prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set):
    """The reductions of a list of tensors over all ranks; see allreduce()."""
    pairs = [compression.compress(tensor) for tensor in tensors]
    reduced = _Differentiable.apply(name, _chosen(average, op), (prescale_factor, postscale_factor),
                                    process_set, *[tensor for tensor, _ in pairs])
    return [compression.decompress(tensor, context)
            for tensor, (_, context) in zip(reduced, pairs)]


def grouped_allreduce_(tensors, average=None, name=None, op=None, prescale_factor=1.0,
                       postscale_factor=1.0, process_set=global_process_set):
    """The reductions of a list of tensors over all ranks, in place; see allreduce_()."""
    return synchronize(grouped_allreduce_async_(tensors, average, name, op, prescale_factor,
                                                postscale_factor, process_set))
