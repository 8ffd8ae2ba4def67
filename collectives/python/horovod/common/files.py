# SPDX-License-Identifier: Apache-2.0
"""Files in a directory that, or whose parent, others may write to, such as a working directory.

Pickles are read from them, and a pickle runs code. So no file is read that belongs to
another user or is in another user's directory, and no link of another user is followed.
"""
import os


def check_place(directory):
    """OSError: it is a link of another user, who could have it lead to any directory."""
    directory = directory.rstrip("/")
    if os.path.islink(directory):
        _check_owner(os.lstat(directory), directory)


def make_directory(path):
    """check_place(); makes it, with mode 0700, if it is not there."""
    check_place(path)
    if not os.path.isdir(path):
        try:
            os.makedirs(path, 0o700)
        except OSError:  # another rank has just made it
            if not os.path.isdir(path):
                raise


def exists(path):
    """Whether the file is there, also if another machine has just made it and its directory.

    An NFS client may remember for a minute that a file is missing, until its directory is opened.
    """
    directory = os.path.dirname(os.path.abspath(path))
    for place in (os.path.dirname(directory), directory):
        try:
            os.close(os.open(place, os.O_RDONLY | os.O_DIRECTORY))
        except OSError:
            pass  # it is missing, or may not be read
    return os.path.exists(path)


def open_own(path):
    """The file, open for reading. OSError: it is a link, or it or its directory is another user's."""
    directory = os.path.dirname(path)
    check_place(directory)
    _check_owner(os.stat(directory), directory)
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    try:
        _check_owner(os.fstat(file.fileno()), path)
    except OSError:
        file.close()
        raise
    return file


def write_own(path, write):
    """Calls write(file) and gives the file its name, also on disk, only when it is complete."""
    partial = "%s.%d" % (path, os.getpid())
    if os.path.lexists(partial):
        os.unlink(partial)  # of an attempt that was killed
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(partial, flags, 0o600), "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(partial, path)


def _check_owner(status, path):
    if status.st_uid != os.getuid():
        raise OSError("horovod: %s belongs to another user: remove it, start in another directory, "
                      "or let BATCHAI_RESTART_DIRECTORY name a new one" % path)
