# SPDX-License-Identifier: Apache-2.0
"""Uneven data, sparse and complex gradients, groups, Adasum, batch normalization, views of torch's."""
import os
import unittest

import horovod.torch as hvd
import torch
from horovod.common.util import env as environment

hvd.init()
RANK, SIZE = hvd.rank(), hvd.size()


class Join(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(hvd.allreduce(torch.ones(1), op=hvd.Sum).item(), SIZE)

    def test_a_rank_with_less_data_does_not_hold_up_the_others(self):
        for trial in range(2):  # the second time every name is known
            for step in range(RANK + 1):
                working = SIZE - step
                mean = hvd.allreduce(torch.full((3,), 6.0), name="mean")
                self.assertTrue(torch.allclose(mean, torch.full((3,), 6.0 * working / SIZE)))
                many = hvd.grouped_allreduce([torch.ones(2), torch.ones(5, dtype=torch.int32)],
                                             op=hvd.Sum, name="many")
                self.assertEqual([int(one.sum()) for one in many], [2 * working, 5 * working])
            self.assertEqual(hvd.join(), SIZE - 1)

    def test_all_together(self):
        last = hvd.join()
        self.assertEqual(hvd.allgather_object(last, name="last"), [last] * SIZE)

    def test_what_needs_the_others_fails_instead_of_hanging(self):
        for operation in (lambda: hvd.allgather(torch.ones(2), name="g"),
                          lambda: hvd.broadcast(torch.ones(2), RANK, name="b"),
                          lambda: hvd.allreduce(torch.ones(2), op=hvd.Max, name="m")):
            if RANK > 0:
                with self.assertRaisesRegex(hvd.HorovodInternalError, "rank 0 has joined|disagree"):
                    operation()
            hvd.join()

    @unittest.skipIf(SIZE == 1, "nothing is reduced")
    def test_a_rank_without_join_is_told_of_it(self):
        parameter = torch.nn.Parameter(torch.ones(1))
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=0.1),
                                             [("last_layer", parameter)])
        if RANK == 0:
            with self.assertRaisesRegex(hvd.HorovodInternalError, "on every rank"):
                hvd.broadcast(torch.ones(1), 0, name="other")
        else:
            parameter.sum().backward()
            with self.assertRaisesRegex(hvd.HorovodInternalError,
                                        r"rank 1 waits for gradient.*last_layer.*hvd.join\(\)"):
                optimizer.step()

    def test_unnamed_operations_meet_afterwards(self):
        if RANK > 0:
            hvd.allreduce(torch.ones(1))
        hvd.join()
        self.assertEqual(hvd.allreduce(torch.ones(1), op=hvd.Sum).item(), SIZE)

    def test_a_training_of_uneven_steps(self):
        model = torch.nn.Linear(2, 1)
        hvd.broadcast_parameters(model.state_dict(), 0)
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
        for _ in range(4 + RANK):
            optimizer.zero_grad()
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
        hvd.broadcast_parameters(model.state_dict(), hvd.join())
        weights = hvd.allgather(model.weight.data)
        self.assertTrue(all(torch.equal(one, weights[0]) for one in weights))


class Sparse(unittest.TestCase):
    def test_a_sum_is_the_dense_sum(self):
        dense = torch.zeros(4, 3)
        dense[RANK % 4] = RANK + 1.0
        total = hvd.allreduce(dense, op=hvd.Sum)
        for op, expected in ((hvd.Sum, total), (hvd.Average, total / SIZE)):
            handle = hvd.sparse_allreduce_async(dense.to_sparse(), "sparse", op)
            hvd.poll(handle)
            self.assertTrue(torch.allclose(hvd.synchronize(handle).to_dense(), expected))

    def test_gradients_stay_sparse(self):
        for as_dense in (False, True):
            embedding = torch.nn.Embedding(5, 2, sparse=True)
            hvd.broadcast_parameters(embedding.state_dict(), 0)
            optimizer = hvd.DistributedOptimizer(
                torch.optim.SparseAdam(list(embedding.parameters()), lr=0.1),
                sparse_as_dense=as_dense)
            for step in range(3):  # a rank that has none at times
                optimizer.zero_grad()
                if step != 1 or RANK == 0:
                    embedding(torch.tensor([RANK % 5])).sum().backward()
                optimizer.step()
                self.assertTrue(embedding.weight.grad.is_sparse)
            weights = hvd.allgather(embedding.weight.data.unsqueeze(0))
            self.assertTrue(all(torch.equal(one, weights[0]) for one in weights))

    @unittest.skipIf(SIZE == 1, "nothing is reduced")
    def test_a_group_refuses_them(self):
        embedding = torch.nn.Embedding(5, 2, sparse=True)
        other = torch.nn.Parameter(torch.ones(1))
        optimizer = hvd.DistributedOptimizer(
            torch.optim.SGD([embedding.weight, other], lr=0.1), num_groups=1)
        with self.assertRaisesRegex(ValueError, "sparse"):
            (embedding(torch.tensor([0])).sum() + other.sum()).backward()


