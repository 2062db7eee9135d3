"""Codes of the elementwise operators that one merging kernel serves.

A kernel receives the code as an integer and branches on it for each element: the branch is always
taken the same way, costs little beside the memory, and the kernel is compiled once for all.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import math
from enum import IntEnum

from ndsparse.kernels.jit import kernel


class Op(IntEnum):
    """An operator on two elements; ``R...`` takes them in the other order."""

    ADD = 0
    SUB = 1
    MUL = 2
    DIV = 3
    MAXIMUM = 4
    MINIMUM = 5
    HYPOT = 6
    REPLACE = 7  # the right one where there is one
    RSUB = 8
    RDIV = 9


UNION = frozenset({Op.ADD, Op.SUB, Op.RSUB, Op.MAXIMUM, Op.MINIMUM, Op.HYPOT, Op.REPLACE})
"""Operators whose result is stored where either operand is."""

INEXACT = frozenset({Op.DIV, Op.RDIV, Op.HYPOT})
"""Operators whose result on integers is a float."""

ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM, HYPOT, REPLACE, RSUB, RDIV = (int(op) for op in Op)


@kernel
def put(out, q, op, a, b):
    """Write ``a op b`` to ``out[q]``; maximum and minimum pass NaN on, as numpy's do.

    The assignment casts each branch by itself: a result would be float64 for all, ``a / b`` being so.
    """
    if op == ADD:
        out[q] = a + b
    elif op == SUB:
        out[q] = a - b
    elif op == MUL:
        out[q] = a * b
    elif op == DIV:
        out[q] = a / b
    elif op == MAXIMUM:
        out[q] = a if a >= b or a != a else b
    elif op == MINIMUM:
        out[q] = a if a <= b or a != a else b
    elif op == HYPOT:
        out[q] = math.hypot(a, b)
    elif op == REPLACE:
        out[q] = b
    elif op == RSUB:
        out[q] = b - a
    else:
        out[q] = b / a
