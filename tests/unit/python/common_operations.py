# SPDX-License-Identifier: Apache-2.0
"""horovod.common, without a framework: in every Python from 2.7 on, on any number of ranks."""
import ctypes
import os
import sys
import unittest

import horovod
from horovod.common import basics, elastic, library, util, variables
from horovod.common.exceptions import HorovodInternalError
from horovod.common.process_sets import global_process_set


def submit(name, values, op=library.SUM, details=""):
    """Starts an allreduce of a list of numbers; the Operation's result is such a list."""
    buffer = (ctypes.c_float * len(values))(*values)
    place = ctypes.addressof(buffer)
    return basics.queue().allreduce(name, details, [(place, place, len(values), library.FLOAT32)],
                                    op, (1.0, 1.0), lambda: list(buffer), buffer)


class Job(unittest.TestCase):
    def setUp(self):
        basics.init()
        self.rank, self.size = basics.rank(), basics.size()

    def tearDown(self):
        basics.shutdown()

    def reduced(self, *arguments):
        return basics.queue().wait(submit(*arguments))

    def test_named_operations_in_another_order_on_each_rank(self):
        names = ["a", "b", u"c\u00e4"]
        order = names if self.rank % 2 == 0 else names[::-1]
        handles = {name: submit(name, [self.rank, len(name)]) for name in order}
        for name in names:
            self.assertEqual(basics.queue().wait(handles[name]),
                             [sum(range(self.size)), self.size * len(name)])

    def test_a_function_of_python_runs_at_its_turn(self):
        text = ctypes.create_string_buffer(b"root" if self.rank == 0 else b"none")

        def start():
            return [global_process_set.communicator.broadcast_async(
                ctypes.addressof(text), 4, library.UINT8, 0)]

        handle = basics.queue().submit("broadcast", "word", "of 4", start, lambda: text.value)
        self.assertEqual(basics.queue().wait(handle), b"root")

    def test_a_disagreement_is_an_error_on_all_ranks(self):
        if self.size > 1:
            with self.assertRaises(HorovodInternalError) as caught:
                self.reduced("x", [1.0] * (1 + self.rank % 2))
            self.assertIn("x", str(caught.exception))
        self.assertEqual(self.reduced("x", [1.0]), [self.size])

    def test_a_part_of_the_job_does_not_see_the_others(self):
        self.assertTrue(basics.is_homogeneous())
        basics.shutdown()
        half = self.size // 2
        own = range(half) if self.rank < half else range(half, self.size)
        basics.init(comm=list(own))
        self.assertEqual((basics.rank(), basics.size()), (self.rank - own[0], len(own)))
        self.assertEqual(self.reduced(None, [1.0]), [len(own)])
        if len(own) > 1:
            part = basics.sets.add_process_set([0])
            self.assertEqual(part.included(), basics.rank() == 0)

    def test_lists_that_do_not_fit_together_are_value_errors_on_all_ranks(self):
        basics.shutdown()
        for wrong in ([self.size], [(self.rank + 1) % self.size] if self.size > 1 else [-1],
                      "0", 0, [0.5]):
            with self.assertRaises(ValueError):
                basics.init(comm=wrong)
            self.assertFalse(basics.is_initialized())
        basics.init(comm=list(range(self.size)))
        self.assertEqual(basics.size(), self.size)

    def test_a_timeline_that_is_to_begin_later_makes_no_file(self):
        basics.shutdown()
        with util.env(HOROVOD_TIMELINE="DYNAMIC"):
            basics.init()
        self.assertFalse(os.path.exists("DYNAMIC"))

    def test_a_stall_ends_the_job_when_it_is_to(self):
        basics.shutdown()
        with util.env(HOROVOD_STALL_SHUTDOWN_TIME_SECONDS="600"):
            basics.init()
        self.assertEqual(os.environ.pop("BATCHAI_COLL_TIMEOUT"), "600")

    def test_state_goes_on_from_what_was_saved(self):
        state = elastic.ObjectState(lambda value, root: value, basics.rank, step=1)
        state.step = 2
        state.restore()
        self.assertEqual(state.step, 1)
        self.assertEqual(elastic.run_fn(lambda state: state.step, lambda: None)(state), 1)


class Variables(unittest.TestCase):
    def test_a_misspelt_or_idle_variable_is_not_passed_over(self):
        said = variables.remarks({"HOROVOD_FUSION_TRESHOLD": "1", "HOROVOD_LOG_LEVEL": "info",
                                  "HOROVOD_CYCLE_TIME": "1", "HOROVOD_WITH_PYTORCH": "1",
                                  "HOROVOD_RANK": "0", "HOROVOD_XYZZY": "1", "PATH": "/bin"})
        self.assertEqual(said, [
            "HOROVOD_FUSION_TRESHOLD is not one of Horovod's variables: is "
            "HOROVOD_FUSION_THRESHOLD meant?",
            "HOROVOD_LOG_LEVEL has no effect: the library chooses this itself",
            "HOROVOD_XYZZY is not one of Horovod's variables"])


class Util(unittest.TestCase):
    def test_the_environment_is_as_before(self):
        before = dict(os.environ)
        with util.env(HOROVOD_CYCLE_TIME="2.5", HOME=None):
            self.assertEqual(util.queue_options()["cycle"], 0.0025)
        self.assertEqual(dict(os.environ), before)

    def test_numbers_that_are_none_are_refused(self):
        for wrong in ("nan", "inf", "-1", "x", "1\n2"):
            with util.env(HOROVOD_CYCLE_TIME=wrong):
                with self.assertRaises(ValueError):
                    util.queue_options()

    def test_lists_are_split_as_evenly_as_can_be(self):
        self.assertEqual(util.split_list([1, 2, 3, 4, 5], 3), [[1, 2], [3, 4], [5]])
        self.assertEqual(util.split_list([1], 2), [[1], []])

    def test_versions_are_compared_by_number(self):
        self.assertTrue(util.is_version_greater_equal_than("2.15.0rc1+cpu", "2.9.0"))
        self.assertFalse(util.is_version_greater_equal_than("1.13.0a0", "2.0.0"))

    def test_a_framework_that_cannot_be_imported_is_not_available(self):
        self.assertFalse(util.extension_available("no_such_framework"))
        self.assertTrue(util.extension_available("common"))

    def test_it_says_whose_interface_it_is(self):
        self.assertTrue(horovod.__version__.startswith("0.28."))
        util.check_extension("horovod.torch", "HOROVOD_WITH_PYTORCH", __file__, "mpi_lib_v2")


if __name__ == "__main__":
    rank = int(os.environ.get("PMIX_RANK", os.environ.get("OMPI_COMM_WORLD_RANK", "0")))
    unittest.main(verbosity=2 if rank == 0 and sys.stderr.isatty() else 1)
