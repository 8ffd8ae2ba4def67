#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""detached_tree.py PATH FILE - opens PATH in a mount that is nowhere, as a user may in a user namespace.

On Linux 6.15 and later, the kernel shows such a directory's path as if its mount were the root. Writes to FILE where others find
the open directory, /proc/PID/fd/N, and waits for its end.
"""
import ctypes
import os
import signal
import sys

FSOPEN, FSCONFIG, FSMOUNT, FSCONFIG_CMD_CREATE = 430, 431, 432, 6
libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        sys.exit("system call {}: {}".format(number, os.strerror(ctypes.get_errno())))
    return result


context = call(FSOPEN, b"tmpfs", 0)
call(FSCONFIG, context, FSCONFIG_CMD_CREATE, None, None, 0)
at = call(FSMOUNT, context, 0, 0)
for name in sys.argv[1].strip("/").split("/"):
    os.mkdir(name, dir_fd=at)
    at = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
with open("file", "w", opener=lambda path, flags: os.open(path, flags, dir_fd=at)) as file:
    file.write("forged\n")
with open(sys.argv[2], "w") as file:
    file.write("/proc/{}/fd/{}\n".format(os.getpid(), at))
signal.pause()
