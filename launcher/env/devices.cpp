// SPDX-License-Identifier: Apache-2.0
#include "launcher/env/env.hpp"

namespace batchai::launcher::env {

void add_devices(Environment& environment, const Place& place) {
    if (!place.networks.empty()) environment.emplace("UCX_NET_DEVICES", place.networks);
    if (!place.visible_gpus.empty()) environment["CUDA_VISIBLE_DEVICES"] = place.visible_gpus;
}

}  // namespace batchai::launcher::env
