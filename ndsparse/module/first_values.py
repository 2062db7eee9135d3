"""First values of parameters: given ones, else an initializer's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ndsparse.errors import ArgumentError, ArgumentTypeError, ShapeError
from ndsparse.initializer import InitDesc
from ndsparse.model import Params
from ndsparse.ndarray.invoke import wrap
from ndsparse.ndarray.ndarray import NDArray


def first_values(
    arrays: Mapping[str, NDArray],
    given: Params | None,
    initializer: Any,
    allow_missing: bool,
    notes: Mapping[str, Mapping[str, str]],
) -> Params:
    """Return values for ``arrays``: those given, else those of the initializer (in the order of names)."""
    found = {}
    for name in sorted(arrays):
        like = arrays[name]
        if given is not None and name in given:
            found[name] = _converted(name, given[name], like)
            continue
        if given is not None and not allow_missing:
            raise ArgumentError(f"{name} is not presented; give it, or set allow_missing=True")
        if initializer is not None:
            value: NDArray = wrap(like._chunk.fresh())
            initializer(InitDesc(name, notes.get(name)), value)
            found[name] = value
    return {n: found[n] for n in arrays if n in found}


def _converted(name: str, value: Any, like: NDArray) -> NDArray:
    """Return a copy of ``value`` in the storage type and dtype of ``like``."""
    if not isinstance(value, NDArray):
        raise ArgumentTypeError(f"{name}: expected an NDArray, got {type(value).__name__}")
    if value.shape != like.shape:
        raise ShapeError(f"{name}: the value has shape {value.shape}, the graph wants {like.shape}")
    copy: NDArray = wrap(like._chunk.fresh())
    value.copyto(copy)
    return copy
