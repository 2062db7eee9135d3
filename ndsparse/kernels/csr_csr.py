"""Products of two csr matrices.

Rows of the result are found by Gustavson's method.  Columns already met in a row are looked up in a
table of the thread: direct, as long as the width of the result where that is modest, else hashed.
Neither is cleared between rows: an entry counts only if it bears the number of the row.
(F. G. Gustavson, "Two fast algorithms for sparse matrices", ACM TOMS 4(3), 1978.)
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from ndsparse.kernels.bits import lowest_bit
from ndsparse.kernels.border import AnyArray, index, values
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.operands import CsrArrays, compute_dtype, csr_operand, deliver, indexes, target
from ndsparse.kernels.threads import balanced_bounds, run_blocks, threads_for

_SORTED_A_WORD = 4  # sorting an element takes longer than looking at this many words of a bitmap
_DIRECT_COLUMNS = 1 << 16
_DIRECT_COLUMNS_A_PRODUCT = 8
_MULTIPLIER = 0x9E3779B97F4A7C15 - (1 << 64)  # the golden ratio: consecutive columns spread out


def csr_csr_count(lhs: CsrArrays, rhs: CsrArrays, columns: int, out_indptr: AnyArray) -> int:
    """Write the indptr of ``lhs @ rhs`` and return its number of elements.

    Parameters
    ----------
    lhs : csr arrays, (m, k)
    rhs : csr arrays, (k, columns)
        Any order, duplicates allowed, in both.
    columns : int
    out_indptr : (m + 1,)

    Returns
    -------
    int

    Notes
    -----
    O(m + flops); scratch memory of a table for each thread.
    """
    a, x, b, y = indexes(lhs[0], lhs[1], rhs[0], rhs[1])
    counts = target(out_indptr, np.dtype(np.int64))
    _flops(a, x, b, counts)
    longest, work = int(counts[1:].max(initial=0)), int(counts[1:].sum())
    bounds = balanced_bounds(a, threads_for(work))
    size = _table_size(columns, longest, work)
    run_blocks(_symbolic, bounds, size, size == columns, a, x, b, y, counts)
    counts[0] = 0
    np.cumsum(counts, out=counts)
    deliver(counts, out_indptr)
    return int(counts[-1])


def csr_csr_fill(lhs: CsrArrays, rhs: CsrArrays, columns: int, out: CsrArrays) -> None:
    """Write the elements of ``lhs @ rhs``, columns ascending.

    Parameters
    ----------
    lhs, rhs, columns
        As given to :func:`csr_csr_count`.
    out : csr arrays, (m, columns)
        With the indptr written there.  Sums that come to zero stay stored.

    Notes
    -----
    O(m + flops + nnz log length).
    """
    dtype = compute_dtype(lhs[2], rhs[2])
    a, x, b, y = indexes(lhs[0], lhs[1], rhs[0], rhs[1])
    u, v = values(lhs[2], dtype), values(rhs[2], dtype)
    starts = index(out[0])
    longest = int(np.diff(starts).max(initial=0))
    size = _table_size(columns, longest, int(starts[-1]))
    out_indices, out_data = target(out[1], np.dtype(np.int64)), target(out[2], dtype)
    bounds = balanced_bounds(starts, threads_for(2 * (len(x) + int(starts[-1]))))
    run_blocks(_numeric, bounds, size, size == columns, a, x, u, b, y, v, starts, out_indices, out_data)
    deliver(out_indices, out[1])
    deliver(out_data, out[2])


def csr_csr_dense(lhs: CsrArrays, rhs: CsrArrays, out: AnyArray, *, accumulate: bool = False) -> None:
    """Write the dense ``lhs @ rhs`` (m, n), or add it.  O(m n + flops)."""
    dtype = compute_dtype(lhs[2], rhs[2])
    a, x, u = csr_operand(lhs, dtype)
    b, y, v = csr_operand(rhs, dtype)
    result = target(out, dtype, load=accumulate)
    bounds = balanced_bounds(a, threads_for(result.size + 4 * len(x)))
    run_blocks(_dense, bounds, a, x, u, b, y, v, accumulate, result)
    deliver(result, out)


def _table_size(columns: int, longest: int, work: int) -> int:
    """Return ``columns`` for a direct table, else a power of two above twice the longest row."""
    if columns <= max(_DIRECT_COLUMNS, _DIRECT_COLUMNS_A_PRODUCT * work):
        return columns
    return 1 << (2 * longest + 1).bit_length()


@kernel
def _flops(a, x, b, counts):
    """Write the number of products of each row at ``[1:]``."""
    for i in range(len(a) - 1):
        total = np.int64(0)
        for p in range(a[i], a[i + 1]):
            total += b[x[p] + 1] - b[x[p]]
        counts[i + 1] = total


@kernel
def _find(c, row, direct, stamps, keys):
    """Return the place of column ``c`` in the table: its own, or a free one (stamp not the row's)."""
    if direct:
        return c
    mask = len(stamps) - 1
    at = ((np.int64(c) * _MULTIPLIER) >> 20) & mask
    while stamps[at] == row and keys[at] != c:
        at = (at + 1) & mask
    return at


@kernel
def _symbolic(begin, end, size, direct, a, x, b, y, counts):
    stamps = np.full(size, -1, np.int64)
    keys = np.empty(1 if direct else size, np.int64)
    for i in range(begin, end):
        count = 0
        for p in range(a[i], a[i + 1]):
            for q in range(b[x[p]], b[x[p] + 1]):
                at = _find(y[q], i, direct, stamps, keys)
                if stamps[at] != i:
                    stamps[at] = i
                    if not direct:
                        keys[at] = y[q]
                    count += 1
        counts[i + 1] = count


@kernel(fastmath={"contract"})
def _numeric(begin, end, size, direct, a, x, u, b, y, v, starts, indices, data):
    stamps = np.full(size, -1, np.int64)
    keys = np.empty(1 if direct else size, np.int64)
    sums = np.empty(size, data.dtype)
    bits = np.zeros((size >> 6) + 1, np.uint64)
    for i in range(begin, end):
        first = stop = starts[i]
        for p in range(a[i], a[i + 1]):
            for q in range(b[x[p]], b[x[p] + 1]):
                c = y[q]
                at = _find(c, i, direct, stamps, keys)
                if stamps[at] == i:
                    sums[at] += u[p] * v[q]
                else:
                    stamps[at] = i
                    if not direct:
                        keys[at] = c
                    sums[at] = u[p] * v[q]
                    indices[stop] = c
                    stop += 1
        if direct and (stop - first) * _SORTED_A_WORD > len(bits):
            _list_in_order(indices, first, stop, bits)
        else:
            _sort(indices, first, stop)
        for q in range(first, stop):
            data[q] = sums[_find(indices[q], i, direct, stamps, keys)]


@kernel
def _list_in_order(indices, first, stop, bits):
    """Sort by marking: O(width / 64), for rows with about as many elements.  Leaves ``bits`` clear."""
    for q in range(first, stop):
        c = np.int64(indices[q])
        bits[c >> 6] |= np.uint64(1) << np.uint64(c & 63)
    q = first
    for w in range(len(bits)):
        word = bits[w]
        bits[w] = 0
        while word != 0:
            indices[q] = (w << 6) + lowest_bit(word)
            q += 1
            word &= word - np.uint64(1)


@kernel
def _sort(indices, first, stop):
    """Sort a run in place (Shell's sort: few lines, and quick to compile, unlike numba's quicksort)."""
    gap = stop - first
    while gap > 1:
        gap = max(gap * 5 // 11, 1)
        for p in range(first + gap, stop):
            c = indices[p]
            q = p
            while q >= first + gap and indices[q - gap] > c:
                indices[q] = indices[q - gap]
                q -= gap
            indices[q] = c


@kernel(fastmath={"contract"})
def _dense(begin, end, a, x, u, b, y, v, accumulate, out):
    for i in range(begin, end):
        if not accumulate:
            for j in range(out.shape[1]):
                out[i, j] = 0
        for p in range(a[i], a[i + 1]):
            w = u[p]
            for q in range(b[x[p]], b[x[p] + 1]):
                out[i, y[q]] += w * v[q]
