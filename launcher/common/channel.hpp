// SPDX-License-Identifier: Apache-2.0
//
// Channel: a connection between two processes of a job (launcher/common/tls.hpp), carrying framed
// messages in order: u64 length, u8 kind, the message as sys/codec.hpp encodes it. Connections are
// found dead in about ten seconds when a node vanishes.
//
// Frames are encrypted piece by piece as the socket takes them, so a frame sent to several agents
// is stored once. After on_close was called once, nothing more arrives. Neither callback may
// destroy the channel.
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

// A message as it is sent, to one or to several.
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

    // Frames above this size end the connection.
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
    // The other end's IP address.
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
    std::size_t sent_ = 0;  // of the first of them, with its header
    std::string piece_;     // the first one of a frame
    bool waiting_ = false;  // to write
};

}  // namespace batchai::launcher
