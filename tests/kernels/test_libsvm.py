"""The libsvm kernels on texts in memory: blocks, gaps, numbers left for float(), and their limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndsparse import config
from ndsparse.kernels import libsvm as kernels
from ndsparse.kernels import threads

LIMIT = 2**63 - 1


def parse(text: bytes, dtype: Any = np.float64, base: int = 0, limit: int = LIMIT) -> tuple[Any, Any, Any]:
    """Return what is found, the plan, and the arrays, which are filled with 77 before."""
    buffer = np.frombuffer(text, dtype=np.uint8)  # read-only
    layout = kernels.plan(buffer)
    rows, slots = int(layout.rows[-1]), int(layout.slots[-1])
    out = kernels.Arrays(
        np.full(rows, 77.0), np.full(rows + 1, 77), np.full(slots, 77), np.full(slots, 77, dtype),
        np.full(rows, 77), np.full(rows, 77.0),
    )  # fmt: skip
    return kernels.fill(buffer, layout, kernels.Rules(base, limit), out), layout, out


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_gaps_that_comments_and_query_ids_leave_are_closed(
    workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "SERIAL_WORK", 8)
    lines = [f"{i} qid:{i} {i}:{i}.5 # a:b\n# :::\n\n" for i in range(50)]
    with config.using(num_threads=workers):
        found, layout, out = parse("".join(lines).encode())
    assert len(layout.cuts) == workers + 1
    assert int(layout.slots[-1]) == 50 * 6
    assert (found.rows, found.nnz, found.lowest, found.highest, found.ordered) == (50, 50, 0, 49, True)
    assert out.labels[:50].tolist() == out.qids[:50].tolist() == out.indices[:50].tolist() == list(range(50))
    assert out.indptr[:51].tolist() == list(range(51))
    assert out.values[:50].tolist() == [i + 0.5 for i in range(50)]


def test_blocks_start_at_line_starts_and_may_be_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "SERIAL_WORK", 4)
    with config.using(num_threads=4):
        found, layout, _ = parse(b"1 " + b"0:1 " * 50 + b"\n2\n")
    assert found.rows == 2
    assert layout.cuts.tolist() == [0, 203, 203, 203, 205]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_more_numbers_than_fit_the_list_of_those_left(dtype: Any) -> None:
    value = "9007199254740993." + 20 * "0"  # half way between two float64s, and of more than 19 digits
    text = "".join(f"{value}:{value} {i}:{value}\n" for i in range(200))
    found, _, out = parse(text.encode(), dtype)
    assert found.rows == found.nnz == 200
    for array in (out.labels, out.weights, out.values[:200]):
        assert array.tolist() == [9007199254740992] * 200


def test_singles_half_way_are_rounded_by_the_digits_and_not_by_the_double() -> None:
    text = (
        b"1 0:16777217 1:16777217.000000001 2:16777217.0 3:16777219 "
        b"4:7.00649232162408535461864791644958e-46 5:7.00649232162408535461864791644959e-46\n"
    )
    _, _, out = parse(text, np.float32)
    assert out.values.tolist() == [16777216, 16777218, 16777216, 16777220, 0, 2.0**-149]


@pytest.mark.parametrize(
    ("text", "code", "start"),
    [
        (b"x\n", kernels.NO_LABEL, 0),
        (b"1\n2 3\n", kernels.NO_COLON, 4),
        (b"1 0:1 5:1\n", kernels.ID_PAST_END, 6),
        (b"1 0:1\n", kernels.ID_BELOW_BASE, 2),
        (b"1 9223372036854775808:1\n", kernels.ID_TOO_LARGE, 2),
        (b"1:x\n", kernels.NO_WEIGHT, 0),
        (b"1 3:x\n", kernels.NO_VALUE, 2),
        (b"1 qid:x\n", kernels.NO_QID, 2),
        (b"1 x:1\n", kernels.NO_ID, 2),
    ],
)
def test_codes_and_places(text: bytes, code: int, start: int) -> None:
    base = 1 if code == kernels.ID_BELOW_BASE else 0
    found, _, _ = parse(text, base=base, limit=4 if code == kernels.ID_PAST_END else LIMIT)
    assert (found.code, found.start) == (code, start)


@pytest.mark.parametrize(
    ("text", "ordered"),
    [
        (b"1 0:1 1:1\n1 0:1\n", True),
        (b"1 1:1 0:1\n", False),
        (b"1 1:1 1:1\n", False),
        (b"1 1:1 0:1e0\n", False),
    ],
)
def test_order_is_noticed(text: bytes, ordered: bool) -> None:
    assert parse(text)[0].ordered is ordered
