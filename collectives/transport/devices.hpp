// SPDX-License-Identifier: Apache-2.0
//
// The network devices through which nodes reach each other, for UCX_NET_DEVICES.
#pragma once

#include <string>
#include <vector>

namespace batchai::coll {

// On one host: the loopback. Otherwise the devices that are up and the InfiniBand devices. This
// leaves out the loopback and the private networks of container and virtual machine managers, whose
// addresses are the same on every host. "all" if no device remains.
std::string network_devices(bool one_host);
// The IPv4 addresses of this host on the same devices; if UCX_NET_DEVICES is set, on the devices
// that it names. The address of the fastest device comes first, because UCX takes that device.
// Empty if there are none.
std::vector<std::string> network_addresses(bool one_host);
// Whether TCP is the only transport.
bool only_tcp();

}  // namespace batchai::coll
