# SPDX-License-Identifier: Apache-2.0
"""Small helpers."""
import os


def environment_size(name, default):
    """The environment variable as a number of bytes, zero or more.

    Raises ValueError, naming the variable, where it holds something else.
    """
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    if not text.isascii() or not text.isdigit():
        raise ValueError("%s: %r is not a number of bytes" % (name, text))
    return int(text)
