// SPDX-License-Identifier: Apache-2.0
#include "launcher/gloo/rendezvous.hpp"

#include <array>
#include <chrono>

namespace batchai::launcher::gloo {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kLongest{30}, kSweep{10};

}  // namespace

// A connection has one request and one answer. It is deleted when either side has closed it.
struct Rendezvous::Connection {
    Connection(Rendezvous& rendezvous, std::uint64_t id, sys::UniqueFd socket);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    void received(std::string_view bytes);
    void send(std::string text);
    void forget() { owner.connections_.erase(id); }

    Rendezvous& owner;
    const std::uint64_t id;
    uv_tcp_t* tcp = new uv_tcp_t;
    RequestReader reader;
    bool refused = false;  // reads no more; open until the client has read the reason
    steady_clock::time_point since = steady_clock::now();
};

Rendezvous::Connection::Connection(Rendezvous& rendezvous, std::uint64_t number,
                                   sys::UniqueFd socket)
    : owner(rendezvous), id(number) {
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
            if (size < 0) return self->forget();
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
    if (refused) return send(KeyValues::refusal(state));
    uv_read_stop(reinterpret_cast<uv_stream_t*>(tcp));
    owner.ask_(id, reader.request());
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
        if (self != nullptr && !self->refused) self->forget();
    };
    if (uv_write(&write->request, reinterpret_cast<uv_stream_t*>(tcp), &buffer, 1, done) != 0) {
        delete write;
        forget();
    }
}

Rendezvous::Rendezvous(Loop& loop, Ask ask)
    : loop_(loop), ask_(std::move(ask)), sweep_(loop, [this] { close_old(); }) {}

Rendezvous::~Rendezvous() = default;

sys::Result<std::unique_ptr<Rendezvous>> Rendezvous::listen(Loop& loop, Ask ask) {
    std::unique_ptr<Rendezvous> self(new Rendezvous(loop, std::move(ask)));
    auto port = OwnPort::listen(loop, "Horovod's ranks",
                                [rendezvous = self.get()](sys::UniqueFd connection) {
                                    rendezvous->serve(std::move(connection));
                                });
    if (!port) return port.error();
    self->port_ = std::move(*port);
    self->sweep_.start(kSweep, kSweep);
    return self;
}

void Rendezvous::answer(std::uint64_t id, std::string text) {
    const auto found = connections_.find(id);
    if (found != connections_.end()) found->second->send(std::move(text));  // else: closed
}

void Rendezvous::serve(sys::UniqueFd connection) {
    if (connections_.size() >= kMostConnections) return;  // the client tries again
    const std::uint64_t id = next_id_++;
    connections_[id] = std::make_unique<Connection>(*this, id, std::move(connection));
}

void Rendezvous::close_old() {
    const auto now = steady_clock::now();
    std::erase_if(connections_,
                  [now](const auto& entry) { return now - entry.second->since > kLongest; });
}

}  // namespace batchai::launcher::gloo
