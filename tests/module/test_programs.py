"""Whole programs as MXNet's users write them, on a public data set."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import ndsparse as mx

FEATURES = 127


@pytest.fixture
def mushrooms(data_dir):
    def reader(name, batch_size):
        return mx.io.LibSVMIter(
            data_libsvm=str(data_dir / "libsvm" / name), data_shape=(FEATURES,), batch_size=batch_size
        )

    return lambda part: reader(f"agaricus.txt.{part}", 300)


def factorization_machine(factor_size, init):
    x = mx.symbol.Variable("data", stype="csr")
    v = mx.symbol.Variable("v", shape=(FEATURES, factor_size), stype="row_sparse", init=init)
    w = mx.symbol.var("w", shape=(FEATURES, 1), stype="row_sparse", init=init, lr_mult=1.0, wd_mult=1.0)
    w1_bias = mx.symbol.var("w1_bias", shape=(1,))
    w1 = mx.symbol.broadcast_add(mx.symbol.sparse.dot(x, w), w1_bias)
    v_s = mx.symbol._internal._square_sum(data=v, axis=1, keepdims=True)
    bd_sum = mx.sym.sparse.dot(mx.symbol.square(data=x), v_s)
    w2_squared = 0.5 * mx.symbol.square(data=mx.symbol.sparse.dot(x, v))
    w_all = mx.symbol.Concat(w1, w2_squared, dim=1)
    sum1 = mx.symbol.sum(data=w_all, axis=1, keepdims=True)
    model = mx.symbol.elemwise_add(sum1, -0.5 * bd_sum)
    return mx.symbol.LogisticRegressionOutput(data=model, label=mx.symbol.Variable("softmax_label"))


@pytest.mark.parametrize("kvstore", ["local", None])
def test_factorization_machine_in_a_loop(mushrooms, caplog, tmp_path, kvstore):
    train, test = mushrooms("train"), mushrooms("test")
    mx.random.seed(1)
    mod = mx.mod.Module(symbol=factorization_machine(4, mx.initializer.Normal(sigma=0.01)))
    mod.bind(data_shapes=train.provide_data, label_shapes=train.provide_label)
    mod.init_params()
    kv = mx.kv.create(kvstore) if kvstore else None
    numbers = (("learning_rate", 0.1), ("beta1", 0.9), ("beta2", 0.999), ("epsilon", 1e-8))
    mod.init_optimizer(optimizer="adam", kvstore=kv, optimizer_params=numbers)

    def log_loss(label, pred):
        pred = np.clip(pred.ravel(), 1e-7, 1 - 1e-7)
        return -np.mean(label * np.log(pred) + (1 - label) * np.log(1 - pred))

    metric = mx.metric.create(log_loss)
    speedometer = mx.callback.Speedometer(300, 10)

    def batch_row_ids(data_batch):
        idx = data_batch.data[0].indices
        return {"v": idx, "w": idx}

    with caplog.at_level(logging.INFO):
        for epoch in range(6):
            train.reset()
            metric.reset()
            for nbatch, batch in enumerate(train):
                mod.prepare(batch, sparse_row_id_fn=batch_row_ids)
                mod.forward_backward(batch)
                mod.update()
                mod.update_metric(metric, batch.label)
                speedometer(mx.model.BatchEndParam(epoch, nbatch, metric, locals()))
    assert "Speed:" in caplog.text
    found = dict(mod.score(test, ["auc", "logloss"], sparse_row_id_fn=batch_row_ids))
    assert found["auc"] > 0.999
    assert found["logloss"] < 0.03
    mod.save_checkpoint(str(tmp_path / "fm"), 6, save_optimizer_states=True)
    again = mx.mod.Module.load(str(tmp_path / "fm"), 6)
    again.bind(test.provide_data, for_training=False)
    # A new iterator each: after a batch that was filled up, this one goes on behind it.
    wanted = mod.predict(mushrooms("test"), sparse_row_id_fn=batch_row_ids)
    assert wanted.shape == (1611, 1)
    np.testing.assert_array_equal(again.predict(mushrooms("test")).asnumpy(), wanted.asnumpy())


def test_logistic_regression_with_two_classes_by_fit(mushrooms):
    train, test = mushrooms("train"), mushrooms("test")
    mx.random.seed(1)
    x = mx.symbol.Variable("data", stype="csr")
    weight = mx.symbol.Variable(
        "weight", shape=(FEATURES, 2), init=mx.initializer.Normal(sigma=0.01), stype="row_sparse"
    )
    bias = mx.symbol.Variable("bias", shape=(2,))
    pred = mx.symbol.broadcast_add(mx.symbol.sparse.dot(x, weight), bias)
    model = mx.symbol.SoftmaxOutput(data=pred, label=mx.symbol.Variable("softmax_label"), name="model")
    mod = mx.mod.Module(model, context=[mx.cpu(0), mx.cpu(1)])
    mod.fit(
        train, test, ["acc", "nll_loss"], optimizer="adagrad", optimizer_params={"learning_rate": 0.5},
        num_epoch=3, sparse_row_id_fn=lambda batch: {"weight": batch.data[0].indices},
    )  # fmt: skip
    found = dict(mod.score(test, ["acc", "f1", "auc", "logloss"]))
    assert found["accuracy"] > 0.99
    assert found["f1"] > 0.99
    assert found["auc"] > 0.999
    assert found["logloss"] < 0.03
