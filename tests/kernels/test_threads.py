"""Sharing kernels among threads."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable

import numpy as np
import pytest

from ndsparse import config
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.threads import SERIAL_WORK, balanced_bounds, even_bounds, run_blocks, threads_for


@kernel
def double(begin, end, source, target):  # type: ignore[no-untyped-def]
    """Write twice the source, and return the sum of the block."""
    total = 0.0
    for i in range(begin, end):
        target[i] = 2 * source[i]
        total += source[i]
    return total


@pytest.mark.parametrize("blocks", [1, 2, 3, 16])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_blocks_cover_the_range_and_results_keep_their_order(blocks: int, threads: int) -> None:
    source = np.arange(1000.0)
    target = np.zeros(1000)
    bounds = even_bounds(1000, blocks)
    with config.using(num_threads=threads):
        sums = run_blocks(double, bounds, source, target)
    np.testing.assert_array_equal(target, 2 * source)
    assert sums == [source[a:b].sum() for a, b in itertools.pairwise(bounds)]


def test_at_most_the_allowed_threads_work_and_the_caller_is_one() -> None:
    seen: set[int] = set()

    def block(begin: int, end: int) -> None:
        seen.add(threading.get_ident())
        time.sleep(0.01)

    with config.using(num_threads=3):
        run_blocks(block, range(13))
    assert threading.get_ident() in seen
    assert len(seen) <= 3
    seen.clear()
    with config.using(num_threads=1):
        run_blocks(block, range(5))
    assert seen == {threading.get_ident()}


def test_threads_work_at_the_same_time() -> None:
    barrier = threading.Barrier(2, timeout=60)
    with config.using(num_threads=2):
        run_blocks(lambda begin, end: barrier.wait(), [0, 1, 2])


def test_error_of_the_first_failing_block_comes_after_all_have_ended() -> None:
    ended: list[int] = []

    def block(begin: int, end: int) -> None:
        if begin in (1, 2):
            raise ValueError(f"block {begin}")
        time.sleep(0.01)
        ended.append(begin)

    with config.using(num_threads=2), pytest.raises(ValueError, match="block 1"):
        run_blocks(block, range(6))
    assert sorted(ended) == [0, 3, 4]
    assert run_blocks(lambda begin, end: begin, range(4)) == [0, 1, 2]


def test_calls_within_calls() -> None:
    def inner(begin: int, end: int) -> int:
        return begin

    def outer(begin: int, end: int) -> list[int]:
        return run_blocks(inner, range(5))

    with config.using(num_threads=2):
        assert run_blocks(outer, range(5)) == [[0, 1, 2, 3]] * 4


def test_several_callers_at_once() -> None:
    results: dict[int, list[int]] = {}

    def call(number: int) -> None:
        for _ in range(50):
            results[number] = run_blocks(lambda begin, end: (time.sleep(0.0001), begin + number)[1], range(4))

    callers = [threading.Thread(target=call, args=(n,)) for n in range(4)]
    with config.using(num_threads=2):
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(60)
    assert results == {n: [n, n + 1, n + 2] for n in range(4)}


def test_arguments_are_released_with_the_call() -> None:
    class Argument:
        pass

    gc.disable()  # references, not the collector, must do it
    try:
        for fails in (False, True):
            argument = Argument()
            watch = weakref.ref(argument)

            def block(begin: int, end: int, argument: object, fails: bool = fails) -> None:
                if fails:
                    raise ValueError

            with config.using(num_threads=2):
                for _ in range(20):
                    with contextlib.suppress(ValueError):
                        run_blocks(block, range(3), argument)
            del argument
            assert watch() is None
    finally:
        gc.enable()


def test_small_work_and_work_inside_a_worker_stay_in_one_thread() -> None:
    with config.using(num_threads=4):
        assert threads_for(0) == threads_for(SERIAL_WORK) == 1
        assert threads_for(2 * SERIAL_WORK) == 2
        assert threads_for(100 * SERIAL_WORK) == 4
        barrier = threading.Barrier(2, timeout=60)

        def block(begin: int, end: int) -> tuple[bool, int]:
            barrier.wait()
            return threading.current_thread().name.startswith("ndsparse"), threads_for(100 * SERIAL_WORK)

        assert sorted(run_blocks(block, range(3))) == [(False, 4), (True, 1)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_child_starts_its_own_threads(run_python: Callable[..., str]) -> None:
    code = """
import os, threading, warnings
from ndsparse.config import settings
from ndsparse.kernels.threads import run_blocks
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons: fork beside threads
settings.num_threads = 2

def both():
    barrier = threading.Barrier(2, timeout=60)
    return run_blocks(lambda begin, end: (barrier.wait(), begin)[1], [0, 1, 2])

assert both() == [0, 1]
child = os.fork()
if child == 0:
    os._exit(0 if both() == [0, 1] else 1)
assert os.waitpid(child, 0)[1] == 0
assert both() == [0, 1]
print("good")
"""
    assert run_python(code).strip() == "good"


def test_process_ends_while_threads_wait(run_python: Callable[..., str]) -> None:
    code = """
from ndsparse.config import settings
from ndsparse.kernels.threads import run_blocks
settings.num_threads = 4
print(run_blocks(lambda begin, end: end, range(9)))
"""
    assert run_python(code).strip() == "[1, 2, 3, 4, 5, 6, 7, 8]"


def test_even_bounds() -> None:
    assert even_bounds(10, 3) == [0, 3, 6, 10]
    assert even_bounds(0, 2) == [0, 0, 0]
    assert even_bounds(2, 4) == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("blocks", [1, 2, 3, 7])
def test_balanced_bounds_cut_by_stored_elements(dtype: type, blocks: int) -> None:
    lengths = np.array([100, 0, 0, 1, 50, 49, 0, 100, 0])
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(dtype)
    bounds = balanced_bounds(indptr, blocks)
    assert bounds[0] == 0
    assert bounds[-1] == 9
    assert len(bounds) == blocks + 1
    assert bounds == sorted(bounds)
    assert max(lengths[a:b].sum() for a, b in itertools.pairwise(bounds)) <= 300 / blocks + 100


def test_balanced_bounds_of_nothing() -> None:
    assert balanced_bounds(np.zeros(1, np.int64), 2) == [0, 0, 0]
    assert balanced_bounds(np.zeros(5, np.int64), 2)[-1] == 4
