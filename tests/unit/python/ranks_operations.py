# SPDX-License-Identifier: Apache-2.0
"""Operations on several ranks: every type, reduction and shape, in place and not."""
import unittest

import horovod.torch as hvd
import torch

hvd.init()
RANK, SIZE = hvd.rank(), hvd.size()

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
SHAPES = ((0,), (1,), (), (17,), (2, 3, 5), (4096 + 1,))


def of_rank(rank, shape, kind):
    """Small numbers that every type can hold, different on each rank."""
    count = torch.Size(shape).numel()
    return (torch.arange(count) % 5 + rank + 1).reshape(shape).to(kind)


def of_all(shape, kind):
    return torch.stack([of_rank(rank, shape, kind) for rank in range(SIZE)])


REFERENCE = {
    hvd.Sum: lambda stack: stack.double().sum(0),
    hvd.Average: lambda stack: stack.double().mean(0),
    hvd.Min: lambda stack: stack.double().amin(0),
    hvd.Max: lambda stack: stack.double().amax(0),
    hvd.Product: lambda stack: stack.double().prod(0),
}


class Ranks(unittest.TestCase):
    def test_ranks_are_numbered(self):
        numbers = hvd.allgather_object((hvd.rank(), hvd.cross_rank(), hvd.local_rank()))
        self.assertEqual([number[0] for number in numbers], list(range(SIZE)))
        self.assertEqual(len({number[1:] for number in numbers}), SIZE)
        self.assertLessEqual(hvd.local_size(), SIZE)

    def test_a_barrier_returns(self):
        hvd.barrier()


