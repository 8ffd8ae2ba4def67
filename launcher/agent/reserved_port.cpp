// SPDX-License-Identifier: Apache-2.0
#include "launcher/agent/reserved_port.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <fstream>
#include <random>

namespace batchai::launcher {
namespace {

sys::UniqueFd bind_port(int port) {
    sys::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (fd && ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        fd.reset();
    }
    return fd;
}

}  // namespace

std::vector<int> PortsOfRanks::reserve_workers(int count) {
    std::vector<int> numbers;
    while (static_cast<int>(numbers.size()) < count) {
        const int number = reserve();
        if (number == 0) break;
        numbers.push_back(number);
    }
    return numbers;
}

// 0: no port was found.
int PortsOfRanks::reserve() {
    int low = 32768;
    std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> low;
    const int first = low > 12'000 ? 10'000 : 1'024, last = low > 12'000 ? low - 1 : 9'999;
    std::random_device random;
    std::uniform_int_distribution<int> pick(first, last);
    for (int tries = 0; tries < 50; ++tries) {
        const int port = pick(random);
        if (sys::UniqueFd socket = bind_port(port)) {
            sockets_.push_back(std::move(socket));
            return port;
        }
    }
    return 0;
}

}  // namespace batchai::launcher
