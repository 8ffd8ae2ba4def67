# SPDX-License-Identifier: Apache-2.0
"""Files in a directory that, or above which, others may write, such as a working directory.

The rules for links are those of sys/user_path.hpp: a link of the user or of root is followed, one of
another user is an error. Pickles are read from these files, and a pickle runs code. So no file is
read that belongs to another user or is in another user's directory.
"""
import contextlib
import ctypes
import errno
import os

_REFERENCE = os.O_NOFOLLOW | getattr(os, "O_PATH", 0o10000000)  # Python 2 does not name it
_MOST_LINKS = 40  # as in the kernel
_LONGEST = 4096


@contextlib.contextmanager
def entered(path, make=False):
    """A name of the directory that leads to it whatever others do to its path. None: it is missing.

    make: makes missing directories, with mode 0700. OSError: a link of another user is on the way.
    """
    if not make:
        refresh(os.path.dirname(os.path.abspath(path)))
    try:
        directory = _walk(path, make)
    except OSError as error:
        if make or error.errno != errno.ENOENT:
            raise
        yield None
        return
    try:
        yield _name_of(directory)
    finally:
        os.close(directory)


def refresh(directory):
    """Makes files that another machine has made seen in a directory of NFS.

    An NFS client may remember for a minute that a file is missing, until its directory is opened.
    """
    try:
        os.close(os.open(directory, os.O_RDONLY | os.O_DIRECTORY))
    except OSError:
        pass  # it is missing, or may not be read


def open_own(path):
    """The file, open for reading. OSError: it is a link, or it or its directory is another user's."""
    _check_owner(os.stat(os.path.dirname(path)), os.path.dirname(path))
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


def _name_of(directory):
    # Python 2 has no openat(2).
    return "/proc/self/fd/%d" % directory


def _walk(path, make):
    """Opens a directory component by component, so that no name is looked up twice."""
    links, rest = 0, _names(path)
    at = os.open(_start(path), _REFERENCE | os.O_DIRECTORY)
    try:
        while rest:
            name = rest.pop()
            next_one = _component(at, name, make)
            try:
                target = _target(next_one, at, name)
                if target is None:
                    at, next_one = next_one, at
                    continue
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                rest += _names(target)
                if target.startswith("/"):
                    at, unused = os.open("/", _REFERENCE | os.O_DIRECTORY), at
                    os.close(unused)
            finally:
                os.close(next_one)
        if not os.path.isdir(_name_of(at)):
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    except OSError:
        os.close(at)
        raise
    return at


def _start(path):
    return "/" if path.startswith("/") else "."


def _names(path):
    """The names of a path, the first one last."""
    return [name for name in path.split("/") if name not in ("", ".")][::-1]


def _component(at, name, make):
    place = "%s/%s" % (_name_of(at), name)
    if make:
        try:
            os.mkdir(place, 0o700)
        except OSError:
            pass  # it is there, or opening it says why it is not
    try:
        try:  # only that makes automount(8) mount it
            return os.open(place, _REFERENCE | os.O_DIRECTORY)
        except OSError as error:
            if error.errno != errno.ENOTDIR:
                raise
            return os.open(place, _REFERENCE)
    except OSError as error:
        raise OSError(error.errno, os.strerror(error.errno), _shown(place))


def _target(place, at, name):
    """Where a link leads; None: it is not a link. OSError: it is another user's."""
    buffer = ctypes.create_string_buffer(_LONGEST)
    size = ctypes.CDLL(None).readlinkat(place, b"", buffer, _LONGEST)
    if size < 0:
        return None
    if os.fstat(place).st_uid != 0:
        _check_owner(os.fstat(place), "%s/%s" % (_name_of(at), name))
    target = buffer.raw[:size]
    return target if isinstance(target, str) else os.fsdecode(target)  # novm


def _shown(path):
    """The path without a number of ours, for messages."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)


def _check_owner(status, path):
    if status.st_uid != os.getuid():
        raise OSError("horovod: %s belongs to another user: remove it, start in another directory, "
                      "or let BATCHAI_RESTART_DIRECTORY name a new one" % _shown(path))
