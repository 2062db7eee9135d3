"""``where``: elements of one array or another."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.errors import ShapeError
from ndsparse.ops import shapes
from ndsparse.ops.registry import get, operator
from ndsparse.storage import CSRChunk, DefaultChunk
from ndsparse.storage.structure import canonical, csr_rows


@operator("condition(*c), x(*s), y(*s) -> (*s)", dtypes="*, T, T -> T")
def where(condition: Any, x: Any, y: Any) -> Any:
    """Return the elements of ``x`` where ``condition`` is not 0, else those of ``y``.

    Parameters
    ----------
    condition : NDArray
        Of the shape of ``x``, or one number for each of its rows; csr for the shape of ``x``.
    x, y : NDArray
        Of one shape.
    """
    if condition.shape != x.shape:
        condition = condition.reshape(condition.shape + (1,) * (x.ndim - 1))
    return np.where(condition != 0, x, y)


@where.shape
def _(inputs: Any, outputs: Any) -> Any:
    condition, x, y = inputs
    merged = x
    for other in (y, outputs[0]):
        found = shapes.merge(merged, other)
        if found is None and merged is not None and other is not None:
            raise ShapeError(f"where: the shapes of x and y do not match: {merged} and {other}")
        merged = found
    if condition is not None and merged is not None:
        by_row = len(condition) == 1 and condition[0] in (merged[0], -1)
        if not by_row and shapes.merge(condition, merged) is None:
            raise ShapeError(f"where: condition has shape {condition}; wanted {merged} or ({merged[0]},)")
    return [condition, merged, merged], [merged]


@where.on("csr, default, default -> default")
def _(condition: CSRChunk, x: DefaultChunk, y: DefaultChunk, out: DefaultChunk) -> None:
    source = canonical(condition)
    stored = source.data != 0
    rows, columns = csr_rows(source)[stored], source.indices[stored]
    target = out.check_and_alloc_data(out.shape)
    np.copyto(target, y.data, casting="unsafe")
    target[rows, columns] = x.data[rows, columns]


@where.grad
def _(g: Any, condition: Any, x: Any, y: Any) -> Any:
    nothing = get("zeros_like")(g)
    return None, where(condition, g, nothing), where(condition, nothing, g)
