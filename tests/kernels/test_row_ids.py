"""Sorting, uniting and looking up row ids."""

from __future__ import annotations

import numpy as np
import pytest

from ndsparse.kernels import row_ids

pytestmark = pytest.mark.usefixtures("threads")

RNG = np.random.default_rng(0)
HUGE = 1 << 45


@pytest.mark.parametrize(
    "ids",
    [
        np.empty(0, np.int64),
        np.array([5]),
        np.array([1, 1, 2, 9]),
        np.array([9, -3, 9, 2]),
        RNG.integers(0, 40, 100).astype(np.int32),
        RNG.integers(-HUGE, HUGE, 3000),
        np.array([HUGE, 0, HUGE, 1 << 11, 1 << 22]),
        RNG.integers(0, 9, 50).astype(np.uint8),
    ],
    ids=["none", "one", "sorted", "negative", "near", "far", "two far ones", "uint8"],
)
def test_unique_ids(ids):
    unique, slots = row_ids.unique_ids(ids)
    wanted, inverse = np.unique(ids, return_inverse=True)
    assert unique.dtype == slots.dtype == np.int64
    assert np.array_equal(unique, wanted)
    assert np.array_equal(slots, inverse)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_union_ids(count):
    many = [np.unique(RNG.integers(0, 60, 20)) for _ in range(count)]
    assert np.array_equal(row_ids.union_ids(many), np.unique(np.concatenate(many)))


def test_intersect_count():
    a, b = np.array([1, 3, 5, 7]), np.array([0, 3, 7, 8], np.int32)
    assert row_ids.intersect_count(a, b) == 2
    assert row_ids.intersect_count(a, b[:0]) == 0


@pytest.mark.parametrize(
    "ids", [[], [4], [0, 1, 2, 3], [2, 3, 4], [1, 5, 6, 40, HUGE], list(range(0, 300, 3))]
)
@pytest.mark.parametrize("order", ["sorted", "any"])
def test_locate(ids, order):
    ids = np.array(ids, np.int64)
    wanted = RNG.permutation(np.concatenate([np.arange(-2, 60), ids, [HUGE + 1]]))
    if order == "sorted":
        wanted.sort()
    slots = row_ids.locate(ids, wanted)
    assert [ids[s] if s >= 0 else None for s in slots] == [w if w in ids else None for w in wanted]


def test_group_by_slot():
    starts, order = row_ids.group_by_slot(np.array([2, 0, 2, 3]), 5)
    assert starts.tolist() == [0, 1, 1, 3, 4, 4]
    assert order.tolist() == [1, 0, 2, 3]
