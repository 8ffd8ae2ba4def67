// SPDX-License-Identifier: Apache-2.0
#include "launcher/root/relay.hpp"

#include <boost/test/unit_test.hpp>

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(published_names)

BOOST_AUTO_TEST_CASE(a_published_item_is_found_until_its_owner_removes_it) {
    PublishedNames names;
    BOOST_TEST(names.publish({{3, "name", "value"}}));
    BOOST_TEST(!names.publish({{4, "other", ""}, {4, "name", "again"}}));
    BOOST_TEST(names.lookup({"other"}).empty());  // all or nothing
    BOOST_TEST(names.lookup({"name", "absent"}).at(0).value == "value");
    names.unpublish(4, {"name"});
    BOOST_TEST(names.lookup({"name"}).size() == 1U);
    names.unpublish(3, {});
    BOOST_TEST(names.lookup({"name"}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
