// SPDX-License-Identifier: Apache-2.0
#include "launcher/env/env.hpp"

#include <filesystem>

namespace batchai::launcher::env {
namespace {

void put_first(std::string& path, const std::string& directory) {
    const bool is_first = path == directory || path.starts_with(directory + ":");
    if (!is_first) path = path.empty() ? directory : directory + ":" + path;
}

}  // namespace

void add_batchai(Environment& environment, const Place& place, const std::string& python_directory,
                 const std::string& library) {
    const std::string& horovod = environment.emplace(kHorovod, "auto").first->second;
    if (!python_directory.empty()) {
        std::string path = value_of(environment, "PYTHONPATH");
        if (horovod != "system") put_first(path, python_directory);
        if (const std::string compat = value_of(environment, kCompat); !compat.empty()) {
            const auto beside = std::filesystem::path(python_directory).parent_path() / "compat";
            put_first(path, (beside / compat).string());
        }
        if (!path.empty()) environment["PYTHONPATH"] = path;
    }
    if (!library.empty()) environment.emplace("BATCHAI_COLLECTIVES_LIBRARY", library);
    environment.emplace("PYTHONUNBUFFERED", "1");  // lines appear as soon as they are printed
    environment["BATCHAI_NODE_NAME"] = place.node_name;
}

}  // namespace batchai::launcher::env
