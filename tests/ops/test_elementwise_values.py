"""Elementwise operators and reductions: values worked out by hand, and what keeps which storage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ndsparse import nd
from ndsparse.errors import ArgumentError, ShapeError
from ndsparse.ops import registry

INF, NAN = math.inf, math.nan


def csr(dtype: Any = np.float32) -> Any:
    """Return [[0, 1, 0], [0, 0, 0], [-2, 0, 3]]."""
    return nd.sparse.csr_matrix((np.array([1, -2, 3], dtype), [1, 0, 2], [0, 1, 1, 3]), shape=(3, 3))


def rows(dtype: Any = np.float32) -> Any:
    """Return rows 0 and 2 of [[1, 2], [0, 0], [-3, 4]]."""
    return nd.sparse.row_sparse_array((np.array([[1, 2], [-3, 4]], dtype), [0, 2]), shape=(3, 2))


def whole(array: Any) -> Any:
    """Return a dense array of the dtype of a numpy array (nd.array makes float32 of all)."""
    return nd.array(array, dtype=array.dtype)


def call(name: str, *args: Any, **attrs: Any) -> Any:
    return registry.get(name)(*args, **attrs)


# -- functions of one array ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "wanted"),
    [
        ("round", [0.5, -0.5, 2.5, 0.49999997], [1, -1, 3, 0]),
        ("rint", [0.5, -0.5, 2.5, -1.5], [0, -1, 2, -2]),
        ("rint", [8388609.0, 0.49999997], [8388609.0, 0]),
        ("fix", [1.9, -1.9], [1, -1]),
        ("trunc", [1.9, -1.9], [1, -1]),
        ("floor", [1.5, -1.5], [1, -2]),
        ("ceil", [1.5, -1.5], [2, -1]),
        ("sign", [-3.0, 0.0, 2.0], [-1, 0, 1]),
        ("relu", [-3.0, 0.0, 2.0], [0, 0, 2]),
        ("cbrt", [-8.0, 27.0], [-2, 3]),
        ("reciprocal", [4.0, 0.0], [0.25, INF]),
        ("rsqrt", [4.0], [0.5]),
        ("rcbrt", [8.0], [0.5]),
        ("sqrt", [-1.0, 4.0], [NAN, 2]),
        ("log", [0.0, 1.0], [-INF, 0]),
        ("gamma", [5.0], [24]),
        ("gammaln", [1.0], [0]),
        ("erf", [0.0], [0]),
        ("degrees", [math.pi], [180]),
        ("radians", [180.0], [math.pi]),
        ("sigmoid", [0.0, 200.0, -200.0], [0.5, 1, 0]),
        ("softsign", [1.0, -3.0], [0.5, -0.75]),
        ("log_sigmoid", [0.0], [-math.log(2)]),
        ("logical_not", [0.0, 2.0], [1, 0]),
        ("hard_sigmoid", [0.0, 10.0, -10.0], [0.5, 1, 0]),
        ("smooth_l1", [0.5, -3.0], [0.125, 2.5]),
    ],
)
def test_values(name: str, values: list[float], wanted: list[float]) -> None:
    found = call(name, whole(np.array(values, np.float32))).asnumpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert found.dtype == np.float32


def test_zero_preserving_functions_keep_the_storage_type() -> None:
    for name in ("sin", "square", "relu", "sign", "tanh", "expm1", "negative", "degrees", "identity"):
        for x in (csr(), rows()):
            result = call(name, x)
            assert result.stype == x.stype
            assert result.data.shape == x.data.shape
    assert nd.BlockGrad(csr()).stype == "csr"
    assert nd.zeros_like(csr()).nnz == 0


def test_integers_are_whole_already() -> None:
    big = 2**60 + 1
    for name in ("floor", "ceil", "round", "rint", "trunc", "fix"):
        assert call(name, whole(np.array([big]))).asnumpy().tolist() == [big]


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool"]
)
def test_dtypes_are_kept(dtype: str) -> None:
    x = nd.sparse.csr_matrix((np.array([1, 2], dtype), [0, 1], [0, 1, 2]), shape=(2, 2))
    for result in (nd.square(x), x * 2, nd.abs(x), x + x, x * x, nd.maximum(x, x), x > 0, nd.relu(x)):
        assert result.dtype == np.dtype(dtype).type
        assert result.stype == "csr"


def test_int32_indices_are_kept() -> None:
    x = nd.sparse.csr_matrix(
        (np.ones(2), np.array([0, 1], np.int32), np.array([0, 1, 2], np.int32)), shape=(2, 2)
    )
    for result in (nd.sin(x), x * 2, x + x, nd.zeros_like(x), x * nd.ones((2, 2), dtype="float64")):
        assert result.indices.dtype == result.indptr.dtype == np.int32


# -- an array and a number ----------------------------------------------------------------------------


def test_sums_with_a_number_keep_the_type_for_zero_only() -> None:
    assert (csr() + 0).stype == (csr() - 0).stype == "csr"
    assert (csr() + 1).stype == "default"
    assert (csr() + 1).asnumpy().tolist() == [[1, 2, 1], [1, 1, 1], [-1, 1, 4]]
    assert (rows() - 1).asnumpy().tolist() == [[0, 1], [-1, -1], [-4, 3]]


@pytest.mark.parametrize(("scalar", "stype"), [(0, "csr"), (1, "csr"), (2.5, "csr")])
def test_comparisons_keep_the_type_where_zero_is_false(scalar: float, stype: str) -> None:
    result = csr() > scalar
    assert result.stype == stype
    assert result.asnumpy().tolist() == (csr().asnumpy() > scalar).tolist()


def test_products_and_quotients_keep_the_type_for_every_number() -> None:
    assert (csr() * NAN).stype == "csr"
    assert (csr() / 0).asnumpy().tolist() == [[0, INF, 0], [0, 0, 0], [-INF, 0, INF]]


def test_whole_numbers() -> None:
    a = whole(np.array([7, -7], np.int32))
    assert (a / 2).asnumpy().tolist() == [3, -3]
    assert (a * 0.5).asnumpy().tolist() == [3, -3]
    assert (a / 0).asnumpy().tolist() == [0, 0]
    assert (a**-1).asnumpy().tolist() == [0, 0]
    assert (a + 2**40).asnumpy().dtype == np.int32
    assert (whole(np.array([5], np.uint8)) - 6).asnumpy().tolist() == [255]
    assert (whole(np.array([True, False])) + 1).asnumpy().tolist() == [True, True]


def test_mod_has_the_sign_of_the_divisor_and_is_zero_for_zero() -> None:
    a = whole(np.array([5.0, -5.0, 5.5], np.float32))
    assert (a % 3).asnumpy().tolist() == [2, 1, 2.5]
    assert (a % -3).asnumpy().tolist() == [-1, -2, -0.5]
    assert (a % 0).asnumpy().tolist() == [0, 0, 0]
    assert (3 % csr()).stype == "csr"


def test_scatter_shifts_what_is_stored() -> None:
    assert call("_scatter_plus_scalar", rows(), scalar=10.0).asnumpy().tolist() == [[11, 12], [0, 0], [7, 14]]
    assert call("_scatter_minus_scalar", csr(), scalar=1.0).asnumpy().tolist() == [
        [0, 0, 0],
        [0, 0, 0],
        [-3, 0, 2],
    ]


# -- two arrays -------------------------------------------------------------------------------------------


def test_sums_store_the_union_and_products_the_intersection() -> None:
    other = nd.sparse.csr_matrix((np.array([5.0, 7.0], np.float32), [1, 1], [0, 1, 1, 2]), shape=(3, 3))
    total, product = csr() + other, csr() * other
    assert total.stype == product.stype == "csr"
    assert total.data.asnumpy().tolist() == [6, -2, 7, 3]
    assert product.data.asnumpy().tolist() == [5]
    assert product.indices.asnumpy().tolist() == [1]


def test_a_dense_operand_makes_sums_dense_and_products_sparse() -> None:
    dense = nd.array(np.arange(9, dtype=np.float32).reshape(3, 3))
    assert (csr() + dense).asnumpy().tolist() == [[0, 2, 2], [3, 4, 5], [4, 7, 11]]
    assert (dense - csr()).asnumpy().tolist() == [[0, 0, 2], [3, 4, 5], [8, 7, 5]]
    for product in (csr() * dense, dense * csr()):
        assert product.stype == "csr"
        assert product.data.asnumpy().tolist() == [1, -12, 24]


def test_row_sparse_quotients_are_nan_where_neither_stores() -> None:
    found = call("elemwise_div", rows(), rows()).asnumpy()
    np.testing.assert_array_equal(found, [[1, 1], [NAN, NAN], [1, 1]])


def test_in_place_arithmetic_keeps_the_array_and_its_type() -> None:
    a, b = csr(), csr()
    c = a
    a += b
    a *= 2
    assert a is c
    assert a.stype == "csr"
    assert a.asnumpy().tolist() == [[0, 4, 0], [0, 0, 0], [-8, 0, 12]]
    dense = nd.ones((3, 3))
    dense -= csr()
    assert dense.asnumpy().tolist() == [[1, 0, 1], [1, 1, 1], [3, 1, -2]]


def test_broadcast_products_keep_csr() -> None:
    by_column, by_row = nd.array([1.0, 10.0, 100.0]), nd.array([[1.0], [10.0], [100.0]])
    for factor, wanted in (
        (by_column, [10, -2, 300]),
        (by_row, [1, -200, 300]),
        (nd.array([2.0]), [2, -4, 6]),
    ):
        result = nd.broadcast_mul(csr(), factor)
        assert result.stype == "csr"
        assert result.data.asnumpy().tolist() == wanted
    assert nd.broadcast_div(csr(), by_column).data.asnumpy().tolist() == pytest.approx([0.1, -2, 0.03])


def test_broadcast_repeats_the_sparse_operand() -> None:
    line = nd.sparse.csr_matrix(([5.0], [1], [0, 1]), shape=(1, 3))
    assert nd.broadcast_mul(line, nd.ones((2, 3))).asnumpy().tolist() == [[0, 5, 0], [0, 5, 0]]
    assert nd.broadcast_add(nd.ones((2, 3)), line).asnumpy().tolist() == [[1, 6, 1], [1, 6, 1]]
    assert line.broadcast_to((2, 3)).asnumpy().tolist() == [[0, 5, 0], [0, 5, 0]]


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeError, match="broadcast_add"):
        nd.broadcast_add(nd.ones((2, 3)), nd.ones((2, 4)))
    with pytest.raises(ShapeError, match="elemwise_add"):
        call("elemwise_add", nd.ones((2, 3)), nd.ones((3, 2)))
    with pytest.raises(ShapeError, match="broadcast_to"):
        nd.broadcast_to(nd.ones((2, 3)), shape=(2, 4))


def test_where_takes_one_flag_a_row_too() -> None:
    x, y = nd.ones((2, 2)), nd.zeros((2, 2))
    assert nd.where(nd.array([0.0, 1.0]), x, y).asnumpy().tolist() == [[0, 0], [1, 1]]
    chosen = nd.where(csr(), nd.ones((3, 3)), nd.zeros((3, 3)))
    assert chosen.asnumpy().tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 1]]


def test_stored_zeros_are_false_to_where() -> None:
    condition = nd.sparse.csr_matrix(([0.0, 1.0], [0, 1], [0, 2]), shape=(1, 2))
    assert nd.where(condition, nd.ones((1, 2)), nd.zeros((1, 2))).asnumpy().tolist() == [[0, 1]]


# -- reductions -------------------------------------------------------------------------------------------


def test_sums_of_sparse_arrays() -> None:
    assert nd.sum(csr()).asnumpy().tolist() == [2]
    assert nd.sum(csr(), axis=0).asnumpy().tolist() == [-2, 1, 3]
    assert nd.sum(csr(), axis=1, keepdims=True).asnumpy().tolist() == [[1], [0], [1]]
    assert nd.sum(csr(), axis=0, exclude=True).asnumpy().tolist() == [1, 0, 1]
    assert nd.mean(rows(), axis=0).asnumpy().tolist() == pytest.approx([-2 / 3, 2])
    assert nd.mean(rows(), axis=1).asnumpy().tolist() == [1.5, 0, 0.5]
    assert nd.norm(csr()).asnumpy().tolist() == pytest.approx([math.sqrt(14)])
    assert nd.norm(csr(), ord=1, axis=1).asnumpy().tolist() == [1, 0, 5]


def test_square_sum_per_row_stays_row_sparse() -> None:
    result = nd._internal._square_sum(rows(), axis=1, keepdims=True)
    assert result.stype == "row_sparse"
    assert result.data.asnumpy().tolist() == [[5], [25]]


def test_dense_reductions() -> None:
    a = nd.array([[1.0, NAN], [3.0, 4.0]])
    assert nd.nansum(a).asnumpy().tolist() == [8]
    assert nd.nanprod(a, axis=1).asnumpy().tolist() == [1, 12]
    assert nd.max(nd.array([[1.0, 5.0], [3.0, 4.0]]), axis=0).asnumpy().tolist() == [3, 5]
    assert nd.min(nd.zeros((0, 2)), axis=0).asnumpy().tolist() == [INF, INF]
    assert nd.argmax(nd.array([[1.0, 5.0, 5.0]]), axis=1).asnumpy().tolist() == [1]
    assert nd.argmin(whole(np.array([[3, 1]], np.int8)), axis=1).dtype == np.int64
    assert nd.sum(whole(np.array([True, True]))).asnumpy().tolist() == [2]


def test_axes_that_are_not_there_are_refused() -> None:
    with pytest.raises(ShapeError, match="axis 2"):
        nd.sum(nd.ones((2, 2)), axis=2)
    with pytest.raises(ShapeError, match="twice"):
        nd.sum(nd.ones((2, 2)), axis=(0, -2))
    with pytest.raises(ArgumentError, match="axis"):
        nd.contrib.getnnz(csr(), axis=2)


# -- others -------------------------------------------------------------------------------------------------


def test_clip_keeps_sparse_storage_where_zero_is_inside() -> None:
    assert nd.clip(csr(), a_min=-1, a_max=2).data.asnumpy().tolist() == [1, -1, 2]
    assert nd.clip(whole(np.array([-3, 300])), a_min=-1.5, a_max=10.9).asnumpy().tolist() == [-1, 10]


@pytest.mark.fallback
def test_clip_outside_of_zero_falls_back() -> None:
    with pytest.warns(match="clip"):
        assert nd.clip(csr(), a_min=0.5, a_max=2).asnumpy().min() == 0.5


def test_casts_keep_storage() -> None:
    result = nd.cast(csr(), dtype="int32")
    assert result.stype == "csr"
    assert result.dtype == np.int32


def test_quadratic_and_getnnz() -> None:
    assert nd.contrib.quadratic(csr(), a=1, b=2).data.asnumpy().tolist() == [3, 0, 15]
    assert nd.contrib.getnnz(csr()).asnumpy().tolist() == [3]
    assert nd.contrib.getnnz(csr(), axis=1).asnumpy().tolist() == [1, 0, 2]
    assert nd.contrib.getnnz(csr(), axis=0).asnumpy().tolist() == [1, 1, 1]


def test_softmax() -> None:
    x = nd.array([[0.0, math.log(3)], [1000.0, 1000.0]])
    np.testing.assert_allclose(nd.softmax(x).asnumpy(), [[0.25, 0.75], [0.5, 0.5]], rtol=1e-6)
    np.testing.assert_allclose(nd.softmin(x, axis=-1).asnumpy()[0], [0.75, 0.25], rtol=1e-6)
    np.testing.assert_allclose(nd.log_softmax(x).asnumpy()[1], [-math.log(2)] * 2, rtol=1e-6)
    masked = nd.softmax(x, nd.array([1.0, 2.0]), use_length=True).asnumpy()
    assert masked.tolist() == [[1, 0], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("act", "wanted"),
    [
        ("relu", [0, 2]),
        ("softsign", [-0.5, 2 / 3]),
        ("softrelu", [math.log1p(math.exp(-1)), math.log1p(math.exp(2))]),
    ],
)
def test_activation(act: str, wanted: list[float]) -> None:
    found = nd.Activation(nd.array([-1.0, 2.0]), act_type=act).asnumpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize(("act", "wanted"), [("leaky", [-0.25, 2]), ("elu", [0.25 * math.expm1(-1), 2])])
def test_leaky_relu(act: str, wanted: list[float]) -> None:
    found = nd.LeakyReLU(nd.array([-1.0, 2.0]), act_type=act).asnumpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
