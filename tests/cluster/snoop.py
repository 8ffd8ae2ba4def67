#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a process can read of others in a /proc that is not its own.

snoop.py serve SOCKET: hands its /proc, open, to each process that connects.
snoop.py look SOCKET FILE: gets one there, and writes to FILE a line "PID WHAT" for each thing of a
process that it could open, read or enter; its own number last, as "self PID", to show that it has looked.
"""

import os
import socket
import sys

THINGS = ("fd/100", "fd/101", "environ", "mem", "maps", "root", "cwd", "exe", "ns/mnt")


def can_have(proc, path):
    """Opens it; reads a byte where that is what the kernel guards."""
    try:
        if path.endswith(("root", "cwd", "exe", "ns/mnt")):
            os.readlink(path, dir_fd=proc)
            return True
        file = os.open(path, os.O_RDONLY, dir_fd=proc)
        try:
            if path.endswith(("environ", "maps")):
                os.read(file, 1)
        finally:
            os.close(file)
        return True
    except OSError:
        return False


def is_own(proc, pid):
    try:
        return os.stat(pid, dir_fd=proc).st_uid == os.getuid()
    except FileNotFoundError:  # it has ended since it was listed
        return False


def look(proc, report):
    own = os.readlink("self", dir_fd=proc) if can_have(proc, "self") else ""
    pids = [name for name in os.listdir(proc) if name.isdigit() and is_own(proc, name)]
    lines = [f"{pid} {thing}" for pid in pids for thing in THINGS if can_have(proc, f"{pid}/{thing}")]
    with open(report + ".new", "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in [*lines, f"self {own}"]))
    os.rename(report + ".new", report)


def main(what, path, report=None):
    if what == "serve":
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path + ".new")
        os.chmod(path + ".new", 0o777)
        listener.listen()
        os.rename(path + ".new", path)
        proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
        while True:
            connection, _ = listener.accept()
            socket.send_fds(connection, [b"x"], [proc])
            connection.close()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        look(socket.recv_fds(connection, 1, 1)[1][0], report)


main(*sys.argv[1:])
