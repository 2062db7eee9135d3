import warnings

import numpy as np
import pytest

import ndsparse as mx
from ndsparse import config
from ndsparse.errors import (
    ArgumentError,
    ArgumentTypeError,
    NotSupportedForSparse,
    ShapeError,
    StorageFallbackWarning,
    StorageTypeError,
)
from ndsparse.ops import attrs, dispatch, registry, shapes
from ndsparse.ops.dtypes import DTypeRule
from ndsparse.ops.operator import Operator
from ndsparse.ops.registry import FALLBACK, FCOMPUTE, FCOMPUTE_EX, OpContext

nd = mx.nd


def make(body, signature="a(*s), b(*s) -> (*s)", **options):
    """Return an operator that is in no registry."""
    return Operator(body, signature, name=options.pop("name", "probe"), **options)


def total(a, b, *, scale: float = 1.0, mode: str | None = None, axes: tuple[int, ...] | int = ()):
    return scale * (a + b)


# -- attributes


def test_attributes_are_read_off_the_body():
    table = attrs.declared(total)
    assert list(table) == ["scale", "mode", "axes"]
    assert table["scale"].default == 1.0
    assert table["mode"].optional


def test_attributes_are_parsed_and_checked():
    op = make(total)
    assert op.normalize({"scale": "2", "axes": "(1, 2)"}) == {"scale": 2.0, "mode": None, "axes": (1, 2)}
    assert op.normalize({"scale": np.float32(2), "axes": [3]})["axes"] == (3,)
    assert op.normalize({"mode": "None"})["mode"] is None
    with pytest.raises(
        ArgumentTypeError, match=r"probe: unknown attribute 'scaled'; there are \['axes', 'mode', 'scale'\]"
    ):
        op.normalize({"scaled": 1})
    with pytest.raises(ArgumentTypeError, match="probe: scale must be float, got 'much'"):
        op.normalize({"scale": "much"})


def test_choices_and_required_attributes():
    from typing import Literal

    def body(a, *, mode: Literal["clip", "wrap"] = "clip", size: int):
        return a

    op = make(body, "a(*s) -> (*s)")
    assert op.normalize({"size": "3"}) == {"mode": "clip", "size": 3}
    with pytest.raises(ArgumentError, match=r"mode must be one of \('clip', 'wrap'\), got 'raise'"):
        op.normalize({"size": 3, "mode": "raise"})
    with pytest.raises(ArgumentTypeError, match="attribute 'size' is required"):
        op.normalize({})


# -- shapes


def test_signatures_infer_in_both_directions():
    signature = shapes.parse("lhs(m, k), rhs(k, n) -> (m, n)")
    solved = shapes.solve("op", signature, [(2, 3), (-1, 4)], [None], {})
    assert solved == ([(2, 3), (3, 4)], [(2, 4)])
    solved = shapes.solve("op", signature, [(-1, 3), None], [(2, 5)], {})
    assert solved == ([(2, 3), (3, 5)], [(2, 5)])
    rest = shapes.parse("data(b, *rest), weight(units) -> (b, *rest, units)")
    assert shapes.solve("op", rest, [(2, 3, 4), None], [None], {"units": 7})[1] == [(2, 3, 4, 7)]


def test_shapes_that_disagree_are_explained():
    signature = shapes.parse("lhs(m, k), rhs(k, n) -> (m, n)")
    message = r"op: dimension 'k' is 4 in lhs but rhs has 7 \(shapes lhs \(3, 4\), rhs \(7, 5\)\)"
    with pytest.raises(ShapeError, match=message):
        shapes.solve("op", signature, [(3, 4), (7, 5)], [None], {})
    with pytest.raises(ShapeError, match="lhs must have 2 dimensions, got shape"):
        shapes.solve("op", signature, [(3,), None], [None], {})
    with pytest.raises(ShapeError, match="the shapes of a and b do not match"):
        make(total).infer_shape([(2, 3), (2, 4)], [None], {})


def test_broadcast_shapes():
    assert shapes.broadcast("op", (3, 1), (1, 4)) == (3, 4)
    assert shapes.broadcast("op", (4,), (3, 1)) == (3, 4)
    assert shapes.broadcast("op", (0, 1), (1, 4)) == (0, 4)
    with pytest.raises(ShapeError, match="cannot be broadcast"):
        shapes.broadcast("op", (2, 3), (2, 4))


