// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/files.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai;

BOOST_AUTO_TEST_SUITE(files)

BOOST_AUTO_TEST_CASE(a_safe_name_is_one_of_a_single_file) {
    for (const char* name : {"mini-17", "mini-17.1", "a_b.c-1"})
        BOOST_TEST(spank::is_file_name(name), name);
    for (const char* name : {"", ".", "..", ".mini-17", "mini/17", "mini 17", "mini\n17"})
        BOOST_TEST(!spank::is_file_name(name), name);
    BOOST_TEST(spank::is_file_name(std::string(255, 'a')));
    BOOST_TEST(!spank::is_file_name(std::string(256, 'a')));
}

BOOST_AUTO_TEST_SUITE_END()
