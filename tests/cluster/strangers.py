#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""strangers.py ADDRESS:PORT COUNT: connects so often, says nothing, and holds on until it is killed.

Prints "held" once it has tried all connections. A connection that the other end closes is not tried again.
"""
import socket
import sys
import time

address, port = sys.argv[1].rsplit(":", 1)
held = []
for _ in range(int(sys.argv[2])):
    try:
        held.append(socket.create_connection((address, int(port)), timeout=5))
    except OSError:  # the queue of the port is full, or the port is closed
        pass
print("held", flush=True)
time.sleep(300)