# -- dtypes


def test_dtype_rules():
    f32, f64, i64 = (np.dtype(t) for t in ("float32", "float64", "int64"))
    assert DTypeRule("").infer("op", [f32, f64], [None], {}) == ([f32, f64], [f64])
    assert DTypeRule("").infer("op", [None, f64], [None], {}) == ([f64, f64], [f64])
    assert DTypeRule("").infer("op", [None], [f32], {}) == ([f32], [f32])
    assert DTypeRule("T, * -> T").infer("op", [f32, i64], [None], {})[1] == [f32]
    assert DTypeRule("T -> int64").infer("op", [f32], [None], {})[1] == [i64]
    assert DTypeRule("* -> @dtype").infer("op", [f32], [None], {"dtype": "float64"})[1] == [f64]


# -- rows and decisions


def three_rows():
    op = make(total)

    @op.on("csr, default|csr -> =0", scale=1.0)
    def _(a, b, out): ...

    @op.on("row_sparse, * -> row_sparse", when=lambda given: given["scale"] > 1)
    def _(a, b, out): ...

    op.falls_back("default, csr -> csr")
    op.refuse("row_sparse, csr", "nobody asked for it")
    return op


@pytest.mark.parametrize(
    ("stypes", "given", "mode", "result"),
    [
        (("default", "default"), {}, FCOMPUTE, "default"),
        (("csr", "default"), {}, FCOMPUTE_EX, "csr"),
        (("csr", "csr"), {}, FCOMPUTE_EX, "csr"),
        (("csr", "csr"), {"scale": 2.0}, FALLBACK, "default"),
        (("row_sparse", "csr"), {"scale": 2.0}, FCOMPUTE_EX, "row_sparse"),
        (("row_sparse", "default"), {}, FALLBACK, "default"),
        (("default", "csr"), {}, FALLBACK, "csr"),
    ],
)
def test_the_first_row_that_matches_decides(stypes, given, mode, result):
    op = three_rows()
    decision = dispatch.decide(op, stypes, op.normalize(given))
    assert (decision.mode, decision.stypes) == (mode, (result,))


def test_refusals_give_their_reason():
    op = three_rows()
    with pytest.raises(
        StorageTypeError, match=r"probe: \(row_sparse, csr\) is not supported: nobody asked for it"
    ):
        dispatch.decide(op, ("row_sparse", "csr"), op.normalize({}))


def test_a_wanted_storage_type_is_met_by_a_row_or_by_a_cast():
    dot = registry.get("dot")
    given = dot.normalize({"transpose_a": True})
    assert dispatch.decide(dot, ("csr", "default"), given).stypes == ("row_sparse",)
    decision = dispatch.decide(dot, ("csr", "default"), given, "default")
    assert (decision.mode, decision.kernel_stypes) == (FCOMPUTE_EX, ("default",))
    decision = dispatch.decide(dot, ("csr", "default"), given, "csr")
    assert decision.stypes == ("csr",)
    with pytest.raises(StorageTypeError, match="unknown storage type 'nope'"):
        dispatch.decide(dot, ("csr", "default"), given, "nope")


# -- requests and fallback


def chunks(*arrays):
    return [a._chunk for a in arrays]


@pytest.mark.parametrize(("req", "expected"), [("write", 3), ("inplace", 3), ("add", 13), ("null", 10)])
def test_the_body_honours_requests(req, expected):
    op = make(total)
    given = op.normalize({})
    a, b, out = nd.ones((2, 2)), nd.full((2, 2), 2), nd.full((2, 2), 10)
    run = dispatch.runner(op, dispatch.decide(op, ("default", "default"), given), given)
    run(chunks(a, b), chunks(out), OpContext(req=(req,)))
    np.testing.assert_array_equal(out.asnumpy(), np.full((2, 2), expected))


@pytest.mark.parametrize(("req", "expected"), [("write", 4), ("inplace", 4), ("add", 14), ("null", 10)])
def test_kernels_honour_requests(req, expected):
    op = registry.get("square")
    given = op.normalize({})
    a = nd.array([[0, 2], [0, 0]]).tostype("csr")
    out = nd.array([[0, 10], [0, 0]]).tostype("csr")
    run = dispatch.runner(op, dispatch.decide(op, ("csr",), given), given)
    run(chunks(a), chunks(out), OpContext(req=(req,)))
    assert out.asnumpy()[0, 1] == expected


