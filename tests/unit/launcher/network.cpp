// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/interfaces.hpp"

#include <boost/test/unit_test.hpp>

#include "ends.hpp"

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(network)

BOOST_AUTO_TEST_CASE(a_connection_tells_its_interface) {
    const auto [near, far] = tcp_ends(key_of("a key"));
    const Interface found = interface_of(near.socket.get());
    BOOST_TEST(found.name == "lo");
    BOOST_TEST(found.address == "127.0.0.1");
    BOOST_TEST(interface_of(-1).name.empty());
}

BOOST_AUTO_TEST_CASE(an_interface_is_found_by_name) {
    BOOST_TEST(interface_named("lo").address == "127.0.0.1");
    BOOST_TEST(interface_named("no-such").name.empty());
}

BOOST_AUTO_TEST_CASE(other_nodes_are_served_at_the_chosen_interface_and_never_at_all_addresses) {
    BOOST_TEST(addresses_for_nodes("lo") == std::vector<std::string>{"127.0.0.1"});
    for (const std::string& address : addresses_for_nodes("no-such")) {
        BOOST_TEST(address != "0.0.0.0");
        BOOST_TEST(!address.starts_with("127."));
        BOOST_TEST(listen_at(address, "a test").has_value());  // one of ours
    }
}

BOOST_AUTO_TEST_SUITE_END()
