"""The csr and row_sparse kernels beside scipy (and torch, if it can be imported): ratios in one run.

    python benchmarks/kernels.py [--json FILE] [--only WORD] [--repeat N] [--small]

The peers of a case take turns, so that all see the same machine; times are medians (the ratio of the
best runs is given too: other programs on the machine disturb two threads more than one).  scipy uses one
thread, torch and this project as many as ``NDSPARSE_NUM_THREADS`` allows (default: all cores).

Casts are also compared with the memory traffic they cannot avoid: bytes that must be read over the
rate of a kernel that only reads, plus bytes that must be written over the rate of one that only
fills, both measured in this run with the same threads.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from ndsparse.config import settings
from ndsparse.kernels import (
    cast,
    csr_canonical,
    csr_csr,
    csr_dot,
    csr_elementwise,
    csr_structure,
    dense_csr,
    reduce,
    row_ids,
    row_sparse,
)
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.opcodes import Op
from ndsparse.kernels.threads import even_bounds, run_blocks

Run = Callable[[], Any]


@dataclass
class Case:
    """One thing to do, and who does it."""

    name: str
    peers: dict[str, Run]
    reads: int = 0  # bytes that must be read, for casts
    writes: int = 0
    times: dict[str, list[float]] = field(default_factory=dict)

    def measure(self, repeat: int) -> None:
        """Run the peers in turn; the first round, which compiles, is not counted."""
        self.times = {peer: [] for peer in self.peers}
        for turn in range(repeat + 1):
            for peer, run in self.peers.items():
                start = time.perf_counter()
                run()
                if turn:
                    self.times[peer].append((time.perf_counter() - start) * 1e3)

    def row(self, rates: dict[str, float]) -> dict[str, Any]:
        """Return the medians in milliseconds and what they mean."""
        row: dict[str, Any] = {"case": self.name}
        row |= {peer: statistics.median(times) for peer, times in self.times.items()}
        for peer in self.peers:
            if peer != "ndsparse":
                row[f"{peer} / ndsparse"] = row[peer] / row["ndsparse"]
                row["of the best runs"] = min(self.times[peer]) / min(self.times["ndsparse"])
        if self.reads or self.writes:
            row["traffic"] = (self.reads / rates["read"] + self.writes / rates["fill"]) * 1e3
            row["ndsparse / traffic"] = row["ndsparse"] / row["traffic"]
        return row


@kernel(fastmath={"reassoc"})
def read(begin, end, a):  # type: ignore[no-untyped-def]
    total = np.uint64(0)
    for i in range(begin, end):
        total |= a[i]
    return total


@kernel
def fill(begin, end, a):  # type: ignore[no-untyped-def]
    for i in range(begin, end):
        a[i] = 0


@kernel
def copy(begin, end, a, b):  # type: ignore[no-untyped-def]
    for i in range(begin, end):
        b[i] = a[i]


def memory_rates(repeat: int) -> dict[str, float]:
    """Return bytes a second of reading, filling and copying (both ways counted) large arrays."""
    a, b = np.ones(1 << 24, np.uint64), np.ones(1 << 24, np.uint64)
    bounds = even_bounds(len(a), settings.num_threads)
    peers: dict[str, Run] = {
        "read": lambda: run_blocks(read, bounds, a),
        "fill": lambda: run_blocks(fill, bounds, b),
        "copy": lambda: run_blocks(copy, bounds, a, b),
    }
    case = Case("memory", peers)
    case.measure(repeat)
    moved = {"read": a.nbytes, "fill": a.nbytes, "copy": 2 * a.nbytes}
    return {name: moved[name] / (statistics.median(times) / 1e3) for name, times in case.times.items()}


def random_csr(m: int, k: int, per_row: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    """Return a scipy matrix with ``per_row`` elements a row (fewer where columns coincide)."""
    rng = np.random.default_rng(seed)
    columns = np.sort(rng.integers(0, k, (m, per_row)), axis=1).ravel()
    indptr = np.arange(0, m * per_row + 1, per_row)
    matrix = sp.csr_array((rng.standard_normal(m * per_row).astype(dtype), columns, indptr), shape=(m, k))
    matrix.sum_duplicates()
    return matrix


def arrays(matrix: Any) -> tuple[Any, Any, Any]:
    """Return the arrays of a scipy matrix as this project has them by default: int64 indices."""
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data


def torch_csr(matrix: Any) -> Any:
    """Return a torch matrix, or None where there is no torch."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(settings.num_threads)
    parts = [torch.from_numpy(a) for a in arrays(matrix)]
    return torch.sparse_csr_tensor(*parts, size=matrix.shape)