class Allreduce(unittest.TestCase):
    def check(self, result, shape, kind, op):
        expected = REFERENCE[op](of_all(shape, kind)).to(kind)
        self.assertEqual((result.shape, result.dtype), (expected.shape, kind))
        tolerance = {torch.float16: 1e-2, torch.bfloat16: 1e-2}.get(kind, 1e-6)
        self.assertTrue(torch.allclose(result.double(), expected.double(), rtol=tolerance),
                        "%s %s %s" % (shape, kind, op))

    def test_every_type_reduction_and_shape(self):
        for op in REFERENCE:
            for kind in FLOATS + INTEGERS:
                for shape in SHAPES:
                    tensor = of_rank(RANK, shape, kind)
                    result = hvd.allreduce(tensor, op=op)
                    self.check(result, shape, kind, op)
                    self.assertTrue(torch.equal(tensor, of_rank(RANK, shape, kind)))

    def test_in_place(self):
        for kind in FLOATS + INTEGERS:
            tensor = of_rank(RANK, (2, 7), kind)
            self.assertIs(hvd.allreduce_(tensor, op=hvd.Sum), tensor)
            self.check(tensor, (2, 7), kind, hvd.Sum)

    def test_average_is_the_default_and_the_old_argument_works(self):
        one = of_rank(RANK, (5,), torch.float32)
        self.check(hvd.allreduce(one), (5,), torch.float32, hvd.Average)
        with self.assertWarns(DeprecationWarning):
            result = hvd.allreduce(one, average=False)
        self.check(result, (5,), torch.float32, hvd.Sum)

    def test_integer_averages_truncate_toward_zero(self):
        value = -1 if RANK == 0 else 0
        self.assertEqual(hvd.allreduce(torch.tensor([value])).item(), 0)

    def test_booleans(self):
        tensor = torch.tensor([RANK == 0, True, False])
        for op in (hvd.Max, hvd.Sum):
            self.assertEqual(hvd.allreduce(tensor, op=op).tolist(), [True, True, False])
        for op in (hvd.Min, hvd.Product):
            self.assertEqual(hvd.allreduce(tensor, op=op).tolist(), [False, True, False])

    def test_averages_of_small_integers_do_not_overflow(self):
        for kind in (torch.int8, torch.uint8):
            self.assertEqual(hvd.allreduce(torch.full((3,), 100).to(kind)).tolist(), [100] * 3)

    def test_numbers_of_16_bits_are_rounded_on_the_node_and_at_the_end(self):
        beside = hvd.broadcast(torch.tensor(hvd.local_size()), 0).item() - 1  # on rank 0's node
        for kind, least in ((torch.float16, 2.0 ** -11), (torch.bfloat16, 2.0 ** -8)):
            # Each rank adds half of 1's last place. The sum must still have all ranks' parts.
            tensor = torch.full((100,), 1.0 if RANK == 0 else least, dtype=kind)
            first_node = torch.full((100,), 1.0 + beside * least).to(kind).float()
            expected = (first_node + (SIZE - 1 - beside) * least).to(kind)
            self.assertTrue(torch.equal(hvd.allreduce(tensor, op=hvd.Sum), expected))
            half = hvd.allreduce(tensor, op=hvd.Sum, prescale_factor=0.5, postscale_factor=2.0)
            self.assertTrue(torch.equal(half, expected))
            self.assertEqual(half.dtype, kind)

    def test_a_tensor_that_is_not_contiguous(self):
        tensor = of_rank(RANK, (3, 4), torch.float32).t()
        expected = REFERENCE[hvd.Sum](of_all((3, 4), torch.float32)).float().t()
        self.assertTrue(torch.equal(hvd.allreduce(tensor, op=hvd.Sum), expected))
        hvd.allreduce_(tensor, op=hvd.Sum)
        self.assertTrue(torch.equal(tensor, expected))

    def test_factors_before_and_after(self):
        for kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8,
                     torch.int64):
            tensor = torch.full((3,), 4 * (RANK + 1)).to(kind)
            result = hvd.allreduce(tensor, op=hvd.Sum, prescale_factor=0.5, postscale_factor=3.0)
            self.assertEqual(result.tolist(), [sum(6 * (r + 1) for r in range(SIZE))] * 3)
            hvd.allreduce_(tensor, op=hvd.Sum, prescale_factor=0.5)
            self.assertEqual(tensor.tolist(), [sum(2 * (r + 1) for r in range(SIZE))] * 3)

    def test_compression(self):
        tensor = torch.full((3,), 1.0 + 2 ** -13)  # what half precision rounds to 1
        result = hvd.allreduce(tensor, op=hvd.Sum, compression=hvd.Compression.fp16)
        self.assertEqual((result.dtype, result.tolist()), (torch.float32, [float(SIZE)] * 3))

    def test_groups(self):
        for kind in (torch.float32, torch.float16, torch.int32):
            tensors = [of_rank(RANK, shape, kind) for shape in SHAPES]
            for result, shape in zip(hvd.grouped_allreduce(tensors, op=hvd.Max), SHAPES):
                self.check(result, shape, kind, hvd.Max)
            results = hvd.grouped_allreduce_(tensors, op=hvd.Sum)
            for result, tensor, shape in zip(results, tensors, SHAPES):
                self.assertIs(result, tensor)
                self.check(result, shape, kind, hvd.Sum)

    def test_many_at_once(self):
        handles = [hvd.allreduce_async(torch.full((n,), float(RANK)), name="many.%d" % n,
                                       op=hvd.Sum) for n in range(60)]
        while not hvd.poll(handles[-1]):
            pass
        for n, handle in enumerate(handles):
            self.assertEqual(hvd.synchronize(handle).tolist(), [sum(range(SIZE))] * n)

    def test_gradients(self):
        for op, factor in ((hvd.Sum, SIZE), (hvd.Average, 1)):
            tensor = torch.ones(4, requires_grad=True)
            hvd.allreduce(tensor, op=op).sum().backward()
            self.assertEqual(tensor.grad.tolist(), [float(factor)] * 4)
            group = [torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)]
            sum(part.sum() for part in hvd.grouped_allreduce(group, op=op)).backward()
            for part in group:
                self.assertEqual(part.grad.tolist(), [float(factor)] * len(part))
        self.assertEqual(hvd.grouped_allreduce([]), [])


