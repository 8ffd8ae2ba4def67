// SPDX-License-Identifier: Apache-2.0
#include "collectives/transport/devices.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include <filesystem>
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

std::set<std::string> interfaces() {
    std::set<std::string> names;
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return names;
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
    for (const ifaddrs* it = list; it != nullptr; it = it->ifa_next) {
        const bool usable = it->ifa_addr != nullptr && it->ifa_addr->sa_family == AF_INET &&
                            (it->ifa_flags & IFF_UP) != 0 && (it->ifa_flags & IFF_LOOPBACK) == 0;
        if (usable && !is_private(it->ifa_name)) names.insert(it->ifa_name);
    }
    return names;
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

}  // namespace

bool only_tcp() {
    return infiniband_ports().empty();
}

std::string network_devices(bool one_host) {
    if (one_host) return "lo";
    std::set<std::string> names = interfaces();
    names.merge(infiniband_ports());
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ",") + name;
    return list.empty() ? "all" : list;
}

}  // namespace batchai::coll
