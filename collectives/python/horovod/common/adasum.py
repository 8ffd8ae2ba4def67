# SPDX-License-Identifier: Apache-2.0
"""Adasum: a sum of gradients that counts their common direction once.

Of two gradients a and b it is (1 - ab / 2aa) a + (1 - ab / 2bb) b, where ab is their scalar product.
Of more ranks it is the Adasum of the lower half's and the upper half's. Each rank receives a part of
the elements of all ranks and combines it. Ranks then exchange scalar products, and at the end results.

Source: Maleki et al., "Scaling Distributed Training with Adaptive Summation", MLSys 2021.
"""
import numpy

from horovod.common import library


def combine(communicator, vector):
    """Returns the Adasum of the ranks' vectors (float64). Called at the operation's turn in the queue."""
    size, rank = communicator.size, communicator.rank
    counts = [len(vector) // size + (one < len(vector) % size) for one in range(size)]
    own = counts[rank]
    parts = numpy.empty((size, own))  # of every rank, the elements of this one
    communicator.wait(communicator.alltoallv_async(
        vector.ctypes.data, _bytes(vector, counts), parts.ctypes.data, _bytes(vector, [own] * size),
        library.UINT8))
    parts = list(parts)
    while len(parts) > 1:  # neighbours first: those of a node
        pairs = list(zip(parts[::2], parts[1::2]))
        products = numpy.array([[a.dot(a), a.dot(b), b.dot(b)] for a, b in pairs])
        communicator.wait(communicator.allreduce_async(
            products.ctypes.data, products.ctypes.data, products.size, library.FLOAT64,
            library.SUM))
        left = parts[len(pairs) * 2:]
        parts = [_share(ab, aa) * a + _share(ab, bb) * b
                 for (a, b), (aa, ab, bb) in zip(pairs, products.tolist())] + left
    result = numpy.empty_like(vector)
    part = numpy.ascontiguousarray(parts[0])
    communicator.wait(communicator.allgatherv_async(part.ctypes.data, result.ctypes.data,
                                                    _bytes(vector, counts), library.UINT8))
    return result


def _share(product, square):
    return 1.0 - product / (2.0 * square) if square > 0 else 1.0


def _bytes(vector, counts):
    return [count * vector.itemsize for count in counts]
