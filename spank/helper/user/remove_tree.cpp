// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/user/remove_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <string_view>

#include "sys/unique_fd.hpp"

namespace batchai::spank {
namespace {

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

// Opens the directory of that name. A directory of the user is made accessible first.
sys::UniqueFd open_here(int at, const char* name) {
    struct open_how how = {};
    how.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS;
    const sys::UniqueFd found(static_cast<int>(syscall(SYS_openat2, at, name, &how, sizeof how)));
    if (!found) return {};
    const std::string self = "/proc/self/fd/" + std::to_string(found.get());
    chmod(self.c_str(), S_IRWXU);
    return sys::UniqueFd(open(self.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Empties a directory, the top, in constant space. It removes files and empty directories, and
// moves directories with entries up into the top.
class Emptying {
  public:
    explicit Emptying(int top) : top_(top) {}

    void run() {
        while (progress_) {
            progress_ = false;
            for_each_rest(open_here(top_, "."), [this](int at, const char* name) {
                for_each_rest(open_here(at, name),
                              [this](int below, const char* inner) { move_up(below, inner); });
                progress_ = unlinkat(at, name, AT_REMOVEDIR) == 0 || progress_;
            });
        }
    }

  private:
    // Removes the entries that can be removed at once. f(directory, name) handles the rest, which
    // are directories.
    template <class F>
    void for_each_rest(sys::UniqueFd fd, F f) {
        const Directory directory(fd ? fdopendir(fd.get()) : nullptr, closedir);
        if (!directory) return;
        const int at = fd.release();
        while (const dirent* entry = readdir(directory.get())) {
            const std::string_view name = entry->d_name;
            if (name == "." || name == "..") continue;
            if (unlinkat(at, entry->d_name, 0) == 0 ||
                unlinkat(at, entry->d_name, AT_REMOVEDIR) == 0)
                progress_ = true;
            else if (errno == ENOTEMPTY || errno == EEXIST)
                f(at, entry->d_name);
        }
    }

    void move_up(int at, const char* name) {
        (void)open_here(at, name);  // only a directory that can be written to can be moved
        char free_name[32];
        do {
            snprintf(free_name, sizeof free_name, ".batchai.%llu", number_++);
            if (renameat(at, name, top_, free_name) == 0) {
                progress_ = true;
                return;
            }
        } while (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR);
    }

    int top_;
    bool progress_ = true;
    unsigned long long number_ = 0;
};

}  // namespace

bool remove_tree(const std::string& path) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return false;
    const std::string name = path.substr(slash + 1);
    const sys::UniqueFd parent(
        open(path.substr(0, slash + 1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const sys::UniqueFd top = open_here(parent.get(), name.c_str());
    if (top) Emptying(top.get()).run();
    // This may also be another file that the user put in its place.
    return unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) == 0 ||
           unlinkat(parent.get(), name.c_str(), 0) == 0 || errno == ENOENT;
}

}  // namespace batchai::spank
