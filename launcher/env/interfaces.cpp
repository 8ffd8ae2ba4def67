// SPDX-License-Identifier: Apache-2.0
#include "launcher/env/env.hpp"

namespace batchai::launcher::env {

// UCX_NET_DEVICES is not set: an interface there would exclude the RDMA devices that UCX prefers.
void add_network(Environment& environment, const Place& place) {
    if (place.interface.empty()) return;
    environment.emplace("GLOO_SOCKET_IFNAME", place.interface);
    environment.emplace("HOROVOD_GLOO_IFACE", place.interface);
    environment.emplace("NCCL_SOCKET_IFNAME", "=" + place.interface);  // eth1, but not eth10
    // Open MPI tries all interfaces, unless the user has named one.
    if (place.interface_asked && !environment.contains("OMPI_MCA_btl_tcp_if_exclude")) {
        environment.emplace("OMPI_MCA_btl_tcp_if_include", place.interface);
    }
}

}  // namespace batchai::launcher::env
