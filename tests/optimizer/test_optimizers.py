"""Every optimizer on every storage type, against its own dense update; and against MXNet 1.9.1."""

import json

import numpy as np
import pytest

from ndsparse import nd
from ndsparse import optimizer as opt
from ndsparse.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    FileFormatError,
    ShapeError,
    StorageTypeError,
)

ALL = {
    "sgd": {},
    "sgd_momentum": {"momentum": 0.9},
    "nag": {"momentum": 0.9},
    "adam": {},
    "adamw": {},
    "adagrad": {},
    "groupadagrad": {},
    "rmsprop": {},
    "rmsprop_centered": {"centered": True},
    "rmsprop_clipped": {"clip_weights": 0.5},
    "ftrl": {"lamda1": 0.05},
}
NO_DECAY = {"groupadagrad"}


def make(case, **kwargs):
    common = {"learning_rate": 0.1, "rescale_grad": 0.5, "clip_gradient": 0.6}
    if case not in NO_DECAY:
        common["wd"] = 0.1
    return opt.create(case.split("_")[0], **{**common, **ALL[case], **kwargs})


def gradients(rows=9, width=3, steps=3):
    rng = np.random.default_rng(5)
    for _ in range(steps):
        ids = np.sort(rng.permutation(rows)[:4])
        dense = np.zeros((rows, width), np.float32)
        dense[ids] = rng.normal(size=(4, width))
        yield ids, dense


def sparse(dense, ids=None):
    ids = np.arange(len(dense)) if ids is None else ids
    return nd.sparse.row_sparse_array((dense[ids], ids), shape=dense.shape)


def run(optimizer, weight, grads):
    weight = weight.copy()
    state = optimizer.create_state_multi_precision(0, weight)
    for grad in grads:
        optimizer.update_multi_precision(0, weight, grad, state)
    return weight, state


def leaves(state):
    if state is None:
        return []
    return list(state) if isinstance(state, tuple) else [state]


def start(rows=9, width=3):
    return np.random.default_rng(1).normal(size=(rows, width)).astype(np.float32)


@pytest.fixture(params=ALL)
def case(request):
    return request.param


def test_exact_sparse_update_is_the_dense_one(case):
    weight = start()
    dense, states = run(make(case), nd.array(weight), [nd.array(g) for _, g in gradients()])
    grads = [sparse(g, ids) for ids, g in gradients()]
    for begin in (nd.array(weight), sparse(weight)):
        got, got_states = run(make(case, lazy_update=False), begin, grads)
        assert got.stype == begin.stype
        np.testing.assert_allclose(got.asnumpy(), dense.asnumpy(), rtol=1e-6, atol=1e-7)
        for a, b in zip(leaves(got_states), leaves(states), strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6, atol=1e-7)


def test_lazy_update_is_the_dense_one_of_the_touched_rows(case):
    weight = start()
    optimizer = make(case, lazy_update=True)
    reference = nd.array(weight)
    state = optimizer.create_state(0, reference)
    for ids, dense in gradients():
        before = reference.asnumpy(), [s.asnumpy() for s in leaves(state)]
        optimizer.update(0, reference, nd.array(dense), state)
        for array, old in zip([reference, *leaves(state)], [before[0], *before[1]], strict=True):
            new = array.asnumpy()
            old[ids] = new[ids]
            array[:] = old
    for begin in (nd.array(weight), sparse(weight)):
        got, got_state = run(make(case, lazy_update=True), begin, [sparse(g, i) for i, g in gradients()])
        np.testing.assert_allclose(got.asnumpy(), reference.asnumpy(), rtol=1e-6, atol=1e-7)
        assert [s.stype for s in leaves(got_state)] == [begin.stype] * len(leaves(state))
        for a, b in zip(leaves(got_state), leaves(state), strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("lazy_update", [False, True])
def test_rows_that_a_weight_does_not_store_are_zeros(case, lazy_update):
    weight = start()
    weight[[0, 3, 4, 8]] = 0
    grads = [sparse(g, ids) for ids, g in gradients()]
    full, full_state = run(make(case, lazy_update=lazy_update), nd.array(weight), grads)
    stored = np.flatnonzero(weight.any(axis=1))
    part, part_state = run(make(case, lazy_update=lazy_update), sparse(weight, stored), grads)
    part.check_format()
    np.testing.assert_allclose(part.asnumpy(), full.asnumpy(), rtol=1e-6, atol=1e-7)
    for a, b in zip(leaves(part_state), leaves(full_state), strict=True):
        a.check_format()
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6, atol=1e-7)


