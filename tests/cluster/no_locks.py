#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""no_locks.py ERROR COMMAND [ARGUMENT]... - runs the command where the kernel answers ERROR, such as ENOSYS, to fcntl's locks.

So it is on Lustre without the mount option flock (ENOSYS), and on NFS 3 without rpc.statd (ENOLCK). A seccomp filter
answers in the file system's place.
"""
import ctypes
import errno
import fcntl
import os
import platform
import struct
import sys

LOCKS = (fcntl.F_SETLK, fcntl.F_SETLKW, 37, 38)  # and F_OFD_SETLK, F_OFD_SETLKW
NUMBER = {"x86_64": 72, "aarch64": 25}[platform.machine()]  # of fcntl
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ANSWER = 0x7FFF0000, 0x00050000


def main():
    answer = ANSWER | getattr(errno, sys.argv[1])
    lines = [(LOAD, 0, 0, 0), (IF_EQUAL, 0, len(LOCKS) + 1, NUMBER), (LOAD, 0, 0, 24)]
    lines += [(IF_EQUAL, len(LOCKS) - i, 0, command) for i, command in enumerate(LOCKS)]
    lines += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, answer)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(lines), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
                      (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0)):
        if libc.prctl(*arguments) != 0:
            sys.exit("no_locks.py: %s" % os.strerror(ctypes.get_errno()))
    os.execvp(sys.argv[2], sys.argv[2:])


main()
