# SPDX-License-Identifier: Apache-2.0
"""Tensors of a GPU, as far as this package sees to them: a pretended one, as there is none here.

What is pretended is that tensors lie in its memory: the library reduces them in the host's. The
library's own part is tested in unit/collectives (device_comms), and all of it where there is a GPU
(tests/gpu/horovod.py).
"""
import types
import unittest
from unittest import mock

import horovod.torch as hvd
import torch
from horovod.common import basics, library
from horovod.torch import gpu
from horovod.torch.tensors import operations

hvd.init()
RANK, SIZE = hvd.rank(), hvd.size()
TOTAL = SIZE * (SIZE - 1) // 2


class _Pretended(gpu.GpuStream):
    """A stream of GPU 0 that remembers how it was used."""

    log = []

    def __init__(self):
        self.place = (0, 4711)

    def join(self, tensors):
        self.log.append("join")


def _submit_allreduce(self, name, details, tensors, op, factors, place=None):
    _Pretended.log.append(place)
    return _real_submit(self, name, details, tensors, op, factors)


_real_submit = library.LibraryQueue.submit_allreduce


class Gpu(unittest.TestCase):
    def setUp(self):
        _Pretended.log.clear()
        for target, name, value in (
                (gpu, "where", lambda queue, tensors: _Pretended()),
                (library.LibraryQueue, "submit_allreduce", _submit_allreduce)):
            patch = mock.patch.object(target, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        # Nothing is to be brought to the host.
        patch = mock.patch.object(torch.Tensor, "cpu", side_effect=AssertionError("brought here"))
        patch.start()
        self.addCleanup(patch.stop)

    def test_operations_are_submitted_with_their_stream_and_join_it(self):
        tensor = torch.full((5,), float(RANK))
        self.assertEqual(hvd.allreduce(tensor, name="new", op=hvd.Sum).tolist(), [TOTAL] * 5)
        self.assertEqual(tensor.tolist(), [RANK] * 5)
        hvd.allreduce_(tensor, name="in place", op=hvd.Sum)
        self.assertEqual(tensor.tolist(), [TOTAL] * 5)
        self.assertEqual(_Pretended.log, [(0, 4711), "join"] * 2)

    def test_what_the_library_does_not_reduce_is_converted_there(self):
        self.assertEqual(hvd.allreduce(torch.full((3,), RANK + 1).short(), op=hvd.Sum).tolist(),
                         [TOTAL + SIZE] * 3)
        self.assertEqual(hvd.allreduce(torch.ones(2, 3).t() * RANK, op=hvd.Max).tolist(),
                         [[SIZE - 1] * 2] * 3)
        group = hvd.grouped_allreduce([torch.ones(2), torch.ones(3).int()], op=hvd.Sum)
        self.assertEqual([one.tolist() for one in group], [[SIZE] * 2, [SIZE] * 3])
        self.assertEqual(_Pretended.log, [(0, 4711), "join"] * 3)

    def test_gradients_are_reduced_and_unpacked_after_the_join(self):
        for compression in (hvd.Compression.none, hvd.Compression.fp16):
            _Pretended.log.clear()
            parameter = torch.nn.Parameter(torch.zeros(4))
            optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0),
                                                 compression=compression, op=hvd.Sum)
            (parameter * float(RANK + 1)).sum().backward()
            optimizer.step()
            self.assertEqual(parameter.tolist(), [-(TOTAL + SIZE)] * 4 if SIZE > 1 else [-1.0] * 4)
            self.assertEqual(_Pretended.log, [(0, 4711), "join"] if SIZE > 1 else [])


class Choice(unittest.TestCase):
    """Which tensors are left where they are."""

    def test_one_gpu_of_a_rank_is_taken(self):
        queue = types.SimpleNamespace(takes_gpu=lambda number, count: (number, count) == (1, 2))
        one, other, here = (types.SimpleNamespace(device=torch.device(name))
                            for name in ("cuda:1", "cuda:0", "cpu"))
        stream = types.SimpleNamespace(cuda_stream=12)
        with mock.patch.object(torch.cuda, "current_stream", return_value=stream), \
                mock.patch.object(torch.cuda, "device_count", return_value=2):
            self.assertEqual(gpu.where(queue, [one, one]).place, (1, 12))
            for tensors in ([other], [here], [one, other], [one, here], [here, one]):
                self.assertIsNone(gpu.where(queue, tensors).place)

    def test_the_local_ranks_is_taken_where_the_library_can_use_it(self):
        queue = basics.queue()
        own = hvd.local_rank() % 2
        self.addCleanup(setattr, queue, "_gpu", None)
        for usable in (True, False):
            queue._gpu = None
            with mock.patch.object(library.LibraryQueue, "opens_gpu", return_value=usable):
                self.assertEqual([queue.takes_gpu(number, 2) for number in (1 - own, own, own)],
                                 [False, usable, usable])

    def test_another_stream_waits(self):
        device = torch.device("cuda:0")
        first, second = mock.Mock(cuda_stream=1), mock.Mock(cuda_stream=2)
        with mock.patch.object(torch.cuda, "current_stream", return_value=first):
            stream = gpu.GpuStream(device)
            stream.join([])
        first.wait_stream.assert_not_called()
        tensor = mock.Mock()
        with mock.patch.object(torch.cuda, "current_stream", return_value=second):
            stream.join([tensor])
        second.wait_stream.assert_called_once_with(first)
        tensor.record_stream.assert_called_once_with(second)

    def test_a_gpu_that_is_not_there_is_not_taken(self):
        self.assertFalse(basics.queue()._library.opens_gpu(1000))

    def test_copies_stay_on_the_device(self):
        tensor = torch.ones(2, 3).t()
        with mock.patch.object(torch.Tensor, "cpu", side_effect=AssertionError("brought here")):
            self.assertTrue(operations.for_reduction(tensor, stay=True).is_contiguous())
