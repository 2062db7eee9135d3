"""Kernels: compiled late, kept on disk, the same code under the same name only."""

from __future__ import annotations

import os
import sys
import threading
import types
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ndsparse import config
from ndsparse.kernels import cache
from ndsparse.kernels.cache import code_digest, read, write
from ndsparse.kernels.jit import Kernel, kernel

# A module with kernels that call each other; its path is given to the programs below.
KERNELS = """
from ndsparse.kernels.jit import kernel
STEP = 1

@kernel
def successor(x):
    return x + STEP

@kernel
def total(begin, end, array):
    result = 0
    for i in range(begin, end):
        result += successor(array[i])
    return result
"""
RUN = """
import sys
sys.path.insert(0, {folder!r})
import numpy, mine
assert mine.total(0, 3, numpy.arange(3)) == {expected}
stats = mine.total.dispatcher().stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""

Run = Callable[..., str]


@pytest.fixture
def program(tmp_path: Path, run_python: Run) -> Run:
    """Return a function that runs the kernels above in a new process and gives 'hits misses'."""

    def run(source: str = KERNELS, expected: int = 6, place: str = "a", **environment: str | None) -> str:
        folder = tmp_path / place
        folder.mkdir(exist_ok=True)
        (folder / "mine.py").write_text(source)
        cache = {"NDSPARSE_KERNEL_CACHE_DIR": str(tmp_path / "cache"), **environment}
        return run_python(RUN.format(folder=str(folder), expected=expected), "-B", **cache).strip()

    return run


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function like that of ``program`` that makes the kernels anew in this process."""

    def run(source: str = KERNELS, expected: int = 6, folder: Path | None = None) -> str:
        mine = types.ModuleType("mine")
        monkeypatch.setitem(sys.modules, "mine", mine)
        namespace: dict[str, Any] = vars(mine)
        with config.using(kernel_cache_dir=folder or tmp_path / "cache"):
            exec(source, namespace)
            assert namespace["total"](0, 3, np.arange(3)) == expected
        stats = namespace["total"].dispatcher().stats
        return f"{sum(stats.cache_hits.values())} {sum(stats.cache_misses.values())}"

    return run


def test_second_process_compiles_nothing(program: Run, tmp_path: Path) -> None:
    assert program() == "0 1"
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "cache").iterdir()}
    assert before
    assert program() == "1 0"
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "cache").iterdir()} == before


def test_changed_constant_of_a_called_kernel_recompiles(module: Run) -> None:
    assert module() == "0 1"
    assert module(KERNELS.replace("STEP = 1", "STEP = 2"), expected=9) == "0 1"
    assert module(KERNELS.replace("x + STEP", "x * STEP"), expected=3) == "0 1"
    assert module() == "1 0"


def test_a_comment_recompiles_nothing(module: Run) -> None:
    assert module() == "0 1"
    assert module("# a remark\n\n" + KERNELS) == "1 0"


def test_settings_of_numba_are_part_of_the_key(module: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from numba import config as numba_config

    assert module() == "0 1"
    monkeypatch.setattr(numba_config, "BOUNDSCHECK", 0 if numba_config.BOUNDSCHECK else 1)
    cache._versions.cache_clear()
    assert module() == "0 1"
    assert module() == "1 0"
    monkeypatch.undo()
    cache._versions.cache_clear()


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_damaged_file_is_compiled_anew(module: Run, tmp_path: Path, damage: str) -> None:
    assert module() == "0 1"
    for path in (tmp_path / "cache").iterdir():
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content[:1000] if damage == "cut" else content)
    assert module() == "0 1"


def test_file_that_cannot_be_understood_is_compiled_anew(module: Run, tmp_path: Path) -> None:
    assert module() == "0 1"
    for path in (tmp_path / "cache").iterdir():
        write(path, b"no pickle")
    assert module() == "0 1"
    assert module() == "1 0"