def products(m: int, k: int, per_row: int, width: int, dtype: Any) -> Iterator[Case]:
    """Products with a dense matrix, from both sides and with the transpose."""
    a = random_csr(m, k, per_row, dtype)
    csr, rng = arrays(a), np.random.default_rng(1)
    tail = (width,) if width > 1 else ()
    rhs, lhs = (rng.standard_normal((n, *tail)).astype(dtype) for n in (k, m))
    out, out_t = np.empty((m, *tail), dtype), np.empty((k, *tail), dtype)
    label = f"{m}x{k}, {per_row} a row, K={width}, {np.dtype(dtype).name}"
    peers: dict[str, Run] = {"ndsparse": lambda: csr_dot.csr_dense(csr, rhs, out), "scipy": lambda: a @ rhs}
    turned = torch_csr(a)
    if turned is not None:
        import torch

        peers["torch"] = lambda: turned @ torch.from_numpy(rhs)
    yield Case(f"csr @ dense {label}", peers)

    def as_rows() -> None:
        ids, slots = csr_dot.touched_columns(csr[1], k)
        csr_dot.csr_t_dense_rows(csr, slots, lhs, np.empty((len(ids), *tail), dtype))

    yield Case(
        f"csr.T @ dense {label}",
        {"ndsparse": lambda: csr_dot.csr_t_dense(csr, lhs, out_t), "scipy": lambda: a.T @ lhs},
    )
    yield Case(f"csr.T @ dense -> row_sparse {label}", {"ndsparse": as_rows, "scipy": lambda: a.T @ lhs})


def other_products() -> Iterator[Case]:
    """Products that touch few rows, that have the dense matrix on the left, or two csr ones."""
    a = random_csr(2000, 1_000_000, 40)
    csr, rhs = arrays(a), np.ones((2000, 64), np.float32)

    def as_rows() -> None:
        ids, slots = csr_dot.touched_columns(csr[1], 1_000_000)
        csr_dot.csr_t_dense_rows(csr, slots, rhs, np.empty((len(ids), 64), np.float32))

    yield Case(
        "csr.T @ dense -> row_sparse 2000x1M, 40 a row, K=64",
        {"ndsparse": as_rows, "scipy": lambda: a.T @ rhs},
    )

    b = random_csr(20_000, 10_000, 50)
    right, lhs, out = arrays(b), np.ones((256, 20_000), np.float32), np.empty((256, 10_000), np.float32)
    yield Case(
        "dense 256x20000 @ csr 20000x10000, 50 a row",
        {"ndsparse": lambda: dense_csr.dense_csr(lhs, right, out), "scipy": lambda: lhs @ b},
    )

    c = random_csr(20_000, 20_000, 20)
    both = arrays(c)

    def square() -> None:
        indptr = np.empty(20_001, np.int64)
        nnz = csr_csr.csr_csr_count(both, both, 20_000, indptr)
        csr_csr.csr_csr_fill(both, both, 20_000, (indptr, np.empty(nnz, np.int64), np.empty(nnz, np.float32)))

    def sorted_square() -> None:
        (c @ c).sort_indices()

    yield Case("csr @ csr 20000x20000, 20 a row (sorted)", {"ndsparse": square, "scipy": sorted_square})


