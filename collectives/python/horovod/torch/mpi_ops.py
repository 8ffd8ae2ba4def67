# SPDX-License-Identifier: Apache-2.0
"""The job, and all collective operations on torch tensors, under the module name that scripts import.

Operations are matched between ranks by name; unnamed ones by the order in which they are submitted.
Ranks may submit and synchronize named operations in different orders (horovod/common/queue.py).
A function whose name has async returns a handle for poll() and synchronize(); one whose name ends
with _ writes its result into the tensor. process_set: the ranks that take part.

Wrong arguments, calls before init() and calls on a rank that is not in the process set are ValueError
before anything is sent. A function that waits raises HorovodInternalError where ranks disagree or one
of them is gone. A tensor belongs to its operation until that is synchronized. Any thread may call.
"""
import torch

from horovod.common import basics, operations as common
from horovod.common.basics import *  # noqa: F403 (its __all__ lists the functions of a job)
from horovod.common.compression import compressed
from horovod.common.exceptions import HorovodInternalError
from horovod.common.operations import Adasum, Average, Max, Min, Product, Sum
from horovod.common.process_sets import global_process_set
from horovod.common.util import get_average_backwards_compatibility_fun
from horovod.torch.compression import Compression
from horovod.torch.tensors import operations

__all__ = basics.__all__ + common.NAMES + [
    "allgather", "allgather_async", "allreduce", "allreduce_", "allreduce_async",
    "allreduce_async_", "alltoall", "alltoall_async", "barrier", "broadcast", "broadcast_",
    "broadcast_async", "broadcast_async_", "grouped_allgather", "grouped_allgather_async",
    "grouped_allreduce", "grouped_allreduce_", "grouped_allreduce_async",
    "grouped_allreduce_async_", "grouped_reducescatter", "grouped_reducescatter_async", "join",
    "poll", "reducescatter", "reducescatter_async", "sparse_allreduce_async", "synchronize",
]

_chosen = get_average_backwards_compatibility_fun(common)


def poll(handle):
    """Whether the operation has ended, so that synchronize() returns at once. Never waits."""
    return handle.queue.poll(handle)


def synchronize(handle):
    """Waits for an asynchronous operation; returns its result: a tensor, or a list for a group."""
    return handle.queue.wait(handle)


def join(device=-1):
    """Declares that this rank has no more data, waits for all ranks, returns the last one to join.

    Until then this rank contributes zeros to the others' sums and averages in host memory. Any other
    operation that they submit raises HorovodInternalError. device: accepted, and not needed.
    """
    return synchronize(basics.queue().join())


def barrier(process_set=global_process_set):
    """Returns when every rank of the set has called it."""
    communicator = basics.communicator(process_set)
    synchronize(basics.queue(process_set).submit(
        "barrier", None, "", lambda: [communicator.barrier_async()], lambda: None))


def _first(results):
    return results[0]


class _Differentiable(torch.autograd.Function):
    """The list run(*tensors), whose gradients are those that backward(*gradients) returns."""

    @staticmethod
    def forward(ctx, run, backward, *tensors):
        ctx.gradients = backward
        return tuple(run(*tensors))

    @staticmethod
    def backward(ctx, *gradients):
        return (None, None, *ctx.gradients(*gradients))


def _backward_name(name):
    return None if name is None else name + ".gradient"


# allreduce


def allreduce_async(tensor, average=None, name=None, op=None, prescale_factor=1.0,
                    postscale_factor=1.0, process_set=global_process_set):
    """Starts a reduction over all ranks. Its result is a new tensor of the same shape and type.

    tensor: of the same shape and type on all ranks: float16, bfloat16, float32, float64, complex
    (Sum and Average), bool (not Average) or an integer type, on any device. op: Average (the
    default), Sum, Min, Max, Product, or Adasum (floating-point numbers only). Integer averages
    truncate toward zero. average: the older argument, True for Average, False for Sum. ValueError if
    op is given too. The tensor is multiplied by prescale_factor, the result by postscale_factor.
    """
    return operations.allreduce([tensor], name, _chosen(op, average),
                                (prescale_factor, postscale_factor), process_set).then(_first)


def allreduce_async_(tensor, average=None, name=None, op=None, prescale_factor=1.0,
                     postscale_factor=1.0, process_set=global_process_set):
    """As allreduce_async(), in place."""
    return operations.allreduce([tensor], name, _chosen(op, average),
                                (prescale_factor, postscale_factor), process_set,
                                outputs=[tensor]).then(_first)


def grouped_allreduce_async(tensors, average=None, name=None, op=None, prescale_factor=1.0,
                            postscale_factor=1.0, process_set=global_process_set):
    """As allreduce_async(), of a list of tensors, all or none of them; the result is a list."""
    return operations.allreduce(list(tensors), name, _chosen(op, average),
                                (prescale_factor, postscale_factor), process_set)


