// SPDX-License-Identifier: Apache-2.0
//
// System calls for which glibc has functions since 2.36: the mount calls of Linux 5.2 and 5.12, and
// descriptors of processes. With an older glibc (Ubuntu 22.04, RHEL 9) this header calls them by
// number. On an older kernel they fail with ENOSYS.
#pragma once

#include <sys/mount.h>
#include <sys/types.h>

#if __GLIBC_PREREQ(2, 36)

extern "C" {
#include <sys/pidfd.h>  // C only in glibc 2.36
}

#else

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
// <linux/mount.h> has these too, and cannot be included beside <sys/mount.h>.
#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#define OPEN_TREE_CLOEXEC O_CLOEXEC
#define MOVE_MOUNT_F_EMPTY_PATH 0x04
#define MOVE_MOUNT_T_EMPTY_PATH 0x40
#define FSOPEN_CLOEXEC 1
#define FSMOUNT_CLOEXEC 1
#define MOUNT_ATTR_RDONLY 1
#define MOUNT_ATTR_NOSUID 2
#define MOUNT_ATTR_NODEV 4
#define MOUNT_ATTR_NOEXEC 8
enum fsconfig_command { FSCONFIG_SET_FLAG = 0, FSCONFIG_SET_STRING = 1, FSCONFIG_CMD_CREATE = 6 };
struct mount_attr {
    uint64_t attr_set, attr_clr, propagation, userns_fd;
};
#endif

inline int fsopen(const char* type, unsigned flags) {
    return static_cast<int>(syscall(SYS_fsopen, type, flags));
}
inline int fsconfig(int context, unsigned command, const char* key, const void* value, int more) {
    return static_cast<int>(syscall(SYS_fsconfig, context, command, key, value, more));
}
inline int fsmount(int context, unsigned flags, unsigned attributes) {
    return static_cast<int>(syscall(SYS_fsmount, context, flags, attributes));
}
inline int open_tree(int directory, const char* path, unsigned flags) {
    return static_cast<int>(syscall(SYS_open_tree, directory, path, flags));
}
inline int move_mount(int from, const char* from_path, int to, const char* to_path,
                      unsigned flags) {
    return static_cast<int>(syscall(SYS_move_mount, from, from_path, to, to_path, flags));
}
inline int mount_setattr(int directory, const char* path, unsigned flags, mount_attr* change,
                         size_t size) {
    return static_cast<int>(syscall(SYS_mount_setattr, directory, path, flags, change, size));
}
inline int pidfd_open(pid_t pid, unsigned flags) {
    return static_cast<int>(syscall(SYS_pidfd_open, pid, flags));
}
inline int pidfd_send_signal(int pidfd, int number, siginfo_t* info, unsigned flags) {
    return static_cast<int>(syscall(SYS_pidfd_send_signal, pidfd, number, info, flags));
}

#endif
