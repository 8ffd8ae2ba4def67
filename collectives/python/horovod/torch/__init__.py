# SPDX-License-Identifier: Apache-2.0
"""``import horovod.torch as hvd``: Horovod for PyTorch over libbatchai_collectives."""
from horovod.common.exceptions import HorovodInternalError, HostsUpdatedInterrupt
from horovod.common.util import check_extension
from horovod.torch import elastic, mpi_ops
from horovod.torch.compression import Compression
from horovod.torch.functions import (allgather_object, broadcast_object, broadcast_optimizer_state,
                                     broadcast_parameters)
from horovod.torch.mpi_ops import *  # noqa: F403 (its __all__ is the list of operations)
from horovod.torch.optimizer import DistributedOptimizer
from horovod.torch.sync_batch_norm import SyncBatchNorm


def _check_has_gpu():
    import torch
    return torch.cuda.is_available()


__all__ = mpi_ops.__all__ + [
    "Compression", "DistributedOptimizer", "HorovodInternalError", "HostsUpdatedInterrupt",
    "SyncBatchNorm", "allgather_object", "broadcast_object", "broadcast_optimizer_state",
    "broadcast_parameters", "check_extension", "elastic",
]
