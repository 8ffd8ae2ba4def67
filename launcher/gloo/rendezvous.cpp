// SPDX-License-Identifier: Apache-2.0
#include "launcher/gloo/rendezvous.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

#include "launcher/network.hpp"

namespace batchai::launcher::gloo {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kLongest{30}, kSweep{10};
constexpr std::size_t kMostConnections = 4096;

}  // namespace

// One request, one answer. Gone when it is closed, by either side.
struct Rendezvous::Connection {
    Connection(Rendezvous& rendezvous, sys::UniqueFd socket);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    void received(std::string_view bytes);
    void send(std::string text);

    Rendezvous& owner;
    uv_tcp_t* tcp = new uv_tcp_t;
    RequestReader reader;
    bool refused = false;  // stays, without being heard, until the client has read why
    steady_clock::time_point since = steady_clock::now();
};

Rendezvous::Connection::Connection(Rendezvous& rendezvous, sys::UniqueFd socket)
    : owner(rendezvous) {
    uv_tcp_init(owner.loop_.get(), tcp);
    uv_tcp_open(tcp, socket.release());
    tcp->data = this;
    uv_read_start(
        reinterpret_cast<uv_stream_t*>(tcp),
        [](uv_handle_t*, std::size_t, uv_buf_t* buffer) {
            static thread_local std::array<char, 1 << 16> bytes;
            *buffer = uv_buf_init(bytes.data(), bytes.size());
        },
        [](uv_stream_t* stream, ssize_t size, const uv_buf_t* buffer) {
            auto* self = static_cast<Connection*>(stream->data);
            if (self == nullptr || size == 0) return;
            if (size < 0) return self->owner.forget(*self);
            self->received({buffer->base, static_cast<std::size_t>(size)});
        });
}

Rendezvous::Connection::~Connection() {
    tcp->data = nullptr;
    uv_close(reinterpret_cast<uv_handle_t*>(tcp),
             [](uv_handle_t* handle) { delete reinterpret_cast<uv_tcp_t*>(handle); });
}

void Rendezvous::Connection::received(std::string_view bytes) {
    if (refused) return;
    const RequestReader::State state = reader.add(bytes);
    if (state == RequestReader::State::incomplete) return;
    refused = state != RequestReader::State::complete;
    if (!refused) uv_read_stop(reinterpret_cast<uv_stream_t*>(tcp));
    send(refused ? KeyValues::refusal(state) : owner.values_.answer(reader.request()));
}

void Rendezvous::Connection::send(std::string text) {
    struct Write {
        uv_write_t request;
        std::string text;
    };
    auto* write = new Write{{}, std::move(text)};
    write->request.data = write;
    const uv_buf_t buffer = uv_buf_init(write->text.data(), write->text.size());
    const auto done = [](uv_write_t* request, int) {
        const std::unique_ptr<Write> over(static_cast<Write*>(request->data));
        auto* self = static_cast<Connection*>(request->handle->data);  // null: closed before
        if (self != nullptr && !self->refused) self->owner.forget(*self);
    };
    if (uv_write(&write->request, reinterpret_cast<uv_stream_t*>(tcp), &buffer, 1, done) != 0) {
        delete write;
        owner.forget(*this);
    }
}

Rendezvous::Rendezvous(Loop& loop, const RankMap& map)
    : loop_(loop), values_(map), sweep_(loop, [this] { close_old(); }) {}

Rendezvous::~Rendezvous() = default;

sys::Result<std::unique_ptr<Rendezvous>> Rendezvous::listen(Loop& loop, const std::string& address,
                                                            const RankMap& map) {
    sys::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    socklen_t size = sizeof at;
    if (!fd || ::inet_pton(AF_INET, address.c_str(), &at.sin_addr) != 1 ||
        ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), size) != 0 ||
        ::listen(fd.get(), SOMAXCONN) != 0 ||
        ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0) {
        return sys::errno_error("listening on " + address + " for Horovod's ranks");
    }
    std::unique_ptr<Rendezvous> self(new Rendezvous(loop, map));
    self->port_ = ntohs(at.sin_port);
    self->listener_ = std::make_unique<Poll>(
        loop, std::move(fd), [rendezvous = self.get()](int) { rendezvous->accept(); });
    self->admitted_.insert(address);
    self->sweep_.start(kSweep, kSweep);
    return self;
}

void Rendezvous::admit(const std::vector<std::string>& addresses) {
    admitted_.insert(addresses.begin(), addresses.end());
}

void Rendezvous::accept() {
    sockaddr_in from{};
    socklen_t size = sizeof from;
    sys::UniqueFd fd(::accept4(listener_->fd(), reinterpret_cast<sockaddr*>(&from), &size,
                               SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd || !admitted_.contains(text_of(from.sin_addr))) return;
    if (connections_.size() >= kMostConnections) return;  // the client tries again
    connections_.push_back(std::make_unique<Connection>(*this, std::move(fd)));
}

void Rendezvous::forget(const Connection& connection) {
    connections_.remove_if([&](const auto& one) { return one.get() == &connection; });
}

void Rendezvous::close_old() {
    const auto now = steady_clock::now();
    connections_.remove_if([now](const auto& one) { return now - one->since > kLongest; });
}

}  // namespace batchai::launcher::gloo
