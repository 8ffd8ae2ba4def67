# SPDX-License-Identifier: Apache-2.0
"""``import horovod.tensorflow.keras as hvd``: Horovod for tf.keras over libbatchai_collectives."""
from tensorflow import keras

from horovod._keras import saving as _saving
from horovod._keras.interface import Average, Interface as _Interface, Sum
from horovod.common.basics import (ccl_built, cross_rank, cross_size, cuda_built, ddl_built,
                                   gloo_built, gloo_enabled, init, is_initialized, local_rank,
                                   local_size, mpi_built, mpi_enabled, mpi_threads_supported,
                                   nccl_built, rank, rocm_built, shutdown, size, start_timeline,
                                   stop_timeline)
from horovod.common.process_sets import (ProcessSet, add_process_set, global_process_set,
                                         remove_process_set)
from horovod.tensorflow.keras import callbacks, elastic

_interface = _Interface(keras)
_saving.install(keras)

Compression = _interface.Compression
DistributedOptimizer = _interface.DistributedOptimizer
PartialDistributedOptimizer = _interface.PartialDistributedOptimizer
allgather = _interface.allgather
allreduce = _interface.allreduce
broadcast = _interface.broadcast
broadcast_global_variables = _interface.broadcast_global_variables
load_model = _interface.load_model
reducescatter = _interface.reducescatter
