# SPDX-License-Identifier: Apache-2.0
"""Operations that a graph has put in line, by numbers that its tensors hold."""
import threading

from horovod.common.arrays import wait as wait_for

_operations = {}  # number -> operation
_lock = threading.Lock()
_last = 0


def add(operation):
    """The number of an operation that was submitted."""
    global _last
    with _lock:
        _last += 1
        _operations[_last] = operation
        return _last


def wait(numbers):
    """Waits for the operations of these numbers. Returns why one has failed; None: none has.

    They stay for take(), except where one has failed.
    """
    with _lock:
        operations = [_operations[number] for number in numbers]
    try:
        results(operations)
        return None
    except Exception as error:
        with _lock:
            for number in numbers:
                _operations.pop(number, None)
        return str(error)


def take(numbers):
    """The results of the operations of these numbers, one after the other. Waits for them."""
    with _lock:
        operations = [_operations.pop(int(number)) for number in numbers]
    return results(operations)


def results(operations):
    """The operations' results, one after the other. Waits for all of them, whichever fails."""
    found, failure = [], None
    for operation in operations:
        try:
            found += wait_for(operation)
        except Exception as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return found
