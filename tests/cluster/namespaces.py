#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""namespaces.py many|slow|changing FILE - processes with mount namespaces of their own, for seconds.

many      150 copies of this one, whose numbers are free as soon as their processes are killed
slow      20 with 8,000 mounts each, which take time to read
changing  8 processes that take a new namespace again and again; writes to FILE how many of them did not end by themselves

Once all have their first namespace, FILE.there is written.
"""
import ctypes
import os
import sys
import time

NEWUSER, NEWNS, BIND = 0x10000000, 0x20000, 4096
libc = ctypes.CDLL(None, use_errno=True)
role, answer = sys.argv[1:]
seconds = {"many": 60, "slow": 12, "changing": 9}[role]


def unshare(flags):
    if libc.unshare(flags) != 0:
        sys.exit("unshare: " + os.strerror(ctypes.get_errno()))


def say(suffix, text):
    with open(answer + ".new", "w") as file:
        file.write(text + "\n")
    os.rename(answer + ".new", answer + suffix)


def child(work):
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    return pid


def come():
    unshare(NEWNS)
    os.write(arrivals[1], b"x")


def stay():
    come()
    time.sleep(seconds)


def change():
    come()
    end = time.time() + seconds
    while time.time() < end:
        unshare(NEWNS)
        time.sleep(0.03)


uid, gid = os.getuid(), os.getgid()
if uid != 0:
    unshare(NEWUSER)
    for name, text in ("setgroups", "deny"), ("uid_map", "0 {} 1".format(uid)), ("gid_map", "0 {} 1".format(gid)):
        with open("/proc/self/" + name, "w") as file:
            file.write(text)
if role == "slow":
    unshare(NEWNS)
    libc.mount(b"slow", b"/mnt", b"tmpfs", 0, None)
    for i in range(8000):
        os.mkdir("/mnt/{}".format(i))
        if libc.mount(b"/usr", "/mnt/{}".format(i).encode(), None, BIND, None) != 0:
            break
arrivals = os.pipe()
count = {"many": 150, "slow": 20, "changing": 8}[role]
children = [child(change if role == "changing" else stay) for _ in range(count)]
for _ in range(count):
    os.read(arrivals[0], 1)
say(".there", "")
ends = [os.waitpid(pid, 0)[1] for pid in children]
say("", str(sum(end != 0 for end in ends)))
