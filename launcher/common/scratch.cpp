// SPDX-License-Identifier: Apache-2.0
#include "launcher/common/scratch.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace batchai::launcher {

namespace fs = std::filesystem;

namespace {

constexpr char kTemporary[] = "/tmp/";
constexpr char kMemory[] = "/dev/shm/";
// No user names a directory so: a sweep would remove it.
constexpr std::string_view kPrefix = "batchai.run.";

// Opens a directory of this user and locks it. Empty: another process holds the lock. It is not a
// sys::FileLock: /tmp belongs to one machine, and on NFS the lock of a directory stays on it.
sys::UniqueFd take_lock(const std::string& path) {
    sys::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info {};
    if (!fd || ::fstat(fd.get(), &info) != 0 || info.st_uid != ::geteuid() ||
        ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        return {};
    }
    return fd;
}

}  // namespace

sys::Result<Scratch> Scratch::make(const std::string& wanted) {
    // The directory gets its final name only when it is locked, so that no sweep removes it as a
    // leftover.
    std::string hidden = std::string(kTemporary) + "." + std::string(kPrefix) + "XXXXXX";
    if (::mkdtemp(hidden.data()) == nullptr) return sys::errno_error("making a directory in /tmp");
    const std::string chosen = hidden.substr(sizeof kTemporary);  // without "/tmp/."
    const auto give_name = [&hidden](const std::string& name) {
        return ::renameat2(AT_FDCWD, hidden.c_str(), AT_FDCWD, (kTemporary + name).c_str(),
                           RENAME_NOREPLACE) == 0;
    };
    // NFS and others know no flags. No other process has the name that mkdtemp() has chosen.
    const auto give_chosen_name = [&] {
        return give_name(chosen) ||
               (errno == EINVAL && ::rename(hidden.c_str(), (kTemporary + chosen).c_str()) == 0);
    };
    std::string name = std::string(kPrefix) + wanted;
    Scratch scratch;
    scratch.lock = take_lock(hidden);
    if (wanted.empty() || !give_name(name)) {
        name = chosen;
        if (!give_chosen_name()) {
            const sys::Error why = sys::errno_error("making " + (kTemporary + name));
            ::rmdir(hidden.c_str());
            return why;
        }
    }
    scratch.directory = kTemporary + name;
    scratch.memory = kMemory + name;
    if (::mkdir(scratch.memory.c_str(), 0700) != 0) scratch.memory.clear();
    return scratch;
}

sys::Result<Scratch> Scratch::make_in(const std::string& parent, const std::string& name) {
    std::string directory = parent + "/" + name + ".XXXXXX";
    if (::mkdtemp(directory.data()) == nullptr)
        return sys::errno_error("making a directory in " + parent);
    return Scratch{directory, {}, {}};
}

void Scratch::remove() const {
    remove_scratch(directory);
}

// Removes the directory in /tmp last, because a sweep finds both by it.
void remove_scratch(const std::string& directory) {
    std::error_code ignored;
    if (directory.starts_with(kTemporary))
        fs::remove_all(kMemory + fs::path(directory).filename().string(), ignored);
    fs::remove_all(directory, ignored);
}

bool sweep_scratch() {
    std::vector<std::string> left;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(kTemporary, error)) {
        const std::string name = entry.path().filename();
        if (name.starts_with(kPrefix) && name.size() == kPrefix.size() + 6) left.push_back(name);
    }
    bool all = true;
    for (const std::string& name : left) {
        struct stat info {};
        if (::lstat((kTemporary + name).c_str(), &info) != 0 || info.st_uid != ::geteuid())
            continue;
        const sys::UniqueFd owned = take_lock(kTemporary + name);
        if (owned) remove_scratch(kTemporary + name);
        all = all && owned;
    }
    return all;
}

}  // namespace batchai::launcher
