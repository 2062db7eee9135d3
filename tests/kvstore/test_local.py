"""The local store: MXNet's calls, with its golden values."""

import json

import numpy as np
import pytest

from ndsparse import kvstore, nd
from ndsparse import optimizer as opt
from ndsparse.errors import (
    ArgumentError,
    ArgumentTypeError,
    IndexOutOfBounds,
    KeyNotFound,
    NDSparseError,
    ShapeError,
    StorageTypeError,
)

SHAPE = (8, 3)


def sparse(ids, rows, shape=SHAPE):
    rows = np.asarray(rows, np.float32)
    if rows.ndim < 2:
        rows = np.broadcast_to(rows.reshape(-1, 1), (len(ids), shape[1]))
    return nd.sparse.row_sparse_array((rows, ids), shape=shape)


def store(optimizer=None, **numbers):
    kv = kvstore.create("local")
    kv.init("d", nd.ones(SHAPE))
    kv.init("r", sparse([1, 5], [1, 5]))
    if optimizer:
        kv.set_optimizer(opt.create(optimizer, **numbers))
    return kv


def pulled(kv, key, ids=None):
    if ids is None:
        out = nd.zeros(SHAPE)
        kv.pull(key, out)
        return out.asnumpy()
    out = nd.sparse.zeros("row_sparse", SHAPE)
    kv.row_sparse_pull(key, out, row_ids=nd.array(ids, dtype="int64"))
    out.check_format()
    return out


def column(kv, key):
    values = pulled(kv, key)
    assert (values == values[:, :1]).all()
    return list(values[:, 0])


# -- creation


@pytest.mark.parametrize("name", ["local", "device", "local_allreduce_cpu"])
def test_facts(name):
    kv = kvstore.create(name)
    assert (kv.type, kv.rank, kv.num_workers) == (name, 0, 1)
    assert kv.is_capable("optimizer")
    kv.barrier()


def test_names_that_are_refused():
    with pytest.raises(ArgumentError, match="unknown kvstore 'foo'; there are device, local"):
        kvstore.create("foo")
    for name in ("dist_sync", "dist_async", "p3_dist"):
        with pytest.raises(NDSparseError, match="distributed store is not part of this version"):
            kvstore.create(name)
    with pytest.raises(ArgumentTypeError, match="name must be a string"):
        kvstore.create(3)


# -- init


def test_init_copies():
    kv = kvstore.create()
    value = nd.ones(SHAPE)
    kv.init(3, value)
    value[:] = 7
    assert (pulled(kv, 3) == 1).all()


def test_keys_that_are_refused():
    kv = store()
    with pytest.raises(ArgumentError, match="duplicate init of key 'd'"):
        kv.init("d", nd.ones(SHAPE))
    with pytest.raises(ArgumentError, match="Mixed key types are not allowed"):
        kv.init(1, nd.ones(SHAPE))
    with pytest.raises(KeyNotFound, match="key 'zz' is not in the store"):
        kv.push("zz", nd.ones(SHAPE))
    with pytest.raises(KeyNotFound, match="key 'zz'"):
        kv.pull("zz", nd.ones(SHAPE))
    with pytest.raises(ArgumentTypeError, match="key 1.5"):
        kv.push(1.5, nd.ones(SHAPE))
    with pytest.raises(ArgumentError, match="2 keys with 1 values"):
        kv.push(["d", "r"], [nd.ones(SHAPE)])
    with pytest.raises(ArgumentTypeError, match="wanted an NDArray, not ndarray"):
        kv.init("n", np.ones(3))
    with pytest.raises(StorageTypeError, match="'csr'; wanted default or row_sparse"):
        kv.init("c", nd.sparse.zeros("csr", SHAPE))


# -- push without an optimizer


def test_push_replaces_with_the_sum():
    kv = store()
    kv.push("d", [nd.ones(SHAPE), nd.ones(SHAPE) * 2])
    assert column(kv, "d") == [3] * 8
    kv.push("r", [sparse([2, 6], [1, 2]), sparse([6, 7], [3, 4])])
    assert column(kv, "r") == [0, 0, 1, 0, 0, 0, 5, 4]
    kv.push("d", sparse([1], [9]))
    assert column(kv, "d") == [0, 9, 0, 0, 0, 0, 0, 0]
    kv.push("r", nd.ones(SHAPE))
    assert column(kv, "r") == [1] * 8
    kv.push("r", [sparse([1], [9]), nd.ones(SHAPE)])
    assert column(kv, "r") == [1, 10, 1, 1, 1, 1, 1, 1]


