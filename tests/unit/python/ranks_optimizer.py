# SPDX-License-Identifier: Apache-2.0
"""DistributedOptimizer against one process that sees all the ranks' batches."""
import contextlib
import json
import os
import tempfile
import unittest
from unittest import mock

import horovod.torch as hvd
import torch
import torch.nn.functional as F

hvd.init()
RANK, SIZE = hvd.rank(), hvd.size()
BATCH = 6


def make_model():
    torch.manual_seed(7)
    return torch.nn.Sequential(torch.nn.Linear(10, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8),
                               torch.nn.Tanh(), torch.nn.Linear(8, 4)).double()


def batch_of(step, rank):
    generator = torch.Generator().manual_seed(100 * step + rank)
    return (torch.randn(BATCH, 10, generator=generator, dtype=torch.float64),
            torch.randint(0, 4, (BATCH,), generator=generator))


def batch_of_all(step):
    inputs, labels = zip(*[batch_of(step, rank) for rank in range(SIZE)])
    return torch.cat(inputs), torch.cat(labels)


@contextlib.contextmanager
def environment(**variables):
    """The job anew with these variables, which init() reads."""
    with mock.patch.dict(os.environ, {name: str(value) for name, value in variables.items()}):
        hvd.shutdown()
        hvd.init()
        yield
    hvd.shutdown()
    hvd.init()


def threshold(value):
    return environment(HOROVOD_FUSION_THRESHOLD=value)


class Training(unittest.TestCase):
    def compare(self, make_optimizer, steps=5, tolerance=1e-9, **options):
        ours, alone = make_model(), make_model()
        optimizer = hvd.DistributedOptimizer(make_optimizer(ours.parameters()),
                                             ours.named_parameters(), **options)
        reference = make_optimizer(alone.parameters())
        for step in range(steps):
            for model, opt, (inputs, labels) in ((ours, optimizer, batch_of(step, RANK)),
                                                 (alone, reference, batch_of_all(step))):
                opt.zero_grad()
                F.cross_entropy(model(inputs), labels).backward()
                opt.step()
            for mine, theirs in zip(ours.parameters(), alone.parameters()):
                self.assertTrue(torch.allclose(mine.grad, theirs.grad, rtol=0, atol=tolerance))
                self.assertTrue(torch.allclose(mine, theirs, rtol=0, atol=tolerance))

    def test_like_one_process_on_the_concatenated_batch(self):
        self.compare(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9))
        self.compare(lambda p: torch.optim.Adam(p, lr=0.01), tolerance=1e-6)

    def test_with_any_fusion(self):
        for size in (0, 100, 1000, 1 << 30):
            with threshold(size):
                self.compare(lambda p: torch.optim.SGD(p, lr=0.1))

    def test_steps_that_repeat_themselves(self):
        self.compare(lambda p: torch.optim.SGD(p, lr=0.1), steps=30)

    def test_autotuned(self):
        for cycle in ({}, {"HOROVOD_CYCLE_TIME": 0}):
            with environment(HOROVOD_AUTOTUNE=1, **cycle):
                self.compare(lambda p: torch.optim.SGD(p, lr=0.1), steps=60)

    def test_with_other_operations_between_some_steps(self):
        model = make_model()
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
        for step in range(30):
            inputs, labels = batch_of(step, RANK)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), labels)
            loss.backward()
            if step % 7 == 5:
                total = hvd.allreduce(torch.tensor(1.0), name="metric", op=hvd.Sum)
                self.assertEqual(total.item(), SIZE)
            optimizer.step()
            if step % 10 == 9:
                self.assertEqual(hvd.allgather(torch.tensor([RANK])).tolist(), list(range(SIZE)))
        for parameter in model.parameters():
            mean = hvd.allreduce(parameter.detach())
            self.assertTrue(torch.allclose(mean, parameter, rtol=0, atol=1e-12))

    def test_a_timeline_of_it(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "timeline.json")
            with environment(HOROVOD_TIMELINE=path, HOROVOD_TIMELINE_MARK_CYCLES=1):
                self.compare(lambda p: torch.optim.SGD(p, lr=0.1), steps=10)
            if RANK != 0:
                self.assertFalse(os.path.exists(path))
                return
            with open(path) as file:
                events = json.load(file)
        names = [event["name"] for event in events]
        for name in ("NEGOTIATE_ALLREDUCE", "ALLREDUCE", "NEGOTIATION", "CYCLE_START"):
            self.assertIn(name, names)
        rows = {event.get("id") for event in events}
        self.assertTrue(any(row and row.endswith(".4.bias") for row in rows), rows)

    def test_with_predivision(self):
        self.compare(lambda p: torch.optim.SGD(p, lr=0.1), gradient_predivide_factor=float(SIZE))

    def test_with_half_precision(self):
        self.compare(lambda p: torch.optim.SGD(p, lr=0.1), tolerance=1e-3,
                     compression=hvd.Compression.fp16)

    def test_with_a_sum(self):
        model = make_model()
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                             op=hvd.Sum)
        model(torch.ones(1, 10, dtype=torch.float64)).sum().backward()
        # It is 1 before; from backward() to synchronize() it may be either, and is not ours to read.
        optimizer.synchronize()
        self.assertEqual(model[4].bias.grad.tolist(), [SIZE] * 4)

    def test_several_backward_passes_per_step(self):
        ours, alone = make_model(), make_model()
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(ours.parameters(), lr=0.1),
                                             ours.named_parameters(), backward_passes_per_step=2)
        for step in (0, 2):
            optimizer.zero_grad()
            alone.zero_grad()
            for part in (step, step + 1):
                inputs, labels = batch_of(part, RANK)
                F.cross_entropy(ours(inputs), labels).backward()
                inputs, labels = batch_of_all(part)
                F.cross_entropy(alone(inputs), labels).backward()
            optimizer.synchronize()
            for mine, theirs in zip(ours.parameters(), alone.parameters()):
                self.assertTrue(torch.allclose(mine.grad, theirs.grad, rtol=0, atol=1e-9))

    def test_clipping_between_synchronize_and_step(self):
        model = make_model()
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
        inputs, labels = batch_of(0, RANK)
        F.cross_entropy(model(inputs), labels).backward()
        optimizer.synchronize()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        with optimizer.skip_synchronize():
            optimizer.step()
        values = hvd.allgather_object([p.tolist() for p in model.parameters()])
        self.assertTrue(all(value == values[0] for value in values))