def grouped_allreduce_async_(tensors, average=None, name=None, op=None, prescale_factor=1.0,
                             postscale_factor=1.0, process_set=global_process_set):
    """As grouped_allreduce_async(), in place."""
    tensors = list(tensors)
    return operations.allreduce(tensors, name, _chosen(op, average),
                                (prescale_factor, postscale_factor), process_set, outputs=tensors)


def allreduce(tensor, average=None, name=None, compression=Compression.none, op=None,
              prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set):
    """As allreduce_async(); waits. Sums and averages can be differentiated.

    compression: Compression.none or Compression.fp16.
    """
    return grouped_allreduce([tensor], None, name, compression, _chosen(op, average),
                             prescale_factor, postscale_factor, process_set)[0]


def allreduce_(tensor, average=None, name=None, op=None, prescale_factor=1.0,
               postscale_factor=1.0, process_set=global_process_set):
    """As allreduce_async_(); waits."""
    return synchronize(allreduce_async_(tensor, None, name, _chosen(op, average), prescale_factor,
                                        postscale_factor, process_set))


def grouped_allreduce(tensors, average=None, name=None, compression=Compression.none, op=None,
                      prescale_factor=1.0, postscale_factor=1.0, process_set=global_process_set):
    """As allreduce(), of a list of tensors, all or none of them; a list."""
    op, factors = _chosen(op, average), (prescale_factor, postscale_factor)

    def reduce(*tensors):
        return synchronize(operations.allreduce(tensors, name, op, factors, process_set))

    def backward(*gradients):  # of a sum over ranks it is the sum; so with the average
        common.check_gradient(op)
        return synchronize(operations.allreduce(gradients, _backward_name(name), op, factors,
                                                process_set))

    return compressed(compression, tensors,
                      lambda sent: _Differentiable.apply(reduce, backward, *sent))


def grouped_allreduce_(tensors, average=None, name=None, op=None, prescale_factor=1.0,
                       postscale_factor=1.0, process_set=global_process_set):
    """As grouped_allreduce_async_(); waits."""
    return synchronize(grouped_allreduce_async_(tensors, None, name, _chosen(op, average),
                                                prescale_factor, postscale_factor, process_set))


def sparse_allreduce_async(tensor, name, op, process_set=global_process_set):
    """Starts a reduction of a sparse COO tensor. A call of the handle returns the result, too.

    tensor: of the same shape and type on all ranks, with any elements. op: Average or Sum. Every rank
    receives all ranks' values and adds up those with equal indices.
    """
    if not torch.is_tensor(tensor) or tensor.layout != torch.sparse_coo:
        raise ValueError("horovod: sparse_allreduce_async: expected a sparse COO tensor")
    if op not in (Average, Sum):
        raise ValueError("horovod: sparse_allreduce_async: op must be Average or Sum")
    indices = tensor._indices().transpose(0, 1)  # of each element, its place: rows to gather

    def together(gathered):
        indices, values, _ = gathered
        if op == Average:
            values = values / process_set.size()
        return torch.sparse_coo_tensor(indices.transpose(0, 1), values, tensor.shape).coalesce()

    return operations.allgather([indices, tensor._values()],
                                None if name is None else "%s.sparse" % name,
                                process_set).then(together)


# reducescatter


def reducescatter_async(tensor, name=None, op=Average, process_set=global_process_set,
                        prescale_factor=1.0, postscale_factor=1.0):
    """Starts a reduction. Every rank gets some rows of the result, as a new tensor.

    tensor: at least one dimension; it, op and factors as of allreduce_async(). Its rows are divided
    among the ranks, in order, as evenly as can be: the first ranks get one more.
    """
    return grouped_reducescatter_async([tensor], name, op, process_set, prescale_factor,
                                       postscale_factor).then(_first)


def grouped_reducescatter_async(tensors, name=None, op=Average, process_set=global_process_set,
                                prescale_factor=1.0, postscale_factor=1.0):
    """As reducescatter_async(), of a list of tensors, all or none of them; the result is a list."""
    if op == Adasum:
        raise HorovodInternalError("horovod: Adasum is for allreduce and grouped_allreduce only")
    return operations.reducescatter(list(tensors), name, op, (prescale_factor, postscale_factor),
                                    process_set)


def reducescatter(tensor, name=None, compression=Compression.none, op=Average,
                  process_set=global_process_set, prescale_factor=1.0, postscale_factor=1.0):
    """As reducescatter_async(); waits. Sums and averages can be differentiated.

    compression: Compression.none or Compression.fp16.
    """
    return grouped_reducescatter([tensor], name, compression, op, process_set, prescale_factor,
                                 postscale_factor)[0]


