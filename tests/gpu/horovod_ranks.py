# SPDX-License-Identifier: Apache-2.0
"""horovod.torch on CUDA tensors, as a job's rank (rank.py). See horovod.py.

All ranks run the same tests. Work is put into CUDA streams behind kernels that take their time,
and nothing waits for the GPU between it and the results, so that a missing dependency shows.
Without a GPU the same tests are of host memory.
"""
import copy
import sys
import unittest
from unittest import mock

import torch

import horovod.torch as hvd
from horovod.common import basics
from horovod.common.exceptions import HorovodInternalError
from horovod.torch import gpu

hvd.init()
RANK, SIZE = hvd.rank(), hvd.size()
GPU = torch.cuda.is_available()
DEVICE = torch.device("cpu")
if GPU:
    DEVICE = torch.device("cuda", hvd.local_rank() % torch.cuda.device_count())
    torch.cuda.set_device(DEVICE)

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int32, torch.int64, torch.int16, torch.int8, torch.uint8)
OPERATIONS = {hvd.Sum: lambda all_ranks: all_ranks.sum(0),
              hvd.Average: lambda all_ranks: all_ranks.sum(0) / SIZE,
              hvd.Min: lambda all_ranks: all_ranks.min(0).values,
              hvd.Max: lambda all_ranks: all_ranks.max(0).values,
              hvd.Product: lambda all_ranks: all_ranks.prod(0)}


def late():
    """Keeps the current stream busy for some tens of milliseconds."""
    if GPU:
        torch.cuda._sleep(50_000_000)  # cycles


def numbers(shape, rank=RANK):
    """A rank's whole numbers, 1 to 3: reduced exactly in every type. On the host, as float64."""
    count = 1
    for length in shape:
        count *= length
    return ((torch.arange(count) + rank) % 3 + 1).double().reshape(shape)


def reduced(shape, op=hvd.Sum):
    """What is to come of all ranks' numbers()."""
    return OPERATIONS[op](torch.stack([numbers(shape, rank) for rank in range(SIZE)]))


class Test(unittest.TestCase):
    def expect(self, result, wanted, kind):
        """result: on the GPU. wanted: float64 on the host; integers are truncated."""
        self.assertEqual(result.device, DEVICE)
        self.assertEqual(result.dtype, kind)
        self.assertEqual(result.shape, wanted.shape)
        self.assertTrue(torch.equal(result.cpu(), wanted.to(kind)),
                        "%s: %s instead of %s" % (kind, result.flatten()[:9].tolist(),
                                                  wanted.flatten()[:9].tolist()))


class Allreduce(Test):
    @unittest.skipUnless(GPU, "no GPU")
    def test_it_is_the_gpus(self):
        tensor = torch.ones(3, device=DEVICE)
        place = (DEVICE.index, torch.cuda.current_stream(DEVICE).cuda_stream)
        self.assertEqual(gpu.where(basics.queue(), [tensor]).place, place)
        with mock.patch.object(torch.Tensor, "cpu", side_effect=AssertionError("brought here")):
            result = hvd.allreduce(tensor, op=hvd.Sum)
        self.expect(result, torch.full((3,), float(SIZE)).double(), torch.float32)

    def test_every_type_and_operation(self):
        for kind in FLOATS + INTEGERS:
            for op in OPERATIONS:
                for shape in ((5,), (1000, 33), (0, 3)):
                    with self.subTest(kind=kind, op=op, shape=shape):
                        tensor = numbers(shape).to(DEVICE, kind)
                        result = hvd.allreduce(tensor, op=op)
                        self.expect(result, reduced(shape, op), kind)
                        self.expect(tensor, numbers(shape), kind)

    def test_booleans(self):
        tensor = torch.tensor([False, RANK == 0, True], device=DEVICE)
        self.assertEqual(hvd.allreduce(tensor, op=hvd.Sum).tolist(), [False, True, True])
        self.assertEqual(hvd.allreduce(tensor, op=hvd.Min).tolist(), [False, SIZE == 1, True])

    def test_in_place(self):
        for op in (hvd.Sum, hvd.Average):
            tensor = numbers((70, 50)).to(DEVICE, torch.float32)
            self.assertIs(hvd.allreduce_(tensor, op=op), tensor)
            self.expect(tensor, reduced((70, 50), op), torch.float32)
        turned = numbers((70, 50)).to(DEVICE, torch.float32).t()
        hvd.allreduce_(turned, op=hvd.Sum)
        self.expect(turned, reduced((70, 50)).t(), torch.float32)

    def test_factors(self):
        for kind in FLOATS + (torch.int32,):
            tensor = 2 * numbers((100,)).to(DEVICE, kind)
            result = hvd.allreduce(tensor, op=hvd.Sum, prescale_factor=0.5, postscale_factor=4.0)
            self.expect(result, 4 * reduced((100,)), kind)

    def test_groups(self):
        kinds = [FLOATS[i % 4] if i % 5 else torch.int32 for i in range(300)]
        shapes = [(1 + i * i % 97,) for i in range(300)]
        tensors = [numbers(shape).to(DEVICE, kind) for shape, kind in zip(shapes, kinds)]
        late()
        results = hvd.grouped_allreduce([2 * tensor for tensor in tensors], op=hvd.Sum)
        for result, shape, kind in zip(results, shapes, kinds):
            self.expect(result, 2 * reduced(shape), kind)
        hvd.grouped_allreduce_(tensors, op=hvd.Sum)
        for tensor, shape, kind in zip(tensors, shapes, kinds):
            self.expect(tensor, reduced(shape), kind)

    def test_what_is_late(self):
        for count in (1, 1001, 3_000_001):
            tensor = torch.zeros(count, device=DEVICE)
            for step in range(5):
                late()
                tensor.fill_(RANK + step)
                result = hvd.synchronize(hvd.allreduce_async(tensor, name="late", op=hvd.Sum))
                result += 0.5
                tensor.fill_(-1)  # it has been read
                wanted = SIZE * (SIZE - 1) / 2 + SIZE * step + 0.5
                self.expect(result, torch.full((count,), wanted).double(), torch.float32)

    def test_several_are_under_way(self):
        late()
        shapes = [(1 + 1000 * i,) for i in range(40)]
        tensors = [numbers(shape).to(DEVICE, torch.float32) for shape in shapes]
        order = list(range(40)) if RANK % 2 == 0 else list(reversed(range(40)))
        handles = {i: hvd.allreduce_async_(tensors[i], name="several.%d" % i, op=hvd.Sum)
                   for i in order}
        for i in sorted(handles):
            hvd.synchronize(handles[i])
            tensors[i] += 1
        for tensor, shape in zip(tensors, shapes):
            self.expect(tensor, reduced(shape) + 1, torch.float32)

    @unittest.skipUnless(GPU, "no GPU")
    def test_other_streams(self):
        first, second = torch.cuda.Stream(DEVICE), torch.cuda.Stream(DEVICE)
        for step in range(3):
            with torch.cuda.stream(first):
                late()
                tensor = torch.full((2_000_003,), float(RANK + step), device=DEVICE)
                handle = hvd.allreduce_async(tensor, name="streams", op=hvd.Sum)
            with torch.cuda.stream(second):
                result = hvd.synchronize(handle) * 2
            second.synchronize()
            wanted = SIZE * (SIZE - 1) + 2.0 * SIZE * step
            self.expect(result, torch.full((2_000_003,), wanted).double(), torch.float32)

    def test_gradients_of_it(self):
        tensor = numbers((50,)).to(DEVICE, torch.float32).requires_grad_()
        weights = torch.arange(50.0, device=DEVICE)
        late()
        (hvd.allreduce(tensor, op=hvd.Sum) * weights).sum().backward()
        self.expect(tensor.grad, torch.arange(50.0).double() * SIZE, torch.float32)

    @unittest.skipUnless(GPU and SIZE > 1, "no GPU, or no other rank")
    def test_memory_of_the_host_on_one_rank_is_an_error(self):
        tensor = torch.ones(7, device=DEVICE if RANK == 0 else "cpu")
        with self.assertRaisesRegex(HorovodInternalError, "on GPUs"):
            hvd.allreduce(tensor, name="odd", op=hvd.Sum)
        result = hvd.allreduce(torch.ones(7, device=DEVICE), name="odd", op=hvd.Sum)
        self.expect(result, torch.full((7,), float(SIZE)).double(), torch.float32)


