// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "launcher/env/env.hpp"

namespace batchai::launcher::env {

// TF_CONFIG, which tf.distribute reads. All ranks are workers.
void add_tensorflow(Environment& environment, const Place& place,
                    const std::vector<std::string>& workers) {
    if (workers.empty()) return;
    environment.emplace(
        "TF_CONFIG",
        fmt::format(R"({{"cluster":{{"worker":["{}"]}},"task":{{"type":"worker","index":{}}}}})",
                    fmt::join(workers, "\",\""), place.rank));
}

}  // namespace batchai::launcher::env
