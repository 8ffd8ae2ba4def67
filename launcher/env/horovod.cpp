// SPDX-License-Identifier: Apache-2.0
#include "launcher/env/env.hpp"

namespace batchai::launcher::env {

void add_horovod(Environment& environment, const Place& place) {
    environment["HOROVOD_RANK"] = std::to_string(place.rank);
    environment["HOROVOD_SIZE"] = std::to_string(place.size);
    environment["HOROVOD_LOCAL_RANK"] = std::to_string(place.local_rank);
    environment["HOROVOD_LOCAL_SIZE"] = std::to_string(place.local_size);
    environment["HOROVOD_CROSS_RANK"] = std::to_string(place.cross_rank);
    environment["HOROVOD_CROSS_SIZE"] = std::to_string(place.cross_size);
    environment["HOROVOD_HOSTNAME"] = place.node_name;
    // An outer launcher's server knows other ranks. Horovod itself decides whether it uses Gloo.
    environment.erase("HOROVOD_GLOO_RENDEZVOUS_ADDR");
    environment.erase("HOROVOD_GLOO_RENDEZVOUS_PORT");
    if (place.rendezvous_port == 0) return;
    environment["HOROVOD_GLOO_RENDEZVOUS_ADDR"] = "127.0.0.1";
    environment["HOROVOD_GLOO_RENDEZVOUS_PORT"] = std::to_string(place.rendezvous_port);
}

}  // namespace batchai::launcher::env
