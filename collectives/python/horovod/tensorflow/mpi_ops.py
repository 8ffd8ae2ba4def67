# SPDX-License-Identifier: Apache-2.0
"""Operations on TensorFlow's tensors, and the rank's numbers, under the module name that scripts import."""
import numpy
import tensorflow as tf

from horovod.common import basics as _basics, operations as _common
from horovod.common.basics import *  # noqa: F403 (its __all__ lists the functions of a job)
from horovod.common.operations import Adasum, Average, Max, Min, Product, Sum
from horovod.common.process_sets import _registered
from horovod.common.util import (get_average_backwards_compatibility_fun, gpu_available,
                                 num_rank_is_power_2 as check_num_rank_power_of_2)
from horovod.tensorflow.functions import broadcast_
from horovod.tensorflow.ops.bridge import call
from horovod.tensorflow.ops.operations import (allgather, allreduce_group as _grouped_allreduce,
                                               allreduce_one as _allreduce, alltoall, broadcast,
                                               grouped_allgather, join,
                                               reducescatter_group as _grouped_reducescatter)
from horovod.tensorflow.util import _executing_eagerly, normalized as _normalize_name

__all__ = _basics.__all__ + _common.NAMES + [
    "allgather", "alltoall", "broadcast", "broadcast_", "check_num_rank_power_of_2",
    "gpu_available", "grouped_allgather", "handle_average_backwards_compatibility", "join",
    "local_rank_op", "local_size_op", "process_set_included_op", "rank_op", "size_op",
]

handle_average_backwards_compatibility = get_average_backwards_compatibility_fun(_common)


def _check_has_gpu():
    return bool(tf.test.is_gpu_available())


def _number_op(function):
    """A number as a tensor: in a graph, the one when it runs."""
    if _executing_eagerly():
        return tf.constant(function(), tf.int32)
    with tf.device("/cpu:0"):
        number = call(lambda: numpy.int32(function()), [], tf.int32)
    number.set_shape([])
    return number


def size_op(process_set_id=0, name=None):
    """How many ranks the process set has, as a tensor (int32)."""
    return _number_op(lambda: _registered[process_set_id].size())


def process_set_included_op(process_set_id=0, name=None):
    """1 where this rank is one of the process set's, else 0, as a tensor (int32)."""
    return _number_op(lambda: int(_registered[process_set_id].included()))


def local_size_op(name=None):
    """local_size() as a tensor (int32)."""
    return _number_op(_basics.local_size)


def rank_op(name=None):
    """rank() as a tensor (int32)."""
    return _number_op(_basics.rank)


def local_rank_op(name=None):
    """local_rank() as a tensor (int32)."""
    return _number_op(_basics.local_rank)
