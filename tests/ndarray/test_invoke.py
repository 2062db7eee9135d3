"""Imperative calls: outputs, the memory of what was met before, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import ndsparse as mx
from ndsparse import nd
from ndsparse.errors import ArgumentTypeError, DTypeError, ShapeError
from ndsparse.ndarray import invoke as module
from ndsparse.ops import registry

DENSE = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 4, 0]], np.float32)
STYPES = ("default", "csr", "row_sparse")


@pytest.fixture
def x():
    return nd.array(DENSE)


@pytest.fixture
def memo():
    found = registry.get("elemwise_add").dispatch_memo
    found.clear()
    return found


# -- out ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stype", STYPES)
def test_out_keeps_its_storage_type(stype, x):
    a = x.tostype("csr")
    out = nd.zeros((3, 4), stype=stype)
    assert nd.elemwise_add(a, a, out=out) is out
    out.check_format(full_check=True)
    assert out.stype == stype
    assert np.array_equal(out.asnumpy(), 2 * DENSE)


@pytest.mark.parametrize("stype", STYPES)
def test_out_may_be_an_input(stype, x):
    a, b = x.tostype(stype), x.tostype(stype)
    nd.elemwise_add(a, b, out=a)
    nd.elemwise_add(b, a, out=a)
    nd.elemwise_mul(a, a, out=a)
    assert np.array_equal(a.asnumpy(), (3 * DENSE) ** 2)


def test_out_may_be_an_input_of_operators_that_are_not_elementwise():
    square = np.array([[1, 2], [3, 4]], np.float32)
    a = nd.array(square)
    nd.dot(a, a, out=a)
    assert np.array_equal(a.asnumpy(), square @ square)
    b = nd.array(square)
    nd.transpose(b, out=b)
    assert np.array_equal(b.asnumpy(), square.T)
    for stype in ("csr", "row_sparse"):
        c = nd.array(square).tostype(stype)
        nd.dot(c.tostype("csr"), c, out=c)
        assert np.array_equal(c.asnumpy(), square @ square)


def test_out_may_be_a_view(x):
    nd.elemwise_add(x[0], x[2], out=x[1])
    assert np.array_equal(x.asnumpy()[1], DENSE[0] + DENSE[2])
    assert np.array_equal(x.asnumpy()[[0, 2]], DENSE[[0, 2]])
    wide = nd.zeros((3, 8))
    nd.elemwise_add(x.tostype("csr"), nd.array(DENSE).tostype("csr"), out=wide[:, 2:6])
    assert np.array_equal(wide.asnumpy()[:, 2:6], DENSE + x.asnumpy())
    assert not wide.asnumpy()[:, [0, 1, 6, 7]].any()


def test_out_of_another_dtype(x):
    out = nd.zeros((3, 4), dtype="float64")
    nd.elemwise_add(x, x, out=out)
    assert np.array_equal(out.asnumpy(), 2 * DENSE)
    for stype in ("csr", "row_sparse"):
        wide = nd.zeros((3, 4), dtype="float64", stype=stype)
        nd.elemwise_add(x.tostype(stype), x.tostype(stype), out=wide)
        assert wide.dtype is np.float64
        assert np.array_equal(wide.asnumpy(), 2 * DENSE)
    with pytest.raises(DTypeError, match="elemwise_add: out has dtype int32, the result has float32"):
        nd.elemwise_add(x, x, out=nd.zeros((3, 4), dtype="int32"))


def test_out_that_does_not_fit(x):
    with pytest.raises(ShapeError, match=r"elemwise_add: out has shape \(4, 3\), the result has \(3, 4\)"):
        nd.elemwise_add(x, x, out=nd.zeros((4, 3)))
    with pytest.raises(ArgumentTypeError, match="elemwise_add: out has 2 arrays, there are 1 outputs"):
        nd.elemwise_add(x, x, out=[x, x])
    for out in (DENSE.copy(), [], 5, [None]):
        with pytest.raises(ArgumentTypeError, match="elemwise_add: out must be an NDArray or a list"):
            nd.elemwise_add(x, x, out=out)


@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
def test_out_reuses_memory(stype, x):
    a = x.tostype(stype)
    out = nd.zeros((3, 4), stype=stype)
    nd.elemwise_add(a, a, out=out)
    data = out._chunk.data
    nd.elemwise_add(a, a, out=out)
    assert np.shares_memory(out._chunk.data, data)


def test_several_outputs(x):
    parts = nd.split(x, num_outputs=2, axis=1)
    assert [p.shape for p in parts] == [(3, 2), (3, 2)]
    outs = [nd.zeros((3, 2)), nd.zeros((3, 2), stype="csr")]
    nd.split(x, num_outputs=2, axis=1, out=outs)
    assert np.array_equal(outs[0].asnumpy(), DENSE[:, :2])
    assert np.array_equal(outs[1].asnumpy(), DENSE[:, 2:])
    first = nd.zeros((3, 2))
    nd.split(x, num_outputs=2, axis=1, out=first)
    assert np.array_equal(first.asnumpy(), DENSE[:, :2])


def test_many_outputs():
    parts = nd.split(nd.arange(12).reshape((1, 12)), num_outputs=12, axis=1)
    assert [p.asscalar() for p in parts] == list(range(12))


def test_many_inputs(x):
    assert nd.concat(*[x] * 20, dim=0).shape == (60, 4)
    assert nd.add_n(x, x, x).asnumpy().tolist() == (3 * DENSE).tolist()
    assert nd.add_n([x, x]).asnumpy().tolist() == (2 * DENSE).tolist()


# -- the memory of calls ---------------------------------------------------------------------------------


def test_a_call_is_prepared_once(memo, x, monkeypatch):
    prepared = []
    original = module._prepare
    monkeypatch.setattr(module, "_prepare", lambda *a: prepared.append(a[0].name) or original(*a))
    for _ in range(3):
        nd.elemwise_add(x, x)
    assert prepared.count("elemwise_add") == 1
    for other in (x.astype("float64"), x.tostype("csr"), x[:2]):
        nd.elemwise_add(other, other)
        nd.elemwise_add(other, other)
    assert prepared.count("elemwise_add") == 4
    assert len(memo) == 4


def test_the_memory_is_bounded(memo, x, monkeypatch):
    monkeypatch.setattr(module, "MEMO_LIMIT", 3)
    for n in range(1, 9):
        part = nd.ones(n)
        assert (part + part).asnumpy().tolist() == [2] * n
        assert len(memo) <= 3


def test_lists_and_arrays_among_the_attributes(x):
    for shape in ([4, 3], (4, 3), np.array([4, 3]), (np.int64(4), 3)):
        assert nd.reshape(x, shape=shape).shape == (4, 3)
    for axis in (0, np.int64(0), [0], "0"):
        assert nd.sum(x, axis=axis).asnumpy().tolist() == DENSE.sum(0).tolist()


# -- arguments -------------------------------------------------------------------------------------------


def test_arguments_by_name_and_position(x):
    assert nd.elemwise_add(lhs=x, rhs=x).shape == (3, 4)
    assert nd.dot(x, rhs=x.T).shape == (3, 3)
    assert nd.dot(x, x, True).shape == (4, 4)
    assert nd.clip(x, 1, 2).asnumpy().tolist() == DENSE.clip(1, 2).tolist()
    assert nd.cast_storage(x, "csr").stype == "csr"
    assert nd.dot(x, x, transpose_b=1, name="product").shape == (3, 3)
    assert nd.dot(x, x, transpose_b="True").shape == (3, 3)


def test_numpy_arrays_as_arguments(x):
    for other in (DENSE.T, np.asfortranarray(DENSE.T), DENSE.T.astype(">f4"), DENSE.T.tolist()):
        if isinstance(other, list):
            with pytest.raises(ArgumentTypeError, match="expected NDArray arguments, got list"):
                nd.dot(x, other)
        else:
            assert np.array_equal(nd.dot(x, other).asnumpy(), DENSE @ DENSE.T)
    with pytest.raises(DTypeError, match="uint16"):
        nd.dot(x, DENSE.T.astype(np.uint16))


def test_wrong_numbers_of_arrays(x):
    with pytest.raises(ArgumentTypeError, match=r"dot: expected 2 arrays \(lhs, rhs\), got 1"):
        nd.dot(x)
    with pytest.raises(ArgumentTypeError, match="dot: too many arguments"):
        nd.dot(x, x, x)


def test_attributes_that_are_not_there(x):
    with pytest.raises(ArgumentTypeError, match="dot: unknown attribute 'foo'; there are .*'transpose_a'"):
        nd.dot(x, x, foo=1)
    with pytest.raises(ArgumentTypeError, match="expand_dims: attribute 'axis' is required"):
        nd.expand_dims(x)
    for value in ({}, object(), {1}):
        with pytest.raises((ArgumentTypeError, ValueError), match="dot: transpose_a must be"):
            nd.dot(x, x, transpose_a=value)


def test_the_operator_itself_can_be_called(x):
    add = registry.get("elemwise_add")
    assert np.array_equal(add(x, x).asnumpy(), 2 * DENSE)
    with pytest.raises(ArgumentTypeError, match=r"expected NDArray or Symbol arguments, got \(int, int\)"):
        add(1, 2)


def test_context(x):
    assert nd.elemwise_add(x, x, ctx=mx.cpu(3)).context == mx.cpu(3)
    there = x.as_in_context(mx.cpu(1))
    assert nd.elemwise_add(there, x).context == mx.cpu(1)


def test_functions_have_signatures_and_documentation():
    import inspect

    parameters = list(inspect.signature(nd.dot).parameters)
    assert parameters[:2] == ["lhs", "rhs"]
    assert {"transpose_a", "out", "name"} <= set(parameters)
    assert nd.dot.__doc__
    assert nd.dot.__name__ == "dot"
    assert nd.dot is nd.dot
    assert inspect.signature(nd.NDArray.sum)


def test_recorder_sees_every_call(x, monkeypatch):
    seen = []
    monkeypatch.setattr(module.hooks, "recorder", lambda *call: seen.append(call))
    y = x + x
    x.reshape((4, 3))
    assert [call[0].name for call in seen] == ["elemwise_add", "Reshape"]
    op, attrs, inputs, outputs = seen[0]
    assert (inputs[0], outputs[0]) == (x, y) or (inputs[0] is x and outputs[0] is y)
    assert attrs == {}
    assert op.name == "elemwise_add"
