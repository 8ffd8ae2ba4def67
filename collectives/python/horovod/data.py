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


_END = object()  # of an iteration


class AsyncDataLoaderMixin(object):
    """In front of a BaseDataLoader: its _iterate() runs in a thread, and so many batches ahead.

    async_loader_queue_size: 0 for no thread. debug_data_loader: accepted, and not needed.
    """

    def __init__(self, async_loader_queue_size=64, debug_data_loader=False, *args, **kwargs):
        self.async_loader_queue_size = async_loader_queue_size
        self.debug_data_loader = debug_data_loader
        self._ended = threading.Event()
        super(AsyncDataLoaderMixin, self).__init__(*args, **kwargs)

    def close_async_loader(self):
        """Ends the iteration that has begun last."""
        self._ended.set()

    def __iter__(self):
        if self.async_loader_queue_size <= 0:
            return super(AsyncDataLoaderMixin, self).__iter__()
        self._ended = threading.Event()
        return self._read_ahead(queue.Queue(self.async_loader_queue_size), self._ended)

    def _read_ahead(self, batches, ended):
        thread = threading.Thread(target=self._read, args=(batches, ended))
        thread.daemon = True
        thread.start()
        try:
            while not ended.is_set():
                try:
                    batch, error = batches.get(timeout=0.1)
                except queue.Empty:
                    continue
                if error is not None:
                    raise error
                if batch is _END:
                    return
                yield self._process_batch(batch)
        finally:
            ended.set()

    def _read(self, batches, ended):
        def put(*entry):
            while not ended.is_set():
                try:
                    return batches.put(entry, timeout=0.1)
                except queue.Full:
                    pass

        try:
            for batch in self._iterate():
                put(batch, None)
                if ended.is_set():
                    return
            put(_END, None)
        except Exception as error:
            put(None, error)
