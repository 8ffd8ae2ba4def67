# SPDX-License-Identifier: Apache-2.0
"""Importing it registers ``batchai``, a backend of torch.distributed, and has a hook for DDP.

    import horovod.torch.distributed
    torch.distributed.init_process_group("batchai")

In a job of batchai-launch, collective operations go through the collective library, and messages
from rank to rank through Gloo. A group, also one of some of the ranks, has a communicator of its
own until the job ends. From torch 2.0 on; before, DistributedDataParallel over Gloo takes the
library by ``register_comm_hook(None, horovod.torch.distributed.allreduce_hook)``.
"""
import itertools
import os
import queue
import threading

import torch
import torch.distributed as dist

from horovod.common import basics, library, process_sets
from horovod.torch import mpi_ops as hvd

# The name that torch gives the operation.
_OPS = {"SUM": library.SUM, "AVG": library.AVERAGE, "MIN": library.MIN, "MAX": library.MAX,
        "PRODUCT": library.PRODUCT}


def _op(options):
    """The library's reduction. RuntimeError for one that it does not have."""
    wanted = dist.ReduceOp.SUM if options is None else options.reduceOp
    kinds = dist.ReduceOp.RedOpType.__members__
    name = next((name for name, kind in kinds.items() if wanted == kind), str(wanted))
    if name not in _OPS:
        raise RuntimeError("batchai: the reduction %s is not supported: use %s"
                           % (name, ", ".join(sorted(_OPS))))
    return _OPS[name]


def _check_types(tensors):
    """RuntimeError unless all have one type: a conversion would change numbers in silence."""
    types = {tensor.dtype for tensor in tensors}
    if len(types) > 1:
        raise RuntimeError("batchai: inputs and outputs have different types: %s"
                           % ", ".join(sorted(map(str, types))))


def _check_counts(inputs, outputs):
    """RuntimeError unless outputs have as many elements as inputs, rank by rank."""
    if inputs != outputs:
        raise RuntimeError("batchai: the inputs have %s elements, the outputs room for %s"
                           % (inputs, outputs))


def _gpus_of(results):
    """The GPUs of tensors, which may be in lists; none where they are in host memory."""
    if isinstance(results, (list, tuple)):
        gpus = {gpu.index: gpu for one in results for gpu in _gpus_of(one)}
        return [gpus[index] for index in sorted(gpus)]
    return [results.device] if results.is_cuda else []


def _events(gpus):
    """An event in the current stream of each GPU."""
    return [(gpu, torch.cuda.current_stream(gpu).record_event()) for gpu in gpus]


def _come_after(events):
    """What is put into the current streams from here on comes after the events."""
    for gpu, event in events:
        torch.cuda.current_stream(gpu).wait_event(event)


class _Waiter:
    """Sets futures once their operations have ended: in a thread, which begins with the first."""

    def __init__(self):
        self._lock = threading.Lock()
        self._works = None

    def add(self, work):
        with self._lock:
            if self._works is None:
                self._works = queue.Queue()
                threading.Thread(target=self._run, name="batchai-futures", daemon=True).start()
        self._works.put(work)

    def _run(self):
        while True:
            self._works.get().settle()


_waiter = _Waiter()


# Works that nothing has waited for. Torch 2.6, for one, may hold the C++ part of a Work alone, and
# without the Python part its wait() never ends. A Work that is never waited for stays here.
_under_way = set()

_TorchWork = dist._Work if hasattr(dist, "_Work") else dist.Work


