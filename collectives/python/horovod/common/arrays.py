# SPDX-License-Identifier: Apache-2.0
"""Collective operations on numpy arrays, for frameworks whose tensors share memory with them.

Each function starts one and returns its Operation, whose result is a list of new arrays (common/queue.py).
Contiguous arrays are read in place, and must not change until the operation has ended. Wrong arguments
raise ValueError, before any data is sent.
"""
import struct

import numpy

from horovod.common import basics, library
from horovod.common.adasum import ADASUM, combine
from horovod.common.process_sets import global_process_set

OP_NAMES = {library.SUM: "sum", library.AVERAGE: "average", library.MIN: "min", library.MAX: "max",
            library.PRODUCT: "product"}

_REDUCED = {"float16": library.FLOAT16, "bfloat16": library.BFLOAT16, "float32": library.FLOAT32,
            "float64": library.FLOAT64, "uint8": library.UINT8, "int8": library.INT8,
            "int32": library.INT32, "int64": library.INT64, "bool": library.BOOL}
_FLOATING = ("float16", "bfloat16", "float32", "float64")
# Averages and factors of these are computed as wider integers.
_SMALL = {"uint8": "int32", "int8": "int32", "uint16": "int32", "int16": "int32", "bool": "int32"}


def is_floating(dtype_name):
    """Whether the library multiplies such elements by factors itself."""
    return dtype_name in _FLOATING


def library_type(dtype_name, op, factors):
    """The library's number of a type that it reduces as it is; None: another one is needed."""
    if op == ADASUM:
        return None
    if dtype_name in _SMALL and (op == library.AVERAGE or factors != (1.0, 1.0)):
        return None
    if factors != (1.0, 1.0) and dtype_name not in _FLOATING:
        return None
    return _REDUCED.get(dtype_name)


def check_op(op, dtype_names):
    """Raises ValueError for an unknown reduction, and for types that do not have it."""
    if op == ADASUM:
        for name in dtype_names:
            if not is_floating(name):
                raise ValueError("horovod: Adasum of %s: expected floating-point numbers" % name)
        return
    if op not in OP_NAMES:
        raise ValueError("horovod: unknown reduction %r: use Average, Sum, Min, Max, Product or "
                         "Adasum" % (op,))
    for name in dtype_names:
        if name not in _REDUCED and name not in _SMALL:
            raise ValueError("horovod: reduction of %s is not supported" % name)
        if op == library.AVERAGE and name == "bool":
            raise ValueError("horovod: booleans have no average: use Sum or Max (or), Min or "
                             "Product (and)")


def shape_text(dtype_name, shape):
    """Type and shape as one word, on which ranks have to agree."""
    return "%s%s" % (dtype_name, [int(length) for length in shape])


def _contiguous(array):
    return numpy.ascontiguousarray(array).reshape(array.shape)  # which makes a scalar a vector


def _text(arrays, skip=0):
    return ", ".join(shape_text(array.dtype.name, array.shape[skip:]) for array in arrays)


def _scaled(array, factor):
    """An integer array * factor, multiplied as float64 and truncated; others as they are."""
    if factor == 1.0 or array.dtype.name in _FLOATING:
        return array
    return (array.astype("float64") * factor).astype(array.dtype)


def _for_reduction(array, op, factors):
    """The array itself where the library can reduce it, else a copy of a type that it can."""
    name = array.dtype.name
    wider = _SMALL.get(name)
    if wider and (op == library.AVERAGE or factors != (1.0, 1.0) or name not in _REDUCED):
        array = array.astype(wider)
    return _scaled(_contiguous(array), factors[0])


def _address(array):
    return array.ctypes.data


def _is_scaled_here(arrays, factors):
    return factors != (1.0, 1.0) and not all(array.dtype.name in _FLOATING for array in arrays)


def _describe(arrays, op, factors):
    text = "%s of %s" % (OP_NAMES[op], _text(arrays))
    return text if factors == (1.0, 1.0) else text + " scaled by %r and %r" % factors


def _library_factors(array, factors):
    return factors if array.dtype.name in _FLOATING else (1.0, 1.0)


