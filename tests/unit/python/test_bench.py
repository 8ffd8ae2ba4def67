# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of tests/bench/collectives.sh: bounds, parts of them, goals, and the contents of rows."""
import contextlib
import io
import os
import sys
import tempfile
import types
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.environ["BATCHAI_SOURCE_DIR"], "tests/bench/collectives"))
import bounds  # noqa: E402
import machine  # noqa: E402
import measure  # noqa: E402
import peers  # noqa: E402
import plot  # noqa: E402
import report  # noqa: E402
import tables  # noqa: E402

MIB = 1 << 20


def roofline(*outputs):
    made = bounds.Roofline()
    for output in outputs:
        made.add(output)
    return made


def measured(topology, sizes, output, operation="allreduce", bind="core", touch=False, **times):
    """As if each library had taken so many microseconds for each size, and twice as many in a row; None is a failure."""
    options = types.SimpleNamespace(cases=[(operation, bind)], sizes={operation: sizes}, touch=touch)
    made = measure.Measurement(bounds.Topology(topology), options, [one for one in peers.LIBRARIES if one.name in times])
    result = made.results[0]
    result.roofline.add(output)
    for library in result.libraries:
        given = [(size, usec) for size, usec in zip(sizes, times[library.name]) if usec is not None]
        result.add(library, "".join(f"series {size} 20 {2 * usec} {3 * usec}\nresult {size} 1 1 {usec}\n"
                                    for size, usec in given), "")
    return made


def table(made):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        report.print_topology(made)
    return text.getvalue()


def bound(limits, topology, size, operation="allreduce"):
    return limits.bound(bounds.Topology(topology), operation, size)


class Bounds(unittest.TestCase):
    def test_on_one_node_the_flag_or_the_copies_whichever_takes_longer(self):
        limits = roofline("flag 0.1\ncopy 8 0.002\ncopy 65536 4\n")
        self.assertEqual(bound(limits, "1x2", 8), 0.1)
        for operation, microseconds in (("allreduce", 4), ("broadcast", 2), ("allgather", 3), ("reduce-scatter", 3),
                                        ("all-to-all", 4)):
            self.assertEqual(bound(limits, "1x2", 65536, operation), microseconds)

    def test_between_nodes_the_bytes_that_have_to_leave_a_node(self):
        limits = roofline("ucx 4\nucx_median 5\ntcp_one 0.13\ntcp_all 0.125\ntcp_all 0.125\n")
        link = MIB / 125  # of one node's, for a MiB
        for topology, microseconds in (("2x2", link), ("2x4", link), ("4x2", 1.5 * link)):
            self.assertAlmostEqual(bound(limits, topology, MIB), microseconds)
        for operation, microseconds in (("broadcast", link), ("allgather", 0.75 * link), ("reduce-scatter", 0.75 * link),
                                        ("all-to-all", 1.5 * link)):
            self.assertAlmostEqual(bound(limits, "4x2", MIB, operation), microseconds)
        self.assertEqual(bound(limits, "2x1", 8), 4)
        self.assertEqual(bound(limits, "4x2", 8), 8)
        self.assertEqual(bound(limits, "4x2", 8, "broadcast"), 8)
        self.assertEqual(bound(limits, "4x2", 32, "all-to-all"), 4)

    def test_between_two_nodes_without_a_limit_an_exchange_of_as_many_bytes(self):
        limits = roofline("ucx 4\ntcp_all 1\nexchange 4096 5\nexchange 524288 200\nexchange 1048576 300\n")
        self.assertEqual([bound(limits, "2x1", size) for size in (8, 4096, MIB)], [4, 5, 300])
        self.assertEqual(bound(limits, "2x1", MIB, "broadcast"), 200)

    def test_the_best_of_several_rounds_and_of_a_round_the_slowest_node(self):
        limits = roofline("ucx 5\ntcp_all 0.12\ntcp_all 0.10\n", "ucx 4\ntcp_all 0.11\ntcp_all 0.11\n")
        self.assertEqual(limits.one["tcp_all"], 0.11)
        self.assertEqual(limits.one["ucx"], 4)

    def test_a_roofline_that_was_not_measured_is_no_bound(self):
        self.assertIsNone(bound(roofline(""), "2x2", MIB))