def test_lists_of_keys():
    kv = store()
    kv.push(["d", "r", "d"], [nd.ones(SHAPE), [sparse([1], [1])] * 2, nd.ones(SHAPE)])
    outs = [nd.zeros(SHAPE), [nd.zeros(SHAPE), nd.zeros(SHAPE)]]
    kv.pull(["d", "r"], outs)
    assert (outs[0].asnumpy() == 2).all()
    for out in outs[1]:
        assert list(out.asnumpy()[:, 0]) == [0, 2, 0, 0, 0, 0, 0, 0]


def test_shapes_and_types_that_are_refused():
    kv = store()
    with pytest.raises(ShapeError, match=r"shape \(2, 3\), the weight \(8, 3\)"):
        kv.push("d", nd.ones((2, 3)))
    with pytest.raises(ShapeError, match=r"shape \(9, 3\)"):
        kv.push("r", sparse([1], [1], (9, 3)))
    with pytest.raises(StorageTypeError, match="csr"):
        kv.push("d", nd.sparse.zeros("csr", SHAPE))
    with pytest.raises(ShapeError, match=r"out has shape \(2, 3\)"):
        kv.pull("d", nd.ones((2, 3)))


# -- pull


def test_pull_ignores_sparse_outs_unless_told_otherwise():
    kv = store()
    out = sparse([7], [3])
    kv.pull("r", out)
    assert list(out.indices.asnumpy()) == [7]
    kv.pull("r", out, ignore_sparse=False)
    assert list(out.indices.asnumpy()) == [1, 5]
    kv.pull("d", out, ignore_sparse=False)
    assert len(out.indices) == 8
    kv.init("d2", nd.ones(SHAPE, dtype="float64"))
    half = nd.zeros(SHAPE, dtype="float16")
    kv.pull("d2", half)
    assert (half.asnumpy() == 1).all()


def test_pull_into_a_view():
    kv = store()
    big = nd.zeros((10, 3))
    for key in ("d", "r"):
        kv.pull(key, big[1:9])
        np.testing.assert_array_equal(big.asnumpy()[1:9], pulled(kv, key))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "uint8"])
def test_row_sparse_pull(dtype):
    kv = store()
    out = sparse([0, 3], [8, 8])
    kv.row_sparse_pull("r", out, row_ids=nd.array([[5, 2], [1, 5]], dtype=dtype))
    out.check_format()
    assert list(out.indices.asnumpy()) == [1, 2, 5]
    np.testing.assert_array_equal(out.data.asnumpy()[:, 0], [1, 0, 5])


def test_row_sparse_pull_with_several_outs():
    kv = store()
    outs = [nd.sparse.zeros("row_sparse", SHAPE) for _ in range(2)]
    kv.row_sparse_pull("r", outs, row_ids=nd.array([5, 5]))
    assert [list(o.indices.asnumpy()) for o in outs] == [[5], [5]]
    kv.row_sparse_pull("r", outs, row_ids=[nd.array([5]), nd.array([1, 0])])
    assert [list(o.indices.asnumpy()) for o in outs] == [[5], [0, 1]]
    kv.init("s", sparse([0], [4]))
    kv.row_sparse_pull(["r", "s"], outs, row_ids=[nd.array([1]), nd.array([0])])
    assert [list(o.data.asnumpy()[:, 0]) for o in outs] == [[1], [4]]
    kv.row_sparse_pull(["r", "s"], outs, row_ids=nd.array([0, 1]))
    assert [list(o.data.asnumpy()[:, 0]) for o in outs] == [[0, 1], [4, 0]]
    kv.row_sparse_pull("r", outs, row_ids=nd.array([]))
    assert outs[0].data.shape == (0, 3)
    with pytest.raises(ArgumentError, match="the number of row_ids doesn't match"):
        kv.row_sparse_pull("r", outs, row_ids=[nd.array([1])] * 3)


def test_row_sparse_pull_from_a_dense_weight():
    kv = store()
    assert list(pulled(kv, "d", [3, 3]).indices.asnumpy()) == [3]


def test_ids_are_exact_beyond_float32():
    big = 2**24 + 1
    kv = kvstore.create()
    kv.init_rows("w", (2**40, 2))
    kv.push("w", sparse([big, 2**39 + 1], [1, 2], (2**40, 2)))
    out = nd.sparse.zeros("row_sparse", (2**40, 2))
    kv.row_sparse_pull("w", out, row_ids=nd.array([2**39 + 1, big], dtype="int64"))
    assert list(out.indices.asnumpy()) == [big, 2**39 + 1]
    np.testing.assert_array_equal(out.data.asnumpy(), [[1, 1], [2, 2]])


