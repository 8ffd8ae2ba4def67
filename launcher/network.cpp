// SPDX-License-Identifier: Apache-2.0
#include "launcher/network.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>

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
    found.address = address;  // 127.0.0.2 is lo's as well, though not among its addresses
    return found;
}

Interface interface_named(const std::string& name) {
    return find_interface([&](const Interface& one) { return one.name == name; });
}

}  // namespace batchai::launcher
