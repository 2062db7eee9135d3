import copy
import pickle

import numpy as np
import pytest

import ndsparse as mx
from ndsparse.errors import ArgumentError, ArgumentTypeError, GraphError, ShapeError, StorageTypeError

sym = mx.sym


def linear():
    x = sym.Variable("x", stype="csr")
    w = sym.Variable("w", stype="row_sparse", shape=(5, 3))
    return sym.sparse.dot(x, w, name="product")


def test_names():
    y = linear()
    assert y.list_arguments() == ["x", "w"]
    assert y.list_outputs() == ["product_output"]
    assert y.name == "product"
    assert y.list_auxiliary_states() == []
    assert y.get_internals().list_outputs() == ["x", "w", "product_output"]
    assert y.get_children().list_outputs() == ["x", "w"]
    assert y.get_internals()["w"].list_arguments() == ["w"]


def test_unnamed_nodes_are_counted_within_a_name_manager():
    from ndsparse.graph.build import NameManager, Prefix

    with NameManager():
        x = sym.Variable("x")
        assert [sym.negative(x).name, sym.negative(x).name] == ["negative0", "negative1"]
    with Prefix("net_"):
        assert sym.negative(x, name="n").name == "net_n"


def test_missing_inputs_become_variables():
    y = sym.FullyConnected(sym.Variable("data"), num_hidden=4, name="fc")
    assert y.list_arguments() == ["data", "fc_weight", "fc_bias"]
    y = sym.FullyConnected(sym.Variable("data"), num_hidden=4, no_bias=True, name="fc")
    assert y.list_arguments() == ["data", "fc_weight"]
    assert sym.SoftmaxOutput(y, name="softmax").list_arguments() == ["data", "fc_weight", "softmax_label"]


def test_composition_replaces_variables():
    inner = sym.negative(sym.Variable("a"), name="inner")
    outer = sym.square(sym.Variable("b"), name="outer")
    both = outer(b=inner)
    assert both.list_arguments() == ["a"]
    assert outer.list_arguments() == ["b"]  # the original is as it was
    np.testing.assert_array_equal(both.eval(a=mx.nd.array([3.0]))[0].asnumpy(), [9])
    assert outer(inner).list_arguments() == ["a"]
    with pytest.raises(ArgumentError, match="no argument 'c'"):
        outer(c=inner)


def test_groups_and_indexing():
    x = sym.Variable("x")
    group = sym.Group([sym.negative(x, name="n"), sym.square(x, name="s")])
    assert len(group) == 2
    assert group[1].list_outputs() == ["s_output"]
    assert group["n_output"].name == "n"
    assert [s.name for s in group] == ["n", "s"]
    with pytest.raises(ArgumentError, match="no single output 'z'"):
        group["z"]
    with pytest.raises(IndexError):
        group[2]


def test_attributes():
    with mx.AttrScope(group="4", data="great"):
        x = sym.Variable("x", attr={"data": "own"}, lr_mult=2.0, wd_mult=0.5, shape=(3, 0), dtype="int64")
    assert x.attr("group") == "4"
    assert x.attr("data") == "own"
    assert x.list_attr()["__lr_mult__"] == "2.0"
    assert x.attr("__shape__") == "(3, 0)"
    assert x.attr("absent") is None
    y = sym.dot(x, x, transpose_b=True, name="d")
    assert y.attr_dict()["d"] == {"transpose_b": "True"}
    with pytest.raises(ArgumentTypeError, match="must be text"):
        mx.AttrScope(group=4)


def test_arithmetic_of_symbols_and_numbers():
    a, b = sym.Variable("a"), sym.Variable("b")
    values = {"a": mx.nd.array([4.0, 9.0]), "b": mx.nd.array([2.0, 3.0])}
    cases = {
        "sum": (a + b, [6, 12]),
        "difference": (a - 1, [3, 8]),
        "reflected": (1 - a, [-3, -8]),
        "quotient": (a / b, [2, 3]),
        "inverse": (36 / a, [9, 4]),
        "power": (b**2, [4, 9]),
        "modulo": (a % 5, [4, 4]),
        "negative": (-a, [-4, -9]),
        "absolute": (abs(-a), [4, 9]),
        "greater": (a > 4, [0, 1]),
        "equal": (a == b + 2, [1, 0]),
        "maximum": (sym.maximum(a, 5), [5, 9]),
    }
    for name, (y, expected) in cases.items():
        given = {k: v for k, v in values.items() if k in y.list_arguments()}
        np.testing.assert_allclose(y.eval(**given)[0].asnumpy(), expected, err_msg=name)


