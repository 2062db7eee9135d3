"""The shard: pushes exactly once, in the order of workers; snapshots; rows against a dense model."""

import itertools

import numpy as np
import pytest

from ndsparse import optimizer as opt
from ndsparse.errors import (
    ArgumentError,
    ArgumentTypeError,
    FileFormatError,
    IndexOutOfBounds,
    KeyNotFound,
    ShapeError,
)
from ndsparse.kvstore import entries, row_slab
from ndsparse.kvstore.row_init import row_init
from ndsparse.kvstore.shard import SequenceGap, Shard
from ndsparse.kvstore.snapshot import read_states, write_states
from ndsparse.optimizer.archive import replace_file

UNIFORM = row_init(("uniform", {"scale": 0.5}), (20, 3), seed=1, key="w")


@pytest.fixture
def small(monkeypatch):
    """Slabs of many chunks."""
    monkeypatch.setattr(row_slab, "_FIRST_ROWS", 2)
    monkeypatch.setattr(row_slab, "_LARGE_CHUNK", 32)


def batches(workers=2, steps=6, rows=20, width=3, seed=0):
    """``batches[step][worker]``: rows of two keys."""
    rng = np.random.default_rng(seed)

    def gradient():
        ids = np.sort(rng.permutation(rows)[:5])
        return ids, rng.normal(size=(5, width)).astype(np.float32)

    return [
        [{"w": gradient(), 3: (None, rng.normal(size=(4, 2)).astype(np.float32))} for _ in range(workers)]
        for _ in range(steps)
    ]


def new_shard(optimizer="adam", workers=2, sync=True, **numbers):
    shard = Shard(workers, sync=sync)
    shard.init_rows("w", (20, 3), first=UNIFORM)
    shard.init_dense(3, np.ones((4, 2), np.float32))
    if optimizer:
        shard.set_optimizer({"name": optimizer, "learning_rate": 0.1, **numbers})
    return shard


def everything(shard):
    return {key: shard.pull(key) for key in shard}


def assert_same(a, b):
    assert a.keys() == b.keys()
    for key in a:
        np.testing.assert_array_equal(a[key], b[key])


def test_pushes_without_an_optimizer_replace():
    shard = Shard()
    shard.init_dense("d", np.ones((3, 2)))
    shard.init_rows("r", (3, 2), np.float64, ids=[0, 2], rows=np.ones((2, 2)))
    for key in ("d", "r"):
        shard.push({key: (None, np.full((3, 2), 5.0))})
        np.testing.assert_array_equal(shard.pull(key), np.full((3, 2), 5))
        shard.push({key: (np.array([1]), np.array([[7.0, 8.0]]))})
        np.testing.assert_array_equal(shard.pull(key), [[0, 0], [7, 8], [0, 0]])
        assert shard.version(key) == 2


def test_rows_replaced_are_zero_elsewhere_even_if_they_began_otherwise():
    shard = new_shard(None, workers=1)
    assert shard.pull("w").all()
    shard.push({"w": (np.array([4]), np.ones((1, 3), np.float32))})
    wanted = np.zeros((20, 3))
    wanted[4] = 1
    np.testing.assert_array_equal(shard.pull("w"), wanted)


CASES = [
    ("sgd", {"momentum": 0.9, "wd": 0.1}),
    ("sgd", {"momentum": 0.9, "wd": 0.1, "lazy_update": False}),
    ("sgd", {"momentum": 0.9, "lazy_update": False}),
    ("nag", {"momentum": 0.9}),
    ("adam", {"lazy_update": False}),
    ("adam", {"wd": 0.1}),
    ("adamw", {"wd": 0.1}),
    ("adagrad", {}),
    ("groupadagrad", {}),
    ("rmsprop", {"centered": True, "clip_weights": 0.4}),
    ("ftrl", {}),
    ("ftrl", {"lazy_update": False}),
]


