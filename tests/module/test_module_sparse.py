"""Sparse logistic regression through Module, against plain numpy and against itself in other set-ups."""

from __future__ import annotations

import logging
import tracemalloc

import numpy as np
import pytest

import ndsparse as mx
from ndsparse.errors import ArgumentError, ArgumentTypeError

ROWS, WIDTH, BATCH = 60, 40, 20


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    dense = (rng.random((ROWS, WIDTH)) < 0.1) * rng.normal(1, 0.3, (ROWS, WIDTH))
    labels = (dense @ rng.normal(size=WIDTH) + 0.2 > 0).astype(np.float32)
    return dense.astype(np.float32), labels[:, None]


def network(stype="row_sparse", width=WIDTH):
    x = mx.sym.Variable("data", stype="csr")
    w = mx.sym.Variable("w", shape=(width, 1), stype=stype, init=mx.init.Normal(0.1))
    b = mx.sym.Variable("b", shape=(1,), init=mx.init.Zero())
    score = mx.sym.broadcast_add(mx.sym.sparse.dot(x, w), b)
    return mx.sym.LogisticRegressionOutput(score, mx.sym.Variable("label"), name="late")


def batches(data, size=BATCH, **kwargs):
    features = mx.nd.array(data[0]).tostype("csr")
    return mx.io.NDArrayIter(features, {"label": data[1]}, size, last_batch_handle="discard", **kwargs)


def touched(batch):
    return {"w": batch.data[0].indices}


def trained(data, optimizer="sgd", symbol=None, context=None, epochs=3, **kwargs):
    mx.random.seed(7)
    mod = mx.mod.Module(network() if symbol is None else symbol, label_names=["label"], context=context)
    numbers = {"learning_rate": 0.3, **kwargs.pop("optimizer_params", {})}
    mod.fit(
        batches(data), eval_metric=kwargs.pop("eval_metric", "logloss"), optimizer=optimizer,
        optimizer_params=numbers, num_epoch=epochs, **kwargs,
    )  # fmt: skip
    return mod


def first_weights():
    """Return the weights that training begins with."""
    mx.random.seed(7)
    w = mx.nd.zeros((WIDTH, 1))
    mx.init.Normal(0.1)("w_weight", w)
    return w.asnumpy().astype(np.float64)


def sgd_by_hand(data, rate=0.3, epochs=3):
    x, y = (a.astype(np.float64) for a in data)
    w, b = first_weights(), np.zeros(1)
    for _ in range(epochs):
        for i in range(0, ROWS, BATCH):
            rows = slice(i, i + BATCH)
            error = 1 / (1 + np.exp(-(x[rows] @ w + b))) - y[rows]
            w -= rate * x[rows].T @ error / BATCH
            b -= rate * error.sum() / BATCH
    return w, b


def adagrad_by_hand(data, rate=0.3, epochs=3, eps=1e-7):
    x, y = (a.astype(np.float64) for a in data)
    w, b = first_weights(), np.zeros(1)
    hw, hb = np.zeros_like(w), np.zeros(1)
    for _ in range(epochs):
        for i in range(0, ROWS, BATCH):
            rows = slice(i, i + BATCH)
            error = 1 / (1 + np.exp(-(x[rows] @ w + b))) - y[rows]
            for weight, history, grad in (
                (w, hw, x[rows].T @ error / BATCH), (b, hb, error.sum(0) / BATCH)
            ):  # fmt: skip
                history += grad**2
                weight -= rate * grad / np.sqrt(history + eps)
    return w, b


@pytest.mark.parametrize("store", [None, "local", "object"])
@pytest.mark.parametrize(("optimizer", "by_hand"), [("sgd", sgd_by_hand), ("adagrad", adagrad_by_hand)])
def test_training_gives_the_numbers_of_plain_numpy(data, store, optimizer, by_hand):
    kvstore = mx.kv.create("local") if store == "object" else store
    mod = trained(data, optimizer, kvstore=kvstore, sparse_row_id_fn=touched)
    args, aux = mod.get_params()
    assert args["w"].stype == "row_sparse"
    assert aux == {}
    w, b = by_hand(data)
    np.testing.assert_allclose(args["w"].asnumpy(), w, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(args["b"].asnumpy(), b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "adam", "ftrl"])
