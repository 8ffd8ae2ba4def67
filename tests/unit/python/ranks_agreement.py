# SPDX-License-Identifier: Apache-2.0
"""Ranks that differ: in the order of operations, or in what the operations are."""
import random
import unittest

import horovod.torch as hvd
import torch

hvd.init()
RANK, SIZE = hvd.rank(), hvd.size()


class Order(unittest.TestCase):
    def test_operations_in_another_order_on_each_rank(self):
        for trial in range(5):
            names = ["order.%d" % number for number in range(20)]
            random.Random(1000 * trial + RANK).shuffle(names)
            handles = {name: hvd.allreduce_async(torch.tensor([float(name[6:])]), name=name,
                                                 op=hvd.Sum) for name in names}
            random.Random(2000 * trial + RANK).shuffle(names)
            for name in names:
                self.assertEqual(hvd.synchronize(handles[name]).item(), float(name[6:]) * SIZE)

    def test_one_after_the_other_here_and_at_once_there(self):
        def start(name):
            return hvd.allreduce_async(torch.ones(3), name=name, op=hvd.Sum)

        if RANK == 0:
            results = [hvd.synchronize(start("b")), hvd.synchronize(start("a"))]
        else:
            handles = [start("a"), start("b")]
            results = [hvd.synchronize(handle) for handle in handles]
        for result in results:
            self.assertEqual(result.tolist(), [float(SIZE)] * 3)

    def test_different_verbs_of_one_name_do_not_meet(self):
        first = hvd.allreduce_async(torch.ones(1), name="same", op=hvd.Sum)
        second = hvd.broadcast_async(torch.tensor([RANK]), 0, name="same")
        self.assertEqual(hvd.synchronize(second).item(), 0)
        self.assertEqual(hvd.synchronize(first).item(), SIZE)


class Disagreement(unittest.TestCase):
    """Every rank gets the error, none hangs, and the job can go on."""

    def tearDown(self):
        self.assertEqual(hvd.allreduce(torch.ones(1), op=hvd.Sum).item(), SIZE)

    def fails(self, call, words="ranks disagree"):
        with self.assertRaisesRegex(hvd.HorovodInternalError, words):
            call()

    def test_shapes(self):
        shape = (3, 2) if RANK == 0 else (2, 3)
        self.fails(lambda: hvd.allreduce(torch.ones(shape), name="t"),
                   r"t: ranks disagree: rank 0 has .*\[3, 2\], rank 1 has .*\[2, 3\]")
        self.fails(lambda: hvd.broadcast(torch.ones(shape), 0))
        self.fails(lambda: hvd.allgather(torch.ones(shape)))
        self.fails(lambda: hvd.alltoall(torch.ones(0, *shape)))

    def test_types(self):
        kind = torch.float32 if RANK == 0 else torch.int32
        self.fails(lambda: hvd.allreduce(torch.ones(3, dtype=kind)))
        self.fails(lambda: hvd.allgather(torch.ones(3, dtype=kind)))

    def test_reductions_and_factors(self):
        self.fails(lambda: hvd.allreduce(torch.ones(1), op=hvd.Min if RANK == 0 else hvd.Max))
        self.fails(lambda: hvd.allreduce(torch.ones(1), prescale_factor=1.0 + RANK))

    def test_roots(self):
        self.fails(lambda: hvd.broadcast(torch.ones(1), min(RANK, 1)))

    def test_names(self):
        self.fails(lambda: hvd.allreduce(torch.ones(1), name="of.rank.%d" % RANK),
                   "rank 0 waits for allreduce.of.rank.0 .*; rank 1 waits for allreduce.of.rank.1")

    def test_verbs(self):
        if RANK == 0:
            self.fails(lambda: hvd.allreduce(torch.ones(1), name="verb"), "rank 0 waits for")
        else:
            self.fails(lambda: hvd.broadcast(torch.ones(1), 0, name="verb"), "rank 0 waits for")

    def test_a_name_twice_at_once(self):
        def submit():
            return hvd.allreduce_async(torch.ones(1), name="twice", op=hvd.Sum)

        if RANK == 0:  # while the others have not submitted it
            handle = submit()
            self.assertRaisesRegex(ValueError, "allreduce.twice has not ended", submit)
        hvd.barrier()
        if RANK != 0:
            handle = submit()
        self.assertEqual(hvd.synchronize(handle).item(), SIZE)


class Again(unittest.TestCase):
    def test_shutdown_and_init_any_number_of_times(self):
        for number in range(3):
            hvd.shutdown()
            self.assertFalse(hvd.is_initialized())
            hvd.init()
            self.assertEqual((hvd.rank(), hvd.size()), (RANK, SIZE))
            result = hvd.allreduce(torch.tensor([number]), op=hvd.Sum)
            self.assertEqual(result.item(), number * SIZE)
