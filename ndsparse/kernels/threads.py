"""Sharing a kernel among threads.

Kernels run without the interpreter lock, so plain threads suffice.  ``run_blocks`` puts a call into
a queue that long-lived threads wait at, and then works on the blocks itself: whoever is free takes
the next block, and the caller waits only for blocks that others have begun.  So a call that is over
before another thread has woken up (which takes tens of microseconds) costs little more than its
blocks, a slow or busy core takes fewer of them, and calls within calls cannot deadlock.

The threads are started at the first use (importing starts none) and again in a forked child.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndsparse.config import settings

SERIAL_WORK = 1 << 16
"""Fewer elementary steps than this are not worth a second thread."""

_inside = threading.local()


class _Call:
    """One call of ``run_blocks``: a counter of blocks to take, and their results."""

    __slots__ = ("_args", "_bounds", "_count", "_done", "_ended", "_function", "_next", "errors", "results")

    def __init__(self, function: Callable[..., Any], bounds: Sequence[int], args: tuple[Any, ...]) -> None:
        count = len(bounds) - 1
        self._function: Callable[..., Any] | None = function
        self._bounds = bounds
        self._args: tuple[Any, ...] = args
        self._count = count
        # Drawing from a counter is one step of the interpreter, so no two threads get the same number.
        self._next = itertools.count()
        self._ended = itertools.count(1)
        self._done = threading.Lock()
        self._done.acquire()
        self.results: list[Any] = [None] * count
        self.errors: list[tuple[int, BaseException]] = []

    def work(self) -> None:
        """Take blocks until none is left."""
        while (block := next(self._next)) < self._count:
            try:
                self.results[block] = self._function(  # type: ignore[misc]
                    self._bounds[block], self._bounds[block + 1], *self._args
                )
            except BaseException as error:  # noqa: BLE001  (raised in the caller)
                self.errors.append((block, error))
            if next(self._ended) == self._count:
                self._done.release()

    def wait(self) -> None:
        """Wait for the blocks that other threads have begun, then forget the arguments.

        A thread that wakes up late holds this object for a moment; the arrays must not live as long.
        """
        try:
            self._done.acquire()
        except BaseException:  # interrupted: the blocks still write into the arrays of the caller
            self._done.acquire()
            raise
        finally:
            self._function = None
            self._args = ()

    def first_error(self) -> BaseException:
        """Return the error of the first block that failed, and hold it no longer (it holds us)."""
        error = min(self.errors, key=lambda pair: pair[0])[1]
        self.errors.clear()
        return error


class _Workers:
    """The threads, and the queue they wait at."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self.queue: SimpleQueue[_Call] = SimpleQueue()

    def ensure(self, count: int) -> None:
        """Start threads until there are ``count``."""
        if self._count >= count:
            return
        with self._lock:
            while self._count < count:
                thread = threading.Thread(
                    target=_serve, args=(self.queue,), name=f"ndsparse-{self._count}", daemon=True
                )
                thread.start()
                self._count += 1


def _serve(queue: SimpleQueue[_Call]) -> None:
    _inside.worker = True
    while True:
        queue.get().work()


_workers = _Workers()


def _forget_workers() -> None:
    global _workers
    _workers = _Workers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)  # threads do not survive in the child


def threads_for(work: int) -> int:
    """Return how many threads ``work`` elementary steps deserve (1 inside a worker thread)."""
    if work < 2 * SERIAL_WORK or getattr(_inside, "worker", False):
        return 1
    return min(settings.num_threads, work // SERIAL_WORK)


def run_blocks(function: Callable[..., Any], bounds: Sequence[int], *args: Any) -> list[Any]:
    """Call ``function(begin, end, *args)`` for each block ``bounds[i]:bounds[i + 1]``, in threads.

    Parameters
    ----------
    function : callable
        A kernel (anything else holds the interpreter lock and gains nothing).
    bounds : sequence of int
        ``blocks + 1`` ascending positions.  There may be more blocks than threads: threads take
        blocks as they become free.
    *args
        Passed to every call.

    Returns
    -------
    list
        What the calls returned, in the order of the blocks.  The caller is one of at most
        ``settings.num_threads`` threads.  All blocks are run even if one fails; the error of the
        first that failed is raised after all have ended.
    """
    blocks = len(bounds) - 1
    if blocks == 1:
        return [function(bounds[0], bounds[1], *args)]
    others = min(blocks, settings.num_threads) - 1
    call = _Call(function, bounds, args)
    if others > 0:
        _workers.ensure(others)
        for _ in range(others):
            _workers.queue.put(call)
    call.work()
    call.wait()
    if call.errors:
        raise call.first_error()
    return call.results


def even_bounds(n: int, blocks: int) -> list[int]:
    """Cut ``range(n)`` into ``blocks`` parts of equal length (up to one)."""
    return [n * i // blocks for i in range(blocks + 1)]


def balanced_bounds(indptr: NDArray[Any], blocks: int) -> list[int]:
    """Cut rows into ``blocks`` parts of about equal stored elements (``indptr``: rows + 1)."""
    rows = len(indptr) - 1
    if blocks == 1:
        return [0, rows]
    targets = [int(indptr[0]) + int(indptr[rows] - indptr[0]) * i // blocks for i in range(1, blocks)]
    cuts = np.searchsorted(indptr, targets, side="left")
    bounds = [0, *(min(int(c), rows) for c in cuts), rows]
    return [int(b) for b in np.maximum.accumulate(bounds)]
