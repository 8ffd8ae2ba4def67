// SPDX-License-Identifier: Apache-2.0
//
// The network interface through which a node reaches the others.
#pragma once

#include <string>

namespace batchai::launcher {

struct Interface {
    std::string name;     // empty: there is none
    std::string address;  // IPv4
};

// The one at our end of a connection: the kernel has chosen it by its routes.
Interface interface_of(int socket);

// The one that is called so, where it has an address.
Interface interface_named(const std::string& name);

}  // namespace batchai::launcher
