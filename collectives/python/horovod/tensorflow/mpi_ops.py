# SPDX-License-Identifier: Apache-2.0
"""Operations on TensorFlow's tensors, and the rank's numbers, under the module name that scripts import."""
import numpy
import tensorflow as tf

from horovod.common import basics as _basics
from horovod.common.basics import (ccl_built, cross_rank, cross_size, cuda_built, ddl_built,
                                   gloo_built, gloo_enabled, init, is_homogeneous, is_initialized,
                                   local_rank, local_size, mpi_built, mpi_enabled,
                                   mpi_threads_supported, nccl_built, rank, rocm_built, shutdown,
                                   size, start_timeline, stop_timeline)
from horovod.common.process_sets import (ProcessSet, _registered, add_process_set,
                                         global_process_set, remove_process_set)
from horovod.common.util import get_average_backwards_compatibility_fun
from horovod.common.util import gpu_available, num_rank_is_power_2 as check_num_rank_power_of_2
from horovod.tensorflow.functions import broadcast_
from horovod.tensorflow.ops import reductions
from horovod.tensorflow.ops.bridge import call
from horovod.tensorflow.ops.exchanges import (allgather, alltoall, broadcast, grouped_allgather,
                                              join)
from horovod.tensorflow.ops.reductions import (Adasum, Average, Max, Min, Product, Sum,
                                               allreduce_group as _grouped_allreduce,
                                               allreduce_one as _allreduce,
                                               reducescatter_group as _grouped_reducescatter)
from horovod.tensorflow.util import _executing_eagerly, normalized as _normalize_name

handle_average_backwards_compatibility = get_average_backwards_compatibility_fun(reductions)


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
    return _number_op(local_size)


def rank_op(name=None):
    """rank() as a tensor (int32)."""
    return _number_op(rank)


def local_rank_op(name=None):
    """local_rank() as a tensor (int32)."""
    return _number_op(local_rank)
