# SPDX-License-Identifier: Apache-2.0
"""Loaders of data, as Horovod has them: a base class, and a mixin that reads ahead in a thread."""
import threading

try:
    import queue  # novm
except ImportError:  # Python 2
    import Queue as queue  # novm


class BaseDataLoader(object):
    """Batches. A derived class implements __len__() and _iterate()."""

    def __len__(self):
        """How many batches there are."""
        raise NotImplementedError()

    def _iterate(self):
        """An iterator over the batches."""
        raise NotImplementedError()

    def _process_batch(self, batch):
        """A batch as the training takes it."""
        return batch

    def __iter__(self):
        return (self._process_batch(batch) for batch in self._iterate())


class AsyncDataLoaderMixin(object):
    """In front of a BaseDataLoader: its _iterate() runs in a thread, and so many batches ahead.

    async_loader_queue_size: 0 for no thread. debug_data_loader: accepted, and not needed.
    """

    def __init__(self, async_loader_queue_size=64, debug_data_loader=False, *args, **kwargs):
        self.async_loader_queue_size = async_loader_queue_size
        self._end = lambda: None
        super(AsyncDataLoaderMixin, self).__init__(*args, **kwargs)

    def close_async_loader(self):
        """Ends the iteration that has begun last, and waits for its thread."""
        self._end()

    def __iter__(self):
        if self.async_loader_queue_size <= 0:
            return super(AsyncDataLoaderMixin, self).__iter__()
        return self._read_ahead()

    def _read_ahead(self):
        ended, batches = threading.Event(), queue.Queue()
        room = threading.Semaphore(self.async_loader_queue_size)

        def read():
            try:
                for batch in self._iterate():
                    room.acquire()
                    if ended.is_set():
                        return
                    batches.put((batch, None))
                end()
            except BaseException as error:  # also SystemExit: the training waits for it
                batches.put((None, error))

        def end():
            batches.put((None, StopIteration))
            room.release()

        def close():
            ended.set()
            end()
            if thread is not threading.current_thread():
                thread.join()

        thread = threading.Thread(target=read)
        thread.daemon = True
        thread.start()
        self._end = close
        try:
            while not ended.is_set():
                batch, error = batches.get()
                room.release()
                if error is StopIteration:
                    return
                if error is not None:
                    raise error
                yield self._process_batch(batch)
        finally:
            ended.set()
            room.release()