def test_dense_gradient_of_a_sparse_weight(case):
    weight = start()
    grads = [nd.array(g + 0.1) for _, g in gradients()]
    dense, _ = run(make(case), nd.array(weight), grads)
    got, _ = run(make(case), sparse(weight, np.array([1, 4])) * 0 + sparse(weight), grads)
    np.testing.assert_allclose(got.asnumpy(), dense.asnumpy(), rtol=1e-6)


def test_csr_gradient_is_the_dense_one(case):
    weight = start()
    dense, _ = run(make(case), nd.array(weight), [nd.array(g) for _, g in gradients()])
    grads = [nd.array(g).tostype("csr") for _, g in gradients()]
    got, _ = run(make(case), nd.array(weight), grads)
    np.testing.assert_allclose(got.asnumpy(), dense.asnumpy(), rtol=1e-6, atol=1e-7)


def test_gradient_without_rows(case):
    weight = start()
    empty = nd.sparse.zeros("row_sparse", weight.shape)
    lazy, _ = run(make(case, lazy_update=True), nd.array(weight), [empty])
    np.testing.assert_array_equal(lazy.asnumpy(), weight)
    dense, _ = run(make(case), nd.array(weight), [nd.zeros(weight.shape)])
    exact, _ = run(make(case, lazy_update=False), nd.array(weight), [empty])
    np.testing.assert_allclose(exact.asnumpy(), dense.asnumpy(), rtol=1e-6, atol=1e-7)


def test_config_round_trip(case):
    optimizer = make(case, lr_scheduler=opt.schedule.FactorScheduler(2, 0.5), begin_num_update=3)
    optimizer.set_lr_mult({0: 0.5, "w": 2.0})
    optimizer.set_wd_mult({"w": 0.0} if case not in NO_DECAY else {})
    twin = opt.Optimizer.from_config(json.loads(json.dumps(optimizer.to_config())))
    assert twin.to_config() == optimizer.to_config()
    grads = [nd.array(g) for _, g in gradients(steps=4)]
    a, b = (run(o, nd.array(start()), grads)[0].asnumpy() for o in (optimizer, twin))
    np.testing.assert_array_equal(a, b)
    assert twin.counts() == optimizer.counts() == {"num_update": 7, "by_index": [[0, 7]]}


def test_updater_states_round_trip(case):
    grads = [sparse(g, ids) for ids, g in gradients(steps=4)]
    weights = {0: nd.array(start()), "w": sparse(start(), np.array([1, 5]))}
    updater = opt.get_updater(make(case))
    for grad in grads[:2]:
        for key, weight in weights.items():
            updater(key, grad, weight)
    saved = updater.get_states(dump_optimizer=True)
    copies = {key: weight.copy() for key, weight in weights.items()}
    twin = opt.get_updater(opt.create("sgd"))
    twin.set_states(saved)
    for grad in grads[2:]:
        for key in weights:
            updater(key, grad, weights[key])
            twin(key, grad, copies[key])
    for key in weights:
        np.testing.assert_array_equal(weights[key].asnumpy(), copies[key].asnumpy())


