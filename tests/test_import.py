"""What ``import ndsparse`` may cost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

HEAVY = ("numba", "llvmlite", "scipy", "matplotlib", "pandas", "torch")

COST = """
import os, sys, threading, time
begin = time.perf_counter()
import numpy
middle = time.perf_counter()
import ndsparse
end = time.perf_counter()
print(end - begin, end - middle)
"""


def test_import_takes_less_than_a_second(run_python: Callable[..., str], tmp_path: Path) -> None:
    # The first run writes the bytecode, which an installed package has.
    bytecode = {"PYTHONDONTWRITEBYTECODE": None, "PYTHONPYCACHEPREFIX": str(tmp_path)}
    costs = [tuple(map(float, run_python(COST, **bytecode).split())) for _ in range(3)]
    whole, own = (min(c) for c in zip(*costs, strict=True))
    # A machine that needs long for numpy alone is slow or busy; then the share of the package counts.
    assert whole < 1 or own < 2 * (whole - own)


def test_import_starts_no_thread_and_reads_nothing_heavy(run_python: Callable[..., str]) -> None:
    code = f"""
import os, sys, threading
import numpy
before = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0
import ndsparse
after = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0
print(threading.active_count(), after - before, sorted(set({HEAVY!r}) & sys.modules.keys()))
"""
    assert run_python(code).strip() == "1 0 []"


def test_import_compiles_no_kernel(run_python: Callable[..., str]) -> None:
    code = """
import gc, ndsparse
from ndsparse.kernels.jit import Kernel
print([k for k in gc.get_objects() if isinstance(k, Kernel) and k._dispatcher is not None])
"""
    assert run_python(code).strip() == "[]"


def test_import_writes_nothing(run_python: Callable[..., str], tmp_path) -> None:
    run_python(
        "import ndsparse", "-B", HOME=str(tmp_path), NDSPARSE_KERNEL_CACHE_DIR=None, XDG_CACHE_HOME=None
    )
    assert not list(tmp_path.iterdir())
