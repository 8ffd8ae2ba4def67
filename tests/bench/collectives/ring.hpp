// SPDX-License-Identifier: Apache-2.0
//
// Plain TCP between the ranks of the rooflines, one on each node: what roofline_tcp.cpp and
// roofline_exchange.cpp send over. Nothing is tuned: sockets are as the kernel makes them.
#pragma once

#include <utility>

#include "roofline.hpp"

namespace batchai::bench {

// Throws what errno says of a system call.
void check(bool good, const char* what);

class Socket {
  public:
    explicit Socket(int fd) : fd_(fd) { check(fd >= 0, "a socket"); }
    Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Socket& operator=(Socket&&) = delete;
    ~Socket();
    int fd() const { return fd_; }

  private:
    int fd_;
};

// One connection of every rank to the next one.
struct Ring {
    Socket next;
    Socket previous;
};

// Of all ranks; a ring has a name of its own.
Ring connect_ring(const Ranks& ranks, const std::string& name);

// A barrier: a token goes round the ring twice.
void wait_for_all(const Ranks& ranks, const Ring& ring);

// The largest of what all say, the same for all.
double agree(const Ranks& ranks, const Ring& ring, double mine);

}  // namespace batchai::bench
