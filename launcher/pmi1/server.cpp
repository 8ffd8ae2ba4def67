// SPDX-License-Identifier: Apache-2.0
#include "launcher/pmi1/server.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

namespace batchai::launcher::pmi1 {
namespace {

constexpr const char* kNoSpawn =
    "by PMI-1, and batchai-launch starts them only for programs that use PMIx, such as Open MPI's";

}  // namespace

sys::Result<sys::UniqueFd> Server::connect(int number) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return sys::errno_error("making a socket pair for PMI-1");
    }
    adopt(number, sys::UniqueFd(ends[0]));
    return sys::UniqueFd(ends[1]);
}

void Server::adopt(int number, sys::UniqueFd connection) {
    Rank& rank = ranks_.try_emplace(number, Rank{{}, {}, Session(job_, store_)}).first->second;
    rank.poll = std::make_unique<Poll>(loop_, std::move(connection),
                                       [this, number, &rank](int) { receive(number, rank); });
}

bool Server::connected() const {
    return std::any_of(ranks_.begin(), ranks_.end(),
                       [](const auto& entry) { return entry.second.poll != nullptr; });
}

void Server::receive(int number, Rank& rank) {
    std::array<char, kMaxLine> bytes;
    const ssize_t size = ::recv(rank.poll->fd(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) return rank.poll.reset();
    rank.input.append(bytes.data(), static_cast<std::size_t>(size));
    while (rank.poll) {
        const auto end = rank.input.find('\n');
        if (end == std::string::npos) break;
        const std::string line = rank.input.substr(0, end);
        rank.input.erase(0, end + 1);
        obey(number, rank, line);
    }
    if (rank.poll && rank.input.size() > kMaxLine) obey(number, rank, rank.input);
}

void Server::obey(int number, Rank& rank, std::string_view line) {
    const Reaction reaction = rank.session.on_line(line);
    if (!reaction.answer.empty()) send(rank, reaction.answer);
    switch (reaction.event) {
        case Reaction::Event::none:
            return;
        case Reaction::Event::joined:
            return host_.joined(number);
        case Reaction::Event::left:
            return host_.finalized(number);
        case Reaction::Event::barrier:
            return check_barrier();
        case Reaction::Event::spawn:
            return host_.spawn_refused(number, kNoSpawn);
        case Reaction::Event::aborted:  // the rank waits for its end, and rejects other answers
            return host_.aborted(number, reaction.code, {});
        case Reaction::Event::broken:  // otherwise the others would wait without a known cause
            rank.poll.reset();
            return host_.aborted(number, 1, "broke the protocol of PMI-1: " + reaction.why);
    }
}

void Server::send(Rank& rank, const std::string& line) {
    if (!rank.poll) return;
    const ssize_t sent =
        ::send(rank.poll->fd(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(line.size())) rank.poll.reset();
}

void Server::hear_out(int number) {
    const auto found = ranks_.find(number);
    if (found != ranks_.end() && found->second.poll) receive(number, found->second);
}

void Server::forget(int number) {
    const auto found = ranks_.find(number);
    if (found == ranks_.end()) return;
    found->second.poll.reset();
    found->second.ended = true;
    check_barrier();
}

void Server::check_barrier() {
    bool arrived = false, absent = false;
    for (const auto& [number, rank] : ranks_) {
        if (!rank.session.in_barrier() && !rank.ended) return;
        (rank.session.in_barrier() ? arrived : absent) = true;
    }
    if (!arrived || std::exchange(fence_under_way_, true)) return;
    const auto last = static_cast<std::uint32_t>(job_.size - 1);
    host_.barrier({{kPmi1, RankSet::range(0, last)}, absent ? -1 : 0, {}, store_.take_new()});
}

void Server::on_fence_done(const FenceDone& done) {
    fence_under_way_ = false;
    store_.merge(done.data);
    for (auto& [number, rank] : ranks_) {
        if (!rank.session.in_barrier()) continue;
        send(rank, rank.session.end_barrier(done.status == 0));
    }
}

// ---- SoloServer ---------------------------------------------------------------------------------

sys::Result<std::unique_ptr<SoloServer>> SoloServer::listen(Loop& loop, Host& host,
                                                            std::string name) {
    std::unique_ptr<SoloServer> self(new SoloServer(loop, host, std::move(name)));
    auto port = OwnPort::listen(loop, "PMI-1", [server = self.get()](sys::UniqueFd connection) {
        server->serve(std::move(connection));
    });
    if (!port) return port.error();
    self->port_ = std::move(*port);
    return self;
}

void SoloServer::serve(sys::UniqueFd connection) {
    std::erase_if(programs_, [](const Program& program) { return !program.server.connected(); });
    if (programs_.size() < kMostPrograms) {
        programs_.emplace_back(*this, std::move(connection));
    }
}

SoloServer::Program::Program(SoloServer& owner, sys::UniqueFd connection)
    : host(owner.host_), server(owner.loop_, *this, {owner.name_, 1, "(vector,(0,1,1))"}) {
    server.adopt(0, std::move(connection));
}

}  // namespace batchai::launcher::pmi1
