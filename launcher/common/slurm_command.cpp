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
        std::string file = directory + "/" + name;
        if (::access(file.c_str(), X_OK) == 0) return file;
    }
    return {};
}

sys::Result<std::string> slurm_command(const std::string& name) {
    const std::filesystem::path configured = BATCHAI_SRUN;
    const std::string directory = configured.parent_path();  // empty in the wheel
    std::string path = configured.parent_path() / name;
    if (!directory.empty() && ::access(path.c_str(), X_OK) == 0) return path;
    path = program_on_path(name);
    if (!path.empty()) return path;
    const std::string first = directory.empty() ? "" : "not in " + directory + ", and ";
    return sys::Error{name + ": " + first + "not on the PATH: load Slurm's module"};
}

}  // namespace batchai::launcher
