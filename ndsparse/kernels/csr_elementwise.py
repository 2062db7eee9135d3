"""Elementwise operations on canonical csr matrices: with each other, with dense arrays and vectors."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from ndsparse.kernels.border import AnyArray, index, values
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.opcodes import ADD, INEXACT, REPLACE, UNION, Op, put
from ndsparse.kernels.operands import (
    CsrArrays,
    DType,
    compute_dtype,
    csr_operand,
    deliver,
    indexes,
    target,
)
from ndsparse.kernels.threads import balanced_bounds, even_bounds, run_blocks, threads_for


def csr_csr_count(op: Op, lhs: CsrArrays, rhs: CsrArrays, out_indptr: AnyArray) -> int:
    """Write the indptr of ``lhs op rhs`` and return its number of elements.

    Parameters
    ----------
    op : Op
        ADD, SUB, RSUB, MAXIMUM, MINIMUM, HYPOT and REPLACE store the union of the elements, MUL the
        intersection, DIV those of ``lhs``.
    lhs, rhs : csr arrays, (m, n)
        Canonical.
    out_indptr : (m + 1,)

    Returns
    -------
    int

    Notes
    -----
    O(m + nnz).
    """
    if op not in UNION and op != Op.MUL:
        np.copyto(out_indptr, lhs[0], casting="unsafe")
        return len(lhs[1])
    a, x, b, y = indexes(lhs[0], lhs[1], rhs[0], rhs[1])
    counts = target(out_indptr, a.dtype)
    bounds = balanced_bounds(a, threads_for(len(x) + len(y)))
    run_blocks(_count, bounds, op in UNION, a, x, b, y, counts)
    counts[0] = 0
    np.cumsum(counts, out=counts)
    deliver(counts, out_indptr)
    return int(counts[-1])


def csr_csr_fill(op: Op, lhs: CsrArrays, rhs: CsrArrays, out: CsrArrays) -> None:
    """Write the elements of ``lhs op rhs``; ``out`` has the indptr of :func:`csr_csr_count`.

    Elements that become zero stay stored.  Where DIV finds no element in ``rhs``, it divides by zero.
    """
    dtype = _dtype(op, lhs[2], rhs[2])
    a, x, b, y = indexes(lhs[0], lhs[1], rhs[0], rhs[1])
    u, v = values(lhs[2], dtype), values(rhs[2], dtype)
    out_indices, out_data = target(out[1], x.dtype), target(out[2], dtype)
    bounds = balanced_bounds(a, threads_for(len(x) + len(y)))
    arguments = a, x, u, b, y, v, index(out[0]), out_indices, out_data
    if op in UNION:
        run_blocks(_fill_union, bounds, int(op), *arguments)
    else:
        run_blocks(_fill_left, bounds, int(op), op != Op.MUL, *arguments)
    deliver(out_indices, out[1])
    deliver(out_data, out[2])


def csr_dense_gather(op: Op, csr: CsrArrays, dense: AnyArray, out_data: AnyArray) -> None:
    """Write ``csr op dense`` at the stored elements: MUL, DIV, RDIV (and any other).

    Parameters
    ----------
    op : Op
    csr : csr arrays, (m, n)
    dense : (m, n)
    out_data : (nnz,)
        May be the data of ``csr``.

    Notes
    -----
    O(m + nnz).
    """
    dtype = _dtype(op, csr[2], dense)
    indptr, indices, data = csr_operand(csr, dtype)
    result = target(out_data, dtype)
    bounds = balanced_bounds(indptr, threads_for(len(indices)))
    run_blocks(_gather, bounds, int(op), indptr, indices, data, values(dense, dtype), result)
    deliver(result, out_data)


def csr_dense_sum(op: Op, csr: CsrArrays, dense: AnyArray, out: AnyArray) -> None:
    """Write the dense ``csr + dense`` (ADD), ``csr - dense`` (SUB) or ``dense - csr`` (RSUB).

    Parameters
    ----------
    op : Op
    csr : csr arrays, (m, n)
        Any order; duplicates count as their sum.
    dense, out : (m, n)
        May be the same array.

    Notes
    -----
    O(m n + nnz).
    """
    dtype = compute_dtype(csr[2], dense)
    indptr, indices, data = csr_operand(csr, dtype)
    result = target(out, dtype, load=out is dense)
    source = values(dense, dtype)
    bounds = even_bounds(len(result), threads_for(result.size))
    run_blocks(_sum, bounds, op == Op.SUB, op == Op.RSUB, indptr, indices, data, source, result)
    deliver(result, out)


def csr_scale_rows(op: Op, csr: CsrArrays, vector: AnyArray, out_data: AnyArray) -> None:
    """Write ``csr op vector[:, None]`` at the stored elements; MUL, DIV, RDIV.  O(m + nnz)."""
    _scale(op, csr, vector, out_data, by_row=True)


def csr_scale_columns(op: Op, csr: CsrArrays, vector: AnyArray, out_data: AnyArray) -> None:
    """Write ``csr op vector[None, :]`` at the stored elements; MUL, DIV, RDIV.  O(m + nnz)."""
    _scale(op, csr, vector, out_data, by_row=False)


def _scale(op: Op, csr: CsrArrays, vector: AnyArray, out_data: AnyArray, *, by_row: bool) -> None:
    dtype = _dtype(op, csr[2], vector)
    indptr, indices, data = csr_operand(csr, dtype)
    result = target(out_data, dtype)
    bounds = balanced_bounds(indptr, threads_for(len(indices)))
    vector = values(vector, dtype).reshape(-1)
    run_blocks(_scale_by, bounds, int(op), by_row, indptr, indices, data, vector, result)
    deliver(result, out_data)


def _dtype(op: Op, *arrays: AnyArray) -> DType:
    """Return the compute dtype; float64 for operators that make floats of integers."""
    dtype = compute_dtype(*arrays)
    return np.dtype(np.float64) if op in INEXACT and dtype.kind == "i" else dtype


@kernel
def _count(begin, end, union, a, x, b, y, counts):
    """Merge the columns.  Positions are unsigned: numba then has no negative ones to look out for."""
    for i in range(begin, end):
        p, last = np.uint64(a[i]), np.uint64(a[i + 1])
        q, stop = np.uint64(b[i]), np.uint64(b[i + 1])
        shared = 0
        while p < last and q < stop:
            c, d = x[p], y[q]
            shared += c == d
            p += np.uint64(c <= d)
            q += np.uint64(d <= c)
        if union:
            shared = a[i + 1] - a[i] + b[i + 1] - b[i] - shared
        counts[i + 1] = shared


@kernel
def _fill_union(begin, end, op, a, x, u, b, y, v, out_indptr, out_indices, out_data):
    """Merge without branches that depend on the data: these would be guessed wrong half of the time."""
    zero = u.dtype.type(0)
    for i in range(begin, end):
        p, last = np.uint64(a[i]), np.uint64(a[i + 1])
        q, stop = np.uint64(b[i]), np.uint64(b[i + 1])
        at, one = np.uint64(out_indptr[i]), np.uint64(1)
        while p < last and q < stop:
            c, d = x[p], y[q]
            out_indices[at] = min(c, d)
            left = u[p] if c <= d else zero
            if op == REPLACE:
                out_data[at] = v[q] if d <= c else left
            else:
                put(out_data, at, op, left, v[q] if d <= c else zero)
            at += one
            p += np.uint64(c <= d)
            q += np.uint64(d <= c)
        while p < last:
            out_indices[at] = x[p]
            put(out_data, at, ADD if op == REPLACE else op, u[p], zero)
            at, p = at + one, p + one
        while q < stop:
            out_indices[at] = y[q]
            put(out_data, at, op, zero, v[q])
            at, q = at + one, q + one


@kernel
def _fill_left(begin, end, op, alone, a, x, u, b, y, v, out_indptr, out_indices, out_data):
    """Look up the elements of the left in the right; ``alone``: keep those that are not there."""
    zero = u.dtype.type(0)
    for i in range(begin, end):
        q, stop = b[i], b[i + 1]
        at = out_indptr[i]
        for p in range(a[i], a[i + 1]):
            c = x[p]
            while q < stop and y[q] < c:
                q += 1
            both = q < stop and y[q] == c
            if both or alone:
                out_indices[at] = c
                put(out_data, at, op, u[p], v[q] if both else zero)
                at += 1


@kernel
def _gather(begin, end, op, indptr, indices, data, dense, out):
    for i in range(begin, end):
        for p in range(indptr[i], indptr[i + 1]):
            put(out, p, op, data[p], dense[i, indices[p]])


@kernel
def _sum(begin, end, negate_dense, negate_csr, indptr, indices, data, dense, out):
    for i in range(begin, end):
        if negate_dense:
            for j in range(out.shape[1]):
                out[i, j] = -dense[i, j]
        else:
            for j in range(out.shape[1]):
                out[i, j] = dense[i, j]
        for p in range(indptr[i], indptr[i + 1]):
            out[i, indices[p]] += -data[p] if negate_csr else data[p]


@kernel
def _scale_by(begin, end, op, by_row, indptr, indices, data, vector, out):
    for i in range(begin, end):
        for p in range(indptr[i], indptr[i + 1]):
            put(out, p, op, data[p], vector[i if by_row else indices[p]])
