# SPDX-License-Identifier: Apache-2.0
"""Operations matched by name, as Horovod does: the library's queue, for Python.

The queue carries out operations in the background, in one order for all ranks, whatever the order
in which each rank submits them. An operation that ranks describe differently fails on all of them,
and the job may go on. Allreduces are the library's own; other operations are functions of this
package, which the queue calls in their turn. Any thread may submit and wait.
"""
import ctypes
import threading

from horovod.common.exceptions import HorovodInternalError

_SWEEP = 1024  # operations without a waiter, until a sweep looks at them


class Operation(object):
    """A named operation; the *_async functions return it. Opaque to users.

    ``finish()`` makes the result once the operation has completed; ``kept`` owns the
    memory that the library uses until then. ``queue`` is the queue that it was submitted to.
    """

    def __init__(self, queue, kind, name, finish, kept):
        self.queue = queue
        self.name = None if name is None else "%s.%s" % (kind, name)
        self.finish = finish
        self.result = None
        self.error = None
        self.done = False
        self._kept = kept
        self._ticket = None  # while it has not ended
        self._lock = threading.Lock()

    def then(self, change):
        """Makes the result change(result). Returns itself. Before any other code has it."""
        finish = self.finish
        self.finish = lambda: change(finish())
        return self

    def __call__(self):
        """The result, as Queue.wait(): for Horovod's handles that are functions."""
        return self.queue.wait(self)

    def fail(self, error):
        """Ends with a HorovodInternalError of this text, or with the error if it is one."""
        if not isinstance(error, HorovodInternalError):
            error = HorovodInternalError(str(error))
        self.error = error

    def _run(self, start):
        """Does an operation of this package's own, at its turn. Errors are the operation's."""
        try:
            for request in start():
                self.queue.communicator.wait(request)
        except HorovodInternalError as error:
            self.fail(error)
        except BaseException as error:  # the library's thread cannot pass it on
            self.fail("horovod: %s could not be started: %s" % (self._called(), error))

    def _called(self):
        return self.name or "an operation without a name"

    def _settle(self, ended):
        """Lets go of the ticket where ended(ticket) says so. Returns whether it has ended."""
        if self._ticket is None:
            return True
        try:
            ticket, self._ticket = self._ticket, None
            if not ended(ticket):
                self._ticket = ticket
                return False
        except HorovodInternalError as error:
            self.error = self.error or error
        except BaseException:  # an interrupt: it may be under way, so that the memory is kept
            self.fail("horovod: %s was interrupted" % self._called())
            raise
        self._kept = None
        return True

    def _conclude(self):
        """The result, of an operation that has ended. Raises its error."""
        if not self.done:
            self.done = True
            finish, self.finish = self.finish, None  # and with it the tensors that it holds
            try:
                if self.error is None:
                    self.result = finish()
            except Exception as error:
                self.error = error
        if self.error is not None:
            raise self.error
        return self.result


class Queue(object):
    """The operations of this rank over one communicator, which belongs to it until close()."""

    def __init__(self, communicator, **options):
        self.communicator = communicator
        self.optimizers = 0  # whose gradients have gone through it
        self._gpu = None  # whether the library can use this rank's; None: not known yet
        self._under_way = set()  # keeps operations that no caller holds
        self._sweep_at = _SWEEP
        self._library = communicator.open_queue(**options)

    def submit(self, kind, name, description, start, finish):
        """Puts an operation of this package's own in line; returns its Operation.

        description: text that must agree on all ranks. start() issues it to the communicator and
        returns its requests. ValueError where one of that name has not ended.
        """
        operation = Operation(self, kind, name, finish, start)
        return self._enter(operation, lambda: self._library.submit_call(
            operation.name, "%s %s" % (kind, description), lambda: operation._run(start)))

    def allreduce(self, name, details, tensors, op, factors, finish, kept=None, verb="allreduce",
                  place=None):
        """Puts an allreduce in line, of one tensor or several together; returns its Operation.

        details: text that must agree on all ranks too. tensors: tuples of the addresses to send
        from and to receive at, count and type. kept: the owner of that memory. place: see
        LibraryQueue.submit_allreduce().
        """
        operation = Operation(self, verb, name, finish, kept)
        return self._enter(operation, lambda: self._library.submit_allreduce(
            operation.name, details, tensors, op, factors, place))

    def join(self):
        """Says that this rank has no more to submit; returns the Operation.

        Its result is the rank that was the last one to say so, once all have. Until then this rank
        takes part in the others' sums and averages with zeros.
        """
        last = ctypes.c_int(-1)
        operation = Operation(self, "join", None, lambda: last.value, last)
        return self._enter(operation, lambda: self._library.submit_join(last))

    def takes_gpu(self, number, count):
        """Whether tensors in that GPU's memory, one of count, are reduced there.

        Those of the one of the rank's local number are, if the library can use it: so it is not
        left to the order of operations, which may be another one on each rank.
        """
        if number != self.communicator.local_rank % count:
            return False
        if self._gpu is None:
            self._gpu = self._library.opens_gpu(number)
        return self._gpu

    def wait(self, operation):
        """The operation's result. Raises the HorovodInternalError that it ended with."""
        with operation._lock:
            operation._settle(self._library.wait)
            self._under_way.discard(operation)
            return operation._conclude()

    def poll(self, operation):
        """Whether the operation has ended. Never waits."""
        if not operation._lock.acquire(False):
            return False
        try:
            if not operation._settle(self._library.test):
                return False
            self._under_way.discard(operation)
            return True
        finally:
            operation._lock.release()

    def lend(self, give):
        """See LibraryQueue.lend()."""
        self._library.lend(give)

    def trace(self, path, mark_cycles):
        """Begins a timeline of this rank; path None ends it."""
        self._library.timeline(path, mark_cycles)

    def close(self):
        """Ends everything before the communicator ends: operations in line fail. Collective."""
        try:
            self._library.close()
        finally:
            self._sweep()
            self._library.free()

    def abandon(self):
        """Stops, for a process that ends without its ranks. Not collective."""
        self._library.free()

    def _enter(self, operation, submit):
        if len(self._under_way) >= self._sweep_at:
            self._sweep()
        with operation._lock:
            operation._ticket = submit()
            self._under_way.add(operation)
        return operation

    def _sweep(self):
        for operation in list(self._under_way):
            self.poll(operation)
        self._sweep_at = 2 * len(self._under_way) + _SWEEP
