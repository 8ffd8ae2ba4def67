// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/paths.hpp"

#include <filesystem>

namespace batchai::launcher {

namespace fs = std::filesystem;

std::string own_executable() {
    std::error_code ignored;
    return fs::read_symlink("/proc/self/exe", ignored);
}

sys::Result<std::string> current_directory() {
    std::error_code nowhere;
    std::string directory = fs::current_path(nowhere);
    if (nowhere) return sys::Error{"the current directory is gone: " + nowhere.message()};
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

std::string sibling_program(const std::string& name) {
    return first_existing({".", "../libexec/batchai"}, name);
}

std::string sibling_library(const std::string& name) {
    return first_existing({"../lib", "../" BATCHAI_LIBDIR}, name);
}

}  // namespace batchai::launcher
