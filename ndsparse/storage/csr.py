"""Storage type ``csr``: compressed sparse rows, two-dimensional.

::

    dense           indptr           indices    data
    [[0, 1, 0],     [0, 1, 1, 3]     [1, 0, 2]  [1, 2, 3]
     [0, 0, 0],
     [2, 0, 3]]

Row ``i`` is ``indices[indptr[i]:indptr[i + 1]]`` with the values at the same places.  Canonical:
column ids ascend and are unique in each row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ndsparse.errors import FormatCheckError
from ndsparse.kernels import border, csr_canonical, csr_check, csr_structure
from ndsparse.kernels import cast as cast_kernels
from ndsparse.storage.chunk import INT64, Array, Chunk, Shape, register

Triple = tuple[Array, Array, Array]


@register
class CSRChunk(Chunk):
    """Values ``data`` and column ids ``indices`` of shape (nnz,), and ``indptr`` of shape (rows + 1,)."""

    stype = "csr"
    code = 2
    aux_names = ("indptr", "indices")
    ndims = (2,)
    __slots__ = ()

    def _empty_data_shape(self) -> Shape:
        return (0,)

    def _empty_aux_shape(self, i: int) -> Shape:
        return (self.shape[0] + 1,) if i == 0 else (0,)

    @property
    def indptr(self) -> Array:
        """Start of each row in ``indices`` and ``data``, shape (rows + 1,)."""
        return self.aux(0)

    @property
    def indices(self) -> Array:
        """Column ids, shape (nnz,)."""
        return self.aux(1)

    @property
    def csr(self) -> Triple:
        """``(indptr, indices, data)``, as kernels take them."""
        return self.aux(0), self.aux(1), self.data

    @property
    def nnz(self) -> int:
        """Number of stored elements."""
        return int(self.storage_shape[0])

    def alloc_indptr(self, *given: np.dtype[np.int64], nnz: int = 0) -> Array:
        """Return ``indptr`` to be written; its dtype follows from those of the operands.

        ``nnz`` is a bound on the elements, where they can be more than an operand has.
        """
        dtype = border.index_dtype(self.index_extent(nnz), *given)
        self.aux_types[1] = dtype
        return self.check_and_alloc_aux(0, (self.shape[0] + 1,), dtype)

    def alloc_elements(self, nnz: int) -> Triple:
        """Return ``(indptr, indices, data)`` with room for ``nnz`` elements, to be written."""
        return self.aux(0), self.check_and_alloc_aux(1, (nnz,)), self.check_and_alloc_data((nnz,))

    def like(self, other: CSRChunk) -> Array:
        """Take the structure of ``other`` (copied) and return ``data``, to be written."""
        if other is not self:
            for i in (0, 1):
                source = other.aux(i)
                np.copyto(self.check_and_alloc_aux(i, source.shape, source.dtype), source)
        return self.check_and_alloc_data(other.data.shape)

    def check_format(self, full_check: bool = True) -> None:
        """Check lengths; in full, that indptr ascends and column ids are sorted, unique, in range."""
        indptr, indices, data = self.csr
        rows, columns = self.shape
        if indptr.shape != (rows + 1,) or indices.ndim != 1 or indices.shape != data.shape:
            raise FormatCheckError(
                f"csr: indptr {indptr.shape}, indices {indices.shape} and data {data.shape} "
                f"do not fit the shape {self.shape}"
            )
        if not full_check:
            return
        code, at = csr_check.check_csr(indptr, indices, self.shape)
        if code:
            raise FormatCheckError(f"csr: {_explain(csr_check.CsrFault(code), at, indptr, indices, columns)}")

    def in_bounds(self) -> bool:
        """Whether indptr ascends from 0 to nnz and columns are in range.  O(rows + nnz)."""
        indptr, indices = self.aux(0), self.aux(1)
        if indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
            return False
        return not len(indices) or bool(indices.min() >= 0 and indices.max() < self.shape[1])

    def is_canonical(self) -> bool:
        """Whether the column ids of each row ascend without duplicates.  O(rows + nnz)."""
        return csr_check.is_canonical(self.aux(0), self.aux(1))

    def canonicalize(self) -> None:
        """Sort the column ids of each row and sum duplicates.  O(nnz log row length)."""
        if self.is_canonical():
            return
        result = CSRChunk(self.shape, self.dtype)
        indptr = result.alloc_indptr(self.indptr.dtype, self.indices.dtype)
        plan = csr_canonical.canonical_count(self.csr, indptr)
        csr_canonical.canonical_fill(self.csr, plan, result.alloc_elements(plan.nnz))
        self.move_from(result)

    def to_coo(self) -> tuple[tuple[Array, ...], Array]:
        """Return rows, columns and values of the stored elements."""
        if not csr_check.is_canonical(self.indptr, self.indices):
            twin = CSRChunk(self.shape, self.dtype)
            twin.adopt(self.data, self.indptr, self.indices)
            twin.canonicalize()
            return twin.to_coo()
        indptr, indices, data = self.csr
        rows = np.empty(len(indices), INT64)
        csr_structure.expand_rows(indptr, rows)
        return (rows, indices.astype(INT64, copy=False)), data

    def set_coo(self, coords: Sequence[Array], values: Array) -> None:
        """Become the matrix with these elements; any order, duplicates are summed."""
        rows, columns = (np.ascontiguousarray(c) for c in coords)
        indptr = self.alloc_indptr(border.index_dtype(len(rows), rows.dtype, columns.dtype))
        plan = csr_canonical.coo_count(rows, columns, self.shape, indptr)
        csr_canonical.coo_fill(plan, np.ascontiguousarray(values), self.alloc_elements(plan.nnz))

    def to_dense(self, out: Array | None = None) -> Array:
        """Return the dense matrix, duplicates summed."""
        fresh = out is None
        if out is None:
            out = np.zeros(self.shape, self.dtype)
        cast_kernels.csr_to_dense(self.csr, out, zeroed=fresh)
        return out

    def set_dense(self, array: Array) -> None:
        """Store the nonzeros of ``array``."""
        indptr = self.alloc_indptr(border.index_dtype(array.size, *self.aux_types))
        plan = cast_kernels.dense_to_csr_count(array, indptr)
        cast_kernels.dense_to_csr_fill(array, plan, self.alloc_elements(plan.nnz))


def _explain(fault: csr_check.CsrFault, at: int, indptr: Array, indices: Array, columns: int) -> str:
    if fault.name.startswith("INDPTR"):
        wanted = f"wanted it to start at 0, never to fall, and to end at {len(indices)}"
        return f"indptr[{at}] is {int(indptr[at])}; {wanted}"
    row = int(np.searchsorted(indptr, at, side="right")) - 1
    return (
        f"indices[{at}] (row {row}) is {int(indices[at])}; wanted 0 <= column < {columns}, "
        "ascending and unique in the row"
    )
