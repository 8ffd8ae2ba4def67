# SPDX-License-Identifier: Apache-2.0
"""allreduce and reducescatter of tensors, and their gradients."""
import tensorflow as tf

from horovod.common.arrays import operations
from horovod.common.operations import Sum, check_gradient, check_op
from horovod.common.process_sets import global_process_set
from horovod.tensorflow.ops import bridge
from horovod.tensorflow.ops.common import differentiable, reduce_each, same_shape
from horovod.tensorflow.ops.exchanges import allgather
from horovod.tensorflow.util import graph_name


def _reduce_together(tensors, name, op, factors, process_set):
    def start(inputs):
        return operations.allreduce(inputs, name, op, factors, process_set)
    return same_shape(tensors, bridge.run([(start, tensors)], [t.dtype for t in tensors]))


def allreduce_one(tensor, name=None, op=Sum, prescale_factor=1.0, postscale_factor=1.0,
                  ignore_name_scope=False, process_set=global_process_set):
    """The reduction of a dense tensor over all ranks."""
    tensor = tf.convert_to_tensor(tensor)
    factors = (float(prescale_factor), float(postscale_factor))
    check_op(op, [tensor.dtype.name])

    def forward(inner):
        called = graph_name(name, "Allreduce", [tensor], ignore_name_scope)
        return reduce_each([inner], [called], op, factors, process_set)

    def backward(gradient):
        check_gradient(op)
        return allreduce_one(gradient, None, op, prescale_factor, postscale_factor,
                             ignore_name_scope, process_set)

    return differentiable(forward, backward, [tensor])[0]


def allreduce_group(tensors, name=None, op=Sum, prescale_factor=1.0, postscale_factor=1.0,
                    ignore_name_scope=False, process_set=global_process_set):
    """The reductions of a list of dense tensors, all or none of them."""
    tensors = [tf.convert_to_tensor(tensor) for tensor in tensors]
    factors = (float(prescale_factor), float(postscale_factor))
    check_op(op, [tensor.dtype.name for tensor in tensors])
    if not tensors:
        return []

    def forward(*inner):
        called = graph_name(name, "GroupedAllreduce", tensors, ignore_name_scope)
        return _reduce_together(list(inner), called, op, factors, process_set)

    def backward(*gradients):
        check_gradient(op)
        return allreduce_group(list(gradients), None, op, prescale_factor, postscale_factor,
                               ignore_name_scope, process_set)

    return differentiable(forward, backward, tensors)


def reducescatter_group(tensors, name=None, op=Sum, ignore_name_scope=False,
                        process_set=global_process_set, prescale_factor=1.0, postscale_factor=1.0):
    """This rank's rows of the reductions of a list of tensors, all or none of them."""
    tensors = [tf.convert_to_tensor(tensor) for tensor in tensors]
    factors = (float(prescale_factor), float(postscale_factor))
    check_op(op, [tensor.dtype.name for tensor in tensors])

    def forward(*inner):
        called = graph_name(name, "Reducescatter", tensors, ignore_name_scope)

        def start(inputs):
            return operations.reducescatter(inputs, called, op, factors, process_set)
        results = bridge.run([(start, list(inner))], [tensor.dtype for tensor in tensors])
        for tensor, result in zip(tensors, results):
            result.set_shape(_without_length(tensor))
        return results

    def backward(*gradients):
        # Horovod's factors: a sum's rows are on one rank, and count once for each.
        check_gradient(op)
        factor = factors[0] * factors[1] * (process_set.size() if op == Sum else 1)
        return [allgather(gradient * tf.cast(factor, gradient.dtype), None, ignore_name_scope,
                          process_set) for gradient in gradients]

    return differentiable(forward, backward, tensors)


def _without_length(tensor):
    if tensor.shape.ndims is None:
        return tensor.shape
    return tf.TensorShape([None]).concatenate(tensor.shape[1:])