def allreduce(arrays, name=None, op=library.AVERAGE, factors=(1.0, 1.0),
              process_set=global_process_set, verb="allreduce"):
    """Reduces each of the arrays over the ranks, all or none of them.

    factors: of the inputs and of the results.
    """
    check_op(op, [array.dtype.name for array in arrays])
    queue = basics.queue(process_set)
    if not arrays:
        return queue.submit(verb, name, "of nothing", lambda: [], lambda: [])
    if op == ADASUM:
        return _adasum(arrays, name, factors, queue)
    sent = [_for_reduction(array, op, factors) for array in arrays]
    received = [numpy.empty_like(array) for array in sent]

    def finish():
        return [_scaled(result, factors[1]).astype(array.dtype, copy=False)
                for array, result in zip(arrays, received)]

    def start():  # also of a group in which the library scales some tensors only
        communicator = queue.communicator
        return [communicator.allreduce_async(_address(one), _address(other), one.size,
                                             _REDUCED[one.dtype.name], op,
                                             *_library_factors(one, factors))
                for one, other in zip(sent, received)]

    apart = _is_scaled_here(sent, factors)
    if apart and any(array.dtype.name in _FLOATING for array in sent):
        return queue.submit(verb, name, _describe(arrays, op, factors), start, finish)
    details = "of " + _text(arrays)
    if apart:
        details += " scaled by %r and %r" % factors
    places = [(_address(one), _address(other), one.size, _REDUCED[one.dtype.name])
              for one, other in zip(sent, received)]
    return queue.allreduce(name, details, places, op, (1.0, 1.0) if apart else factors, finish,
                           (sent, received), verb)


def _adasum(arrays, name, factors, queue):
    sent = [array.astype("float64").reshape(-1) * factors[0] for array in arrays]
    results = []

    def start():
        results.extend(combine(queue.communicator, vector) for vector in sent)
        return []

    def finish():
        return [(result * factors[1]).reshape(array.shape).astype(array.dtype)
                for array, result in zip(arrays, results)]

    details = "of " + _text(arrays)
    if factors != (1.0, 1.0):
        details += " scaled by %r and %r" % factors
    return queue.submit("adasum", name, details, start, finish)


def join():
    """Says that this rank has no more data; the result, once all ranks have: the last one's number.

    Until then it takes part in the others' sums and averages with zeros.
    """
    operation = basics.queue().join()
    last = operation.finish
    operation.finish = lambda: [numpy.array(last(), "int32")]
    return operation


def broadcast(arrays, root_rank, name=None, process_set=global_process_set):
    """Gives every rank root_rank's arrays; root_rank is its number in the job."""
    communicator = basics.communicator(process_set)
    if root_rank not in process_set.ranks:
        raise ValueError("horovod: broadcast from rank %r, which is not one of the %d ranks that "
                         "take part" % (root_rank, communicator.size))
    root = communicator.ranks.index(root_rank)
    buffers = [numpy.array(array, order="C", copy=True) for array in arrays]

    def start():
        return [communicator.broadcast_async(_address(buffer), buffer.nbytes, library.UINT8, root)
                for buffer in buffers]

    return basics.queue(process_set).submit(
        "broadcast", name, "of %s from rank %d" % (_text(arrays), root_rank), start,
        lambda: buffers)


def allgather(arrays, name=None, process_set=global_process_set):
    """Each of the arrays of all ranks, one after the other along the first dimension.

    The last array of the result says how many rows each rank has of each array.
    """
    if any(array.ndim == 0 for array in arrays):
        raise ValueError("horovod: allgather needs a dimension to gather along: reshape the scalar")
    communicator = basics.communicator(process_set)
    sent = [_contiguous(array) for array in arrays]
    received = []

    def start():
        layout = struct.Struct("<%dq" % len(sent))
        own = layout.pack(*map(len, sent))
        ranks = [layout.unpack(rows) for rows in communicator.allgather_bytes(own)]
        requests = []
        every_rows = list(zip(*ranks))
        for array, rows in zip(sent, every_rows):
            gathered = numpy.empty((sum(rows),) + array.shape[1:], array.dtype)
            received.append(gathered)
            row = _row_bytes(array)
            requests.append(communicator.allgatherv_async(
                _address(array), _address(gathered), [count * row for count in rows],
                library.UINT8))
        received.append(numpy.array(every_rows, "int64"))
        return requests

    return basics.queue(process_set).submit("allgather", name, "of " + _text(arrays, skip=1), start,
                                            lambda: received)


