"""Dense arrays, and what arrays of all storage types share."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import ndsparse as mx
from ndsparse import nd
from ndsparse.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    IndexOutOfBounds,
    NotSupportedForSparse,
    ShapeError,
    StorageTypeError,
)

DENSE = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 4, 0]], np.float32)
OTHER = np.array([[1, 1, 0, 0], [0, 0, 0, 2], [2, 0, 5, 1]], np.float32)
STYPES = ("default", "csr", "row_sparse")
every_stype = pytest.mark.parametrize("stype", STYPES)
DTYPES = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool")


def of(dense, stype="default"):
    return nd.array(dense).tostype(stype)


@pytest.fixture
def x():
    return nd.array(DENSE)


def equal(array, dense, stype=None, dtype=None):
    array.check_format(full_check=True)
    if stype is not None:
        assert array.stype == stype
    assert array.shape == np.shape(dense)
    assert np.array_equal(array.asnumpy(), dense, equal_nan=True)
    if dtype is not None:
        assert array.dtype is np.dtype(dtype).type


# -- facts and conversions to Python ----------------------------------------------


def test_facts(x):
    assert (x.shape, x.ndim, x.size, len(x), x.stype, x.dtype) == ((3, 4), 2, 12, 3, "default", np.float32)
    assert x.context == x.ctx == mx.cpu()
    assert x.nbytes == 48
    assert x.writable
    assert repr(nd.array([[1, 2]])) == "\n[[1. 2.]]\n<NDArray 1x2 @cpu(0)>"
    assert hash(x) == hash(x)
    assert x in [x]
    with pytest.raises(AttributeError):
        x.shape = (4, 3)
    with pytest.raises(ArgumentTypeError, match="without dimensions"):
        len(nd.array(1))


@pytest.mark.parametrize("stype", ["default", "csr", "row_sparse"])
def test_one_element(stype):
    one = of([[2.5]], stype)
    assert float(one) == one.asscalar() == one.item() == 2.5
    assert int(one) == 2
    assert type(one.item()) is float
    assert bool(one)
    assert not bool(of([[0]], stype))


def test_more_than_one_element(x):
    for convert in (float, int):
        with pytest.raises(ArgumentTypeError, match="expected an array with one element, got shape"):
            convert(x)
    for call in (x.asscalar, x.item):
        with pytest.raises(ArgumentError, match="asscalar: the array has 12 elements"):
            call()
    with pytest.raises(ValueError, match="more than one element is ambiguous"):
        bool(x)
    assert not nd.zeros((0, 3))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(of(DENSE, "csr"))


def test_as_an_index():
    assert list(range(5))[nd.array([3], dtype="int64")] == 3
    with pytest.raises(ArgumentTypeError, match="only arrays of whole numbers"):
        operator.index(nd.array([3.0]))


def test_tolist_and_iteration(x):
    assert x.tolist() == DENSE.tolist()
    assert [row.tolist() for row in x] == DENSE.tolist()
    assert [float(v) for v in nd.array([1, 2])] == [1, 2]
    with pytest.raises(TypeError):
        list(nd.array(1))


# -- indexing ----------------------------------------------


BASIC = [
    0,
    -1,
    slice(1, 3),
    slice(None, None, -2),
    (0, slice(None)),
    (..., 1),
    (None, 2),
    (slice(1), slice(2)),
    (),
]


@pytest.mark.parametrize("key", BASIC, ids=repr)
def test_basic_keys_are_views(x, key):
    part = x[key]
    assert np.array_equal(part.asnumpy(), DENSE[key])
    part[:] = 9
    wanted = DENSE.copy()
    wanted[key] = 9
    equal(x, wanted)


def test_elements_have_shape_1(x):
    assert x[0, 1].shape == (1,)
    assert nd.array([5, 6])[np.int64(1)].shape == (1,)
    x[0, 1][:] = 7
    assert float(x[0, 1]) == 7


ADVANCED = [
    [0, 2],
    np.array([2, 0]),
    ([0, 2], [1, 2]),
    (slice(None), [3, 0]),
    np.array([True, False, True]),
    DENSE > 1,
    [True, False, False],
    [],
]


@pytest.mark.parametrize("key", ADVANCED, ids=repr)
def test_other_keys_are_copies(x, key):
    wanted = DENSE[np.array([], int) if key == [] else key] if isinstance(key, list) else DENSE[key]
    part = x[key]
    equal(part, wanted)
    part[:] = 9
    equal(x, DENSE)


def test_arrays_as_keys(x):
    equal(x[nd.array([2, 0])], DENSE[[2, 0]])
    equal(x[nd.array([2, 0], dtype="int32")], DENSE[[2, 0]])
    equal(x[nd.array([1, 0, 1]) > 0], DENSE[[0, 2]])
    equal(x[x > 1], DENSE[DENSE > 1])
    equal(x[nd.greater(x, 1)], DENSE[DENSE > 1])
    equal(x[of(DENSE, "csr") > 1], DENSE[DENSE > 1])
    equal(x[(x > 1).astype(bool)], DENSE[DENSE > 1])
    equal(x[nd.array([[0, 1], [2, 0]])], DENSE[[[0, 1], [2, 0]]])
    equal(x[:, nd.array([1])], DENSE[:, [1]])


@pytest.mark.parametrize(
    "key", [3, -4, (0, 4), (0, 0, 0), [5], "x", 1.5, True, [0.5], np.array([True])], ids=repr
)
def test_keys_of_no_use(x, key):
    with pytest.raises(IndexOutOfBounds, match="index"):
        x[key]
    with pytest.raises(IndexError):
        x[key] = 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (slice(None), 5),
        (0, [1, 2, 3, 4]),
        ((slice(None), 1), 7),
        ((1, 1), np.float64(3)),
        ([0, 2], 1),
        ((slice(1, 3), slice(0, 2)), [[1, 2], [3, 4]]),
        (DENSE > 1, 0),
        (slice(None), DENSE[::-1]),
        ((2, 3), True),
    ],
    ids=repr,
)
def test_setting(x, key, value):
    wanted = DENSE.copy()
    x[key] = wanted[key] = value
    equal(x, wanted)


def test_setting_from_arrays_of_all_sorts(x):
    for value in (of(OTHER), of(OTHER, "csr"), of(OTHER, "row_sparse"), sp.csr_matrix(OTHER), OTHER.tolist()):
        x[:] = value
        equal(x, OTHER)
        x[:] = 0
    x[x == 0] = 4
    assert x.asnumpy().min() == 4
    x[0, 1] = nd.array([9])
    assert float(x[0, 1]) == 9
    one = nd.zeros((1, 1))
    one[:] = nd.array([3])
    assert one.asscalar() == 3


def test_setting_what_does_not_fit(x):
    with pytest.raises(ShapeError, match=r"setting 0 of an array of shape \(3, 4\)"):
        x[0] = [1, 2]
    for value in ("abc", None, object(), 1j):
        with pytest.raises(ArgumentTypeError, match="value: expected"):
            x[0] = value
    equal(x, DENSE)


def test_memory_that_is_read_only():
    source = DENSE.copy()
    source.flags.writeable = False
    x = nd.from_numpy(source)
    assert not x.writable
    with pytest.raises(ArgumentError, match="read-only; copy"):
        x[0] = 1
    x += 1
    equal(x, DENSE + 1)
    assert np.array_equal(source, DENSE)


# -- arithmetic ----------------------------------------------


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.mod, operator.pow]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
LEFT, RIGHT = DENSE + 1, OTHER + 2


@pytest.mark.parametrize("op", OPERATORS + COMPARISONS)
def test_operators_on_dense_arrays(op):
    a, b = nd.array(LEFT), nd.array(RIGHT)
    wanted = op(LEFT, RIGHT).astype(np.float32)
    for left, right in ((a, b), (a, RIGHT), (LEFT, b)):
        found = op(left, right)
        assert isinstance(found, nd.NDArray)
        assert np.allclose(found.asnumpy(), wanted)
        assert found.dtype is np.float32
    for number in (2, 2.0, np.float32(2), np.int64(2), np.float64(2), np.array(2), True, np.bool_(True)):
        assert np.allclose(op(a, number).asnumpy(), op(LEFT, float(number)).astype(np.float32))
        assert np.allclose(op(number, a).asnumpy(), op(float(number), LEFT).astype(np.float32))
    row = nd.array(RIGHT[:1])
    assert np.allclose(op(a, row).asnumpy(), op(LEFT, RIGHT[:1]).astype(np.float32))
    assert np.allclose(op(a, RIGHT[0]).asnumpy(), op(LEFT, RIGHT[0]).astype(np.float32))


@pytest.mark.fallback
@pytest.mark.filterwarnings("ignore::ndsparse.errors.StorageFallbackWarning")
@pytest.mark.parametrize("left", STYPES)
@pytest.mark.parametrize("right", STYPES)
@pytest.mark.parametrize("op", [*OPERATORS[:5], operator.eq, operator.lt])
def test_operators_on_all_storage_types(op, left, right):
    with np.errstate(all="ignore"):
        wanted = op(DENSE, OTHER).astype(np.float32)
    if op is operator.mod:
        wanted[OTHER == 0] = 0  # as in MXNet
    equal(op(of(DENSE, left), of(OTHER, right)), wanted)
    if right == "default":
        equal(op(of(DENSE, left), OTHER), wanted)
    if left == "default":
        equal(op(DENSE, of(OTHER, right)), wanted)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_what_stays_sparse(stype):
    a, b = of(DENSE, stype), of(OTHER, stype)
    for result, wanted in (
        (a + b, DENSE + OTHER),
        (a - b, DENSE - OTHER),
        (a * b, DENSE * OTHER),
        (a * OTHER, DENSE * OTHER),
        (OTHER * a, DENSE * OTHER),
        (a * 2, DENSE * 2),
        (2.5 * a, DENSE * 2.5),
        (a / 2, DENSE / 2),
        (a + 0, DENSE),
        (a - 0, DENSE),
        (-a, -DENSE),
        (abs(-a), DENSE),
        (a > 0, DENSE > 0),
        (a != 0, DENSE != 0),
        (a == 1, DENSE == 1),
    ):
        equal(result, wanted, stype)
    for result, wanted in ((a + 1, DENSE + 1), (1 + a, 1 + DENSE), (a + OTHER, DENSE + OTHER)):
        equal(result, wanted, "default")


def test_scipy_operands():
    matrix, a, x = sp.csr_matrix(OTHER), of(DENSE, "csr"), of(DENSE)
    equal(a + matrix, DENSE + OTHER, "csr")
    equal(matrix + a, DENSE + OTHER, "csr")
    equal(x - matrix, DENSE - OTHER, "default")
    equal(a @ sp.csc_matrix(OTHER.T), DENSE @ OTHER.T)
    equal(a * matrix, DENSE * OTHER, "csr")
    x += matrix
    equal(x, DENSE + OTHER)


def test_matrix_products():
    x, a = of(DENSE), of(DENSE, "csr")
    wanted = DENSE @ OTHER.T
    for left in (x, a, DENSE):
        for right in (of(OTHER.T), OTHER.T, of(OTHER.T, "csr")):
            if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
                continue
            equal(left @ right, wanted)
    equal(a @ np.ones(4, np.float32), DENSE.sum(1))
    equal(np.arange(3, dtype=np.float32) @ a, np.arange(3) @ DENSE)
    equal(nd.arange(3) @ x, np.arange(3) @ DENSE)
    equal(nd.ones((2, 3, 4)) @ nd.ones((2, 4, 5)), np.full((2, 3, 5), 4))
    equal(nd.ones((2, 3, 4)) @ nd.ones((4, 5)), np.full((2, 3, 5), 4))
    with pytest.raises(TypeError):
        x @ 2
    with pytest.raises(ShapeError, match="dot: dimension 'k'"):
        x @ x


def test_operands_of_no_use(x):
    for other in (None, "a", [1, 2, 3, 4], object()):
        with pytest.raises(TypeError):
            x + other
        with pytest.raises(TypeError):
            x += other
        assert (x == other) is False
        assert (x != other) is True
    with pytest.raises((TypeError, ArgumentTypeError)):
        x + 1j
    with pytest.raises(DTypeError, match="complex64"):
        x + DENSE.astype(np.complex64)
    with pytest.raises(ShapeError, match="cannot be broadcast"):
        x + nd.ones((5,))


@pytest.mark.fallback
@pytest.mark.filterwarnings("ignore::ndsparse.errors.StorageFallbackWarning")
@every_stype
@pytest.mark.parametrize(
    "op", [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.imod]
)
@pytest.mark.parametrize("other", [2, "default", "csr", "row_sparse", "numpy"])
def test_in_place_keeps_the_array_and_its_storage_type(op, stype, other):
    right = RIGHT if isinstance(other, str) else other
    with np.errstate(all="ignore"):
        wanted = op(DENSE.copy(), right)
    a = of(DENSE, stype)
    before = a
    a = op(a, RIGHT if other == "numpy" else of(RIGHT, other) if isinstance(other, str) else other)
    assert a is before
    equal(a, wanted, stype)


@every_stype
def test_in_place_with_itself(stype):
    a = of(DENSE, stype)
    a += a
    equal(a, 2 * DENSE, stype)
    a -= a
    equal(a, 0 * DENSE, stype)


def test_in_place_writes_through_views(x):
    row = x[0]
    row += 1
    x[2] *= 2
    x[:, 3] -= 1
    wanted = DENSE.copy()
    wanted[0] += 1
    wanted[2] *= 2
    wanted[:, 3] -= 1
    equal(x, wanted)


def test_in_place_refuses_other_dtypes_and_shapes():
    whole = nd.array([1, 2], dtype="int32")
    with pytest.raises(DTypeError, match="out has dtype int32, the result has float64"):
        whole += nd.array([0.5, 0.5])
    with pytest.raises(ShapeError, match="out has shape"):
        whole += nd.ones((3, 2), dtype="int32")
    equal(whole, [1, 2], dtype="int32")


def test_zeros_with_a_sign_are_told_apart(x):
    assert (1 / (nd.ones(1) * 0.0)).asscalar() == np.inf
    assert (1 / (nd.ones(1) * -0.0)).asscalar() == -np.inf
    assert (nd.ones(1) / 0.0).asscalar() == np.inf
    assert (nd.ones(1) / -0.0).asscalar() == -np.inf
    equal(of(DENSE, "csr") + -0.0, DENSE)


def test_numbers_of_one_value_but_two_types():
    big = nd.array(np.array([2**60 + 1]))
    assert (big * 1.0).dtype is (big * 1).dtype is np.int64
    assert (big * 1).asscalar() == 2**60 + 1


def test_unary(x):
    equal(-x, -DENSE)
    equal(abs(-x), DENSE)
    equal(x**2, DENSE**2)
    equal(2**x, 2**DENSE)


# -- shapes ----------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (((4, 3),), (4, 3)),
        ((4, 3), (4, 3)),
        (([2, -1],), (2, 6)),
        ((-1,), (12,)),
        ((12,), (12,)),
        (((0, -1),), (3, 4)),
        (((-2,),), (3, 4)),
        (((-3,),), (12,)),
        (((-4, 1, 3, -2),), (1, 3, 4)),
        (((0, 2, 2),), (3, 2, 2)),
    ],
)
def test_reshape(x, arguments, wanted):
    found = x.reshape(*arguments)
    assert found.shape == wanted
    assert np.array_equal(found.asnumpy().ravel(), DENSE.ravel())
    found[:] = 0
    equal(x, np.zeros((3, 4)))


def test_reshape_by_keyword(x):
    assert x.reshape(shape=(2, 6)).shape == (2, 6)
    assert x.reshape((-1, 0), reverse=True).shape == (3, 4)
    assert x.reshape_like(nd.zeros((6, 2))).shape == (6, 2)
    with pytest.raises(ArgumentTypeError, match=r"reshape: unknown arguments \['size'\]"):
        x.reshape((2, 6), size=3)
    with pytest.raises(ShapeError, match="12 elements do not fit"):
        x.reshape((5, 5))


def test_other_shapes(x):
    equal(x.T, DENSE.T)
    equal(x.transpose(), DENSE.T)
    equal(x.transpose((1, 0)), DENSE.T)
    equal(x.swapaxes(0, 1), DENSE.T)
    equal(x.flatten(), DENSE)
    equal(x.expand_dims(0), DENSE[None])
    equal(x.expand_dims(axis=2).squeeze(axis=2), DENSE)
    equal(x.broadcast_to((2, 3, 4)), np.broadcast_to(DENSE, (2, 3, 4)))
    equal(nd.ones((3, 1)).broadcast_like(x), np.ones((3, 4)))
    equal(of(DENSE, "csr").T, DENSE.T)
    equal(of([[1, 2]], "csr").broadcast_to((3, 2)), [[1, 2]] * 3)
    equal(of([[1, 2]], "row_sparse").broadcast_to((3, 2)), [[1, 2]] * 3)


@every_stype
def test_reductions_as_methods(stype):
    a = of(DENSE, stype)
    assert a.sum().asscalar() == DENSE.sum()
    equal(a.sum(axis=0), DENSE.sum(0))
    equal(a.sum(axis=1), DENSE.sum(1))
    equal(a.mean(axis=0), DENSE.mean(0))
    assert a.mean().asscalar() == pytest.approx(DENSE.mean())
    assert a.norm().asscalar() == pytest.approx(np.linalg.norm(DENSE))


def test_methods_are_operators(x):
    equal(x.abs(), DENSE)
    equal(x.clip(1, 2), DENSE.clip(1, 2))
    equal(x.clip(a_min=1, a_max=2), DENSE.clip(1, 2))
    equal(x.sum(0), DENSE.sum(0))
    equal(x.sum(axis=(0, 1)), [DENSE.sum()])
    equal(x.max(axis=1), DENSE.max(1))
    equal(x.argmax(axis=1), DENSE.argmax(1))
    equal(x.dot(x.T), DENSE @ DENSE.T)
    equal(x.take(nd.array([0, 2])), DENSE[[0, 2]])
    equal(x.slice_axis(axis=1, begin=1, end=3), DENSE[:, 1:3])
    assert "axis" in nd.NDArray.sum.__doc__ or nd.NDArray.sum.__signature__
    assert not hasattr(x, "no_such_method")


# -- copies, casts, contexts ----------------------------------------------


@every_stype
@pytest.mark.parametrize(
    "twin", [lambda a: a.copy(), copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))]
)
def test_copies_share_nothing(stype, twin):
    a = of(DENSE, stype)
    b = twin(a)
    equal(b, DENSE, stype, np.float32)
    assert type(b) is type(a)
    b *= 0
    equal(a, DENSE)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pickle_of_all_dtypes_and_odd_arrays(dtype):
    for array in (
        nd.zeros((0, 3), dtype=dtype),
        nd.array(np.ones((), dtype)),
        nd.array(DENSE, dtype=dtype)[:, ::2],
        nd.sparse.zeros("csr", (2, 2), dtype=dtype),
        nd.sparse.row_sparse_array((np.ones((1, 1), dtype), np.array([1], np.int32)), shape=(2**31, 1)),
    ):
        twin = pickle.loads(pickle.dumps(array))
        assert (twin.shape, twin.dtype, twin.stype) == (array.shape, array.dtype, array.stype)
        if array.stype != "row_sparse":
            equal(twin, array.asnumpy())
        else:
            assert twin.indices.dtype is np.int32


@every_stype
@pytest.mark.parametrize("dtype", DTYPES)
def test_astype(stype, dtype):
    a = of(DENSE, stype)
    equal(a.astype(dtype), DENSE.astype(dtype), stype, dtype)
    equal(a.astype(np.dtype(dtype)), DENSE.astype(dtype), stype, dtype)
    assert a.astype("float32", copy=False) is a
    assert a.astype("float32") is not a


def test_astype_of_python_types(x):
    assert x.astype(float).dtype is np.float64
    assert x.astype(int).dtype is np.int64
    assert x.astype(bool).dtype is np.bool_
    with pytest.raises(DTypeError, match="dtype: expected one of"):
        x.astype("complex64")


@pytest.mark.parametrize("source", STYPES)
@pytest.mark.parametrize("target", STYPES)
def test_copyto_and_tostype(source, target):
    a, b = of(DENSE, source), of(OTHER, target)
    assert a.copyto(b) is b
    equal(b, DENSE, target)
    equal(a.tostype(target), DENSE, target)
    double = nd.zeros((3, 4), dtype="float64", stype=target)
    equal(a.copyto(double), DENSE, target, np.float64)
    b *= 0
    equal(a, DENSE, source)


def test_copyto_others(x):
    moved = x.copyto(mx.cpu(1))
    assert moved.context == mx.cpu(1)
    equal(moved, DENSE)
    assert x.as_in_context(mx.cpu()) is x
    assert x.as_in_context(mx.cpu(1)) is not x
    with pytest.warns(RuntimeWarning, match="the same array"):
        assert x.copyto(x) is False
    with pytest.raises(ShapeError, match="copyto: the shapes differ"):
        x.copyto(nd.zeros((2, 2)))
    with pytest.raises(ArgumentTypeError, match="expected an NDArray or a Context, got int"):
        x.copyto(5)
    with pytest.raises(StorageTypeError, match="unknown storage type 'foo'"):
        x.tostype("foo")
    with pytest.raises(ShapeError, match="a csr array has 2 dimensions"):
        nd.ones(3).tostype("csr")


def test_results_are_where_their_inputs_are():
    a = nd.ones(2, ctx=mx.cpu(1))
    assert (a + a).context == (a * 2).context == a[0].context == a.reshape((2, 1)).context == mx.cpu(1)
    assert a.copy().context == a.astype("int32").context == a.tostype("row_sparse").context == mx.cpu(1)
    assert (nd.ones(2) + 1).context == mx.cpu(0)


def test_detach_shares_memory(x):
    y = x.detach()
    y[:] = 1
    assert x.asnumpy().min() == 1
    x.wait_to_read()
    nd.waitall()


# -- numpy, DLPack ----------------------------------------------


def test_asnumpy_is_a_copy_and_asarray_works(x):
    x.asnumpy()[:] = 9
    np.asarray(x)[:] = 9
    equal(x, DENSE)
    assert np.asarray(x).dtype == np.float32
    assert np.asarray(x, np.float64).dtype == np.float64
    assert np.array([x, x]).shape == (2, 3, 4)
    assert np.shares_memory(np.asarray(x, copy=False), x._chunk.data)
    with pytest.raises(ValueError, match="cannot become float64 without a copy"):
        np.asarray(x, np.float64, copy=False)


def test_an_exported_buffer_is_not_written_by_operators(x):
    shared = np.asarray(x, copy=False)
    x += 1
    assert np.array_equal(shared, DENSE)
    equal(x, DENSE + 1)
    shared = np.asarray(x, copy=False)
    x[:] = 0
    assert np.array_equal(shared, DENSE + 1)
    equal(x, np.zeros((3, 4)))
    x[:] = x[::-1]
    shared = np.asarray(x, copy=False)
    x[:] = shared + 1
    x[:] = x[:, ::-1]
    equal(x, np.ones((3, 4)))


def test_dlpack_both_ways(x):
    shared = np.from_dlpack(x)
    assert np.shares_memory(shared, x._chunk.data)
    x *= 2
    assert np.array_equal(shared, DENSE)
    source = DENSE.copy()
    y = nd.from_dlpack(source)
    assert np.shares_memory(y._chunk.data, source)
    equal(y, DENSE)
    y += 1
    equal(y, DENSE + 1)
    equal(nd.from_dlpack(nd.to_dlpack_for_read(nd.array(DENSE))), DENSE)
    equal(nd.from_dlpack(nd.array(DENSE)), DENSE)
    assert x.__dlpack_device__() == (1, 0)
    for stype in ("csr", "row_sparse"):
        with pytest.raises(NotSupportedForSparse, match="DLPack carries dense arrays"):
            of(DENSE, stype).__dlpack__()


def test_dlpack_with_torch(x):
    torch = pytest.importorskip("torch")
    tensor = torch.from_dlpack(x)
    assert tensor.tolist() == DENSE.tolist()
    x += 1
    assert tensor.tolist() == DENSE.tolist()
    equal(nd.from_dlpack(tensor), DENSE)


# -- functions ----------------------------------------------


def test_binary_functions(x):
    equal(nd.add(x, 1), DENSE + 1)
    equal(nd.add(1, x), DENSE + 1)
    equal(nd.subtract(1, x), 1 - DENSE)
    equal(nd.maximum(x, DENSE[::-1].copy()), np.maximum(DENSE, DENSE[::-1]))
    equal(nd.minimum(2, x), np.minimum(2, DENSE))
    equal(nd.power(2, x), 2**DENSE)
    equal(nd.greater(2, x), DENSE < 2)
    assert nd.add(1, 2) == 3
    assert nd.maximum(3, 4) == 4
    out = nd.zeros((3, 4))
    assert nd.multiply(x, x, out=out) is out
    equal(out, DENSE * DENSE)
    for arguments in ((x, "a"), ("a", x), (None, 1)):
        with pytest.raises(ArgumentTypeError, match="expected NDArrays or numbers"):
            nd.add(*arguments)


def test_names_that_are_not_there():
    for module in (nd, nd.sparse, nd.contrib, nd._internal):
        with pytest.raises(AttributeError, match="has no attribute 'no_such_operator'"):
            module.no_such_operator  # noqa: B018


@every_stype
def test_joining(stype):
    a = of(DENSE, stype)
    equal(nd.concat(a, a, dim=0), np.concatenate([DENSE, DENSE]))
    equal(nd.concat([a, a], dim=0), np.concatenate([DENSE, DENSE]))
    equal(nd.stack(a, a), np.stack([DENSE, DENSE]))


@every_stype
def test_shapes_with_zeros(stype):
    for shape in ((0, 3), (3, 0)):
        a = nd.zeros(shape, stype=stype)
        empty = np.zeros(shape)
        equal(a + a, empty)
        equal(a * 2, empty)
        equal(a[0:0], empty[0:0])
        equal(a.copy(), empty)
        equal(a.astype("int8"), empty)
        equal(a.tostype("csr"), empty)
        a += a
        a[:] = 0
        equal(a, empty, stype)