def test_row_ids_that_are_refused():
    kv = store()
    out = nd.sparse.zeros("row_sparse", SHAPE)
    with pytest.raises(IndexOutOfBounds, match="key 'r': row_ids: id 8 is outside of the 8 rows"):
        kv.row_sparse_pull("r", out, row_ids=nd.array([8]))
    with pytest.raises(IndexOutOfBounds, match="id -1"):
        kv.row_sparse_pull("r", out, row_ids=nd.array([-1]))
    with pytest.raises(ArgumentTypeError, match="0.5 is not a whole number"):
        kv.row_sparse_pull("r", out, row_ids=nd.array([0.5]))
    with pytest.raises(StorageTypeError, match="Expected row_sparse storage type"):
        kv.row_sparse_pull("r", nd.zeros(SHAPE), row_ids=nd.array([1]))
    with pytest.raises(ArgumentError, match="row_ids is missing"):
        kv.row_sparse_pull("r", out)


def test_pushpull_and_broadcast():
    kv = store()
    value, out = nd.ones(SHAPE) * 4, nd.zeros(SHAPE)
    kv.pushpull("d", value, out=out)
    assert (out.asnumpy() == 4).all()
    kv.pushpull("d", [value, value])
    assert (value.asnumpy() == 8).all()
    kv.broadcast("b", nd.ones(SHAPE), out=out)
    assert (out.asnumpy() == 1).all()
    empty = nd.sparse.zeros("row_sparse", SHAPE)
    kv.broadcast("b2", sparse([1], [1]), out=empty)
    assert empty.data.shape == (0, 3)


# -- rows that begin without being stored


def test_init_rows():
    kv = kvstore.create()
    kv.init_rows("w", SHAPE, initializer=("uniform", {"scale": 0.5}), seed=3)
    kv.init_rows("v", SHAPE, initializer=("uniform", {"scale": 0.5}), seed=3)
    whole = pulled(kv, "w")
    assert np.abs(whole).max() <= 0.5
    assert len(np.unique(whole)) == 24
    assert (whole != pulled(kv, "v")).all()
    np.testing.assert_array_equal(pulled(kv, "w", [6, 2]).data.asnumpy(), whole[[2, 6]])
    kv.set_optimizer(opt.create("sgd", learning_rate=1))
    kv.push("w", sparse([2], [1]))
    whole[2] -= 1
    np.testing.assert_allclose(pulled(kv, "w"), whole, rtol=1e-6)
    out = nd.sparse.zeros("row_sparse", SHAPE)
    kv.pull("w", out, ignore_sparse=False)
    np.testing.assert_allclose(out.asnumpy(), whole, rtol=1e-6)


# -- with an optimizer


def test_the_optimizer_runs_in_the_store():
    kv = store("sgd", learning_rate=0.5)
    kv.push("r", [sparse([0, 1], [2, 2]), sparse([1], [2])])
    assert column(kv, "r") == [-1, -1, 0, 0, 0, 5, 0, 0]
    kv.push("d", sparse([3], [2]))
    assert column(kv, "d") == [1, 1, 1, 0, 1, 1, 1, 1]


def test_the_optimizer_stays_the_users():
    kv = kvstore.create()
    kv.init(0, nd.zeros(SHAPE))
    optimizer = opt.create("sgd", learning_rate=1)
    kv.set_optimizer(optimizer)
    kv.push(0, nd.ones(SHAPE))
    optimizer.set_learning_rate(0.5)
    kv.push(0, nd.ones(SHAPE))
    assert column(kv, 0) == [-1.5] * 8


def test_multipliers_by_key():
    kv = kvstore.create()
    kv.init(["a", "b"], [nd.zeros(SHAPE)] * 2)
    optimizer = opt.create("sgd", learning_rate=1)
    optimizer.set_lr_mult({"b": 3})
    kv.set_optimizer(optimizer)
    kv.push(["a", "b"], [nd.ones(SHAPE)] * 2)
    assert (column(kv, "a")[0], column(kv, "b")[0]) == (-1, -3)


def python_sgd(key, grad, weight):
    if grad.stype == "row_sparse":
        assert weight.stype == "row_sparse"
    opt.create("sgd", learning_rate=0.5).update(0, weight, grad, None)


def test_an_updater_in_python():
    reference, kv = store("sgd", learning_rate=0.5), store()
    kv.set_updater(python_sgd)
    for k in (reference, kv):
        k.init_rows("lazy", SHAPE, initializer=2.0)
        k.push("d", [nd.ones(SHAPE), nd.ones(SHAPE)])
        k.push("r", sparse([0, 5], [1, 2]))
        k.push("r", sparse([0], [1]))
        k.push("lazy", sparse([4], [1]))
        k.init("half", nd.ones(SHAPE, dtype="float16"))
        k.push("half", nd.ones(SHAPE, dtype="float16"))
    for key in ("d", "r", "lazy", "half"):
        np.testing.assert_array_equal(pulled(kv, key), pulled(reference, key))
    seen = []
    kv._set_updater(lambda key, grad, weight: seen.append((key, grad.stype, weight.stype)))
    kv.push("r", [sparse([0], [1]), sparse([1], [1])])
    assert seen == [("r", "row_sparse", "row_sparse")]


