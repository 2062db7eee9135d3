"""nd.dot on csr arrays beside scipy: ratios in one run.

    python benchmarks/dot.py [--json FILE] [--repeat N] [--small]

Whole calls are measured, dispatch and allocation of the result included, in turns; times are medians.
scipy uses one thread, this project as many as ``NDSPARSE_NUM_THREADS`` allows (default: all cores).
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ndsparse import config, nd

Run = Callable[[], Any]

SIZES = {"20k x 100k, 2M nonzeros": (20_000, 100_000, 100), "1M x 100k, 20 a row": (1_000_000, 100_000, 20)}
COLUMNS = 64


def random_csr(rows: int, columns: int, per_row: int, seed: int = 0) -> sp.csr_matrix:
    rng = np.random.default_rng(seed)
    indices = rng.integers(0, columns, (rows, per_row), dtype=np.int64)
    indices.sort(axis=1)
    data = rng.standard_normal(rows * per_row, dtype=np.float32)
    indptr = np.arange(0, rows * per_row + 1, per_row, dtype=np.int64)
    matrix = sp.csr_matrix((data, indices.ravel(), indptr), shape=(rows, columns))
    matrix.sum_duplicates()
    return matrix


def cases(rows: int, columns: int, per_row: int) -> dict[str, tuple[Run, Run]]:
    """Return, by name, what this project runs and what scipy runs."""
    rng = np.random.default_rng(1)
    theirs = random_csr(rows, columns, per_row)
    ours = nd.sparse.csr_matrix(theirs)
    right = rng.standard_normal((columns, COLUMNS), dtype=np.float32)
    left = rng.standard_normal((rows, COLUMNS), dtype=np.float32)
    vector = np.ascontiguousarray(right[:, 0])
    rhs, lhs, v = nd.array(right), nd.array(left), nd.array(vector)
    transposed = theirs.T
    return {
        f"csr . dense({COLUMNS})": (lambda: nd.dot(ours, rhs), lambda: theirs @ right),
        f"csr.T . dense({COLUMNS}) -> row_sparse": (
            lambda: nd.dot(ours, lhs, transpose_a=True),
            lambda: transposed @ left,
        ),
        f"csr.T . dense({COLUMNS}) -> default": (
            lambda: nd.dot(ours, lhs, transpose_a=True, forward_stype="default"),
            lambda: transposed @ left,
        ),
        "csr . vector": (lambda: nd.dot(ours, v), lambda: theirs @ vector),
    }


def measure(ours: Run, theirs: Run, repeat: int) -> tuple[float, float]:
    """Return median seconds of both; the first round, which compiles, is not counted."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(repeat + 1):
        for run, found in zip((ours, theirs), times, strict=True):
            begin = time.perf_counter()
            run()
            if turn:
                found.append(time.perf_counter() - begin)
    return statistics.median(times[0]), statistics.median(times[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="a hundredth of the rows, to try the program")
    options = parser.parse_args()
    results = []
    print(f"{config.settings.num_threads} threads")
    for size, (rows, columns, per_row) in SIZES.items():
        print(size)
        for name, (ours, theirs) in cases(rows // (100 if options.small else 1), columns, per_row).items():
            a, b = measure(ours, theirs, options.repeat)
            results.append({"size": size, "case": name, "ours_s": a, "scipy_s": b, "ratio": b / a})
            print(f"  {name:38} {a * 1e3:9.2f} ms   scipy {b * 1e3:9.2f} ms   {b / a:6.2f} x")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=2)


if __name__ == "__main__":
    main()
