"""``diag``: a diagonal of an array, or a matrix with a given diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.errors import ShapeError
from ndsparse.kernels import csr_structure
from ndsparse.ops import shapes
from ndsparse.ops.operands import give
from ndsparse.ops.registry import operator
from ndsparse.storage import CSRChunk, DefaultChunk
from ndsparse.storage.structure import canonical


@operator("data(*s) -> (*r)")
def diag(data: Any, *, k: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return the ``k``-th diagonal along two axes; of a vector, the matrix with that diagonal."""
    return np.diag(data, k) if data.ndim == 1 else np.diagonal(data, k, axis1, axis2).copy()


@diag.shape
def _(inputs: Any, outputs: Any, *, k: int, axis1: int, axis2: int) -> Any:
    data = inputs[0]
    if data is None or shapes.UNKNOWN in data:
        return inputs, outputs
    if len(data) == 1:
        return inputs, [(data[0] + abs(k),) * 2]
    a, b = (shapes.normalize_axis("diag", axis, len(data)) for axis in (axis1, axis2))
    if a == b:
        raise ShapeError(f"diag: axis1 and axis2 are both {a}; wanted two axes of {data}")
    length = max(min(data[a] + min(k, 0), data[b] - max(k, 0)), 0)
    return inputs, [(*(n for i, n in enumerate(data) if i not in (a, b)), length)]


@diag.grad
def _(g: Any, data: Any, *, k: int, axis1: int, axis2: int) -> Any:
    return _backward_diag(g, data, k=k, axis1=axis1, axis2=axis2)


@operator("g(*r), data(*s) -> (*s)", dtypes="T, * -> T")
def _backward_diag(g: Any, data: Any, *, k: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return zeros of the shape of ``data`` with ``g`` on the diagonal."""
    if data.ndim == 1:
        return np.diagonal(g, k).copy()
    result = np.zeros(data.shape, g.dtype)
    moved = np.moveaxis(result, (axis1, axis2), (-2, -1))
    at = np.arange(g.shape[-1])
    moved[..., at - min(k, 0), at + max(k, 0)] = g
    return result


@diag.on("csr -> default", axis1=0, axis2=1)
def _(data: CSRChunk, out: DefaultChunk, *, k: int) -> None:
    found = np.empty(out.shape, data.dtype)
    at = np.arange(len(found))
    csr_structure.get_elements(canonical(data).csr, at - min(k, 0), at + max(k, 0), found)
    give(out, found)
