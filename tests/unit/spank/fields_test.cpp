// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/fields.hpp"

#include <boost/test/unit_test.hpp>

using batchai::spank::Fields;
using batchai::spank::split_nonempty;
using namespace std::string_literals;

BOOST_AUTO_TEST_SUITE(fields)

BOOST_AUTO_TEST_CASE(fields_are_read_as_they_were_written) {
    Fields fields;
    fields.add("name", "a=b\n\"'$ ,");
    fields.add("many", "1");
    fields.add("many", "2");
    fields.add("number", 42);
    const auto again = Fields::parse(fields.text());
    BOOST_REQUIRE(again);
    BOOST_TEST(again->get("name") == "a=b\n\"'$ ,");
    BOOST_TEST(again->all("many").size() == 2U);
    BOOST_TEST(*again->number("number") == 42U);
    BOOST_TEST(again->get("none").empty());
    BOOST_TEST(again->get("nam").empty());
}

BOOST_AUTO_TEST_CASE(lists_that_are_cut_off_are_refused) {
    BOOST_TEST(!Fields::parse("name=value"));
    BOOST_TEST(!Fields::parse("name=value\0other"s));
    BOOST_TEST(!Fields::parse("name\0"s));
    BOOST_TEST(Fields::parse("").has_value());
}

BOOST_AUTO_TEST_CASE(numbers_are_whole_and_in_range) {
    for (const auto* text : {"", "-1", "x", "1x", " 1", "4294967296", "99999999999999999999"}) {
        Fields fields;
        fields.add("n", text);
        BOOST_TEST(!fields.number("n"), text);
    }
    BOOST_TEST(!Fields().number("n"));
}

BOOST_AUTO_TEST_CASE(a_value_ends_at_a_zero_byte) {
    Fields fields;
    fields.add("name", "a\0other=b"s);
    BOOST_TEST(Fields::parse(fields.text())->get("other").empty());
}

BOOST_AUTO_TEST_CASE(split_leaves_empty_parts_out) {
    BOOST_TEST(split_nonempty("", ',').empty());
    BOOST_TEST(split_nonempty(",a,,b,", ',').size() == 2U);
    BOOST_TEST(split_nonempty("a/b", '/').back() == "b");
}

BOOST_AUTO_TEST_SUITE_END()
