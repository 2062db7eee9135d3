"""Moving rows between tables: gather, scatter, retain.  Any dtype; only scatter-add computes."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from ndsparse.kernels.border import AnyArray, index, moved, values
from ndsparse.kernels.copying import copy_run
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.operands import RowsArrays, compute_dtype, deliver, flat_rows, target
from ndsparse.kernels.prefetch import AHEAD, prefetch_read
from ndsparse.kernels.row_ids import intersect_count, locate
from ndsparse.kernels.threads import even_bounds, run_blocks, threads_for


def gather_rows(table: AnyArray, rows: AnyArray, out: AnyArray) -> None:
    """Write ``table[rows]``.

    Parameters
    ----------
    table : (m, ...)
        C-contiguous, any dtype.
    rows : (r,) ints
        In ``range(m)``, any order; -1 makes a row of zeros.
    out : (r, ...)
        Of the table's dtype (another one costs a copy).

    Notes
    -----
    O(r * width).
    """
    result = target(out, table.dtype)
    source, written = _movable(table), _movable(result)
    rows = index(rows)
    line = max(1, 64 // source.itemsize)
    bounds = even_bounds(len(rows), threads_for(written.size))
    run_blocks(_gather, bounds, source, rows, AHEAD, line, written)
    deliver(result, out)


def scatter_rows(rows: AnyArray, data: AnyArray, table: AnyArray) -> None:
    """Do ``table[rows] = data``; of rows named twice the last one wins.

    Parameters
    ----------
    rows : (r,) ints
        In ``range(m)``.
    data : (r, ...)
        Cast to the dtype of ``table`` if it has another one.
    table : (m, ...)
        C-contiguous, any dtype.

    Notes
    -----
    O(r * width).
    """
    written, source = _movable(table), _movable(data.astype(table.dtype, copy=False))
    rows = index(rows)
    bounds = even_bounds(len(written), threads_for(source.size))
    run_blocks(_scatter, bounds, rows, source, written)


def scatter_add_rows(rows: AnyArray, data: AnyArray, table: AnyArray, *, distinct: bool = False) -> None:
    """Do ``table[rows] += data``; rows named twice are added twice, in order.

    Parameters
    ----------
    rows : (r,) ints
        In ``range(m)``.
    data : (r, ...)
    table : (m, ...)
        C-contiguous.
    distinct : bool
        Promise that no row is named twice.

    Notes
    -----
    O(r * width).  Each thread adds to the rows of its part of the table (with ``distinct``: adds its
    part of the data), so the bits do not depend on the number of threads.
    """
    dtype = compute_dtype(table)
    result = target(table, dtype, load=True)
    source, written = flat_rows(values(data, dtype)), flat_rows(result)
    threads = threads_for(source.size)
    rows = index(rows)
    if distinct:
        run_blocks(_add_distinct, even_bounds(len(rows), threads), rows, source, written)
    else:
        run_blocks(_add, even_bounds(len(written), threads), rows, source, written)
    deliver(result, table)


def retain_count(ids: AnyArray, wanted: AnyArray) -> int:
    """Return how many of the wanted ids (sorted, distinct) are stored.  O(len)."""
    return intersect_count(ids, wanted)


def retain_fill(rows: RowsArrays, wanted: AnyArray, out: RowsArrays) -> None:
    """Write the stored rows among the wanted ones.

    Parameters
    ----------
    rows : row_sparse arrays
    wanted : (w,) ints
        Sorted, distinct.
    out : row_sparse arrays
        Allocated for :func:`retain_count` rows.

    Notes
    -----
    O(w + rows of the result * width).
    """
    slots = locate(rows[0], wanted)
    found = slots >= 0
    np.copyto(out[0], wanted[found], casting="unsafe")
    gather_rows(rows[1], slots[found], out[1])


def retain_dense(rows: RowsArrays, wanted: AnyArray, out: AnyArray) -> None:
    """Write each wanted row (any order, repeats allowed), zero where it is not stored, to ``out`` (w, ...).

    O(w * width), and O(w log nnr) at worst to find them.
    """
    gather_rows(rows[1], locate(rows[0], wanted), out)


def _movable(table: AnyArray) -> AnyArray:
    return flat_rows(moved(np.ascontiguousarray(table)))


@kernel
def _gather(begin, end, table, rows, ahead, line, out):
    width = out.shape[1]
    for i in range(begin, end):
        if i + ahead < end:
            start = max(np.int64(rows[i + ahead]), 0) * width
            for at in range(start, start + width, line):
                prefetch_read(table, at)
        r = rows[i]
        if r >= 0:
            copy_run(out, i * width, table, r * width, width)
        else:
            for j in range(width):
                out[i, j] = 0


@kernel
def _scatter(begin, end, rows, data, table):
    """Write to the rows ``begin:end`` of the table."""
    width = table.shape[1]
    for i in range(len(rows)):
        r = rows[i]
        if begin <= r < end:
            copy_run(table, r * width, data, i * width, width)


@kernel
def _add(begin, end, rows, data, table):
    """Add to the rows ``begin:end`` of the table."""
    for i in range(len(rows)):
        r = rows[i]
        if begin <= r < end:
            for j in range(table.shape[1]):
                table[r, j] += data[i, j]


@kernel
def _add_distinct(begin, end, rows, data, table):
    for i in range(begin, end):
        r = rows[i]
        for j in range(table.shape[1]):
            table[r, j] += data[i, j]
