// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/output.hpp"

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

BOOST_AUTO_TEST_CASE(a_line_that_never_ends_is_let_through) {
    LineBuffer lines;
    const std::string piece(LineBuffer::kLongest / 2, 'x');
    BOOST_TEST(lines.add(piece).empty());
    BOOST_TEST(lines.add(piece).size() == LineBuffer::kLongest);
}

BOOST_AUTO_TEST_CASE(the_tail_keeps_the_last_lines) {
    Tail tail(2);
    tail.add("a\nb\n");
    tail.add("c\nhalf");
    const auto lines = tail.lines();
    BOOST_TEST(lines == (std::vector<std::string>{"c", "half"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