@pytest.mark.parametrize(("name", "numbers"), CASES, ids=str)
def test_rows_are_updated_as_a_dense_weight(small, name, numbers):
    """The same gradients on a slab of lazy rows and on a dense array that began with the same values."""
    shard = new_shard(name, workers=1, **numbers)
    shard.init_dense("dense", UNIFORM.rows(np.arange(20), 3, np.float32))
    for (batch,) in batches(workers=1):
        shard.push({"w": batch["w"], "dense": batch["w"]})
    np.testing.assert_array_equal(shard.pull("w"), shard.pull("dense"))
    shard.push({"w": (None, np.ones((20, 3))), "dense": (None, np.ones((20, 3)))})
    np.testing.assert_array_equal(shard.pull("w"), shard.pull("dense"))


def test_lazy_rows_cost_nothing_until_they_are_pushed():
    shard = Shard()
    shard.init_rows("w", (5_000_000_000, 4), first=UNIFORM)
    shard.set_optimizer({"name": "adagrad"})
    ids = np.array([4_999_999_999, 0, 4_999_999_999, 2**31])
    before = shard.pull_rows("w", ids)
    np.testing.assert_array_equal(before, UNIFORM.rows(ids, 4, np.float32))
    assert len(shard.entry("w").slab) == 0
    shard.push({"w": (ids[:2], np.ones((2, 4)))})
    assert len(shard.entry("w").slab) == 2
    after = shard.pull_rows("w", ids)
    assert (after[:3] < before[:3]).all()
    np.testing.assert_array_equal(after[3], before[3])


def test_an_exact_update_that_must_store_every_row(monkeypatch):
    shard = new_shard("sgd", workers=1, wd=0.5, lazy_update=False)
    shard.push({"w": (np.array([0]), np.zeros((1, 3)))})
    assert len(shard.entry("w").slab) == 20
    monkeypatch.setattr(entries, "WHOLE_LIMIT", 10)
    with pytest.raises(ArgumentError, match="use lazy_update=True"):
        shard.push({"w": (np.array([0]), np.zeros((1, 3)))})
    zeros = Shard()
    zeros.init_rows("w", (5_000_000_000, 3))
    zeros.set_optimizer({"name": "ftrl", "lazy_update": False})
    zeros.push({"w": (np.array([7]), np.ones((1, 3)))})  # rows of zeros stay zeros
    assert len(zeros.entry("w").slab) == 1


def test_half_precision_is_kept_in_single():
    shard = Shard()
    shard.init_dense("d", np.ones((2, 2), np.float16))
    shard.init_rows("r", (2, 2), np.float16, ids=[0, 1], rows=np.ones((2, 2), np.float16))
    shard.set_optimizer({"name": "sgd", "learning_rate": 1e-4})
    for _ in range(20):
        for key in ("d", "r"):
            shard.push({key: (None, np.ones((2, 2), np.float16))})
    for key in ("d", "r"):
        assert shard.pull(key).dtype == np.float16
        np.testing.assert_array_equal(shard.pull(key), np.full((2, 2), np.float16(0.998)))


# -- workers


def run(shard, steps):
    for step, of_workers in enumerate(steps, 1):
        for worker, batch in enumerate(of_workers):
            shard.push(batch, worker=worker, sequence=step)
    return everything(shard)


def test_rounds_are_summed_in_the_order_of_workers():
    steps = batches(workers=3)
    wanted = run(new_shard(workers=3), steps)
    for order in itertools.permutations(range(3)):
        shard = new_shard(workers=3)
        for step, of_workers in enumerate(steps, 1):
            for worker in order:
                shard.push(of_workers[worker], worker=worker, sequence=step)
        assert_same(everything(shard), wanted)


def test_a_worker_may_be_ahead():
    steps = batches()
    shard = new_shard()
    for worker in (1, 0):
        for step, of_workers in enumerate(steps, 1):
            receipt = shard.push(of_workers[worker], worker=worker)
            assert receipt.versions == {"w": step, 3: step}
    assert_same(everything(shard), run(new_shard(), steps))