def test_all_set_ups_give_the_same(data, optimizer):
    wanted = trained(data, optimizer, kvstore=None).get_params()[0]
    two = [mx.cpu(0), mx.cpu(1)]
    others = {
        "store": trained(data, optimizer, kvstore="local", sparse_row_id_fn=touched),
        "no store": trained(data, optimizer, kvstore="local"),
        "without row ids": trained(data, optimizer, kvstore=mx.kv.create("device")),
        "two contexts": trained(data, optimizer, sparse_row_id_fn=touched, context=two),
        "two contexts, no ids": trained(data, optimizer, context=two),
    }
    for name, mod in others.items():
        for key, value in mod.get_params()[0].items():
            np.testing.assert_allclose(
                value.asnumpy(), wanted[key].asnumpy(), rtol=2e-4, atol=2e-6, err_msg=f"{name}: {key}"
            )


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_dense_weight_with_sparse_gradients_gives_the_same(data, optimizer):
    numbers = {"lazy_update": False}
    sparse = trained(data, optimizer, sparse_row_id_fn=touched, optimizer_params=numbers).get_params()[0]
    for kvstore in (None, mx.kv.create("local")):
        dense = trained(
            data, optimizer, network("default"), kvstore=kvstore, optimizer_params=numbers
        ).get_params()[0]
        assert dense["w"].stype == "default"
        np.testing.assert_allclose(dense["w"].asnumpy(), sparse["w"].asnumpy(), rtol=1e-4, atol=1e-6)


def test_momentum_and_multipliers_reach_the_store(data):
    x = mx.sym.Variable("data", stype="csr")
    w = mx.sym.Variable(
        "w_weight", shape=(WIDTH, 1), stype="row_sparse", lr_mult=0.5, init=mx.init.Normal(0.1)
    )
    net = mx.sym.LogisticRegressionOutput(mx.sym.sparse.dot(x, w), mx.sym.Variable("label"))
    ids = lambda batch: {"w_weight": batch.data[0].indices}  # noqa: E731
    numbers = {"momentum": 0.9, "wd": 0.01, "lazy_update": False}
    found = [
        trained(data, "sgd", net, kvstore=kv, sparse_row_id_fn=ids, optimizer_params=numbers)
        for kv in (None, "local")
    ]
    weights = [mod.get_params()[0]["w_weight"].asnumpy() for mod in found]
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-5, atol=1e-7)
    doubled = trained(
        data, "sgd", net, sparse_row_id_fn=ids, optimizer_params={**numbers, "learning_rate": 0.6}
    )
    assert not np.allclose(doubled.get_params()[0]["w_weight"].asnumpy(), weights[0], rtol=1e-3)


# -- rows -------------------------------------------------------------------------------------------------


def bound_with_store(data, width=WIDTH):
    mod = mx.mod.Module(network(width=width), label_names=["label"])
    it = batches(data)
    mod.bind(it.provide_data, it.provide_label)
    mx.random.seed(7)
    mod.init_params(mx.init.Zero())
    mod.init_optimizer(mx.kv.create("local"), "sgd")
    return mod, it


def executor_array(mod, name="w"):
    return mod._executors.bound[0].arg_dict[name]


def test_prepare_brings_the_rows_of_the_batch_and_no_others(data):
    mod, it = bound_with_store(data)
    assert executor_array(mod).indices.shape == (0,)
    for batch in it:
        mod.prepare(batch, sparse_row_id_fn=touched)
        rows = np.unique(batch.data[0].indices.asnumpy())
        np.testing.assert_array_equal(executor_array(mod).indices.asnumpy(), rows)
        assert 0 < len(rows) < WIDTH
        mod.forward_backward(batch)
        mod.update()


def test_a_step_without_prepare_is_right_and_says_so_once(data, caplog):
    mod, it = bound_with_store(data)
    with caplog.at_level(logging.WARNING):
        for batch in it:
            mod.forward_backward(batch)
            mod.update()
    assert sum("no rows were prepared" in r.message for r in caplog.records) == 1
    other, it = bound_with_store(data)
    for batch in it:
        other.prepare(batch, touched)
        other.forward_backward(batch)
        other.update()
    np.testing.assert_array_equal(mod.get_params()[0]["w"].asnumpy(), other.get_params()[0]["w"].asnumpy())


def test_rows_prepared_for_one_batch_are_not_used_for_another(data):
    mod, it = bound_with_store(data)
    first, second, _ = list(it)
    mod.prepare(first, touched)
    mod.forward_backward(first)
    mod.update()
    mod.prepare(first, touched)
    mod.forward(second, is_train=False)
    whole = mod.get_params()[0]
    score = second.data[0].asnumpy() @ whole["w"].asnumpy() + whole["b"].asnumpy()
    np.testing.assert_allclose(mod.get_outputs()[0].asnumpy(), 1 / (1 + np.exp(-score)), rtol=1e-5)


