// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/interfaces.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

#include "sys/unique_fd.hpp"

namespace batchai::launcher {

std::string text_of(const in_addr& address) {
    std::array<char, INET_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET, &address, text.data(), text.size());
    return text.data();
}

std::vector<Interface> interfaces() {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return {};
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(list, ::freeifaddrs);
    std::vector<Interface> found;
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
        if ((entry->ifa_flags & IFF_UP) == 0U) continue;
        const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
        found.push_back({entry->ifa_name, text_of(address->sin_addr)});
    }
    return found;
}

std::string text_of(const Endpoint& endpoint) {
    return endpoint.address + ":" + std::to_string(endpoint.port);
}

std::optional<sockaddr_in> socket_address(const Endpoint& endpoint) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(endpoint.port));
    if (::inet_pton(AF_INET, endpoint.address.c_str(), &address.sin_addr) != 1) return {};
    return address;
}

namespace {

template <class Is>
Interface find_interface(Is is) {
    const std::vector<Interface> all = interfaces();
    const auto found = std::find_if(all.begin(), all.end(), is);
    return found == all.end() ? Interface() : *found;
}

}  // namespace

Interface interface_of(int socket) {
    sockaddr_in own{};
    socklen_t size = sizeof own;
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0) return {};
    const std::string address = text_of(own.sin_addr);
    Interface found = find_interface([&](const Interface& one) { return one.address == address; });
    found.address = address;  // 127.0.0.2 belongs to lo too, but is not in its list of addresses
    return found;
}

Interface interface_named(const std::string& name) {
    return find_interface([&](const Interface& one) { return one.name == name; });
}

// The first call fails if the interface has no address, the second one if it is down.
sys::Result<void> check_loopback() {
    const sys::UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    const auto generic = reinterpret_cast<sockaddr*>(&at);
    if (fd && ::bind(fd.get(), generic, size) == 0 &&
        ::getsockname(fd.get(), generic, &size) == 0 && ::connect(fd.get(), generic, size) == 0) {
        return {};
    }
    sys::Error error = sys::errno_error("ranks cannot reach their agent at 127.0.0.1");
    error.message += ". Bring the loopback interface up with this address: ip link set lo up";
    return error;
}

namespace {

// The addresses that this machine's host name resolves to.
std::vector<std::string> named_addresses() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return {};
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;  // one entry for each address
    addrinfo* list = nullptr;
    if (::getaddrinfo(name.data(), nullptr, &hints, &list) != 0) return {};
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(list, ::freeaddrinfo);
    std::vector<std::string> addresses;
    for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
        addresses.push_back(text_of(reinterpret_cast<sockaddr_in*>(entry->ai_addr)->sin_addr));
    }
    return addresses;
}

}  // namespace

std::vector<std::string> addresses_for_nodes(const std::string& interface) {
    if (const Interface chosen = interface_named(interface); !chosen.address.empty()) {
        return {chosen.address};
    }
    std::vector<std::string> addresses;
    for (const Interface& one : interfaces()) {
        if (!one.address.starts_with("127.")) addresses.push_back(one.address);
    }
    // In Debian's /etc/hosts the host name resolves to a loopback address. On other machines it may
    // resolve to an address that the machine no longer has.
    for (const std::string& named : named_addresses()) {
        if (std::find(addresses.begin(), addresses.end(), named) != addresses.end()) return {named};
    }
    return addresses;
}

}  // namespace batchai::launcher