@pytest.mark.fallback
@pytest.mark.parametrize(("req", "expected"), [("write", 4), ("add", 14), ("null", 10)])
def test_fallback_honours_requests(req, expected):
    op = make(total)
    op.falls_back("csr, csr -> csr")
    given = op.normalize({})
    a = nd.array([[0, 2], [0, 0]]).tostype("csr")
    out = nd.array([[0, 10], [0, 0]]).tostype("csr")
    run = dispatch.runner(op, dispatch.decide(op, ("csr", "csr"), given), given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StorageFallbackWarning)
        run(chunks(a, a), chunks(out), OpContext(req=(req,)))
    np.testing.assert_array_equal(out.asnumpy(), [[0, expected], [0, 0]])
    np.testing.assert_array_equal(a.asnumpy(), [[0, 2], [0, 0]])


@pytest.mark.fallback
def test_fallback_warns_once_a_call_site_and_names_the_bytes():
    c = nd.array([[0, 2], [1, 0]]).tostype("csr")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            nd.cos(c)
        nd.cos(c)
    assert len(seen) == 2
    assert issubclass(seen[0].category, StorageFallbackWarning)
    assert "cos: no kernel for storage types (csr) -> (default); dense copies of 16 bytes" in str(
        seen[0].message
    )
    assert seen[0].filename == __file__


def test_fallback_can_be_an_error_or_silent():
    c = nd.array([[0, 2], [1, 0]]).tostype("csr")
    with config.using(storage_fallback="error"), pytest.raises(NotSupportedForSparse, match="cos: no kernel"):
        nd.cos(c)
    with config.using(storage_fallback="silent"):
        np.testing.assert_allclose(nd.cos(c).asnumpy(), np.cos([[0, 2], [1, 0]]), rtol=1e-6)


@pytest.mark.fallback
def test_inputs_that_an_operator_writes_are_cast_back():
    def body(a, b):
        b += a
        return a * 2

    op = make(body, mutates=("b",))
    given = op.normalize({})
    a = nd.array([[0, 2], [0, 0]]).tostype("csr")
    b = nd.array([[1, 0], [0, 0]]).tostype("row_sparse")
    out = nd.zeros((2, 2))
    run = dispatch.runner(op, dispatch.decide(op, ("csr", "row_sparse"), given), given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StorageFallbackWarning)
        run(chunks(a, b), chunks(out), OpContext())
    np.testing.assert_array_equal(b.asnumpy(), [[1, 2], [0, 0]])
    assert b.stype == "row_sparse"


def test_an_output_that_is_an_input_is_computed_aside():
    a = nd.array([[0, 2], [0, 3]]).tostype("csr")
    nd.elemwise_add(a, a, out=a)
    np.testing.assert_array_equal(a.asnumpy(), [[0, 4], [0, 6]])
    a.check_format()
    b = nd.array([[1, 2], [3, 4]])
    nd.dot(b, b, out=b)
    np.testing.assert_array_equal(b.asnumpy(), [[7, 10], [15, 22]])


def test_state_and_context_reach_the_body():
    def body(a, *, ctx, state):
        state.append(ctx.is_train)
        return a + len(state)

    op = make(body, "a(*s) -> (*s)", state=lambda given: [])
    given = op.normalize({})
    state = op.make_state(given)
    run = dispatch.runner(op, dispatch.decide(op, ("default",), given), given, state)
    out = nd.zeros(1)
    for train in (True, False):
        run(chunks(nd.zeros(1)), chunks(out), OpContext(is_train=train))
    assert state == [True, False]
    assert out.asscalar() == 2


def test_adding_takes_new_memory_where_others_hold_the_old():
    grad = nd.ones((2, 2))
    exported = np.from_dlpack(grad)
    x = mx.sym.Variable("x")
    executor = mx.sym.square(x).bind(mx.cpu(), {"x": nd.ones((2, 2))}, {"x": grad}, "add")
    executor.forward(is_train=True)
    executor.backward()
    np.testing.assert_array_equal(grad.asnumpy(), np.full((2, 2), 3))
    np.testing.assert_array_equal(exported, np.ones((2, 2)))
