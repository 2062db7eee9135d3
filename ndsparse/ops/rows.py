"""Rows of an operator's storage-type table, and what a kernel is told of its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

Function = Callable[..., Any]
Attrs = Mapping[str, Any]

FCOMPUTE: Final = "fcompute"
FCOMPUTE_EX: Final = "fcompute_ex"
FALLBACK: Final = "fcompute_fallback"
VARIABLE: Final = "variable"

WRITE: Final = "write"
INPLACE: Final = "inplace"
ADD: Final = "add"
NULL: Final = "null"
REQS: Final = (NULL, WRITE, INPLACE, ADD)


class OpContext:
    """What a kernel may know of its run.

    Attributes
    ----------
    is_train : bool
        Whether a training step runs.
    req : tuple of str
        ``write``, ``inplace``, ``add`` or ``null`` for each output; a kernel that does not declare
        ``add`` sees only ``write``.
    rng : numpy.random.Generator or None
        Source of random numbers.
    """

    __slots__ = ("is_train", "req", "rng")

    def __init__(
        self, is_train: bool = False, req: tuple[str, ...] = (WRITE,), rng: np.random.Generator | None = None
    ) -> None:
        self.is_train = is_train
        self.req = req
        self.rng = rng


class Row(NamedTuple):
    """One row of an operator's storage-type table."""

    inputs: tuple[tuple[str, ...], ...]  # alternatives for each input; ("*",) = any
    variadic: bool  # the last entry of ``inputs`` repeats
    outputs: tuple[str, ...]  # names; "=0" = that of input 0
    where: Mapping[str, Any]  # attributes that must have these values
    when: Callable[[Attrs], bool] | None
    kernel: Function | None  # None: fallback that ends in these storage types
    refusal: str  # non-empty: the combination is refused, and why
    reqs: tuple[str, ...]  # besides "write"
    text: str

    def matches(self, stypes: Sequence[str], attrs: Attrs) -> bool:
        """Whether the row serves inputs of ``stypes`` under ``attrs``."""
        wanted = self.inputs
        if self.variadic:
            wanted = wanted[:-1] + (wanted[-1],) * (len(stypes) - len(wanted) + 1)
        if len(wanted) != len(stypes):
            return False
        if not all("*" in w or s in w for w, s in zip(wanted, stypes, strict=True)):
            return False
        if any(attrs[name] != value for name, value in self.where.items()):
            return False
        return self.when is None or self.when(attrs)

    def result(self, stypes: Sequence[str]) -> tuple[str, ...]:
        """Return the storage types of the outputs."""
        return tuple(stypes[int(o[1:])] if o.startswith("=") else o for o in self.outputs)


def make_row(
    text: str,
    where: Attrs,
    when: Callable[[Attrs], bool] | None,
    kernel: Function | None,
    refusal: str,
    reqs: tuple[str, ...],
) -> Row:
    """Parse a line ``"csr, default -> csr"`` into a row."""
    left, _, right = text.partition("->")
    parts = [p.strip() for p in left.split(",")]
    variadic = parts[-1].endswith("...")
    parts = [p.removesuffix("...").strip() for p in parts]
    inputs = tuple(tuple(a.strip() for a in p.split("|")) for p in parts)
    outputs = tuple(p.strip() for p in right.split(",") if p.strip())
    return Row(inputs, variadic, outputs, dict(where), when, kernel, refusal, reqs, text)
