# SPDX-License-Identifier: Apache-2.0
"""libbatchai_collectives through ctypes: the functions of collectives.h that the package needs.

Every call releases the GIL. Buffers are addresses; whoever starts an operation keeps the memory
alive until it has completed. Failures are HorovodInternalError with the library's own sentence.
"""
import ctypes
import itertools
import os
import re
import threading

from horovod.common.exceptions import HorovodInternalError

IN_PROGRESS, ERR_ARGUMENT = 1, -1

# batchai_coll_type
FLOAT32, FLOAT64, INT32, INT64, UINT8, INT8, FLOAT16, BFLOAT16, BOOL = range(9)

# batchai_coll_op
SUM, AVERAGE, MIN, MAX, PRODUCT = range(5)


class _Scaling(ctypes.Structure):
    """batchai_coll_scaling"""

    _fields_ = [("before", ctypes.c_double), ("after", ctypes.c_double)]


class _Tensor(ctypes.Structure):
    """batchai_coll_tensor"""

    _fields_ = [("send", ctypes.c_void_p), ("receive", ctypes.c_void_p),
                ("count", ctypes.c_size_t), ("type", ctypes.c_int)]


class _QueueOptions(ctypes.Structure):
    """batchai_coll_queue_options"""

    _fields_ = [("fusion_bytes", ctypes.c_size_t), ("cycle", ctypes.c_double),
                ("cache_capacity", ctypes.c_size_t), ("autotune", ctypes.c_int),
                ("stall_warning", ctypes.c_double), ("numbers", ctypes.POINTER(ctypes.c_int))]


_NAME = "libbatchai_collectives.so.0"
_CLONE_FS = 0x200  # of unshare(2)
_POINTER = ctypes.c_void_p
_COUNTS = ctypes.POINTER(ctypes.c_size_t)
_RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_EXCHANGE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                             ctypes.c_void_p)

# Functions that return a status, and their arguments.
_PROTOTYPES = {
    "init": [ctypes.POINTER(_POINTER)],
    "finalize": [_POINTER],
    "split": [_POINTER, ctypes.POINTER(ctypes.c_int), ctypes.c_size_t, ctypes.POINTER(_POINTER)],
    "group": [_POINTER, ctypes.c_int, ctypes.c_int, _EXCHANGE, ctypes.c_void_p,
              ctypes.POINTER(_POINTER)],
    "allreduce_async": [_POINTER, _POINTER, _POINTER, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                        ctypes.POINTER(_Scaling), ctypes.POINTER(_POINTER)],
    "broadcast_async": [_POINTER, _POINTER, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                        ctypes.POINTER(_POINTER)],
    "allgatherv_async": [_POINTER, _POINTER, _POINTER, _COUNTS, ctypes.c_int,
                         ctypes.POINTER(_POINTER)],
    "reduce_scatter_async": [_POINTER, _POINTER, _POINTER, _COUNTS, ctypes.c_int, ctypes.c_int,
                             ctypes.POINTER(_Scaling), ctypes.POINTER(_POINTER)],
    "alltoallv_async": [_POINTER, _POINTER, _COUNTS, _POINTER, _COUNTS, ctypes.c_int,
                        ctypes.POINTER(_POINTER)],
    "barrier_async": [_POINTER, ctypes.POINTER(_POINTER)],
    "wait": [_POINTER],
    "allgather": [_POINTER, _POINTER, _POINTER, ctypes.c_size_t, ctypes.c_int],
    "alltoall": [_POINTER, _POINTER, _POINTER, ctypes.c_size_t, ctypes.c_int],
    "queue_open": [_POINTER, ctypes.POINTER(_QueueOptions), ctypes.POINTER(_POINTER)],
    "queue_close": [_POINTER],
    "queue_open_gpu": [_POINTER, ctypes.c_int],
    "queue_timeline": [_POINTER, ctypes.c_char_p, ctypes.c_int],
    "submit_allreduce": [_POINTER, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(_Tensor),
                         ctypes.c_size_t, ctypes.c_int, ctypes.POINTER(_Scaling), ctypes.c_int,
                         ctypes.POINTER(_POINTER)],
    "submit_device_allreduce": [_POINTER, ctypes.c_char_p, ctypes.c_char_p,
                                ctypes.POINTER(_Tensor), ctypes.c_size_t, ctypes.c_int,
                                ctypes.POINTER(_Scaling), ctypes.c_int, ctypes.c_int, _POINTER,
                                ctypes.POINTER(_POINTER)],
    "submit_call": [_POINTER, ctypes.c_char_p, ctypes.c_char_p, _RUN, ctypes.c_void_p,
                    ctypes.c_int, ctypes.POINTER(_POINTER)],
    "submit_join": [_POINTER, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(_POINTER)],
    "ticket_test": [_POINTER, _POINTER],
    "ticket_wait": [_POINTER, _POINTER],
}
_QUERIES = ("rank", "size", "local_rank", "local_size", "node_rank", "node_count")


