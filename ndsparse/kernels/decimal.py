"""Decimal numbers in text, read as correctly rounded float64.

Three ways lead from ``m * 10**e`` to the nearest float64, the cheapest that is exact is taken:

* ``m <= 2**53`` and ``|e| <= 22``: both are exact float64s, so one multiplication or division rounds
  once (W. D. Clinger, How to read floating point numbers accurately, 1990, section 3);
* otherwise the product of ``m`` with a 128-bit power of five, whose leading bits decide (D. Lemire,
  Number parsing at a gigabyte per second, 2021, section 5; N. Mushtak and D. Lemire, Fast number
  parsing without fallback, 2023, prove that they do);
* what remains (subnormals, some numbers of more than 19 digits) is reported as ``SLOW``, for the
  caller to read with ``float()``.

A text is a uint8 array in which every number is followed by some byte that is no part of it.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import decimal

import numpy as np
from numpy.typing import NDArray

from ndsparse.kernels.jit import kernel

EXACT = 0
"""The value is the number itself, or what every precision makes of it (nan, inf)."""
ROUNDED = 1
"""The value is the nearest float64."""
SLOW = 2
"""The text is a number, and its value has to be found by other means."""
BAD = 3
"""The text is no number."""

TENS = np.array([10.0**e for e in range(23)])
_LOWEST, _HIGHEST = -342, 308
_MASK = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
INTEGERS = np.uint64(1 << 53)  # typed, since numba compares uint64 with int as float64


def _fives() -> NDArray[np.uint64]:
    """Return the 128 leading bits of 5**e as rows (high, low), e from _LOWEST to _HIGHEST.

    Reciprocals are rounded up down to e = -27, where a tie is still possible, and cut below.
    """
    rows = []
    for e in range(_LOWEST, _HIGHEST + 1):
        power = 5 ** abs(e)
        bits = power.bit_length()
        if e >= 0:
            wide = power << (128 - bits) if bits <= 128 else power >> (bits - 128)
        else:
            wide = (1 << (bits + 127)) // power
            wide += 1 if e >= -27 else 0
        rows.append((wide >> 64, wide & ((1 << 64) - 1)))
    return np.array(rows, dtype=np.uint64)


_FIVES = _fives()


@kernel
def times(a, b):
    """Return the 128-bit product as (high, low)."""
    a1, a0, b1, b0 = a >> _HALF, a & _MASK, b >> _HALF, b & _MASK
    low, m1, m2 = a0 * b0, a1 * b0, a0 * b1
    middle = (low >> _HALF) + (m1 & _MASK) + (m2 & _MASK)
    return a1 * b1 + (m1 >> _HALF) + (m2 >> _HALF) + (middle >> _HALF), a * b


@kernel
def nearest(mantissa, exponent):
    """Return the float64 nearest to ``mantissa * 10**exponent`` with ROUNDED, or SLOW."""
    one = np.uint64(1)
    if mantissa == np.uint64(0) or exponent < _LOWEST:
        return 0.0, ROUNDED
    if exponent > _HIGHEST:
        return np.inf, ROUNDED
    w, zeros = mantissa, np.int64(0)
    while w >> np.uint64(63) == np.uint64(0):
        w, zeros = w << one, zeros + 1
    high, low = times(w, _FIVES[exponent - _LOWEST, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        carry, _ = times(w, _FIVES[exponent - _LOWEST, 1])
        low += carry
        high += one if low < carry else np.uint64(0)
    upper = high >> np.uint64(63)
    shift = upper + np.uint64(9)
    bits = high >> shift
    biased = ((217706 * exponent) >> 16) + 1086 + np.int64(upper) - zeros
    if biased <= 0 or low == _ALL:
        return 0.0, SLOW
    if low <= one and -4 <= exponent <= 23 and bits & np.uint64(3) == one and bits << shift == high:
        bits -= one  # a tie: go to the even neighbour, below
    bits = (bits + (bits & one)) >> one
    if bits >> np.uint64(53):
        bits, biased = bits >> one, biased + 1
    if biased >= 0x7FF:
        return np.inf, ROUNDED
    fraction = bits & np.uint64(0xFFFFFFFFFFFFF)
    return np.uint64(fraction | (np.uint64(biased) << np.uint64(52))).view(np.float64), ROUNDED


@kernel
def long_number(text, begin, exponent):
    """Return what ``nearest`` would, for a number of more than 19 digits that starts at ``begin``.

    ``exponent`` is that of its last digit.  Where digits are cut off, the value is known if ``m``
    and ``m + 1`` have the same.
    """
    mantissa, taken, cut, pos = np.uint64(0), 0, 0, begin
    c = np.int64(text[pos])
    while 48 <= c <= 57 or c == 46:
        if c != 46:
            if taken == 19:
                cut += 1
            elif taken or c != 48:
                mantissa = mantissa * np.uint64(10) + np.uint64(c - 48)
                taken += 1
        pos += 1
        c = np.int64(text[pos])
    value, state = nearest(mantissa, exponent + cut)
    if cut:
        above, state_above = nearest(mantissa + np.uint64(1), exponent + cut)
        if state_above == SLOW or value != above:
            return 0.0, SLOW
    return value, state


@kernel
def word(text, begin):
    """Read ``nan``, ``inf`` or ``infinity`` in any case; return (end, value), end = begin if absent."""
    a = text[begin] | 32
    if a == 110 and text[begin + 1] | 32 == 97 and text[begin + 2] | 32 == 110:
        return begin + 3, np.nan
    if a != 105 or text[begin + 1] | 32 != 110 or text[begin + 2] | 32 != 102:
        return begin, 0.0
    pos = begin + 3
    for letter in (105, 110, 105, 116, 121):
        if text[pos] | 32 != letter:
            return begin + 3, np.inf
        pos += 1
    return pos, np.inf


@kernel
def number(text, begin):
    """Read the number that starts at ``begin``; return (end, value, state).

    The form is that of Python's ``float``, without underscores: a sign, digits with or without a
    point, an exponent, or nan, inf, infinity.  With BAD, end is where reading stopped.
    """
    pos, negative = begin, False
    c = np.int64(text[pos])
    if c == 45 or c == 43:
        negative = c == 45
        pos += 1
        c = np.int64(text[pos])
    first, mantissa = pos, np.uint64(0)
    while 48 <= c <= 57:
        mantissa = mantissa * np.uint64(10) + np.uint64(c - 48)
        pos += 1
        c = np.int64(text[pos])
    digits, exponent = pos - first, np.int64(0)
    if c == 46:
        pos += 1
        c = np.int64(text[pos])
        point = pos
        while 48 <= c <= 57:
            mantissa = mantissa * np.uint64(10) + np.uint64(c - 48)
            pos += 1
            c = np.int64(text[pos])
        digits += pos - point
        exponent = np.int64(point - pos)
    if digits == 0:
        stop, value = word(text, first)
        if stop == first or pos != first:
            return pos, 0.0, BAD
        return stop, -value if negative else value, EXACT
    if c | 32 == 101:
        pos, scale = power_of_ten(text, pos + 1)
        if pos < 0:
            return -pos, 0.0, BAD
        exponent += scale
    if digits <= 19 and mantissa <= INTEGERS and -22 <= exponent <= 22:
        value, state = np.float64(mantissa), ROUNDED
        if exponent < 0:
            value /= TENS[-exponent]
        elif exponent > 0:
            value *= TENS[exponent]
        else:
            state = EXACT
    elif digits <= 19:
        value, state = nearest(mantissa, exponent)
    else:
        value, state = long_number(text, first, exponent)
    return pos, -value if negative else value, state


@kernel
def power_of_ten(text, begin):
    """Read what follows the letter of an exponent; return (end, exponent), end < 0 if malformed."""
    pos, negative = begin, False
    if text[pos] == 45 or text[pos] == 43:
        negative = text[pos] == 45
        pos += 1
    first, scale = pos, np.int64(0)
    while 48 <= text[pos] <= 57:
        if scale < 1 << 40:
            scale = scale * 10 + np.int64(text[pos] - 48)
        pos += 1
    if pos == first:
        return -pos, scale
    return pos, -scale if negative else scale


@kernel
def unsure_as_single(value):
    """Say whether rounding a ROUNDED float64 once more, to float32, may miss the nearest one.

    That is where the float64 lies half way between two float32s, and where float32s are subnormal.
    """
    size = abs(value)
    if size < 2.0**-126:
        return size >= 2.0**-150
    return np.float64(value).view(np.uint64) & np.uint64(0x1FFFFFFF) == np.uint64(0x10000000)


def slow_value(token: str, *, single: bool) -> float:
    """Return the float64, or with ``single`` the float32, nearest to a number written in decimal."""
    value = float(token)
    if not single or not np.isfinite(value) or value == 0:
        return value
    with np.errstate(over="ignore", under="ignore"):
        near = np.float32(value)
        below, above = np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))
    true = decimal.Decimal(token)
    if true < _middle(below, near):
        return float(below)
    return float(above if true > _middle(near, above) else near)


def _middle(lower: np.float32, upper: np.float32) -> decimal.Decimal:
    """Return the number half way between neighbours; infinity stands for the next power of two."""
    low, high = (np.clip(float(x), -(2.0**128), 2.0**128) for x in (lower, upper))
    if low == high:  # beyond infinity
        return decimal.Decimal(float("inf") if low > 0 else float("-inf"))
    return decimal.Decimal(float(low) / 2 + float(high) / 2)
