# SPDX-License-Identifier: Apache-2.0
"""Operations matched by name, as Horovod does, over a library that wants one order on all ranks.

An operation that is submitted only waits in line. When a rank needs a result, all ranks compare
what waits in their lines (a *round*) and start what waits on every one of them, in one order:

- The lines are equal, as in nearly every round: eight bytes of digest and eight of length from each
  rank show it, and everything starts in the order of submission.
- They differ: the ranks exchange the lines themselves. What all of them have is started in rank 0's
  order; an operation that they describe differently (another shape, type, reduction or root) fails
  on all of them, and the job may go on.
- Nothing is in all the lines: since every rank is waiting here, none of them can ever be served.
  All operations in line fail on all ranks, each with a sentence that says who waits for what.

Rounds are collective: where ranks are not all in one (one of them has left, or is in the middle of
an optimizer's step), the library reports the mismatch. Threads take turns.
"""
import hashlib
import json
import struct

from horovod.common.exceptions import HorovodInternalError


class Operation:
    """A named operation; what the *_async functions return. Opaque to users.

    ``description`` is what has to agree between ranks. ``start()`` issues it to the library and
    returns its requests; ``finish()`` makes the result once they have completed. ``queue`` is the
    one that it was submitted to.
    """

    def __init__(self, queue, name, description, start, finish):
        self.queue = queue
        self.name = name
        self.description = description
        self.start = start
        self.finish = finish
        self.requests = None  # while in line
        self.result = None
        self.error = None
        self.done = False

    def fail(self, sentence):
        self._end()
        self.error = HorovodInternalError(sentence)

    def complete(self):
        result = self.finish()
        self._end()
        self.result = result

    def _end(self):
        self.done = True
        self.requests = []
        self.start = self.finish = None  # and with them the tensors that they hold


class Queue:
    """The operations of this rank that are in line or under way."""

    def __init__(self, communicator):
        self._communicator = communicator
        self._lock = communicator.lock
        self._line = {}  # name -> Operation, in order of submission
        self._running = {}  # name -> Operation, started
        self._unnamed = 0

    def submit(self, kind, name, description, start, finish):
        """Puts an operation in line. ValueError where one of that name is in line already."""
        with self._lock:
            if name is None:
                self._unnamed += 1
                name = "noname.%d" % self._unnamed
            name = "%s.%s" % (kind, name)
            if name in self._line:
                raise ValueError("horovod: %s: an operation of this name has not completed yet; "
                                 "synchronize it first or use another name" % name)
            operation = Operation(self, name, "%s %s" % (kind, description), start, finish)
            self._line[name] = operation
            return operation

    def wait(self, operation):
        """The operation's result. Raises the HorovodInternalError that it ended with."""
        with self._lock:
            self._ensure_started(operation)
            self._advance(operation, self._wait_for)
            return self._conclude(operation)

    def poll(self, operation):
        """Whether the operation has ended. Waits for the other ranks only until it has started."""
        with self._lock:
            self._ensure_started(operation)
            if not self._advance(operation, self._communicator.test):
                return False
            if not operation.done:
                self._conclude(operation)
            return True

    def close(self):
        """Ends everything before the communicator goes: what runs completes, what waits fails."""
        with self._lock:
            for operation in list(self._running.values()):
                try:
                    self.wait(operation)
                except HorovodInternalError:
                    pass  # the operation keeps it for whoever asks
            for name, operation in self._line.items():
                operation.fail("horovod: shut down before %s was synchronized" % name)
            self._line = {}

    def _wait_for(self, request):
        self._communicator.wait(request)
        return True

    def _advance(self, operation, completed):
        """Whether all requests have completed. An error of theirs is the operation's error."""
        try:
            while operation.requests and completed(operation.requests[0]):
                operation.requests.pop(0)
        except HorovodInternalError as error:
            self._running.pop(operation.name, None)
            operation.fail(str(error))
        return not operation.requests

    def _conclude(self, operation):
        if not operation.done:
            self._running.pop(operation.name, None)
            operation.complete()
        if operation.error is not None:
            raise operation.error
        return operation.result

    def _ensure_started(self, operation):
        self._communicator.label(operation.name)
        while operation.requests is None and not operation.done:
            self._round()

    def _round(self):
        line = [(name, operation.description) for name, operation in self._line.items()]
        for name, sentence in agree(self._communicator, line):
            operation = self._line.pop(name, None)
            if operation is None:
                continue  # another rank's, which fails there
            if sentence is not None:
                operation.fail(sentence)
                continue
            if name in self._running:  # a namesake that nobody has waited for yet
                self.wait(self._running[name])
            self._begin(operation)

    def _begin(self, operation):
        try:
            operation.requests = operation.start()
        except BaseException as error:  # else whoever waits for it, as close() does, would for ever
            operation.fail("horovod: %s could not be started: %s" % (operation.name, error))
            raise
        self._running[operation.name] = operation


def agree(communicator, line):
    """One round: what to do with which operations of this rank's line, the same on all ranks.

    line: pairs of name and description. Returns pairs of name and None (start it) or the sentence
    that it fails with, in the order in which to take them; names of other ranks may be among them.
    """
    everything = [(name, None) for name, _ in line]
    if communicator.size == 1:
        return everything
    text = json.dumps(line).encode()
    header = struct.pack("<8sq", hashlib.blake2b(text, digest_size=8).digest(), len(text))
    headers = communicator.allgather_bytes(header)
    if all(other == header for other in headers):
        return everything
    longest = max(struct.unpack("<8sq", other)[1] for other in headers)
    texts = communicator.allgather_bytes(text.ljust(longest))
    return judge([dict(json.loads(other)) for other in texts], communicator.ranks)


def judge(lines, ranks):
    """The verdicts on lines that differ. lines: of each rank, a dict of name and description.

    ranks: their numbers in the job.
    """
    common = [name for name in lines[0] if all(name in line for line in lines)]
    if not common:
        waiting = "; ".join("rank %d waits for %s" % (rank, _list(line))
                            for rank, line in zip(ranks, lines))
        sentence = "horovod: no operation was submitted on every rank: " + waiting
        return [(name, sentence) for name in dict.fromkeys(n for line in lines for n in line)]
    return [(name, _difference(name, [line[name] for line in lines], ranks)) for name in common]


def _difference(name, descriptions, ranks):
    for rank, description in zip(ranks, descriptions):
        if description != descriptions[0]:
            return ("horovod: %s: ranks disagree: rank %d has %s, rank %d has %s"
                    % (name, ranks[0], descriptions[0], rank, description))
    return None


def _list(line, limit=6):
    names = ["%s (%s)" % item for item in list(line.items())[:limit]]
    more = len(line) - len(names)
    return ", ".join(names) + (" and %d more" % more if more else "")