def test_nothing_is_applied_before_the_last_worker():
    shard = new_shard()
    before = everything(shard)
    shard.push(batches()[0][1], worker=1)
    assert_same(everything(shard), before)
    assert shard.version("w") == 0


def test_keys_may_come_in_any_order():
    steps = batches()
    shard = new_shard()
    for of_workers in steps:
        for worker, keys in ((0, ("w", 3)), (1, (3, "w"))):
            for key in keys:
                shard.push({key: of_workers[worker][key]}, worker=worker)
    assert_same(everything(shard), run(new_shard(), steps))


def test_asynchronous_pushes_are_applied_at_once():
    shard = new_shard("sgd", sync=False)
    for step in (1, 2):
        receipt = shard.push({3: (None, np.ones((4, 2)))}, worker=1, sequence=step)
        assert receipt.versions == {3: step}
    np.testing.assert_allclose(shard.pull(3), np.full((4, 2), 0.8), rtol=1e-6)


def test_a_repeated_push_is_dropped():
    steps = batches()
    wanted = run(new_shard(), steps)
    shard = new_shard()
    for step, of_workers in enumerate(steps, 1):
        for worker, batch in enumerate(of_workers):
            assert shard.push(batch, worker=worker, sequence=step).accepted
            for old in range(1, step + 1):
                again = shard.push(steps[old - 1][worker], worker=worker, sequence=old)
                assert not again.accepted
    assert_same(everything(shard), wanted)
    assert shard.last_sequence(1) == len(steps)


def test_a_gap_is_an_error():
    shard = new_shard()
    batch = batches()[0][0]
    shard.push(batch, worker=0, sequence=1)
    with pytest.raises(SequenceGap, match="sequence number 3; wanted 2") as caught:
        shard.push(batch, worker=0, sequence=3)
    assert caught.value.expected == 2
    with pytest.raises(SequenceGap, match="sequence number 2; wanted 1"):
        shard.push(batch, worker=1, sequence=2)


def test_a_refused_push_is_not_taken():
    shard = new_shard()
    good = batches()[0][0]
    before = everything(shard)
    for bad, error in (
        ({"v": (None, np.ones(3))}, KeyNotFound),
        ({"w": (None, np.ones(3))}, ShapeError),
        ({"w": (np.array([20]), np.ones((1, 3)))}, IndexOutOfBounds),
    ):
        with pytest.raises(error):
            shard.push({**good, **bad}, worker=0, sequence=1)
    assert shard.last_sequence(0) == 0
    shard.push(good, worker=0, sequence=1)
    assert_same(everything(shard), before)
    shard.push(good, worker=1, sequence=1)
    assert shard.version("w") == 1


# -- snapshots


@pytest.mark.parametrize("cut", range(13))
def test_a_restored_shard_goes_on_as_if_nothing_had_happened(small, tmp_path, cut):
    """Kill it after any number of pushes, also between those of one round; repeat what is uncertain."""
    steps = batches()
    wanted = run(new_shard("adam", lr_scheduler={"name": "FactorScheduler", "step": 2, "factor": 0.5}), steps)
    shard = new_shard("adam", lr_scheduler={"name": "FactorScheduler", "step": 2, "factor": 0.5})
    sent = [(s, w) for s in range(1, len(steps) + 1) for w in (0, 1)]
    for step, worker in sent[:cut]:
        shard.push(steps[step - 1][worker], worker=worker, sequence=step)
    shard.snapshot(tmp_path / "shard")
    restored = Shard.restore(tmp_path / "shard")
    assert [restored.last_sequence(w) for w in (0, 1)] == [shard.last_sequence(w) for w in (0, 1)]
    assert_same(everything(restored), everything(shard))
    for step, worker in sent[max(0, cut - 3) :]:
        restored.push(steps[step - 1][worker], worker=worker, sequence=step)
    assert_same(everything(restored), wanted)
    assert restored.version("w") == len(steps)
    assert [p.name for p in tmp_path.iterdir()] == ["shard"]