class Views(unittest.TestCase):
    """Numbers that torch keeps as they are, and only notes to be conjugated or negated."""

    def operations(self, tensor, whole):
        yield hvd.allreduce(tensor, op=hvd.Sum), whole * SIZE
        yield hvd.allreduce_(tensor.clone(), op=hvd.Sum), whole * SIZE
        yield hvd.grouped_allreduce([tensor], op=hvd.Sum)[0], whole * SIZE
        yield hvd.broadcast(tensor, 0), whole
        yield hvd.allgather(tensor), torch.cat([whole] * SIZE)
        yield hvd.grouped_allgather([tensor])[0], torch.cat([whole] * SIZE)
        yield hvd.alltoall(tensor, [0] * (SIZE - 1) + [len(tensor)])[0], (
            torch.cat([whole] * SIZE) if RANK == SIZE - 1 else whole[:0])
        yield hvd.allgather(hvd.reducescatter(tensor, op=hvd.Sum)), whole * SIZE

    def test_no_sign_is_lost(self):
        numbers = torch.complex(torch.arange(6.0), torch.arange(6.0) + 1)
        for view in (torch.fft.ihfft(torch.arange(8.0)), numbers.conj(), numbers.conj().imag,
                     numbers.conj()[::2].imag):
            whole = view.resolve_conj().resolve_neg().clone()
            for result, expected in self.operations(view, whole):
                self.assertTrue(torch.allclose(result, expected), (view, result, expected))

    def test_in_place_results_are_seen_through_the_view(self):
        numbers = torch.complex(torch.ones(3), torch.ones(3))
        view = numbers.conj()
        hvd.allreduce_(view, op=hvd.Sum)
        self.assertTrue(torch.equal(view, torch.complex(torch.ones(3), -torch.ones(3)) * SIZE))
        self.assertTrue(torch.equal(numbers, torch.complex(torch.ones(3), torch.ones(3)) * SIZE))


class Gradients(unittest.TestCase):
    def trained(self, parameters, loss, **options):
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(parameters, lr=1.0), **options)
        for _ in range(2):
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()

    def test_a_complex_parameter(self):
        parameter = torch.nn.Parameter(torch.zeros(3, dtype=torch.complex64))
        weights = torch.complex(torch.full((3,), RANK + 1.0), torch.full((3,), 2.0))
        self.trained([parameter], lambda: (parameter * weights).real.sum())
        mean = complex(sum(range(1, SIZE + 1)) / SIZE, -2.0)
        self.assertTrue(torch.allclose(parameter.data, torch.full((3,), -2 * mean)))

    def test_groups_change_no_result(self):
        results = []
        for options in ({}, {"num_groups": 2}, {"groups": 1}, {"groups": "pairs"}):
            torch.manual_seed(7)
            model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
            parameters = list(model.parameters())
            if options.get("groups") == "pairs":
                options = {"groups": [parameters[:2]]}
            inputs = torch.full((2, 3), RANK + 1.0)
            self.trained(parameters, lambda: model(inputs).pow(2).sum() / 100, **options)
            results.append(torch.cat([one.data.flatten() for one in parameters]))
        for result in results:
            self.assertTrue(torch.equal(result, results[0]))

    def test_groups_are_checked(self):
        one = torch.nn.Parameter(torch.ones(1))
        for groups, words in ((-1, "non-negative"), (["a"], "torch.Tensor"),
                              ([[one], [one]], "only appear once")):
            with self.assertRaisesRegex(ValueError, words):
                hvd.DistributedOptimizer(torch.optim.SGD([one], lr=1.0), groups=groups)

    def test_a_reducescatters_gradient_is_that_of_the_ranks_mean_loss(self):
        """As Horovod documents it: by finite differences, times the number of ranks."""
        for op in (hvd.Sum, hvd.Average):
            def loss(tensor):
                part = hvd.reducescatter(tensor, op=op)
                return (part * (1.0 + RANK)).sum()

            start = torch.full((SIZE, 2), 1.0, dtype=torch.float64)
            tensor = start.clone().requires_grad_()
            loss(tensor).backward()
            for row in range(SIZE):
                moved = start.clone()
                moved[row, 0] += 1e-3  # on all ranks, which is SIZE times as much of a sum
                total = hvd.allreduce(loss(moved) - loss(start), op=hvd.Sum).item() / 1e-3
                self.assertAlmostEqual(tensor.grad[row, 0].item(), total, places=6)


