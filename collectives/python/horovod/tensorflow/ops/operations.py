# SPDX-License-Identifier: Apache-2.0
"""Collective operations on TensorFlow's tensors, and their gradients.

In a graph they are done when it runs. ignore_name_scope: the name has no scope of the graph in it.
"""
import numpy
import tensorflow as tf

from horovod.common import basics
from horovod.common.arrays import operations
from horovod.common.operations import Average, Sum, check_gradient, check_op
from horovod.common.process_sets import global_process_set
from horovod.tensorflow.ops import bridge, native
from horovod.tensorflow.util import _executing_eagerly, graph_name, to_tensors, v1


def differentiable(function, backward, tensors):
    """The list function(*tensors), whose gradients are backward(*gradients)."""
    tensors = to_tensors(tensors)

    @tf.custom_gradient
    def called(*inputs):
        outputs = function(*inputs)

        def gradients(*above):
            given = [tf.cast(one, output.dtype) for one, output in zip(above, outputs)]
            return backward(*given)
        return (list(outputs) if len(outputs) > 1 else outputs[0]), gradients

    results = called(*tensors)
    return list(results) if isinstance(results, (list, tuple)) else [results]


def _same_shape(tensors, results):
    """The results, with the static shapes of the tensors."""
    for tensor, result in zip(tensors, results):
        if tensor.shape.is_compatible_with(result.shape):
            result.set_shape(tensor.shape)
    return results


def _set_rows(result, tensor):
    """Gives a result the static shape of rows like the tensor's, of any number."""
    if tensor.shape.ndims:
        result.set_shape(tf.TensorShape([None]).concatenate(tensor.shape[1:]))


def reduce_each(tensors, names, op=Average, factors=(1.0, 1.0), process_set=global_process_set,
                verb="allreduce"):
    """The reductions of tensors, each an operation of its own as soon as the tensor is there.

    Nothing is returned before all of them have ended. names: those of the operations, None for none.
    """
    if native.takes(tensors, op, factors):
        return _same_shape(tensors, native.reduce_each(tensors, names, op, factors, process_set,
                                                       verb))

    def starting(name):
        return lambda inputs: operations.allreduce(inputs, name, op, factors, process_set, verb)

    results = bridge.run([(starting(name), [tensor]) for tensor, name in zip(tensors, names)],
                         [tensor.dtype for tensor in tensors])
    return _same_shape(tensors, results)


def broadcast_each(tensors, root_rank, names, process_set=global_process_set):
    """root_rank's tensors, each an operation of its own."""
    def starting(name):
        return lambda inputs: operations.broadcast(inputs, root_rank, name, process_set)
    results = bridge.run([(starting(name), [tensor]) for tensor, name in zip(tensors, names)],
                         [tensor.dtype for tensor in tensors])
    for tensor, result in zip(tensors, results):
        result.set_shape(tensor.shape)
    return results


def allreduce_one(tensor, name=None, op=Sum, prescale_factor=1.0, postscale_factor=1.0,
                  ignore_name_scope=False, process_set=global_process_set):
    """The reduction of a dense tensor over all ranks."""
    return _allreduce([tensor], "Allreduce", name, op, prescale_factor, postscale_factor,
                      ignore_name_scope, process_set)[0]


def allreduce_group(tensors, name=None, op=Sum, prescale_factor=1.0, postscale_factor=1.0,
                    ignore_name_scope=False, process_set=global_process_set):
    """The reductions of a list of dense tensors, all or none of them."""
    return _allreduce(tensors, "GroupedAllreduce", name, op, prescale_factor, postscale_factor,
                      ignore_name_scope, process_set) if tensors else []


def _allreduce(tensors, verb, name, op, prescale_factor, postscale_factor, ignore_name_scope,
               process_set):
    tensors = to_tensors(tensors)
    factors = (float(prescale_factor), float(postscale_factor))
    check_op(op, [tensor.dtype.name for tensor in tensors])

    def forward(*inner):
        called = graph_name(name, verb, tensors, ignore_name_scope)
        if verb == "Allreduce":
            return reduce_each(inner, [called], op, factors, process_set)

        def start(inputs):
            return operations.allreduce(inputs, called, op, factors, process_set)
        return _same_shape(inner, bridge.run([(start, list(inner))], [t.dtype for t in inner]))

    def backward(*gradients):
        check_gradient(op)
        return _allreduce(gradients, verb, None, op, prescale_factor, postscale_factor,
                          ignore_name_scope, process_set)

    return differentiable(forward, backward, tensors)