class _Work(_TorchWork):
    """An operation under way. finish(result) puts its result where torch wants it."""

    def __init__(self, handle, results, finish=None):
        super().__init__()
        self._handle, self._results, self._finish = handle, results, finish
        self._lock = threading.Lock()
        self._ended = False
        self._error = None
        self._future = None
        self._gpus = _gpus_of(results)
        self._events = []  # in the streams in which the results came to be
        _under_way.add(self)

    def wait(self, timeout=None):
        with self._lock:
            if not self._ended:
                try:
                    result = hvd.synchronize(self._handle)
                    if self._finish is not None:
                        with torch.no_grad():
                            self._finish(result)
                    self._events = _events(self._gpus)
                except Exception as error:
                    self._error = error
                self._handle = self._finish = None
                self._ended = True
                _under_way.discard(self)
        if self._error is not None:
            raise self._error
        _come_after(self._events)
        return True

    def is_completed(self):
        if not self._lock.acquire(blocking=False):
            return False  # another thread waits for the operation
        try:
            return self._ended or hvd.poll(self._handle)
        finally:
            self._lock.release()

    def is_success(self):
        return self._ended and self._error is None

    def exception(self):
        return self._error

    def result(self):
        return self._results

    def synchronize(self):
        self.wait()

    def get_future(self):
        """A future of the results, which is set as soon as the operation has ended."""
        if self._future is None:
            self._future = torch.futures.Future(devices=self._gpus)
            _waiter.add(self)
        return self._future

    def settle(self):
        """Waits, and sets the future."""
        try:
            self.wait()
            self._future.set_result(self._results)
        except Exception as error:
            self._future.set_exception(error)


class _Received(_TorchWork):
    """A message for GPU memory, which comes to host memory first."""

    def __init__(self, work, tensors, copies):
        super().__init__()
        self._work, self._tensors, self._copies = work, tensors, copies
        self._lock = threading.Lock()
        self._events = _events(_gpus_of(tensors))  # of the caller's use of the tensors before

    def wait(self, timeout=None):
        with self._lock:
            if self._copies is not None:
                self._work.wait(*([] if timeout is None else [timeout]))
                _come_after(self._events)
                with torch.no_grad():
                    for tensor, copy in zip(self._tensors, self._copies):
                        tensor.copy_(copy)
                self._events = _events(_gpus_of(self._tensors))
                self._copies = None
        _come_after(self._events)
        return True

    def is_completed(self):
        return self._work.is_completed()

    def _source_rank(self):
        return self._work._source_rank()


class _Exchange:
    """An allgather of bytes through the store of a group, as ``process_sets.add_group`` takes it."""

    def __init__(self, store, rank, size):
        # A group of this name may have used the store before.
        before = (dist.PrefixStore("batchai", store).add("joined", 1) - 1) // size
        self._store = dist.PrefixStore("batchai.%d" % before, store)
        self._rank, self._size = rank, size
        self._rounds = itertools.count()

    def __call__(self, own):
        number = next(self._rounds)
        self._store.set("%d.%d" % (number, self._rank), own)
        keys = ["%d.%d" % (number, rank) for rank in range(self._size)]
        if self._store.has_extended_api():
            return self._store.multi_get(keys)
        return [self._store.get(key) for key in keys]