def test_all_rows_may_be_prepared_for_whatever_comes(data, caplog):
    mod, it = bound_with_store(data)
    mod.prepare(None, sparse_row_id_fn=lambda batch: {"w": mx.nd.arange(0, WIDTH, dtype="int64")})
    with caplog.at_level(logging.WARNING):
        found = mod.predict(it)
    assert not caplog.records
    whole = mod.get_params()[0]
    score = data[0] @ whole["w"].asnumpy() + whole["b"].asnumpy()
    np.testing.assert_allclose(found.asnumpy(), 1 / (1 + np.exp(-score)), rtol=1e-5)


def test_steps_copy_nothing_of_the_size_of_the_weight():
    width = 3_000_000
    x = mx.nd.sparse.csr_matrix(
        (np.ones(4, np.float32), np.array([1, 7, 7, width - 1]), np.array([0, 1, 2, 3, 4])), shape=(4, width)
    )
    it = mx.io.NDArrayIter(x, {"label": np.ones((4, 1), np.float32)}, 2, last_batch_handle="discard")
    mod = mx.mod.Module(network(width=width), label_names=["label"])
    mod.bind(it.provide_data, it.provide_label)
    mod.init_params(mx.init.Zero(), arg_params={"w": mx.nd.zeros((width, 1), stype="row_sparse")},
                    allow_missing=True)  # fmt: skip
    mod.init_optimizer(mx.kv.create("local"), "adagrad")
    for epoch in range(3):
        it.reset()
        if epoch == 1:  # the store has made room for rows by now
            tracemalloc.start()
        for batch in it:
            mod.prepare(batch, touched)
            mod.forward_backward(batch)
            mod.update()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < width // 10
    weight = mod.get_params()[0]["w"]
    assert weight.indices.asnumpy().tolist() == [1, 7, width - 1]


@pytest.mark.parametrize("kvstore", ["local", None])
def test_a_weight_of_five_billion_rows_costs_the_rows_it_touched(tmp_path, kvstore):
    width = 5_000_000_000
    columns = np.array([1, 7, 7, width - 1])
    x = mx.nd.sparse.csr_matrix((np.ones(4, np.float32), columns, np.arange(5)), shape=(4, width))
    it = mx.io.NDArrayIter(x, {"label": np.ones((4, 1), np.float32)}, 2, last_batch_handle="discard")
    data = mx.sym.Variable("data", stype="csr")
    w = mx.sym.Variable("w", shape=(width, 1), stype="row_sparse", init=mx.init.Zero())
    net = mx.sym.LogisticRegressionOutput(mx.sym.sparse.dot(data, w), mx.sym.Variable("label"))
    mod = mx.mod.Module(net, label_names=["label"])
    mod.fit(it, eval_metric="logloss", kvstore=kvstore, num_epoch=2, sparse_row_id_fn=touched,
            optimizer="adagrad", optimizer_params={"learning_rate": 1.0, "rescale_grad": 1.0})  # fmt: skip
    mod.save_checkpoint(tmp_path / "m", 2)
    _, args, _ = mx.model.load_checkpoint(tmp_path / "m", 2)
    assert args["w"].shape == (width, 1)
    assert args["w"].indices.asnumpy().tolist() == [1, 7, width - 1]
    # The first step of AdaGrad is the learning rate; row 7 is met twice in an epoch.
    first, seventh, last = args["w"].data.asnumpy().ravel()
    assert first == last
    assert 1 < first < seventh


def test_what_a_row_id_function_may_not_return(data, caplog):
    mod, it = bound_with_store(data)
    batch = next(it)
    with pytest.raises(ArgumentTypeError, match="dict of row ids"):
        mod.prepare(batch, lambda b: [1])
    with pytest.raises(ArgumentError, match="no parameter 'v'"):
        mod.prepare(batch, lambda b: {"v": mx.nd.array([1])})
    with caplog.at_level(logging.WARNING):
        mod.prepare(batch, lambda b: {"b": mx.nd.array([0])})
    assert "b is not row_sparse" in caplog.text


def test_set_params_reaches_the_store(data):
    mod, it = bound_with_store(data)
    new = {"w": mx.nd.ones((WIDTH, 1)), "b": mx.nd.array([2])}
    mod.set_params(new, {})
    batch = next(it)
    mod.prepare(batch, touched)
    mod.forward(batch, is_train=False)
    score = batch.data[0].asnumpy().sum(axis=1, keepdims=True) + 2
    np.testing.assert_allclose(mod.get_outputs()[0].asnumpy(), 1 / (1 + np.exp(-score)), rtol=1e-5)
    args, _ = mod.get_params()
    assert args["w"].asnumpy().tolist() == [[1]] * WIDTH


