"""Shape rules: signatures such as ``"lhs(m, k), rhs(k, n) -> (m, n)"``, solved in both directions.

A signature names the inputs of an operator and the dimensions of inputs and outputs.  A dimension
is a name, a number, or ``*name``, any number of dimensions.  A name that is also an attribute has
that attribute's value.  Solving unifies what is known of all shapes; unknown dimensions are -1 and
an unknown shape is None, so the same rule infers outputs from inputs, and a weight from its data.

Source: MXNet's FInferShape, which each operator writes by hand; numpy's gufunc signatures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ndsparse.errors import ShapeError

Shape = tuple[int, ...]
MaybeShape = Shape | None
UNKNOWN = -1

_TERM = re.compile(r"\s*(\w*)\s*\(([^)]*)\)\s*")


class Term(NamedTuple):
    """One array of a signature."""

    name: str
    dims: tuple[str, ...]

    @property
    def star(self) -> int:
        """Position of the ``*name`` dimension, -1 if there is none."""
        return next((i for i, d in enumerate(self.dims) if d.startswith("*")), -1)


class Signature(NamedTuple):
    """A parsed signature."""

    inputs: tuple[Term, ...]
    outputs: tuple[Term, ...]


def parse(text: str) -> Signature:
    """Parse a signature."""
    left, _, right = text.partition("->")
    return Signature(_terms(left, text), _terms(right, text))


def _terms(text: str, whole: str) -> tuple[Term, ...]:
    found = [Term(m[1], tuple(d.strip() for d in m[2].split(",") if d.strip())) for m in _TERM.finditer(text)]
    if len(found) != text.count("("):
        raise ShapeError(f"cannot read the signature {whole!r}")
    return tuple(found)


def solve(
    op: str,
    signature: Signature,
    inputs: Sequence[MaybeShape],
    outputs: Sequence[MaybeShape],
    attrs: Mapping[str, Any],
) -> tuple[list[MaybeShape], list[MaybeShape]]:
    """Unify shapes with a signature.

    Returns
    -------
    (inputs, outputs)
        With everything filled in that follows.

    Raises
    ------
    ShapeError
        Two shapes disagree; the message names the dimension and the arrays.
    """
    bound: dict[str, int] = {}
    groups: dict[str, MaybeShape] = {}
    origin: dict[str, str] = {}
    pairs = [*zip(signature.inputs, inputs, strict=False), *zip(signature.outputs, outputs, strict=False)]
    for term in (*signature.inputs, *signature.outputs):
        for dim in term.dims:
            if isinstance(attrs.get(dim), int):
                bound[dim], origin[dim] = attrs[dim], f"attribute {dim}"
    for term, shape in pairs:
        if shape is not None:
            _bind(op, term, shape, bound, groups, origin, pairs)
    filled = [_fill(term, shape, bound, groups) for term, shape in pairs]
    return filled[: len(inputs)], filled[len(inputs) :]


def _bind(
    op: str,
    term: Term,
    shape: Shape,
    bound: dict[str, int],
    groups: dict[str, MaybeShape],
    origin: dict[str, str],
    pairs: Sequence[tuple[Term, MaybeShape]],
) -> None:
    star, label = term.star, term.name or "output"
    fixed = len(term.dims) - (star >= 0)
    if len(shape) < fixed or (star < 0 and len(shape) > fixed):
        atleast = "at least " if star >= 0 else ""
        raise ShapeError(f"{op}: {label} must have {atleast}{fixed} dimensions, got shape {shape}")
    tail = len(term.dims) - star - 1 if star >= 0 else 0
    head = star if star >= 0 else fixed
    singles = [*zip(term.dims[:head], shape[:head], strict=True)]
    if star >= 0:
        singles += zip(term.dims[star + 1 :], shape[len(shape) - tail :], strict=True)
    for dim, size in singles:
        wanted = int(dim) if dim.isdigit() else bound.get(dim, UNKNOWN)
        if UNKNOWN not in (size, wanted) and size != wanted:
            raise ShapeError(_disagree(op, dim, wanted, origin.get(dim, ""), label, size, pairs))
        if size != UNKNOWN and not dim.isdigit():
            bound[dim] = size
            origin.setdefault(dim, label)
    if star >= 0:
        name = term.dims[star]
        middle = shape[head : len(shape) - tail]
        merged = merge(groups.get(name), middle)
        if merged is None:
            first = groups.get(name)
            raise ShapeError(
                f"{op}: the shapes of {origin[name]} and {label} do not match: {first} and {middle}"
                f" ({_shapes(pairs)})"
            )
        groups[name] = merged
        origin.setdefault(name, label)


def _disagree(
    op: str,
    dim: str,
    wanted: int,
    source: str,
    label: str,
    size: int,
    pairs: Sequence[tuple[Term, MaybeShape]],
) -> str:
    given = f"{wanted}" + (f" in {source}" if source else "")
    return f"{op}: dimension {dim!r} is {given} but {label} has {size} ({_shapes(pairs)})"


def _shapes(pairs: Sequence[tuple[Term, MaybeShape]]) -> str:
    return "shapes " + ", ".join(f"{t.name or 'output'} {s}" for t, s in pairs if s is not None)


def _fill(term: Term, shape: MaybeShape, bound: dict[str, int], groups: dict[str, MaybeShape]) -> MaybeShape:
    result: list[int] = []
    for dim in term.dims:
        if dim.startswith("*"):
            group = groups.get(dim)
            if group is None:
                return shape
            result += group
        else:
            result.append(int(dim) if dim.isdigit() else bound.get(dim, UNKNOWN))
    return tuple(result)


def merge(a: MaybeShape, b: MaybeShape) -> MaybeShape:
    """Return what two descriptions of one shape say together; None if they contradict."""
    if a is None or b is None:
        return b if a is None else a
    if len(a) != len(b):
        return None
    result = []
    for m, n in zip(a, b, strict=True):
        if m != n and UNKNOWN not in (m, n):
            return None
        result.append(n if m == UNKNOWN else m)
    return tuple(result)


def known(shape: MaybeShape) -> bool:
    """Whether a shape is complete."""
    return shape is not None and UNKNOWN not in shape


def broadcast(op: str, a: MaybeShape, b: MaybeShape) -> MaybeShape:
    """Return the shape of two broadcast arrays by numpy's rule (MXNet's, for equal ranks)."""
    if a is None or b is None:
        return None
    result: list[int] = []
    for i in range(1, max(len(a), len(b)) + 1):
        m = a[-i] if i <= len(a) else 1
        n = b[-i] if i <= len(b) else 1
        if m == n or n == 1:
            result.append(m)
        elif m == 1 or m == UNKNOWN:
            result.append(n)
        elif n == UNKNOWN:
            result.append(m)
        else:
            raise ShapeError(f"{op}: shapes {a} and {b} cannot be broadcast together")
    return tuple(reversed(result))


def normalize_axis(op: str, axis: int, ndim: int) -> int:
    """Return ``axis`` counted from the front."""
    if not -ndim <= axis < ndim:
        raise ShapeError(f"{op}: axis {axis} is out of bounds for an array of {ndim} dimensions")
    return axis % ndim


def reduced(shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    """Return the shape after a reduction over ``axes`` (not negative)."""
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)
