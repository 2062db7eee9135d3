"""What modules refuse, by name and with a hint: arrays for iterators, ids that are none, wrong shapes."""

from __future__ import annotations

import numpy as np
import pytest

import ndsparse as mx
from ndsparse.errors import ArgumentError, ArgumentTypeError, FileFormatError, ShapeError

WIDTH = 6


def sparse_module(**kwargs):
    x = mx.sym.Variable("data", stype="csr")
    w = mx.sym.Variable("w", shape=(WIDTH, 1), stype="row_sparse")
    net = mx.sym.LinearRegressionOutput(mx.sym.sparse.dot(x, w), mx.sym.Variable("label"), name="out")
    mod = mx.mod.Module(net, label_names=["label"])
    mod.bind([("data", (2, WIDTH))], [("label", (2, 1))])
    mod.init_params(mx.init.One())
    mod.init_optimizer(**kwargs)
    return mod


def a_batch():
    data = mx.nd.array([[1, 0, 0, 2, 0, 0], [0, 0, 0, 0, 0, 3]]).tostype("csr")
    return mx.io.DataBatch([data], [mx.nd.zeros((2, 1))])


@pytest.mark.parametrize(
    ("ids", "kind", "message"),
    [
        (lambda b: b.data[0], ArgumentTypeError, r"a csr array of shape \(2, 6\).*\.indices"),
        (lambda b: b.data[0].indices.reshape((3, 1)), ShapeError, r"shape \(3, 1\)"),
        (lambda b: np.zeros((2, 2), int), ShapeError, r"shape \(2, 2\)"),
        (lambda b: mx.nd.array([0.5, 1]), ArgumentTypeError, r"fractions \(0.5\)"),
        (lambda b: np.array([True, False]), ArgumentTypeError, "bool values"),
        (lambda b: 3, ShapeError, r"shape \(\)"),
        (lambda b: None, ArgumentTypeError, "NoneType"),
    ],
)
def test_row_ids_that_are_none(ids, kind, message):
    mod = sparse_module(kvstore=mx.kv.create("local"))
    with pytest.raises(kind, match=f"sparse_row_id_fn: the row ids of 'w': expected a 1-d .*{message}"):
        mod.prepare(a_batch(), lambda b: {"w": ids(b)})


@pytest.mark.parametrize("ids", [[0, 3, 5], np.array([5.0, 0, 3]), mx.nd.array([0, 3, 5], dtype="int64")])
def test_row_ids_of_many_kinds(ids):
    mod = sparse_module(kvstore=mx.kv.create("local"))
    batch = a_batch()
    mod.prepare(batch, lambda b: {"w": ids})
    mod.forward(batch, is_train=False)
    assert mod.get_outputs()[0].asnumpy().tolist() == [[3], [3]]


def test_arrays_are_no_iterators_and_no_batches():
    mod = sparse_module()
    array = mx.nd.ones((4, WIDTH))
    for data in (array, array.asnumpy(), 3):
        with pytest.raises(ArgumentTypeError, match=r"train_data: expected a DataIter, got .*NDArrayIter"):
            mod.fit(data, num_epoch=1)
        with pytest.raises(ArgumentTypeError, match="eval_data: expected a DataIter"):
            mod.score(data, "mse")
        with pytest.raises(ArgumentTypeError, match="data_batch: expected a DataBatch"):
            mod.forward(data)
    with pytest.raises(ArgumentTypeError, match="list without provide_data"):
        mod.fit([a_batch()], num_epoch=1)
    with pytest.raises(ArgumentTypeError, match="eval_data: expected a DataIter, got NDArray"):
        mod.fit(mx.io.NDArrayIter(np.ones((4, WIDTH))), array, num_epoch=1)
    with pytest.raises(ArgumentTypeError, match="data_batch: expected a DataBatch"):
        mod.forward(a_batch().data[0])


def test_parameters_of_a_wrong_shape_are_named():
    mod = sparse_module()
    wrong = {"w": mx.nd.ones((WIDTH + 1, 1))}
    with pytest.raises(ShapeError, match=r"w: the value has shape \(7, 1\), the graph wants \(6, 1\)"):
        mod.set_params(wrong, {})
    executor = mx.sym.Variable("w").simple_bind(mx.cpu(), w=(WIDTH, 1))
    with pytest.raises(ShapeError, match=r"'w' has shape \(7, 1\), the graph wants \(6, 1\)"):
        executor.copy_params_from(wrong)


def test_stores_and_numbers_of_optimizers_are_checked():
    with pytest.raises(ArgumentError, match="unknown kvstore 'foo'; there are device, local"):
        sparse_module(kvstore="foo")
    with pytest.raises(ArgumentTypeError, match=r"optimizer_params: expected a dict or pairs .* got 0\.1"):
        sparse_module(optimizer_params=0.1)


def test_states_of_another_kind_are_refused(tmp_path):
    alone, stored = sparse_module(), sparse_module(kvstore=mx.kv.create("local"))
    path = str(tmp_path / "states")
    stored.save_optimizer_states(path)
    with pytest.raises(
        FileFormatError, match="shard states.*wanted 'ndsparse updater states'.*sparse_row_id_fn again"
    ):
        alone.load_optimizer_states(path)
    other = sparse_module(kvstore=mx.kv.create("local"), optimizer="adam")
    with pytest.raises(FileFormatError, match="states of the optimizer 'sgd', this one is 'adam'"):
        other.load_optimizer_states(path)
    alone.save_optimizer_states(path)
    with pytest.raises(FileFormatError, match="updater states.*wanted 'ndsparse shard states'.*kvstore=None"):
        stored.load_optimizer_states(path)
