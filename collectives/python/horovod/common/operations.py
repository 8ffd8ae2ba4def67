# SPDX-License-Identifier: Apache-2.0
"""The collective operations, once for all frameworks.

The class Operations carries them out. A derived class tells it about a framework's tensors: Arrays
(common/arrays.py) about NumPy's, which TensorFlow and JAX use too, and Tensors (torch/tensors.py)
about PyTorch's.

The library reduces floats of 16, 32 and 64 bits, integers of 8, 32 and 64 bits, and bool, in
contiguous memory. Such tensors are used in place. Others are copied, and int16 becomes int32.
Averages and scaled sums of small integers are computed as int32, because intermediate values may
not fit. The library multiplies floats by the factors; this package multiplies integers.
"""
import struct

from horovod.common import basics, library
from horovod.common.adasum import combine
from horovod.common.process_sets import global_process_set

Average, Sum, Min, Max, Product = (library.AVERAGE, library.SUM, library.MIN, library.MAX,
                                   library.PRODUCT)
Adasum = 100  # an operation of this package's own
NAMES = ["Adasum", "Average", "Max", "Min", "Product", "Sum"]  # which scripts use

_OP_NAMES = {Sum: "sum", Average: "average", Min: "min", Max: "max", Product: "product"}
_REDUCED = {"float16": library.FLOAT16, "bfloat16": library.BFLOAT16, "float32": library.FLOAT32,
            "float64": library.FLOAT64, "uint8": library.UINT8, "int8": library.INT8,
            "int32": library.INT32, "int64": library.INT64, "bool": library.BOOL}
_FLOATING = ("float16", "bfloat16", "float32", "float64")
_SMALL = ("uint8", "int8", "uint16", "int16", "bool")
_UNSCALED = (1.0, 1.0)


def check_gradient(op):
    """Raises ValueError for a reduction that has no gradient."""
    if op not in (Average, Sum):
        raise ValueError("horovod: only sums and averages have gradients")


def check_op(op, kinds, pairs=()):
    """Raises ValueError for an unknown reduction, and for types that do not have it.

    kinds: names of types. pairs: those of complex numbers, which are added up as pairs of floats.
    """
    if op == Adasum:
        for kind in kinds:
            if kind not in _FLOATING:
                raise ValueError("horovod: Adasum of %s: expected floating-point numbers" % kind)
        return
    if op not in _OP_NAMES:
        raise ValueError("horovod: unknown reduction %r: use Average, Sum, Min, Max, Product or "
                         "Adasum" % (op,))
    for kind in kinds:
        if kind not in _REDUCED and kind not in _SMALL and not (
                kind in pairs and op in (Average, Sum)):
            raise ValueError("horovod: this reduction of %s is not supported" % kind)
        if op == Average and kind == "bool":
            raise ValueError("horovod: booleans have no average: use Sum or Max (or), Min or "
                             "Product (and)")


def library_type(kind, op, factors):
    """The library's number of a type that it reduces as it is; None: another one is needed."""
    if op == Adasum or (kind in _SMALL and (op == Average or factors != _UNSCALED)):
        return None
    if factors != _UNSCALED and kind not in _FLOATING:
        return None
    return _REDUCED.get(kind)


class Host(object):
    """Host memory, in which tensors are reduced. torch/gpu.py has the same class for a GPU."""

    place = None  # see LibraryQueue.submit_allreduce()

    def join(self, tensors):
        """Does nothing: after the wait for the operation its results are complete."""


HOST = Host()


