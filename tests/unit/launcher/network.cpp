// SPDX-License-Identifier: Apache-2.0
#include "launcher/network.hpp"

#include <boost/test/unit_test.hpp>

#include "launcher/bootstrap.hpp"

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(network)

BOOST_AUTO_TEST_CASE(a_connection_tells_its_interface) {
    const auto listener = listen_anywhere(true);
    BOOST_REQUIRE(listener);
    const auto socket = connect_to({"127.0.0.1"}, listener->port);
    BOOST_REQUIRE(socket);
    const Interface found = interface_of(socket->get());
    BOOST_TEST(found.name == "lo");
    BOOST_TEST(found.address == "127.0.0.1");
    BOOST_TEST(interface_of(-1).name.empty());
}

BOOST_AUTO_TEST_CASE(an_interface_is_found_by_name) {
    BOOST_TEST(interface_named("lo").address == "127.0.0.1");
    BOOST_TEST(interface_named("no-such").name.empty());
}

BOOST_AUTO_TEST_SUITE_END()
