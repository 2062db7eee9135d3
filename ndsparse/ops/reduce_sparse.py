"""Rows of reductions for csr and row_sparse arrays: sums, means and norms over any axes, dense results.

Cost: O(stored elements + size of the result).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ndsparse.kernels import reduce as kernels
from ndsparse.ops.axes import axes_of
from ndsparse.ops.registry import Operator
from ndsparse.storage import CSRChunk, DefaultChunk, RowSparseChunk
from ndsparse.storage.structure import canonical, csr_rows

Function = Callable[..., Any]

_NUMPY: dict[str, Function] = {
    "sum": np.sum,
    "mean": np.sum,
    "sumsq": lambda x, axis: np.sum(np.square(x), axis=axis),
    "sumabs": lambda x, axis: np.sum(np.abs(x), axis=axis),
}
"""The kinds of the kernels, on numpy arrays; a mean is divided afterwards."""


def sparse_rows(op: Operator, kind: Function | str, finish: Function | None = None) -> None:
    """Add the rows ``csr -> default`` and ``row_sparse -> default`` to a reduction.

    Parameters
    ----------
    kind : str or callable
        The kind, as the kernels name it, or a function of the attributes that gives it.
    finish : callable, optional
        Applied to the dense result: ``finish(array, attributes)`` changes it in place.
    """

    def row(reduce: Function) -> Function:
        def kernel(data: Any, out: DefaultChunk, **attrs: Any) -> None:
            axes = axes_of(op.name, attrs["axis"], len(data.shape), attrs.get("exclude", False))
            target = out.check_and_alloc_data(out.shape)
            reduce(kind if isinstance(kind, str) else kind(attrs), data, axes, target)
            if finish is not None:
                finish(target, attrs)

        return kernel

    op.on("csr -> default")(row(csr_reduced))
    op.on("row_sparse -> default")(row(rows_reduced))


def csr_reduced(kind: Any, data: CSRChunk, axes: tuple[int, ...], target: Any) -> None:
    """Write the reduction of a csr matrix over ``axes`` into a dense array of the reduced shape."""
    if not axes:
        np.copyto(target, _NUMPY[kind](data.to_dense()[None], axis=0), casting="unsafe")
        return
    source = data if kind in ("sum", "mean") else canonical(data)
    if axes == (0, 1):
        target[...] = kernels.csr_reduce_all(kind, source.csr, math.prod(source.shape))
        return
    flat = np.empty(target.size, target.dtype)
    if axes == (0,):
        kernels.csr_reduce_columns(kind, source.csr, source.shape[0], flat)
    else:
        kernels.csr_reduce_rows(kind, source.csr, source.shape[1], flat)
    target[...] = flat.reshape(target.shape)


def rows_reduced(kind: Any, data: RowSparseChunk, axes: tuple[int, ...], target: Any) -> None:
    """Write the reduction of a row_sparse array over ``axes`` into a dense array of the reduced shape."""
    source = canonical(data)
    values = source.data
    if len(axes) == values.ndim:
        target[...] = kernels.values_reduce(kind, values, math.prod(source.shape))
        return
    found = _NUMPY[kind](values, axis=axes) if axes else _NUMPY[kind](values[None], axis=0)
    if kind == "mean":
        found = found / math.prod(source.shape[a] for a in axes)
    if 0 in axes:
        np.copyto(target, np.reshape(found, target.shape), casting="unsafe")
        return
    target[...] = 0
    target[source.indices] = np.reshape(found, (len(values), *target.shape[1:]))


def at_places(structure: Any, array: Any) -> Any:
    """Return the values of ``array``, broadcast to the shape of ``structure``, at its places."""
    if isinstance(structure, CSRChunk):
        rows = csr_rows(structure) if array.shape[0] != 1 else 0
        return array[rows, structure.indices if array.shape[1] != 1 else 0]
    return array[structure.indices] if array.shape[0] != 1 else array
