"""Axes of reductions: which they are, and the shape that is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ndsparse.errors import ShapeError
from ndsparse.ops import shapes

Shape = tuple[int, ...]
Axis = int | tuple[int, ...] | None


def axes_of(op: str, axis: Axis, ndim: int, exclude: bool = False) -> tuple[int, ...]:
    """Return the axes to reduce over, sorted; all of them for None and ()."""
    given = (axis,) if isinstance(axis, int) else (axis or ())
    if not given:
        return tuple(range(ndim))
    named = [shapes.normalize_axis(op, a, ndim) for a in given]
    if len(set(named)) != len(named):
        raise ShapeError(f"{op}: axis {axis} names an axis twice")
    return tuple(i for i in range(ndim) if (i in named) != exclude)


def reduced_shape(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """Return the shape of the result; (1,) where nothing is left."""
    return shapes.reduced(shape, axes, keepdims) or (1,)


def spread(array: Any, shape: Shape, axes: tuple[int, ...]) -> Any:
    """Return a view of an array of the reduced shape that broadcasts to ``shape``."""
    return array.reshape(shapes.reduced(shape, axes, True))


def shape_rule(name: str) -> Callable[..., Any]:
    """Return the shape rule of a reduction."""

    def rule(
        inputs: Any, outputs: Any, *, axis: Axis, keepdims: bool, exclude: bool = False, **rest: Any
    ) -> Any:
        if inputs[0] is None:
            return inputs, outputs
        axes = axes_of(name, axis, len(inputs[0]), exclude)
        return inputs, [reduced_shape(inputs[0], axes, keepdims)]

    return rule
