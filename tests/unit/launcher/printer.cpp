// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/printer.hpp"

#include <boost/test/unit_test.hpp>

#include "launcher/common/terminal.hpp"

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(printer)

namespace {

const RankMap kMap{{"n1"}, {0, 8}};

}  // namespace

BOOST_AUTO_TEST_CASE(each_line_begins_with_its_label) {
    BOOST_TEST(label_lines("[0] ", "one\ntwo\n") == "[0] one\n[0] two\n");
    BOOST_TEST(label_lines("[0] ", "10%\r20%\r\n\n") == "[0] 10%\r[0] 20%\r\n[0] \n");
    BOOST_TEST(label_lines("[0] ", "no end") == "[0] no end");
    BOOST_TEST(label_lines("[0] ", "").empty());
}

BOOST_AUTO_TEST_CASE(no_rank_writes_into_an_unfinished_line_of_another) {
    OwnLines lines;
    BOOST_TEST(lines.add(0, "", "name? ") == "name? ");
    BOOST_TEST(lines.add(1, "", "one\ntw") == "\none\ntw");
    BOOST_TEST(lines.add(1, "", "o\n") == "o\n");
    BOOST_TEST(lines.add(0, "", "Ada\n") == "Ada\n");
    BOOST_TEST(lines.finish().empty());
}

BOOST_AUTO_TEST_CASE(a_rank_that_goes_on_with_its_line_gets_nothing_into_it) {
    OwnLines lines;
    BOOST_TEST(lines.add(0, "[0] ", "name? ") == "[0] name? ");
    BOOST_TEST(lines.add(0, "[0] ", "Ada\nage? ") == "Ada\n[0] age? ");
    BOOST_TEST(lines.add(1, "[1] ", "10%\r") == "\n[1] 10%\r");
    BOOST_TEST(lines.add(0, "[0] ", "7") == "[0] 7");
    BOOST_TEST(lines.finish() == "\n");
    BOOST_TEST(lines.finish().empty());
}

BOOST_AUTO_TEST_CASE(unfinished_text_that_several_ranks_write_is_a_line_of_theirs) {
    EqualLines lines;
    for (int rank : {0, 1}) lines.add(rank, "name? ");
    lines.add(0, "Ada\n");
    BOOST_TEST(lines.take(kMap) == "[0-1] name? \n[0] Ada\n");
}

BOOST_AUTO_TEST_CASE(equal_lines_of_several_ranks_become_one) {
    EqualLines lines;
    for (int rank : {3, 0, 1, 2, 7}) lines.add(rank, "epoch 1\n");
    lines.add(5, "epoch 2\n");
    BOOST_TEST(lines.take(kMap) == "[0-3,7] epoch 1\n[5] epoch 2\n");
    BOOST_TEST(lines.empty());
}

BOOST_AUTO_TEST_CASE(a_line_that_a_rank_repeats_is_not_merged) {
    EqualLines lines;
    lines.add(0, "x\nx\n");
    lines.add(1, "x\n");
    BOOST_TEST(lines.take(kMap) == "[0-1] x\n[0] x\n");
}

BOOST_AUTO_TEST_CASE(the_lines_of_each_rank_keep_their_order) {
    EqualLines lines;
    lines.add(0, "a\nb\n");
    lines.add(1, "b\na\n");
    lines.add(2, "a\nb\na\n");
    BOOST_TEST(lines.take(kMap) == "[0,2] a\n[0-2] b\n[1-2] a\n");
}

BOOST_AUTO_TEST_CASE(the_size_counts_equal_lines_once) {
    EqualLines lines;
    lines.add(0, "four\n");
    lines.add(1, "four\n");
    BOOST_TEST(lines.size() == 5U);
    (void)lines.take(kMap);
    BOOST_TEST(lines.size() == 0U);
}

BOOST_AUTO_TEST_CASE(only_the_label_has_a_colour_and_each_rank_its_own) {
    EqualLines lines;
    lines.add(0, "a\n");
    lines.add(1, "b\n");
    BOOST_TEST(lines.take(kMap, true) ==
               in_colour_of(0, "[0] ") + "a\n" + in_colour_of(1, "[1] ") + "b\n");
    BOOST_TEST(in_colour_of(0, "") != in_colour_of(1, ""));
}

BOOST_AUTO_TEST_SUITE_END()
