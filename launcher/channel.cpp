// SPDX-License-Identifier: Apache-2.0
#include "launcher/channel.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>

namespace batchai::launcher {
namespace {

constexpr std::size_t kHeader = sizeof(std::uint64_t) + sizeof(Kind);

struct Write {
    uv_write_t request;
    std::string header;
    Frame frame;
};

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

Channel::Channel(Loop& loop, sys::UniqueFd socket, Callbacks callbacks)
    : tcp_(new uv_tcp_t), callbacks_(std::move(callbacks)) {
    set_liveness(socket.get());
    uv_tcp_init(loop.get(), tcp_);
    uv_tcp_open(tcp_, socket.release());
    tcp_->data = this;
    uv_read_start(
        reinterpret_cast<uv_stream_t*>(tcp_),
        [](uv_handle_t*, std::size_t, uv_buf_t* buffer) {
            static thread_local std::array<char, 1 << 16> bytes;
            *buffer = uv_buf_init(bytes.data(), bytes.size());
        },
        [](uv_stream_t* stream, ssize_t size, const uv_buf_t* buffer) {
            auto* self = static_cast<Channel*>(stream->data);
            if (self == nullptr || size == 0) return;
            if (size < 0) return self->fail();
            self->received(buffer->base, static_cast<std::size_t>(size));
        });
}

Channel::~Channel() {
    close();
}

void Channel::close() {
    if (tcp_ == nullptr) return;
    tcp_->data = nullptr;
    uv_close(reinterpret_cast<uv_handle_t*>(tcp_),
             [](uv_handle_t* handle) { delete reinterpret_cast<uv_tcp_t*>(handle); });
    tcp_ = nullptr;
}

void Channel::fail() {
    if (tcp_ == nullptr) return;
    close();
    callbacks_.on_close();
}

std::string Channel::peer_address() const {
    sockaddr_in address{};
    int size = sizeof address;
    std::array<char, INET_ADDRSTRLEN> text{};
    if (tcp_ == nullptr ||
        uv_tcp_getpeername(tcp_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        return {};
    }
    uv_ip4_name(&address, text.data(), text.size());
    return text.data();
}

void Channel::send(Frame frame) {
    if (tcp_ == nullptr) return;
    Writer header;
    header(std::uint64_t{frame.payload->size()}, frame.kind);
    auto* write = new Write{{}, header.take(), std::move(frame)};
    write->request.data = write;
    const std::string& payload = *write->frame.payload;
    std::array<uv_buf_t, 2> buffers{
        uv_buf_init(write->header.data(), write->header.size()),
        uv_buf_init(const_cast<char*>(payload.data()), payload.size())};  // libuv only reads it
    const auto done = [](uv_write_t* request, int) { delete static_cast<Write*>(request->data); };
    if (uv_write(&write->request, reinterpret_cast<uv_stream_t*>(tcp_), buffers.data(),
                 buffers.size(), done) != 0) {
        delete write;
    }
}

void Channel::received(const char* bytes, std::size_t size) {
    input_.append(bytes, size);
    std::size_t at = 0;
    while (tcp_ != nullptr && input_.size() - at >= kHeader) {
        Reader header(std::string_view(input_).substr(at, kHeader));
        std::uint64_t length = 0;
        Kind kind{};
        header(length, kind);
        if (length > limit_) return fail();
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

}  // namespace batchai::launcher
