// SPDX-License-Identifier: Apache-2.0
//
// This machine's network interfaces.
#pragma once

#include <netinet/in.h>

#include <string>
#include <vector>

namespace batchai::launcher {

struct Interface {
    std::string name;     // empty: there is none
    std::string address;  // IPv4
};

std::string text_of(const in_addr& address);

// Those that are up and have an IPv4 address; once for each.
std::vector<Interface> interfaces();

// The one at our end of a connection: the kernel has chosen it by its routes.
Interface interface_of(int socket);

// The one that is called so, where it has an address.
Interface interface_named(const std::string& name);

}  // namespace batchai::launcher
