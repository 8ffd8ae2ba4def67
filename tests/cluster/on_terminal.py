#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""on_terminal.py COMMAND... - runs it on a terminal of its own; what that shows goes to standard output,
escape sequences as ESC[..., and its exit code is ours."""

import os
import pty
import sys

pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execvp(sys.argv[1], sys.argv[1:])
shown = b""
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:  # Linux's way to say that the other end is closed
        break
    if not piece:
        break
    shown += piece
sys.stdout.write(shown.decode().replace("\x1b", "ESC").replace("\r\n", "\n"))
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
