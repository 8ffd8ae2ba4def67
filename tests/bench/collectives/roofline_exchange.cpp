// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include "buffer.hpp"
#include "ring.hpp"

namespace batchai::bench {
namespace {

using Clock = std::chrono::steady_clock;

// What one call has moved so far; 0 where it would have to wait.
std::size_t moved(ssize_t result) {
    check(result > 0 || (result < 0 && errno == EAGAIN), "send or recv");
    return result > 0 ? static_cast<std::size_t>(result) : 0;
}

// Sends `bytes` to the next node and gets as many from the previous one at the same time.
void exchange(const Ring& ring, const Buffer& out, const Buffer& in, std::size_t bytes) {
    const char* from = reinterpret_cast<const char*>(out.data());
    char* to = reinterpret_cast<char*>(in.data());
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    std::size_t to_send = bytes;
    std::size_t to_get = bytes;
    while (to_send > 0 || to_get > 0) {
        const std::size_t sent =
            to_send > 0 ? moved(::send(ring.next.fd(), from + bytes - to_send, to_send, flags)) : 0;
        const std::size_t got =
            to_get > 0 ? moved(::recv(ring.previous.fd(), to + bytes - to_get, to_get, flags)) : 0;
        if (sent + got == 0) ::sched_yield();
        to_send -= sent;
        to_get -= got;
    }
}

}  // namespace

void measure_exchanges(const Ranks& ranks, double seconds, const std::vector<std::size_t>& sizes) {
    constexpr double kShortestBatch = 2000;
    const Ring ring = connect_ring(ranks, "exchange");
    for (const std::size_t bytes : sizes) {
        const Buffer out(bytes);
        const Buffer in(bytes);
        std::size_t calls = 1;
        double best = 1e300;
        double spent = 0;
        for (int counted = 0; counted < 2 || spent < seconds * 1e6;) {
            wait_for_all(ranks, ring);
            const auto begin = Clock::now();
            for (std::size_t i = 0; i < calls; ++i) exchange(ring, out, in, bytes);
            double took = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
            took = agree(ranks, ring, took);
            spent += took;
            if (took < kShortestBatch) {
                calls *= 2;
                continue;
            }
            ++counted;
            best = std::min(best, took / static_cast<double>(calls));
        }
        if (ranks.rank == 0) std::printf("exchange %zu %.4f\n", bytes, best);
    }
}

}  // namespace batchai::bench
