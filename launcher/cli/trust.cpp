// SPDX-License-Identifier: Apache-2.0
#include "launcher/cli/trust.hpp"

#include <sys/stat.h>

#include <filesystem>

namespace batchai::cli {

sys::Result<void> check_root_owned(const std::string& path) {
    std::error_code error;
    const auto real = std::filesystem::canonical(path, error);
    if (error) return sys::Error{path + ": " + error.message()};
    std::filesystem::path part;
    for (const auto& name : real) {
        part /= name;
        struct stat info = {};
        if (::lstat(part.c_str(), &info) != 0) return sys::errno_error(part);
        if (info.st_uid != 0)
            return sys::Error{part.string() + ": belongs to another user than root: chown root"};
        const bool sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
        if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !sticky)
            return sys::Error{part.string() + ": others can write to it: chmod go-w"};
    }
    return {};
}

}  // namespace batchai::cli