class Broadcast(unittest.TestCase):
    def test_every_type_from_every_rank(self):
        kinds = FLOATS + INTEGERS + (torch.bool, torch.complex64)
        for root in range(SIZE):
            for kind in kinds:
                for shape in SHAPES:
                    tensor = of_rank(RANK, shape, kind)
                    result = hvd.broadcast(tensor, root)
                    self.assertTrue(torch.equal(result, of_rank(root, shape, kind)))
                    self.assertTrue(torch.equal(tensor, of_rank(RANK, shape, kind)))
                    self.assertIs(hvd.broadcast_(tensor, root), tensor)
                    self.assertTrue(torch.equal(tensor, result))

    def test_a_tensor_that_is_not_contiguous(self):
        tensor = of_rank(RANK, (3, 4), torch.float32).t()
        hvd.broadcast_(tensor, SIZE - 1)
        self.assertTrue(torch.equal(tensor, of_rank(SIZE - 1, (3, 4), torch.float32).t()))

    def test_gradients(self):
        tensor = torch.ones(2, requires_grad=True)
        hvd.broadcast(tensor, 1).sum().backward()
        self.assertEqual(tensor.grad.tolist(), [1.0 if RANK == 1 else 0.0] * 2)


class Allgather(unittest.TestCase):
    def test_every_type(self):
        for kind in FLOATS + INTEGERS + (torch.bool, torch.complex64):
            for shape in ((1,), (3, 2), (0,), (2, 0)):
                result = hvd.allgather(of_rank(RANK, shape, kind))
                expected = torch.cat([of_rank(rank, shape, kind) for rank in range(SIZE)])
                self.assertTrue(torch.equal(result, expected), "%s %s" % (kind, shape))

    def test_ranks_may_differ_in_the_first_dimension(self):
        for rows in (lambda rank: rank, lambda rank: 5 - rank, lambda rank: 7 if rank == 1 else 0):
            result = hvd.allgather(of_rank(RANK, (rows(RANK), 3), torch.float32))
            expected = torch.cat([of_rank(rank, (rows(rank), 3), torch.float32)
                                  for rank in range(SIZE)])
            self.assertTrue(torch.equal(result, expected))

    def test_a_tensor_that_is_not_contiguous(self):
        result = hvd.allgather(of_rank(RANK, (3, RANK + 2), torch.float32).t())
        self.assertTrue(torch.equal(result, torch.cat(
            [of_rank(rank, (3, rank + 2), torch.float32).t() for rank in range(SIZE)])))

    def test_groups(self):
        def group(rank):
            return [of_rank(rank, (rank + 1, 2), torch.float32), of_rank(rank, (3,), torch.int8),
                    of_rank(rank, (5 * (rank % 2), 4, 3), torch.float64)]

        expected = [torch.cat(parts) for parts in zip(*map(group, range(SIZE)))]
        handle = hvd.grouped_allgather_async(group(RANK), name="grouped")
        for results in (hvd.grouped_allgather(group(RANK)), hvd.synchronize(handle)):
            self.assertEqual(len(results), 3)
            for result, wanted in zip(results, expected):
                self.assertTrue(torch.equal(result, wanted))
                self.assertEqual(result.dtype, wanted.dtype)
        self.assertEqual(hvd.grouped_allgather([]), [])
        with self.assertRaisesRegex(ValueError, "scalar"):
            hvd.grouped_allgather([torch.ones(1), torch.tensor(1)])

    def test_gradients(self):
        tensor = torch.ones((RANK + 1, 2), requires_grad=True)
        (hvd.allgather(tensor) * 3).sum().backward()
        self.assertEqual(tensor.grad.tolist(), [[3.0, 3.0]] * (RANK + 1))
        group = [torch.ones(RANK + 1, requires_grad=True), torch.ones(2, requires_grad=True)]
        first, second = hvd.grouped_allgather(group)
        (first * 2).sum().backward(retain_graph=True)
        (second * 5).sum().backward()
        self.assertEqual([part.grad.tolist() for part in group],
                         [[2.0] * (RANK + 1), [5.0] * 2])


def exchanged(rows, shape, kind):
    """What this rank gets where rank a has rows(a, b) rows for rank b."""
    parts = []
    for rank in range(SIZE):
        splits = [rows(rank, to) for to in range(SIZE)]
        parts.append(of_rank(rank, (sum(splits), *shape), kind).split(splits)[RANK])
    return torch.cat(parts)


