// SPDX-License-Identifier: Apache-2.0
//
// Channel: one TCP connection between the root and an agent, carrying framed messages in order:
// u64 length, u8 kind, the message as wire.hpp encodes it. Connections are found dead in about ten
// seconds when a node vanishes without a word.
//
// After on_close was called once, nothing more arrives. Neither callback may destroy the channel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "launcher/loop.hpp"
#include "launcher/message.hpp"
#include "launcher/wire.hpp"

namespace batchai::launcher {

// A message as it is sent, to one or to several.
struct Frame {
    Kind kind;
    std::shared_ptr<const std::string> payload;
};
template <class Message>
Frame frame(const Message& message) {
    Writer writer;
    writer(message);
    return {Message::kKind, std::make_shared<const std::string>(writer.take())};
}

class Channel {
  public:
    struct Callbacks {
        std::function<void(Kind, Reader&)> on_message;
        std::function<void()> on_close;
    };

    // Takes a connected TCP socket.
    Channel(Loop& loop, sys::UniqueFd socket, Callbacks callbacks);
    ~Channel();
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    template <class Message>
    void send(const Message& message) {
        send(frame(message));
    }
    void send(Frame frame);

    // Frames above this size end the connection: small until the peer has proved who it is.
    void set_limit(std::uint64_t bytes) { limit_ = bytes; }
    void close();
    bool closed() const { return tcp_ == nullptr; }
    // The other end's IP address.
    std::string peer_address() const;

  private:
    void received(const char* bytes, std::size_t size);
    void fail();

    uv_tcp_t* tcp_;
    Callbacks callbacks_;
    std::string input_;
    std::uint64_t limit_ = kStrangerLimit;
    static constexpr std::uint64_t kStrangerLimit = 1 << 16;
};

// The largest frame between root and agents that know each other.
inline constexpr std::uint64_t kFrameLimit = std::uint64_t{4} << 30;

}  // namespace batchai::launcher
