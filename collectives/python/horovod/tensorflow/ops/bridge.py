# SPDX-License-Identifier: Apache-2.0
"""From TensorFlow's tensors to operations of the queue, and back.

Eagerly, operations are called as they are. In a graph each one is put in line by an operation of the graph
as soon as its tensors are there, and one more waits for all that belong together: TensorFlow has few
threads, and ranks whose threads all wait for different operations would wait for ever.
"""
import numpy
import tensorflow as tf

from horovod.common.exceptions import HorovodInternalError
from horovod.common.process_sets import member
from horovod.tensorflow.ops import native, started
from horovod.tensorflow.util import IS_TF2, _executing_eagerly, untranslated, v1


class OperationFailed(HorovodInternalError, tf.errors.FailedPreconditionError):
    """A collective operation failed; also TensorFlow's class for it."""

    def __init__(self, message):
        tf.errors.FailedPreconditionError.__init__(self, None, None, message)


class ArgumentRefused(ValueError, tf.errors.InvalidArgumentError):
    """Wrong arguments; also TensorFlow's class for them."""

    def __init__(self, message):
        tf.errors.InvalidArgumentError.__init__(self, None, None, message)


def check_member(process_set):
    """Raises ArgumentRefused where this rank is not one of the set's, or the set is not registered."""
    try:
        member(process_set)
        return
    except ValueError as error:
        message = str(error)
    raise ArgumentRefused(message)


# A function of arrays as an operation of a graph.
call = tf.numpy_function if hasattr(tf, "numpy_function") else v1.py_func


@untranslated
def run(operations, dtypes):
    """The results of several operations that are put in line together, as one list of tensors.

    operations: pairs of a function that starts one, (arrays) -> Operation, and its tensors. dtypes:
    of all results.
    """
    if _executing_eagerly():
        return _run_now(operations)
    with tf.device("/cpu:0"):
        numbers = [call(_submission(start), tensors, tf.int64) for start, tensors in operations]
        for number in numbers:
            number.set_shape([])
        return call(_results, native.awaited(numbers), dtypes)


def _run_now(operations):
    try:
        under_way = [start([to_array(tensor) for tensor in tensors]) for start, tensors in operations]
        return [tf.convert_to_tensor(array) for array in started.results(under_way)]
    except HorovodInternalError as error:
        message, kind = str(error), OperationFailed
    except tf.errors.OpError:
        raise
    except ValueError as error:
        message, kind = str(error), ArgumentRefused
    raise kind(message)


def to_array(tensor):
    """A numpy array of a tensor that is there, in the tensor's memory where that is possible."""
    tensor = tf.convert_to_tensor(tensor)
    if IS_TF2:
        try:
            return numpy.asarray(memoryview(tensor))
        except (TypeError, ValueError, BufferError):  # a type that only TensorFlow has, or a GPU's
            pass
    return numpy.asarray(tensor.numpy())


def _submission(start):
    def submit(*inputs):
        return numpy.int64(started.add(start([numpy.asarray(array) for array in inputs])))
    return submit


def _results(*numbers):
    return started.take(numbers)
