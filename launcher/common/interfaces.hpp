// SPDX-License-Identifier: Apache-2.0
//
// The network interfaces of this machine.
#pragma once

#include <netinet/in.h>

#include <optional>
#include <string>
#include <vector>

#include "sys/result.hpp"

namespace batchai::launcher {

struct Interface {
    std::string name;     // empty: no interface
    std::string address;  // IPv4
};

// The address and port of a listening program.
struct Endpoint {
    std::string address;  // IPv4
    int port = 0;
};

std::string text_of(const in_addr& address);
std::string text_of(const Endpoint& endpoint);  // "address:port"
// The endpoint for bind() and connect(). nullopt: its address is not an IPv4 address.
std::optional<sockaddr_in> socket_address(const Endpoint& endpoint);

// The interfaces that are up and have an IPv4 address, each once.
std::vector<Interface> interfaces();

// The interface at our end of a connection. The kernel has chosen it by its routes.
Interface interface_of(int socket);

// The interface of that name; empty if it has no IPv4 address.
Interface interface_named(const std::string& name);

// An error if programs on this machine cannot reach each other at 127.0.0.1. Ranks reach their
// agent there.
sys::Result<void> check_loopback();

// The addresses at which this machine listens for other nodes. The first that exists counts: the
// address of this interface; the address of the machine's host name, by which Slurm reaches it; all
// addresses except loopback ones.
std::vector<std::string> addresses_for_nodes(const std::string& interface);

}  // namespace batchai::launcher
