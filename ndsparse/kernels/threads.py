"""Sharing a kernel among threads.

Kernels run without the interpreter lock, so plain threads suffice; the pool is made at the first
use (importing starts no thread) and made anew in a forked child.  Handing work to another thread
costs about 30 microseconds: callers say how much work there is and small work stays in the caller.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndsparse.config import settings

SERIAL_WORK = 1 << 16
"""Fewer elementary steps than this are not worth a second thread."""

_pool: ThreadPoolExecutor | None = None
_pool_size = 0
_pool_lock = threading.Lock()
_inside = threading.local()


def _forget_pool() -> None:
    global _pool, _pool_size, _pool_lock
    _pool, _pool_size, _pool_lock = None, 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def _get_pool(workers: int) -> ThreadPoolExecutor:
    global _pool, _pool_size
    with _pool_lock:
        if _pool is None or _pool_size < workers:
            if _pool is not None:
                _pool.shutdown(wait=False)
            _pool = ThreadPoolExecutor(workers, "ndsparse", initializer=_mark_worker)
            _pool_size = workers
        return _pool


def _mark_worker() -> None:
    _inside.worker = True


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
        ``blocks + 1`` ascending positions.
    *args
        Passed to every call.

    Returns
    -------
    list
        What the calls returned, in the order of the blocks.  The first block runs in the caller.
        An error of any block is raised after all have ended.
    """
    blocks = len(bounds) - 1
    if blocks == 1:
        return [function(bounds[0], bounds[1], *args)]
    pool = _get_pool(blocks - 1)
    futures = [pool.submit(function, bounds[i], bounds[i + 1], *args) for i in range(1, blocks)]
    try:
        first = function(bounds[0], bounds[1], *args)
    finally:
        errors = [f.exception() for f in futures]
    for error in errors:
        if error is not None:
            raise error
    return [first, *(f.result() for f in futures)]


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