def test_cache_folder_that_cannot_be_made(module: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    for _ in range(2):
        assert module(folder=tmp_path / "file" / "cache") == "0 1"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_cache_folder_is_read(module: Run, tmp_path: Path) -> None:
    assert module() == "0 1"
    (tmp_path / "cache").chmod(0o500)
    assert module() == "1 0"
    assert module(KERNELS.replace("STEP = 1", "STEP = 2"), expected=9) == "0 1"


@pytest.mark.skipif(os.name != "posix", reason="about POSIX permissions")
def test_files_that_others_may_write_are_not_loaded(module: Run, tmp_path: Path) -> None:
    assert module() == "0 1"
    for path in (tmp_path / "cache").iterdir():
        assert not path.stat().st_mode & 0o022
        path.chmod(0o666)
    assert module() == "0 1"


def test_no_cache_folder_keeps_nothing(program: Run, tmp_path: Path) -> None:
    assert program(NDSPARSE_KERNEL_CACHE_DIR="", HOME=str(tmp_path), XDG_CACHE_HOME=None) == "0 1"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a"]


def test_runs_without_compiling(run_python: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(KERNELS)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import mine; print(mine.total(0, 3, [0, 1, 2]))"
    )
    assert run_python(code, NUMBA_DISABLE_JIT="1").strip() == "6"


def test_processes_that_compile_at_once_all_get_their_own_code(program: Run, module: Run) -> None:
    def one(number: int) -> None:
        step = number % 2 + 1
        program(KERNELS.replace("STEP = 1", f"STEP = {step}"), 3 + 3 * step, place=str(number))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(4)))  # each program checks its result
    assert module() == "1 0"
    assert module(KERNELS.replace("STEP = 1", "STEP = 2"), expected=9) == "1 0"


def test_errors_of_kernels_pass_through() -> None:
    @kernel
    def refuse(n):  # type: ignore[no-untyped-def]
        if n < 0:
            raise ValueError("n: expected at least 0")
        return n

    assert refuse(3) == 3
    with pytest.raises(ValueError, match="n: expected at least 0"):
        refuse(-1)


def test_kernel_made_by_a_function_reads_its_closure() -> None:
    def scale(factor: int, inner: Callable[[int], int]) -> Callable[[int], int]:
        @kernel
        def scaled(x):  # type: ignore[no-untyped-def]
            return factor * inner(x)

        return scaled

    @kernel
    def increment(x):  # type: ignore[no-untyped-def]
        return x + 1

    assert [scale(factor, increment)(4) for factor in (2, 3, 2)] == [10, 15, 10]


def test_kernel_may_call_itself() -> None:
    assert factorial(5) == 120


@kernel
def factorial(n: int) -> int:
    """Return the product of 1..n."""
    if n < 2:
        return 1
    return n * factorial(n - 1)


def test_many_threads_may_be_first() -> None:
    results: list[int] = []

    @kernel
    def double(x):  # type: ignore[no-untyped-def]
        return 2 * x

    threads = [threading.Thread(target=lambda: results.append(double(21))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [42] * 8


def test_plain_function_and_name_stay_at_hand() -> None:
    assert isinstance(factorial, Kernel)
    assert repr(factorial) == f"<kernel {__name__}.factorial>"
    assert factorial.__doc__ == "Return the product of 1..n."
    assert factorial.python.__name__ == "factorial"


def test_digest_follows_constants_options_and_arrays() -> None:
    table = np.arange(3)

    def make(value: object, options: dict[str, object]) -> str:
        def function(x):  # type: ignore[no-untyped-def]
            return value

        return code_digest(function, options, lambda _: None)

    digests = [
        make(1, {}),
        make(1.0, {}),
        make(True, {}),
        make((1,), {}),
        make(table, {}),
        make(table + 1, {}),
        make(np, {}),
        make(np.float32, {}),
        make(1, {"fastmath": {"contract"}}),
        make(1, {"fastmath": {"contract", "reassoc"}}),
    ]
    assert len(set(digests)) == len(digests)
    assert make(1, {"fastmath": {"reassoc", "contract"}}) == digests[-1]


def test_read_gives_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "folder" / "x.nbc"
    assert read(path) is None
    write(path, b"payload")
    write(path, b"payload 2")
    assert read(path) == b"payload 2"
    assert [p.name for p in path.parent.iterdir()] == ["x.nbc"]
