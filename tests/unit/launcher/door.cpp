// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/door.hpp"

#include <boost/test/unit_test.hpp>
#include <future>

#include "ends.hpp"

using namespace batchai::launcher;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(door)

namespace {

struct Fixture {
    TlsKey key = key_of("a key");
    Loop loop;
    Endpoint endpoint;
    std::vector<Listener> listeners;
    int arrived = 0;
    std::unique_ptr<Door> door;
    std::vector<batchai::sys::UniqueFd> callers;

    Fixture() {
        listeners.push_back(std::move(*listen_at("127.0.0.1", "a test")));
        endpoint = listeners.front().endpoint;
    }
    void open(std::chrono::milliseconds patience = Door::kPatience) {
        door = std::make_unique<Door>(
            loop, key, std::move(listeners),
            [this](Link) {
                ++arrived;
                loop.stop();
            },
            patience);
    }
    // A connection of a process that is not of the job.
    int connect() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(endpoint.port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto& fd = callers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
        return fd.get();
    }
    // Runs the loop until this is so, for 20 s at most.
    void run_until(const std::function<bool()>& done) {
        const auto end = std::chrono::steady_clock::now() + 20s;
        Timer tick(loop, [this] { loop.stop(); });
        while (!done() && std::chrono::steady_clock::now() < end) {
            tick.start(10ms);
            loop.run();
        }
        BOOST_TEST(done());
    }
    // A process of the job calls, and gets in.
    void expect_arrival(const TlsKey& its_key) {
        auto call = std::async(std::launch::async,
                               [&] { return connect_to({endpoint}, its_key).has_value(); });
        run_until([&] { return arrived == 1; });
        BOOST_TEST(call.get());
    }
};

// Whether the other end has closed it.
bool is_closed(int fd) {
    char byte = 0;
    const ssize_t size = ::recv(fd, &byte, 1, MSG_DONTWAIT);
    return size == 0 || (size < 0 && errno != EAGAIN) ||
           (size > 0 && is_closed(fd));  // after an alert
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_process_that_knows_the_key_gets_in, Fixture) {
    open();
    expect_arrival(key_of("a key"));
    BOOST_TEST(door->strangers() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_process_with_another_key_does_not_get_in_and_says_why, Fixture) {
    open();
    auto call = std::async(std::launch::async,
                           [&] { return connect_to({endpoint}, key_of("another key")); });
    run_until([&] { return call.wait_for(0s) == std::future_status::ready; });
    const auto link = call.get();
    BOOST_REQUIRE(!link);
    BOOST_TEST(link.error().message ==
               text_of(endpoint) +
                   ": another program answers on this port: it does not know the job's key");
    BOOST_TEST(arrived == 0);
}

BOOST_FIXTURE_TEST_CASE(a_stranger_that_speaks_is_cut_off_however_much_it_sends, Fixture) {
    open();
    std::string record("\x17\x03\x03\x40\x00", 5);
    for (const std::string& words :
         {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(1 << 20, '\0'),
          record + std::string(1 << 20, 'x'), std::string("\x16\x03\x01\xff\xff\x01", 6)}) {
        const int fd = connect();
        ::fcntl(fd, F_SETFL, O_NONBLOCK);
        (void)!::write(fd, words.data(), words.size());
        run_until([&] { return is_closed(fd); });
    }
    BOOST_TEST(arrived == 0);
    BOOST_TEST(door->strangers() == 0U);
}

BOOST_FIXTURE_TEST_CASE(idle_strangers_never_become_too_many_and_the_oldest_goes_first, Fixture) {
    open();
    const int oldest = connect();
    for (std::size_t n = 1; n < Door::kStrangers; ++n) connect();
    run_until([&] { return door->strangers() == Door::kStrangers; });
    BOOST_TEST(!is_closed(oldest));
    const int newest = connect();
    run_until([&] { return is_closed(oldest); });
    BOOST_TEST(door->strangers() == Door::kStrangers);
    BOOST_TEST(!is_closed(newest));
    expect_arrival(key_of("a key"));
}

BOOST_FIXTURE_TEST_CASE(an_idle_stranger_does_not_stay, Fixture) {
    open(50ms);
    const int fd = connect();
    run_until([&] { return is_closed(fd); });
    BOOST_TEST(door->strangers() == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_caller_that_is_sent_away_calls_again, Fixture) {
    auto call =
        std::async(std::launch::async, [&] { return connect_to({endpoint}, key).has_value(); });
    for (int times = 0; times < 2;) {
        batchai::sys::UniqueFd fd(::accept(listeners.front().socket.get(), nullptr, nullptr));
        if (fd) ++times;
    }
    open();
    run_until([&] { return arrived == 1; });
    BOOST_TEST(call.get());
}

BOOST_FIXTURE_TEST_CASE(without_descriptors_the_loop_does_not_spin_and_callers_get_in_later,
                        Fixture) {
    open();
    connect();
    BOOST_TEST(turns_without_descriptors(loop) < 50);
    BOOST_TEST(door->strangers() == 0U);
    run_until([&] { return door->strangers() == 1; });
    expect_arrival(key_of("a key"));
}

BOOST_AUTO_TEST_CASE(a_port_is_open_at_one_address_only) {
    const auto listener = listen_at("127.0.0.2", "a test");
    BOOST_REQUIRE(listener);
    BOOST_TEST(interface_of(listener->socket.get()).address == "127.0.0.2");
    BOOST_TEST(!listen_at("no address", "a test").has_value());
    BOOST_TEST(!listen_at("192.0.2.1", "a test").has_value());  // not ours
}

BOOST_AUTO_TEST_SUITE_END()