def _path():
    """Where the launcher says, else beside the package's tree, else for the system's loader."""
    named = os.environ.get("BATCHAI_COLLECTIVES_LIBRARY")
    if named:
        return named
    libraries = os.path.abspath(__file__)
    for _ in range(5):  # of batchai/python/horovod/common/library.py
        libraries = os.path.dirname(libraries)
    beside = os.path.join(libraries, _NAME)
    return beside if os.path.exists(beside) else _NAME


def _load_library(path):
    """ctypes.CDLL(path), where UCX reads no configuration of another user.

    UCX reads ucx.conf of the current directory while it is loaded. Another user may have put one
    there that names a file of this user's as UCX's log. So, unless the file is the user's own or
    root's, a thread loads the library that has "/" as its current directory. Where a container
    forbids that, another user's file is an error.
    """
    if _owner_of_configuration() in (0, os.getuid()):
        return ctypes.CDLL(path)
    if "/" in path:
        path = os.path.abspath(path)
    log = os.environ.get("UCX_LOG_FILE", "")  # UCX opens it now
    if log.startswith("file:"):
        log = log[len("file:"):]
    if log not in ("", "stdout", "stderr"):
        os.environ["UCX_LOG_FILE"] = os.path.abspath(log)
    results = []

    def work():
        try:
            if _leave_directory():
                os.chdir("/")
            elif _owner_of_configuration() not in (None, 0, os.getuid()):
                raise HorovodInternalError(
                    "horovod: UCX would read %s, which belongs to another user: remove it, or "
                    "start in another directory" % os.path.abspath("ucx.conf"))
            results.append(ctypes.CDLL(path))
        except Exception as error:  # raised below
            results.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(results[0], Exception):
        raise results[0]
    return results[0]


def _owner_of_configuration():
    """The owner of ucx.conf in the current directory; None: there is none."""
    try:
        return os.lstat("ucx.conf").st_uid
    except OSError:
        return None


def _leave_directory():
    """Gives this thread a current directory of its own. False: that is not permitted here."""
    return ctypes.CDLL(None).unshare(_CLONE_FS) == 0


def load():
    """The library with its prototypes. Raises HorovodInternalError if there is none."""
    path = _path()
    try:
        library = _load_library(path)
        for name, arguments in _PROTOTYPES.items():
            function = getattr(library, "batchai_coll_" + name)
            function.argtypes, function.restype = arguments, ctypes.c_int
        for name in _QUERIES:
            function = getattr(library, "batchai_coll_" + name)
            function.argtypes, function.restype = [_POINTER], ctypes.c_int
        library.batchai_coll_queue_defaults.argtypes = []
        library.batchai_coll_queue_defaults.restype = _QueueOptions
        library.batchai_coll_queue_free.argtypes = [_POINTER]
        library.batchai_coll_queue_free.restype = None
        library.batchai_coll_last_error.argtypes = []
        library.batchai_coll_last_error.restype = ctypes.c_char_p
        return library
    except (OSError, AttributeError) as error:
        problem = str(error)
    problem = _older_glibc(path) or problem + "; set BATCHAI_COLLECTIVES_LIBRARY to its path"
    raise HorovodInternalError("horovod: %s cannot be loaded: %s" % (path, problem))


