"""Scans that find the first place where arrays break the invariants of their storage type."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from enum import IntEnum

from ndsparse.kernels.border import AnyArray, index
from ndsparse.kernels.jit import kernel
from ndsparse.kernels.operands import indexes


class CsrFault(IntEnum):
    """What is wrong with a csr matrix, and of which array the position speaks."""

    OK = 0
    INDPTR_LENGTH = 1  # not rows + 1; position: the length
    INDPTR_START = 2  # indptr[0] is not 0
    INDPTR_DESCENDS = 3  # indptr[position] < indptr[position - 1]
    INDPTR_END = 4  # indptr[position] is not the number of elements
    INDEX_NEGATIVE = 5  # indices[position] < 0
    INDEX_TOO_LARGE = 6  # indices[position] >= columns
    INDEX_ORDER = 7  # indices[position] < indices[position - 1] in one row
    INDEX_DUPLICATE = 8  # indices[position] == indices[position - 1] in one row


class RowFault(IntEnum):
    """What is wrong with the row ids of a row_sparse array, at a position of them."""

    OK = 0
    NEGATIVE = 1
    TOO_LARGE = 2
    ORDER = 3  # less than the one before
    DUPLICATE = 4


_START, _DESCENDS, _END = CsrFault.INDPTR_START, CsrFault.INDPTR_DESCENDS, CsrFault.INDPTR_END
START, DESCENDS, END = int(_START), int(_DESCENDS), int(_END)
NEGATIVE, TOO_LARGE, ORDER, DUPLICATE = (int(f) for f in list(CsrFault)[5:])


def check_csr(indptr: AnyArray, indices: AnyArray, shape: tuple[int, ...]) -> tuple[CsrFault, int]:
    """Return the first fault of a csr matrix and its position, ``(CsrFault.OK, -1)`` if there is none.

    Parameters
    ----------
    indptr, indices : int arrays
        Content is not trusted.
    shape : (m, n)

    Notes
    -----
    O(m + nnz).
    """
    rows, columns = shape
    if len(indptr) != rows + 1:
        return CsrFault.INDPTR_LENGTH, len(indptr)
    indptr, indices = indexes(indptr, indices)
    fault, at = _check_indptr(indptr, len(indices))
    if not fault:
        fault, at = _check_indices(indptr, indices, columns)
    return CsrFault(fault), int(at)


def check_row_ids(ids: AnyArray, rows: int) -> tuple[RowFault, int]:
    """Return the first fault of row ids and its position, ``(RowFault.OK, -1)`` if there is none.

    Parameters
    ----------
    ids : (nnr,) ints
        Content is not trusted.
    rows : int
        Extent of the first axis.

    Notes
    -----
    O(nnr).
    """
    ids = index(ids)
    fault, at = _check_run(ids, 0, len(ids), rows)
    return RowFault(fault - NEGATIVE + 1 if fault else 0), int(at)


def is_canonical(indptr: AnyArray, indices: AnyArray) -> bool:
    """Return whether the columns of each row ascend without duplicates.  O(m + nnz)."""
    indptr, indices = indexes(indptr, indices)
    return bool(_is_canonical(indptr, indices))


@kernel
def _check_indptr(indptr, nnz):
    if indptr[0] != 0:
        return START, 0
    for i in range(1, len(indptr)):
        if indptr[i] < indptr[i - 1]:
            return DESCENDS, i
    last = len(indptr) - 1
    if indptr[last] != nnz:
        return END, last
    return 0, -1


@kernel
def _check_run(ids, first, last, extent):
    previous = -1
    for p in range(first, last):
        c = ids[p]
        if c <= previous or c >= extent:
            if c < 0:
                return NEGATIVE, p
            if c >= extent:
                return TOO_LARGE, p
            return (DUPLICATE if c == previous else ORDER), p
        previous = c
    return 0, -1


@kernel
def _check_indices(indptr, indices, columns):
    for i in range(len(indptr) - 1):
        fault, at = _check_run(indices, indptr[i], indptr[i + 1], columns)
        if fault:
            return fault, at
    return 0, -1


@kernel
def _is_canonical(indptr, indices):
    for i in range(len(indptr) - 1):
        for p in range(indptr[i] + 1, indptr[i + 1]):
            if indices[p] <= indices[p - 1]:
                return False
    return True
