// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <string>
#include <vector>

#include "job/size.hpp"
#include "spank/helper/fields.hpp"
#include "spank/helper/files.hpp"
#include "spank/helper/root/kernel_mount.hpp"
#include "sys/unique_fd.hpp"

namespace batchai::spank {
namespace {

sys::Result<std::vector<std::string>> attribute_names(const std::string& path) {
    std::string names(64 * 1024, '\0');  // the kernel's limit
    const ssize_t size = listxattr(path.c_str(), names.data(), names.size());
    if (size < 0 && errno == ENOTSUP) return std::vector<std::string>();
    if (size < 0) return sys::errno_error("extended attributes");
    names.resize(static_cast<std::size_t>(size));
    return split_nonempty(names, '\0');
}

sys::Result<void> copy_attribute(const std::string& from, int to, const std::string& name) {
    std::string value(64 * 1024, '\0');
    const ssize_t size = getxattr(from.c_str(), name.c_str(), value.data(), value.size());
    if (size >= 0 &&
        fsetxattr(to, name.c_str(), value.data(), static_cast<std::size_t>(size), 0) == 0)
        return {};
    // Access lists are "system." attributes. A security module checks the source itself. Some
    // kernels' tmpfs does not take the other attributes, which do not decide about access.
    if (!name.starts_with("system.")) return {};
    return sys::Error{"the source has the attribute " + name +
                      ", which an overlay cannot keep: mount the source with bind"};
}

sys::Result<void> copy_access(int from, int to) {
    struct stat info = {};
    if (fstat(from, &info) != 0) return sys::errno_error("the source");
    if (fchown(to, info.st_uid, info.st_gid) != 0 || fchmod(to, info.st_mode & 07777) != 0)
        return sys::errno_error("the overlay's upper directory");
    const std::string source = fd_path(from);  // O_PATH, so fgetxattr does not work
    const auto names = attribute_names(source);
    if (!names) return names.error();
    for (const auto& name : *names)
        if (!name.starts_with("trusted.overlay."))
            if (auto copied = copy_attribute(source, to, name); !copied) return copied;
    return {};
}

sys::Result<sys::UniqueFd> make_directory(int at, const char* name) {
    if (mkdirat(at, name, 0700) != 0) return sys::errno_error(name);
    sys::UniqueFd made(openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!made) return sys::errno_error(name);
    return made;
}

}  // namespace

sys::Result<void> mount_overlay(const job::Mount& mount, int lower, int target) {
    const auto memory = make_file_system(
        "tmpfs", {{"mode", "0700"}, {"size", std::to_string(*job::parse_size(mount.size))}}, mount);
    if (!memory) return memory.error();
    const auto upper = make_directory(memory->get(), "upper");
    if (!upper) return upper.error();
    const auto work = make_directory(memory->get(), "work");
    if (!work) return work.error();
    if (auto copied = copy_access(lower, upper->get()); !copied) return copied;
    // Kernels before 6.15 make an overlay of attached mounts only.
    if (auto attached = attach(memory->get(), target); !attached) return attached;
    const auto made = make_file_system("overlay",
                                       {{"redirect_dir", "nofollow"},
                                        {"lowerdir", fd_path(lower)},
                                        {"upperdir", fd_path(upper->get())},
                                        {"workdir", fd_path(work->get())}},
                                       mount);
    if (!made) return made.error();
    return attach(made->get(), memory->get());
}

}  // namespace batchai::spank
