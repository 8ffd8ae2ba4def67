// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/channel.hpp"

#include <boost/test/unit_test.hpp>

#include "ends.hpp"
#include "tests/unit/printing.hpp"

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(channel)

BOOST_AUTO_TEST_CASE(messages_arrive_whole_and_in_order_whatever_their_size) {
    Loop loop;
    auto [near, far] = tcp_ends(key_of("a key"));
    std::vector<std::size_t> sizes;
    Channel receiver(loop, std::move(far),
                     {[&](Kind kind, Reader& reader) {
                          BOOST_TEST(kind == Kind::output);
                          Output output;
                          reader(output);
                          BOOST_TEST(reader.ok());
                          BOOST_TEST(output.bytes == std::string(output.bytes.size(), 'x'));
                          sizes.push_back(output.bytes.size());
                          if (sizes.size() == 6) loop.stop();
                      },
                      [&] { loop.stop(); }});
    Channel sender(loop, std::move(near), {[](Kind, Reader&) {}, [] {}});
    BOOST_TEST(sender.peer_address() == "127.0.0.1");
    const std::vector<std::size_t> sent{0, 1, 30'000'000, 16'384 - 9, 16'384, 70'000};
    for (const std::size_t size : sent) {
        sender.send(Output{0, Stream::out, std::string(size, 'x')});
    }
    loop.run();
    BOOST_TEST(sizes == sent, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_frame_above_the_limit_ends_the_connection) {
    Loop loop;
    auto [near, far] = tcp_ends(key_of("a key"));
    bool closed = false;
    Channel receiver(loop, std::move(far),
                     {[](Kind, Reader&) { BOOST_TEST(false); },
                      [&] {
                          closed = true;
                          loop.stop();
                      }});
    Writer header;
    header(Channel::kFrameLimit + 1, Kind::output);
    BOOST_TEST(near.tls.write(header.take()) == Tls::Io::done);
    loop.run();
    BOOST_TEST(closed);
    BOOST_TEST(receiver.closed());
}

BOOST_AUTO_TEST_CASE(bytes_of_another_sender_on_the_connection_end_it_and_are_not_a_message) {
    Loop loop;
    auto [near, far] = tcp_ends(key_of("a key"));
    bool closed = false;
    Channel receiver(loop, std::move(far),
                     {[](Kind, Reader&) { BOOST_TEST(false); },
                      [&] {
                          closed = true;
                          loop.stop();
                      }});
    Writer bye;
    bye(std::uint64_t{0}, Kind::bye);
    const std::string plain = bye.take();
    BOOST_TEST(::send(near.socket.get(), plain.data(), plain.size(), 0) == 9);
    loop.run();
    BOOST_TEST(closed);
}

BOOST_AUTO_TEST_CASE(a_sender_whose_peer_is_gone_hears_of_it_and_goes_on) {
    Loop loop;
    auto [near, far] = tcp_ends(key_of("a key"));
    int closed = 0;
    Channel sender(loop, std::move(near),
                   {[](Kind, Reader&) {},
                    [&] {
                        ++closed;
                        loop.stop();
                    }});
    far.socket.reset();
    for (int n = 0; n < 10; ++n) sender.send(Output{0, Stream::out, std::string(1 << 20, 'x')});
    BOOST_TEST(closed == 0);  // not within send()
    loop.run();
    BOOST_TEST(closed == 1);
    sender.send(Bye{});
}

BOOST_AUTO_TEST_SUITE_END()