def structure(m: int, n: int, per_row: int) -> Iterator[Case]:
    """Transpose, coordinates, elementwise and sums of one matrix."""
    a, b = random_csr(m, n, per_row), random_csr(m, n, per_row, seed=1)
    x, y = arrays(a), arrays(b)
    label = f"{m}x{n}, {per_row} a row"
    turned = np.empty(n + 1, np.int64), np.empty(a.nnz, np.int64), np.empty(a.nnz, np.float32)
    yield Case(
        f"transpose {label}",
        {"ndsparse": lambda: csr_structure.transpose(x, n, turned), "scipy": a.tocsc},
    )
    order = np.random.default_rng(0).permutation(a.nnz)
    rows = np.repeat(np.arange(m), np.diff(x[0]))[order]
    columns, data = x[1][order], a.data[order]

    def from_coo() -> None:
        indptr = np.empty(m + 1, np.int64)
        plan = csr_canonical.coo_count(rows, columns, (m, n), indptr)
        out = indptr, np.empty(plan.nnz, np.int64), np.empty(plan.nnz, np.float32)
        csr_canonical.coo_fill(plan, data, out)

    def scipy_coo() -> None:
        sp.coo_array((data, (rows, columns)), shape=(m, n)).tocsr().sum_duplicates()

    yield Case(f"coo -> csr, any order, {label}", {"ndsparse": from_coo, "scipy": scipy_coo})

    def combine(op: Op) -> None:
        indptr = np.empty(m + 1, np.int64)
        nnz = csr_elementwise.csr_csr_count(op, x, y, indptr)
        csr_elementwise.csr_csr_fill(op, x, y, (indptr, np.empty(nnz, np.int64), np.empty(nnz, np.float32)))

    yield Case(f"csr + csr {label}", {"ndsparse": lambda: combine(Op.ADD), "scipy": lambda: a + b})
    yield Case(f"csr * csr {label}", {"ndsparse": lambda: combine(Op.MUL), "scipy": lambda: a * b})
    by_row, by_column = np.empty(m, np.float32), np.empty(n, np.float32)
    yield Case(
        f"sum of rows {label}",
        {"ndsparse": lambda: reduce.csr_reduce_rows("sum", x, n, by_row), "scipy": lambda: a.sum(axis=1)},
    )
    yield Case(
        f"sum of columns {label}",
        {
            "ndsparse": lambda: reduce.csr_reduce_columns("sum", x, m, by_column),
            "scipy": lambda: a.sum(axis=0),
        },
    )


def csr_casts(n: int) -> Iterator[Case]:
    """Dense to csr and back, one element in a hundred."""
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((n, n), np.float32) < 0.01, np.float32(1), np.float32(0))
    a = sp.csr_array(dense)
    csr, out, indptr = arrays(a), np.ones_like(dense), np.empty(n + 1, np.int64)
    elements = np.empty(a.nnz, np.int64), np.empty(a.nnz, np.float32)

    def to_csr() -> None:
        plan = cast.dense_to_csr_count(dense, indptr)
        cast.dense_to_csr_fill(dense, plan, (indptr, *elements))

    size, stored = dense.nbytes, 12 * a.nnz
    yield Case(
        f"dense -> csr {n}x{n}, 1%", {"ndsparse": to_csr, "scipy": lambda: sp.csr_array(dense)}, size, stored
    )
    yield Case(
        f"csr -> dense {n}x{n}, 1%",
        {"ndsparse": lambda: cast.csr_to_dense(csr, out), "scipy": lambda: a.todense(out=out)},
        stored,
        size,
    )
    yield Case(
        f"csr -> dense {n}x{n}, 1%, fresh memory",
        {
            "ndsparse": lambda: cast.csr_to_dense(csr, np.zeros_like(dense), zeroed=True),
            "scipy": a.todense,
        },
    )


def row_casts(m: int, width: int, stored: int) -> Iterator[Case]:
    """Dense to row_sparse and back; numpy does the same by its own means."""
    ids = np.sort(np.random.default_rng(0).choice(m, stored, replace=False))
    data = np.ones((stored, width), np.float32)
    dense = np.zeros((m, width), np.float32)
    dense[ids] = data
    out, size, moved = np.ones_like(dense), dense.nbytes, data.nbytes

    def to_rows() -> None:
        found = cast.dense_to_rows_count(dense)
        cast.dense_to_rows_fill(dense, found, np.empty((len(found), width), np.float32))

    def numpy_rows() -> None:
        dense[np.flatnonzero(dense.any(axis=1))].copy()

    def numpy_dense() -> None:
        out.fill(0)
        out[ids] = data

    label = f"{m}x{width}, {stored} rows"
    yield Case(
        f"dense -> row_sparse {label}", {"ndsparse": to_rows, "numpy": numpy_rows}, size + moved, moved
    )
    yield Case(
        f"row_sparse -> dense {label}",
        {"ndsparse": lambda: cast.rows_to_dense((ids, data), out), "numpy": numpy_dense},
        moved,
        size,
    )