def test_snapshot_keeps_what_rows_begin_with(tmp_path):
    shard = new_shard("groupadagrad", workers=1)
    shard.init_dense("half", np.ones((2, 2), np.float16))
    shard.push({"w": (np.array([4, 2]), np.ones((2, 3)))})
    shard.snapshot(tmp_path / "s")
    restored = Shard.restore(tmp_path / "s")
    assert len(restored.entry("w").slab) == 2
    assert_same(everything(restored), everything(shard))
    assert restored.pull("half").dtype == np.float16


def test_states_are_saved_alone(small, tmp_path):
    steps = batches(workers=1)
    shard = new_shard(workers=1)
    run(shard, steps[:3])
    write_states(shard, tmp_path / "states", dump_optimizer=True)
    other = Shard()
    for key in shard:
        if key == "w":
            other.init_rows(key, (20, 3), ids=np.arange(20), rows=shard.pull(key))
        else:
            other.init_dense(key, shard.pull(key))
    read_states(other, tmp_path / "states")
    for (batch,) in steps[3:]:
        shard.push(batch)
        other.push(batch)
    assert_same(everything(other), everything(shard))


def test_files_of_another_kind_are_refused(tmp_path):
    replace_file(tmp_path / "x", {"format": "other"}, [])
    with pytest.raises(FileFormatError, match="holds 'other'"):
        Shard.restore(tmp_path / "x")
    with pytest.raises(FileFormatError, match="holds 'other'"):
        read_states(Shard(), tmp_path / "x")


def test_refusals():
    shard = new_shard()
    with pytest.raises(ArgumentError, match="duplicate init of key 'w'"):
        shard.init_rows("w", (3, 3))
    with pytest.raises(KeyNotFound, match="'zz' is not in the store"):
        shard.pull("zz")
    with pytest.raises(ArgumentTypeError, match="wanted an int or a str"):
        shard.init_dense(1.5, np.ones(2))
    with pytest.raises(ArgumentError, match="worker 2: wanted 0 to 1"):
        shard.push({}, worker=2)
    with pytest.raises(ArgumentError, match="at least 1"):
        Shard(0)
    with pytest.raises(IndexOutOfBounds, match="id 20 is outside of the 20 rows"):
        shard.pull_rows("w", [20])
    with pytest.raises(ArgumentError, match="needs one with 'apply'"):
        shard.set_optimizer(opt.Optimizer())


def test_a_function_may_update():
    shard = new_shard(None, workers=2)
    seen = []
    shard.set_update(lambda key, gradient, entry: seen.append((key, len(gradient.rows), entry.stype)))
    for worker in (0, 1):
        shard.push({"w": (np.array([1, worker + 2]), np.ones((2, 3)))}, worker=worker)
    assert seen == [("w", 3, "row_sparse")]
    shard.set_update(None)
    for worker in (0, 1):
        shard.push({3: (None, np.ones((4, 2)))}, worker=worker)
    np.testing.assert_array_equal(shard.pull(3), np.full((4, 2), 2))


def test_changing_the_optimizer_drops_its_states():
    shard = new_shard("adam", workers=1)
    run(shard, batches(workers=1, steps=2))
    weights = everything(shard)
    shard.set_optimizer({"name": "sgd", "momentum": 0.9})
    assert_same(everything(shard), weights)
    assert [c.name for c in shard.entry("w").slab.columns] == ["weight", "mom"]
    assert list(shard.entry(3).states) == ["mom"]
    run_on = [{"w": (np.array([1]), np.ones((1, 3)))}, {3: (None, np.ones((4, 2)))}]
    for batch in run_on:
        shard.push(batch)
