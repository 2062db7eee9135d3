"""Running an iterator in a thread of its own, some items ahead of whoever takes them."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from ndsparse.errors import NDSparseError

T = TypeVar("T")

JOIN_SECONDS = 30.0


class _Shared(Generic[T]):
    """What the thread and the taker share.  The thread knows nothing else, so the taker can be collected."""

    def __init__(self, depth: int) -> None:
        self.items: deque[T] = deque()
        self.depth = depth
        self.changed = threading.Condition()
        self.ended = False
        self.stopped = False
        self.error: BaseException | None = None

    def put(self, item: T) -> bool:
        """Wait for room and put an item; return False if nobody wants it any more."""
        with self.changed:
            self.changed.wait_for(lambda: self.stopped or len(self.items) < self.depth)
            if not self.stopped:
                self.items.append(item)
                self.changed.notify_all()
            return not self.stopped

    def end(self, error: BaseException | None) -> None:
        with self.changed:
            self.ended, self.error = True, error
            self.changed.notify_all()

    def stop(self) -> None:
        with self.changed:
            self.stopped = True
            self.items.clear()
            self.changed.notify_all()


class Ahead(Generic[T]):
    """An iterator that runs in a thread.

    Parameters
    ----------
    make : callable
        Makes the iterator, in the thread.  It must not refer to whoever holds this object.
    depth : int
        How many items may wait to be taken.

    Notes
    -----
    An error of the iterator is raised where its item would have been taken.  ``close`` ends the
    thread after the item it works at; so do the garbage collector and the end of the program.
    """

    def __init__(self, make: Callable[[], Iterator[T]], depth: int) -> None:
        self._shared: _Shared[T] = _Shared(max(depth, 1))
        thread = threading.Thread(target=_run, args=(make, self._shared), name="ndsparse-ahead", daemon=True)
        self._end = weakref.finalize(self, _stop, self._shared, thread)
        thread.start()

    def __iter__(self) -> Ahead[T]:
        return self

    def __next__(self) -> T:
        shared = self._shared
        with shared.changed:
            shared.changed.wait_for(lambda: shared.items or shared.ended or shared.stopped)
            if shared.items:
                item = shared.items.popleft()
                shared.changed.notify_all()
                return item
            error, shared.error = shared.error, None
        if error is not None:
            raise error
        raise StopIteration

    def close(self) -> None:
        """End the thread and wait for it."""
        self._end()


def _run(make: Callable[[], Iterator[T]], shared: _Shared[T]) -> None:
    error: BaseException | None = None
    iterator: Iterator[T] | None = None
    try:
        iterator = make()
        for item in iterator:
            if not shared.put(item):
                break
    except BaseException as caught:  # noqa: BLE001  (it is raised again, in the thread that takes)
        error = caught
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()
        shared.end(error)


def _stop(shared: _Shared[T], thread: threading.Thread) -> None:
    shared.stop()
    if thread is not threading.current_thread():
        thread.join(JOIN_SECONDS)
        if thread.is_alive():
            raise NDSparseError(f"a reading thread did not end within {JOIN_SECONDS} seconds")
