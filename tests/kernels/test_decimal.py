"""Numbers read by the kernel against Python's float, and against exact arithmetic for float32."""

from __future__ import annotations

import decimal
import math
import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ndsparse.kernels import decimal as kernels


def read(token: str, after: bytes = b"\n") -> tuple[int, float, int]:
    end, value, state = kernels.number(np.frombuffer(token.encode() + after, dtype=np.uint8).copy(), 0)
    return int(end), float(value), int(state)


def check(token: str) -> int:
    end, value, state = read(token)
    assert end == len(token)
    assert state != kernels.BAD
    if state != kernels.SLOW:
        assert math.isnan(value) or struct.pack("d", value) == struct.pack("d", float(token))
    return state


@pytest.mark.parametrize(
    "token",
    [
        "0",
        "-0",
        "+1",
        ".5",
        "5.",
        "-.5",
        "1e5",
        "1E-5",
        "1.e+2",
        "nan",
        "NaN",
        "-nan",
        "inf",
        "-INF",
        "Infinity",
        "+infinity",
        "1e400",
        "-1e-400",
        "4.9e-324",
        "1e22",
        "1e23",
        "9007199254740992",
        "9007199254740993",
        "9007199254740993e1",
        "18446744073709551615",
        "18446744073709551616",
        "123456789012345678901234567890",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "2.2250738585072014e-308",
        "0.1e99999999999999999999",
        "1e-99999999999999999999",
        "0.00000000000000000000000000000000001",
        "8.5e22",
    ],
)
def test_forms(token: str) -> None:
    check(token)


@pytest.mark.parametrize(
    "token", ["", "-", "+", ".", "e5", "1e", "1e+", "-.", "x", "na", "in", "+-1", "--1", ".nan"]
)
def test_what_is_no_number_is_bad(token: str) -> None:
    assert read(token)[2] == kernels.BAD


@pytest.mark.parametrize(
    ("token", "length"), [("1_0", 1), ("0x10", 1), ("1.5.2", 3), ("infinite", 3), ("nanx", 3)]
)
def test_reading_stops_where_the_number_does(token: str, length: int) -> None:
    assert read(token)[0] == length


@given(st.floats(), st.sampled_from(["r", ".16e", ".17g", ".12g", ".20e"]))
def test_floats_in_any_notation(value: float, form: str) -> None:
    check(repr(value) if form == "r" else format(value, form))


@given(st.integers(1, 2**64 - 1), st.integers(-340, 310))
def test_digits_and_exponents(mantissa: int, exponent: int) -> None:
    state = check(f"{mantissa}e{exponent}")
    value = float(f"{mantissa}e{exponent}")
    if 1e-300 < value < math.inf and mantissa < 10**19:
        assert state != kernels.SLOW


@given(st.integers(2**52, 2**53 - 1), st.integers(-60, 20), st.sampled_from([-1, 0, 1]))
def test_ties_and_their_neighbours(mantissa: int, scale: int, side: int) -> None:
    with decimal.localcontext(prec=200):
        middle = decimal.Decimal(2 * mantissa + 1) * decimal.Decimal(2) ** scale
        check(format(middle * (1 + side * decimal.Decimal(10) ** -40), "f"))


def nearest_single(token: str) -> float:
    """Return the float32 nearest to a token, by trying the candidates around it."""
    with np.errstate(over="ignore"):
        guess = np.float32(float(token))
        near = [guess, np.nextafter(guess, np.float32(-np.inf)), np.nextafter(guess, np.float32(np.inf))]
    true = decimal.Decimal(token)
    even = {float(c): int(c.view(np.uint32)) & 1 for c in near}
    with decimal.localcontext(prec=300):
        exact = {c: decimal.Decimal(min(c, 2.0**128)) for c in even}  # infinity: the next power of two
        return min(even, key=lambda c: (abs(exact[c] - true), even[c]))


@given(st.floats(2.0**-149, float(np.finfo(np.float32).max), width=32), st.sampled_from([-1, 0, 1]))
@example(float(np.finfo(np.float32).max), 1)
@example(float(np.finfo(np.float32).max), 0)
@example(float(np.finfo(np.float32).max), -1)
def test_singles_are_rounded_once(value: float, side: int) -> None:
    with np.errstate(over="ignore"):
        above = min(float(np.nextafter(np.float32(value), np.float32(np.inf))), 2.0**128)
    with decimal.localcontext(prec=200):
        middle = (decimal.Decimal(value) + decimal.Decimal(above)) / 2
        token = format(middle * (1 + side * decimal.Decimal(10) ** -30), "f")
    assert kernels.unsure_as_single(float(token))
    assert kernels.slow_value(token, single=True) == nearest_single(token)


@given(st.floats(allow_nan=False), st.integers(1, 17))
def test_singles_that_are_sure_need_no_second_look(value: float, digits: int) -> None:
    token = f"{value:.{digits}g}"
    if (
        math.isfinite(float(token))
        and abs(float(token)) < 1e38
        and not kernels.unsure_as_single(float(token))
    ):
        assert float(np.float32(float(token))) == nearest_single(token)