def grouped_reducescatter(tensors, name=None, compression=Compression.none, op=Average,
                          process_set=global_process_set, prescale_factor=1.0,
                          postscale_factor=1.0):
    """As reducescatter(), of a list of tensors, all or none of them; a list."""
    def reduce(*tensors):
        return synchronize(grouped_reducescatter_async(tensors, name, op, process_set,
                                                       prescale_factor, postscale_factor))

    def backward(*gradients):  # every rank's rows depend on the same rows of all ranks
        common.check_gradient(op)
        # As in Horovod: of the loss that is the ranks' mean, times the number of ranks.
        factor = prescale_factor * postscale_factor
        if op == Sum:
            factor *= basics.communicator(process_set).size
        handles = [allgather_async(gradient * factor,
                                   None if name is None else "%s.gradient.%d" % (name, number),
                                   process_set) for number, gradient in enumerate(gradients)]
        return map(synchronize, handles)

    return compressed(compression, tensors,
                      lambda sent: _Differentiable.apply(reduce, backward, *sent))


# broadcast, allgather, alltoall


def broadcast_async(tensor, root_rank, name=None, process_set=global_process_set):
    """Starts sending root_rank's tensor to all ranks. The result is a new tensor.

    tensor: of the same shape and type (any) on all ranks. root_rank: its number in the job.
    """
    return operations.broadcast([tensor], root_rank, name, process_set).then(_first)


def broadcast_async_(tensor, root_rank, name=None, process_set=global_process_set):
    """As broadcast_async(), in place."""
    return operations.broadcast([tensor], root_rank, name, process_set, [tensor]).then(_first)


def broadcast(tensor, root_rank, name=None, process_set=global_process_set):
    """As broadcast_async(); waits. Differentiable."""
    def send(tensor):
        return [synchronize(broadcast_async(tensor, root_rank, name, process_set))]

    def backward(gradient):  # as in Horovod, the root's is the average, and the others' is zero
        mean = allreduce(gradient, name=_backward_name(name), op=Average, process_set=process_set)
        return [mean if basics.rank() == root_rank else torch.zeros_like(mean)]

    return _Differentiable.apply(send, backward, tensor)[0]


def broadcast_(tensor, root_rank, name=None, process_set=global_process_set):
    """As broadcast_async_(); waits."""
    return synchronize(broadcast_async_(tensor, root_rank, name, process_set))


def allgather_async(tensor, name=None, process_set=global_process_set):
    """Starts an allgather. The result is a new tensor: the ranks' along the first dimension.

    tensor: any type, at least one dimension; all dimensions but the first the same on all ranks.
    """
    return operations.allgather([tensor], name, process_set).then(_first)


def grouped_allgather_async(tensors, name=None, process_set=global_process_set):
    """As allgather_async(), of a list of tensors, all or none of them; the result is a list."""
    return operations.allgather(list(tensors), name, process_set).then(lambda found: found[:-1])


def allgather(tensor, name=None, process_set=global_process_set):
    """As allgather_async(); waits. Differentiable."""
    return grouped_allgather([tensor], name, process_set)[0]


def grouped_allgather(tensors, name=None, process_set=global_process_set):
    """As allgather(), of a list of tensors, all or none of them; a list."""
    rows = []

    def gather(*tensors):
        *results, counts = synchronize(operations.allgather(tensors, name, process_set))
        rows.extend(counts.tolist())
        return results

    def backward(*gradients):  # as in Horovod, the average of this rank's rows
        reduced = grouped_allreduce(gradients, name=_backward_name(name), op=Average,
                                    process_set=process_set)
        own = process_set.rank()
        return [gradient.split(counts)[own] for gradient, counts in zip(reduced, rows)]

    return list(_Differentiable.apply(gather, backward, *tensors))


def alltoall_async(tensor, splits=None, name=None, process_set=global_process_set):
    """Starts an alltoall. The result is a new tensor of the rows from all ranks, in order of rank.

    tensor: any type, at least one dimension; all dimensions but the first the same on all ranks.
    splits: how many of its rows go to each rank, in order of rank: a list or a tensor of one
    dimension whose sum is the first dimension. Then the result is a pair: that tensor, and how many
    rows came from each rank (int32). Without it every rank gets as many rows; ValueError where that
    cannot be.
    """
    operation = operations.alltoall(tensor, _splits(splits), name, process_set)
    return operation.then(_first if splits is None else tuple)


def _splits(splits):
    try:
        return None if splits is None else torch.as_tensor(splits)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError("horovod: alltoall: splits %r: %s" % (splits, error)) from None


def alltoall(tensor, splits=None, name=None, process_set=global_process_set):
    """As alltoall_async(); waits. Differentiable."""
    received = []  # how many rows came from each rank

    def exchange(tensor):
        rows, counts = synchronize(operations.alltoall(tensor, _splits(splits), name, process_set))
        received.append(counts)
        return [rows]

    def backward(gradient):  # of the rows: back to where they came from
        return synchronize(alltoall_async(gradient, received[0], _backward_name(name),
                                          process_set))[:1]

    rows = _Differentiable.apply(exchange, backward, tensor)[0]
    return rows if splits is None else (rows, received[0])
