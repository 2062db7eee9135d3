"""dot, batch_dot, and the products behind them."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import ndsparse as mx
from ndsparse import nd
from ndsparse.errors import ShapeError
from ndsparse.ops import dispatch, registry

STYPES = ("default", "csr", "row_sparse")
FLAGS = [(a, b) for a in (False, True) for b in (False, True)]


def made(rng: np.random.Generator, shape: tuple[int, ...], stype: str, dtype: str = "float32") -> Any:
    values = rng.integers(-4, 5, shape).astype(dtype)
    if stype == "csr":
        values = values * (rng.random(shape) < 0.4)
    elif stype == "row_sparse":
        values = values * (rng.random((shape[0],) + (1,) * (len(shape) - 1)) < 0.6)
    return nd.array(values, dtype=dtype).tostype(stype)


def moved(array: np.ndarray, flag: bool, left: bool) -> np.ndarray:
    """Return an operand as MXNet reads its transpose flag."""
    if not flag or array.ndim == 1:
        return array
    return np.moveaxis(array, 0, -1) if left else np.moveaxis(array, -1, 0)


@pytest.mark.parametrize(("transpose_a", "transpose_b"), FLAGS)
@pytest.mark.parametrize(("left", "right"), [*itertools.product(STYPES, repeat=2)])
def test_every_pair_of_storage_types(
    rng: np.random.Generator, left: str, right: str, transpose_a: bool, transpose_b: bool
) -> None:
    a = made(rng, (5, 4) if transpose_a else (4, 5), left)
    b = made(rng, (3, 5) if transpose_b else (5, 3), right)
    wanted = moved(a.asnumpy(), transpose_a, True) @ moved(b.asnumpy(), transpose_b, False)
    for hint in (None, "default", "csr", "row_sparse"):
        if left == right == "default" and hint not in (None, "default"):
            continue
        result = nd.dot(a, b, transpose_a=transpose_a, transpose_b=transpose_b, forward_stype=hint)
        assert hint is None or result.stype == hint
        result.check_format(full_check=True)
        np.testing.assert_array_equal(result.asnumpy(), wanted)


def test_storage_types_are_those_of_the_recorded_table(golden_dir: Path) -> None:
    table = golden_dir.parent / "reference" / "stype_table.csv"
    op, seen = registry.get("dot"), 0
    with table.open() as file:
        for row in csv.DictReader(file):
            if row["op"] != "dot" or row["direction"] != "forward":
                continue
            given = dict(part.split("=") for part in row["attrs"].split(";") if part)
            attrs = op.normalize(given)
            decision = dispatch.decide(op, row["input_stypes"].split("|"), attrs)
            assert "|".join(decision.stypes) == row["output_stypes"], row
            seen += 1
    assert seen > 100


def test_hand_worked_values() -> None:
    a = nd.sparse.csr_matrix(([1.0, 2.0, 3.0], [1, 0, 2], [0, 1, 3]), shape=(2, 3))
    b = nd.array([[1, 2], [3, 4], [5, 6]])
    assert nd.dot(a, b).asnumpy().tolist() == [[3, 4], [17, 22]]
    c = nd.dot(a, nd.array([[1.0], [10.0]]), transpose_a=True)
    assert c.stype == "row_sparse"
    assert c.indices.asnumpy().tolist() == [0, 1, 2]
    assert c.data.asnumpy().ravel().tolist() == [20, 1, 30]


@pytest.mark.parametrize("name", ["f01", "f03", "f07"])
def test_recorded_values(golden: Callable[[str], Any], name: str) -> None:
    case = golden(name)
    result = nd.dot(case.inputs["lhs"], case.inputs["rhs"], **case.attrs)
    assert result.stype == case.stypes["0"]
    np.testing.assert_allclose(result.asnumpy(), case.outputs["0"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["g85", "g86", "g87", "g88", "g94"])
def test_recorded_models(golden: Callable[[str], Any], name: str) -> None:
    """Outputs and the storage types of gradients (the recorded gradients are of unrecorded heads)."""
    case = golden(name)
    turned, times = name == "g87", 3 if name == "g94" else 1
    stypes = {k: v.stype for k, v in case.inputs.items()}
    x, w = mx.sym.Variable("x", stype=stypes["x"]), mx.sym.Variable("w", stype=stypes["w"])
    symbol = mx.sym.dot(x, w, transpose_a=turned)
    if name == "g94":
        symbol = symbol + mx.sym.dot(x, w) * 2
    reqs = {k: "write" if f"grad_{k}" in case.outputs else "null" for k in case.inputs}
    executor = symbol.simple_bind(mx.cpu(), grad_req=reqs, **{k: v.shape for k, v in case.inputs.items()})
    for key, value in case.inputs.items():
        value.copyto(executor.arg_dict[key])
    out = executor.forward(is_train=True)[0]
    executor.backward(nd.ones(out.shape).tostype(out.stype))
    np.testing.assert_allclose(out.asnumpy(), case.outputs["out"], rtol=1e-5, atol=1e-6)
    left, right = (case.inputs[k].asnumpy() for k in "xw")
    heads = np.ones(out.shape, np.float32)
    grads = {"x": heads @ right.T, "w": times * (left if turned else left.T) @ heads}
    for key, req in reqs.items():
        if req == "write":
            assert executor.grad_dict[key].stype == case.stypes[f"grad_{key}"]
            np.testing.assert_allclose(executor.grad_dict[key].asnumpy(), grads[key], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64", "uint8"])
def test_dtypes(rng: np.random.Generator, dtype: str) -> None:
    dense = np.abs(made(rng, (5, 3), "default", "int64").asnumpy()).astype(dtype)
    sparse = np.abs(made(rng, (4, 5), "csr", "int64").asnumpy()).astype(dtype)
    result = nd.dot(nd.array(sparse, dtype=dtype).tostype("csr"), nd.array(dense, dtype=dtype))
    assert result.dtype == np.dtype(dtype).type
    np.testing.assert_array_equal(result.asnumpy(), sparse @ dense)


def test_vectors(rng: np.random.Generator) -> None:
    a = made(rng, (4, 5), "csr")
    v, w = made(rng, (5,), "default"), made(rng, (4,), "default")
    np.testing.assert_array_equal(nd.dot(a, v).asnumpy(), a.asnumpy() @ v.asnumpy())
    turned = nd.dot(a, w, transpose_a=True)
    assert turned.stype == "row_sparse"
    np.testing.assert_array_equal(turned.asnumpy(), a.asnumpy().T @ w.asnumpy())
    assert nd.dot(v, v).shape == (1,)


@pytest.mark.parametrize(("transpose_a", "transpose_b"), FLAGS)
def test_more_dimensions(rng: np.random.Generator, transpose_a: bool, transpose_b: bool) -> None:
    a = made(rng, (4, 2, 3) if transpose_a else (2, 3, 4), "default")
    b = made(rng, (5, 6, 4) if transpose_b else (4, 5, 6), "default")
    wanted = np.tensordot(moved(a.asnumpy(), transpose_a, True), moved(b.asnumpy(), transpose_b, False), 1)
    result = nd.dot(a, b, transpose_a=transpose_a, transpose_b=transpose_b)
    np.testing.assert_array_equal(result.asnumpy(), wanted)


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(ShapeError, match=r"'k' is 4 in lhs but rhs has 7 .*\(3, 4\), \(7, 5\)"):
        nd.dot(nd.ones((3, 4)), nd.ones((7, 5)))


def test_shape_inference_goes_backwards() -> None:
    x, w = mx.sym.Variable("x"), mx.sym.Variable("w", shape=(0, 3))
    assert mx.sym.dot(x, w).infer_shape(x=(2, 5))[0] == [(2, 5), (5, 3)]
    add = mx.sym.dot(x, mx.sym.Variable("v")) + mx.sym.Variable("y", shape=(2, 3))
    args, _, _ = add.infer_shape(x=(2, 5))
    assert args[1] == (5, 3)


def test_into_a_given_array(rng: np.random.Generator) -> None:
    a, b = made(rng, (4, 5), "csr"), made(rng, (5, 3), "default")
    wide = nd.zeros((4, 6))
    target = wide[:, 1:4]
    nd.dot(a, b, out=target)
    np.testing.assert_array_equal(wide.asnumpy()[:, 1:4], a.asnumpy() @ b.asnumpy())
    rows = nd.zeros((4, 3), stype="row_sparse")
    nd.dot(a, b, out=rows)
    np.testing.assert_array_equal(rows.asnumpy(), a.asnumpy() @ b.asnumpy())


def test_huge_extents_cost_only_what_is_stored() -> None:
    rows = 1 << 40
    w = nd.sparse.row_sparse_array((np.ones((2, 3), "f"), [5, rows - 1]), shape=(rows, 3))
    x = nd.sparse.csr_matrix((np.array([2, 3], "f"), [rows - 1, 7], [0, 1, 2]), shape=(2, rows))
    assert nd.dot(x, w).asnumpy().tolist() == [[2, 2, 2], [0, 0, 0]]
    grad = nd.dot(x, nd.ones((2, 3)), transpose_a=True)
    assert grad.shape == (rows, 3)
    assert grad.indices.asnumpy().tolist() == [7, rows - 1]


def test_against_scipy(rng: np.random.Generator) -> None:
    theirs = sp.random(200, 300, 0.05, "csr", dtype=np.float64, random_state=1)
    other = sp.random(300, 100, 0.05, "csr", dtype=np.float64, random_state=2)
    a, b = nd.sparse.csr_matrix(theirs), nd.sparse.csr_matrix(other)
    product = nd.dot(a, b, forward_stype="csr")
    np.testing.assert_allclose(product.asnumpy(), (theirs @ other).toarray())
    assert product.nnz == (theirs @ other).nnz
    dense = rng.standard_normal((50, 200))
    np.testing.assert_allclose(
        nd.dot(nd.array(dense, dtype="float64"), a, forward_stype="default").asnumpy(), dense @ theirs
    )
    assert nd.dot(nd.array(dense), a).stype == "csr"


@pytest.mark.parametrize(("transpose_a", "transpose_b"), FLAGS)
def test_batch_dot(rng: np.random.Generator, transpose_a: bool, transpose_b: bool) -> None:
    a = made(rng, (2, 4, 3) if transpose_a else (2, 3, 4), "default")
    b = made(rng, (2, 5, 4) if transpose_b else (2, 4, 5), "default")
    x = a.asnumpy().swapaxes(1, 2) if transpose_a else a.asnumpy()
    y = b.asnumpy().swapaxes(1, 2) if transpose_b else b.asnumpy()
    result = nd.batch_dot(a, b, transpose_a=transpose_a, transpose_b=transpose_b)
    np.testing.assert_array_equal(result.asnumpy(), x @ y)