class TwoHeads(torch.nn.Module):
    """A network of which each pass uses one of two heads."""

    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(3, 3)
        self.heads = torch.nn.ModuleList([torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)])

    def forward(self, inputs, head):
        return self.heads[head](self.body(inputs))


class UnevenGraphs(unittest.TestCase):
    def test_gradients_that_some_ranks_do_not_have_count_as_zeros(self):
        for size in (0, 1 << 20):
            with threshold(size):
                torch.manual_seed(1)
                model = TwoHeads()
                optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
                model(torch.ones(1, 3), 0 if RANK == 0 else 1).sum().backward()
                optimizer.synchronize()
                self.assertTrue(torch.allclose(model.heads[0].bias.grad, torch.tensor(1 / SIZE)))
                self.assertTrue(torch.allclose(model.heads[1].bias.grad,
                                               torch.tensor((SIZE - 1) / SIZE)))
                optimizer.zero_grad()

    def test_gradients_in_another_order_on_each_rank(self):
        with threshold(0):
            torch.manual_seed(1)
            model = TwoHeads()
            optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
            order = (0, 1) if RANK == 0 else (1, 0)
            inputs = torch.ones(1, 3)
            torch.autograd.backward([model.heads[head](inputs).sum() for head in order])
            optimizer.step()
            for head in model.heads:
                self.assertTrue(torch.allclose(head.bias.grad, torch.ones(1)))


class Contract(unittest.TestCase):
    def setUp(self):
        self.model = make_model()
        self.optimizer = hvd.DistributedOptimizer(torch.optim.SGD(self.model.parameters(), lr=0.1),
                                                  self.model.named_parameters())
        self.inputs = torch.ones(1, 10, dtype=torch.float64)

    def backward(self):
        self.model(self.inputs).sum().backward()

    def test_wrapping_twice_is_refused(self):
        for op in hvd.Average, hvd.Adasum:
            optimizer = hvd.DistributedOptimizer(torch.optim.SGD(make_model().parameters(), lr=0.1), op=op)
            with self.assertRaisesRegex(ValueError, "is one already"):
                hvd.DistributedOptimizer(optimizer)

    def test_zero_grad_between_backward_and_step_is_refused(self):
        self.backward()
        with self.assertRaisesRegex(AssertionError, "zero_grad"):
            self.optimizer.zero_grad()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def test_one_backward_pass_too_many_is_refused(self):
        self.backward()
        with self.assertRaisesRegex(AssertionError, "backward_passes_per_step"):
            self.backward()
        self.optimizer.synchronize()

    def test_frozen_parameters_take_no_part(self):
        model = make_model()
        model[0].requires_grad_(False)
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
        model(self.inputs).sum().backward()
        optimizer.step()
        self.assertIsNone(model[0].weight.grad)

    def test_sparse_gradients_are_reduced_as_dense_ones_on_request(self):
        embedding = torch.nn.Embedding(5, 2, sparse=True)
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(embedding.parameters(), lr=0.1),
                                             sparse_as_dense=True)
        embedding(torch.tensor([RANK])).sum().backward()
        optimizer.step()
        grad = embedding.weight.grad
        self.assertTrue(grad.is_sparse)  # as SparseAdam wants it
        self.assertTrue(torch.allclose(grad.to_dense()[:SIZE], torch.full((min(SIZE, 5), 2), 1 / SIZE)))
