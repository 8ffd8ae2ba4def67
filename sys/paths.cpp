// SPDX-License-Identifier: Apache-2.0
#include "sys/paths.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace batchai::sys {

namespace fs = std::filesystem;

std::string own_executable() {
    std::error_code ignored;
    return fs::read_symlink("/proc/self/exe", ignored);
}

Result<std::string> current_directory() {
    std::error_code nowhere;
    std::string directory = fs::current_path(nowhere);
    if (nowhere) return Error{"the current directory is gone: " + nowhere.message()};
    return directory;
}

namespace {

std::string first_existing(std::initializer_list<std::string> folders, const std::string& name) {
    const fs::path here = fs::path(own_executable()).parent_path();
    for (const std::string& folder : folders) {
        const fs::path file = (here / folder / name).lexically_normal();
        std::error_code ignored;
        if (fs::exists(file, ignored)) return file;
    }
    return {};
}

}  // namespace

std::string program_on_path(const std::string& name) {
    const char* path = std::getenv("PATH");
    std::istringstream directories(path != nullptr ? path : "/usr/bin:/bin");
    for (std::string directory; std::getline(directories, directory, ':');) {
        if (directory.empty()) continue;
        std::string file = directory + "/" + name;
        std::error_code gone;
        if (::access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file, gone)) return file;
    }
    return {};
}

std::string sibling_program(const std::string& name) {
    return first_existing({".", "../libexec/batchai"}, name);
}

std::string sibling_library(const std::string& name) {
    return first_existing({"../lib", "../" BATCHAI_LIBDIR}, name);
}

}  // namespace batchai::sys
