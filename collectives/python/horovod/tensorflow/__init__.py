# SPDX-License-Identifier: Apache-2.0
"""``import horovod.tensorflow as hvd``: Horovod for TensorFlow 1.8 and newer over libbatchai_collectives."""
from horovod.common.exceptions import HorovodInternalError, HostsUpdatedInterrupt
from horovod.common.util import check_extension
from horovod.tensorflow import elastic, mpi_ops
from horovod.tensorflow.compression import Compression
from horovod.tensorflow.functions import (allgather_object, broadcast_global_variables,
                                          broadcast_object, broadcast_object_fn,
                                          broadcast_variables)
from horovod.tensorflow.mpi_ops import *  # noqa: F403 (its __all__ is the list of operations)
from horovod.tensorflow.mpi_ops import _allreduce
from horovod.tensorflow.optimizer import DistributedOptimizer
from horovod.tensorflow.reduce import (allreduce, grouped_allreduce, grouped_reducescatter,
                                       reducescatter)
from horovod.tensorflow.session import (BroadcastGlobalVariablesHook,
                                        leave_launchers_cluster as _leave_launchers_cluster)
from horovod.tensorflow.sync_batch_norm import SyncBatchNormalization
from horovod.tensorflow.tape import DistributedGradientTape, PartialDistributedGradientTape
from horovod.tensorflow.util import _executing_eagerly

_leave_launchers_cluster()
