// SPDX-License-Identifier: Apache-2.0
#include "collectives/watch/watchdog.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <system_error>

#include "collectives/common/no_signals.hpp"

namespace batchai::coll {

Peers::Peers(const std::vector<int>& pids) {
    for (int r = 0; r < static_cast<int>(pids.size()); ++r) {
        if (pids[r] == ::getpid()) continue;
        peers_.push_back(
            {r, pids[r], sys::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pids[r], 0)))});
    }
}

void Peers::add_to(std::vector<pollfd>& list) const {
    for (const Peer& peer : peers_) {
        if (peer.fd && !peer.ended) list.push_back({peer.fd.get(), POLLIN, 0});
    }
}

// A pidfd also reports a process that has ended but has not been reaped yet.
bool Peers::has_ended(const Peer& peer) {
    if (!peer.fd) return ::kill(peer.pid, 0) != 0 && errno == ESRCH;
    pollfd poll{peer.fd.get(), POLLIN, 0};
    return ::poll(&poll, 1, 0) == 1;
}

std::optional<int> Peers::ended() {
    for (Peer& peer : peers_) {
        if (peer.ended || !has_ended(peer)) continue;
        peer.ended = true;
        return peer.rank;
    }
    return std::nullopt;
}

// The state comes after the program's name. The name is in parentheses and may contain some.
std::string process_state(int pid) {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const std::size_t end = text.rfind(") ");
    return end == std::string::npos ? "" : text.substr(end + 2, 1);
}

using namespace std::chrono_literals;

sys::Result<std::unique_ptr<Watchdog>> Watchdog::start(const Roster& roster, Node& node,
                                                       const Limits& limits,
                                                       std::vector<Neighbour> neighbours,
                                                       Sockets sockets) {
    sys::UniqueFd bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!bell) return sys::errno_error("starting the watchdog: eventfd");
    std::unique_ptr<Watchdog> watchdog(new Watchdog(roster, node, limits, std::move(neighbours),
                                                    std::move(sockets), std::move(bell)));
    try {
        const NoSignals no_signals;
        watchdog->thread_ = std::make_unique<std::thread>([self = watchdog.get()] { self->run(); });
    } catch (const std::system_error& error) {
        return sys::Error{fmt::format("starting the watchdog: {}", error.what())};
    }
    ::pthread_setname_np(watchdog->thread_->native_handle(), "batchai-watch");
    return watchdog;
}

Watchdog::Watchdog(const Roster& roster, Node& node, const Limits& limits,
                   std::vector<Neighbour> neighbours, Sockets sockets, sys::UniqueFd bell)
    : roster_(roster),
      node_(node),
      limits_(limits),
      peers_(limits.process > 0ms ? roster.local_pids() : std::vector<int>()),
      heartbeats_(node.size(), limits.silence(), Clock::now()),
      neighbourhood_(roster, limits, std::move(neighbours), Clock::now()),
      sockets_(std::move(sockets)),
      bell_(std::move(bell)),
      process_(::getpid()) {}

// A child of fork() does not have this thread, so it joins none.
Watchdog::~Watchdog() {
    if (process_ != ::getpid()) {
        static_cast<void>(thread_.release());
        return;
    }
    if (thread_ == nullptr) return;
    ending_.store(true, std::memory_order_release);
    wake();
    thread_->join();
}

void Watchdog::wake() {
    const std::uint64_t one = 1;
    static_cast<void>(::write(bell_.get(), &one, sizeof one));
}

// A watchdog that wakes up much too late was stopped, alone or together with its machine and other
// ranks. Its times are then invalid.
void Watchdog::run() {
    const auto late = 4 * limits_.interval() + 1s;
    Time last = Clock::now();
    while (!ending_.load(std::memory_order_acquire)) {
        node_.publish(node_.beats(node_.rank()), ++beats_);
        sleep();
        const Time now = Clock::now();
        if (now - last > late) {
            heartbeats_.forgive(now);
            neighbourhood_.forgive(now);
            sockets_.forgive();
        }
        last = now;
        look(now);
    }
    tell();
    neighbourhood_.close();
}

void Watchdog::sleep() {
    polled_.assign({{bell_.get(), POLLIN, 0}});
    peers_.add_to(polled_);
    neighbourhood_.add_to(polled_);
    ::poll(polled_.data(), polled_.size(), static_cast<int>(limits_.interval().count()));
    std::uint64_t rung = 0;
    static_cast<void>(::read(bell_.get(), &rung, sizeof rung));
}

// The first failure is final. A failure seen on this node is more certain than one seen from
// another node. A report of other nodes comes before a conclusion from silence.
void Watchdog::look(Time now) {
    const auto here = look_here(now);
    const auto there = neighbourhood_.step(now);
    if (here) node_.fail(*here);
    if (there) node_.fail(*there);
    tell();
}

// Reports the node's failure to the neighbours, once. A rank may have found it.
void Watchdog::tell() {
    if (told_) return;
    if (const auto failure = node_.failure()) {
        told_ = true;
        neighbourhood_.tell(*failure);
    }
}

std::optional<Failure> Watchdog::look_here(Time now) {
    std::string sentence;
    while (const auto ended = peers_.ended()) {
        const int rank = roster_.topology.members[roster_.topology.node()][*ended];
        if (sentence.empty()) sentence = fmt::format("{} has ended", roster_.rank(rank));
    }
    for (int local = 0; !told_ && sentence.empty() && local < node_.size(); ++local) {
        const auto who = static_cast<std::size_t>(local);
        heartbeats_.see(who, node_.beats(local).value.load(std::memory_order_acquire), now);
        if (local != node_.rank() && heartbeats_.silent(who, now)) sentence = stall_of(local);
    }
    if (const auto silent = told_ || !sentence.empty() ? std::nullopt : sockets_.silent_node(now)) {
        sentence = fmt::format("{} has not answered for {} s", roster_.node(*silent),
                               std::chrono::duration<double>(limits_.node).count());
    }
    if (sentence.empty()) return std::nullopt;
    return Failure{BATCHAI_COLL_ERR_PEER, std::move(sentence)};
}

std::string Watchdog::stall_of(int local) const {
    const int rank = roster_.topology.members[roster_.topology.node()][local];
    const std::string state = process_state(roster_.pids[rank]);
    const bool stopped = state == "T" || state == "t";
    const double seconds = std::chrono::duration<double>(limits_.stall).count();
    return fmt::format("{} has {} for {} s", roster_.rank(rank),
                       stopped ? "been stopped" : "not run", seconds);
}

}  // namespace batchai::coll
