# SPDX-License-Identifier: Apache-2.0
"""Between torch tensors and the memory that the library works on.

The library reduces float32, float64, int32 and int64 in contiguous host memory. Tensors that are
such memory are used in place; others go through a copy (float16 and bfloat16 through float32,
smaller integers and bool through int32, devices through the host).
"""
import torch

from horovod.common import library

_REDUCED = {torch.float32: library.FLOAT32, torch.float64: library.FLOAT64,
            torch.int32: library.INT32, torch.int64: library.INT64}
_WIDENED = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.uint8: torch.int32,
            torch.int8: torch.int32, torch.int16: torch.int32, torch.bool: torch.int32}


def check_dense(tensor):
    """Raises ValueError for what is no dense tensor."""
    if not torch.is_tensor(tensor):
        raise ValueError("horovod: a torch.Tensor is wanted, not %s" % type(tensor).__name__)
    if tensor.layout != torch.strided:
        raise ValueError("horovod: sparse tensors are not supported; convert with to_dense()")


def check_reducible(tensor):
    """Raises ValueError for a tensor whose type has no sum."""
    check_dense(tensor)
    if tensor.dtype not in _REDUCED and tensor.dtype not in _WIDENED:
        raise ValueError("horovod: allreduce of %s is not supported" % tensor.dtype)


def reduction_type(tensor):
    """The library's number for a tensor that for_reduction() returned."""
    return _REDUCED[tensor.dtype]


def for_reduction(tensor):
    """The tensor itself where the library can reduce it, else a widened, contiguous host copy."""
    wire = tensor.detach()
    return wire.to("cpu", _WIDENED.get(wire.dtype, wire.dtype)).contiguous()


def for_transport(tensor):
    """The tensor itself where it is contiguous host memory, else such a copy."""
    return tensor.detach().cpu().contiguous()


def scaled(tensor, factor):
    """tensor * factor in the tensor's type; integers are multiplied as float64 and truncated."""
    if factor == 1.0:
        return tensor
    if tensor.dtype.is_floating_point:
        return tensor * factor
    return (tensor.double() * factor).to(tensor.dtype)


def shape(tensor, skip=0):
    """Type and shape in a word, without the first skip dimensions: what ranks have to agree on."""
    return "%s%s" % (str(tensor.dtype).replace("torch.", ""), list(tensor.shape[skip:]))


def byte_count(tensor):
    """Bytes of a tensor's elements."""
    return tensor.numel() * tensor.element_size()


def copy_back(tensor, buffer):
    """Puts a result into the tensor that was asked for, unless it is there already."""
    if buffer.data_ptr() != tensor.data_ptr() or buffer.dtype != tensor.dtype:
        with torch.no_grad():
            tensor.copy_(buffer)
    return tensor
