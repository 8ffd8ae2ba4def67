# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of tests/bench/collectives.sh: bounds, parts of them, goals, and what becomes a row."""
import contextlib
import io
import os
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.environ["BATCHAI_SOURCE_DIR"], "tests/bench/collectives"))
import bounds  # noqa: E402
import machine  # noqa: E402
import measure  # noqa: E402
import peers  # noqa: E402
import plot  # noqa: E402
import report  # noqa: E402

MIB = 1 << 20


def roofline(*outputs):
    made = bounds.Roofline()
    for output in outputs:
        made.add(output)
    return made


def result(topology, sizes, output, **times):
    """As if each library had taken so many microseconds for each size; None is a failure."""
    libraries = [library for library in peers.LIBRARIES if library.name in times]
    made = measure.Result(bounds.Topology(topology), sizes, libraries)
    made.roofline.add(output)
    for name, values in times.items():
        for size, usec in zip(sizes, values):
            figure = made.figures[name, size]
            if usec is None:
                figure.failures += 1
            else:
                figure.best, figure.medians = usec, [2 * usec]
    return made


class Bounds(unittest.TestCase):
    def test_on_one_node_the_flag_or_the_copies_whichever_takes_longer(self):
        limits = roofline("flag 0.1\ncopy 8 0.002\ncopy 65536 3.5\n")
        self.assertEqual(limits.bound(bounds.Topology("1x2"), 8), 0.1)
        self.assertEqual(limits.bound(bounds.Topology("1x2"), 65536), 3.5)

    def test_between_nodes_what_has_to_leave_a_node_whatever_the_number_of_ranks(self):
        limits = roofline("ucx 4\nucx_median 5\ntcp_one 0.13\ntcp_all 0.125\ntcp_all 0.125\n")
        for topology, microseconds in (("2x2", MIB / 125), ("2x4", MIB / 125), ("4x2", 1.5 * MIB / 125)):
            self.assertAlmostEqual(limits.bound(bounds.Topology(topology), MIB), microseconds)
        self.assertEqual(limits.bound(bounds.Topology("2x1"), 8), 4)
        self.assertEqual(limits.bound(bounds.Topology("4x2"), 8), 8)

    def test_between_two_nodes_without_a_limit_an_exchange_of_as_many_bytes(self):
        limits = roofline("ucx 4\ntcp_all 1\nexchange 4096 5\nexchange 1048576 300\n")
        self.assertEqual([limits.bound(bounds.Topology("2x1"), size) for size in (8, 4096, MIB)], [4, 5, 300])

    def test_the_best_of_several_rounds_and_of_a_round_the_slowest_node(self):
        limits = roofline("ucx 5\ntcp_all 0.12\ntcp_all 0.10\n", "ucx 4\ntcp_all 0.11\ntcp_all 0.11\n")
        self.assertEqual(limits.one["tcp_all"], 0.11)
        self.assertEqual(limits.one["ucx"], 4)

    def test_a_roofline_that_was_not_measured_is_no_bound(self):
        self.assertIsNone(roofline("").bound(bounds.Topology("2x2"), MIB))


class Report(unittest.TestCase):
    def test_rows_say_the_part_of_the_bound_and_the_failures(self):
        made = result("1x2", [8, 64 * MIB], "flag 0.1\ncopy 67108864 5000\n", batchai=[0.2, 6000], mpich=[0.4, None])
        made.memory["batchai"] = [2000, 3000]
        self.assertEqual(list(report.rows([made])), [
            {"topology": "1x2", "bytes": 8, "library": "batchai", "usec": 0.2, "bound_fraction": 0.5, "failures": 0,
             "memory_kib": 3000},
            {"topology": "1x2", "bytes": 8, "library": "mpich", "usec": 0.4, "bound_fraction": 0.25, "failures": 0,
             "memory_kib": None},
            {"topology": "1x2", "bytes": 64 * MIB, "library": "batchai", "usec": 6000, "bound_fraction": 5 / 6, "failures": 0,
             "memory_kib": 3000},
            {"topology": "1x2", "bytes": 64 * MIB, "library": "mpich", "usec": None, "bound_fraction": None, "failures": 1,
             "memory_kib": None}])

    def test_the_table_says_who_is_ahead_and_whether_a_goal_was_reached(self):
        made = result("2x2", [64, MIB, 4 * MIB], "ucx 4\ntcp_all 0.125\n", batchai=[20, 10000, 50000], gloo=[20.5, 8000, 60000])
        made.failures = [("gloo", "no end within 60 s")] * 2
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            report.print_table(made)
        lines = text.getvalue().splitlines()
        self.assertRegex(lines[4], r"64 B .* 20.00  20% .* 1.02 x gloo$")
        self.assertRegex(lines[5], r"1 MiB .* 10000  84% .* 80% ok .* 0.80 x gloo: BEHIND$")
        self.assertRegex(lines[6], r"4 MiB .* 50000  67% .* 90% NO .* 1.20 x gloo$")
        self.assertIn("   2 gloo: no end within 60 s", lines)

    def test_the_footer_says_what_a_rank_holds_and_whether_that_is_too_much(self):
        made = result("1x2", [8], "", batchai=[1], mpich=[1])
        made.memory = {"batchai": [2048, 17 * 1024], "mpich": [51200, 100]}
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            report.print_memory(made)
        self.assertRegex(text.getvalue(), r"holds most: batchai 17.0, mpich 50.0\nbatchai by rank: 2.0 17.0; .* 16: NO\n")

    def test_a_difference_within_the_noise_is_not_behind(self):
        made = result("2x2", [64], "", batchai=[104], gloo=[100])
        self.assertNotIn("BEHIND", report.verdict(made, 64))

    def test_the_plot_has_a_line_for_each_library(self):
        made = result("1x2", [8, 64], "flag 0.1\n", batchai=[0.2, 0.2], mpich=[0.4, None])
        picture = xml.etree.ElementTree.fromstring(plot.draw([made]).encode())
        self.assertEqual(len(picture.findall("{*}polyline")), 2)


class Runs(unittest.TestCase):
    def test_what_does_not_end_is_ended_and_what_it_has_said_counts(self):
        output, failure = machine.run(["sh", "-c", "echo result; exec sleep 100"], {}, 0.5)
        self.assertEqual((output, failure), ("result\n", "no end within 0.5 s"))

    def test_a_crash_says_its_first_line(self):
        self.assertEqual(machine.run(["sh", "-c", "echo why >&2; exit 3"], {}, 10), ("", "exit code 3: why"))


if __name__ == "__main__":
    unittest.main()
