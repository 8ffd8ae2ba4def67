// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/listener.hpp"

#include <boost/test/unit_test.hpp>

#include "ends.hpp"

using namespace batchai::launcher;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(own_port)

BOOST_AUTO_TEST_CASE(without_descriptors_the_loop_does_not_spin_and_callers_get_in_later) {
    Loop loop;
    int arrived = 0;
    auto port = OwnPort::listen(loop, "a test", [&](batchai::sys::UniqueFd) {
        ++arrived;
        loop.stop();
    });
    BOOST_REQUIRE(port);
    const auto address = socket_address({"127.0.0.1", (*port)->number()});
    const batchai::sys::UniqueFd caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    BOOST_REQUIRE(::connect(caller.get(), reinterpret_cast<const sockaddr*>(&*address),
                            sizeof *address) == 0);
    BOOST_TEST(turns_without_descriptors(loop) < 50);
    BOOST_TEST(arrived == 0);
    Timer end(loop, [&] { loop.stop(); });
    end.start(20s);
    loop.run();
    BOOST_TEST(arrived == 1);
}

BOOST_AUTO_TEST_SUITE_END()
