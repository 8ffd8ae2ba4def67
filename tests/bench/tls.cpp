// SPDX-License-Identifier: Apache-2.0
//
// tls - what the connections between batchai-launch and its agents cost: processor time of this one
// process, which holds both ends. Data goes over a socket pair, once in the clear and once through
// TLS. Bounds: a handshake takes two key exchanges (X25519) at each end; data is copied by the
// kernel twice, and sealed and opened once.
#include "launcher/common/tls.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

using namespace batchai;
using launcher::Tls;
using Io = Tls::Io;

namespace {

double processor_seconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "tls: %s\n", what);
    std::exit(1);
}

struct Pair {
    sys::UniqueFd left, right;
};
Pair make_pair() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        fail("no socket pair");
    return {sys::UniqueFd(ends[0]), sys::UniqueFd(ends[1])};
}

struct Ends {
    Pair sockets = make_pair();
    Tls caller, answerer;
    explicit Ends(const launcher::TlsKey& key)
        : caller(key, Tls::Role::calls, sockets.left.get()),
          answerer(key, Tls::Role::answers, sockets.right.get()) {
        Io here = Io::later;
        Io there = Io::later;
        for (int turn = 0; turn < 10 && (here != Io::done || there != Io::done); ++turn) {
            if (here != Io::done) here = caller.shake_hands();
            if (there != Io::done) there = answerer.shake_hands();
        }
        if (here != Io::done || there != Io::done) fail("the ends did not shake hands");
    }
};

// The median of what f takes, in seconds.
template <class F>
double median(int times, F f) {
    std::vector<double> all;
    for (int i = 0; i < times; ++i) {
        const double start = processor_seconds();
        f();
        all.push_back(processor_seconds() - start);
    }
    std::nth_element(all.begin(), all.begin() + times / 2, all.end());
    return all[static_cast<std::size_t>(times) / 2];
}

constexpr std::size_t kBytes = std::size_t{256} << 20;

void pass_plain(const std::string& piece) {
    const Pair pair = make_pair();
    std::string got(piece.size(), '\0');
    for (std::size_t sent = 0; sent < kBytes; sent += piece.size())
        if (write(pair.left.get(), piece.data(), piece.size()) !=
                static_cast<ssize_t>(piece.size()) ||
            read(pair.right.get(), got.data(), got.size()) != static_cast<ssize_t>(got.size()))
            fail("plain data did not arrive");
    if (got != piece) fail("plain data arrived changed");
}

void pass_sealed(Ends& ends, const std::string& piece) {
    std::string got;
    for (std::size_t sent = 0; sent < kBytes; sent += piece.size()) {
        got.clear();
        if (ends.caller.write(piece) != Io::done || ends.answerer.read(got) != Io::done ||
            got.size() != piece.size())
            fail("sealed data did not arrive");
    }
    if (got != piece) fail("sealed data arrived changed");
}

}  // namespace

int main() {
    const double start = processor_seconds();
    const auto key = launcher::TlsKey::make("a key");
    if (!key) fail(key.error().message.c_str());
    const double made = processor_seconds() - start;
    const double first = median(1, [&] { const Ends ends(*key); });
    const double handshake = median(500, [&] { const Ends ends(*key); });
    const std::string piece(Tls::kRecord, 'x');
    Ends ends(*key);
    const double sealed = median(5, [&] { pass_sealed(ends, piece); });
    const double plain = median(5, [&] { pass_plain(piece); });
    const double gigabytes = static_cast<double>(kBytes) / 1e9;
    std::printf("processor time\n");
    std::printf("the key, once for a process        %8.2f ms\n", made * 1e3);
    std::printf("a process's first handshake, an end%8.2f ms\n", first / 2 * 1e3);
    std::printf("a handshake, an end                %8.2f ms\n", handshake / 2 * 1e3);
    std::printf("data, both ends on one core        %8.2f GB/s\n", gigabytes / sealed);
    std::printf("the same without TLS               %8.2f GB/s\n", gigabytes / plain);
}
