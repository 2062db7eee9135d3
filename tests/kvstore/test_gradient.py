"""Row ids are taken exactly; sums do not depend on who came first."""

import numpy as np
import pytest

from ndsparse.errors import ArgumentTypeError, IndexOutOfBounds, ShapeError
from ndsparse.kvstore.gradient import Gradient, as_ids, checked, merged

BIG = 2**53 + 1


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float32, np.float64])
def test_ids_of_any_dtype(dtype):
    np.testing.assert_array_equal(as_ids(np.array([[3, 0], [3, 7]], dtype), 8), [3, 0, 3, 7])


def test_large_ids_are_exact():
    assert as_ids([BIG], BIG + 1)[0] == BIG
    assert as_ids(np.array([2.0**60]), 2**62)[0] == 2**60
    assert as_ids([], 5).shape == (0,)


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        ([0.5], ArgumentTypeError, "0.5 is not a whole number"),
        ([np.nan], ArgumentTypeError, "nan"),
        ([np.inf], ArgumentTypeError, "inf"),
        ([1e30], ArgumentTypeError, "1e"),
        (["a"], ArgumentTypeError, "wanted integers"),
        ([True], ArgumentTypeError, "bool"),
        ([1, 8], IndexOutOfBounds, "id 8 is outside of the 8 rows"),
        ([-1, 8], IndexOutOfBounds, "id -1"),
        (np.array([2**64 - 1], np.uint64), IndexOutOfBounds, "id 18446744073709551615"),
    ],
)
def test_ids_that_are_refused(ids, error, message):
    with pytest.raises(error, match=message):
        as_ids(ids, 8)


def test_unsorted_and_repeated_ids_are_summed():
    rows = np.array([[1.0], [2.0], [4.0]])
    gradient = checked("w", np.array([5, 1, 5], np.int32), rows, (6, 1))
    np.testing.assert_array_equal(gradient.ids, [1, 5])
    np.testing.assert_array_equal(gradient.rows, [[2], [5]])


def test_gradients_that_are_refused():
    with pytest.raises(ShapeError, match=r"key 'w': the value has shape \(2, 2\), the weight \(3, 2\)"):
        checked("w", None, np.ones((2, 2)), (3, 2))
    with pytest.raises(ShapeError, match=r"rows of shape \(2, 2\); wanted \(1, 2\)"):
        checked("w", [0], np.ones((2, 2)), (3, 2))
    with pytest.raises(IndexOutOfBounds, match="key 'w': ids: id 3"):
        checked("w", np.array([0, 3]), np.ones((2, 2)), (3, 2))


def test_sums_of_sparse_parts_stay_sparse():
    a = Gradient(np.array([0, 3]), np.array([[1.0], [2.0]]))
    b = Gradient(np.array([1, 3]), np.array([[4.0], [8.0]]))
    total = merged([a, b, a])
    np.testing.assert_array_equal(total.ids, [0, 1, 3])
    np.testing.assert_array_equal(total.rows, [[2], [4], [12]])
    assert merged([a]) is a


def test_a_dense_part_makes_the_sum_dense():
    a = Gradient(np.array([1]), np.array([[1.0]], np.float32))
    b = Gradient(None, np.array([[2.0], [3.0]]))
    for parts in ([a, b], [b, a]):
        total = merged(parts)
        assert total.ids is None
        assert total.rows.dtype == np.float64
        np.testing.assert_array_equal(total.rows, [[2], [4]])