def _older_glibc(path):
    """The message if this process has an older glibc than the library needs; else None.

    The loader may name another library that an old container lacks, or the first of the versions.
    """
    try:
        with open(path, "rb") as library:
            needed = max(int(minor) for minor in re.findall(br"\0GLIBC_2\.(\d+)", library.read()))
        version = ctypes.CDLL(None).gnu_get_libc_version
    except (IOError, ValueError, AttributeError):  # another file, or another C library
        return None
    version.restype = ctypes.c_char_p
    version = version().decode()
    if int(version.split(".")[1]) >= needed:
        return None
    return ("it needs glibc 2.%d, this is %s: install batchai's wheel, which needs 2.17, and start "
            "the job with its batchai-launch" % (needed, version))


def _counts(numbers):
    return (ctypes.c_size_t * len(numbers))(*numbers)


class Communicator(object):
    """All ranks of the job, from ``Communicator()`` (collective) to ``finalize()`` (collective).

    ``rank``, ``size``, ``local_rank``, ``local_size``, ``node_rank`` and ``node_count`` are ints,
    ``ranks`` the job's numbers of its ranks. One thread at a time: while it has a queue, the queue's.
    """

    def __init__(self):
        self._library = load()
        comm = _POINTER()
        self._check(self._library.batchai_coll_init(ctypes.byref(comm)))
        self._hold(comm)
        self.ranks = list(range(self.size))

    def _hold(self, comm):
        self._comm = comm
        for name in _QUERIES:
            setattr(self, name, getattr(self._library, "batchai_coll_" + name)(comm))

    def split(self, ranks):
        """A communicator of some of the job's ranks, ascending; None where this rank is outside.

        Collective over all ranks of this one, which is the job's and outlives it.
        """
        comm = _POINTER()
        numbers = (ctypes.c_int * len(ranks))(*ranks)
        self._check(self._library.batchai_coll_split(self._comm, numbers, len(ranks),
                                                     ctypes.byref(comm)))
        return self._part(comm, ranks) if comm else None

    def group(self, rank, ranks, exchange):
        """A communicator of some of the job's ranks: this one is number ``rank`` of ``ranks``.

        Collective over these ranks only, which exchange(bytes) lets know each other: it returns the
        bytes of all of them, a list in their order. Any thread. What it raises is raised here.
        """
        errors = []

        def run(_, own, count, everything):
            try:
                given = b"".join(exchange(ctypes.string_at(own, count)))
                if len(given) != count * len(ranks):
                    raise ValueError("an exchange of %d ranks returned %d bytes, not %d"
                                     % (len(ranks), len(given), count * len(ranks)))
                ctypes.memmove(everything, given, len(given))
            except BaseException as error:  # the library cannot pass it on
                errors.append(error)
            return len(errors)

        comm = _POINTER()
        status = self._library.batchai_coll_group(self._comm, rank, len(ranks), _EXCHANGE(run),
                                                  None, ctypes.byref(comm))
        if errors:
            raise errors[0]
        self._check(status)
        return self._part(comm, ranks)

    def _part(self, comm, ranks):
        part = object.__new__(Communicator)
        part._library, part.ranks = self._library, list(ranks)
        part._hold(comm)
        return part

    def finalize(self):
        comm, self._comm = self._comm, _POINTER()
        self._check(self._library.batchai_coll_finalize(comm))

    def open_queue(self, **options):
        """A LibraryQueue of this communicator. options: fields of batchai_coll_queue_options."""
        return LibraryQueue(self._library, self._comm, self.ranks, options)

    def allreduce_async(self, send, receive, count, kind, op, before=1.0, after=1.0):
        """Starts an allreduce of count elements; returns the request for wait().

        Inputs are multiplied by before, results by after. Both are 1 except for floating types.
        """
        return self._start("allreduce_async", send, receive, count, kind, op,
                           ctypes.byref(_Scaling(before, after)))

    def broadcast_async(self, buffer, count, kind, root):
        """Starts a broadcast of count elements from root; returns the request."""
        return self._start("broadcast_async", buffer, count, kind, root)

    def allgatherv_async(self, send, receive, counts, kind):
        """Starts an allgather, counts[r] elements from each rank r; returns the request."""
        return self._start("allgatherv_async", send, receive, _counts(counts), kind)

    def reduce_scatter_async(self, send, receive, counts, kind, op, before=1.0, after=1.0):
        """Starts a reduce-scatter: each rank r gets its block, of counts[r] elements.

        Returns the request. Factors as of allreduce_async().
        """
        return self._start("reduce_scatter_async", send, receive, _counts(counts), kind, op,
                           ctypes.byref(_Scaling(before, after)))

    def alltoallv_async(self, send, send_counts, receive, receive_counts, kind):
        """Starts sending send_counts[r] elements to each rank r, and taking receive_counts[r].

        Returns the request. The blocks lie one after the other in both buffers, in order of rank.
        """
        return self._start("alltoallv_async", send, _counts(send_counts), receive,
                           _counts(receive_counts), kind)

    def barrier_async(self):
        """Starts a barrier; returns the request."""
        return self._start("barrier_async")

    def wait(self, request):
        """Returns when the operation has completed; the request is gone."""
        self._check(self._library.batchai_coll_wait(request))

    def allgather_bytes(self, data):
        """The bytes of every rank, in order of rank; as many bytes everywhere."""
        gathered = ctypes.create_string_buffer(len(data) * self.size)
        self._check(self._library.batchai_coll_allgather(
            self._comm, data, ctypes.addressof(gathered), len(data), UINT8))
        everything = gathered.raw
        return [everything[rank * len(data):(rank + 1) * len(data)] for rank in range(self.size)]

    def alltoall_numbers(self, numbers):
        """The numbers of all ranks for this one: number r of each rank's list goes to rank r. Waits."""
        sent = (ctypes.c_int64 * self.size)(*numbers)
        received = (ctypes.c_int64 * self.size)()
        self._check(self._library.batchai_coll_alltoall(
            self._comm, ctypes.addressof(sent), ctypes.addressof(received), 1, INT64))
        return list(received)

    def _start(self, name, *arguments):
        request = _POINTER()
        function = getattr(self._library, "batchai_coll_" + name)
        self._check(function(self._comm, *(arguments + (ctypes.byref(request),))))
        return request

    def _check(self, status):
        if status != 0:
            raise _failure(self._library)