class Training(Test):
    def train_beside_all_data(self):
        """Steps of this rank's share of each batch, and the same model with all of it."""
        torch.manual_seed(1)
        layers = [torch.nn.Linear(20, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64),
                  torch.nn.Tanh(), torch.nn.Linear(64, 3)]
        model = torch.nn.Sequential(*layers).double().to(DEVICE)
        whole = copy.deepcopy(model)
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        optimizer = hvd.DistributedOptimizer(
            torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
            named_parameters=model.named_parameters())
        optimizer_of_all = torch.optim.SGD(whole.parameters(), lr=0.1, momentum=0.9)
        for step in range(10):
            batch = torch.randn(8 * SIZE, 20, generator=torch.Generator().manual_seed(step))
            batch = batch.double().to(DEVICE)
            late()
            for part, net, its_optimizer in (
                    (batch[8 * RANK:8 * (RANK + 1)], model, optimizer),
                    (batch, whole, optimizer_of_all)):
                its_optimizer.zero_grad()
                net(part).square().mean().backward()
                its_optimizer.step()
        for mine, all_ranks in zip(model.parameters(), whole.parameters()):
            torch.testing.assert_close(mine, all_ranks, rtol=1e-9, atol=1e-12)

    def test_shares_are_as_good_as_all_data(self):
        self.train_beside_all_data()

    @unittest.skipUnless(GPU, "no GPU")
    def test_shares_in_another_stream(self):
        stream = torch.cuda.Stream(DEVICE)
        with torch.cuda.stream(stream):
            self.train_beside_all_data()
        stream.synchronize()

    def test_many_parameters(self):
        sizes = [1 + i * i * 7 % 5003 for i in range(150)] + [2_000_003]
        parameters = [torch.nn.Parameter(torch.zeros(size, device=DEVICE)) for size in sizes]
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(parameters, lr=1.0))
        wanted = 0.0
        for step in range(20):
            late()
            optimizer.zero_grad()
            sum((parameter * float(RANK + step + i % 3)).sum()
                for i, parameter in enumerate(parameters)).backward()
            optimizer.step()
            wanted -= (SIZE - 1) / 2 + step
        for i, parameter in enumerate(parameters):
            self.expect(parameter.detach(),
                        torch.full((sizes[i],), wanted - 20 * (i % 3)).double(), torch.float32)

    def test_compressed_gradients(self):
        parameter = torch.nn.Parameter(torch.zeros(1000, device=DEVICE))
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0),
                                             compression=hvd.Compression.fp16, op=hvd.Sum)
        for step in range(5):
            late()
            optimizer.zero_grad()
            (parameter * float(RANK + 1)).sum().backward()
            optimizer.step()
        self.expect(parameter.detach(),
                    torch.full((1000,), -5.0 * SIZE * (SIZE + 1) / 2).double(), torch.float32)


if __name__ == "__main__":
    good = unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful()
    if good:
        hvd.shutdown()
    sys.exit(0 if good else 1)
