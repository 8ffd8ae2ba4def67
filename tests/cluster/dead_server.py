# SPDX-License-Identifier: Apache-2.0
"""dead_server.py DIRECTORY FLAG [FILE] - mounts a file system at DIRECTORY whose server is dead as long as FLAG exists.

It holds sub/file, of root and mode 0444, which says "data", or what FILE says. While it is dead the server takes each
request and answers none, as one behind a broken cable. A process that has sent a request then waits, and SIGKILL does
not end it. If FLAG has names of operations in it, such as "GETATTR STATFS", only those are not answered. The file
FLAG.asked.NODE says that such a request has come, and has the names of these operations. Without FLAG the server
answers all requests.

It runs in the node's mount namespace, and ends when DIRECTORY is unmounted. Root mounts it itself; a user has
fusermount3 do it, with allow_other. It uses /dev/fuse directly."""

import ctypes
import errno
import os
import select
import socket
import struct
import subprocess
import sys

DIRECTORY, FLAG = sys.argv[1:3]
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, GETXATTR, LISTXATTR = 1, 2, 3, 14, 15, 17, 18, 22, 23
FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, ACCESS, INTERRUPT, DESTROY, BATCH_FORGET = 25, 26, 27, 28, 29, 34, 36, 38, 42
CHILDREN = {1: {b"sub": 2}, 2: {b"file": 3}}
CONTENT = open(sys.argv[3], "rb").read() if len(sys.argv) > 3 else b"data\n"
NAMES = {
    "LOOKUP": LOOKUP, "GETATTR": GETATTR, "OPEN": OPEN, "READ": READ, "STATFS": STATFS, "RELEASE": RELEASE,
    "GETXATTR": GETXATTR, "LISTXATTR": LISTXATTR, "FLUSH": FLUSH, "OPENDIR": OPENDIR, "READDIR": READDIR,
}  # fmt: skip
ALL = set(range(1, 64)) - {FORGET, BATCH_FORGET, INTERRUPT}


def attributes(node):
    mode, size = (0o40755, 0) if node in CHILDREN else (0o100444, len(CONTENT))
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


def mount():
    """/dev/fuse, mounted at DIRECTORY."""
    if os.geteuid() != 0:
        ours, theirs = socket.socketpair()
        environment = dict(os.environ, _FUSE_COMMFD=str(theirs.fileno()))
        command = ["fusermount3", "-o", "allow_other", "--", DIRECTORY]
        if subprocess.call(command, pass_fds=[theirs.fileno()], env=environment) != 0:
            sys.exit(1)
        return socket.recv_fds(ours, 1, 1)[1][0]
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"dead", DIRECTORY.encode(), b"fuse", 6, options.encode()) != 0:  # nosuid, nodev
        sys.exit(f"{DIRECTORY}: {os.strerror(ctypes.get_errno())}")
    return device


def unanswered():
    """The operations that are not answered now."""
    try:
        with open(FLAG) as flag:
            names = flag.read().split()
    except FileNotFoundError:
        return set()
    return {NAMES[name] for name in names} or ALL


def say_asked(requests):
    name_of = {number: name for name, number in NAMES.items()}
    opcodes = {struct.unpack_from("<II", request)[1] for request in requests}
    with open(f"{FLAG}.asked.{os.uname().nodename}", "w") as asked:
        print(*(name_of.get(opcode, opcode) for opcode in sorted(opcodes)), file=asked)


def main():
    device = mount()
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
        kept, dead = [], unanswered()
        for request in waiting:
            if struct.unpack_from("<II", request)[1] in dead:
                kept.append(request)
            else:
                reply(device, request)
        if kept:
            say_asked(kept)
        waiting = kept


main()
