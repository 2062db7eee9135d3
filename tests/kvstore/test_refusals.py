"""A batch that is refused is refused whole, and its sequence number is still due."""

import numpy as np
import pytest

from ndsparse import optimizer as opt
from ndsparse.errors import ArgumentError, DTypeError, NDSparseError
from ndsparse.kvstore import entries
from ndsparse.kvstore.row_init import row_init
from ndsparse.kvstore.shard import Shard

ONES = np.ones((4, 2), np.float32)
ROW = (np.array([1]), np.ones((1, 2), np.float32))


def two_keys(workers=1, b_dtype="float32"):
    shard = Shard(workers)
    shard.init_dense("a", ONES)
    shard.init_rows("b", (4, 2), b_dtype, first=row_init("one", (4, 2), seed=0, key="b", dtype=b_dtype))
    return shard


def assert_refused(shard, batch, error):
    before, counts = shard.pull("a"), shard.optimizer.counts()
    for _ in range(2):
        with pytest.raises(error):
            shard.push(batch, sequence=1)
    assert np.array_equal(shard.pull("a"), before)
    assert shard.last_sequence(0) == 0
    assert shard.version("a") == 0
    assert shard.optimizer.counts() == counts


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exact_decay_of_too_many_rows(monkeypatch, workers):
    shard = two_keys(workers)
    shard.set_optimizer({"name": "sgd", "learning_rate": 0.5, "wd": 0.5, "lazy_update": False})
    monkeypatch.setattr(entries, "WHOLE_LIMIT", 3)
    assert_refused(shard, {"a": (None, ONES), "b": ROW}, ArgumentError)
    monkeypatch.undo()  # the retry is taken, and no gradient was queued before
    for worker in range(workers):
        assert shard.push({"a": (None, ONES), "b": ROW}, worker=worker, sequence=1).accepted
    assert shard.pull("a")[0, 0] == 1 - 0.5 * (workers + 0.5)
    assert shard.pull("b")[:, 0].tolist() == [0.75, 0.75 - 0.5 * workers, 0.75, 0.75]
    assert shard.version("a") == shard.version("b") == 1


def test_a_weight_of_integers():
    shard = two_keys(b_dtype="int32")
    shard.set_optimizer({"name": "sgd"})
    assert_refused(shard, {"a": (None, ONES), "b": ROW}, DTypeError)


@pytest.mark.parametrize("dtype", ["U3", "complex64", object])
def test_a_gradient_that_is_no_real_numbers(dtype):
    shard = two_keys()
    shard.set_optimizer({"name": "sgd"})
    assert_refused(shard, {"a": (None, ONES), "b": (ROW[0], ROW[1].astype(dtype))}, DTypeError)


def test_an_optimizer_that_refuses_the_decay_of_one_key():
    shard = two_keys()
    optimizer = opt.create("groupadagrad", wd=0.5)
    optimizer.set_wd_mult({"a": 0.0})
    shard.set_optimizer(optimizer)
    assert_refused(shard, {"a": (None, ONES), "b": ROW}, NDSparseError)


def test_a_preview_counts_nothing():
    optimizer, other = opt.create("adam"), opt.create("adam")
    for _ in range(3):
        assert optimizer.preview("w") == optimizer.preview("w") == other.numbers("w")
        optimizer.numbers("w")
    assert optimizer.counts() == other.counts()


def test_what_an_exception_of_an_updater_means():
    shard, broken = two_keys(workers=2), [True]

    def update(key, gradient, entry):
        if key == "b" and broken:
            raise ZeroDivisionError
        entry.assign(gradient)

    shard.set_update(update)
    batch = {"a": (None, ONES), "b": (None, ONES)}
    shard.push(batch, worker=0)
    with pytest.raises(ZeroDivisionError):
        shard.push(batch, worker=1, sequence=1)
    assert (shard.version("a"), shard.version("b"), shard.last_sequence(1)) == (1, 0, 0)
    broken.clear()
    assert shard.push({"b": batch["b"]}, worker=1, sequence=1).versions == {"b": 1}
    assert (shard.pull("b") == 2).all()  # worker 0's gradient had waited on
