# SPDX-License-Identifier: Apache-2.0
"""``import horovod.tensorflow as hvd``: Horovod for TensorFlow 1.8 and newer over libbatchai_collectives."""
from horovod.common.exceptions import HorovodInternalError, HostsUpdatedInterrupt
from horovod.common.util import check_extension
from horovod.tensorflow import cluster as _cluster, elastic, mpi_ops
from horovod.tensorflow.compression import Compression
from horovod.tensorflow.functions import (allgather_object, broadcast_global_variables,
                                          broadcast_object, broadcast_object_fn,
                                          broadcast_variables)
from horovod.tensorflow.mpi_ops import (
    Adasum, Average, Max, Min, ProcessSet, Product, Sum, add_process_set, allgather, alltoall,
    broadcast, broadcast_, ccl_built, check_num_rank_power_of_2, cross_rank, cross_size, cuda_built, ddl_built,
    global_process_set, gloo_built, gloo_enabled, gpu_available, grouped_allgather,
    handle_average_backwards_compatibility, init, is_homogeneous, is_initialized, join, local_rank,
    local_rank_op, local_size, local_size_op, mpi_built, mpi_enabled, mpi_threads_supported,
    nccl_built, process_set_included_op, rank, rank_op, remove_process_set, rocm_built, shutdown,
    size, size_op, start_timeline, stop_timeline)
from horovod.tensorflow.optimizer import DistributedOptimizer
from horovod.tensorflow.reduce import (allreduce, grouped_allreduce, grouped_reducescatter,
                                       reducescatter)
from horovod.tensorflow.session import BroadcastGlobalVariablesHook
from horovod.tensorflow.sync_batch_norm import SyncBatchNormalization
from horovod.tensorflow.tape import DistributedGradientTape, PartialDistributedGradientTape
from horovod.tensorflow.util import _executing_eagerly

_cluster.leave_launchers_cluster()