class TwoOptimizers(unittest.TestCase):
    @unittest.skipIf(SIZE == 1, "nothing is reduced")
    def test_a_gradient_of_the_other_ones_backward_pass_is_named(self):
        parameter = torch.nn.Parameter(torch.ones(1))
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD([parameter], lr=0.1),
                                             [("judge", parameter)])
        parameter.sum().backward()
        words = "Rank %d, parameter judge: .* switch requires_grad off" % RANK
        with self.assertRaisesRegex(AssertionError, words):
            optimizer.zero_grad()
        with self.assertRaisesRegex(AssertionError, words):
            parameter.sum().backward()
        optimizer.step()


class SameWeights(unittest.TestCase):
    """Bit for bit, whatever is fused with what, and in whatever order."""

    def weights(self, threshold):
        hvd.shutdown()
        with environment(HOROVOD_FUSION_THRESHOLD=str(threshold)):
            hvd.init()
        torch.manual_seed(11)
        model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(),
                                    torch.nn.Linear(512, 512), torch.nn.Linear(512, 3))
        optimizer = hvd.DistributedOptimizer(
            torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), model.named_parameters())
        for step in range(8):
            inputs = torch.randn(16, 64,
                                 generator=torch.Generator().manual_seed(step * SIZE + RANK))
            optimizer.zero_grad()
            model(inputs).pow(2).mean().backward()
            optimizer.step()
        return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])

    def test_a_fusion_threshold_and_a_second_run_change_no_bit(self):
        first = self.weights(1 << 20)
        for threshold in (1 << 20, 64 << 20, 0):
            self.assertTrue(torch.equal(self.weights(threshold), first), threshold)


class Adasum(unittest.TestCase):
    def reference(self, tensors):
        if len(tensors) == 1:
            return tensors[0]
        pairs = [self.pair(a, b) for a, b in zip(tensors[::2], tensors[1::2])]
        return self.reference(pairs + tensors[len(pairs) * 2:])

    def pair(self, a, b):
        product, square, other = (a * b).sum(), (a * a).sum(), (b * b).sum()
        return (1 - product / (2 * square)) * a + (1 - product / (2 * other)) * b

    def test_it_is_the_pairs_sums(self):
        for kind in (torch.float64, torch.float32, torch.float16):
            everything = [torch.randn(7, 3, generator=torch.Generator().manual_seed(rank)).to(kind)
                          for rank in range(SIZE)]
            expected = self.reference([one.double() for one in everything])
            result = hvd.allreduce(everything[RANK], op=hvd.Adasum)
            self.assertEqual(result.dtype, kind)
            self.assertTrue(torch.allclose(result.double(), expected, rtol=1e-3, atol=1e-3))

    def test_what_is_the_same_counts_once_and_what_is_apart_adds_up(self):
        self.assertTrue(torch.allclose(hvd.allreduce(torch.ones(5), op=hvd.Adasum), torch.ones(5)))
        own = torch.zeros(SIZE)
        own[RANK] = 2.0
        self.assertTrue(torch.allclose(hvd.allreduce(own, op=hvd.Adasum), torch.full((SIZE,), 2.0)))
        self.assertEqual(hvd.allreduce(torch.zeros(3), op=hvd.Adasum).tolist(), [0.0] * 3)

    def test_an_optimizer_of_it(self):
        model = torch.nn.Linear(2, 1)
        hvd.broadcast_parameters(model.state_dict(), 0)
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                             op=hvd.Adasum)
        losses = []
        for step in range(20):
            optimizer.zero_grad()
            inputs = torch.randn(8, 2, generator=torch.Generator().manual_seed(step * SIZE + RANK))
            loss = ((model(inputs) - inputs.sum(1, keepdim=True)) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], losses[0])
        weights = hvd.allgather(model.weight.data)
        self.assertTrue(all(torch.equal(one, weights[0]) for one in weights))

    def test_integers_have_none(self):
        with self.assertRaisesRegex(ValueError, "floating-point"):
            hvd.allreduce(torch.ones(1, dtype=torch.int32), op=hvd.Adasum)
        with self.assertRaisesRegex(hvd.HorovodInternalError, "Adasum"):
            hvd.reducescatter(torch.ones(SIZE), op=hvd.Adasum)


