// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/channel.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "launcher/common/interfaces.hpp"

namespace batchai::launcher {
namespace {

constexpr std::size_t kHeader = sizeof(std::uint64_t) + sizeof(Kind);

// At most so many records in one call, so that other connections are not delayed.
constexpr int kRecordsAtOnce = 64;

void set_liveness(int fd) {
    const auto set = [fd](int level, int option, int value) {
        (void)setsockopt(fd, level, option, &value, sizeof value);  // best effort
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 4);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 10'000);
}

}  // namespace

Channel::Channel(Loop& loop, Link link, Callbacks callbacks)
    : tls_(std::move(link.tls)), callbacks_(std::move(callbacks)) {
    set_liveness(link.socket.get());
    socket_ = std::make_unique<Poll>(loop, std::move(link.socket), [this](int) { on_ready(); });
}

void Channel::fail() {
    close();
    callbacks_.on_close();
}

std::string Channel::peer_address() const {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    if (closed() ||
        ::getpeername(socket_->fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        return {};
    }
    return text_of(address.sin_addr);
}

void Channel::on_ready() {
    if (waiting_) flush();
    for (int n = 0; n < kRecordsAtOnce && !closed(); ++n) {
        const Tls::Io io = tls_.read(input_);
        if (io == Tls::Io::later) return;
        if (io != Tls::Io::done) return fail();
        received();
    }
}

void Channel::received() {
    std::size_t at = 0;
    while (!closed() && input_.size() - at >= kHeader) {
        Reader header(std::string_view(input_).substr(at, kHeader));
        std::uint64_t length = 0;
        Kind kind{};
        header(length, kind);
        if (length > kFrameLimit) return fail();
        if (input_.size() - at - kHeader < length) {
            if (length > input_.capacity()) input_.reserve(kHeader + length);
            break;
        }
        Reader message(std::string_view(input_).substr(at + kHeader, length));
        at += kHeader + length;
        callbacks_.on_message(kind, message);
    }
    input_.erase(0, at);
}

void Channel::send(Frame frame) {
    if (closed()) return;
    output_.push_back(std::move(frame));
    if (output_.size() == 1) flush();
}

void Channel::flush() {
    while (!output_.empty()) {
        const std::string_view piece = next_piece();
        const Tls::Io io = tls_.write(piece);
        if (io == Tls::Io::later) return wait_to_write(true);
        if (io != Tls::Io::done) {
            output_.clear();  // the connection has ended; the next read reports it
            sent_ = 0;
            break;
        }
        sent_ += piece.size();
        if (sent_ < kHeader + output_.front().payload->size()) continue;
        output_.pop_front();
        sent_ = 0;
    }
    wait_to_write(false);
}

std::string_view Channel::next_piece() {
    const Frame& frame = output_.front();
    const std::string_view payload = *frame.payload;
    if (sent_ > 0) return payload.substr(sent_ - kHeader, Tls::kRecord);
    Writer header;
    header(std::uint64_t{payload.size()}, frame.kind);
    piece_ = header.take();
    piece_ += payload.substr(0, Tls::kRecord - kHeader);
    return piece_;
}

void Channel::wait_to_write(bool wait) {
    if (wait == waiting_) return;
    waiting_ = wait;
    socket_->start(wait ? UV_READABLE | UV_WRITABLE : UV_READABLE);
}

}  // namespace batchai::launcher
