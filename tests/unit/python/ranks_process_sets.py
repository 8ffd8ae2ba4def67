# SPDX-License-Identifier: Apache-2.0
"""Process sets, on any number of ranks: the last alone, all but the last, and the even ones."""
import unittest

import horovod.torch as hvd
import torch
from horovod.common import basics

hvd.init()
RANK, SIZE = hvd.rank(), hvd.size()
LAST, EVEN = [SIZE - 1], list(range(0, SIZE, 2))


def total(ranks):
    return float(sum(rank + 1 for rank in ranks))


class Registration(unittest.TestCase):
    def test_the_global_set_is_the_job(self):
        job = hvd.global_process_set
        self.assertEqual((job.process_set_id, job.ranks, job.size(), job.rank(), job.included()),
                         (0, list(range(SIZE)), SIZE, RANK, True))
        self.assertFalse(hvd.remove_process_set(job))
        self.assertEqual(hvd.allreduce(torch.ones(1), op=hvd.Sum, process_set=job).item(), SIZE)

    def test_a_set_that_is_not_registered_knows_nothing(self):
        some = hvd.ProcessSet([1, 0])
        self.assertEqual((some.process_set_id, some.ranks, some.size(), some.rank(),
                          some.included()), (None, [0, 1], None, None, None))
        self.assertFalse(hvd.remove_process_set(some))
        with self.assertRaisesRegex(ValueError, "not registered"):
            hvd.allreduce(torch.ones(1), process_set=some)
        with self.assertRaisesRegex(ValueError, "not registered"):
            hvd.DistributedOptimizer(torch.optim.SGD([torch.ones(1)], 0.1), process_set=some)

    @unittest.skipIf(SIZE == 1, "the only set of one rank is the job")
    def test_sets_come_and_go(self):
        for _ in range(3):
            first = hvd.add_process_set(hvd.ProcessSet(LAST))
            second = hvd.add_process_set(list(reversed(range(SIZE - 1))))
            self.assertEqual((first.process_set_id, second.process_set_id), (1, 2))
            self.assertEqual((first.size(), second.size()), (1, SIZE - 1))
            self.assertEqual(second.ranks, list(range(SIZE - 1)))
            self.assertEqual(first.included(), RANK == SIZE - 1)
            self.assertEqual(second.included(), RANK < SIZE - 1)
            mine, other = (first, second) if RANK == SIZE - 1 else (second, first)
            self.assertEqual(mine.rank(), 0 if RANK == SIZE - 1 else RANK)
            with self.assertRaisesRegex(ValueError, "not part of the process set"):
                other.rank()
            for some, ranks in ((first, LAST), (second, list(range(SIZE - 1)))):
                self.assertTrue(hvd.remove_process_set(some))
                self.assertFalse(hvd.remove_process_set(some))
                self.assertEqual((some.process_set_id, some.ranks), (None, ranks))

    @unittest.skipIf(SIZE == 1, "the only set of one rank is the job")
    def test_a_removed_set_can_be_added_again_under_the_number_that_is_free(self):
        first, second = hvd.add_process_set(LAST), hvd.add_process_set(list(range(SIZE - 1)))
        self.assertTrue(hvd.remove_process_set(first))
        self.assertEqual(basics._get_process_set_ids_and_ranks(),
                         {0: list(range(SIZE)), 2: list(range(SIZE - 1))})
        hvd.add_process_set(first)
        self.assertEqual((first.process_set_id, first.ranks), (1, LAST))
        self.assertEqual(str(first), "ProcessSet(process_set_id=1, ranks=%s, mpi_comm=None)" % LAST)
        total = hvd.allreduce(torch.ones(1), op=hvd.Sum, process_set=first if first.included() else second)
        self.assertEqual(total.item(), 1 if first.included() else SIZE - 1)
        for some in (first, second):
            hvd.remove_process_set(some)

    def test_wrong_sets_are_value_errors(self):
        for ranks in (3, ["0"], [0.5], None, [0, "a"]):
            with self.assertRaisesRegex(ValueError, "expected a list of ranks"):
                hvd.ProcessSet(ranks)
        for ranks in ([], [0, 0], [SIZE], [-1]):
            with self.assertRaisesRegex(ValueError, "distinct ranks of a job of %d" % SIZE):
                hvd.add_process_set(ranks)
        with self.assertRaisesRegex(ValueError, "exists already, number 0"):
            hvd.add_process_set(range(SIZE))
        with self.assertRaisesRegex(ValueError, "expected a ProcessSet"):
            hvd.barrier(process_set=[0])
        with self.assertRaisesRegex(ValueError, "expected a list of ProcessSet"):
            hvd.init(process_sets=[[0]])

    @unittest.skipIf(SIZE < 2, "ranks that disagree")
    def test_ranks_that_add_different_sets_get_an_error(self):
        with self.assertRaisesRegex(hvd.HorovodInternalError, "process_set.add: ranks disagree"):
            hvd.add_process_set([min(RANK, 1)])
        self.assertEqual(hvd.allreduce(torch.ones(1), op=hvd.Sum).item(), SIZE)

    @unittest.skipIf(SIZE < 2, "the only set of one rank is the job")
    def test_init_registers_sets_and_shutdown_ends_them(self):
        for _ in range(2):
            hvd.shutdown()
            self.assertIsNone(hvd.global_process_set.process_set_id)
            some = hvd.ProcessSet(LAST)
            hvd.init(process_sets=[some])
            hvd.init(process_sets=[some])
            self.assertEqual((some.process_set_id, some.size()), (1, 1))
            if some.included():
                hvd.allreduce_async(torch.ones(2), process_set=some)  # started below, lost
                hvd.allreduce(torch.ones(2), process_set=some)
            hvd.shutdown()
            self.assertEqual((some.process_set_id, some.ranks), (None, LAST))
            hvd.init(process_sets="dynamic")
        hvd.shutdown()
        with self.assertRaisesRegex(ValueError, "distinct ranks of a job"):
            hvd.init(process_sets=[hvd.ProcessSet([SIZE])])
        self.assertFalse(hvd.is_initialized())
        hvd.init()