class BatchNorm(unittest.TestCase):
    def test_it_is_that_of_all_ranks_batches(self):
        for shape, plain in (((3,), torch.nn.BatchNorm1d), ((3, 4, 2), torch.nn.BatchNorm2d)):
            batches = [torch.randn(2 + rank, *shape, dtype=torch.float64,
                                   generator=torch.Generator().manual_seed(rank))
                       for rank in range(SIZE)]
            whole = torch.cat(batches).requires_grad_()
            own = batches[RANK].clone().requires_grad_()
            expected = plain(3).double()
            module = hvd.SyncBatchNorm(3).double()
            result, reference = module(own), expected(whole)
            (result * result * result).sum().backward()
            (reference * reference * reference).sum().backward()
            start = sum(len(batch) for batch in batches[:RANK])
            rows = slice(start, start + len(own))
            self.assertTrue(torch.allclose(result, reference[rows]))
            self.assertTrue(torch.allclose(own.grad, whole.grad[rows]))
            self.assertTrue(torch.allclose(module.running_mean, expected.running_mean))
            self.assertTrue(torch.allclose(module.running_var, expected.running_var))
            self.assertTrue(torch.allclose(module.eval()(own), expected.eval()(whole)[rows]))


class Disagreement(unittest.TestCase):
    def test_known_shapes_of_one_name_fail_at_once(self):
        for count in (3, 4):
            hvd.allreduce(torch.ones(count), name="shape")
        if SIZE > 1:
            with self.assertRaisesRegex(hvd.HorovodInternalError, "ranks disagree: rank 0 has"):
                hvd.allreduce(torch.ones(3 if RANK == 0 else 4), name="shape")
        hvd.allreduce(torch.ones(3), name="shape")


class Determinism(unittest.TestCase):
    def train(self):
        torch.manual_seed(5)
        model = torch.nn.Sequential(torch.nn.Linear(300, 1000), torch.nn.Tanh(), torch.nn.Linear(1000, 400),
                                    torch.nn.Tanh(), torch.nn.Linear(400, 3))
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
                                             model.named_parameters())
        torch.manual_seed(RANK)
        for _ in range(6):
            optimizer.zero_grad()
            model(torch.randn(8, 300)).square().mean().backward()
            optimizer.step()
        return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])

    def test_weights_do_not_depend_on_when_and_with_what_gradients_were_fused(self):
        thresholds, weights = ["1048576", "1048576", "67108864", "0"], []
        for threshold in thresholds:  # the first layer alone has more than a megabyte
            hvd.shutdown()
            os.environ["HOROVOD_FUSION_THRESHOLD"] = threshold
            hvd.init()
            weights.append(self.train())
        hvd.shutdown()
        del os.environ["HOROVOD_FUSION_THRESHOLD"]
        hvd.init()
        everyone = hvd.allgather_object(weights)
        for threshold, found in zip(thresholds * SIZE, sum(everyone, [])):
            self.assertTrue(torch.equal(found, weights[0]), threshold)
