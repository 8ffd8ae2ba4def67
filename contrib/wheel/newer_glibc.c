// SPDX-License-Identifier: Apache-2.0
//
// Functions that batchai calls and that the wheel's glibc does not have, for the programs and
// libraries of the wheel alone. The system calls are as old as memory files (Linux 3.17).
#include "newer_glibc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

int memfd_create(const char* name, unsigned int flags) {
    return (int)syscall(SYS_memfd_create, name, flags);
}

ssize_t getrandom(void* buffer, size_t length, unsigned int flags) {
    return syscall(SYS_getrandom, buffer, length, flags);
}

// Before Linux 5.9, or 5.11 for the flag: each descriptor by itself. Called between fork and exec,
// so without malloc.
static int set_each(unsigned int first, unsigned int last) {
    struct Entry {
        unsigned long long inode;
        long long offset;
        unsigned short size;
        unsigned char type;
        char name[];
    };
    const int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return -1;
    _Alignas(struct Entry) char bytes[4096];
    long size = 0;
    while ((size = syscall(SYS_getdents64, directory, bytes, sizeof bytes)) > 0) {
        for (long at = 0; at < size; at += ((struct Entry*)(bytes + at))->size) {
            const unsigned int fd =
                (unsigned int)atoi(((struct Entry*)(bytes + at))->name);  // "." is 0
            if (fd >= first && fd <= last) fcntl((int)fd, F_SETFD, FD_CLOEXEC);
        }
    }
    close(directory);
    return (int)size;
}

int close_range(unsigned int first, unsigned int last, int flags) {
    const int result = (int)syscall(SYS_close_range, first, last, flags);
    const int can_be_done = first > 0 && flags == CLOSE_RANGE_CLOEXEC;
    return result != 0 && can_be_done && (errno == ENOSYS || errno == EINVAL || errno == EPERM)
               ? set_each(first, last)
               : result;
}

const char* sigabbrev_np(int signal) {
    static const char* const names[] = {
        "",     "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
        "SEGV", "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
        "TTOU", "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS"};
    return signal > 0 && signal < (int)(sizeof names / sizeof *names) ? names[signal] : NULL;
}
