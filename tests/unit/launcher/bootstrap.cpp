// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/bootstrap.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(bootstrap)

BOOST_AUTO_TEST_CASE(the_line_comes_back_as_it_was) {
    const Bootstrap sent{
        "aa", {{"10.0.0.1", 4711}, {"192.168.0.1", 4712}}, 3, "n4", "43", "/tmp/x", {9, 2}};
    const auto got = decode_bootstrap(encode(sent));
    BOOST_REQUIRE(got.has_value());
    BOOST_TEST(got->key == "aa");
    BOOST_REQUIRE(got->endpoints.size() == 2U);
    BOOST_TEST(text_of(got->endpoints[0]) == "10.0.0.1:4711");
    BOOST_TEST(text_of(got->endpoints[1]) == "192.168.0.1:4712");
    BOOST_TEST(got->node == 3);
    BOOST_TEST(got->name == "n4");
    BOOST_TEST(got->job_id == "43");
    BOOST_TEST(got->owned_directory == "/tmp/x");
    BOOST_TEST(got->tree.nodes == 9);
    BOOST_TEST(got->tree.radix == 2);
}

BOOST_AUTO_TEST_CASE(a_directory_may_contain_blanks_or_be_none) {
    Bootstrap bootstrap;
    bootstrap.key = "key";
    bootstrap.endpoints = {{"10.0.0.1", 1234}};
    for (const char* directory : {"/home/a user/batchai", "/a\"b\\c", ""}) {
        bootstrap.owned_directory = directory;
        const std::string line = encode(bootstrap);
        const auto decoded = decode_bootstrap(line);
        BOOST_REQUIRE(decoded.has_value());
        BOOST_TEST(decoded->owned_directory == directory);
        // A line that was cut names no directory to remove.
        for (std::size_t end = 0; end < line.rfind(' '); ++end)
            BOOST_TEST(!decode_bootstrap(line.substr(0, end)).has_value());
    }
}

BOOST_AUTO_TEST_CASE(an_invalid_bootstrap_line_is_refused) {
    BOOST_TEST(!decode_bootstrap("").has_value());
    BOOST_TEST(!decode_bootstrap("hello\n").has_value());
    BOOST_TEST(!decode_bootstrap("batchai-launch-agent a b c\n").has_value());
    BOOST_TEST(!decode_bootstrap("batchai-launch-agent key 10.0.0.1 0 n - - 1 4\n").has_value());
}

BOOST_AUTO_TEST_CASE(random_texts_differ) {
    BOOST_TEST(random_text().size() == 64U);
    BOOST_TEST(random_text() != random_text());
}

BOOST_AUTO_TEST_SUITE_END()
