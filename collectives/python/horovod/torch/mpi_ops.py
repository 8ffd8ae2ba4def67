# SPDX-License-Identifier: Apache-2.0
"""All collective operations on torch tensors, under the module name that scripts import.

Operations are matched between ranks by name; unnamed ones by the order in which they are submitted.
Ranks may submit and synchronize named operations in different orders (horovod/common/queue.py).
Functions that wait raise HorovodInternalError where ranks disagree or one of them is gone. Wrong
arguments, calls before init() and calls on a rank that is not in the process set are ValueError
before anything is sent. A tensor belongs to its operation until that is synchronized.
"""
from horovod.common.basics import (ccl_built, cross_rank, cross_size, cuda_built, ddl_built,
                                   gloo_built, gloo_enabled, init, is_homogeneous, is_initialized,
                                   local_rank, local_size, mpi_built, mpi_enabled,
                                   mpi_threads_supported, nccl_built, rank, rocm_built, shutdown,
                                   size, start_timeline, stop_timeline)
from horovod.common.process_sets import (ProcessSet, add_process_set, global_process_set,
                                         remove_process_set)
from horovod.torch.ops.allgather import (allgather, allgather_async, grouped_allgather,
                                         grouped_allgather_async)
from horovod.torch.ops.allreduce import (Adasum, Average, Max, Min, Product, Sum, allreduce, allreduce_,
                                     allreduce_async, allreduce_async_, grouped_allreduce,
                                     grouped_allreduce_, grouped_allreduce_async,
                                     grouped_allreduce_async_)
from horovod.torch.ops.alltoall import alltoall, alltoall_async
from horovod.torch.ops.broadcast import broadcast, broadcast_, broadcast_async, broadcast_async_
from horovod.torch.ops.handles import barrier, join, poll, synchronize
from horovod.torch.ops.reducescatter import (grouped_reducescatter, grouped_reducescatter_async,
                                             reducescatter, reducescatter_async)
from horovod.torch.ops.sparse import sparse_allreduce_async

__all__ = [
    "Adasum", "Average", "Max", "Min", "ProcessSet", "Product", "Sum", "add_process_set",
    "allgather", "allgather_async", "allreduce", "allreduce_", "allreduce_async",
    "allreduce_async_", "alltoall", "alltoall_async", "barrier", "broadcast", "broadcast_",
    "broadcast_async", "broadcast_async_", "ccl_built", "cross_rank", "cross_size", "cuda_built",
    "ddl_built", "global_process_set", "gloo_built", "gloo_enabled", "grouped_allgather",
    "grouped_allgather_async", "grouped_allreduce", "grouped_allreduce_", "grouped_allreduce_async",
    "grouped_allreduce_async_", "grouped_reducescatter", "grouped_reducescatter_async", "init",
    "is_homogeneous", "is_initialized", "join", "local_rank", "local_size", "mpi_built",
    "mpi_enabled", "mpi_threads_supported", "nccl_built", "poll", "rank", "reducescatter",
    "reducescatter_async", "remove_process_set", "rocm_built", "shutdown", "size",
    "sparse_allreduce_async", "start_timeline", "stop_timeline", "synchronize",
]