class Reducescatter(unittest.TestCase):
    def part(self, shape, kind, op):
        """This rank's rows of what an allreduce would give."""
        rows = [shape[0] // SIZE + (rank < shape[0] % SIZE) for rank in range(SIZE)]
        whole = REFERENCE[op](of_all(shape, kind)).to(kind)
        return whole[sum(rows[:RANK]):sum(rows[:RANK + 1])]

    def test_every_type_reduction_and_shape(self):
        for op in REFERENCE:
            for kind in FLOATS + INTEGERS:
                for shape in ((0,), (1,), (SIZE,), (2 * SIZE + 1, 3), (4097, 2), (5, 0)):
                    tensor = of_rank(RANK, shape, kind)
                    result = hvd.reducescatter(tensor, op=op)
                    expected = self.part(shape, kind, op)
                    self.assertEqual((result.shape, result.dtype), (expected.shape, kind))
                    self.assertTrue(torch.allclose(result.double(), expected.double(), rtol=1e-2))
                    self.assertTrue(torch.equal(tensor, of_rank(RANK, shape, kind)))

    def test_the_parts_of_all_are_the_allreduce(self):
        tensor = torch.randn(1001, 3)
        self.assertTrue(torch.equal(hvd.allgather(hvd.reducescatter(tensor)),
                                    hvd.allreduce(tensor)))

    def test_groups_factors_and_compression(self):
        tensors = [of_rank(RANK, (SIZE * n, 2), torch.float32) for n in (1, 2, 3)]
        handle = hvd.grouped_reducescatter_async(tensors, name="group", op=hvd.Sum)
        parts = hvd.grouped_reducescatter(tensors, compression=hvd.Compression.fp16, op=hvd.Sum)
        for n, (part, other) in enumerate(zip(hvd.synchronize(handle), parts)):
            expected = self.part((SIZE * (n + 1), 2), torch.float32, hvd.Sum)
            self.assertTrue(torch.equal(part, expected.float()))
            self.assertTrue(torch.equal(other, expected.float()))
        half = hvd.reducescatter(tensors[0], op=hvd.Sum, prescale_factor=0.5, postscale_factor=3.0)
        self.assertTrue(torch.equal(half, self.part((SIZE, 2), torch.float32, hvd.Sum).float() * 1.5))

    def test_gradients_go_to_all_ranks(self):
        for op, factor in ((hvd.Sum, float(SIZE)), (hvd.Average, 1.0)):
            tensor = torch.ones(2 * SIZE + 1, 2, requires_grad=True)
            part = hvd.reducescatter(tensor, op=op)
            (part * (RANK + 1)).sum().backward()
            rows = [2 + (rank == 0) for rank in range(SIZE)]
            expected = torch.cat([torch.full((count, 2), (rank + 1) * factor)
                                  for rank, count in enumerate(rows)])
            self.assertTrue(torch.allclose(tensor.grad, expected))

    def test_wrong_arguments_are_refused_before_anything_is_sent(self):
        for wrong in ({"tensor": torch.tensor(1.0)}, {"tensor": [1, 2]},
                      {"tensor": torch.ones(3), "op": 77},
                      {"tensor": torch.ones(3, dtype=torch.bool), "op": hvd.Average},
                      {"tensor": torch.ones(3, dtype=torch.complex64), "op": hvd.Max}):
            with self.assertRaises(ValueError):
                hvd.reducescatter(**wrong)
        hvd.barrier()


class Alltoall(unittest.TestCase):
    def test_every_type_divided_evenly(self):
        for kind in FLOATS + INTEGERS + (torch.bool, torch.complex64):
            for rows, shape in ((1, ()), (2, (3,)), (0, (2,)), (2, (0,)), (3, (2, 5))):
                tensor = of_rank(RANK, (rows * SIZE, *shape), kind)
                result = hvd.alltoall(tensor)
                self.assertTrue(torch.equal(result, exchanged(lambda a, b: rows, shape, kind)))
                self.assertTrue(torch.equal(tensor, of_rank(RANK, (rows * SIZE, *shape), kind)))

    def test_splits_differ(self):
        for rows in (lambda a, b: a + 2 * b, lambda a, b: a, lambda a, b: 4 if a != b else 0,
                     lambda a, b: 0, lambda a, b: 5000 if b == 0 else 0):
            splits = [rows(RANK, to) for to in range(SIZE)]
            tensor = of_rank(RANK, (sum(splits), 3), torch.float32)
            for given in (splits, tuple(splits), torch.tensor(splits),
                          torch.tensor(splits, dtype=torch.int32)):
                result, received = hvd.alltoall(tensor, given)
                self.assertTrue(torch.equal(result, exchanged(rows, (3,), torch.float32)))
                self.assertEqual(received.tolist(), [rows(rank, RANK) for rank in range(SIZE)])
                self.assertEqual(received.dtype, torch.int32)

    def test_ranks_may_have_tensors_of_different_lengths(self):
        result = hvd.alltoall(of_rank(RANK, (SIZE * RANK,), torch.int64))
        self.assertTrue(torch.equal(result, exchanged(lambda a, b: a, (), torch.int64)))

    def test_a_tensor_that_is_not_contiguous(self):
        tensor = of_rank(RANK, (3, SIZE), torch.float32).t()
        expected = torch.stack([of_rank(rank, (3, SIZE), torch.float32).t()[RANK]
                                for rank in range(SIZE)])
        self.assertTrue(torch.equal(hvd.alltoall(tensor), expected))

    def test_several_at_once(self):
        handles = [hvd.alltoall_async(torch.full((n * SIZE,), RANK), name="a2a.%d" % n)
                   for n in range(9)]
        splits = [1] * SIZE
        handle = hvd.alltoall_async(torch.full((SIZE,), RANK), splits, "a2a.splits")
        self.assertEqual([part.tolist() for part in hvd.synchronize(handle)],
                         [list(range(SIZE)), splits])
        for n, handle in enumerate(handles):
            self.assertEqual(hvd.synchronize(handle).tolist(),
                             [rank for rank in range(SIZE) for _ in range(n)])

    def test_gradients_go_back_to_the_rows(self):
        splits = [RANK + to for to in range(SIZE)]
        factors = torch.tensor([float(to + 1) for to in range(SIZE) for _ in range(RANK + to)])
        tensor = torch.ones(sum(splits), requires_grad=True)
        result, received = hvd.alltoall(tensor, splits)
        self.assertFalse(received.requires_grad)
        (result * (RANK + 1)).sum().backward()
        self.assertEqual(tensor.grad.tolist(), factors.tolist())
        tensor = torch.ones((RANK + 1) * SIZE, requires_grad=True)
        (hvd.alltoall(tensor) * (RANK + 1)).sum().backward()
        self.assertEqual(tensor.grad.tolist(),
                         [float(to + 1) for to in range(SIZE) for _ in range(RANK + 1)])

    def test_wrong_arguments_are_value_errors_before_anything_is_sent(self):
        one = torch.ones(SIZE)
        for splits, words in (([1] * (SIZE + 1), "one number for each"),
                              (torch.ones(SIZE, 1).int(), "one number for each"),
                              ([1.0] * SIZE, "not integers"), ([True] * SIZE, "not integers"),
                              ([2] * SIZE, "add up"), ("x", "splits 'x'")):
            with self.assertRaisesRegex(ValueError, words):
                hvd.alltoall(one, splits)
        with self.assertRaisesRegex(ValueError, "scalar"):
            hvd.alltoall(torch.tensor(1))
        if SIZE > 1:
            with self.assertRaisesRegex(ValueError, "not a multiple of %d" % SIZE):
                hvd.alltoall(torch.ones(SIZE + 1))
            with self.assertRaisesRegex(ValueError, "add up"):
                hvd.alltoall(one, [-1] + [1] * (SIZE - 2) + [3])
        self.assertEqual(hvd.allreduce(one, op=hvd.Sum).tolist(), [float(SIZE)] * SIZE)


@unittest.skipIf(hvd.cross_size() > 1, "the ranks meet on one host only")
class Gloo(unittest.TestCase):
    def test_results_are_those_of_torch_distributed(self):
        from torch import distributed
        if not distributed.is_available():
            self.skipTest("no torch.distributed")
        store = hvd.broadcast_object(_free_port(), 0)
        distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:%d?use_libuv=0" % store, rank=RANK,
                                       world_size=SIZE)
        torch.manual_seed(RANK)
        for count in (1, 1000, 100003):
            ours = torch.randn(count)
            theirs = ours.clone()
            distributed.all_reduce(theirs)
            self.assertTrue(torch.allclose(hvd.allreduce(ours, op=hvd.Sum), theirs, atol=1e-5))
        hvd.barrier()
        distributed.destroy_process_group()


def _free_port():
    import socket
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
