// SPDX-License-Identifier: Apache-2.0
#include "collectives/watch/neighbourhood.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

#include "collectives/common/sockets.hpp"

namespace batchai::coll {
namespace {

using namespace std::chrono_literals;

std::chrono::milliseconds beat_every(const Limits& limits) {
    return limits.node / 10;
}

double seconds(std::chrono::milliseconds time) {
    return std::chrono::duration<double>(time).count();
}

}  // namespace

Neighbourhood::Neighbourhood(const Roster& roster, const Limits& limits,
                             std::vector<Neighbour> neighbours, Time now)
    : roster_(roster),
      limits_(limits),
      heartbeats_(neighbours.size(), limits.silence(), now),
      beat_at_(now) {
    for (Neighbour& neighbour : neighbours) {
        const int socket = neighbour.fd.get(), yes = 1;
        set_patience(socket, limits.node * 8 / 10);  // from the first lost beat, which comes later
        ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        sides_.emplace_back(neighbour.node, std::move(neighbour.fd));
    }
}

void Neighbourhood::add_to(std::vector<pollfd>& list) const {
    for (const Side& side : sides_) {
        if (side.pulse.state() != Pulse::State::open) continue;
        const short events = side.pulse.has_more_to_say() ? POLLIN | POLLOUT : POLLIN;
        list.push_back({side.pulse.fd(), events, 0});
    }
}

std::optional<Failure> Neighbourhood::step(Time now) {
    const bool beats = now >= beat_at_;
    if (beats) beat_at_ = now + beat_every(limits_);
    std::optional<Failure> reported, found;
    std::size_t index = 0;
    for (Side& side : sides_) {
        if (beats) side.pulse.beat();
        while (auto failure = side.pulse.step()) {
            if (!reported) reported = std::move(failure);
        }
        heartbeats_.see(index, side.pulse.heard(), now);
        if (auto failure = examine(side, index++, now); failure && !found) found = failure;
    }
    return reported ? reported : found;
}

std::optional<Failure> Neighbourhood::examine(Side& side, std::size_t index, Time now) {
    if (side.reported) return std::nullopt;
    const int leader = roster_.leader(side.node);
    std::string sentence;
    // A rank that leaves because of a failure may have reported that failure to others. Wait for
    // it.
    if (side.pulse.state() == Pulse::State::ended && !side.ended) side.ended = now;
    if (side.ended && limits_.process > 0ms) {
        if (now - *side.ended < limits_.process / 4) return std::nullopt;
        sentence = fmt::format("{} has ended", roster_.rank(leader));
    } else if (side.pulse.state() == Pulse::State::silent) {
        sentence = fmt::format("{} has not answered for {} s", roster_.node(side.node),
                               seconds(limits_.node));
    } else if (side.pulse.state() == Pulse::State::open && heartbeats_.silent(index, now)) {
        sentence =
            fmt::format("{} has not run for {} s", roster_.rank(leader), seconds(limits_.stall));
    } else {
        return std::nullopt;
    }
    side.reported = true;
    return Failure{BATCHAI_COLL_ERR_PEER, std::move(sentence)};
}

void Neighbourhood::tell(const Failure& failure) {
    for (Side& side : sides_) side.pulse.tell(failure);
}

// Closing a socket with unread data would discard data that was sent on it. So read until the end.
void Neighbourhood::close() {
    for (Side& side : sides_) side.pulse.say_no_more();
    const auto deadline = std::chrono::steady_clock::now() + 200ms;
    while (std::chrono::steady_clock::now() < deadline) {
        std::vector<pollfd> list;
        for (Side& side : sides_) {
            while (side.pulse.step()) {
            }
            if (side.pulse.state() == Pulse::State::open) {
                list.push_back({side.pulse.fd(), POLLIN, 0});
            }
        }
        if (list.empty()) return;
        ::poll(list.data(), list.size(), 20);
    }
}

}  // namespace batchai::coll
