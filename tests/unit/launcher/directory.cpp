// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/directory.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(directory)

BOOST_AUTO_TEST_CASE(a_published_item_is_found_until_its_owner_removes_it) {
    Directory directory;
    BOOST_TEST(directory.publish({{3, "name", "value"}}));
    BOOST_TEST(!directory.publish({{4, "other", ""}, {4, "name", "again"}}));
    BOOST_TEST(directory.lookup({"other"}).empty());  // all or nothing
    BOOST_TEST(directory.lookup({"name", "absent"}).at(0).value == "value");
    directory.unpublish(4, {"name"});
    BOOST_TEST(directory.lookup({"name"}).size() == 1U);
    directory.unpublish(3, {});
    BOOST_TEST(directory.lookup({"name"}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
