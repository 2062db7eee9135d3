"""Random graphs: the optimised run equals the one that runs node by node, forward and backward."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ndsparse as mx
from ndsparse import config
from ndsparse.errors import NDSparseError
from ndsparse.executor.symbol import Symbol
from ndsparse.graph import Entry, Graph, apply, variable
from ndsparse.ndarray.invoke import wrap
from ndsparse.ops import registry
from ndsparse.storage import DefaultChunk, converted
from ndsparse.testing.samples import samples_of

SIDE = (4, 4)
STYPES = ("default", "csr", "row_sparse")
FLOAT64 = np.dtype(np.float64)

LEFT_OUT = frozenset(
    {
        "_scatter_plus_scalar",  # their result depends on which zeros are stored
        "_scatter_minus_scalar",
        "_scatter_elemwise_div",
        "SVMOutput",  # a label for each row is meant
    }
)


@functools.cache
def square_operators():
    """Return (operator, attributes, inputs) of all operators that map 4 x 4 arrays to one."""
    found = []
    for op in sorted({id(o): o for o in registry.operators().values()}.values(), key=lambda o: o.name):
        if not op.pure or op.name in LEFT_OUT or op.name.startswith(("_backward", "_contrib_backward")):
            continue
        for attrs in _attributes_of(op):
            count = 3 if op.variadic else len(op.inputs_of(attrs))
            try:
                _, shapes = op.infer_shape([SIDE] * count, [None] * op.num_outputs(attrs), attrs)
                _, dtypes = op.infer_dtype([FLOAT64] * count, [None] * len(shapes), attrs)
            except (NDSparseError, ValueError, TypeError, IndexError):
                continue
            if count and list(shapes) == [SIDE] and list(dtypes) == [FLOAT64]:
                found.append((op, attrs, count))
    return found


def _attributes_of(op):
    seen = []
    for sample in samples_of(op):
        attrs = op.normalize(sample.attrs)
        if attrs not in seen:
            seen.append(attrs)
    return seen[:3]


def test_many_operators_take_part():
    names = {op.name for op, _, _ in square_operators()}
    assert len(names) > 120
    assert {"dot", "cast_storage", "add_n", "_copy", "elemwise_add", "broadcast_mul", "tanh"} <= names


FREQUENT = ("elemwise_add", "elemwise_mul", "dot", "cast_storage", "_copy", "add_n", "square", "_mul_scalar")
"""Drawn as often as all others together, so that passes find something to do."""


@st.composite
def graphs(draw):
    """Return a list of entries, and the storage types of the variables that they read."""
    table = square_operators()
    frequent = [t for t in table if t[0].name in FREQUENT]
    stypes = draw(st.lists(st.sampled_from(STYPES), min_size=1, max_size=3))
    entries = [variable(f"v{i}") for i in range(len(stypes))]
    for i in range(draw(st.integers(1, 9))):
        op, attrs, count = draw(st.sampled_from(frequent) | st.sampled_from(table))
        inputs = [draw(st.sampled_from(entries)) for _ in range(count)]
        notes = {"__force_mirroring__": "True"} if draw(st.integers(0, 3)) == 0 else None
        entries.append(Entry(apply(op, inputs, attrs, name=f"n{i}_{op.name}", annotations=notes)))
    outputs = draw(st.lists(st.sampled_from(entries[len(stypes) :]), min_size=1, max_size=2, unique=True))
    return [*outputs, entries[-1]] if entries[-1] not in outputs else outputs, stypes


def _values(outputs, stypes, rng):
    names = [n.name for n in Graph(outputs).variables]
    values = {}
    for name in names:
        array = rng.standard_normal(SIDE) * (rng.random(SIDE) < 0.6)
        array[rng.integers(4)] = 0
        values[name] = converted(DefaultChunk.of(array), stypes[int(name[1:])])
    return values


def _assert_same(found, expected):
    scale = np.max(np.abs(expected), initial=1, where=np.isfinite(expected))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9 * scale)


def _has_gradient(outputs):
    return all(n.op is None or n.op.gradient is not None for n in Graph(outputs).nodes)


@settings(max_examples=150)
@given(graphs(), st.integers(0, 2**32 - 1), st.sampled_from(["write", "add"]))
def test_optimised_and_naive_runs_agree(naive_run, graph, seed, req):
    outputs, stypes = graph
    rng = np.random.default_rng(seed)
    symbol, values = Symbol(outputs), _values(outputs, stypes, rng)
    heads = [rng.standard_normal(SIDE) for _ in outputs]
    wrt = list(values) if _has_gradient(outputs) else []
    with config.using(storage_fallback="silent"):
        try:
            expected, gradients = naive_run(symbol, values, wrt, heads)
        except NDSparseError:
            return  # refused for these storage types
        grads = {n: mx.nd.zeros(SIDE, dtype="float64") for n in wrt}
        args = {n: wrap(c.copy()) for n, c in values.items()}
        executor = symbol.bind(mx.cpu(), args, grads, req)
        for _ in range(2):  # the second run meets what the first left behind
            for found, wanted in zip(executor.forward(is_train=True), expected, strict=True):
                _assert_same(found.asnumpy(), wanted)
            if wrt:
                executor.backward([mx.nd.array(h, dtype="float64") for h in heads])
        for name, wanted in zip(wrt, gradients, strict=True):
            _assert_same(grads[name].asnumpy(), wanted * (2 if req == "add" else 1))
        for name, chunk in values.items():
            np.testing.assert_array_equal(args[name].asnumpy(), chunk.to_dense(), err_msg=name)


def test_backward_can_run_again(naive_run):
    x = mx.sym.Variable("x", shape=SIDE)
    y = mx.sym.tanh(mx.sym.exp(mx.sym.sin(x) * 2) + 1) * mx.sym.square(x)
    value = np.linspace(-1, 1, 16).reshape(SIDE)
    executor = y.bind(mx.cpu(), {"x": mx.nd.array(value)}, {"x": mx.nd.zeros(SIDE, dtype="float64")})
    executor.forward(is_train=True)
    for scale in (1.0, -2.0):
        head = np.full(SIDE, scale)
        executor.backward(mx.nd.array(head))
        _, (wanted,) = naive_run(y, {"x": DefaultChunk.of(value)}, ["x"], [head])
        np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("draws", [1, 3])
def test_random_draws_stay_when_nobody_reads_them(draws):
    x = mx.sym.Variable("x", shape=(1000,))
    y = mx.sym.Dropout(x, p=0.5, name="drop")
    z = mx.sym.zeros_like(y) if draws == 1 else y
    executor = (z + mx.sym.Dropout(x, p=0.5, name="other")).simple_bind(mx.cpu(), grad_req="null")
    names = [n.name for n in executor.graph.nodes]
    assert "drop" in names and "other" in names