class ProcessGroup(dist.ProcessGroup):
    """Ranks of the job in the order that torch gives them. Operations are matched by their order."""

    def __init__(self, store, rank, size, timeout):
        super().__init__(rank, size)
        self._rank, self._size, self._name = rank, size, ""
        exchange = _Exchange(store, rank, size)
        ranks = [int(number) for number in exchange(str(basics.rank()))]
        if len(set(ranks)) < size:
            raise RuntimeError("batchai: a group has ranks of more than one job: %s. Start all "
                               "its ranks with one batchai-launch" % ranks)
        self._set = process_sets.add_group(rank, ranks, exchange)
        self._messages = dist.ProcessGroupGloo(dist.PrefixStore("messages", store), rank, size,
                                               timeout)

    def getBackendName(self):
        return "batchai"

    def _set_group_name(self, name):
        self._name = name

    @property
    def group_name(self):
        return self._name

    def size(self):
        return self._size

    def rank(self):
        return self._rank

    def allreduce(self, tensors, opts=None):
        handle = hvd.grouped_allreduce_async_(tensors, op=_op(opts), process_set=self._set)
        return _Work(handle, tensors)

    allreduce_coalesced = allreduce

    def reduce(self, tensors, opts=None):
        handle = hvd.allreduce_async(tensors[0], op=_op(opts), process_set=self._set)

        def finish(result):
            if opts is None or self._rank == opts.rootRank:
                hvd.operations.put(result, tensors[0])
        return _Work(handle, tensors, finish)

    def broadcast(self, tensors, opts=None):
        root = 0 if opts is None else opts.rootRank
        return _Work(hvd.broadcast_async_(tensors[0], self._set.communicator.ranks[root],
                                         process_set=self._set), tensors)

    def allgather(self, outputs, inputs, opts=None):
        return self._gathered(inputs[0], outputs[0], outputs)

    def allgather_coalesced(self, outputs, inputs, opts=None):
        lists = outputs if len(outputs) == len(inputs) else list(map(list, zip(*outputs)))
        return self._several([self._gathered(one, to, to) for one, to in zip(inputs, lists)],
                             outputs)

    def _gathered(self, tensor, to, results):
        """Every rank's tensor to the tensors in a list."""
        room = [one.numel() for one in to]

        def put(gathered):
            for one, part in zip(to, gathered.split(room)):
                one.copy_(part.reshape(one.shape))
        return self._gather(tensor, to, room, results, put)

    def _gather(self, tensor, to, room, results, put):
        """Every rank's tensor, joined in one dimension, to put(). room: for so many elements of each."""
        _check_types([tensor, *to])
        if len(room) != self._size:
            raise RuntimeError("batchai: %d outputs for %d ranks" % (len(room), self._size))
        handle = hvd.operations.allgather([tensor.reshape(-1)], process_set=self._set)

        def finish(gathered):
            _check_counts(gathered[1][0].tolist(), room)
            put(gathered[0])
        return _Work(handle, results, finish)

    def all_gather_single(self, output, tensor, opts=None):
        _check_counts([output.numel()], [tensor.numel() * self._size])
        return self._gather(tensor, [output], [tensor.numel()] * self._size, [output],
                            lambda gathered: output.copy_(gathered.reshape(output.shape)))

    _allgather_base = all_gather_single

    def all_gather_single_coalesced(self, outputs, inputs, opts=None):
        return self._several([self.all_gather_single(*pair) for pair in zip(outputs, inputs)],
                             outputs)

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def _several(self, works, results):
        """One Work for all of them."""
        *others, last = works

        class Several(_Work):
            def wait(self, timeout=None):
                for work in others:
                    work.wait()
                return super().wait(timeout)

        _under_way.discard(last)
        return Several(last._handle, results, last._finish)

    def gather(self, outputs, inputs, opts=None):
        root = 0 if opts is None else opts.rootRank
        if self._rank == root:
            return self._gathered(inputs[0], outputs[0], outputs)
        return _Work(hvd.allgather_async(inputs[0].reshape(-1), process_set=self._set), outputs)

    def scatter(self, outputs, inputs, opts=None):
        root = 0 if opts is None else opts.rootRank
        room = [outputs[0].numel() if rank == root else 0 for rank in range(self._size)]
        parts = inputs[0] if self._rank == root else [outputs[0].new_empty(0)] * self._size
        return self._exchange(parts, outputs, room, outputs)

    def reduce_scatter(self, outputs, inputs, opts=None):
        own = outputs[0]
        _check_types([own, *inputs[0]])
        parts = [part.reshape(-1) for part in inputs[0]]
        _check_counts([len(parts[self._rank])], [own.numel()])
        if len({len(part) for part in parts}) == 1:
            handle = hvd.reducescatter_async(torch.stack(parts), op=_op(opts), process_set=self._set)
            return _Work(handle, outputs, lambda result: own.copy_(result.reshape(own.shape)))
        handle = hvd.allreduce_async(torch.cat(parts), op=_op(opts), process_set=self._set)
        counts = [len(part) for part in parts]
        return _Work(handle, outputs, lambda result: own.copy_(
            result.split(counts)[self._rank].reshape(own.shape)))

    def reduce_scatter_single(self, output, tensor, opts=None):
        _check_types([output, tensor])
        _check_counts([tensor.numel()], [output.numel() * self._size])
        handle = hvd.reducescatter_async(tensor.reshape(self._size, -1), op=_op(opts),
                                         process_set=self._set)
        return _Work(handle, [output], lambda result: output.copy_(result.reshape(output.shape)))

    _reduce_scatter_base = reduce_scatter_single

    def reduce_scatter_single_coalesced(self, outputs, inputs, opts=None):
        return self._several([self.reduce_scatter_single(*pair, opts)
                              for pair in zip(outputs, inputs)], outputs)

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def all_to_all_single(self, output, tensor, output_split_sizes=None, input_split_sizes=None,
                          opts=None):
        counts = [part.numel() for part in tensor.split(self._rows(tensor, input_split_sizes))]
        to = output.detach().split(self._rows(output, output_split_sizes))
        return self._exchange([tensor], to, [one.numel() for one in to], [output], counts)

    alltoall_base = all_to_all_single

    def _rows(self, tensor, splits):
        """How many rows of a tensor belong to each rank."""
        rows = list(splits or [len(tensor) // self._size] * self._size)
        if sum(rows) != len(tensor) or len(rows) != self._size:
            raise RuntimeError("batchai: all_to_all_single: %s rows of %d ranks are not the %d of "
                               "the tensor" % (rows, self._size, len(tensor)))
        return rows

    def alltoall(self, outputs, inputs, opts=None):
        return self._exchange(inputs, outputs, [one.numel() for one in outputs], outputs)

    def _exchange(self, parts, to, room, results, counts=None):
        """A part to each rank, and what the ranks send to tensors, which have that room for each.

        counts: how many elements of all parts together each rank gets, if not one of the parts.
        """
        _check_types([*parts, *to])
        flat = [part.reshape(-1) for part in parts]
        handle = hvd.operations.alltoall(
            torch.cat(flat) if len(flat) > 1 else flat[0],
            torch.tensor(counts or [len(part) for part in flat], dtype=torch.int64),
            process_set=self._set, counted_in="int64")

        def finish(result):
            _check_counts(result[1].tolist(), room)
            for one, part in zip(to, result[0].split([one.numel() for one in to])):
                one.copy_(part.reshape(one.shape))
        return _Work(handle, results, finish)

    def barrier(self, opts=None):
        return self.allreduce([torch.zeros(1, device="cpu")])

    # Gloo sends host memory only.
    def send(self, tensors, rank, tag=0):
        return self._messages.send([tensor.cpu() for tensor in tensors], rank, tag)

    def recv(self, tensors, rank, tag=0):
        return self._received(tensors, lambda to: self._messages.recv(to, rank, tag))

    def recv_anysource(self, tensors, tag=0):
        return self._received(tensors, lambda to: self._messages.recv_anysource(to, tag))

    @staticmethod
    def _received(tensors, receive):
        if not tensors[0].is_cuda:
            return receive(tensors)
        copies = [torch.empty_like(tensor, device="cpu") for tensor in tensors]
        return _Received(receive(copies), tensors, copies)


def _make(store, rank, size, timeout):
    """The group of a rank; called on the group's ranks only."""
    if int(torch.__version__.split(".")[0]) < 2:  # there DDP's wrapper hangs
        raise RuntimeError("batchai: the backend needs torch 2.0 or later, found %s: use "
                           "the backend gloo with horovod.torch.distributed.allreduce_hook"
                           % torch.__version__)
    basics.init()
    # The first group is of all processes that torch knows. A torchrun in each rank knows only one.
    if size == 1 < basics.size() and "TORCHELASTIC_RUN_ID" in os.environ and not dist.is_initialized():
        raise RuntimeError("batchai: torchrun made this process %d of 1; batchai-launch knows rank "
                           "%d of %d: use one of them" % (rank, basics.rank(), basics.size()))
    if size > basics.size():
        raise RuntimeError("batchai: PyTorch asks for %d ranks, the job has %d: start all of them "
                           "with batchai-launch" % (size, basics.size()))
    return ProcessGroup(store, rank, size, timeout)


def _register():
    try:
        dist.Backend.register_backend("batchai", _make, devices=["cpu", "cuda"])
    except TypeError:  # before torch 2.0
        dist.Backend.register_backend("batchai", _make)


def allreduce_hook(state, bucket):
    """A communication hook for DistributedDataParallel: the ranks' mean of the gradients.

    state is not used. The script's process group may be any; all ranks of the job take part.
    """
    basics.init()
    tensor = bucket.buffer()
    handle = hvd.allreduce_async_(tensor, op=hvd.Average, name="ddp.%d" % bucket.index())
    work = _Work(handle, tensor)
    return work.get_future()


_register()