def test_half_precision_with_a_master_copy(case):
    weight = start().astype(np.float16)
    grads = [nd.array(g) for _, g in gradients()]
    wide, _ = run(make(case), nd.array(weight.astype(np.float32)), grads)
    half = nd.array(weight, dtype="float16")
    got, state = run(make(case, multi_precision=True), half, grads)
    assert got.dtype == np.float16
    assert state[0].dtype == np.float32
    np.testing.assert_allclose(state[0].asnumpy(), wide.asnumpy(), rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(got.asnumpy(), wide.asnumpy().astype(np.float16))
    plain, _ = run(make(case), nd.array(weight, dtype="float16"), grads)
    assert plain.dtype == np.float16
    np.testing.assert_allclose(plain.asnumpy(), wide.asnumpy(), atol=0.02)


GOLDEN = {
    "o99_SGD_default": {},
    "o101_SGD_default": {},
    "o105_AdaGrad_default": {},
    "o106_Ftrl_default": {"lazy_update": False},  # MXNet's update of a dense weight is not lazy
    "o107_GroupAdaGrad_default": {},
    "o108_SGD_row_sparse": {},
}


@pytest.fixture(scope="session")
def golden(golden_dir):
    manifest = json.loads((golden_dir / "mxnet" / "golden.json").read_text())
    cases = {c["id"]: c for c in manifest if c["op"].startswith("optimizer.")}
    return cases, np.load(golden_dir / "mxnet" / "golden.npz")


def recorded(arrays, key, stype, shape):
    if stype == "default":
        return nd.array(arrays[f"{key}.dense"])
    return nd.sparse.row_sparse_array((arrays[f"{key}.data"], arrays[f"{key}.indices"]), shape=tuple(shape))


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_values_of_mxnet(golden, name):
    cases, arrays = golden
    case = cases[name]
    numbers = {k: v for k, v in case["attrs"].items() if k != "weight_stype"}
    optimizer = opt.create(case["op"].split(".")[1], **numbers, **GOLDEN[name])
    inputs = {k: recorded(arrays, v["key"], v["stype"], v["shape"]) for k, v in case["inputs"].items()}
    weight, state = run(optimizer, inputs["weight"], [inputs[k] for k in sorted(inputs) if k != "weight"])
    outputs = case["outputs"]
    for array, key in zip([weight, *leaves(state)], outputs, strict=True):
        assert array.stype == outputs[key]["stype"]
        wanted = arrays[f"{outputs[key]['key']}.dense"]
        np.testing.assert_allclose(array.asnumpy(), wanted, rtol=2e-6, atol=1e-7)


def test_every_golden_case_is_tested(golden):
    assert set(golden[0]) == set(GOLDEN)


def test_multipliers():
    optimizer = opt.create(
        "sgd",
        learning_rate=1.0,
        wd=0.5,
        param_idx2name={0: "a_weight", 1: "a_bias", 2: "c_gamma", 3: "w"},
    )
    assert [optimizer._get_wd(i) for i in range(5)] == [0.5, 0.0, 0.5, 0.0, 0.5]  # as MXNet
    optimizer.set_wd_mult({"w": 1.0, 4: 2.0})
    assert [optimizer._get_wd(i) for i in (3, 4, "w")] == [0.5, 1.0, 0.5]
    optimizer.set_lr_mult({"a_bias": 2.0, 0: 0.1})
    assert [optimizer._get_lr(i) for i in range(3)] == [0.1, 2.0, 1.0]


def test_multipliers_of_a_symbol_and_of_parameters():
    class Symbol:
        def attr_dict(self):
            return {"w": {"__lr_mult__": "0.5", "__wd_mult__": "3"}, "dot0": {}}

    class Parameter:
        lr_mult, wd_mult = 4.0, 5.0

    optimizer = opt.create("sgd", learning_rate=1, wd=1, sym=Symbol(), param_dict={7: Parameter()})
    assert optimizer._get_lr("w") == 0.5
    assert optimizer._get_wd("w") == 3
    assert (optimizer._get_lr(7), optimizer._get_wd(7)) == (4, 5)
    twin = opt.Optimizer.from_config(optimizer.to_config())
    assert (twin._get_lr(7), twin._get_wd(7), twin._get_lr("w")) == (4, 5, 0.5)


def test_learning_rate_and_schedule():
    optimizer = opt.create("sgd", learning_rate=0.5)
    optimizer.set_learning_rate(0.25)
    assert optimizer.learning_rate == 0.25
    scheduler = opt.schedule.FactorScheduler(step=1, factor=0.5)
    optimizer = opt.create("sgd", learning_rate=0.8, lr_scheduler=scheduler)
    weight, rates = nd.zeros((1, 1)), []
    for _ in range(3):
        before = weight.asnumpy()[0, 0]
        optimizer.update(0, weight, nd.ones((1, 1)), None)
        rates.append(before - weight.asnumpy()[0, 0])
    assert rates == pytest.approx([0.8, 0.4, 0.2])
    with pytest.raises(ArgumentError, match="lr_scheduler"):
        optimizer.set_learning_rate(1.0)
    assert opt.create("adam").learning_rate == 0.001
    assert opt.create("ftrl").learning_rate == 0.1
    assert opt.create("adam", lr_scheduler=opt.LRScheduler(0.3)).learning_rate == 0.3


def test_adam_counts_each_weight():
    optimizer = opt.create("adam", learning_rate=1.0)
    assert optimizer.numbers("a")["lr"] == pytest.approx((1 - 0.999) ** 0.5 / (1 - 0.9))
    optimizer.numbers("a")
    assert optimizer.numbers("b")["lr"] == pytest.approx((1 - 0.999) ** 0.5 / (1 - 0.9))
    assert optimizer.num_update == 2


def test_lists_update_several_weights():
    optimizer = opt.create("sgd", learning_rate=1.0)
    weights = [nd.zeros((2, 1)), nd.zeros((3, 1))]
    optimizer.update([0, 1], weights, [nd.ones((2, 1)), nd.ones((3, 1))], [None, None])
    updater = opt.get_updater(optimizer)
    updater([0, 1], [nd.ones((2, 1)), nd.ones((3, 1))], weights)
    for weight in weights:
        assert (weight.asnumpy() == -2).all()


def test_an_exported_weight_is_not_changed_behind_its_holder():
    weight = nd.ones((2, 2))
    held = np.from_dlpack(weight)
    opt.create("sgd", learning_rate=1.0).update(0, weight, nd.ones((2, 2)), None)
    np.testing.assert_array_equal(held, np.ones((2, 2)))
    np.testing.assert_array_equal(weight.asnumpy(), np.zeros((2, 2)))


def test_a_users_optimizer():
    class Signs(opt.Optimizer):
        def create_state(self, index, weight):
            return 3

        def update(self, index, weight, grad, state):
            self._update_count(index)
            weight[:] = weight - self._get_lr(index) * state * grad

    opt.register(Signs)
    try:
        optimizer = opt.create("SIGNS", learning_rate=1.0)
        assert not optimizer.on_arrays
        assert opt.create("sgd").on_arrays
        weight = nd.zeros((1, 1))
        updater = opt.get_updater(optimizer)
        updater(0, nd.ones((1, 1)), weight)
        assert weight.asnumpy() == -3
        updater.set_states(updater.get_states())
        assert updater.states == {0: 3}
    finally:
        del opt.Optimizer.opt_registry["signs"]
    with pytest.raises(ArgumentError, match="is not registered"):
        optimizer.to_config()


def test_refusals():
    with pytest.raises(ArgumentError, match="unknown optimizer 'foo'; there are adagrad"):
        opt.create("foo")
    with pytest.raises(ArgumentTypeError, match="must be a string"):
        opt.create(3)
    with pytest.raises(ArgumentTypeError, match="param_idx2name"):
        opt.create("sgd", param_idx2name=["w"])
    with pytest.raises(ArgumentError, match="no weight decay"):
        opt.create("groupadagrad", wd=0.1).numbers(0)
    sgd = opt.create("sgd")
    with pytest.raises(ShapeError, match=r"grad has shape \(3, 2\)"):
        sgd.update(0, nd.zeros((2, 2)), nd.zeros((3, 2)), None)
    with pytest.raises(DTypeError, match="int32"):
        sgd.update(0, nd.zeros((2, 2), dtype="int32"), nd.zeros((2, 2)), None)
    with pytest.raises(StorageTypeError, match="csr weight"):
        sgd.update(0, nd.sparse.zeros("csr", (2, 2)), nd.zeros((2, 2)), None)


@pytest.mark.parametrize(
    ("name", "numbers", "kind", "message"),
    [
        (
            "adam",
            {"learn_rate": 1},
            ArgumentTypeError,
            "Adam: unknown parameter 'learn_rate'.* learning_rate, beta1",
        ),
        (
            "sgd",
            {"lr": 0.1},
            ArgumentTypeError,
            "SGD: unknown parameter 'lr'; there are momentum,.* learning_rate",
        ),
        (
            "adam",
            {"learning_rate": -1},
            ArgumentError,
            "Adam: learning_rate: expected a number of at least 0, got -1",
        ),
        ("sgd", {"learning_rate": "0.1"}, ArgumentTypeError, "SGD: learning_rate: .* got '0.1'"),
        ("ftrl", {"wd": -0.5}, ArgumentError, "Ftrl: wd: "),
        ("sgd", {"momentum": -0.9}, ArgumentError, "SGD: momentum: "),
        ("nag", {"momentum": None}, ArgumentTypeError, "NAG: momentum: .* got None"),
        ("sgd", {"learning_rate": float("nan")}, ArgumentError, "got nan"),
        ("sgd", {"rescale_grad": [1]}, ArgumentTypeError, "rescale_grad: expected a number, got"),
    ],
)
def test_numbers_that_are_refused(name, numbers, kind, message):
    with pytest.raises(kind, match=message):
        opt.create(name, **numbers)


def test_numbers_of_numpy_are_taken():
    sgd = opt.create("sgd", learning_rate=np.float32(0.5), momentum=np.int64(0), rescale_grad=-1)
    assert sgd.learning_rate == 0.5
    with pytest.raises(ArgumentError, match="learning_rate"):
        sgd.set_learning_rate(-1)


def test_updates_of_what_does_not_fit():
    adam, weight = opt.create("adam"), nd.ones((2, 2))
    state = adam.create_state(0, weight)
    for arguments, kind, message in (
        ((weight, np.ones((2, 2)), state), ArgumentTypeError, "grad: expected an NDArray, got ndarray"),
        ((np.ones((2, 2)), weight, state), ArgumentTypeError, "weight: expected an NDArray, got ndarray"),
        ((weight, weight, None), ArgumentError, r"Adam keeps 2 arrays \(mean, var\), got 0; create_state"),
        ((weight, weight, (1, 2)), ArgumentTypeError, "Adam expects NDArrays, got int"),
        ((weight, weight, (nd.ones(2), nd.ones(2))), ShapeError, r"mean of shape \(2, 2\), got \(2,\)"),
    ):
        with pytest.raises(kind, match=message):
            adam.update(0, *arguments)
    assert adam.num_update == 0
    half = opt.create("sgd", multi_precision=True)
    with pytest.raises(ArgumentTypeError, match="create_state_multi_precision"):
        half.update_multi_precision(0, weight.astype("float16"), weight.astype("float16"), None)


def test_states_of_another_optimizer_are_refused():
    ftrl, weight = opt.get_updater(opt.create("ftrl")), nd.ones((2, 2))
    ftrl(0, weight, weight)
    adam = opt.get_updater(opt.create("adam"))
    with pytest.raises(
        FileFormatError, match="states of the optimizer 'ftrl', this one is 'adam'; create 'ftrl'"
    ):
        adam.set_states(ftrl.get_states())
    assert adam.states == {}
    adam.set_states(ftrl.get_states(dump_optimizer=True))
    assert adam.optimizer.kind == "ftrl"
