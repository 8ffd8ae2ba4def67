// SPDX-License-Identifier: Apache-2.0
//
// Directories and files of a share, seen from this machine and with the user's rights. No path and
// no symbolic link leads out of the share. Reading follows the links inside it, of any user.
// Writing to a share, and the local side of a copy, follow the rules of sys/user_path.hpp: no link
// of another user. A copy appears complete or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sys/result.hpp"
#include "sys/unique_fd.hpp"
#include "sys/user_path.hpp"

namespace batchai::cli {

// Called during a copy with the bytes copied so far and the size of the file.
using Progress = std::function<void(std::int64_t, std::int64_t)>;

struct ShareEntry {
    std::string name;
    bool is_directory = false;
    std::int64_t size = 0;
    double modified = 0;
    mode_t mode = 0;  // not that of a link's target
};

// All files below a directory, with their paths relative to it, sorted. Symbolic links are listed
// and not followed. O_PATH suffices for the descriptor.
sys::Result<std::vector<ShareEntry>> files_below(int directory);

class ShareFiles {
  public:
    // root: the share's login_path.
    static sys::Result<ShareFiles> open(const std::string& root);

    // True: it was made. False: it existed. The parent directory must exist.
    sys::Result<bool> make_directory(const std::string& path) const;

    // Also makes the parents, because a blob's name may contain slashes. "" is the share's top.
    sys::Result<void> make_directories(const std::string& path) const;

    // Removes a file, or an empty directory. False: it does not exist.
    sys::Result<bool> remove_file(const std::string& path) const;
    sys::Result<bool> remove_directory(const std::string& path) const;

    // Copies a local file to path. The file must be a regular one. If path is a directory ("" is
    // the share's top), the copy has the file's name in it. Returns the path on the share.
    sys::Result<std::string> upload(const std::string& source, const std::string& path,
                                    const Progress&) const;

    // Copies path to a local file, or into a local directory. Returns the path of the copy.
    sys::Result<std::string> download(const std::string& path, const std::string& destination,
                                      const Progress&) const;

    // Whether a directory, or a file that is not one, is at path.
    bool is_directory(const std::string& path) const;
    bool is_file(const std::string& path) const;

    // Sorted by name.
    sys::Result<std::vector<ShareEntry>> list(const std::string& path) const;

    // files_below() of a directory.
    sys::Result<std::vector<ShareEntry>> tree(const std::string& path) const;

  private:
    explicit ShareFiles(std::string root, sys::UniqueFd top)
        : root_(std::move(root)), top_(std::move(top)) {}
    // To read, a link of any user is followed, because it cannot lead out of the share.
    enum class For { reading, writing };
    sys::Result<sys::Place> find(const std::string& path, For) const;
    sys::Result<sys::UniqueFd> open_directory(const std::string& path, For) const;
    sys::Result<bool> remove(const std::string& path, int flags) const;

    std::string root_;
    sys::UniqueFd top_;
};

}  // namespace batchai::cli
