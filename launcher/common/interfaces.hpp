// SPDX-License-Identifier: Apache-2.0
//
// The network interfaces of this machine.
#pragma once

#include <netinet/in.h>

#include <string>
#include <vector>

#include "sys/result.hpp"

namespace batchai::launcher {

struct Interface {
    std::string name;     // empty: there is none
    std::string address;  // IPv4
};

// Where a program listens.
struct Endpoint {
    std::string address;  // IPv4
    int port = 0;
};

std::string text_of(const in_addr& address);
std::string text_of(const Endpoint& endpoint);  // "address:port"

// Those that are up and have an IPv4 address; once for each.
std::vector<Interface> interfaces();

// The one at our end of a connection: the kernel has chosen it by its routes.
Interface interface_of(int socket);

// The one that is called so, where it has an address.
Interface interface_named(const std::string& name);

// Whether programs of this machine reach each other at 127.0.0.1, as ranks and their agent do.
sys::Result<void> check_loopback();

// Where this machine listens for other nodes: at the address of this interface, if it has one; else
// at the one that the machine's name stands for, which is how Slurm reaches it; else at all
// addresses that are not the machine's own loopback.
std::vector<std::string> addresses_for_nodes(const std::string& interface);

}  // namespace batchai::launcher
