#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""completed_by_zsh.py FOLDER LINE - what zsh makes of LINE at a Tab, with the functions below FOLDER; on a terminal of its own."""
import glob
import os
import pty
import sys

folders, line = glob.glob(sys.argv[1] + "/*"), sys.argv[2]
process, terminal = pty.fork()
if process == 0:
    os.environ.update(TERM="dumb", PS1="", HOME=folders[0])
    os.execlp("zsh", "zsh", "-f", "-i")
os.write(terminal, ("unsetopt prompt_cr prompt_sp; fpath=(%s $fpath); autoload -U compinit && compinit -u -D; echo rea''dy\n"
                    % " ".join(folders)).encode())
seen = b""
while b"ready" not in seen:
    seen += os.read(terminal, 4096)
# The line becomes an argument of echo once the rest of the word has been put in.
os.write(terminal, line.encode() + b"\t\001echo 'do''ne' \n")
while b"done " not in seen:
    seen += os.read(terminal, 4096)
after = seen.split(b"done ", 1)[1]
while b"\n" not in after:
    after += os.read(terminal, 4096)
print(after.split(b"\n")[0].decode().split()[-1])
