// SPDX-License-Identifier: Apache-2.0
#include "ring.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace batchai::bench {
namespace {

Socket connect_to(const std::string& host, const std::string& port) {
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &list) != 0) {
        throw std::runtime_error(host + ": no address");
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
    Socket socket(::socket(AF_INET, SOCK_STREAM, 0));
    check(::connect(socket.fd(), list->ai_addr, list->ai_addrlen) == 0, "connect");
    return socket;
}

}  // namespace

void check(bool good, const char* what) {
    if (!good) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

Socket::~Socket() {
    if (fd_ >= 0) ::close(fd_);
}

Ring connect_ring(const Ranks& ranks, const std::string& name) {
    const Socket listener(::socket(AF_INET, SOCK_STREAM, 0));
    check(::listen(listener.fd(), 1) == 0, "listen");
    sockaddr_in here{};
    socklen_t length = sizeof here;
    check(::getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&here), &length) == 0,
          "getsockname");
    std::array<char, 256> host{};
    check(::gethostname(host.data(), host.size() - 1) == 0, "gethostname");
    tell(ranks, name + ".host", host.data());
    tell(ranks, name + ".port", std::to_string(ntohs(here.sin_port)));

    const int next = (ranks.rank + 1) % ranks.size;
    const std::string port = ask(ranks, name + ".port", next);  // told last
    Socket to_next = connect_to(ask(ranks, name + ".host", next), port);
    Socket from_previous(::accept(listener.fd(), nullptr, nullptr));
    return {std::move(to_next), std::move(from_previous)};
}

double agree(const Ranks& ranks, const Ring& ring, double mine) {
    double most = mine;
    for (int step = 1; step < ranks.size; ++step) {
        double others = 0;
        check(::send(ring.next.fd(), &most, sizeof most, MSG_NOSIGNAL) == sizeof most, "send");
        check(::recv(ring.previous.fd(), &others, sizeof others, MSG_WAITALL) == sizeof others,
              "recv");
        most = std::max(most, others);
    }
    return most;
}

void wait_for_all(const Ranks& ranks, const Ring& ring) {
    char token = 0;
    for (int round = 0; round < 2; ++round) {
        if (ranks.rank == 0) check(::write(ring.next.fd(), &token, 1) == 1, "write");
        check(::read(ring.previous.fd(), &token, 1) == 1, "read");
        if (ranks.rank != 0) check(::write(ring.next.fd(), &token, 1) == 1, "write");
    }
}

}  // namespace batchai::bench
