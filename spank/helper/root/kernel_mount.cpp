// SPDX-License-Identifier: Apache-2.0
#include "spank/helper/root/kernel_mount.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "spank/linux_calls.hpp"

namespace batchai::spank {
namespace {

std::uint64_t attributes_of(const job::Mount& mount) {
    std::uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    if (mount.read_only) attributes |= MOUNT_ATTR_RDONLY;
    if (mount.no_exec) attributes |= MOUNT_ATTR_NOEXEC;
    return attributes;
}

// errno's text after a call of ours. mount_setattr is the newest of them.
sys::Error call_error(const std::string& what) {
    if (errno == ENOSYS) return sys::Error{what + ": the node's kernel is older than Linux 5.12"};
    return sys::errno_error(what);
}

// The kernel's last message about a file system that is being made, else the errno's text.
sys::Error complaint(int context, const std::string& what) {
    const sys::Error by_number = sys::errno_error(what);
    std::string last;
    char buffer[1024];
    for (ssize_t n; (n = read(context, buffer, sizeof buffer)) > 0;) {
        std::string line(buffer, static_cast<std::size_t>(n));
        while (line.ends_with('\n')) line.pop_back();
        if (line.starts_with("e ")) last = line.substr(2);
    }
    return last.empty() ? by_number : sys::Error{by_number.message + " (" + last + ")"};
}

sys::Result<void> add_attributes(int mount, std::uint64_t attributes, unsigned flags) {
    struct mount_attr change = {};
    change.attr_set = attributes;
    if (mount_setattr(mount, "", AT_EMPTY_PATH | flags, &change, sizeof change) != 0)
        return call_error("mount_setattr");
    return {};
}

}  // namespace

Parameter parameter_of(const std::string& option) {
    const std::size_t equals = option.find('=');
    if (equals == option.npos) return {option, "", true};
    return {option.substr(0, equals), option.substr(equals + 1), false};
}

sys::Result<sys::UniqueFd> make_file_system(const std::string& type,
                                            const std::vector<Parameter>& parameters,
                                            const job::Mount& mount) {
    const sys::UniqueFd context(fsopen(type.c_str(), FSOPEN_CLOEXEC));
    if (!context && errno == ENODEV) return sys::Error{"the node's kernel does not know " + type};
    if (!context) return call_error(type);
    for (const Parameter& parameter : parameters) {
        const auto command = parameter.is_flag ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING;
        const char* value = parameter.is_flag ? nullptr : parameter.value.c_str();
        // A value may be a password.
        if (fsconfig(context.get(), command, parameter.key.c_str(), value, 0) != 0)
            return complaint(context.get(), "option " + parameter.key);
    }
    if (fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
        return complaint(context.get(), type);
    sys::UniqueFd made(
        fsmount(context.get(), FSMOUNT_CLOEXEC, static_cast<unsigned>(attributes_of(mount))));
    if (!made) return complaint(context.get(), type);
    return made;
}

sys::Result<sys::UniqueFd> copy_tree(int directory, const job::Mount& mount) {
    sys::UniqueFd tree(open_tree(
        directory, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
    if (!tree) return call_error("open_tree");
    if (auto set = add_attributes(tree.get(), attributes_of(mount), AT_RECURSIVE); !set)
        return set.error();
    return tree;
}

sys::Result<void> set_read_only(int mount) {
    return add_attributes(mount, MOUNT_ATTR_RDONLY, 0);
}

sys::Result<void> attach(int mount, int target) {
    if (move_mount(mount, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
        return sys::errno_error("move_mount");
    return {};
}

}  // namespace batchai::spank