@unittest.skipIf(SIZE == 1, "the only set of one rank is the job")
class Operations(unittest.TestCase):
    def setUp(self):
        self.even = hvd.add_process_set(EVEN)
        self.last = hvd.add_process_set(LAST)
        self.sets = [some for some in (self.even, self.last) if some.included()]

    def tearDown(self):
        for some in (self.even, self.last):
            hvd.remove_process_set(some)
        self.assertEqual(hvd.allreduce(torch.ones(1), op=hvd.Sum).item(), SIZE)

    def test_reductions_are_over_the_set(self):
        for some in self.sets:
            count = some.size()
            tensor = torch.full((1000,), RANK + 1.0)
            for op, expected in ((hvd.Sum, total(some.ranks)), (hvd.Max, some.ranks[-1] + 1.0),
                                 (hvd.Average, total(some.ranks) / count)):
                result = hvd.allreduce(tensor, op=op, process_set=some)
                self.assertEqual(result.tolist(), [expected] * 1000)
                results = hvd.grouped_allreduce([tensor, tensor[:3]], op=op, process_set=some)
                self.assertEqual([result[0].item() for result in results], [expected] * 2)
            hvd.grouped_allreduce_([tensor], op=hvd.Sum, process_set=some)
            self.assertEqual(tensor[0].item(), total(some.ranks))
            hvd.allreduce_(tensor, op=hvd.Average, process_set=some)
            self.assertEqual(tensor[0].item(), total(some.ranks))
            hvd.barrier(process_set=some)

    def test_the_root_is_a_rank_of_the_job(self):
        for some in self.sets:
            for root in some.ranks:
                tensor = torch.tensor([RANK])
                self.assertEqual(hvd.broadcast(tensor, root, process_set=some).item(), root)
                hvd.broadcast_(tensor, root, process_set=some)
                self.assertEqual(tensor.item(), root)
                self.assertEqual(hvd.broadcast_object(RANK, root, process_set=some), root)
                hvd.broadcast_parameters([tensor], root, process_set=some)
            outside = [rank for rank in range(SIZE) if rank not in some.ranks]
            for root in outside + [SIZE]:
                with self.assertRaisesRegex(ValueError, "not one of the %d ranks" % some.size()):
                    hvd.broadcast(torch.ones(1), root, process_set=some)

    def test_rows_go_round_in_the_set(self):
        for some in self.sets:
            ranks = some.ranks
            result = hvd.allgather(torch.full((RANK + 1, 2), RANK), process_set=some)
            self.assertEqual(result[:, 1].tolist(), [r for r in ranks for _ in range(r + 1)])
            parts = hvd.grouped_allgather([torch.full((RANK,), RANK), torch.tensor([RANK])],
                                          process_set=some)
            self.assertEqual([part.tolist() for part in parts],
                             [[r for r in ranks for _ in range(r)], ranks])
            self.assertEqual(hvd.allgather_object("of %d" % RANK, process_set=some),
                             ["of %d" % rank for rank in ranks])
            result = hvd.alltoall(torch.tensor(ranks) + 100 * RANK, process_set=some)
            self.assertEqual(result.tolist(), [RANK + 100 * rank for rank in ranks])
            splits = [rank + RANK for rank in ranks]
            result, rows = hvd.alltoall(torch.full((sum(splits),), RANK), splits, process_set=some)
            self.assertEqual(rows.tolist(), splits)
            self.assertEqual(result.tolist(), [r for r in ranks for _ in range(r + RANK)])

    def test_gradients_are_the_sets(self):
        for some in self.sets:
            count = float(some.size())
            one = torch.ones(3, requires_grad=True)
            hvd.allreduce(one, op=hvd.Sum, process_set=some).sum().backward()
            self.assertEqual(one.grad.tolist(), [count] * 3)
            one = torch.ones(RANK + 1, requires_grad=True)
            (hvd.allgather(one, process_set=some) * 3).sum().backward()
            self.assertEqual(one.grad.tolist(), [3.0] * (RANK + 1))
            one = torch.ones(1, requires_grad=True)
            hvd.broadcast(one, some.ranks[-1], process_set=some).sum().backward()
            self.assertEqual(one.grad.item(), 1.0 if RANK == some.ranks[-1] else 0.0)
            one = torch.ones(some.size(), requires_grad=True)
            (hvd.alltoall(one, process_set=some) * (RANK + 1)).sum().backward()
            self.assertEqual(one.grad.tolist(), [rank + 1.0 for rank in some.ranks])

    def test_sets_and_the_job_side_by_side(self):
        handles = [hvd.allreduce_async(torch.ones(9), op=hvd.Sum, name="same")]
        sizes = [SIZE]
        for some in self.sets:
            handles.append(hvd.allreduce_async(torch.ones(9), op=hvd.Sum, name="same",
                                               process_set=some))
            sizes.append(some.size())
        for handle, size in zip(handles, sizes):
            self.assertEqual(hvd.synchronize(handle).tolist(), [float(size)] * 9)
        for handle in handles:
            self.assertTrue(hvd.poll(handle))

    def test_a_rank_outside_gets_a_value_error(self):
        one = torch.ones(2)
        for some in (self.even, self.last):
            if some.included():
                continue
            for call in (lambda: hvd.allreduce(one, process_set=some),
                         lambda: hvd.allreduce_(one, process_set=some),
                         lambda: hvd.grouped_allreduce_async([one], process_set=some),
                         lambda: hvd.broadcast(one, 0, process_set=some),
                         lambda: hvd.allgather(one, process_set=some),
                         lambda: hvd.alltoall(one, process_set=some),
                         lambda: hvd.barrier(process_set=some)):
                with self.assertRaisesRegex(ValueError, "rank %d is not part" % RANK):
                    call()

    def test_a_disagreement_in_a_set_is_the_sets(self):
        if self.even.included() and self.even.size() > 1:
            with self.assertRaisesRegex(hvd.HorovodInternalError, "rank 0 has .*, rank 2 has"):
                hvd.allreduce(torch.ones(RANK + 1), process_set=self.even)
            hvd.barrier(process_set=self.even)

    def test_what_waits_in_a_set_fails_when_it_is_removed(self):
        some, handle = self.even, None
        if RANK == 0 and some.size() > 1:  # the others of the set do not
            handle = hvd.allreduce_async(torch.ones(1), name="left", process_set=some)
        hvd.remove_process_set(some)
        if handle is not None:
            with self.assertRaisesRegex(hvd.HorovodInternalError, "before allreduce.left"):
                hvd.synchronize(handle)
        with self.assertRaisesRegex(ValueError, "not registered"):
            hvd.barrier(process_set=some)

    def test_an_optimizer_of_the_set(self):
        weight = torch.nn.Parameter(torch.zeros(2))
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD([weight], lr=1.0), op=hvd.Sum,
                                             process_set=self.even)
        for _ in range(2):
            optimizer.zero_grad()
            (weight * (RANK + 1)).sum().backward()
            optimizer.step()
        expected = total(EVEN) if self.even.included() else RANK + 1.0
        self.assertEqual(weight.tolist(), [-2 * expected] * 2)
