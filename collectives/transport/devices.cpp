// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/devices.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string_view>

namespace batchai::coll {
namespace {

bool is_private(std::string_view name) {
    for (const std::string_view prefix :
         {"docker", "br-", "veth", "virbr", "lxc", "lxd", "cni", "cali", "flannel", "podman"}) {
        if (name.starts_with(prefix)) return true;
    }
    return false;
}

struct Interface {
    std::string name, address;
    long speed = 0;  // Mbit/s; 0: unknown
};

long speed_of(const std::string& interface) {
    long speed = 0;
    std::ifstream("/sys/class/net/" + interface + "/speed") >> speed;
    return std::max(speed, 0L);
}

std::vector<Interface> interfaces() {
    std::vector<Interface> found;
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return found;
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
    for (const ifaddrs* it = list; it != nullptr; it = it->ifa_next) {
        const bool usable = it->ifa_addr != nullptr && it->ifa_addr->sa_family == AF_INET &&
                            (it->ifa_flags & IFF_UP) != 0 && (it->ifa_flags & IFF_LOOPBACK) == 0;
        if (!usable || is_private(it->ifa_name)) continue;
        char text[INET_ADDRSTRLEN] = {};
        const auto* address = reinterpret_cast<const sockaddr_in*>(it->ifa_addr);
        ::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
        found.push_back({it->ifa_name, text, speed_of(it->ifa_name)});
    }
    return found;
}

std::set<std::string> infiniband_ports() {
    std::set<std::string> names;
    std::error_code error;
    for (const auto& device : std::filesystem::directory_iterator("/sys/class/infiniband", error)) {
        for (const auto& port :
             std::filesystem::directory_iterator(device.path() / "ports", error)) {
            names.insert(device.path().filename().string() + ":" + port.path().filename().string());
        }
    }
    return names;
}

// Whether a list such as "eth0,mlx5_0:1" has the name.
bool lists(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        const std::string_view item = list.substr(0, list.find(','));
        if (item == name) return true;
        list.remove_prefix(std::min(item.size() + 1, list.size()));
    }
    return false;
}

}  // namespace

bool only_tcp() {
    return infiniband_ports().empty();
}

std::string network_devices(bool one_host) {
    if (one_host) return "lo";
    std::set<std::string> names = infiniband_ports();
    for (const Interface& interface : interfaces()) names.insert(interface.name);
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
    return list.empty() ? "all" : list;
}

std::vector<std::string> network_addresses(bool one_host) {
    if (one_host) return {"127.0.0.1"};
    const char* wanted = std::getenv("UCX_NET_DEVICES");
    std::vector<Interface> found = interfaces();
    std::stable_sort(found.begin(), found.end(),
                     [](const Interface& a, const Interface& b) { return a.speed > b.speed; });
    std::vector<std::string> all, named;
    for (const Interface& interface : found) {
        all.push_back(interface.address);
        if (wanted != nullptr && lists(wanted, interface.name)) named.push_back(interface.address);
    }
    return named.empty() ? all : named;
}

}  // namespace batchai::coll
