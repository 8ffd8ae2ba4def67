# SPDX-License-Identifier: Apache-2.0
"""What operations of all kinds are made of: their gradients, and several tensors at once."""
import tensorflow as tf

from horovod.common.arrays import operations
from horovod.common.operations import Average
from horovod.common.process_sets import global_process_set
from horovod.tensorflow.ops import bridge, native


def differentiable(function, backward, tensors):
    """The list function(*tensors), whose gradients are backward(*gradients)."""
    tensors = [tf.convert_to_tensor(tensor) for tensor in tensors]

    @tf.custom_gradient
    def called(*inputs):
        outputs = function(*inputs)

        def gradients(*above):
            given = [tf.cast(one, output.dtype) for one, output in zip(above, outputs)]
            return backward(*given)
        return (list(outputs) if len(outputs) > 1 else outputs[0]), gradients

    results = called(*tensors)
    return list(results) if isinstance(results, (list, tuple)) else [results]


def same_shape(tensors, results):
    """The results, with the static shapes of the tensors."""
    for tensor, result in zip(tensors, results):
        if tensor.shape.is_compatible_with(result.shape):
            result.set_shape(tensor.shape)
    return results


def reduce_each(tensors, names, op=Average, factors=(1.0, 1.0), process_set=global_process_set,
                verb="allreduce"):
    """The reductions of tensors, each an operation of its own as soon as the tensor is there.

    Nothing is returned before all of them have ended. names: those of the operations, None for none.
    """
    if native.takes(tensors, op, factors):
        return same_shape(tensors, native.reduce_each(tensors, names, op, factors, process_set,
                                                       verb))

    def starting(name):
        return lambda inputs: operations.allreduce(inputs, name, op, factors, process_set, verb)

    results = bridge.run([(starting(name), [tensor]) for tensor, name in zip(tensors, names)],
                         [tensor.dtype for tensor in tensors])
    return same_shape(tensors, results)


def broadcast_each(tensors, root_rank, names, process_set=global_process_set):
    """root_rank's tensors, each an operation of its own."""
    def starting(name):
        return lambda inputs: operations.broadcast(inputs, root_rank, name, process_set)
    results = bridge.run([(starting(name), [tensor]) for tensor, name in zip(tensors, names)],
                         [tensor.dtype for tensor in tensors])
    for tensor, result in zip(tensors, results):
        result.set_shape(tensor.shape)
    return results
