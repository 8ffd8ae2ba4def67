// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/output.hpp"
#include "launcher/agent/rank_state.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(output)

BOOST_AUTO_TEST_CASE(only_whole_lines_pass) {
    LineBuffer lines;
    BOOST_TEST(lines.add("one\ntw") == "one\n");
    BOOST_TEST(lines.add("o").empty());
    BOOST_TEST(lines.add("\nthree\nfour") == "two\nthree\n");
    BOOST_TEST(lines.rest() == "four");
    BOOST_TEST(lines.rest().empty());
}

BOOST_AUTO_TEST_CASE(a_progress_bar_passes_at_each_carriage_return) {
    LineBuffer lines;
    BOOST_TEST(lines.add("10%\r20%\r3") == "10%\r20%\r");
    BOOST_TEST(lines.add("0%\r").empty());  // perhaps "\r\n"
    BOOST_TEST(lines.add("\nnext") == "30%\r\n");
    BOOST_TEST(lines.rest() == "next");
}

BOOST_AUTO_TEST_CASE(no_byte_is_changed_added_or_lost) {
    std::string all;
    for (unsigned i = 0; i < 100'000; ++i) all += static_cast<char>(i * i % 251);
    for (std::size_t step : {1U, 7U, 4096U, 65536U}) {
        LineBuffer lines;
        std::string got;
        for (std::size_t at = 0; at < all.size(); at += step)
            got += lines.add(all.substr(at, step));
        got += lines.rest();
        BOOST_TEST((got == all));
    }
}

BOOST_AUTO_TEST_CASE(a_line_is_whole_however_long_it_is) {
    LineBuffer lines;
    const std::string piece(1 << 20, 'x');
    for (int i = 0; i < 10; ++i) BOOST_TEST(lines.add(piece).empty());
    BOOST_TEST(lines.size() == 10 * piece.size());
    BOOST_TEST(lines.add("\n").size() == 10 * piece.size() + 1);
    BOOST_TEST(lines.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_part_of_a_line_that_was_taken_is_not_returned_again) {
    LineBuffer lines;
    BOOST_TEST(lines.add("one\nna").size() == 4U);
    BOOST_TEST(lines.rest() == "na");
    BOOST_TEST(lines.add("me\rnext") == "me\r");
    BOOST_TEST(lines.rest() == "next");
    BOOST_TEST(lines.add("\n") == "\n");
}

BOOST_AUTO_TEST_CASE(the_tail_keeps_the_last_lines) {
    Tail tail(2);
    tail.add("a\nb\n");
    tail.add("c\nhalf");
    const auto lines = tail.lines();
    BOOST_TEST(lines == (std::vector<std::string>{"c", "half"}), boost::test_tools::per_element());
}

namespace {

std::string numbered(const std::string& text, int lines) {
    std::string all;
    for (int i = 0; i < lines; ++i) all += text + std::to_string(i) + "\n";
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_short_traceback_at_the_end_is_part_of_the_last_lines) {
    Tail tail(4);
    tail.add("before\nTraceback (most recent call last):\n  File\nValueError: x\n");
    BOOST_TEST(tail.lines() ==
                   (std::vector<std::string>{
                       "before", "Traceback (most recent call last):", "  File", "ValueError: x"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_last_traceback_is_kept_whole) {
    Tail tail(3);
    tail.add("Traceback (most recent call last):\n  an earlier one\nKeyError\n");
    tail.add("Traceback (most recent call last):\n" + numbered("  line ", 9) + "ValueError: x\n");
    const auto whole = tail.lines();
    BOOST_TEST(whole.size() == 11U);
    BOOST_TEST(whole.front() == "Traceback (most recent call last):");
    BOOST_TEST(whole.back() == "ValueError: x");
    tail.add(numbered("noise ", 5) + "half");
    const auto later = tail.lines();
    BOOST_TEST(later.size() == 15U);
    BOOST_TEST(later[11] == "...");
    BOOST_TEST(later.back() == "half");
}

BOOST_AUTO_TEST_CASE(a_traceback_without_end_does_not_fill_the_memory) {
    Tail tail(3);
    tail.add("Traceback (most recent call last):\n" + numbered("  line ", 100'000));
    BOOST_TEST(tail.lines().size() <= 100U);
}

BOOST_AUTO_TEST_CASE(error_lines_of_libraries_are_kept_wherever_they_appear) {
    LibraryErrors errors;
    errors.add("epoch 1\nhost:1:2 [0] NCCL WARN Call to connect failed\nepoch 2\n");
    errors.add("nothing\n");
    errors.add("host:1:2 [0] NCCL WARN Call to connect failed\n[1.2] x.c:1  UCX  ERROR no\n");
    BOOST_TEST(
        errors.lines() == (std::vector<std::string>{"host:1:2 [0] NCCL WARN Call to connect failed",
                                                    "[1.2] x.c:1  UCX  ERROR no"}),
        boost::test_tools::per_element());
    errors.add(numbered("CUDA error ", 1000));
    BOOST_TEST(errors.lines().size() == 5U);
}

BOOST_AUTO_TEST_CASE(the_kernel_counts_kills_for_memory_in_either_version_of_control_groups) {
    BOOST_TEST(memory_kills_file("0::/slurm/job_1/step_0\n") ==
               "/sys/fs/cgroup/slurm/job_1/step_0/memory.events");
    BOOST_TEST(memory_kills_file("4:cpu,cpuacct:/a\n3:memory:/slurm/uid_0\n0::/b\n") ==
               "/sys/fs/cgroup/memory/slurm/uid_0/memory.oom_control");
    BOOST_TEST(memory_kills_file("").empty());
}

BOOST_AUTO_TEST_SUITE_END()
