// SPDX-License-Identifier: Apache-2.0
#include "launcher/env/env.hpp"

namespace batchai::launcher::env {

void add_batchai(Environment& environment, const Place& place, const std::string& python_directory,
                 const std::string& library) {
    const std::string& horovod = environment.emplace(kHorovod, "auto").first->second;
    if (!python_directory.empty() && horovod != "system") {
        std::string& path = environment["PYTHONPATH"];
        const bool is_first = path == python_directory || path.starts_with(python_directory + ":");
        if (!is_first) path = path.empty() ? python_directory : python_directory + ":" + path;
    }
    if (!library.empty()) environment.emplace("BATCHAI_COLLECTIVES_LIBRARY", library);
    environment.emplace("PYTHONUNBUFFERED", "1");  // lines appear when they are printed
    environment["BATCHAI_NODE_NAME"] = place.node_name;
}

}  // namespace batchai::launcher::env
