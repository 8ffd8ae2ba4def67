# SPDX-License-Identifier: Apache-2.0
"""Several threads of a rank; operations that fail, or that no caller waits for."""
import os
import signal
import threading
import time
import unittest

import horovod.torch as hvd
import torch

hvd.init()
RANK, SIZE = hvd.rank(), hvd.size()


def at_once(*functions):
    """Calls each in a thread; returns what they raised."""
    errors = []

    def run(function):
        try:
            function()
        except Exception as error:  # of any kind: the test tells it
            errors.append(error)

    threads = [threading.Thread(target=run, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


class Threads(unittest.TestCase):
    def test_each_has_operations_of_its_own(self):
        def train(number):
            for i in range(40):
                rows = hvd.allgather(torch.full((RANK + 1,), float(i)), name="rows%d" % number)
                self.assertEqual(rows.tolist(), [float(i)] * (SIZE * (SIZE + 1) // 2))
                total = hvd.allreduce(torch.full((5,), float(i)), name="sum%d" % number, op=hvd.Sum)
                self.assertEqual(total.tolist(), [float(i * SIZE)] * 5)

        self.assertEqual(at_once(*[lambda number=number: train(number) for number in range(3)]), [])

    def test_each_has_a_process_set(self):
        first = hvd.add_process_set(list(range(max(1, SIZE - 1))))
        sets = [hvd.global_process_set] + ([first] if first.included() else [])

        def train(process_set):
            for i in range(40):
                total = hvd.allreduce(torch.full((300,), float(i)), name="x", op=hvd.Sum,
                                      process_set=process_set)
                self.assertEqual(total[299].item(), i * process_set.size())

        self.assertEqual(at_once(*[lambda one=one: train(one) for one in sets]), [])
        hvd.remove_process_set(first)

    def test_both_synchronize_one_handle(self):
        for _ in range(20):
            handle = hvd.allreduce_async(torch.ones(3), name="one", op=hvd.Sum)
            results = []
            self.assertEqual(at_once(*[lambda: results.append(hvd.synchronize(handle))] * 2), [])
            self.assertIs(results[0], results[1])


class Ends(unittest.TestCase):
    def test_of_results_that_cannot_be_made(self):
        handle = hvd.allreduce_async(torch.ones(3))
        handle.finish = lambda: 1 // 0
        for _ in range(2):
            with self.assertRaises(ZeroDivisionError):
                hvd.synchronize(handle)

    def test_that_nobody_waits_for_give_the_name_back(self):
        tensor, handles = torch.ones(1), []
        for _ in range(20):
            handles.append(hvd.allreduce_async_(tensor, name="again"))
            hvd.barrier()
            while handles[-1]._ticket is not None and not hvd.poll(handles[-1]):
                pass
        self.assertEqual([hvd.synchronize(handle).item() for handle in handles], [1.0] * 20)

    def test_after_an_interrupt(self):
        if RANK == 0:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            handle = hvd.allreduce_async(torch.ones(3), name="late")
            with self.assertRaises(KeyboardInterrupt):
                hvd.synchronize(handle)
            with self.assertRaisesRegex(hvd.HorovodInternalError, "late was interrupted"):
                hvd.synchronize(handle)
        else:
            time.sleep(0.3)
            hvd.allreduce(torch.ones(3), name="late")
        for i in range(20):
            self.assertEqual(hvd.allreduce(torch.ones(1), name=str(i % 3), op=hvd.Sum).item(), SIZE)

    def test_gradients_one_of_which_fails(self):
        model = torch.nn.Linear(2, 1)
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                             named_parameters=model.named_parameters())
        model(torch.ones(1, 2)).sum().backward()
        first = next(iter(optimizer._gradients.values()))
        first._compression = None  # its result cannot be made
        with self.assertRaises(AttributeError):
            optimizer.synchronize()
        first._compression = hvd.Compression.none
        optimizer.zero_grad()
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()

    def test_of_the_job_leave_nothing_that_can_be_used(self):
        model = torch.nn.Linear(2, 1)
        optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1))
        handle = hvd.allreduce_async(torch.ones(1), name="of rank %d" % RANK)
        hvd.shutdown()
        with self.assertRaisesRegex(hvd.HorovodInternalError, "shut down before"):
            hvd.synchronize(handle)
        if SIZE > 1:
            with self.assertRaisesRegex(ValueError, "shut down"):
                model(torch.ones(1, 2)).sum().backward()
        hvd.init()
        del optimizer


if __name__ == "__main__":
    unittest.main()
