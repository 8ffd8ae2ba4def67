# SPDX-License-Identifier: Apache-2.0
"""Functions in threads, as Horovod's scripts and tests import them."""
import threading


def in_thread(target, args=(), name=None, daemon=True, silent=False):
    """Runs target(*args) in a thread of its own, which is returned.

    daemon: the process does not wait for it at its end. silent: exceptions are not shown.
    """
    if not isinstance(args, tuple):
        raise ValueError("horovod: in_thread: args must be a tuple, not %s" % type(args).__name__)

    def run():
        try:
            target(*args)
        except Exception:
            if not silent:
                raise

    thread = threading.Thread(target=run, name=name)
    thread.daemon = daemon
    thread.start()
    return thread


def on_event(event, func, args=(), stop=None, check_stop_interval_s=1.0, daemon=True,
             silent=False):
    """Calls func(*args) in a thread once the event is set; not where stop is set before.

    With daemon=False, stop is needed. Returns the thread.
    """
    if event is None:
        raise ValueError("horovod: on_event: event is None")
    if not isinstance(args, tuple):
        raise ValueError("horovod: on_event: args must be a tuple, not %s" % type(args).__name__)
    if stop is None and not daemon:
        raise ValueError("horovod: on_event: with daemon=False, stop is needed")

    def wait():
        while not event.wait(check_stop_interval_s if stop is not None else None):
            if stop is not None and stop.is_set():
                return
        if stop is None or not stop.is_set():
            func(*args)

    return in_thread(wait, daemon=daemon, silent=silent)


def execute_function_multithreaded(fn, args_list, block_until_all_done=True,
                                   max_concurrent_executions=1000):
    """Calls fn with each list of arguments, in threads; returns {place in args_list: result}.

    block_until_all_done False: returns None at once. RuntimeError where a call has failed.
    """
    left = list(enumerate(args_list))[::-1]
    results = {}

    def work():
        while True:
            try:
                place, arguments = left.pop()  # of several threads only one gets it
            except IndexError:
                return
            results[place] = fn(*arguments)

    threads = [in_thread(work, daemon=not block_until_all_done)
               for _ in range(min(max_concurrent_executions, len(left)))]
    if not block_until_all_done:
        return None
    for thread in threads:
        thread.join()
    if len(results) != len(args_list):
        raise RuntimeError("horovod: %d of %d calls of %s failed"
                           % (len(args_list) - len(results), len(args_list), fn.__name__))
    return results
