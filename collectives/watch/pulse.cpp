// SPDX-License-Identifier: Apache-2.0
#include "collectives/watch/pulse.hpp"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

namespace batchai::coll {

namespace {

struct Registry {
    std::mutex mutex;
    std::vector<int> descriptors;

    // Never destroyed: a process may fork while it exits.
    static Registry& get() {
        static auto* registry = new Registry;
        return *registry;
    }
    Registry() { ::pthread_atfork(before, after, in_child); }

  private:
    static void before() { get().mutex.lock(); }
    static void after() { get().mutex.unlock(); }
    static void in_child() {
        for (const int fd : get().descriptors) ::close(fd);
        get().descriptors.clear();
        after();
    }
};

}  // namespace

Unshared::Unshared(int fd) : fd_(fd) {
    Registry& registry = Registry::get();
    const std::scoped_lock lock(registry.mutex);
    registry.descriptors.push_back(fd);
}

Unshared::~Unshared() {
    Registry& registry = Registry::get();
    const std::scoped_lock lock(registry.mutex);
    const auto found = std::find(registry.descriptors.begin(), registry.descriptors.end(), fd_);
    if (found != registry.descriptors.end()) registry.descriptors.erase(found);
}

namespace {

constexpr std::size_t kHead = 4;
constexpr std::uint8_t kBeat = 1, kFailure = 2;

bool is_failure(int status) {
    return status <= BATCHAI_COLL_ERR_MISMATCH && status >= BATCHAI_COLL_ERR_ABORTED;
}

}  // namespace

Pulse::Pulse(sys::UniqueFd fd)
    : fd_(std::move(fd)), unshared_(std::make_unique<Unshared>(fd_.get())) {}

void Pulse::end(State state) {
    state_ = state;
    unshared_.reset();
    fd_.reset();
    out_.clear();
}

void Pulse::end_by(int error) {
    if (error == EINTR || error == EAGAIN) return;
    end(error == ECONNRESET || error == EPIPE ? State::ended : State::silent);
}

void Pulse::say(std::uint8_t type, std::uint8_t status, const std::string& text) {
    if (state_ != State::open) return;
    const std::size_t length = std::min(text.size(), kMostText);
    out_ += {static_cast<char>(type), static_cast<char>(status), static_cast<char>(length & 0xff),
             static_cast<char>(length >> 8)};
    out_.append(text, 0, length);
    write();
}

// Sends no beat if earlier bytes are still unsent: the other side gets those.
void Pulse::beat() {
    if (out_.empty()) say(kBeat, 0, "");
}

void Pulse::tell(const Failure& failure) {
    say(kFailure, static_cast<std::uint8_t>(-failure.status), failure.sentence);
}

void Pulse::write() {
    while (!out_.empty()) {
        const ssize_t sent =
            ::send(fd_.get(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) return end_by(errno);
        out_.erase(0, static_cast<std::size_t>(sent));
    }
}

void Pulse::read() {
    char buffer[1024];
    while (state_ == State::open) {
        const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (got < 0) return end_by(errno);
        if (got == 0) return end(State::ended);
        in_.append(buffer, static_cast<std::size_t>(got));
        if (in_.size() > 16 * sizeof buffer) return;  // read the rest in the next step
    }
}

// Takes complete messages from the received bytes, up to the first failure.
std::optional<Failure> Pulse::take() {
    while (in_.size() >= kHead) {
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(in_[i]); };
        const std::size_t length = byte(2) | static_cast<std::size_t>(byte(3)) << 8;
        const int status = -static_cast<int>(byte(1));
        const std::uint8_t type = byte(0);
        const bool beats = type == kBeat && length == 0;
        if (!beats && (type != kFailure || length > kMostText || !is_failure(status))) {
            in_.clear();
            end(State::ended);
            return std::nullopt;
        }
        if (in_.size() < kHead + length) return std::nullopt;
        ++heard_;
        std::string text = in_.substr(kHead, length);
        in_.erase(0, kHead + length);
        if (type == kFailure) {
            return Failure{static_cast<batchai_coll_status>(status), std::move(text)};
        }
    }
    return std::nullopt;
}

// After the end of the connection, messages that were received before are still taken.
std::optional<Failure> Pulse::step() {
    if (state_ == State::open) write();
    if (state_ == State::open) read();
    return take();
}

void Pulse::say_no_more() {
    if (state_ != State::open) return;
    write();
    if (state_ == State::open) ::shutdown(fd_.get(), SHUT_WR);
}

}  // namespace batchai::coll
