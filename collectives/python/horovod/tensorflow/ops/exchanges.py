# SPDX-License-Identifier: Apache-2.0
"""allgather, broadcast and alltoall of tensors, and their gradients; join."""
import numpy
import tensorflow as tf

from horovod.common import basics
from horovod.common.arrays import operations
from horovod.common.operations import Average
from horovod.common.process_sets import global_process_set
from horovod.tensorflow.ops import bridge
from horovod.tensorflow.ops.common import broadcast_each, differentiable, reduce_each
from horovod.tensorflow.util import _executing_eagerly, graph_name, v1


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
    tensors = [tf.convert_to_tensor(tensor) for tensor in tensors]
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
            if tensor.shape.ndims:
                result.set_shape(tf.TensorShape([None]).concatenate(tensor.shape[1:]))
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
    tensor = tf.convert_to_tensor(tensor)

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
    """Rows of each rank's tensor to each rank; differentiable.

    splits: how many of its rows go to each rank, in order of rank, integers that add up to the first
    dimension; then the result is the rows received and how many came from each rank (int32).
    Without it every rank gets as many rows.
    """
    tensor = tf.convert_to_tensor(tensor)
    given = [] if splits is None else [tf.convert_to_tensor(splits)]

    received = []  # of the call

    def forward(inner):
        called = graph_name(name, "Alltoall", [tensor], ignore_name_scope)

        def start(inputs):
            return operations.alltoall(inputs[0], inputs[1] if given else None, called, process_set)
        rows, counts = bridge.run([(start, [inner] + given)], [tensor.dtype, tf.int32])
        if tensor.shape.ndims:
            rows.set_shape(tf.TensorShape([None]).concatenate(tensor.shape[1:]))
        counts.set_shape([process_set.size()])
        received[:] = [counts]
        return [rows]

    def backward(gradient):
        return alltoall(gradient, received[0], None, ignore_name_scope, process_set)[0]

    rows = differentiable(forward, backward, [tensor])[0]
    return rows if splits is None else (rows, received[0])


def join():
    """Says that this rank has no more data, and waits until all ranks have said so.

    Until then it takes part in the others' allreduces, sums and averages in host memory, with zeros;
    anything else that they submit is an error. The rank that joined last, as a tensor (int32).
    """
    def start(_):
        return basics.queue().join().then(lambda last: [numpy.array(last, "int32")])
    last = bridge.run([(start, [])], [tf.int32])[0]
    last.set_shape([])
    return last