def row_operations(m: int, width: int, stored: int) -> Iterator[Case]:
    """Add row_sparse arrays, sort ids, and move rows, beside numpy."""
    rng = np.random.default_rng(0)
    lhs, rhs = (
        (np.sort(rng.choice(m, stored, replace=False)), np.ones((stored, width), np.float32))
        for _ in range(2)
    )

    def add() -> None:
        count = row_sparse.union_count(lhs[0], rhs[0])
        out = np.empty(count, np.int64), np.empty((count, width), np.float32)
        row_sparse.union_fill(Op.ADD, lhs, rhs, out)

    def numpy_add() -> None:
        ids = np.union1d(lhs[0], rhs[0])
        out = np.zeros((len(ids), width), np.float32)
        for part in (lhs, rhs):
            out[np.searchsorted(ids, part[0])] += part[1]

    yield Case(
        f"row_sparse + row_sparse, {stored} + {stored} of {m} rows x {width}",
        {"ndsparse": add, "numpy": numpy_add},
    )
    table, rows = np.ones((m, width), np.float32), rng.integers(0, m, stored)
    out = np.empty((stored, width), np.float32)
    yield Case(
        f"gather {stored} of {m} rows x {width}",
        {
            "ndsparse": lambda: row_sparse.gather_rows(table, rows, out),
            "numpy": lambda: np.take(table, rows, axis=0, out=out, mode="clip"),
        },
    )
    for count, extent in ((stored, m), (50 * stored, m), (50 * stored, 1 << 40)):
        ids = rng.integers(0, extent, count)
        yield Case(
            f"unique ids with inverse, {count} below {extent}",
            {
                "ndsparse": lambda ids=ids: row_ids.unique_ids(ids),
                "numpy": lambda ids=ids: np.unique(ids, return_inverse=True),
            },
        )


def cases(small: bool) -> Iterator[Case]:
    """Yield all cases, made when their turn comes (some need gigabytes)."""
    s = 10 if small else 1
    for dtype in (np.float32, np.float64):
        yield from products(20_000 // s, 100_000 // s, 100, 64, dtype)
    yield from products(20_000 // s, 100_000 // s, 100, 16, np.float32)
    yield from products(20_000 // s, 100_000 // s, 100, 1, np.float32)
    for dtype in (np.float32, np.float64):
        yield from products(1_000_000 // s, 100_000 // s, 20, 64, dtype)
    yield from other_products()
    yield from structure(20_000 // s, 100_000 // s, 100)
    yield from csr_casts(4096 // s)
    yield from row_casts(1_000_000 // s, 64, 10_000 // s)
    yield from row_operations(1_000_000 // s, 64, 10_000 // s)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--only", default="", metavar="WORD", help="cases with this in their name")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--small", action="store_true", help="a tenth of the size")
    options = parser.parse_args()
    rates = memory_rates(options.repeat)
    shown = ", ".join(f"{name} {rate / 1e9:.1f}" for name, rate in rates.items())
    print(f"{settings.num_threads} threads; memory, GB/s: {shown}\n")
    rows = []
    for case in cases(options.small):
        if options.only in case.name:
            case.measure(options.repeat)
            rows.append(case.row(rates))
            figures = [f"{key} {value:.2f}" for key, value in rows[-1].items() if key != "case"]
            print(f"{case.name}\n    {', '.join(figures)}", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(
                {"threads": settings.num_threads, "bytes_per_second": rates, "rows": rows}, file, indent=1
            )


if __name__ == "__main__":
    main()