@pytest.mark.parametrize("dump_optimizer", [False, True])
@pytest.mark.parametrize("own", [True, False], ids=["on rows", "on arrays"])
def test_states_go_to_a_file_and_back(tmp_path, dump_optimizer, own):
    def fresh():
        kv = kvstore.create()
        kv.init("d", nd.ones(SHAPE))
        kv.init("r", sparse([1, 5], [1, 5]))
        optimizer = opt.create("adam", learning_rate=0.1)
        if own:
            kv.set_optimizer(optimizer)
        else:
            kv.set_updater(opt.get_updater(optimizer))
        return kv

    pushes = [("d", nd.ones(SHAPE)), ("r", sparse([1, 2], [3, 4])), ("r", sparse([2, 5], [1, 1]))]
    kv = fresh()
    for key, grad in pushes:
        kv.push(key, grad)
    name = str(tmp_path / "states")
    kv.save_optimizer_states(name, dump_optimizer)
    other = kvstore.create()
    other.init("d", nd.array(pulled(kv, "d")))
    other.init("r", nd.array(pulled(kv, "r")).tostype("row_sparse"))
    if own:
        other.set_optimizer(opt.create("adam", learning_rate=0.1))
    else:
        other.set_updater(opt.get_updater(opt.create("adam", learning_rate=0.1)))
    other.load_optimizer_states(name)
    for key, grad in pushes:
        kv.push(key, grad)
        other.push(key, grad)
    for key in ("d", "r"):
        np.testing.assert_array_equal(pulled(other, key), pulled(kv, key))


def test_what_needs_an_optimizer_says_so(tmp_path):
    kv = store()
    with pytest.raises(ArgumentError, match="set_optimizer first"):
        kv.save_optimizer_states(str(tmp_path / "x"))
    with pytest.raises(ArgumentError, match="set_optimizer first"):
        kv.load_optimizer_states(str(tmp_path / "x"))
    with pytest.raises(ArgumentTypeError, match="wanted an Optimizer"):
        kv.set_optimizer("sgd")
    with pytest.raises(ArgumentTypeError, match="wanted a function"):
        kv.set_updater(3)
    with pytest.raises(ArgumentError, match="Gradient compression is not supported"):
        kv.set_gradient_compression({"type": "2bit"})


# -- golden values


@pytest.fixture(scope="session")
def golden(golden_dir):
    manifest = json.loads((golden_dir / "mxnet" / "golden.json").read_text())
    return {c["id"]: c for c in manifest}, np.load(golden_dir / "mxnet" / "golden.npz")


def recorded(arrays, key, shape=SHAPE):
    return nd.sparse.row_sparse_array((arrays[f"{key}.data"], arrays[f"{key}.indices"]), shape=shape)


@pytest.mark.parametrize(
    ("name", "pushes", "numbers"),
    [
        ("k118_push_two_assign", 1, None),
        ("k119_push_sgd_mom", 2, {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}),
    ],
)
def test_golden_values_of_mxnet(golden, name, pushes, numbers):
    cases, arrays = golden
    inputs = {k: v["key"] for k, v in cases[name]["inputs"].items()}
    kv = kvstore.create("local")
    kv.init("w", recorded(arrays, inputs["weight"]))
    ids = np.arange(8)
    if numbers is not None:
        kv.set_optimizer(opt.create("sgd", **numbers))
        ids = arrays[f"{inputs['row_ids']}.dense"]
    for _ in range(pushes):
        kv.push("w", [recorded(arrays, inputs["g1"]), recorded(arrays, inputs["g2"])])
    out = nd.sparse.zeros("row_sparse", SHAPE)
    kv.row_sparse_pull("w", out, row_ids=nd.array(ids))
    wanted = cases[name]["outputs"]["0"]["key"]
    np.testing.assert_array_equal(out.indices.asnumpy(), arrays[f"{wanted}.indices"])
    np.testing.assert_allclose(out.data.asnumpy(), arrays[f"{wanted}.data"], rtol=1e-6, atol=1e-7)


def test_every_golden_case_is_tested(golden):
    assert {k for k, c in golden[0].items() if c["op"].startswith("kvstore.")} == {
        "k118_push_two_assign",
        "k119_push_sgd_mom",
    }
