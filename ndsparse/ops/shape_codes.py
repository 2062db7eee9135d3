"""MXNet's codes in the target of a reshape.

=====  ==============================================================================
code   meaning, reading the source dimensions from left to right
=====  ==============================================================================
n > 0  that size; one source dimension is passed over
0      copy one source dimension
-1     infer this size from all others (at most once)
-2     copy all source dimensions that are left
-3     merge two source dimensions
-4     split one source dimension into the next two numbers, one of which may be -1
=====  ==============================================================================

Source: MXNet 1.9 documentation of ``Reshape``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ndsparse.errors import ShapeError
from ndsparse.ops.shapes import UNKNOWN, Shape

COPY, INFER, REST, MERGE, SPLIT = 0, -1, -2, -3, -4


def resolve_reshape(shape: Shape, target: Sequence[int], reverse: bool = False) -> Shape:
    """Return the shape that an array of ``shape`` has after a reshape to ``target``.

    Parameters
    ----------
    shape : tuple of int
        The source; -1 stands for a dimension that is not known yet.
    target : sequence of int
        Sizes and codes, see above.
    reverse : bool
        Read both from right to left.

    Returns
    -------
    tuple of int
        The new shape, -1 where it cannot be told yet.

    Raises
    ------
    ShapeError
        The codes do not fit the source, or the number of elements would change.

    Examples
    --------
    >>> resolve_reshape((2, 3, 4), (-3, 0))
    (6, 4)
    >>> resolve_reshape((2, 3, 4), (-4, 1, -1, -2))
    (1, 2, 3, 4)
    >>> resolve_reshape((8, 3), (-1, 0), reverse=True)
    (8, 3)
    """
    groups = _groups(shape, target)
    source = shape
    if reverse:
        source = shape[::-1]
        groups = [(g[0], *g[:0:-1]) for g in reversed(groups)]
    result = _apply(source, groups, shape, target)
    return result[::-1] if reverse else result


def _groups(shape: Shape, target: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the codes one by one, each split code together with its two sizes."""
    groups: list[tuple[int, ...]] = []
    codes = iter(int(code) for code in target)
    for code in codes:
        if code < SPLIT:
            raise _misfit(shape, target, f"{code} is no code")
        if code == SPLIT:
            sizes = (next(codes, 0), next(codes, 0))
            if sizes.count(INFER) > 1 or any(n < 1 and n != INFER for n in sizes):
                raise _misfit(shape, target, "-4 must be followed by two sizes, one of which may be -1")
            groups.append((code, *sizes))
        else:
            groups.append((code,))
    if sum(g[0] == INFER for g in groups) > 1:
        raise _misfit(shape, target, "only one dimension can be inferred")
    return groups


def _apply(source: Shape, groups: Sequence[tuple[int, ...]], shape: Shape, target: Sequence[int]) -> Shape:
    result: list[int] = []
    position, inferred = 0, -1
    for code, *sizes in groups:
        taken = _taken(code, len(source) - position)
        if position + taken > len(source) and code in (COPY, MERGE, SPLIT):
            raise _misfit(shape, target, f"no dimension is left for the code {code}")
        dims = source[position : position + taken]
        position += taken
        if code == INFER:
            inferred = len(result)
            result.append(INFER)
        elif code in (COPY, REST):
            result += dims
        elif code == MERGE:
            result.append(UNKNOWN if UNKNOWN in dims else dims[0] * dims[1])
        elif code == SPLIT:
            result += _split(dims[0], sizes, shape, target)
        else:
            result.append(code)
    if inferred >= 0:
        result[inferred] = _inferred(source, result, inferred, shape, target)
    if UNKNOWN not in source and math.prod(source) != math.prod(result):
        raise _misfit(shape, target, f"{math.prod(source)} elements do not fit {tuple(result)}")
    return tuple(result)


def _taken(code: int, left: int) -> int:
    """Return how many source dimensions a code passes over."""
    return {REST: left, MERGE: 2}.get(code, 1)


def _split(dim: int, sizes: Sequence[int], shape: Shape, target: Sequence[int]) -> list[int]:
    first, second = sizes
    if dim == UNKNOWN:
        return [first, second]
    if first == INFER:
        first = dim // second
    elif second == INFER:
        second = dim // first
    if first * second != dim:
        raise _misfit(shape, target, f"dimension {dim} cannot be split into {tuple(sizes)}")
    return [first, second]


def _inferred(source: Shape, result: Sequence[int], at: int, shape: Shape, target: Sequence[int]) -> int:
    """Return the inferred size; unknown dimensions that were copied cancel out."""
    others = [n for i, n in enumerate(result) if i != at]
    if source.count(UNKNOWN) != others.count(UNKNOWN):
        return UNKNOWN
    have = math.prod(n for n in source if n != UNKNOWN)
    rest = math.prod(n for n in others if n != UNKNOWN)
    if rest == 0:
        return 0
    if have % rest:
        raise _misfit(shape, target, f"{have} elements do not divide by {rest}")
    return have // rest


def _misfit(shape: Shape, target: Sequence[int], reason: str) -> ShapeError:
    return ShapeError(f"reshape: {reason} (shape {shape}, target {tuple(target)})")