def _row_bytes(array):
    bytes_of_row = array.dtype.itemsize
    for length in array.shape[1:]:
        bytes_of_row *= length
    return bytes_of_row


def alltoall(array, splits=None, name=None, process_set=global_process_set):
    """Rows of each rank's array to each rank; the result: the rows, and how many of each rank.

    splits: how many go to each rank, an array; None: as many to each.
    """
    if array.ndim == 0:
        raise ValueError("horovod: alltoall needs a dimension to split: reshape the scalar")
    communicator = basics.communicator(process_set)
    rows = _checked_splits(array, splits, communicator.size)
    sent, received = _contiguous(array), []

    def start():
        received_rows = communicator.alltoall_numbers(rows)
        received.append(numpy.empty((sum(received_rows),) + sent.shape[1:], sent.dtype))
        received.append(numpy.array(received_rows, "int32"))
        row = _row_bytes(sent)
        return [communicator.alltoallv_async(
            _address(sent), [count * row for count in rows], _address(received[0]),
            [count * row for count in received_rows], library.UINT8)]

    return basics.queue(process_set).submit("alltoall", name, "of " + _text([array], skip=1), start,
                                            lambda: received)


def _checked_splits(array, splits, size):
    length = len(array)
    if splits is None:
        if length % size != 0:
            raise ValueError("horovod: alltoall: the first dimension, %d, is not a multiple of %d, "
                             "the number of ranks: pass splits" % (length, size))
        return [length // size] * size
    if splits.shape != (size,):
        raise ValueError("horovod: alltoall: splits has the shape %s: expected one number for each "
                         "of %d ranks" % (list(splits.shape), size))
    if splits.dtype.kind not in "iu":
        raise ValueError("horovod: alltoall: splits of %s are not integers" % splits.dtype.name)
    rows = [int(count) for count in splits]
    if min(rows) < 0 or sum(rows) != length:
        raise ValueError("horovod: alltoall: splits %s do not add up to the first dimension, %d"
                         % (rows, length))
    return rows


def reducescatter(arrays, name=None, op=library.AVERAGE, factors=(1.0, 1.0),
                  process_set=global_process_set):
    """This rank's rows of the reduction of each array: the first ranks get one more."""
    if op == ADASUM:
        raise ValueError("horovod: Adasum is for allreduce and grouped_allreduce only")
    check_op(op, [array.dtype.name for array in arrays])
    if any(array.ndim == 0 for array in arrays):
        raise ValueError("horovod: reducescatter needs a dimension to split: reshape the scalar")
    communicator = basics.communicator(process_set)
    size, rank = communicator.size, communicator.rank
    sent = [_for_reduction(array, op, factors) for array in arrays]
    rows = [[len(array) // size + (one < len(array) % size) for one in range(size)]
            for array in arrays]
    received = [numpy.empty((own[rank],) + array.shape[1:], array.dtype)
                for array, own in zip(sent, rows)]

    def start():
        requests = []
        for one, other, counts in zip(sent, received, rows):
            row = _row_bytes(one) // one.dtype.itemsize
            requests.append(communicator.reduce_scatter_async(
                _address(one), _address(other), [count * row for count in counts],
                _REDUCED[one.dtype.name], op, *_library_factors(one, factors)))
        return requests

    def finish():
        return [_scaled(result, factors[1]).astype(array.dtype, copy=False)
                for array, result in zip(arrays, received)]

    return basics.queue(process_set).submit("reducescatter", name, _describe(arrays, op, factors),
                                            start, finish)


def wait(operation):
    """The operation's list of arrays. HorovodInternalError where ranks disagree or one is gone."""
    return operation.queue.wait(operation)
