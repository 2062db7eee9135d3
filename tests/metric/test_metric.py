"""Metrics: values worked out by hand, oracles in plain numpy, and their bookkeeping."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndsparse import metric, nd
from ndsparse.errors import ArgumentError, ArgumentTypeError, IndexOutOfBounds, ShapeError
from ndsparse.metric import ranking


def value_of(name, *batches, **kwargs):
    found = metric.create(name, **kwargs)
    for label, pred in batches:
        found.update([exact(label)], [exact(pred)])
    return found.get()[1]


def exact(values):
    return nd.array(values, dtype=getattr(values, "dtype", None))


THREE = [[0.1, 0.7, 0.2], [0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.4, 0.35, 0.25]]


def test_accuracy():
    assert value_of("acc", ([1, 0, 0, 2], THREE)) == 0.5
    assert value_of("acc", ([1, 0], THREE[:2]), ([0, 2], THREE[2:])) == 0.5
    assert value_of("accuracy", ([1, 2, 3], [1, 2, 0])) == pytest.approx(2 / 3)
    assert value_of("acc", ([[0], [1]], [[[0.9, 0.1]], [[0.8, 0.2]]]), axis=2) == 0.5
    with pytest.raises(ShapeError, match="accuracy"):
        value_of("acc", ([1, 0], THREE))


def test_top_k_accuracy():
    assert value_of("top_k_accuracy", ([2, 1, 0, 2], THREE), top_k=2) == 0.5
    assert value_of("top_k_acc", ([2, 1, 0, 2], THREE), top_k=9) == 1
    assert metric.TopKAccuracy(3).get()[0] == "top_k_accuracy_3"
    with pytest.raises(ArgumentError, match="use Accuracy"):
        metric.TopKAccuracy(1)


TWO = [[0.3, 0.7], [0.6, 0.4], [0.2, 0.8], [0.9, 0.1], [0.4, 0.6]]  # predicts 1 0 1 0 1


def test_f1_and_mcc():
    # labels 1 1 0 0 1: tp 2, fp 1, fn 1, tn 1
    labels = [1, 1, 0, 0, 1]
    assert value_of("f1", (labels, TWO)) == pytest.approx(2 / 3)
    assert value_of("mcc", (labels, TWO)) == pytest.approx((2 * 1 - 1 * 1) / math.sqrt(3 * 3 * 2 * 2))
    column = [[row[1]] for row in TWO]
    assert value_of("f1", (labels, column)) == pytest.approx(2 / 3)
    halves = [(labels[:2], TWO[:2]), (labels[2:], TWO[2:])]
    # first half: tp 1 fn 1, F1 2/3; second: tp 1 fp 1 tn 1, F1 2/3
    assert value_of("f1", *halves) == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert value_of("f1", *halves, average="micro") == pytest.approx(2 / 3)
    assert value_of("mcc", *halves) == pytest.approx((0 + 1 / math.sqrt(2 * 1 * 2)) / 2)
    assert value_of("mcc", *halves, average="micro") == pytest.approx(1 / 6)
    assert value_of("f1", ([0, 0], TWO[:2])) == 0
    with pytest.raises(ArgumentError, match="binary"):
        value_of("f1", ([0, 2, 1], TWO[:3]))
    with pytest.raises(ArgumentError, match="average"):
        metric.F1(average="weighted")


def test_errors_are_averaged_over_batches():
    batches = [([1, 2], [2, 4]), ([0], [5])]
    assert value_of("mae", *batches) == pytest.approx((1.5 + 5) / 2)
    assert value_of("mse", *batches) == pytest.approx((2.5 + 25) / 2)
    assert value_of("rmse", *batches) == pytest.approx((math.sqrt(2.5) + 5) / 2)
    assert value_of("mse", ([1, 2], [[2], [4]])) == 2.5
    with pytest.raises(ShapeError, match="mse"):
        value_of("mse", ([[1, 2]], [[1], [2]]))


def test_pearson_correlation():
    rng = np.random.default_rng(0)
    x = rng.normal(size=50)
    y = 0.5 * x + rng.normal(size=50) + 1e6
    parts = [(x[:10], y[:10]), (x[10:], y[10:])]
    oracle = [np.corrcoef(a, b)[0, 1] for a, b in parts]
    assert value_of("pearsonr", *parts) == pytest.approx(np.mean(oracle), rel=1e-6)
    assert value_of("pearsonr", *parts, average="micro") == pytest.approx(np.corrcoef(x, y)[0, 1], rel=1e-6)
    assert math.isnan(value_of("pearsonr", ([1, 1], [1, 2])))


@pytest.mark.parametrize("name", ["ce", "nll_loss", "cross-entropy"])
def test_cross_entropy(name):
    wanted = -np.log([0.7, 0.5, 0.2]).mean()
    assert value_of(name, ([1, 0], THREE[:2]), ([0], THREE[2:3])) == pytest.approx(wanted, rel=1e-6)
    assert value_of(name, ([0], [[0.0, 1.0]])) == pytest.approx(-math.log(1e-12))
    with pytest.raises(IndexOutOfBounds, match="label 3"):
        value_of(name, ([3], THREE[:1]))
    with pytest.raises(ShapeError):
        value_of(name, ([1, 0, 1], THREE))


def test_log_loss():
    y, p = [1, 0, 1], np.array([0.8, 0.3, 0.1])
    wanted = -(math.log(0.8) + math.log(0.7) + math.log(0.1)) / 3
    assert value_of("logloss", (y, p)) == pytest.approx(wanted)
    assert value_of("logloss", (y[:1], p[:1]), (y[1:], p[1:, None])) == pytest.approx(wanted)
    assert value_of("log_loss", (y, np.stack([1 - p, p], axis=1))) == pytest.approx(wanted)
    assert value_of("logloss", ([0.25], [0.5])) == pytest.approx(math.log(2))
    assert value_of("logloss", ([1, 0], [0.0, 1.0])) == pytest.approx(-math.log(1e-12), rel=1e-4)
    with pytest.raises(ArgumentError, match="-1"):
        value_of("logloss", ([-1], [0.5]))
    with pytest.raises(ShapeError):
        value_of("logloss", ([1, 0], [0.5]))


def test_perplexity():
    wanted = math.exp(-(math.log(0.7) + math.log(0.5) + math.log(0.2)) / 3)
    assert value_of("perplexity", ([1, 0], THREE[:2]), ([0], THREE[2:3])) == pytest.approx(wanted, rel=1e-6)
    ignoring = value_of("perplexity", ([1, 2, 0], THREE[:3]), ignore_label=2)
    assert ignoring == pytest.approx(math.exp(-(math.log(0.7) + math.log(0.2)) / 2), rel=1e-6)
    sequence = np.array(THREE).reshape(2, 2, 3)
    assert value_of("perplexity", ([[1, 0], [2, 0]], sequence)) == pytest.approx(
        math.exp(-np.log([0.7, 0.5, 0.5, 0.4]).mean()), rel=1e-6
    )


def area_by_pairs(y, p):
    pairs = [(p[i] > p[j]) + 0.5 * (p[i] == p[j]) for i, j in itertools.product(range(len(y)), repeat=2)
             if y[i] > y[j]]  # fmt: skip
    return sum(pairs) / len(pairs) if pairs else math.nan


@given(
    rows=st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), max_size=30),
    cuts=st.lists(st.integers(0, 30), max_size=4),
    buffer=st.sampled_from([1, 4, 1 << 20]),
    resets=st.booleans(),
)
def test_auc_counts_pairs(rows, cuts, buffer, resets):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "BUFFER", buffer)
        auc = metric.create("auc")
        edges = [0, *sorted(min(c, len(rows)) for c in cuts), len(rows)]
        for begin, end in itertools.pairwise(edges):
            part = rows[begin:end]
            if resets:
                auc.reset_local()
            auc.update([nd.array([float(y) for y, _ in part])], [nd.array([p / 8 for _, p in part])])
            auc.get()
        wanted = area_by_pairs(*(zip(*rows, strict=True) if rows else ([], [])))
        np.testing.assert_allclose(auc.get_global()[1], wanted)
        if not resets:
            np.testing.assert_allclose(auc.get()[1], wanted)
        auc.reset()
        assert math.isnan(auc.get_global()[1])


def test_auc_takes_two_columns_and_refuses_nan():
    y, p = [0, 1, 1], np.array([0.3, 0.3, 0.9])
    assert value_of("auc", (y, p)) == 0.75
    assert value_of("auc", (y, np.stack([1 - p, p], axis=1))) == 0.75
    assert value_of("auc", ([0, 1, 0, 1], [math.inf, math.inf, -math.inf, -math.inf])) == 0.5
    with pytest.raises(ArgumentError, match="not a number"):
        value_of("auc", ([1], [math.nan]))


def test_loss_takes_no_labels():
    loss = metric.create("loss")
    loss.update(None, [nd.array([1, 2, 3])])
    loss.update([], nd.array([6]))
    assert loss.get() == ("loss", 3.0)


def test_functions_are_metrics():
    def gap(label, pred):
        return float(np.abs(label - pred).max())

    assert value_of(gap, ([1, 2], [1, 5]), ([0], [1])) == 2
    assert metric.create(gap).name == "gap"
    assert metric.create(lambda label, pred: 0).name == "custom(<lambda>)"
    counted = metric.np(lambda label, pred: (label.sum(), label.size), name="mean label")
    counted.update([nd.array([1, 2])], [nd.array([0, 0])])
    counted.update([nd.array([6])], [nd.array([0])])
    assert counted.get() == ("mean label", 3.0)
    extra = metric.CustomMetric(gap, allow_extra_outputs=True)
    extra.update([nd.array([1])], [nd.array([2]), nd.array([9])])
    assert extra.get() == ("gap", 1.0)
    with pytest.raises(ShapeError):
        metric.CustomMetric(gap).update([nd.array([1])], [nd.array([2]), nd.array([9])])


def test_several_metrics_as_one():
    both = metric.create(["acc", metric.create("ce"), lambda label, pred: 7])
    both.update([nd.array([1, 0])], [nd.array(THREE[:2])])
    names, values = both.get()
    assert names == ["accuracy", "cross-entropy", "custom(<lambda>)"]
    assert values[0] == 1
    assert values[2] == 7
    both.add("mae")
    assert both.get_metric(3).name == "mae"
    assert [n for n, _ in both.get_name_value()] == [*names, "mae"]
    both.reset()
    assert all(math.isnan(v) for v in both.get()[1])
    with pytest.raises(ArgumentError, match="out of range"):
        both.get_metric(4)


def test_names_choose_outputs_and_labels():
    both = metric.create(
        [
            metric.MAE("a", output_names=["x_output"], label_names=["x"]),
            metric.Loss(output_names=["y_output"]),
        ]
    )
    labels = {"x": nd.array([1]), "z": nd.array([5])}
    outputs = {"x_output": nd.array([3]), "y_output": nd.array([4])}
    both.update_dict(labels, outputs)
    assert both.get() == (["a", "loss"], [2.0, 4.0])
    with pytest.raises(ArgumentError, match="no output 'x_output'"):
        both.update_dict(labels, {"y_output": nd.array([4])})
    narrow = metric.CompositeEvalMetric(["mae"], output_names=["x_output"], label_names=["x"])
    narrow.update_dict(labels, outputs)
    assert narrow.get() == (["mae"], [2.0])


def test_local_and_global_values():
    for name in ("acc", "f1", "auc", "pearsonr"):
        for kwargs in ({}, {"average": "micro"}) if name in ("f1", "pearsonr") else ({},):
            one, whole = metric.create(name, **kwargs), metric.create(name, **kwargs)
            parts = [([0, 1, 1], [0.2, 0.9, 0.4]), ([1, 0, 0], [0.3, 0.6, 0.1])]
            for label, pred in parts:
                one.reset_local()
                one.update(nd.array(label), nd.array(pred))
                whole.update(nd.array(label), nd.array(pred))
            last = metric.create(name, **kwargs)
            last.update(nd.array(parts[1][0]), nd.array(parts[1][1]))
            assert one.get() == last.get()
            assert one.get_global() == pytest.approx(whole.get()) or math.isnan(whole.get()[1])
            assert one.get_global_name_value() == [one.get_global()]


def test_sparse_labels_are_read():
    label = nd.array([[0], [1]]).tostype("csr")
    assert value_of("auc", (np.array([0, 1]), [0.1, 0.2])) == 1
    auc = metric.create("auc")
    auc.update([label], [nd.array([[0.1], [0.2]])])
    assert auc.get()[1] == 1


CONFIGURED = ["acc", "f1", "mcc", "mae", "mse", "rmse", "ce", "nll_loss", "perplexity", "pearsonr", "loss",
              "auc", "logloss"]  # fmt: skip


@pytest.mark.parametrize("name", CONFIGURED)
def test_a_configuration_gives_the_metric_again(name):
    first = metric.create(name, name="mine", output_names=["o"])
    again = metric.create(first.get_config())
    assert type(again) is type(first)
    assert again.get_config() == first.get_config()
    assert math.isnan(again.get()[1])


def test_configurations_of_composed_metrics():
    first = metric.create(["acc", metric.TopKAccuracy(3)])
    again = metric.create(first.get_config())
    assert again.get()[0] == ["accuracy", "top_k_accuracy_3"]
    assert str(metric.create("acc")) == "EvalMetric: {'accuracy': nan}"


def test_what_cannot_be_created():
    with pytest.raises(ArgumentError, match="no 'nothing'"):
        metric.create("nothing")
    with pytest.raises(ArgumentError, match="metric 'acc'"):
        metric.create("acc", k=3)
    with pytest.raises(ArgumentTypeError):
        metric.create(3)
    with pytest.raises(ArgumentTypeError):
        metric.register(int)
    with pytest.raises(ShapeError, match="labels 1 does not match shape of predictions 2"):
        metric.create("acc").update([nd.array([1])], [nd.array([1]), nd.array([2])])
    with pytest.raises(NotImplementedError):
        metric.EvalMetric("x").update([nd.array([1])], [nd.array([1])])


def test_check_label_shapes():
    a, b = nd.ones((2, 1)), nd.ones((2, 3))
    assert metric.check_label_shapes(a, b, wrap=True) == ([a], [b])
    with pytest.raises(ShapeError):
        metric.check_label_shapes(a, b, shape=True)
    with pytest.raises(ShapeError):
        metric.check_label_shapes([a], [a, b])
