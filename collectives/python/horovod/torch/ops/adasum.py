# SPDX-License-Identifier: Apache-2.0
"""Adasum: a sum of gradients that counts what they have in common once.

Of two gradients a and b it is (1 - ab / 2aa) a + (1 - ab / 2bb) b, where ab is their scalar product;
of more ranks, that of the Adasums of the lower and of the upper half. Each rank combines a part of
the elements of all ranks: the parts change places, then only scalar products travel, and results.

Source: Maleki et al., "Scaling Distributed Training with Adaptive Summation", MLSys 2021.
"""
import torch

from horovod.common import basics, library
from horovod.torch.ops import buffers

_DOUBLE = 8  # bytes


def submit(tensors, outputs, name, factors, process_set):
    """An operation over a list of floating-point tensors. Each tensor is combined by itself."""
    for tensor in tensors:
        buffers.check_dense(tensor)
        if not tensor.is_floating_point():
            raise ValueError("horovod: Adasum of %s: floating-point numbers are wanted"
                             % tensor.dtype)
    queue = basics.queue(process_set)
    sent = [buffers.for_transport(tensor).double().reshape(-1) * factors[0] for tensor in tensors]
    results = []

    def start():
        results.extend(_combined(queue.communicator, tensor) for tensor in sent)
        return []

    def finish():
        shaped = [(result * factors[1]).reshape(tensor.shape).to(tensor.device, tensor.dtype)
                  for tensor, result in zip(tensors, results)]
        return [result if output is None else buffers.copy_back(output, result)
                for output, result in zip(outputs, shaped)]

    shapes = ", ".join(map(buffers.shape, tensors))
    scales = "" if factors == (1.0, 1.0) else " scaled by %r and %r" % factors
    return queue.submit("adasum", name, "of " + shapes + scales, start, finish)


def _combined(communicator, tensor):
    """The ranks' tensors, combined; in the queue's turn."""
    size = communicator.size
    counts = [len(part) for part in torch.tensor_split(tensor, size)]
    own = counts[communicator.rank]
    parts = torch.empty(size, own, dtype=torch.float64)  # of every rank, the elements of this one
    communicator.wait(communicator.alltoallv_async(
        tensor.data_ptr(), _bytes(counts), parts.data_ptr(), _bytes([own] * size), library.UINT8))
    parts = list(parts)
    while len(parts) > 1:  # neighbours first: those of a node
        pairs = list(zip(parts[::2], parts[1::2]))
        products = torch.tensor([[a @ a, a @ b, b @ b] for a, b in pairs], dtype=torch.float64)
        communicator.wait(communicator.allreduce_async(
            products.data_ptr(), products.data_ptr(), products.numel(), library.FLOAT64,
            library.SUM))
        left = parts[len(pairs) * 2:]
        parts = [_share(ab, aa) * a + _share(ab, bb) * b
                 for (a, b), (aa, ab, bb) in zip(pairs, products.tolist())] + left
    result = torch.empty_like(tensor)
    part = parts[0].contiguous()
    communicator.wait(communicator.allgatherv_async(part.data_ptr(), result.data_ptr(),
                                                    _bytes(counts), library.UINT8))
    return result


def _share(product, square):
    return 1.0 - product / (2.0 * square) if square > 0 else 1.0


def _bytes(counts):
    return [count * _DOUBLE for count in counts]