class Operations(object):
    """Starts collective operations; each method returns an Operation, whose result is a list.

    A tensor belongs to its operation until that has ended. Wrong
    arguments are a ValueError before any data is sent. The wait for the Operation raises
    HorovodInternalError where ranks disagree or one of them is gone. Any thread may call.

    A derived class has these methods; a buffer is a tensor that is contiguous memory:
    kind(tensor): the name of the type of its elements, as NumPy has it;
    buffer(tensor, stay=False): the tensor if it is a buffer on the host, else such a copy; with
    stay, on the tensor's device;
    empty(buffer, shape): a new buffer of the same type beside the other one;
    address(tensor), count(buffer), item_bytes(buffer): of its first element, of its elements;
    cast(tensor, type): the tensor in that type, itself where it has it;
    result(buffer, tensor): the buffer as a tensor like the other one; put(buffer, tensor): into it;
    numbers(values, name, beside): a tensor of integers, on the device of the other one;
    vector(tensor): its elements as a NumPy array of one dimension, float64; of_vector(vector,
    tensor): the reverse, as result().
    """

    int32 = float64 = None  # the derived class's types of these names
    pairs = ()  # names of complex types: as_pairs() makes pairs of floats of them

    def check_tensor(self, tensor):
        """Raises ValueError where the operations do not take it."""

    def where(self, queue, tensors):
        """The memory in which a queue reduces these tensors: HOST, or an object like it."""
        return HOST

    def as_pairs(self, buffer):
        """The buffer, complex numbers as pairs of floats."""
        return buffer

    # Memory.

    def for_reduction(self, tensor, op=Sum, factors=_UNSCALED, stay=False):
        """The tensor itself where the library can reduce it, else a copy of a type that it can.

        An integer tensor has been multiplied by the first of the factors.
        """
        kind = self.kind(tensor)
        if kind in _SMALL and (op == Average or factors != _UNSCALED or kind not in _REDUCED):
            tensor = self.cast(tensor, self.int32)
        return self.scaled(self.as_pairs(self.buffer(tensor, stay)), factors[0])

    def scaled(self, buffer, factor):
        """An integer buffer * factor, multiplied as float64 and truncated; others as they are."""
        if factor == 1.0 or self.kind(buffer) in _FLOATING:
            return buffer
        return self.cast(self.cast(buffer, self.float64) * factor, buffer.dtype)

    def library_factors(self, buffer, factors):
        """Those by which the library multiplies: none for integers, which scaled() multiplies."""
        return factors if self.kind(buffer) in _FLOATING else _UNSCALED

    def reduction_type(self, buffer):
        """The library's number for what for_reduction() returned."""
        return _REDUCED[self.kind(buffer)]

    def row_bytes(self, buffer):
        """Bytes of one of the parts that it has along its first dimension."""
        size = self.item_bytes(buffer)
        for length in buffer.shape[1:]:
            size *= length
        return size

    # Text on which ranks have to agree.

    def shape_text(self, tensor, skip=0):
        """Type and shape as one word, without the first skip dimensions."""
        return "%s[%s]" % (self.kind(tensor), ", ".join(map(str, tensor.shape[skip:])))

    def details(self, tensors, factors=_UNSCALED, skip=0):
        """Types and shapes. factors: those that the library does not apply."""
        text = "of " + ", ".join([self.shape_text(tensor, skip) for tensor in tensors])
        return text if factors == _UNSCALED else text + " scaled by %r and %r" % factors

    def check(self, tensors, op):
        """Raises ValueError for an unknown reduction, and for tensors that do not have it."""
        for tensor in tensors:
            self.check_tensor(tensor)
        check_op(op, [self.kind(tensor) for tensor in tensors], self.pairs)

    def _check_rows(self, verb, purpose, tensors):
        for tensor in tensors:
            self.check_tensor(tensor)
            if len(tensor.shape) == 0:
                raise ValueError("horovod: %s needs a dimension to %s: reshape the scalar"
                                 % (verb, purpose))

    # The operations. process_set: the ranks that take part. name: ranks match operations by it; where
    # it is None, by their order.

    def allreduce(self, tensors, name=None, op=Average, factors=_UNSCALED,
                  process_set=global_process_set, verb="allreduce", outputs=None):
        """Reduces each of the tensors over the ranks, all or none of them.

        tensors: of the same shapes and types on all ranks. factors: those of the inputs and of the
        results. outputs: for each result the tensor that takes it, or None for a new tensor. A
        tensor may be its own output.
        """
        self.check(tensors, op)
        queue = basics.queue(process_set)
        if not tensors:
            return queue.submit(verb, name, "of nothing", lambda: [], lambda: [])
        outputs = outputs or [None] * len(tensors)
        if op == Adasum:
            return self._adasum(tensors, outputs, name, factors, queue)
        floating = [self.kind(tensor) in _FLOATING + self.pairs for tensor in tensors]
        mixed = factors != _UNSCALED and any(floating) and not all(floating)
        where = HOST if mixed else self.where(queue, tensors)
        sent = [self.for_reduction(tensor, op, factors, where.place is not None)
                for tensor in tensors]
        # A copy is reduced in place, and so is a tensor that is its own output.
        received = [buffer if output is not None or self.address(buffer) != self.address(tensor)
                    else self.empty(buffer, buffer.shape)
                    for tensor, output, buffer in zip(tensors, outputs, sent)]

        def finish():
            where.join(received)
            return self._results(received, tensors, outputs, factors)

        if mixed:  # the library scales some of the tensors only
            def start():
                return [queue.communicator.allreduce_async(
                    self.address(one), self.address(other), self.count(one),
                    self.reduction_type(one), op, *self.library_factors(one, factors))
                        for one, other in zip(sent, received)]
            return queue.submit(verb, name, self._reduction(tensors, op, factors), start, finish)
        places = [(self.address(one), self.address(other), self.count(one), self.reduction_type(one))
                  for one, other in zip(sent, received)]
        here, there = (_UNSCALED, factors) if all(floating) else (factors, _UNSCALED)
        return queue.allreduce(name, self.details(tensors, here), places, op, there, finish,
                               (sent, received), verb, where.place)

    def _reduction(self, tensors, op, factors):
        return "%s %s" % (_OP_NAMES[op], self.details(tensors, factors))

    def _results(self, buffers, tensors, outputs, factors):
        buffers = [self.scaled(buffer, factors[1]) for buffer in buffers]
        return [self.result(buffer, tensor) if output is None else self.put(buffer, output)
                for buffer, tensor, output in zip(buffers, tensors, outputs)]

    def _adasum(self, tensors, outputs, name, factors, queue):
        sent = [self.vector(tensor) * factors[0] for tensor in tensors]
        combined = []

        def start():
            combined.extend(combine(queue.communicator, vector) for vector in sent)
            return []

        def finish():
            results = [self.of_vector(vector * factors[1], tensor)
                       for vector, tensor in zip(combined, tensors)]
            return [result if output is None else self.put(result, output)
                    for result, output in zip(results, outputs)]

        return queue.submit("adasum", name, self.details(tensors, factors), start, finish)

    def reducescatter(self, tensors, name=None, op=Average, factors=_UNSCALED,
                      process_set=global_process_set):
        """Reduces each of the tensors and gives every rank some rows of the result.

        The rows are divided evenly, in order of rank. If they do not divide evenly, the first ranks
        get one more. Arguments as of allreduce().
        """
        if op == Adasum:
            raise ValueError("horovod: Adasum is for allreduce and grouped_allreduce only")
        self.check(tensors, op)
        self._check_rows("reducescatter", "split", tensors)
        communicator = basics.communicator(process_set)
        size, rank = communicator.size, communicator.rank
        sent = [self.for_reduction(tensor, op, factors) for tensor in tensors]
        rows = [[len(tensor) // size + (one < len(tensor) % size) for one in range(size)]
                for tensor in tensors]
        received = [self.empty(buffer, (own[rank],) + tuple(buffer.shape[1:]))
                    for buffer, own in zip(sent, rows)]

        def start():
            requests = []
            for one, other, counts in zip(sent, received, rows):
                row = self.row_bytes(one) // self.item_bytes(one)
                requests.append(communicator.reduce_scatter_async(
                    self.address(one), self.address(other), [count * row for count in counts],
                    self.reduction_type(one), op, *self.library_factors(one, factors)))
            return requests

        return basics.queue(process_set).submit(
            "reducescatter", name, self._reduction(tensors, op, factors), start,
            lambda: self._results(received, tensors, [None] * len(tensors), factors))

    def broadcast(self, tensors, root_rank, name=None, process_set=global_process_set,
                  outputs=None):
        """Gives every rank root_rank's tensors, of any types, the same on all ranks.

        root_rank: its number in the job. outputs: as of allreduce().
        """
        for tensor in tensors:
            self.check_tensor(tensor)
        communicator = basics.communicator(process_set)
        # 0.0 is equal to a rank, and is none.
        if not hasattr(root_rank, "__index__") or root_rank not in process_set.ranks:
            raise ValueError("horovod: broadcast from rank %r, which is not one of the %d ranks that "
                             "take part" % (root_rank, communicator.size))
        root = communicator.ranks.index(root_rank)
        outputs = outputs or [None] * len(tensors)
        buffers = [self._to_write(tensor, output) for tensor, output in zip(tensors, outputs)]

        def start():
            return [communicator.broadcast_async(
                self.address(buffer), self.count(buffer) * self.item_bytes(buffer), library.UINT8,
                root) for buffer in buffers]

        return basics.queue(process_set).submit(
            "broadcast", name, "%s from rank %d" % (self.details(tensors), root_rank), start,
            lambda: self._results(buffers, tensors, outputs, _UNSCALED))

    def _to_write(self, tensor, output):
        """A buffer of the tensor that is the output's memory, or memory of its own."""
        buffer = self.buffer(tensor)
        if output is None and self.address(buffer) == self.address(tensor):
            copy = self.empty(buffer, buffer.shape)
            copy[...] = buffer
            return copy
        return buffer

    def allgather(self, tensors, name=None, process_set=global_process_set):
        """Joins each of the tensors of all ranks along the first dimension, in order of rank.

        tensors: of any type; ranks may differ in the first dimension only. The last tensor of the
        result holds the number of rows of each tensor on each rank (int64).
        """
        self._check_rows("allgather", "gather along", tensors)
        communicator = basics.communicator(process_set)
        sent = [self.buffer(tensor) for tensor in tensors]
        received, rows = [], []  # rows: of each tensor, those of every rank

        def start():
            layout = struct.Struct("<%dq" % len(sent))
            own = layout.pack(*map(len, sent))
            rows.extend(zip(*map(layout.unpack, communicator.allgather_bytes(own))))
            requests = []
            for buffer, counts in zip(sent, rows):
                gathered = self.empty(buffer, (sum(counts),) + tuple(buffer.shape[1:]))
                received.append(gathered)
                row = self.row_bytes(buffer)
                requests.append(communicator.allgatherv_async(
                    self.address(buffer), self.address(gathered),
                    [count * row for count in counts], library.UINT8))
            return requests

        def finish():
            return (self._results(received, tensors, [None] * len(tensors), _UNSCALED) +
                    [self.numbers(rows, "int64", None)])

        return basics.queue(process_set).submit("allgather", name, self.details(sent, skip=1),
                                                start, finish)

    def alltoall(self, tensor, splits=None, name=None, process_set=global_process_set,
                 counted_in="int32"):
        """Sends rows of each rank's tensor to each rank; ranks may differ in the first dimension only.

        splits: a tensor of integers, the number of rows for each rank. None: the same number for
        each. The result: the received rows, in order of rank, and their number from each rank, of the
        type counted_in.
        """
        self._check_rows("alltoall", "split", [tensor])
        communicator = basics.communicator(process_set)
        counts = self._counts(tensor, splits, communicator.size)
        sent = self.buffer(tensor)
        received, rows = [], []  # rows: those that come from each rank

        def start():
            rows.extend(communicator.alltoall_numbers(counts))
            received.append(self.empty(sent, (sum(rows),) + tuple(sent.shape[1:])))
            row = self.row_bytes(sent)
            return [communicator.alltoallv_async(
                self.address(sent), [count * row for count in counts], self.address(received[0]),
                [count * row for count in rows], library.UINT8)]

        return basics.queue(process_set).submit(
            "alltoall", name, self.details([sent], skip=1), start,
            lambda: [self.result(received[0], tensor), self.numbers(rows, counted_in, splits)])

    def _counts(self, tensor, splits, size):
        """How many rows go to each rank. ValueError for wrong splits."""
        length = len(tensor)
        if splits is None:
            if length % size != 0:
                raise ValueError("horovod: alltoall: the first dimension, %d, is not a multiple of "
                                 "%d, the number of ranks: pass splits" % (length, size))
            return [length // size] * size
        if tuple(splits.shape) != (size,):
            raise ValueError("horovod: alltoall: splits has the shape %s: expected one number for "
                             "each of %d ranks" % (list(splits.shape), size))
        if not self.kind(splits).startswith(("int", "uint")):
            raise ValueError("horovod: alltoall: splits of %s are not integers" % self.kind(splits))
        counts = splits.tolist()
        if min(counts) < 0 or sum(counts) != length:
            raise ValueError("horovod: alltoall: splits %s do not add up to the first dimension, %d"
                             % (counts, length))
        return counts
