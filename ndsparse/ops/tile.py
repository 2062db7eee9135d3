"""Operators that repeat, reverse or surround: tile, repeat, reverse, Pad (dense)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ndsparse.errors import ArgumentError, ShapeError
from ndsparse.ops import shapes
from ndsparse.ops.registry import operator
from ndsparse.storage.chunk import Array

PadMode = Literal["constant", "edge", "reflect"]


@operator("data(*s) -> (*r)")
def tile(data: Any, *, reps: tuple[int, ...]) -> Any:
    """Return the array repeated ``reps`` times along its axes (the last ones, if there are fewer)."""
    return np.tile(data, reps)


@tile.shape
def _(inputs: Any, outputs: Any, *, reps: tuple[int, ...]) -> Any:
    data = inputs[0]
    if data is None:
        return inputs, outputs
    if any(r < 0 for r in reps):
        raise ArgumentError(f"tile: reps must not be negative, got {reps}")
    size = max(len(reps), len(data))
    pairs = zip((1,) * (size - len(data)) + data, (1,) * (size - len(reps)) + reps, strict=True)
    return inputs, [tuple(n if n == shapes.UNKNOWN else n * r for n, r in pairs)]


@tile.grad
def _(g: Any, data: Any, *, reps: tuple[int, ...]) -> Any:
    return _backward_tile(g, data, reps=reps)


@operator("g(*r), data(*s) -> (*s)", dtypes="T, * -> T")
def _backward_tile(g: Any, data: Any, *, reps: tuple[int, ...]) -> Any:
    """Return the sum of the copies."""
    size = max(len(reps), data.ndim)
    shape = (1,) * (size - data.ndim) + data.shape
    times = (1,) * (size - len(reps)) + reps
    split = g.reshape([k for pair in zip(times, shape, strict=True) for k in pair])
    return split.sum(axis=tuple(range(0, 2 * size, 2)), dtype=g.dtype).reshape(data.shape)


@operator("data(*s) -> (*r)")
def repeat(data: Any, *, repeats: int, axis: int | None = None) -> Any:
    """Return the array with each element (or slice along ``axis``) repeated."""
    return np.repeat(data, repeats, axis)


@repeat.shape
def _(inputs: Any, outputs: Any, *, repeats: int, axis: int | None) -> Any:
    data = inputs[0]
    if data is None:
        return inputs, outputs
    if repeats < 0:
        raise ArgumentError(f"repeat: repeats must not be negative, got {repeats}")
    if axis is None:
        total = shapes.UNKNOWN if shapes.UNKNOWN in data else int(np.prod(data)) * repeats
        return inputs, [(total,)]
    at = shapes.normalize_axis("repeat", axis, len(data))
    size = data[at] if data[at] == shapes.UNKNOWN else data[at] * repeats
    return inputs, [(*data[:at], size, *data[at + 1 :])]


@repeat.grad
def _(g: Any, data: Any, *, repeats: int, axis: int | None) -> Any:
    return _backward_repeat(g, data, repeats=repeats, axis=axis)


@operator("g(*r), data(*s) -> (*s)", dtypes="T, * -> T")
def _backward_repeat(g: Any, data: Any, *, repeats: int, axis: int | None = None) -> Any:
    """Return the sum of the copies."""
    if repeats == 0:
        return np.zeros(data.shape, g.dtype)
    if axis is None:
        return g.reshape(-1, repeats).sum(axis=1, dtype=g.dtype).reshape(data.shape)
    at = axis % data.ndim
    split = g.reshape(*data.shape[: at + 1], repeats, *data.shape[at + 1 :])
    return split.sum(axis=at + 1, dtype=g.dtype)


@operator("data(*s) -> (*s)", aliases=("flip",))
def reverse(data: Any, *, axis: tuple[int, ...]) -> Any:
    """Return the array with the order along the axes reversed."""
    return np.flip(data, axis)


@reverse.grad
def _(g: Any, data: Any, *, axis: tuple[int, ...]) -> Any:
    return reverse(g, axis=axis)


@operator("data(*s) -> (*r)", name="Pad", aliases=("pad",))
def pad(data: Any, *, mode: PadMode, pad_width: tuple[int, ...], constant_value: float = 0.0) -> Any:
    """Return the array surrounded by further elements.

    Parameters
    ----------
    data : NDArray
    mode : str
        "constant" (``constant_value``), "edge" (the last element) or "reflect" (mirrored at it).
    pad_width : tuple of int
        Elements before and after, for each axis: ``(before_0, after_0, before_1, ...)``.
    constant_value : float
    """
    widths = _widths(pad_width, data.ndim)
    if mode == "constant":
        return np.pad(data, widths, constant_values=constant_value)
    return np.pad(data, widths, mode=mode)


def _widths(pad_width: tuple[int, ...], ndim: int) -> list[tuple[int, int]]:
    if len(pad_width) != 2 * ndim or any(w < 0 for w in pad_width):
        raise ShapeError(f"pad: pad_width must have {2 * ndim} numbers, none negative; got {pad_width}")
    return list(zip(pad_width[::2], pad_width[1::2], strict=True))


@pad.shape
def _(inputs: Any, outputs: Any, *, mode: str, pad_width: tuple[int, ...], constant_value: float) -> Any:
    data = inputs[0]
    if data is None:
        return inputs, outputs
    pairs = zip(data, _widths(pad_width, len(data)), strict=True)
    return inputs, [tuple(n if n == shapes.UNKNOWN else n + b + a for n, (b, a) in pairs)]


@pad.grad
def _(g: Any, data: Any, *, mode: str, pad_width: tuple[int, ...]) -> Any:
    return _backward_Pad(g, data, mode=mode, pad_width=pad_width)


@operator("g(*r), data(*s) -> (*s)", dtypes="T, * -> T")
def _backward_Pad(g: Any, data: Any, *, mode: PadMode, pad_width: tuple[int, ...]) -> Any:
    """Return the gradient of Pad: what was copied outwards is added where it came from."""
    result = g
    for axis, (before, after) in enumerate(_widths(pad_width, data.ndim)):
        result = _unpadded(result, axis, before, after, mode)
    return np.ascontiguousarray(result)


def _unpadded(g: Array, axis: int, before: int, after: int, mode: str) -> Array:
    rows = np.moveaxis(g, axis, 0)
    size: int = len(rows) - before - after
    if mode == "constant":
        return np.moveaxis(rows[before : before + size], 0, axis)
    origin = np.pad(np.arange(size), (before, after), mode="edge" if mode == "edge" else "reflect")
    result = np.zeros((size, *rows.shape[1:]), g.dtype)
    np.add.at(result, origin, rows)
    return np.moveaxis(result, 0, axis)