def _failure(library):
    message = library.batchai_coll_last_error()  # bytes, which are Python 2's str
    return HorovodInternalError(message if str is bytes else message.decode("utf-8", "replace"))


def _bytes(text):
    return text if isinstance(text, bytes) else text.encode("utf-8", "replace")


def _path_bytes(path):
    return _bytes(path) if str is bytes else os.fsencode(path)  # novm


class _Ticket(ctypes.c_void_p):
    """batchai_coll_ticket*; ``call`` is the number of the function that it belongs to."""

    call = None


class LibraryQueue(object):
    """batchai_coll_queue. submit_*() returns a ticket; ValueError if the name is in use.

    free() destroys it, after close() (collective) or without; after that every call raises
    ValueError.
    """

    def __init__(self, library, comm, ranks, options):
        self._library = library
        self._calls = {}  # number -> function, until it is called
        self._numbers = itertools.count(1)  # any thread may take the next one
        # Bound once: the library calls it as long as there are operations.
        self._run = _RUN(self._call_back)
        settings = library.batchai_coll_queue_defaults()
        for name, value in options.items():
            setattr(settings, name, value)
        settings.numbers = (ctypes.c_int * len(ranks))(*ranks)
        self._lent = []  # functions that got the address of the queue
        self._handle = _POINTER()
        if library.batchai_coll_queue_open(comm, ctypes.byref(settings),
                                           ctypes.byref(self._handle)) != 0:
            raise _failure(library)

    def submit_allreduce(self, name, details, tensors, op, factors, place=None):
        """name: None for none. tensors: tuples of send, receive (addresses), count and type.

        place: of tensors in a GPU's memory, its number and the address of their CUDA stream.
        """
        ticket = _Ticket()
        arguments = (self._queue, name and _bytes(name), _bytes(details),
                     (_Tensor * len(tensors))(*tensors), len(tensors), op,
                     ctypes.byref(_Scaling(*factors)), 0)
        if place is None:
            status = self._library.batchai_coll_submit_allreduce(
                *(arguments + (ctypes.byref(ticket),)))
        else:
            status = self._library.batchai_coll_submit_device_allreduce(
                *(arguments + place + (ctypes.byref(ticket),)))
        return self._entered(status, ticket)

    def opens_gpu(self, number):
        """Whether submit_allreduce() takes tensors in that GPU's memory; no other one's then."""
        return self._library.batchai_coll_queue_open_gpu(self._queue, number) == 0

    def submit_call(self, name, description, function):
        """function() is called at its turn, by some thread, and must not raise."""
        ticket = _Ticket()
        ticket.call = next(self._numbers)
        self._calls[ticket.call] = function
        status = self._library.batchai_coll_submit_call(
            self._queue, name and _bytes(name), _bytes(description), self._run, ticket.call, 0,
            ctypes.byref(ticket))
        if status != 0:
            del self._calls[ticket.call]
        return self._entered(status, ticket)

    def submit_join(self, last):
        """last: a ctypes.c_int, which is the rank that joined last once the operation has ended."""
        ticket = _Ticket()
        return self._entered(self._library.batchai_coll_submit_join(
            self._queue, ctypes.byref(last), ctypes.byref(ticket)), ticket)

    def wait(self, ticket):
        """True; the ticket is gone. Raises HorovodInternalError where the operation has failed."""
        return self._ended(self._library.batchai_coll_ticket_wait(self._queue, ticket), ticket)

    def test(self, ticket):
        """Whether it has ended; then as wait()."""
        return self._ended(self._library.batchai_coll_ticket_test(self._queue, ticket), ticket)

    def _ended(self, status, ticket):
        if status == IN_PROGRESS:
            return False
        self._calls.pop(ticket.call, None)  # where it was not called
        if status != 0:
            raise _failure(self._library)
        return True

    def timeline(self, path, mark_cycles):
        """Begins a timeline in a file; None ends it."""
        if self._library.batchai_coll_queue_timeline(
                self._queue, None if path is None else _path_bytes(path), mark_cycles) != 0:
            raise _failure(self._library)

    def close(self):
        """Collective: operations in line fail."""
        if self._library.batchai_coll_queue_close(self._queue) != 0:
            raise _failure(self._library)

    def lend(self, give):
        """Calls give(address) with the queue's, for functions that use it beside this object.

        give(None) follows before the queue is freed.
        """
        give(self._queue)
        self._lent.append(give)

    def free(self):
        queue, self._handle = self._handle, None
        for give in self._lent:
            give(None)
        self._library.batchai_coll_queue_free(queue)

    @property
    def _queue(self):
        if self._handle is None:
            raise ValueError("horovod: hvd was shut down, or the process set was removed")
        return self._handle

    def _call_back(self, number):
        self._calls.pop(number)()
        return 0

    def _entered(self, status, ticket):
        if status == ERR_ARGUMENT:
            raise ValueError(str(_failure(self._library)))
        if status != 0:
            raise _failure(self._library)
        return ticket
