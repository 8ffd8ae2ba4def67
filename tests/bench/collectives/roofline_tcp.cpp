// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include "ring.hpp"

namespace batchai::bench {
namespace {

using Clock = std::chrono::steady_clock;

// GB/s of what arrives over one link while the other one is written to until the end, by one thread
// that waits for both, as a collective does. The first fifth of the time is the streams' start and
// not counted.
class Stream {
  public:
    Stream(const Ring& ring, bool sends, double seconds)
        : ring_(ring), begin_(Clock::now()), sends_(sends) {
        const auto after = [&](double time) {
            return begin_ +
                   std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(time));
        };
        end_ = after(seconds);
        counted_ = after(seconds / 5);
        if (!sends_) ::shutdown(ring_.next.fd(), SHUT_WR);
    }

    double run() {
        auto first = begin_;
        auto last = begin_;
        std::size_t bytes = 0;
        bool open = true;
        while (open || sends_) {
            std::array<pollfd, 2> ready{{{open ? ring_.previous.fd() : -1, POLLIN, 0},
                                         {sends_ ? ring_.next.fd() : -1, POLLOUT, 0}}};
            check(::poll(ready.data(), ready.size(), -1) > 0, "poll");
            if (ready[1].revents != 0) send();
            if (ready[0].revents == 0) continue;
            const std::size_t got = receive();
            open = got > 0;
            const auto now = Clock::now();
            if (now < counted_) {
                first = now;
            } else if (open) {
                last = now;
                bytes += got;
            }
        }
        const double took = std::chrono::duration<double>(last - first).count();
        return bytes == 0 ? 0 : static_cast<double>(bytes) / took / 1e9;
    }

  private:
    void send() {
        const ssize_t sent =
            ::send(ring_.next.fd(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        check(sent > 0 || errno == EAGAIN, "send");
        if (Clock::now() < end_) return;
        sends_ = false;
        ::shutdown(ring_.next.fd(), SHUT_WR);
    }
    std::size_t receive() {
        const ssize_t got = ::recv(ring_.previous.fd(), in_.data(), in_.size(), 0);
        check(got >= 0, "recv");
        return static_cast<std::size_t>(got);
    }

    const Ring& ring_;
    Clock::time_point begin_;
    Clock::time_point end_;
    Clock::time_point counted_;
    bool sends_;
    std::vector<char> out_ = std::vector<char>(256 << 10);
    std::vector<char> in_ = std::vector<char>(256 << 10);
};

double stream(const Ranks& ranks, const Ring& control, const std::string& name, bool sends,
              double seconds) {
    const Ring ring = connect_ring(ranks, name);
    wait_for_all(ranks, control);
    const double goodput = Stream(ring, sends, seconds).run();
    wait_for_all(ranks, control);
    return goodput;
}

}  // namespace

void measure_streams(const Ranks& ranks, double seconds) {
    const Ring control = connect_ring(ranks, "control");
    const double one = stream(ranks, control, "one", ranks.rank == 0, seconds);
    if (ranks.rank == 1) std::printf("tcp_one %.6f\n", one);
    std::printf("tcp_all %.6f\n", stream(ranks, control, "all", true, seconds));
}

}  // namespace batchai::bench
