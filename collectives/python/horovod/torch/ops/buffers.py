# SPDX-License-Identifier: Apache-2.0
"""Between torch tensors and the memory that the library works on.

The library reduces floats of 16, 32 and 64 bits, integers of 8, 32 and 64 and bool in contiguous
memory, of the host or of a GPU (gpu.py). Tensors that are such memory are used in place; others go
through a copy (other devices through the host, int16 through int32). Averages and factors of small
integers go through int32 too, because intermediate values may not fit. Complex numbers are pairs of
floats. If a tensor is lazily conjugated or negated in torch, the copy does that.
"""
import torch

from horovod.common import library

_REDUCED = {torch.float16: library.FLOAT16, torch.bfloat16: library.BFLOAT16,
            torch.float32: library.FLOAT32, torch.float64: library.FLOAT64,
            torch.uint8: library.UINT8, torch.int8: library.INT8, torch.int32: library.INT32,
            torch.int64: library.INT64, torch.bool: library.BOOL}
_COMPLEX = (torch.complex32, torch.complex64, torch.complex128)
_SMALL = (torch.uint8, torch.int8, torch.int16, torch.bool)


def check_dense(tensor):
    """Raises ValueError unless it is a dense tensor."""
    if not torch.is_tensor(tensor):
        raise ValueError("horovod: expected a torch.Tensor, got %s" % type(tensor).__name__)
    if tensor.layout != torch.strided:
        raise ValueError("horovod: sparse tensors are not supported; convert with to_dense()")


def check_reducible(tensor, op=library.SUM):
    """Raises ValueError for a tensor whose type does not have the reduction."""
    check_dense(tensor)
    if tensor.dtype in _COMPLEX and op in (library.SUM, library.AVERAGE):
        return
    if tensor.dtype not in _REDUCED and tensor.dtype not in _SMALL:
        raise ValueError("horovod: this reduction of %s is not supported" % tensor.dtype)


def reduction_type(tensor):
    """The library's number for a tensor that for_reduction() returned."""
    return _REDUCED[tensor.dtype]


def for_reduction(tensor, op=library.SUM, factors=(1.0, 1.0), stay=False):
    """The tensor itself where the library can reduce it, else a contiguous copy.

    stay: it is reduced on its device, not in host memory. An integer tensor has been multiplied by
    the first of the factors.
    """
    wire = tensor.detach()
    computed = op == library.AVERAGE or factors != (1.0, 1.0)
    if wire.dtype in _SMALL and (computed or wire.dtype not in _REDUCED):
        wire = wire.to(torch.int32)
    wire = _plain(wire if stay else wire.cpu())
    return scaled(torch.view_as_real(wire) if wire.is_complex() else wire, factors[0])


def _plain(tensor):
    """Contiguous, and with the numbers in memory that the tensor means."""
    return tensor.contiguous().resolve_conj().resolve_neg()


def reduced(buffer, tensor):
    """The result from the memory that for_reduction() returned, in the tensor's type and place."""
    if tensor.is_complex():
        buffer = torch.view_as_complex(buffer)
    return buffer.to(tensor.device, tensor.dtype)


def library_factors(tensor, factors):
    """Those by which the library multiplies: none for integers, which scaled() multiplies."""
    return factors if tensor.dtype.is_floating_point else (1.0, 1.0)


def for_transport(tensor):
    """The tensor itself where it is contiguous host memory, else such a copy."""
    return _plain(tensor.detach().cpu())


def scaled(tensor, factor):
    """An integer tensor * factor, multiplied as float64 and truncated; others as they are."""
    if factor == 1.0 or tensor.dtype.is_floating_point:
        return tensor
    return (tensor.double() * factor).to(tensor.dtype)


def shape(tensor, skip=0):
    """Type and shape as one word, without the first skip dimensions: must agree on all ranks."""
    return "%s%s" % (str(tensor.dtype).replace("torch.", ""), list(tensor.shape[skip:]))


def byte_count(tensor):
    """Bytes of a tensor's elements."""
    return tensor.numel() * tensor.element_size()


def row_bytes(tensor):
    """Bytes of one of the parts that a tensor has along its first dimension."""
    return tensor.shape[1:].numel() * tensor.element_size()


def copy_back(tensor, buffer):
    """Puts a result into the tensor that was asked for, unless it is there already."""
    if tensor.is_complex() and not buffer.is_complex():
        buffer = torch.view_as_complex(buffer)
    if buffer.data_ptr() != tensor.data_ptr() or buffer.dtype != tensor.dtype:
        with torch.no_grad():
            tensor.copy_(buffer)
    return tensor
