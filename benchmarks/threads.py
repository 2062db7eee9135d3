"""What sharing a loop between two threads costs: run_blocks, ThreadPoolExecutor and numba's prange.

All run ``target[i] = 2 * source[i] + 1`` over the same arrays in one process, two threads each.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np

from ndsparse.config import settings
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.threads import even_bounds, run_blocks

THREADS = 2
SIZES = [2, 1 << 10, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22]


@kernel
def fill(begin, end, source, target):  # type: ignore[no-untyped-def]
    x = source[begin:end]
    y = target[begin:end]
    for i in range(x.shape[0]):
        y[i] = 2 * x[i] + 1


def compiled_prange() -> tuple[Callable[..., Any], float]:
    """Return the same loop for numba's own threads, and the seconds its compilation took."""

    @numba.njit(parallel=True, nogil=True)
    def loop(source, target):  # type: ignore[no-untyped-def]
        for i in numba.prange(source.shape[0]):
            target[i] = 2 * source[i] + 1

    begin = time.perf_counter()
    loop(np.zeros(2), np.zeros(2))
    return loop, time.perf_counter() - begin


def compiled_serial() -> float:
    """Return the seconds the plain kernel takes to compile, not cached."""
    loop = numba.njit(nogil=True, error_model="numpy")(fill.python)
    begin = time.perf_counter()
    loop(0, 2, np.zeros(2), np.zeros(2))
    return time.perf_counter() - begin


def microseconds(function: Callable[[], object], repeats: int) -> float:
    """Return the median over 9 runs of ``repeats`` calls, in microseconds a call."""
    for _ in range(3):
        function()
    runs = []
    for _ in range(9):
        begin = time.perf_counter()
        for _ in range(repeats):
            function()
        runs.append((time.perf_counter() - begin) / repeats * 1e6)
    return statistics.median(runs)


def measure(size: int, prange: Callable[..., Any], pool: ThreadPoolExecutor) -> dict[str, float]:
    source, target = np.random.default_rng(0).random(size), np.zeros(size)
    bounds = even_bounds(size, THREADS)

    def with_pool() -> None:
        others = [pool.submit(fill, bounds[i], bounds[i + 1], source, target) for i in range(1, THREADS)]
        fill(bounds[0], bounds[1], source, target)
        for other in others:
            other.result()

    repeats = max(5, min(1000, (1 << 20) // size))
    return {
        "one thread": microseconds(lambda: fill(0, size, source, target), repeats),
        "run_blocks": microseconds(lambda: run_blocks(fill, bounds, source, target), repeats),
        "ThreadPoolExecutor": microseconds(with_pool, repeats),
        "prange": microseconds(lambda: prange(source, target), repeats),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="also write the figures to this file")
    path = parser.parse_args().json
    settings.num_threads = THREADS
    compiled_serial()  # the first compilation also sets up LLVM
    serial_seconds = compiled_serial()
    prange, prange_seconds = compiled_prange()
    numba.set_num_threads(min(THREADS, numba.get_num_threads()))
    figures: dict[str, Any] = {
        "compile_seconds": {"kernel": serial_seconds, "prange": prange_seconds},
        "threading_layer": numba.threading_layer(),
    }
    print(f"compilation: kernel {serial_seconds:.2f} s, prange {prange_seconds:.2f} s")
    print(f"prange runs on {numba.threading_layer()}; microseconds a call:")
    with ThreadPoolExecutor(THREADS - 1) as pool:
        for size in SIZES:
            row = figures[str(size)] = measure(size, prange, pool)
            if size == SIZES[0]:
                print("elements   " + "".join(f"{name:>20}" for name in row))
            print(f"{size:<11}" + "".join(f"{value:20.1f}" for value in row.values()))
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
