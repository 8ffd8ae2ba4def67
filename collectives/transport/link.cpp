// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/link.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "collectives/common/backoff.hpp"
#include "collectives/transport/wire.hpp"

namespace batchai::coll {
namespace {

using Clock = std::chrono::steady_clock;

// Many short trials, because other processes may use the core at times.
constexpr int kPings = 50, kStreams = 9, kMessages = 4, kSmall = 32;
constexpr std::size_t kStreamBytes = 64u << 10;

double seconds_since(Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
}

// Exchanges messages with the neighbour node, before there are operations.
class Probe {
  public:
    Probe(Wire& wire, int other) : wire_(wire), other_(other) {}
    Probe(const Probe&) = delete;
    Probe& operator=(const Probe&) = delete;
    ~Probe() {
        for (Ticket& ticket : tickets_) wire_.cancel(ticket);
    }

    // The buffers are static, because cancelled messages may still use them.
    void send(int step, std::size_t bytes) {
        static std::byte out[kStreamBytes];
        wire_.send(other_, Tag{}.at(0, step), out, bytes, tickets_.emplace_back());
    }
    void receive(int step, std::size_t bytes) {
        static std::byte in[kStreamBytes];
        wire_.receive(other_, Tag{}.at(0, step), in, bytes, tickets_.emplace_back());
    }
    // False: the neighbour does not answer.
    bool finish() {
        Backoff backoff;
        while (true) {
            if (wire_.progress()) {
                backoff.reset();
            } else {
                backoff.pause();
            }
            std::erase_if(tickets_, [this](Ticket& ticket) { return wire_.done(ticket); });
            if (tickets_.empty()) return true;
            if (wire_.lost() || Clock::now() > deadline_) return false;
        }
    }

  private:
    Wire& wire_;
    int other_;
    Clock::time_point deadline_ = Clock::now() + std::chrono::seconds(2);
    std::vector<Ticket> tickets_;
};

bool ping(Probe& probe, bool first) {
    if (first) probe.send(0, 8);
    if (first && !probe.finish()) return false;
    probe.receive(0, 8);
    if (!probe.finish()) return false;
    if (!first) probe.send(0, 8);
    return probe.finish();
}

// Seconds per message, with as many messages in each direction.
std::optional<double> stream(Probe& probe, int step, int messages, std::size_t bytes) {
    const auto begin = Clock::now();
    for (int i = 0; i < messages; ++i) {
        probe.receive(step, bytes);
        probe.send(step, bytes);
    }
    if (!probe.finish()) return std::nullopt;
    return seconds_since(begin) / messages;
}

// The time of a typical stream, not the best one. If ranks share cores or rails share a link, the
// best time is an accident, and later messages do not reach it.
std::optional<double> usual_stream(Probe& probe, int step, int messages, std::size_t bytes) {
    std::array<double, kStreams> times;
    for (double& time : times) {
        const auto took = stream(probe, step, messages, bytes);
        if (!took) return std::nullopt;
        time = *took;
    }
    std::sort(times.begin(), times.end());
    return times[kStreams / 3];
}

}  // namespace

std::optional<Link> measure_link(Wire& wire, int node, int nodes,
                                 const std::function<void()>& meet) {
    const int other = node ^ 1;
    if (other >= nodes) return std::nullopt;
    Probe probe(wire, other);
    Link link;
    link.latency = 1;
    for (int i = 0; i <= kPings; ++i) {  // the first ping makes the connection
        const auto begin = Clock::now();
        if (!ping(probe, node < other)) return std::nullopt;
        if (i > 0) link.latency = std::min(link.latency, seconds_since(begin) / 2);
    }
    meet();
    // Small messages first: they would queue behind the other rails' large ones.
    const auto small = usual_stream(probe, 1, kSmall, 8);
    if (!small) return std::nullopt;
    const auto large = usual_stream(probe, 2, kMessages, kStreamBytes);
    if (!large) return std::nullopt;
    link.overhead = *small;
    link.per_byte = *large / kStreamBytes;
    return link;
}

}  // namespace batchai::coll
