# SPDX-License-Identifier: Apache-2.0
"""Reductions of sparse tensors: every rank gets all ranks' values, and adds up those of equal places."""
import torch

from horovod.common.process_sets import global_process_set
from horovod.torch.ops.allgather import grouped_allgather_async
from horovod.torch.ops.allreduce import Average, Sum


class SparseHandle:
    """A reduction under way. synchronize() and poll() take it; calling it returns its result."""

    def __init__(self, operation):
        self.queue = self
        self._operation = operation

    def __call__(self):
        return self.wait(self)

    def wait(self, _):
        return self._operation.queue.wait(self._operation)

    def poll(self, _):
        return self._operation.queue.poll(self._operation)


def sparse_allreduce_async(tensor, name, op, process_set=global_process_set):
    """Starts a reduction of a sparse COO tensor; the handle, when called, returns the result.

    tensor: of the same shape and type on all ranks, with any elements. op: Average or Sum.
    """
    if not torch.is_tensor(tensor) or tensor.layout != torch.sparse_coo:
        raise ValueError("horovod: sparse_allreduce_async: expected a sparse COO tensor")
    if op not in (Average, Sum):
        raise ValueError("horovod: sparse_allreduce_async: op must be Average or Sum")
    indices = tensor._indices().transpose(0, 1)  # of each element, its place: rows to gather
    name = None if name is None else "%s.sparse" % name
    operation = grouped_allgather_async([indices, tensor._values()], name, process_set)
    gathered = operation.finish

    def finish():
        indices, values = gathered()
        if op == Average:
            values = values / process_set.size()
        return torch.sparse_coo_tensor(indices.transpose(0, 1), values, tensor.shape).coalesce()

    operation.finish = finish
    return SparseHandle(operation)
