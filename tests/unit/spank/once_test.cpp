// SPDX-License-Identifier: Apache-2.0
#include "spank/prep/once.hpp"

#include <fcntl.h>

#include <boost/test/unit_test.hpp>

#include "sys/unique_fd.hpp"
#include "temporary.hpp"

using namespace batchai;
using spank::Once;

namespace {

struct Note {
    Note() { directory.write("note", ""); }
    sys::UniqueFd open() const {
        return sys::UniqueFd(::open((directory / "note").c_str(), O_RDWR | O_CLOEXEC));
    }
    test::TemporaryDirectory directory;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(once, Note)

BOOST_AUTO_TEST_CASE(the_first_has_to_do_it_and_the_next_finds_it_done) {
    {
        const auto fd = open();
        const auto mine = Once::enter(fd.get());
        BOOST_REQUIRE(mine);
        BOOST_TEST(!mine->earlier().has_value());
        BOOST_TEST(mine->succeeded().has_value());
    }
    const auto fd = open();
    const auto again = Once::enter(fd.get());
    BOOST_REQUIRE(again);
    BOOST_REQUIRE(again->earlier().has_value());
    BOOST_TEST(again->earlier()->empty());
}

BOOST_AUTO_TEST_CASE(a_failure_is_found_with_its_line) {
    {
        const auto fd = open();
        const auto mine = Once::enter(fd.get());
        BOOST_TEST(
            mine->failed("interrupted, in many more words than what comes then").has_value());
        BOOST_TEST(mine->failed("the line").has_value());
    }
    const auto fd = open();
    BOOST_TEST(*Once::enter(fd.get())->earlier() == "the line");
}

BOOST_AUTO_TEST_SUITE_END()
