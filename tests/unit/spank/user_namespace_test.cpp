// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/user_namespace.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <sstream>

using namespace batchai;

namespace {

std::string map(const std::string& text) {
    std::istringstream file(text);
    return spank::id_map(file, 2002, 2001, "alice");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(user_namespace)

BOOST_AUTO_TEST_CASE(ranges_follow_each_other_in_the_namespace) {
    BOOST_TEST(map("bob:100000:65536\nalice:200000:65536\n2001:300000:10\n") ==
               "0 2002 1\n1 200000 65536\n65537 300000 10\n");
}

BOOST_AUTO_TEST_CASE(other_lines_do_not_count) {
    BOOST_TEST(map("").empty());
    BOOST_TEST(map("alice\nalice:5\n# alice:1:1:1\nbob:1:1\nalicia:1:1\n").empty());
    BOOST_TEST(map("\n# ours\nbob:1\nalice:100000:65536") == "0 2002 1\n1 100000 65536\n");
}

// The kernel refuses all lines for one of these, but the first.
BOOST_AUTO_TEST_CASE(ranges_with_roots_id_or_no_ids_or_ids_twice_are_left_out) {
    for (const auto* range : {"0:65536", "100000:0", "x:1", "1:x", " 1:1", "1:1\r", "-5:9", "1:-5",
                              "4294967295:1", "100000:4294967295", "99999999999:1", "2000:5"})
        BOOST_TEST(map(std::string("alice:") + range + "\n").empty(), range);
    BOOST_TEST(map("alice:100000:65536\n2001:100000:65536\nalice:165535:2\nalice:99999:2\n") ==
               "0 2002 1\n1 100000 65536\n");
}

BOOST_AUTO_TEST_CASE(a_map_is_as_long_as_the_kernel_takes) {
    const auto map_from = [](int first) {
        std::string text;
        for (int i = 0; i < 1000; ++i) text += "alice:" + std::to_string(first + 2 * i) + ":1\n";
        return map(text);
    };
    const std::string long_lines = map_from(1000000);
    BOOST_TEST(long_lines.size() <= 4095);
    BOOST_TEST(long_lines.size() > 4000);
    BOOST_TEST(long_lines.back() == '\n');
    const std::string short_lines = map_from(3000);
    BOOST_TEST(std::count(short_lines.begin(), short_lines.end(), '\n') == 340);
}

BOOST_AUTO_TEST_SUITE_END()
