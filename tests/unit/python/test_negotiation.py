# SPDX-License-Identifier: Apache-2.0
"""What ranks do with lines of operations that differ. Pure: no library, no ranks."""
import threading
import unittest

from horovod.common import queue
from horovod.common.exceptions import HorovodInternalError


class Judge(unittest.TestCase):
    def test_another_order_is_started_in_rank_0s_order(self):
        lines = [{"b": "x", "a": "y"}, {"a": "y", "b": "x"}]
        self.assertEqual(queue.judge(lines, range(len(lines))), [("b", None), ("a", None)])

    def test_an_operation_that_not_all_have_waits(self):
        lines = [{"a": "x", "b": "x"}, {"b": "x"}, {"c": "x", "b": "x"}]
        self.assertEqual(queue.judge(lines, range(len(lines))), [("b", None)])

    def test_a_difference_names_the_operation_and_both_sides(self):
        ((name, sentence),) = queue.judge([{"a": "sum of float32[2]"}, {"a": "sum of float32[3]"}],
                                          [0, 1])
        self.assertEqual(name, "a")
        self.assertEqual(sentence, "horovod: a: ranks disagree: rank 0 has sum of float32[2], "
                                   "rank 1 has sum of float32[3]")

    def test_one_bad_operation_does_not_spoil_the_others(self):
        verdicts = queue.judge([{"a": "1", "b": "2"}, {"b": "2", "a": "3"}], [0, 1])
        self.assertIsNotNone(dict(verdicts)["a"])
        self.assertIsNone(dict(verdicts)["b"])

    def test_nothing_in_common_fails_everything_and_says_who_waits_for_what(self):
        verdicts = queue.judge([{"a": "sum"}, {"b": "max"}, {"b": "max"}], range(3))
        self.assertEqual([name for name, _ in verdicts], ["a", "b"])
        verdicts = dict(verdicts)
        self.assertIn("rank 0 waits for a (sum); rank 1 waits for b (max)", verdicts["a"])
        self.assertEqual(verdicts["a"], verdicts["b"])

    def test_ranks_of_a_process_set_have_the_numbers_of_the_job(self):
        verdicts = dict(queue.judge([{"a": "1"}, {"a": "2"}], [3, 5]))
        self.assertIn("rank 3 has 1, rank 5 has 2", verdicts["a"])
        verdicts = dict(queue.judge([{"a": "1"}, {"b": "2"}], [3, 5]))
        self.assertIn("rank 3 waits for a (1); rank 5 waits for b (2)", verdicts["a"])

    def test_a_long_line_is_cut(self):
        verdicts = queue.judge([{"a%d" % i: "s" for i in range(9)}, {"b": "s"}], [0, 1])
        self.assertIn("and 3 more", verdicts[0][1])


class Alone:
    """A communicator of one rank whose operations complete at once."""

    size = 1

    def __init__(self):
        self.lock = threading.RLock()

    def label(self, name):
        pass

    def wait(self, request):
        if request == "broken":
            raise HorovodInternalError("the link broke")

    def test(self, request):
        return request == "ready"


class Line(unittest.TestCase):
    def setUp(self):
        self.queue = queue.Queue(Alone())

    def submit(self, name="x", requests=("ready",), result=1):
        return self.queue.submit("allreduce", name, "", lambda: list(requests), lambda: result)

    def test_a_name_in_line_is_refused_and_free_again_after_synchronize(self):
        first = self.submit()
        with self.assertRaisesRegex(ValueError, "allreduce.x"):
            self.submit()
        self.assertEqual(self.queue.wait(first), 1)
        self.assertEqual(self.queue.wait(self.submit(result=2)), 2)

    def test_a_result_can_be_asked_for_twice(self):
        handle = self.submit(result=[3])
        self.assertEqual(self.queue.wait(handle), [3])
        self.assertEqual(self.queue.wait(handle), [3])

    def test_poll_does_not_wait_for_data(self):
        handle = self.submit(requests=("ready", "later"))
        self.assertFalse(self.queue.poll(handle))
        self.assertEqual(self.queue.wait(handle), 1)
        self.assertTrue(self.queue.poll(handle))

    def test_unnamed_operations_do_not_collide(self):
        first, second = self.submit(None), self.submit(None)
        self.assertNotEqual(first.name, second.name)

    def test_a_failed_operation_fails_each_time(self):
        handle = self.submit(requests=("broken",))
        for _ in range(2):
            with self.assertRaisesRegex(HorovodInternalError, "the link broke"):
                self.queue.wait(handle)

    def test_an_operation_that_cannot_be_started_fails_and_holds_nothing_up(self):
        def start():
            raise MemoryError("no room")

        handle = self.queue.submit("allreduce", "x", "", start, lambda: None)
        with self.assertRaisesRegex(MemoryError, "no room"):
            self.queue.wait(handle)
        with self.assertRaisesRegex(HorovodInternalError, "x could not be started: no room"):
            self.queue.wait(handle)
        self.assertEqual(self.queue.wait(self.submit(result=2)), 2)
        self.queue.close()

    def test_closing_completes_what_runs_and_fails_what_waits(self):
        running = self.submit("a", ("later",), 7)
        self.assertFalse(self.queue.poll(running))
        waiting = self.submit("b")
        self.queue.close()
        self.assertEqual(self.queue.wait(running), 7)
        with self.assertRaisesRegex(HorovodInternalError, "shut down before allreduce.b"):
            self.queue.wait(waiting)


if __name__ == "__main__":
    unittest.main()
