// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/slurm_command.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace batchai::launcher {

std::string program_on_path(const std::string& name) {
    const char* path = std::getenv("PATH");
    std::istringstream directories(path != nullptr ? path : "/usr/bin:/bin");
    for (std::string directory; std::getline(directories, directory, ':');) {
        if (directory.empty()) continue;
        std::string file = directory + "/" + name;
        std::error_code gone;
        if (::access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file, gone))
            return file;
    }
    return {};
}

sys::Result<std::string> slurm_command(const std::string& name) {
    std::string path = program_on_path(name);
    if (!path.empty()) return path;
    const auto directory = std::filesystem::path(BATCHAI_SRUN).parent_path();  // empty in the wheel
    path = directory / name;
    if (!directory.empty() && ::access(path.c_str(), X_OK) == 0) return path;
    const std::string where = directory.empty() ? "" : ", and not in " + directory.string();
    return sys::Error{name + ": not on the PATH" + where +
                      ": load Slurm's module, or install its client commands"};
}

}  // namespace batchai::launcher
