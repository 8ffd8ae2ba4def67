// SPDX-License-Identifier: Apache-2.0
#include "launcher/env/env.hpp"

namespace batchai::launcher::env {

// For torch.distributed's env:// rendezvous, as torchrun sets them.
void add_torch(Environment& environment, const Place& place) {
    environment["RANK"] = std::to_string(place.rank);
    environment["WORLD_SIZE"] = std::to_string(place.size);
    environment["LOCAL_RANK"] = std::to_string(place.local_rank);
    environment["LOCAL_WORLD_SIZE"] = std::to_string(place.local_size);
    environment["GROUP_RANK"] = std::to_string(place.node);
    environment["GROUP_WORLD_SIZE"] = std::to_string(place.nodes);
    environment["ROLE_RANK"] = environment["RANK"];
    environment["ROLE_WORLD_SIZE"] = environment["WORLD_SIZE"];
    environment["ROLE_NAME"] = "default";
    environment["NODE_RANK"] = std::to_string(place.node);
    environment["MASTER_ADDR"] = place.master_address;
    environment["MASTER_PORT"] = std::to_string(place.master_port);
    environment.emplace("OMP_NUM_THREADS", std::to_string(place.cores));
}

}  // namespace batchai::launcher::env
