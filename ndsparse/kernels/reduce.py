"""Sums and norms of csr and row_sparse arrays.

Float32 is summed in float64, integers in int64.  Sums over everything and over rows are cut into
blocks whose size does not depend on the number of threads, so neither do their bits; sums over the
columns of a csr matrix are made by one thread where the setting ``deterministic`` is on.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ndsparse.config import settings
from ndsparse.kernels.border import AnyArray, values
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.operands import CsrArrays, RowsArrays, compute_dtype, csr_operand, deliver, flat_rows
from ndsparse.kernels.threads import balanced_bounds, even_bounds, run_blocks, threads_for

Kind = Literal["sum", "mean", "sumsq", "maxabs", "sumabs"]

_CODES: dict[str, int] = {"sum": 0, "mean": 0, "sumsq": 1, "sumabs": 2, "maxabs": 3}
SQUARES, ABSOLUTE, LARGEST = 1, 2, 3
_BLOCK = 1 << 15


def values_reduce(kind: Kind, data: AnyArray, size: int) -> Any:
    """Return the reduction of an array whose stored elements are ``data``.

    Parameters
    ----------
    kind : {"sum", "mean", "sumsq", "maxabs", "sumabs"}
        ``sumsq`` is the sum of squares, ``maxabs`` the largest absolute value (0 of nothing).
    data : (...)
        Stored elements of any dtype; the others are zero.
    size : int
        Elements of the whole array, for the mean.

    Returns
    -------
    numpy.float64 or numpy.int64
        float64 for a mean.

    Notes
    -----
    O(len(data)).
    """
    source = values(data).reshape(-1)
    zero = _zero(source)
    blocks = max(1, -(-len(source) // _BLOCK))
    parts = np.empty(blocks, type(zero))
    bounds = even_bounds(blocks, min(blocks, threads_for(len(source))))
    run_blocks(_reduce_blocks, bounds, source, _CODES[kind], zero, parts)
    total = parts.max() if kind == "maxabs" else parts.sum()
    return np.float64(total) / size if kind == "mean" else total


def csr_reduce_all(kind: Kind, csr: CsrArrays, size: int) -> Any:
    """Return the reduction of all elements of a csr matrix without duplicates; see :func:`values_reduce`."""
    return values_reduce(kind, csr[2][int(csr[0][0]) : int(csr[0][-1])], size)


def csr_reduce_rows(kind: Kind, csr: CsrArrays, columns: int, out: AnyArray) -> None:
    """Write the reduction of each row (axis 1).

    Parameters
    ----------
    kind : see :func:`values_reduce`
    csr : csr arrays, (m, columns)
        Without duplicates unless the kind is a sum or a mean.
    columns : int
        For the mean.
    out : (m,)
        Any dtype.

    Notes
    -----
    O(m + nnz).
    """
    indptr, _, data = csr_operand(csr, compute_dtype(csr[2]))
    zero = _zero(data)
    result = np.empty(len(out), type(zero))
    bounds = balanced_bounds(indptr, threads_for(len(data)))
    run_blocks(_reduce_rows, bounds, indptr, data, _CODES[kind], zero, result)
    _finish(kind, result, columns, out)


def csr_reduce_columns(kind: Kind, csr: CsrArrays, rows: int, out: AnyArray) -> None:
    """Write the reduction of each column (axis 0).

    Parameters
    ----------
    kind : see :func:`values_reduce`
    csr : csr arrays, (rows, n)
        Without duplicates unless the kind is a sum or a mean.
    rows : int
        For the mean.
    out : (n,)
        Any dtype.

    Notes
    -----
    O(n + nnz).
    """
    indptr, indices, data = csr_operand(csr, compute_dtype(csr[2]))
    first, last = int(indptr[0]), int(indptr[-1])
    n = len(out)
    threads = 1 if settings.deterministic else min(threads_for(last - first), 1 + (last - first) // max(n, 1))
    parts = np.zeros((threads, n), type(_zero(data)))
    cuts = np.asarray(even_bounds(last - first, threads)) + first
    run_blocks(_reduce_columns, range(threads + 1), cuts, indices, data, _CODES[kind], parts)
    _finish(kind, _join(kind, parts), rows, out)


def rows_reduce_rows(kind: Kind, rows: RowsArrays, out: AnyArray) -> None:
    """Write the reduction of each stored row of a row_sparse array to ``out`` (nnr,).  O(nnr * width)."""
    data = flat_rows(values(rows[1]))
    zero = _zero(data)
    result = np.empty(len(data), type(zero))
    starts = np.arange(len(data) + 1) * data.shape[1]
    bounds = even_bounds(len(data), threads_for(data.size))
    run_blocks(_reduce_rows, bounds, starts, data.reshape(-1), _CODES[kind], zero, result)
    _finish(kind, result, data.shape[1], out)


def rows_reduce_columns(kind: Kind, rows: RowsArrays, m: int, out: AnyArray) -> None:
    """Write the reduction over the first axis of a row_sparse array.

    Parameters
    ----------
    kind : see :func:`values_reduce`
    rows : row_sparse arrays, (m, ...)
    m : int
        For the mean.
    out : (...)
        The shape without the first axis, or flat.

    Notes
    -----
    O(nnr * width).
    """
    data = flat_rows(values(rows[1]))
    blocks = max(1, min(16, len(data), data.size // _BLOCK))
    parts = np.zeros((blocks, data.shape[1]), type(_zero(data)))
    cuts = np.asarray(even_bounds(len(data), blocks))
    bounds = even_bounds(blocks, min(blocks, threads_for(data.size)))
    run_blocks(_fold_rows, bounds, cuts, data, _CODES[kind], parts)
    _finish(kind, _join(kind, parts).reshape(out.shape), m, out)


def _zero(data: AnyArray) -> Any:
    return np.int64(0) if data.dtype.kind == "i" else np.float64(0)


def _join(kind: Kind, parts: AnyArray) -> AnyArray:
    if len(parts) == 1:
        return np.asarray(parts[0])
    return np.asarray(parts.max(axis=0) if kind == "maxabs" else parts.sum(axis=0))


def _finish(kind: Kind, result: AnyArray, extent: int, out: AnyArray) -> None:
    deliver(result / extent if kind == "mean" else result, out)


@kernel(fastmath={"reassoc", "contract"})
def _run(data, first, last, code, zero):
    """Reduce a run of elements in the type of ``zero``."""
    total = zero
    if code == SQUARES:
        for p in range(first, last):
            v = zero + data[p]
            total += v * v
    elif code == ABSOLUTE:
        for p in range(first, last):
            total += abs(zero + data[p])
    elif code == LARGEST:
        for p in range(first, last):
            v = abs(zero + data[p])
            if v > total or v != v:
                total = v
                if v != v:
                    break
    else:
        for p in range(first, last):
            total += data[p]
    return total


@kernel
def _reduce_blocks(begin, end, data, code, zero, parts):
    for block in range(begin, end):
        first = block * _BLOCK
        parts[block] = _run(data, first, min(first + _BLOCK, len(data)), code, zero)


@kernel
def _reduce_rows(begin, end, indptr, data, code, zero, out):
    for i in range(begin, end):
        out[i] = _run(data, indptr[i], indptr[i + 1], code, zero)


@kernel
def _fold(out, t, c, code, v):
    if code == SQUARES:
        out[t, c] += v * v
    elif code == ABSOLUTE:
        out[t, c] += abs(v)
    elif code == LARGEST:
        if abs(v) > out[t, c] or v != v:
            out[t, c] = abs(v)
    else:
        out[t, c] += v


@kernel
def _reduce_columns(begin, end, cuts, indices, data, code, parts):
    zero = parts.dtype.type(0)
    for t in range(begin, end):
        for p in range(cuts[t], cuts[t + 1]):
            _fold(parts, t, indices[p], code, zero + data[p])


@kernel
def _fold_rows(begin, end, cuts, data, code, parts):
    zero = parts.dtype.type(0)
    for t in range(begin, end):
        for i in range(cuts[t], cuts[t + 1]):
            for j in range(data.shape[1]):
                _fold(parts, t, j, code, zero + data[i, j])
