// SPDX-License-Identifier: Apache-2.0
//
// Which network devices nodes reach each other through, for UCX_NET_DEVICES.
#pragma once

#include <string>
#include <vector>

namespace batchai::coll {

// On one host: the loopback. Else what is up, but for the loopback and the private networks of
// container and virtual machine managers, whose addresses are the same on every host; and the
// InfiniBand devices. "all" where nothing remains.
std::string network_devices(bool one_host);
// The IPv4 addresses of this host that the nodes reach each other by, of the same devices: of those
// that UCX_NET_DEVICES names where it names some. The fastest device's comes first, which is the
// one that UCX takes. Empty where there are none.
std::vector<std::string> network_addresses(bool one_host);
// Whether there is nothing but TCP.
bool only_tcp();

}  // namespace batchai::coll
