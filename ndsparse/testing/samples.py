"""With which arrays each operator is checked.

An operator that is not in the tables gets arrays whose shapes are guessed from its signature, if all
its attributes have defaults and its inputs have one shape, or named dimensions: ``(*s)`` becomes
(5, 4), and also (1, 1) and (0, 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ndsparse.errors import NDSparseError
from ndsparse.ops.registry import Operator

Shape = tuple[int, ...]


class Sample(NamedTuple):
    """Arrays and attributes for one operator."""

    shapes: tuple[Shape, ...]
    attrs: Mapping[str, Any] = {}
    values: tuple[str, ...] = ()  # for each input, see :func:`values_of`; the last repeats
    compare: str = "all"  # "all"; "stored": where the result stores; "none"
    gradient: bool = True  # whether the gradient rule is the derivative

    def kind(self, i: int) -> str:
        """Return what the values of input ``i`` are like."""
        return self.values[min(i, len(self.values) - 1)] if self.values else "any"


def values_of(kind: str, shape: Shape, dtype: Any, rng: np.random.Generator) -> Any:
    """Return an array of a kind.

    ``any``: positive and negative, two in five zero, whole rows zero; ``filled``: without zeros;
    ``positive``; ``unit``: between -1 and 1, some zero; ``above_one``; ``ids:n``: whole numbers
    below n; ``mask``: 0 or 1.
    """
    dtype = np.dtype(dtype)
    if kind.startswith("ids:"):
        return rng.integers(0, int(kind[4:]), shape).astype(dtype)
    if kind == "mask":
        return rng.integers(0, 2, shape).astype(dtype)
    span = rng.permutation(np.linspace(0.3, 2.9, int(np.prod(shape)) or 1)).reshape(-1)[: int(np.prod(shape))]
    result = span.reshape(shape)
    if kind == "unit":
        result = result / 3
    if kind == "above_one":
        result = result + 1
    if dtype.kind in "iu":
        result = np.ceil(result)
    if kind in ("any", "unit", "filled") and dtype.kind != "u":
        result = result * rng.choice([-1, 1], shape)
    if kind in ("any", "unit"):
        result = np.where(rng.random(shape) < 0.4, 0, result)
        if len(shape) > 1 and shape[0] > 2:
            result[1] = 0
    return result.astype(dtype)


_SIZES = {"m": 5, "k": 4, "n": 3, "s": (5, 4)}


def guessed(op: Operator) -> list[Sample]:
    """Return samples made from the signature; none where it does not say enough."""
    groups = {d for t in op.signature.inputs for d in t.dims if d.startswith("*")}
    if any(a.required for a in op.attributes.values()) or len(groups) > 1:
        return []
    if op.variadic:
        return [Sample(((5, 4),) * 3), Sample(((5, 4),)), Sample(((0, 4),) * 2)]
    try:
        names = op.inputs_of(op.normalize({}))
    except NDSparseError:  # not even without required attributes
        return []
    terms = [t for t in op.signature.inputs if t.name in names]
    variants: list[dict[str, Any]] = [{}, {"*": (1, 1), "": 1}, {"*": (0, 4), "": 0, "k": 4, "n": 3}]
    return [Sample(tuple(_shape(t.dims, v) for t in terms)) for v in variants]


def _shape(dims: Sequence[str], sizes: Mapping[str, Any]) -> Shape:
    result: list[int] = []
    for dim in dims:
        if dim.isdigit():
            result.append(int(dim))
        elif dim.startswith("*"):
            result += sizes.get("*", _SIZES["s"])
        else:
            result.append(sizes.get(dim, sizes.get("", _SIZES.get(dim, 4))))
    return tuple(result)


_added: dict[str, list[Sample]] = {}


def add_samples(name: str, *samples: Sample) -> None:
    """Add samples for an operator."""
    _added.setdefault(name, []).extend(samples)


def samples_of(op: Operator) -> list[Sample]:
    """Return the samples of an operator: those of the table, else guessed ones."""
    from ndsparse.testing.sample_table import SAMPLES

    return [*SAMPLES.get(op.name, ()), *_added.get(op.name, ())] or guessed(op)
