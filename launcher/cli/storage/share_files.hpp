// SPDX-License-Identifier: Apache-2.0
//
// Directories and files of a share, as this machine sees it and as the user. Every path is resolved
// below the share by the kernel (openat2, RESOLVE_BENEATH): neither ".." nor a symbolic link leads
// out of it. A copy appears whole or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::cli {

// Called while a copy runs, with the bytes so far and those of the whole file.
using Progress = std::function<void(std::int64_t, std::int64_t)>;

struct ShareEntry {
    std::string name;
    bool is_directory = false;
    std::int64_t size = 0;
    double modified = 0;
};

class ShareFiles {
  public:
    // root: the share's login_path.
    static sys::Result<ShareFiles> open(const std::string& root);

    // True: made; false: it was there. Its parent must exist.
    sys::Result<bool> make_directory(const std::string& path) const;

    // With its parents: a blob's name may hold slashes. "" is the share's top.
    sys::Result<void> make_directories(const std::string& path) const;

    // A file, or a directory that is empty. False: there is none.
    sys::Result<bool> remove_file(const std::string& path) const;
    sys::Result<bool> remove_directory(const std::string& path) const;

    // Copies a local file to path; where path is a directory ("" is the share's top), into it under
    // the file's own name. Returns the path on the share.
    sys::Result<std::string> upload(const std::string& source, const std::string& path,
                                    const Progress&) const;

    // Copies path to a local file; where destination is a directory, into it. Returns where it is.
    sys::Result<std::string> download(const std::string& path, const std::string& destination,
                                      const Progress&) const;

    // By name.
    sys::Result<std::vector<ShareEntry>> list(const std::string& path) const;

    // Every file below a directory, by its path from there. Symbolic links are not followed.
    sys::Result<std::vector<ShareEntry>> tree(const std::string& path) const;

  private:
    explicit ShareFiles(std::string root, sys::UniqueFd top)
        : root_(std::move(root)), top_(std::move(top)) {}
    sys::Result<sys::UniqueFd> open_below(const std::string& path, int flags) const;
    bool is_directory(const std::string& path) const;
    sys::Result<bool> remove(const std::string& path, int flags) const;
    sys::Result<void> add_tree(const std::string& top, const std::string& below,
                               std::vector<ShareEntry>&) const;

    std::string root_;
    sys::UniqueFd top_;
};

}  // namespace batchai::cli