class Report(unittest.TestCase):
    def test_rows_have_the_part_of_the_bound_and_the_failures(self):
        made = measured("1x2", [8, 64 * MIB], "flag 0.1\ncopy 67108864 5000\n", batchai=[0.2, 6000], mpich=[0.4, None])
        made.results[0].memory["batchai"] = [2000, 3000]
        rows = list(report.rows([made]))
        self.assertEqual(rows[0], {
            "topology": "1x2", "operation": "allreduce", "bind": "core", "bytes": 8, "library": "batchai", "usec": 0.2,
            "bound_fraction": 0.5, "calls": 20, "mean_usec": 0.4, "p99_usec": 3 * 0.2, "mean_bound_fraction": 0.25,
            "failures": 0, "memory_kib": 3000})
        self.assertEqual([(row["library"], row["bytes"], row["usec"], row["failures"]) for row in rows[1:]], [
            ("mpich", 8, 0.4, 0), ("batchai", 64 * MIB, 6000, 0), ("mpich", 64 * MIB, None, 1)])

    def test_of_several_rounds_the_best_batch_and_the_median_of_the_means(self):
        result = measured("1x2", [8], "", batchai=[0.2]).results[0]
        for usec in (0.1, 0.7):
            result.add(result.libraries[0], f"series 8 200 {2 * usec} {3 * usec}\nresult 8 1 1 {usec}\n", "")
        figure = result.figures["batchai", 8]
        self.assertEqual((figure.usec, figure.mean, figure.percentile, figure.calls), (0.1, 0.4, 3 * 0.2, 200))

    def test_the_tables_say_who_is_ahead_and_whether_a_goal_was_reached(self):
        made = measured("2x2", [64, MIB, 4 * MIB], "ucx 4\ntcp_all 0.125\n", batchai=[20, 10000, 50000],
                        gloo=[20.5, 8000, 60000])
        made.results[0].failures = [("gloo", "no end within 60 s")] * 2
        lines = table(made).splitlines()
        best = lines.index("2x2 allreduce, microseconds a call: the fastest batch")
        self.assertRegex(lines[best + 3], r"64 B .* 20.00  20%    20.50 .* 1.02 x gloo$")
        self.assertRegex(lines[best + 4], r"1 MiB .* 10000  84%     8000 .* 80% ok .* 0.80 x gloo: BEHIND$")
        self.assertRegex(lines[best + 5], r"4 MiB .* 50000  67% .* 90% NO .* 1.20 x gloo$")
        mean = lines.index("2x2 allreduce, microseconds a call: the mean of calls in a row, and our 99th percentile")
        self.assertRegex(lines[mean + 4], r"1 MiB .* 20000  42%   30000    16000 .* 80% NO .* 0.80 x gloo: BEHIND$")
        self.assertIn("   2 gloo: no end within 60 s", lines)

    def test_says_whether_ranks_touch_their_buffers(self):
        for touch in (False, True):
            text = table(measured("1x2", [8], "flag 0.1\n", touch=touch, batchai=[0.2]))
            self.assertEqual("Between calls, ranks write what they send" in text, touch)

    def test_ranks_that_are_not_bound_have_no_batches(self):
        lines = table(measured("1x2", [8], "flag 0.1\n", bind="none", batchai=[0.2])).splitlines()
        self.assertIn("1x2 allreduce, microseconds a call, ranks not bound to cores: the mean of calls in a row, and our 99th "
                      "percentile", lines)
        self.assertFalse([line for line in lines if "fastest batch" in line])

    def test_the_footer_says_the_memory_of_a_rank_and_whether_that_is_too_much(self):
        result = measured("1x2", [8], "", batchai=[1], mpich=[1]).results[0]
        result.memory = {"batchai": [2048, 17 * 1024], "mpich": [51200, 100]}
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            report.print_memory(result)
        self.assertRegex(text.getvalue(), r"holds most: batchai 17.0, mpich 50.0\nbatchai by rank: 2.0 17.0; .* 16: NO\n")

    def test_a_difference_within_the_noise_is_not_behind(self):
        result = measured("2x2", [64], "", batchai=[104], gloo=[100]).results[0]
        self.assertNotIn("BEHIND", report.verdict(result, 64, lambda figure: figure.usec))

    def test_a_library_without_the_operation_has_no_column(self):
        made = measured("2x2", [64], "", operation="reduce-scatter", batchai=[1], gloo=[1])
        self.assertEqual(made.results[0].names, ["batchai"])

    def test_blocks_of_ranks_are_whole_numbers(self):
        made = measured("4x2", [4, 100], "", operation="allgather", batchai=[None, None])
        self.assertEqual(made.results[0].sizes, [32, 96])

    def test_the_plot_has_a_line_for_each_library_with_the_sizes_that_it_did(self):
        made = measured("1x2", [8, 64], "flag 0.1\n", batchai=[0.2, 0.2], mpich=[0.4, None])
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(table(made))
            file.flush()
            panels = {each.topology: each.rows for each in tables.read(file.name) if each.batches}
        picture = xml.etree.ElementTree.fromstring(plot.draw(panels).encode())
        lines = [len(line.get("points").split()) for line in picture.findall("{*}polyline")]
        self.assertEqual(sorted(lines), [1, 2])

    def test_the_plot_has_a_color_for_each_library(self):
        self.assertEqual(set(plot.COLORS), {library.name for library in peers.LIBRARIES})


class Runs(unittest.TestCase):
    def test_what_does_not_end_is_ended_and_what_it_has_said_counts(self):
        output, failure = machine.run(["sh", "-c", "echo result; exec sleep 100"], {}, 0.5)
        self.assertEqual((output, failure), ("result\n", "no end within 0.5 s"))

    def test_a_crash_says_its_first_line(self):
        self.assertEqual(machine.run(["sh", "-c", "echo why >&2; exit 3"], {}, 10), ("", "exit code 3: why"))


if __name__ == "__main__":
    unittest.main()