def test_a_symbol_has_no_truth_value():
    with pytest.raises(ArgumentTypeError, match="no truth value"):
        bool(sym.Variable("a") == 1)


def test_shapes_are_inferred_in_both_directions():
    fc = sym.FullyConnected(sym.Variable("data"), num_hidden=4, name="fc")
    assert fc.infer_shape(data=(8, 5)) == ([(8, 5), (4, 5), (4,)], [(8, 4)], [])
    assert fc.infer_shape(fc_weight=(4, 5)) == (None, None, None)
    args, outs, _ = fc.infer_shape_partial(data=(8, 0))
    assert args[0] == (8, 0)
    assert outs == [(8, 4)]
    total = sym.Variable("a") + sym.Variable("b")
    assert total.infer_shape(b=(2, 3))[0] == [(2, 3), (2, 3)]
    assert total.infer_shape(a=(2, 0), b=(0, 3))[0] == [(2, 3), (2, 3)]


def test_a_shape_that_does_not_fit_names_the_node():
    with pytest.raises(ShapeError, match=r"node 'product': dot: dimension 'k' is 4 in lhs but rhs has 5"):
        linear().infer_shape(x=(2, 4))
    with pytest.raises(ShapeError, match="variable 'w' was declared with shape"):
        linear().infer_shape(w=(6, 3))
    with pytest.raises(ArgumentError, match="no argument 'z'"):
        linear().infer_shape(z=(2, 4))


def test_dtypes_are_inferred():
    y = linear()
    assert y.infer_type(x="float64")[1] == [np.float64]
    assert y.infer_type()[0] == [np.float32, np.float32]


def test_storage_types_are_inferred_forwards():
    y = linear()
    assert y.infer_storage_type() == (["csr", "row_sparse"], ["default"], [])
    assert y.infer_storage_type(x="default", w="default")[1] == ["default"]
    backward = sym.dot(sym.Variable("x", stype="csr"), sym.Variable("g"), transpose_a=True)
    assert backward.infer_storage_type()[1] == ["row_sparse"]
    assert sym.square(backward).infer_storage_type()[1] == ["row_sparse"]


def test_storage_types_are_inferred_backwards():
    y = sym.square(sym.abs(sym.Variable("x")), name="s")
    assert y.infer_storage_type(s_output="csr") == (["csr"], ["csr"], [])


def test_a_refused_storage_type_names_the_node():
    with pytest.raises(StorageTypeError, match="variable 'x': .*unknown storage type 'coo3'"):
        linear().infer_storage_type(x="coo3")
    with pytest.raises(StorageTypeError):
        sym.Variable("x", stype="nope")


def test_json_files(tmp_path):
    y = linear()
    path = tmp_path / "y-symbol.json"
    y.save(path)
    again = sym.load(path)
    assert again.tojson() == y.tojson()
    assert again.infer_storage_type() == y.infer_storage_type()
    assert [p.name for p in tmp_path.iterdir()] == ["y-symbol.json"]
    path.write_text("{")
    with pytest.raises(GraphError, match="y-symbol.json"):
        sym.load(path)
    assert pickle.loads(pickle.dumps(y)).tojson() == y.tojson()
    assert copy.deepcopy(y).tojson() == y.tojson()


def test_operators_are_found_in_every_namespace():
    assert sym.sparse.dot.__name__ == "dot"
    assert "transpose_a" in str(__import__("inspect").signature(sym.dot))
    with pytest.raises(AttributeError, match="no_such_operator"):
        _ = sym.no_such_operator


def test_operators_are_methods_as_they_are_of_arrays():
    x = sym.Variable("x")
    y = x.square().sum(axis=1, keepdims=True).reshape((-1,)).astype("float64")
    (found,) = y.eval(x=mx.nd.array([[1, 2], [3, 4]]))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found.asnumpy(), [5, 25])
    assert x.tostype("csr").infer_storage_type()[1] == ["csr"]
