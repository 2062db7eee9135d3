"""Module: order of calls, shapes, parameters, several contexts, callbacks."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import ndsparse as mx
from ndsparse.errors import ArgumentError, ArgumentTypeError, ShapeError
from ndsparse.module.executor_group import KEPT_SIZES, split_rows


def network(hidden=3):
    data = mx.sym.Variable("data")
    fc = mx.sym.FullyConnected(data, num_hidden=hidden, name="fc")
    return mx.sym.SoftmaxOutput(fc, mx.sym.Variable("softmax_label"), name="softmax")


def linear():
    data = mx.sym.Variable("data")
    fc = mx.sym.FullyConnected(data, num_hidden=1, name="fc")
    return mx.sym.LinearRegressionOutput(fc, mx.sym.Variable("label"), name="out")


def bound(symbol=None, rows=4, context=None, **kwargs):
    mod = mx.mod.Module(symbol or network(), context=context)
    mod.bind([("data", (rows, 5))], [("softmax_label", (rows,))], **kwargs)
    mod.init_params(mx.init.Xavier())
    return mod


def a_batch(rows=4, seed=0, labels=True):
    rng = np.random.default_rng(seed)
    data = mx.nd.array(rng.normal(size=(rows, 5)).astype(np.float32))
    label = [mx.nd.array(rng.integers(0, 3, rows).astype(np.float32))] if labels else None
    return mx.io.DataBatch([data], label)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def expected(mod, batch):
    args, _ = mod.get_params()
    return softmax(batch.data[0].asnumpy() @ args["fc_weight"].asnumpy().T + args["fc_bias"].asnumpy())


def test_names_and_shapes():
    mod = bound()
    assert mod.data_names == ["data"]
    assert mod.label_names == ["softmax_label"]
    assert mod.output_names == ["softmax_output"]
    assert mod.data_shapes == [("data", (4, 5))]
    assert mod.label_shapes == [("softmax_label", (4,))]
    assert mod.output_shapes == [("softmax_output", (4, 3))]
    args, aux = mod.get_params()
    assert {k: v.shape for k, v in args.items()} == {"fc_weight": (3, 5), "fc_bias": (3,)}
    assert aux == {}


def test_calls_out_of_order_are_refused():
    mod = mx.mod.Module(network())
    for call in (
        mod.init_params, mod.get_params, lambda: mod.forward(a_batch()), lambda: mod.data_shapes,
        lambda: mod.prepare(a_batch()),
    ):  # fmt: skip
        with pytest.raises(mx.mod.ModuleStateError, match=r"call bind\(\) first"):
            call()
    mod.bind([("data", (4, 5))], [("softmax_label", (4,))])
    with pytest.raises(mx.mod.ModuleStateError, match=r"call init_params\(\) first"):
        mod.init_optimizer()
    mod.init_params()
    with pytest.raises(mx.mod.ModuleStateError, match=r"call init_optimizer\(\) first"):
        mod.update()
    with pytest.raises(ArgumentError, match="inputs_need_grad"):
        mod.get_input_grads()


def test_wrong_names_are_refused():
    with pytest.raises(ArgumentError, match="'x' is not found"):
        mx.mod.Module(network(), data_names=["x"])
    with pytest.raises(ArgumentError, match="fixed_param_names"):
        mx.mod.Module(network(), fixed_param_names=["nothing"])
    with pytest.warns(UserWarning, match="Did you mean one of: data, softmax_label"):
        mx.mod.Module(network(), label_names=["label"])
    mx.mod.Module(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2))  # the default may be missing
    with pytest.raises(ArgumentError, match="don't match names specified by data_names"):
        mx.mod.Module(network()).bind([("x", (4, 5))])
    with pytest.raises(ArgumentTypeError, match="Symbol"):
        mx.mod.Module("net")


def test_forward_backward_update_by_hand():
    mod = bound(grad_req="write", inputs_need_grad=True)
    batch = a_batch()
    before, _ = mod.get_params()
    wanted = expected(mod, batch)
    mod.init_optimizer(None, "sgd", {"learning_rate": 0.5})
    mod.forward_backward(batch)
    np.testing.assert_allclose(mod.get_outputs()[0].asnumpy(), wanted, rtol=1e-5)
    error = wanted - np.eye(3)[batch.label[0].asnumpy().astype(int)]
    np.testing.assert_allclose(
        mod.get_input_grads()[0].asnumpy(), error @ before["fc_weight"].asnumpy(), rtol=1e-4, atol=1e-6
    )
    mod.update()
    after, _ = mod.get_params()
    step = 0.5 / 4 * error.T @ batch.data[0].asnumpy()
    np.testing.assert_allclose(
        after["fc_weight"].asnumpy(), before["fc_weight"].asnumpy() - step, rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(
        after["fc_bias"].asnumpy(), before["fc_bias"].asnumpy() - 0.5 / 4 * error.sum(0), rtol=1e-4, atol=1e-6
    )


def test_parameters_that_were_got_do_not_change():
    mod = bound()
    mod.init_optimizer(None, "sgd", {"learning_rate": 1.0})
    before, _ = mod.get_params()
    copy = before["fc_weight"].asnumpy()
    mod.forward_backward(a_batch())
    mod.update()
    np.testing.assert_array_equal(before["fc_weight"].asnumpy(), copy)
    assert not np.array_equal(mod.get_params()[0]["fc_weight"].asnumpy(), copy)


@pytest.mark.parametrize("count", [2, 3])
def test_contexts_share_the_rows(count):
    mx.random.seed(3)
    one = bound(rows=6)
    several = bound(rows=6, context=[mx.cpu(i) for i in range(count)], inputs_need_grad=True)
    several.set_params(*one.get_params())
    for mod, store in ((one, None), (several, "local")):
        mod.init_optimizer(store, "sgd", {"learning_rate": 0.5, "momentum": 0.9})
    for seed, rows in enumerate([6, 6, 5, 1, 6]):
        batch = a_batch(rows, seed)
        for mod in (one, several):
            mod.forward_backward(batch)
            mod.update()
        np.testing.assert_allclose(
            several.get_outputs()[0].asnumpy(), one.get_outputs()[0].asnumpy(), rtol=1e-4, atol=1e-6
        )
    assert several.get_input_grads()[0].shape == (6, 5)
    parts = several.get_outputs(merge_multi_context=False)
    assert [len(p) for p in parts] == [count]
    scores = mx.metric.create("acc")
    several.update_metric(
        scores, [[b] for b in np.array_split(batch.label[0].asnumpy(), count)], pre_sliced=True
    )
    whole = mx.metric.create("acc")
    several.update_metric(whole, batch.label)
    assert scores.get() == whole.get()
    for name, value in one.get_params()[0].items():
        np.testing.assert_allclose(
            several.get_params()[0][name].asnumpy(), value.asnumpy(), rtol=1e-4, atol=1e-6
        )


def test_gradients_are_summed_by_a_store_that_does_not_update(monkeypatch):
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "0")
    mx.random.seed(3)
    one = bound(rows=6)
    two = bound(rows=6, context=[mx.cpu(0), mx.cpu(1)])
    two.set_params(*one.get_params())
    for mod, store in ((one, None), (two, "local")):
        mod.init_optimizer(store, "adam", {"learning_rate": 0.1})
        for seed in range(3):
            mod.forward_backward(a_batch(6, seed))
            mod.update()
    for name, value in one.get_params()[0].items():
        np.testing.assert_allclose(two.get_params()[0][name].asnumpy(), value.asnumpy(), rtol=1e-4, atol=1e-6)


def test_several_contexts_need_a_store_and_enough_rows():
    mod = bound(context=[mx.cpu(0), mx.cpu(1)])
    with pytest.raises(ArgumentError, match="need a kvstore"):
        mod.init_optimizer(None)
    with pytest.raises(ArgumentTypeError, match="kvstore"):
        mod.init_optimizer(3)
    with pytest.raises(ArgumentError, match="does not fill 3 contexts"):
        bound(rows=2, context=[mx.cpu(i) for i in range(3)])


@pytest.mark.parametrize(("rows", "parts"), [(5, 2), (6, 3), (1, 4), (7, 4), (0, 2)])
def test_rows_are_split_evenly(rows, parts):
    found = split_rows(rows, parts)
    sizes = [s.stop - s.start for s in found]
    assert sum(sizes) == rows
    assert rows == 0 or min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1
    assert len(found) == max(1, min(rows, parts))


def test_batches_of_other_sizes_reuse_executors():
    mod = bound()
    group = mod._executors
    for _ in range(2):
        for rows in (4, 2, 4, 3, 2):
            batch = a_batch(rows)
            mod.forward(batch)
            np.testing.assert_allclose(mod.get_outputs()[0].asnumpy(), expected(mod, batch), rtol=1e-5)
            assert mod.data_shapes[0].shape == (rows, 5)
    assert len(group._sizes) == 3
    for rows in range(5, 15):
        mod.forward(a_batch(rows))
    assert len(group._sizes) <= KEPT_SIZES + 1
    mod.forward(a_batch(4))
    assert group.active is group.bound


def test_batches_without_labels_are_predicted():
    mod = bound()
    for rows in (4, 3):
        batch = a_batch(rows, labels=False)
        mod.forward(batch, is_train=False)
        np.testing.assert_allclose(mod.get_outputs()[0].asnumpy(), expected(mod, batch), rtol=1e-5)


def test_batches_that_do_not_fit_are_refused():
    mod = bound()
    batch = a_batch()
    with pytest.raises(ArgumentError, match="2 data arrays"):
        mod.forward(mx.io.DataBatch([batch.data[0], batch.data[0]], batch.label))
    with pytest.raises(ShapeError):
        mod.forward(mx.io.DataBatch([mx.nd.ones((4, 6))], batch.label))
    mod.forward(batch)  # still works
    np.testing.assert_allclose(mod.get_outputs()[0].asnumpy(), expected(mod, batch), rtol=1e-5)


def test_init_params_rules(caplog):
    mod = bound()
    args, _ = mod.get_params()
    with caplog.at_level(logging.WARNING):
        mod.init_params(mx.init.One())
    assert "init_params call ignored" in caplog.text
    np.testing.assert_array_equal(mod.get_params()[0]["fc_weight"].asnumpy(), args["fc_weight"].asnumpy())
    mod.init_params(mx.init.One(), force_init=True)
    assert (mod.get_params()[0]["fc_weight"].asnumpy() == 1).all()
    with pytest.raises(ArgumentError, match="fc_bias is not presented"):
        mod.init_params(arg_params={"fc_weight": args["fc_weight"]}, force_init=True)
    mod.init_params(mx.init.One(), {"fc_weight": args["fc_weight"]}, allow_missing=True, force_init=True)
    np.testing.assert_array_equal(mod.get_params()[0]["fc_weight"].asnumpy(), args["fc_weight"].asnumpy())
    with pytest.raises(ArgumentError, match="no parameter 'extra'"):
        mod.set_params({**args, "extra": mx.nd.ones(1)}, {})
    mod.set_params({**args, "extra": mx.nd.ones(1)}, {}, allow_extra=True)
    mod.set_params({"fc_bias": mx.nd.array([1, 2, 3])}, {}, allow_missing=True)
    found, _ = mod.get_params()
    assert found["fc_bias"].asnumpy().tolist() == [1, 2, 3]
    np.testing.assert_array_equal(found["fc_weight"].asnumpy(), args["fc_weight"].asnumpy())
    with pytest.raises(ShapeError):
        mod.set_params({**args, "fc_bias": mx.nd.ones(4)}, {})
    with pytest.raises(ArgumentTypeError, match="fc_bias"):
        mod.set_params({**args, "fc_bias": [1, 2, 3]}, {})


def test_rebinding_keeps_the_parameters(caplog):
    mod = bound()
    mod.init_optimizer(None, "sgd")
    mod.forward_backward(a_batch())
    mod.update()
    args, _ = mod.get_params()
    with caplog.at_level(logging.WARNING):
        mod.bind([("data", (2, 5))])
    assert "Already bound" in caplog.text
    mod.bind([("data", (2, 5))], [("softmax_label", (2,))], force_rebind=True)
    assert mod.data_shapes == [("data", (2, 5))]
    batch = a_batch(2)
    mod.forward_backward(batch)
    np.testing.assert_array_equal(mod.get_params()[0]["fc_weight"].asnumpy(), args["fc_weight"].asnumpy())
    mod.update()


def test_modules_share_parameters():
    first = bound()
    first.init_optimizer(None, "sgd", {"learning_rate": 0.5})
    second = mx.mod.Module(network())
    second.bind([("data", (2, 5))], [("softmax_label", (2,))], shared_module=first)
    second.get_params()
    for mod, rows in ((first, 4), (second, 2), (first, 4)):
        batch = a_batch(rows)
        mod.forward_backward(batch)
        mod.update()
        for name in ("fc_weight", "fc_bias"):
            a, b = (m.get_params()[0][name].asnumpy() for m in (first, second))
            np.testing.assert_array_equal(a, b)


def test_fixed_parameters_and_requests():
    mod = mx.mod.Module(network(), fixed_param_names=["fc_bias"])
    mod.bind([("data", (4, 5))], [("softmax_label", (4,))], grad_req={"fc_weight": "add", "fc_bias": "write"})
    mod.init_params(mx.init.Xavier())
    mod.init_optimizer(None)
    before, _ = mod.get_params()
    mod.forward_backward(a_batch())
    exe = mod._executors.bound[0]
    once = exe.grad_dict["fc_weight"].asnumpy()
    mod.forward_backward(a_batch())
    np.testing.assert_allclose(exe.grad_dict["fc_weight"].asnumpy(), 2 * once, rtol=1e-6)
    assert exe.grad_dict["fc_bias"] is None
    mod.update()
    np.testing.assert_array_equal(mod.get_params()[0]["fc_bias"].asnumpy(), before["fc_bias"].asnumpy())
    with pytest.raises(ArgumentError, match="for_training"):
        mx.mod.Module(network()).bind([("data", (4, 5))], for_training=False, inputs_need_grad=True)


def test_states_are_set_by_hand():
    data, state = mx.sym.Variable("data"), mx.sym.Variable("state", shape=(4, 5))
    mod = mx.mod.Module(data + state, state_names=["state"])
    mod.bind([("data", (4, 5))], for_training=False)
    mod.init_params()
    mod.set_states(value=2)
    assert mod.get_states()[0].asnumpy().tolist() == [[2] * 5] * 4
    batch = a_batch(labels=False)
    mod.forward(batch)
    np.testing.assert_allclose(mod.get_outputs()[0].asnumpy(), batch.data[0].asnumpy() + 2, rtol=1e-6)
    mod.set_states(states=[mx.nd.ones((4, 5))])
    assert mod.get_states()[0].asnumpy().tolist() == [[1] * 5] * 4


# -- fit, score, predict ------------------------------------------------------------------------------------


@pytest.fixture
def line():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(90, 5)).astype(np.float32)
    y = (x @ [1, -2, 3, 0, 0.5] + 1).astype(np.float32)[:, None]
    return mx.io.NDArrayIter(x, {"label": y}, 20, last_batch_handle="pad")


def fitted(data, epochs=20, **kwargs):
    mx.random.seed(1)
    mod = mx.mod.Module(linear(), label_names=["label"])
    mod.fit(data, eval_metric="mse", optimizer_params={"learning_rate": 0.2}, num_epoch=epochs, **kwargs)
    return mod


def test_fit_finds_the_line(line):
    mod = fitted(line)
    args, _ = mod.get_params()
    np.testing.assert_allclose(args["fc_weight"].asnumpy(), [[1, -2, 3, 0, 0.5]], atol=1e-2)
    np.testing.assert_allclose(args["fc_bias"].asnumpy(), [1], atol=1e-2)
    assert dict(mod.score(line, "mse"))["mse"] < 1e-3
    found = mod.predict(line)
    assert found.shape == (90, 1)
    parts = mod.predict(line, num_batch=2, merge_batches=False)
    assert [[o.shape for o in p] for p in parts] == [[(20, 1)], [(20, 1)]]
    (listed,) = mod.predict(line, always_output_list=True)
    np.testing.assert_array_equal(listed.asnumpy(), found.asnumpy())
    sizes = [outputs[0].shape[0] for outputs, _, _ in mod.iter_predict(line)]
    assert sizes == [20, 20, 20, 20, 10]
    one = mod.predict(np.zeros((3, 5), np.float32))
    np.testing.assert_allclose(one.asnumpy(), [[1]] * 3, atol=1e-2)
    again = mod.predict(mx.nd.zeros((2, 5)))
    np.testing.assert_allclose(again.asnumpy(), [[1]] * 2, atol=1e-2)


def test_fit_calls_back(line, caplog, tmp_path):
    seen = []
    prefix = str(tmp_path / "line")
    with caplog.at_level(logging.INFO):
        mod = fitted(
            line,
            epochs=2,
            eval_data=line,
            validation_metric="mae",
            batch_end_callback=[
                lambda p: seen.append((p.epoch, p.nbatch, p.eval_metric.get()[0], "self" in p.locals))
            ],
            epoch_end_callback=[
                mx.callback.do_checkpoint(prefix),
                lambda epoch, sym, arg, aux: seen.append((epoch, sorted(arg))),
            ],
            eval_batch_end_callback=lambda p: seen.append(("batch", p.nbatch)),
            eval_end_callback=mx.callback.LogValidationMetricsCallback(),
        )  # fmt: skip
    epoch = [(0, n, "mse", True) for n in range(5)]
    assert seen[:5] == epoch
    assert seen[5] == (0, ["fc_bias", "fc_weight"])
    assert seen[6:11] == [("batch", n) for n in range(5)]
    for text in ("Epoch[0] Train-mse=", "Epoch[1] Time cost=", "Epoch[1] Validation-mae="):
        assert text in caplog.text
    symbol, args, _ = mx.model.load_checkpoint(prefix, 2)
    assert symbol.list_outputs() == ["out_output"]
    np.testing.assert_array_equal(args["fc_weight"].asnumpy(), mod.get_params()[0]["fc_weight"].asnumpy())
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "line-0001.params",
        "line-0002.params",
        "line-symbol.json",
    ]


def test_fit_goes_on_and_takes_first_values(line):
    whole = fitted(line, epochs=4)
    parts = fitted(line, epochs=2)
    parts.fit(line, eval_metric="mse", begin_epoch=2, num_epoch=4)
    for name, value in whole.get_params()[0].items():
        np.testing.assert_array_equal(parts.get_params()[0][name].asnumpy(), value.asnumpy())
    given = {"fc_weight": mx.nd.ones((1, 5)), "fc_bias": mx.nd.zeros(1)}
    start = fitted(line, epochs=0, arg_params=given)
    assert start.get_params()[0]["fc_weight"].asnumpy().tolist() == [[1] * 5]
    with pytest.raises(ArgumentTypeError, match="num_epoch"):
        start.fit(line)


def test_an_optimizer_object_is_used_as_it_is(line, caplog):
    sgd = mx.optimizer.create("sgd", learning_rate=0.2)
    with caplog.at_level(logging.WARNING):
        fitted(line, epochs=1, optimizer=sgd)
    assert "rescale_grad is not normalized" in caplog.text
    assert sgd.num_update == 5
    assert sgd.idx2name == {0: "fc_weight", 1: "fc_bias"}
    with pytest.raises(ArgumentTypeError, match="optimizer"):
        fitted(line, epochs=1, optimizer=3)


def test_a_monitor_watches(line, caplog):
    monitor = mx.mon.Monitor(2, pattern=".*(output|weight)$", sort=True)
    with caplog.at_level(logging.INFO):
        fitted(line, epochs=1, monitor=monitor)
    lines = [r.getMessage() for r in caplog.records if r.getMessage().startswith("Batch:")]
    assert any("fc_output" in text for text in lines)
    assert any("fc_weight" in text for text in lines)
    assert {int(text.split()[1]) for text in lines} == {1, 3, 5}


def test_module_checkpoints(line, tmp_path):
    mod = fitted(line, epochs=1)
    save = mx.callback.module_checkpoint(mod, str(tmp_path / "m"), period=2, save_optimizer_states=True)
    save(0)
    assert not list(tmp_path.iterdir())
    save(1)
    names = ["m-0002.params", "m-0002.states", "m-symbol.json"]
    assert sorted(p.name for p in tmp_path.iterdir()) == names
    mod.save_params(tmp_path / "p")
    before, _ = mod.get_params()
    mod.init_params(mx.init.Zero(), force_init=True)
    mod.load_params(tmp_path / "p")
    np.testing.assert_array_equal(mod.get_params()[0]["fc_weight"].asnumpy(), before["fc_weight"].asnumpy())
