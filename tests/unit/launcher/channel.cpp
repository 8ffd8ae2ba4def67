// SPDX-License-Identifier: Apache-2.0
#include "launcher/channel.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/test/unit_test.hpp>

#include "launcher/bootstrap.hpp"

using namespace batchai::launcher;

BOOST_AUTO_TEST_SUITE(channel)

namespace {

// Two ends of a TCP connection.
struct Ends {
    batchai::sys::UniqueFd near, far;
    Ends() {
        auto listener = listen_anywhere(true);
        near = std::move(*connect_to({"127.0.0.1"}, listener->port));
        far.reset(::accept(listener->fd.get(), nullptr, nullptr));
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(messages_arrive_whole_and_in_order_whatever_their_size) {
    Loop loop;
    Ends ends;
    std::vector<std::size_t> sizes;
    Channel receiver(loop, std::move(ends.far),
                     {[&](Kind kind, Reader& reader) {
                          BOOST_TEST((kind == Kind::output));
                          Output output;
                          reader(output);
                          BOOST_TEST(reader.ok());
                          sizes.push_back(output.bytes.size());
                          if (sizes.size() == 4) loop.stop();
                      },
                      [&] { loop.stop(); }});
    receiver.set_limit(kFrameLimit);
    Channel sender(loop, std::move(ends.near), {[](Kind, Reader&) {}, [] {}});
    BOOST_TEST(sender.peer_address() == "127.0.0.1");
    for (std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{3'000'000}, std::size_t{70'000}}) {
        sender.send(Output{0, Stream::out, std::string(size, 'x')});
    }
    loop.run();
    BOOST_TEST(sizes == (std::vector<std::size_t>{0, 1, 3'000'000, 70'000}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_stranger_with_a_huge_message_is_cut_off) {
    Loop loop;
    Ends ends;
    bool closed = false;
    Channel receiver(loop, std::move(ends.far),
                     {[](Kind, Reader&) { BOOST_TEST(false); },
                      [&] {
                          closed = true;
                          loop.stop();
                      }});
    Channel sender(loop, std::move(ends.near), {[](Kind, Reader&) {}, [] {}});
    sender.send(Output{0, Stream::out, std::string(1 << 20, 'x')});
    loop.run();
    BOOST_TEST(closed);
    BOOST_TEST(receiver.closed());
}

BOOST_AUTO_TEST_SUITE_END()
