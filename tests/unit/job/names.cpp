// SPDX-License-Identifier: Apache-2.0
#include "job/names.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai::job;

BOOST_AUTO_TEST_CASE(a_path_is_within_a_directory_by_whole_names) {
    BOOST_TEST(is_within("/a/b", "/a"));
    BOOST_TEST(is_within("/a", "/a"));
    BOOST_TEST(is_within("/a", "/a/"));
    BOOST_TEST(is_within("/a", "/"));
    BOOST_TEST(!is_within("/ab", "/a"));
    BOOST_TEST(!is_within("/", "/a"));
    BOOST_TEST(!is_within("", "/a"));
    BOOST_TEST(is_within("a/b", "a"));
    BOOST_TEST(!is_within("ab", "a"));
    BOOST_TEST(!is_within("a", "/"));
}

BOOST_AUTO_TEST_CASE(slashes_at_the_end_of_a_path_are_removed) {
    BOOST_TEST(without_trailing_slashes("/a/b//") == "/a/b");
    BOOST_TEST(without_trailing_slashes("a") == "a");
    BOOST_TEST(without_trailing_slashes("//") == "/");
    BOOST_TEST(without_trailing_slashes("") == "");
}
