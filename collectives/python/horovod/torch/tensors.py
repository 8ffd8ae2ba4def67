# SPDX-License-Identifier: Apache-2.0
"""Collective operations on torch tensors, of any type and device.

Tensors of a GPU are reduced there (gpu.py says which); otherwise the library works on host memory,
and tensors of other devices go through a copy. Complex numbers are pairs of floats.
"""
import torch

from horovod.common.operations import Operations
from horovod.torch import gpu


class _Kinds(dict):
    """The name of each type: torch has none, and str() of a type is slow."""

    def __missing__(self, dtype):
        self[dtype] = str(dtype).replace("torch.", "")
        return self[dtype]


_kinds = _Kinds()


class Tensors(Operations):
    """Operations on dense tensors."""

    int32, float64 = torch.int32, torch.float64
    pairs = ("complex32", "complex64", "complex128")

    def kind(self, tensor):
        return _kinds[tensor.dtype]

    def check_tensor(self, tensor):
        if not torch.is_tensor(tensor):
            raise ValueError("horovod: expected a torch.Tensor, got %s" % type(tensor).__name__)
        if tensor.layout != torch.strided:
            raise ValueError("horovod: sparse tensors are not supported; convert with to_dense()")

    def where(self, queue, tensors):
        return gpu.where(queue, tensors)

    def buffer(self, tensor, stay=False):
        tensor = tensor.detach()
        if not stay:
            tensor = tensor.cpu()
        # torch may conjugate and negate lazily: a copy has the numbers in memory.
        return tensor.contiguous().resolve_conj().resolve_neg()

    def as_pairs(self, buffer):
        return torch.view_as_real(buffer) if buffer.is_complex() else buffer

    def empty(self, buffer, shape):
        return buffer.new_empty(shape)

    def address(self, tensor):
        return tensor.data_ptr()

    def count(self, buffer):
        return buffer.numel()

    def item_bytes(self, buffer):
        return buffer.element_size()

    def cast(self, tensor, dtype):
        return tensor.detach().to(dtype)

    def result(self, buffer, tensor):
        return _of_pairs(buffer, tensor).to(tensor.device, tensor.dtype)

    def put(self, buffer, tensor):
        buffer = _of_pairs(buffer, tensor)
        if buffer.data_ptr() != tensor.data_ptr() or buffer.dtype != tensor.dtype:
            with torch.no_grad():
                _once(tensor, tensor).copy_(_once(buffer, tensor))
        return tensor

    def numbers(self, values, dtype, beside):
        return torch.tensor(values, dtype=getattr(torch, dtype),
                            device=beside.device if torch.is_tensor(beside) else "cpu")

    def vector(self, tensor):
        return self.buffer(tensor).double().reshape(-1).numpy()

    def of_vector(self, vector, tensor):
        return self.result(torch.from_numpy(vector).reshape(tensor.shape), tensor)


def _once(values, expanded):
    """The values at those places of an expanded tensor that have memory of their own: all where it is not expanded."""
    for dimension, stride in enumerate(expanded.stride()):
        if stride == 0:
            values = values.narrow(dimension, 0, min(1, values.shape[dimension]))
    return values


def _of_pairs(buffer, tensor):
    if tensor.is_complex() and not buffer.is_complex():
        return torch.view_as_complex(buffer)
    return buffer


operations = Tensors()
