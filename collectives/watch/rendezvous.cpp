// SPDX-License-Identifier: Apache-2.0
#include "collectives/watch/rendezvous.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <optional>

namespace batchai::coll {
namespace {

using Clock = std::chrono::steady_clock;

// The first message of both sides.
struct Hello {
    std::array<char, 8> magic;
    Secret secret;  // the receiving node's
    std::int32_t node;
};
static_assert(sizeof(Hello) == 28);
constexpr std::array<char, 8> kMagic = {'B', 'C', 'P', 'U', 'L', 'S', 'E', '1'};
constexpr std::chrono::milliseconds kPatience(250);  // per address, if there are several
constexpr std::size_t kMostConnections = 64;  // at one time; some may come from unknown programs

sockaddr_in socket_address(const std::string& address, std::uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = address.empty() ? htonl(INADDR_ANY) : ::inet_addr(address.c_str());
    return at;
}

const sockaddr* plain(const sockaddr_in& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

sys::UniqueFd new_socket() {
    return sys::UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// A connection that is not complete yet.
class Connection {
  public:
    enum class Stage { waiting, made, failed };

    // Connects to this address of the node.
    static Connection call(int node, const std::string& address, std::uint16_t port,
                           const Hello& hello) {
        Connection connection(node, new_socket(), hello);
        const sockaddr_in at = socket_address(address, port);
        if (!connection.fd_ ||
            (::connect(connection.fd_.get(), plain(at), sizeof at) != 0 && errno != EINPROGRESS)) {
            connection.error_ = errno;
        }
        return connection;
    }
    // Accepts a connection that is expected to come from this node.
    static Connection answer(int node, sys::UniqueFd fd, const Hello& hello) {
        Connection connection(node, std::move(fd), hello);
        connection.connected_ = connection.answers_ = true;
        return connection;
    }

    int node() const { return node_; }
    int error() const { return error_; }
    pollfd to_poll() const {
        return {fd_.get(), static_cast<short>(connected_ ? POLLIN : POLLOUT), 0};
    }
    Stage step(const Secret& own);
    Neighbour take() { return {node_, std::move(fd_)}; }

  private:
    Connection(int node, sys::UniqueFd fd, const Hello& hello)
        : node_(node), fd_(std::move(fd)), hello_(hello) {}
    Stage fail(int error) {
        error_ = error;
        return Stage::failed;
    }
    // A new socket's send buffer is empty, so the message fits.
    bool say_hello() {
        return ::send(fd_.get(), &hello_, sizeof hello_, MSG_NOSIGNAL | MSG_DONTWAIT) ==
               static_cast<ssize_t>(sizeof hello_);
    }

    int node_;
    sys::UniqueFd fd_;
    Hello hello_;  // the message to send
    Hello heard_{};
    std::size_t got_ = 0;  // bytes of heard_
    bool connected_ = false, answers_ = false;
    int error_ = 0;
};

Connection::Stage Connection::step(const Secret& own) {
    if (error_ != 0) return Stage::failed;
    pollfd ready = to_poll();
    if (::poll(&ready, 1, 0) != 1) return Stage::waiting;
    if (!connected_) {
        int error = 0;
        socklen_t length = sizeof error;
        ::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
        if (error != 0) return fail(error);
        connected_ = true;
        return say_hello() ? Stage::waiting : fail(EPIPE);
    }
    const ssize_t got = ::recv(fd_.get(), reinterpret_cast<char*>(&heard_) + got_,
                               sizeof heard_ - got_, MSG_DONTWAIT);
    if (got == 0) return fail(ECONNRESET);
    if (got < 0) return errno == EAGAIN || errno == EINTR ? Stage::waiting : fail(errno);
    got_ += static_cast<std::size_t>(got);
    if (got_ < sizeof heard_) return Stage::waiting;
    if (heard_.magic != kMagic || heard_.secret != own || heard_.node != node_) return fail(EPROTO);
    if (answers_ && !say_hello()) return fail(EPIPE);
    return Stage::made;
}

// All connections that a node needs.
class Switchboard {
  public:
    Switchboard(const Secret& own, int node) : own_(own), node_(node) {}

    // Connects to one address after the other, the best one first.
    void call(int node, const Invitation& invitation) {
        missing_.push_back(node);
        callee_ = node;
        invited_ = invitation;
    }
    void expect(int node, const Invitation& invitation, int listener) {
        missing_.push_back(node);
        caller_ = node;
        caller_secret_ = invitation.secret;
        listener_ = listener;
    }
    // Returns the first node that is still missing at the deadline; -1: none.
    int run(Clock::time_point deadline);
    std::vector<Neighbour> take() { return std::move(made_); }
    int error() const { return error_; }  // the last error

  private:
    Hello hello_to(const Secret& secret) const { return {kMagic, secret, node_}; }
    bool is_missing(int node) const {
        return std::find(missing_.begin(), missing_.end(), node) != missing_.end();
    }
    bool answers() const { return is_missing(caller_) && connections_.size() < kMostConnections; }
    void answer();
    void call_next();
    bool has_called_all() const { return called_ == invited_.addresses.size(); }
    void step();

    Secret own_;
    int node_;
    std::list<Connection> connections_;
    std::vector<int> missing_;
    std::vector<Neighbour> made_;
    int callee_ = -1;
    Invitation invited_;
    std::size_t called_ = 0;  // addresses that were tried
    Clock::time_point call_at_{};
    int caller_ = -1, listener_ = -1, error_ = ETIMEDOUT;
    Secret caller_secret_{};
};

void Switchboard::answer() {
    if (!answers()) return;
    sys::UniqueFd fd(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd)
        connections_.push_back(
            Connection::answer(caller_, std::move(fd), hello_to(caller_secret_)));
}

void Switchboard::step() {
    for (auto connection = connections_.begin(); connection != connections_.end();) {
        const Connection::Stage stage =
            is_missing(connection->node()) ? connection->step(own_) : Connection::Stage::failed;
        if (stage == Connection::Stage::made) {
            std::erase(missing_, connection->node());
            made_.push_back(connection->take());
        }
        if (connection->error() != 0) error_ = connection->error();
        connection = stage == Connection::Stage::waiting ? std::next(connection)
                                                         : connections_.erase(connection);
    }
}

// Tries the next address after the previous one has failed or timed out.
void Switchboard::call_next() {
    if (has_called_all() || !is_missing(callee_)) return;
    const bool calls =
        std::any_of(connections_.begin(), connections_.end(),
                    [this](const Connection& connection) { return connection.node() == callee_; });
    const auto now = Clock::now();
    if (calls && now < call_at_) return;
    call_at_ = now + kPatience;
    connections_.push_back(Connection::call(callee_, invited_.addresses[called_++], invited_.port,
                                            hello_to(invited_.secret)));
}

int Switchboard::run(Clock::time_point deadline) {
    while (true) {
        step();
        if (missing_.empty()) return -1;
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        call_next();
        const bool hopeless = connections_.empty() && !is_missing(caller_) && has_called_all();
        if (left.count() <= 0 || hopeless) return missing_.front();
        std::vector<pollfd> list;
        if (answers()) list.push_back({listener_, POLLIN, 0});
        for (const Connection& connection : connections_) list.push_back(connection.to_poll());
        ::poll(list.data(), list.size(), static_cast<int>(std::min(left, kPatience).count()));
        answer();
    }
}

}  // namespace

int callee_of(int node, int nodes) {
    return nodes < 2 || (nodes == 2 && node == 1) ? -1 : (node + 1) % nodes;
}

int caller_of(int node, int nodes) {
    return nodes < 2 || (nodes == 2 && node == 0) ? -1 : (node + nodes - 1) % nodes;
}

bool Invitation::is_valid() const {
    const auto is_address = [](const std::string& text) {
        in_addr parsed{};
        return ::inet_pton(AF_INET, text.c_str(), &parsed) == 1;
    };
    return (port == 0 || !addresses.empty()) &&
           std::all_of(addresses.begin(), addresses.end(), is_address);
}

sys::Result<Rendezvous> Rendezvous::open(std::vector<std::string> addresses) {
    Rendezvous rendezvous;
    rendezvous.listener_ = new_socket();
    // With one address, listen on it; with several, on any. The secret keeps unknown programs out.
    sockaddr_in at = socket_address(addresses.size() == 1 ? addresses[0] : "", 0);
    socklen_t length = sizeof at;
    if (!rendezvous.listener_ || ::bind(rendezvous.listener_.get(), plain(at), sizeof at) != 0 ||
        ::listen(rendezvous.listener_.get(), 16) != 0 ||
        ::getsockname(rendezvous.listener_.get(), reinterpret_cast<sockaddr*>(&at), &length) != 0) {
        return sys::errno_error("listening for the watchdogs of other nodes");
    }
    Secret& secret = rendezvous.invitation_.secret;
    if (::getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size())) {
        return sys::errno_error("making a secret for the watchdogs");
    }
    rendezvous.invitation_.port = ntohs(at.sin_port);
    rendezvous.invitation_.addresses = std::move(addresses);
    return rendezvous;
}

sys::Result<std::vector<Neighbour>> Rendezvous::meet(const Roster& roster,
                                                     const std::vector<Invitation>& found,
                                                     std::chrono::milliseconds limit) const {
    const Topology& topology = roster.topology;
    Switchboard board(invitation_.secret, topology.node());
    const int callee = callee_of(topology.node(), topology.nodes());
    const int caller = caller_of(topology.node(), topology.nodes());
    const auto meets = [&](int node) { return node >= 0 && found[node].port != 0; };
    if (meets(callee)) board.call(callee, found[callee]);
    if (meets(caller)) board.expect(caller, found[caller], listener_.get());
    const int missing = board.run(Clock::now() + limit);
    if (missing < 0) return board.take();
    return sys::Error{
        fmt::format("the watchdogs of {} and {} cannot connect (addresses {}, port {}): {}; "
                    "BATCHAI_COLL_WATCH=node=0 turns them off",
                    roster.node(topology.node()), roster.node(missing),
                    fmt::join(found[missing].addresses, ", "), found[missing].port,
                    std::strerror(board.error()))};
}

}  // namespace batchai::coll
