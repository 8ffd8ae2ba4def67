# SPDX-License-Identifier: Apache-2.0
"""dead_server.py DIRECTORY FLAG - mounts a file system at DIRECTORY whose server is dead as long as FLAG exists.

It holds sub/file, which says "data". While it is dead the server takes each request and answers none, as one
behind a broken cable. A process that has sent a request then waits, and SIGKILL does not end it. The file
FLAG.asked.NODE says that a request has come. Without FLAG the server answers all requests.
It runs as root in the node's mount namespace, and ends when DIRECTORY is unmounted. It uses /dev/fuse directly."""

import ctypes
import errno
import os
import select
import struct
import sys

DIRECTORY, FLAG = sys.argv[1:]
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE = 1, 2, 3, 14, 15, 17, 18
FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, ACCESS, INTERRUPT, DESTROY, BATCH_FORGET = 25, 26, 27, 28, 29, 34, 36, 38, 42
CHILDREN = {1: {b"sub": 2}, 2: {b"file": 3}}
CONTENT = b"data\n"


def attributes(node):
    mode, size = (0o40755, 0) if node in CHILDREN else (0o100644, len(CONTENT))
    return struct.pack("<6Q10I", node, size, 1, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(opcode, node, body):
    """The answer's body, or a negative errno. Nothing is cached: each look is a request."""
    if opcode == INIT:
        return struct.pack("<4I2H2I2HI7I", 7, 31, 0, 0, 0, 0, 65536, 1, 0, 0, 0, *[0] * 7)
    if opcode == GETATTR:
        return struct.pack("<QII", 0, 0, 0) + attributes(node)
    if opcode == LOOKUP:
        child = CHILDREN.get(node, {}).get(body.rstrip(b"\0"))
        if child is None:
            return -errno.ENOENT
        return struct.pack("<4QII", child, 0, 0, 0, 0, 0) + attributes(child)
    if opcode in (OPEN, OPENDIR):
        return struct.pack("<QII", 0, 1, 0)  # FOPEN_DIRECT_IO
    if opcode == READ:
        _, offset, size = struct.unpack_from("<QQI", body)
        return CONTENT[offset : offset + size]
    if opcode == READDIR:
        return b""
    if opcode == STATFS:
        return bytes(80)
    if opcode in (RELEASE, RELEASEDIR, FLUSH, ACCESS, DESTROY):
        return b""
    return -errno.ENOSYS


def reply(device, request):
    _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
    if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
        return
    body = answer(opcode, node, request[40:])
    code, body = (body, b"") if isinstance(body, int) else (0, body)
    try:
        os.write(device, struct.pack("<IiQ", 16 + len(body), code, unique) + body)
    except FileNotFoundError:  # no process waits for it any more
        pass


def mount(device):
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"dead", DIRECTORY.encode(), b"fuse", 6, options.encode()) != 0:  # nosuid, nodev
        sys.exit(f"{DIRECTORY}: {os.strerror(ctypes.get_errno())}")


def main():
    device = os.open("/dev/fuse", os.O_RDWR)
    mount(device)
    if os.fork() != 0:
        return
    os.setsid()
    waiting = []
    while True:
        if select.select([device], [], [], 0.05)[0]:
            try:
                waiting.append(os.read(device, 1 << 17))
            except OSError as error:
                if error.errno == errno.ENODEV:
                    return
        if os.path.exists(FLAG):
            if waiting:
                open(f"{FLAG}.asked.{os.uname().nodename}", "w").close()
        else:
            for request in waiting:
                reply(device, request)
            waiting = []


main()
