"""Products of two matrices in any storage types: one table from a pair of types to a kernel.

``into`` computes ``op(lhs) @ op(rhs)`` into a dense array, where ``op`` may transpose.  Operators
that multiply (dot, FullyConnected and their gradients) differ in what they do with shapes and in
the storage type of the result; what they multiply with stands here.

=============  ==================================================================
lhs, rhs       cost (n: columns of the result, K: the shared extent)
=============  ==================================================================
csr, dense     O(nnz n); a transposed rhs is copied once
dense, csr     O(nnz m)
csr, csr       O(products) + the dense result
row_sparse, *  that of the stored rows as a dense operand
*, row_sparse  that of the stored rows as a dense operand, and O(nnz) to find them
=============  ==================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ndsparse.kernels import csr_csr, csr_dot, csr_structure, dense_csr, row_ids
from ndsparse.kernels.operands import CsrArrays
from ndsparse.ops.operands import canonical_rows
from ndsparse.storage import Chunk, CSRChunk, RowSparseChunk
from ndsparse.storage.chunk import Array


class Matrix(NamedTuple):
    """A two-dimensional operand."""

    stype: str
    content: Any  # dense: array; csr: (indptr, indices, data); row_sparse: (ids, rows)
    shape: tuple[int, int]  # as stored
    transposed: bool

    @property
    def rows(self) -> int:
        """Rows after the transposition."""
        return self.shape[1] if self.transposed else self.shape[0]

    @property
    def columns(self) -> int:
        """Columns after the transposition."""
        return self.shape[0] if self.transposed else self.shape[1]

    @property
    def T(self) -> Matrix:
        """The transposed operand (no data moves)."""
        return self._replace(transposed=not self.transposed)

    def array(self) -> Array:
        """Return the values of a dense operand, as a view with the transposition done."""
        array: Array = self.content
        return array.T if self.transposed else array


def matrix(chunk: Chunk, shape: tuple[int, int] | None = None, transposed: bool = False) -> Matrix:
    """Return a chunk as an operand; a dense one may be seen in another ``shape``."""
    if isinstance(chunk, CSRChunk):
        return Matrix("csr", chunk.csr, (chunk.shape[0], chunk.shape[1]), transposed)
    if isinstance(chunk, RowSparseChunk):
        ids, rows = canonical_rows(chunk).rows
        dims = shape or (chunk.shape[0], chunk.width)
        return Matrix("row_sparse", (ids, rows.reshape(len(ids), dims[1])), dims, transposed)
    data = chunk.data if shape is None else chunk.data.reshape(shape)
    return Matrix("default", data, (data.shape[0], data.shape[1]), transposed)


def into(lhs: Matrix, rhs: Matrix, out: Array, accumulate: bool = False) -> None:
    """Write (or add) ``lhs @ rhs`` to the dense (m, n) array ``out``, of any dtype and layout."""
    _PRODUCTS[lhs.stype, rhs.stype](lhs, rhs, out, accumulate)


def product(lhs: Matrix, rhs: Matrix, dtype: Any) -> Array:
    """Return ``lhs @ rhs`` as a new dense array."""
    out = np.empty((lhs.rows, rhs.columns), dtype)
    into(lhs, rhs, out)
    return out


def plain(operand: Matrix) -> CsrArrays:
    """Return the arrays of a csr operand with the transposition done.  O(nnz + columns) if there is one."""
    if not operand.transposed:
        arrays: CsrArrays = operand.content
        return arrays
    return transposed_csr(operand.content, operand.shape[1])


def transposed_csr(csr: CsrArrays, columns: int) -> CsrArrays:
    """Return the arrays of the transpose of a csr matrix with so many columns."""
    indptr, indices, data = csr
    out = np.empty(columns + 1, indptr.dtype), np.empty(len(indices), indices.dtype), np.empty_like(data)
    csr_structure.transpose(csr, columns, out)
    return out


def _dense_dense(lhs: Matrix, rhs: Matrix, out: Array, accumulate: bool) -> None:
    if accumulate or out.dtype != np.result_type(lhs.content, rhs.content):
        _store(np.matmul(lhs.array(), rhs.array()), out, accumulate)
    else:
        np.matmul(lhs.array(), rhs.array(), out=out)


def _store(result: Array, out: Array, accumulate: bool) -> None:
    if accumulate:
        np.add(out, result, out=out, casting="unsafe")
    else:
        np.copyto(out, result, casting="unsafe")


def _csr_dense(lhs: Matrix, rhs: Matrix, out: Array, accumulate: bool) -> None:
    values = np.ascontiguousarray(rhs.array())
    multiply = csr_dot.csr_t_dense if lhs.transposed else csr_dot.csr_dense
    multiply(lhs.content, values, out, accumulate=accumulate)


def _dense_csr(lhs: Matrix, rhs: Matrix, out: Array, accumulate: bool) -> None:
    multiply = dense_csr.dense_csr_t if rhs.transposed else dense_csr.dense_csr
    multiply(lhs.array(), rhs.content, out, accumulate=accumulate)


def _csr_csr(lhs: Matrix, rhs: Matrix, out: Array, accumulate: bool) -> None:
    csr_csr.csr_csr_dense(plain(lhs), plain(rhs), out, accumulate=accumulate)


def _rows_any(lhs: Matrix, rhs: Matrix, out: Array, accumulate: bool) -> None:
    """Multiply with the stored rows of ``lhs`` only."""
    ids, data = lhs.content
    stored = Matrix("default", data, data.shape, lhs.transposed)
    if lhs.transposed:  # the sum runs over the stored rows
        into(stored, select_rows(rhs, ids), out, accumulate)
        return
    if not accumulate:
        out[...] = 0
    part = product(stored, rhs, out.dtype)
    out[ids] = out[ids] + part if accumulate else part


def _any_rows(lhs: Matrix, rhs: Matrix, out: Array, accumulate: bool) -> None:
    """Multiply with the stored rows of ``rhs`` only."""
    ids, data = rhs.content
    stored = Matrix("default", data, data.shape, rhs.transposed)
    if rhs.transposed:  # the stored rows are columns of the result
        if len(ids) == out.shape[1]:
            into(lhs, stored, out, accumulate)
            return
        if not accumulate:
            out[...] = 0
        part = product(lhs, stored, out.dtype)
        out[:, ids] = out[:, ids] + part if accumulate else part
        return
    into(select_rows(lhs.T, ids).T, stored, out, accumulate)


def _csr_rows(lhs: Matrix, rhs: Matrix, out: Array, accumulate: bool) -> None:
    if lhs.transposed or rhs.transposed:
        _any_rows(lhs, rhs, out, accumulate)
        return
    ids, data = rhs.content
    csr_dot.csr_row_sparse(
        lhs.content, (ids, np.ascontiguousarray(data)), out, columns=lhs.columns, accumulate=accumulate
    )


def select_rows(operand: Matrix, ids: Array) -> Matrix:
    """Return the rows ``ids`` (ascending, unique) of an operand, as an operand.

    Of a transposed csr or row_sparse operand these are columns; it stays transposed.
    """
    if operand.stype == "default":
        array = operand.array()
        if len(ids) != operand.rows:
            array = array[ids]
        return Matrix("default", array, array.shape, False)
    if operand.stype == "row_sparse":
        return _select_of_rows(operand, ids)
    if not operand.transposed:
        csr = csr_dot.csr_t_row_sparse_select(operand.content, ids)
        return Matrix("csr", csr, (len(ids), operand.shape[1]), False)
    indptr, indices, data = operand.content
    slots = row_ids.locate(ids, indices)
    keep = slots >= 0
    before = np.zeros(len(slots) + 1, np.int64)
    np.cumsum(keep, out=before[1:])
    csr = before[indptr], slots[keep], data[keep]
    return Matrix("csr", csr, (operand.shape[0], len(ids)), True)


def _select_of_rows(operand: Matrix, ids: Array) -> Matrix:
    own, data = operand.content
    if operand.transposed:
        return Matrix("row_sparse", (own, data[:, ids]), (operand.shape[0], len(ids)), True)
    slots = row_ids.locate(ids, own)
    keep = slots >= 0
    return Matrix("row_sparse", (slots[keep], data[keep]), (len(ids), operand.shape[1]), False)


_Product = Callable[[Matrix, Matrix, Array, bool], None]

_PRODUCTS: dict[tuple[str, str], _Product] = {
    ("default", "default"): _dense_dense,
    ("csr", "default"): _csr_dense,
    ("default", "csr"): _dense_csr,
    ("csr", "csr"): _csr_csr,
    ("csr", "row_sparse"): _csr_rows,
    ("default", "row_sparse"): _any_rows,
    ("row_sparse", "default"): _rows_any,
    ("row_sparse", "csr"): _rows_any,
    ("row_sparse", "row_sparse"): _rows_any,
}
"""Storage types of the operands to what multiplies them."""
