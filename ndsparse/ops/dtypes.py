"""DType rules: short texts such as ``"T, int64 -> T"``.

The entries stand for the inputs, then the outputs:

===========  =======================================================================
entry        meaning
===========  =======================================================================
a capital    a type variable; all arrays with it have one dtype, promoted if they differ
a dtype      that dtype (outputs), or any dtype (inputs)
``*``        any dtype, tied to nothing
``@name``    the dtype in the attribute ``name``; ``T`` where that is None
===========  =======================================================================

An empty rule means one variable for all.  A short input list repeats its last entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

DType = np.dtype[Any] | None


class DTypeRule:
    """A parsed rule."""

    __slots__ = ("_inputs", "_outputs")

    def __init__(self, text: str) -> None:
        left, _, right = (text or "T -> T").partition("->")
        self._inputs = [t.strip() for t in left.split(",") if t.strip()]
        self._outputs = [t.strip() for t in right.split(",") if t.strip()]

    def infer(
        self, op: str, inputs: Sequence[DType], outputs: Sequence[DType], attrs: Mapping[str, Any]
    ) -> tuple[list[DType], list[DType]]:
        """Return the dtypes that follow; None where unknown."""
        entries = [_at(self._inputs, i) for i in range(len(inputs))]
        results = [_at(self._outputs, i) for i in range(len(outputs))]
        bound: dict[str, DType] = {}
        for source, kinds in ((inputs, entries), (outputs, results)):
            for dtype, entry in zip(source, kinds, strict=True):
                if dtype is None or not entry.isupper():
                    continue
                if source is outputs and bound.get(entry) is not None:
                    continue
                before = bound.get(entry)
                bound[entry] = dtype if before is None else np.result_type(before, dtype)
        ins = [_input(d, e, bound) for d, e in zip(inputs, entries, strict=True)]
        outs = [_output(d, e, bound, attrs) for d, e in zip(outputs, results, strict=True)]
        return ins, outs


def _at(entries: list[str], i: int) -> str:
    return entries[min(i, len(entries) - 1)]


def _input(dtype: DType, entry: str, bound: Mapping[str, DType]) -> DType:
    if dtype is not None or entry == "*":
        return dtype
    return bound.get(entry) if entry.isupper() else np.dtype(entry)


def _output(dtype: DType, entry: str, bound: Mapping[str, DType], attrs: Mapping[str, Any]) -> DType:
    if entry.startswith("@"):
        given = attrs.get(entry[1:])
        return bound.get("T") if given is None else np.dtype(given)
    if entry.isupper():
        return bound.get(entry)
    return dtype if entry == "*" else np.dtype(entry)
