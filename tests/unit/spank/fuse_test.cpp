// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/fuse.hpp"

#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "spank/helper/root/daemon_notes.hpp"

using namespace batchai::spank;
using Strings = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(fuse)

BOOST_AUTO_TEST_CASE(placeholders_are_replaced_within_their_arguments_and_nothing_else_is) {
    const auto command =
        expand_command({"/usr/bin/p", "{source}", "-o", "uid={uid},gid={gid},cache={cache}",
                        "{credentials}", "{target}", "{other}", "{", "{}"},
                       {"host:/a {target} b", "/mnt/data", "/proc/1/fd/101", "/tmp/cache", 7, 8});
    BOOST_REQUIRE(command);
    BOOST_TEST(*command == (Strings{"/usr/bin/p", "host:/a {target} b", "-o",
                                    "uid=7,gid=8,cache=/tmp/cache", "/proc/1/fd/101", "/mnt/data",
                                    "{other}", "{", "{}"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_source_that_looks_like_an_option_is_refused) {
    const auto command = expand_command({"/p", "{source}"}, {"-oProxyCommand=x", "/t", "", "/c"});
    BOOST_REQUIRE(!command);
    BOOST_TEST(command.error().message == "'-oProxyCommand=x': a source must not begin with '-'");
}

BOOST_AUTO_TEST_CASE(a_program_that_needs_credentials_is_refused_without_them) {
    const auto command = expand_command({"/p", "{credentials}"}, {"a:b", "/t", "", "/c"});
    BOOST_REQUIRE(!command);
    BOOST_TEST(command.error().message == "site policy: the program needs credentials for 'a:b'");
}

BOOST_AUTO_TEST_CASE(the_last_words_of_a_log_are_one_line) {
    BOOST_TEST(last_words("first\nwhy\n\nlast\tline\x1b[0m\n \n\n") ==
               "why; last\\tline\\u001b[0m");
    BOOST_TEST(last_words("").empty());
    BOOST_TEST(last_words("no end") == "no end");
    BOOST_TEST(last_words(std::string(2000, 'x')).size() == 1000U);
}

BOOST_AUTO_TEST_CASE(a_process_is_known_by_the_time_of_its_start_whatever_its_name_is) {
    std::string stat = "42 (a) b ( 1 2) S";
    for (int field = 4; field <= 30; ++field) stat += " " + std::to_string(field);
    BOOST_TEST(start_time(stat) == "22");
    BOOST_TEST(start_time("42 (cut off").empty());
    BOOST_TEST(start_time("42 (cut off) S 4").empty());
    const auto self = identify(getpid());
    BOOST_REQUIRE(self);
    const auto again = identity_from_text(to_text(*self));
    BOOST_REQUIRE(again.has_value());
    BOOST_TEST(again->pid == getpid());
    BOOST_TEST(again->start == self->start);
    BOOST_TEST(again->boot == self->boot);
}

BOOST_AUTO_TEST_CASE(no_identity_is_that_of_a_process_that_must_not_be_killed) {
    for (const char* text : {"", "1 2 boot", "0 2 boot", "-1 2 boot", "7x 2 boot", "7 boot"})
        BOOST_TEST(!identity_from_text(text).has_value(), text);
}

BOOST_AUTO_TEST_SUITE_END()
