// SPDX-License-Identifier: Apache-2.0
//
// Walks a path component by component, each relative to the descriptor of the one before, and
// follows symbolic links itself. So the caller decides about every component before it is used, no
// name is looked up twice, and no kernel is too old (openat2(2) is not needed). sys/trusted.hpp,
// sys/user_path.hpp and sys/directories.hpp have the rules.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::sys {

struct PathWalk {
    // Decides about a component before anything is asked about it, because its file server may
    // not answer. Empty: all are good.
    std::function<Result<void>(int component, const std::string& where)> admit = {};
    // Decides about a component that exists, links included; where is its path, for messages. For
    // an absolute path it gets the root directory first.
    std::function<Result<void>(const struct stat& info, const std::string& where)> check = {};
    // Opens a component with O_PATH and O_NOFOLLOW, and may make it first. Invalid, with errno, if
    // it is not there. Empty: open_component.
    std::function<UniqueFd(int above, const char* name)> open = {};
    // The error for a component that cannot be opened, or with EXDEV for one that leads out of top.
    // Empty: errno_error.
    std::function<Error(const std::string& where, int code)> explain = {};
    // A directory, if the path must stay below it: ".." and links must not lead out. The path then
    // starts there, also if it begins with a slash. The caller owns the descriptor.
    int top = -1;
};

// The end of a path. No symbolic link: links are followed, at most 40.
struct Place {
    UniqueFd directory;   // O_PATH
    std::string name;     // in the directory. "." if the path is "/", "." or ends in ".."
    std::string path;     // of both, after all links; for messages
    UniqueFd found;       // O_PATH. Invalid: nothing is there
    struct stat info {};  // of found
};

// An error names the component. A missing last component is not an error.
Result<Place> walk(const std::string& path, const PathWalk& how);

// openat(2) with O_PATH and O_NOFOLLOW.
UniqueFd open_component(int above, const char* name);

}  // namespace batchai::sys
