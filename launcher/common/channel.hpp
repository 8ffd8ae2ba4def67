// SPDX-License-Identifier: Apache-2.0
//
// Channel: a connection between two processes of a job (launcher/common/tls.hpp). It carries framed
// messages in order: u64 length, u8 kind, and the message as sys/codec.hpp encodes it. When a node
// vanishes, the connection ends after about ten seconds.
//
// A frame is encrypted in pieces when the socket accepts them, so a frame for several agents is
// stored once. on_close is called once, and no callback comes after it. A callback must not destroy
// the channel.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "launcher/common/event_loop.hpp"
#include "launcher/common/message.hpp"
#include "launcher/common/tls.hpp"
#include "sys/codec.hpp"

namespace batchai::launcher {

using sys::Reader;
using sys::Writer;

// A message ready to send, to one agent or to several.
struct Frame {
    Kind kind;
    std::shared_ptr<const std::string> payload;
};
template <class Message>
Frame frame(const Message& message) {
    return {Message::kKind, std::make_shared<const std::string>(sys::encode(message))};
}

class Channel {
  public:
    struct Callbacks {
        std::function<void(Kind, Reader&)> on_message;
        std::function<void()> on_close;
    };

    // A larger frame ends the connection.
    static constexpr std::uint64_t kFrameLimit = std::uint64_t{4} << 30;

    Channel(Loop& loop, Link link, Callbacks callbacks);
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    template <class Message>
    void send(const Message& message) {
        send(frame(message));
    }
    void send(Frame frame);

    void close() { socket_.reset(); }
    bool closed() const { return socket_ == nullptr; }
    // Whether the kernel has taken all messages.
    bool idle() const { return output_.empty(); }
    // The IP address of the other end.
    std::string peer_address() const;

  private:
    void on_ready();
    void received();
    void flush();
    void wait_to_write(bool wait);
    std::string_view next_piece();
    void fail();

    Tls tls_;
    std::unique_ptr<Poll> socket_;
    Callbacks callbacks_;
    std::string input_;
    std::deque<Frame> output_;
    std::size_t sent_ = 0;  // bytes of the first frame, with its header
    std::string piece_;     // the next piece of that frame
    bool waiting_ = false;  // for the socket to accept more
};

}  // namespace batchai::launcher