def reducescatter_group(tensors, name=None, op=Sum, ignore_name_scope=False,
                        process_set=global_process_set, prescale_factor=1.0, postscale_factor=1.0):
    """This rank's rows of the reductions of a list of tensors, all or none of them."""
    tensors = to_tensors(tensors)
    factors = (float(prescale_factor), float(postscale_factor))
    check_op(op, [tensor.dtype.name for tensor in tensors])

    def forward(*inner):
        called = graph_name(name, "Reducescatter", tensors, ignore_name_scope)

        def start(inputs):
            return operations.reducescatter(inputs, called, op, factors, process_set)
        results = bridge.run([(start, list(inner))], [tensor.dtype for tensor in tensors])
        for tensor, result in zip(tensors, results):
            _set_rows(result, tensor)
        return results

    def backward(*gradients):
        # Horovod's factors: a sum's rows are on one rank, and count once for each.
        check_gradient(op)
        factor = factors[0] * factors[1] * (process_set.size() if op == Sum else 1)
        return [allgather(gradient * tf.cast(factor, gradient.dtype), None, ignore_name_scope,
                          process_set) for gradient in gradients]

    return differentiable(forward, backward, tensors)


def _own_rows(gradient, rows, process_set):
    """The part of a gathered tensor's gradient that belongs to this rank's rows."""
    rank = process_set.rank()
    begin = tf.reduce_sum(rows[:rank])
    return gradient[begin:begin + rows[rank]]


def _mean(tensors, process_set):
    """The ranks' averages of tensors of the backward pass."""
    names = [graph_name(None, "Allreduce", [tensor]) for tensor in tensors]
    return reduce_each(tensors, names, Average, process_set=process_set)


def grouped_allgather(tensors, name=None, ignore_name_scope=False, process_set=global_process_set):
    """The tensors of all ranks along the first dimension, for each of a list of tensors."""
    tensors = to_tensors(tensors)
    if not tensors:
        return []
    rows = []  # of the call

    def forward(*inner):
        called = graph_name(name, "Allgather", tensors, ignore_name_scope)

        def start(inputs):
            return operations.allgather(inputs, called, process_set)
        results = bridge.run([(start, list(inner))], [tensor.dtype for tensor in tensors] + [tf.int64])
        rows[:] = [results.pop()]
        for tensor, result in zip(tensors, results):
            _set_rows(result, tensor)
        return results

    def backward(*gradients):
        means = _mean(list(gradients), process_set)
        return [_own_rows(mean, rows[0][number], process_set)
                for number, mean in enumerate(means)]

    return differentiable(forward, backward, tensors)


def allgather(tensor, name=None, ignore_name_scope=False, process_set=global_process_set):
    """The tensors of all ranks, one after the other along the first dimension; differentiable.

    tensor: any numeric type, at least one dimension; all dimensions but the first are the same on
    all ranks.
    """
    return grouped_allgather([tensor], name, ignore_name_scope, process_set)[0]


def broadcast(tensor, root_rank, name=None, ignore_name_scope=False,
              process_set=global_process_set):
    """root_rank's tensor, on every rank; differentiable."""
    tensor, = to_tensors([tensor])

    def forward(inner):
        called = graph_name(name, "Broadcast", [tensor], ignore_name_scope)
        return broadcast_each([inner], root_rank, [called], process_set)

    def backward(gradient):
        mean = _mean([gradient], process_set)[0]
        if basics.rank() == root_rank:
            return mean
        if _executing_eagerly():
            return tf.zeros_like(mean)
        # Not a constant zero: the root needs this rank's part, which TensorFlow would leave out.
        return mean * v1.placeholder_with_default(tf.zeros([], mean.dtype), [])

    return differentiable(forward, backward, [tensor])[0]


def alltoall(tensor, splits=None, name=None, ignore_name_scope=False,
             process_set=global_process_set):
    """Sends rows of each rank's tensor to each rank; differentiable.

    splits: how many of its rows go to each rank, in order of rank, integers that add up to the first
    dimension; then the result is the rows received and how many came from each rank (int32).
    Without it every rank gets as many rows.
    """
    tensor, = to_tensors([tensor])
    given = [] if splits is None else to_tensors([splits])

    received = []  # of the call

    def forward(inner):
        called = graph_name(name, "Alltoall", [tensor], ignore_name_scope)

        def start(inputs):
            return operations.alltoall(inputs[0], inputs[1] if given else None, called, process_set)
        rows, counts = bridge.run([(start, [inner] + given)], [tensor.dtype, tf.int32])
        _set_rows(rows, tensor)
        counts.set_shape([process_set.size()])
        received[:] = [counts]
        return [rows]

    def backward(gradient):
        return alltoall(gradient, received[0], None, ignore_name_scope, process_set)[0]

    rows = differentiable(forward, backward, [tensor])[0]
    return rows if splits is None else (rows, received[0])


def join():
    """Declares that this rank has no more data, waits for all ranks, returns the last one to join (int32).

    Until then this rank contributes zeros to the others' sums and averages in host memory. Any other
    operation that they submit is an error.
    """
    def start(_):
        return basics.queue().join().then(lambda last: [numpy.array(last, "int32")])
    last = bridge.run([(start, [])], [tf.int32])[0]
    last.set_shape([])
    return last