# -- checkpoints --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kvstore", [None, "local"])
@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "adam"])
def test_a_checkpoint_gives_the_same_predictions_and_goes_on_alike(data, tmp_path, kvstore, optimizer):
    prefix = str(tmp_path / "model")
    mod = trained(data, optimizer, kvstore=kvstore, sparse_row_id_fn=touched, epochs=2)
    mod.save_checkpoint(prefix, 2, save_optimizer_states=True)
    names = ["model-0002.params", "model-0002.states", "model-symbol.json"]
    assert sorted(p.name for p in tmp_path.iterdir()) == names
    again = mx.mod.Module.load(prefix, 2, load_optimizer_states=True, label_names=["label"])
    it = batches(data)
    again.bind(it.provide_data, it.provide_label)
    wanted = mod.predict(it, sparse_row_id_fn=touched).asnumpy()
    np.testing.assert_array_equal(again.predict(it).asnumpy(), wanted)
    for module in (mod, again):
        module.fit(
            it, eval_metric="logloss", kvstore=kvstore, optimizer=optimizer, num_epoch=4, begin_epoch=2,
            optimizer_params={"learning_rate": 0.3}, sparse_row_id_fn=touched,
        )  # fmt: skip
    for name, value in mod.get_params()[0].items():
        np.testing.assert_array_equal(again.get_params()[0][name].asnumpy(), value.asnumpy())


def test_parameters_in_the_format_of_mxnet_are_loaded(data, tmp_path):
    mod = trained(data, epochs=1)
    args, aux = mod.get_params()
    mx.model.save_checkpoint(tmp_path / "m", 1, mod.symbol, args, aux, format="mxnet")
    symbol, found, _ = mx.model.load_checkpoint(tmp_path / "m", 1)
    assert symbol.tojson() == mod.symbol.tojson()
    assert found["w"].stype == "row_sparse"
    np.testing.assert_array_equal(found["w"].asnumpy(), args["w"].asnumpy())


def test_scores_and_predictions_do_not_count_rows_that_fill_a_batch(data):
    mod = trained(data, sparse_row_id_fn=touched)
    features = mx.nd.array(data[0][:50]).tostype("csr")
    it = mx.io.NDArrayIter(features, {"label": data[1][:50]}, BATCH, last_batch_handle="pad")
    found = mod.predict(it, sparse_row_id_fn=touched)
    assert found.shape == (50, 1)
    args, _ = mod.get_params()
    score = data[0][:50] @ args["w"].asnumpy() + args["b"].asnumpy()
    np.testing.assert_allclose(found.asnumpy(), 1 / (1 + np.exp(-score)), rtol=1e-5)
    ((_, auc), (_, loss)) = mod.score(it, ["auc", "logloss"], sparse_row_id_fn=touched)
    whole = mx.metric.create(["auc", "logloss"])
    whole.update([mx.nd.array(data[1][:50])], [found])
    np.testing.assert_allclose([auc, loss], whole.get()[1], rtol=1e-6)


@pytest.mark.parametrize("around", [lambda i: i, mx.io.PrefetchingIter])
def test_iterators_that_wrap_are_scored_and_predicted_from_their_first_row(tmp_path, around):
    path = tmp_path / "seven.svm"
    path.write_text("".join(f"{i % 2} {i}:{i + 1}\n" for i in range(7)))
    rows = mx.io.LibSVMIter(path, (WIDTH,), batch_size=3, label_name="label")
    mod = mx.mod.Module(network(), label_names=["label"])
    mod.bind(rows.provide_data, [("label", (3, 1))], for_training=False)
    mod.init_params()
    weight = mod.get_params()[0]["w"].asnumpy()[:7, 0]
    wanted = 1 / (1 + np.exp(-weight * np.arange(1, 8)))
    data = around(rows)
    for _ in range(2):
        np.testing.assert_allclose(mod.predict(data).asnumpy()[:, 0], wanted, rtol=1e-5)
        assert [len(out[0]) for out, _, _ in mod.iter_predict(data)] == [3, 3, 1]


def test_rolled_over_rows_do_not_shift_predictions(data):
    mod = trained(data, epochs=1)
    rolling = mx.io.NDArrayIter(mx.nd.array(data[0]).tostype("csr"), None, 25, last_batch_handle="roll_over")
    first = mod.predict(rolling).asnumpy()
    assert first.shape == (50, 1)
    assert np.array_equal(mod.predict(rolling).asnumpy(), first)
