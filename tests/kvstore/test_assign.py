"""Replacing weights of a store that has an optimizer."""

from __future__ import annotations

import numpy as np
import pytest

from ndsparse import kvstore, nd, optimizer
from ndsparse.errors import KeyNotFound, NDSparseError, ShapeError


def pulled(store, key, shape):
    out = nd.zeros(shape)
    store.pull(key, out=out)
    return out.asnumpy()


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_the_weight_is_replaced_and_the_states_stay(stype):
    store = kvstore.create("local")
    store.set_optimizer(optimizer.create("adagrad", learning_rate=1.0, eps=0))
    first = nd.array([[1, 1], [0, 0], [2, 2]]).tostype(stype)
    store.init("w", first)
    grad = nd.array([[3, 3], [0, 0], [0, 0]]).tostype("row_sparse")
    store.push("w", grad)  # history of row 0 is 9 now
    store.assign("w", nd.array([[0, 0], [5, 5], [0, 0]]).tostype(stype))
    assert pulled(store, "w", (3, 2)).tolist() == [[0, 0], [5, 5], [0, 0]]
    store.push("w", grad)  # -3 / sqrt(9 + 9)
    np.testing.assert_allclose(pulled(store, "w", (3, 2))[0], -3 / np.sqrt(18), rtol=1e-6)
    store.assign(["w"], [nd.ones((3, 2))])
    assert pulled(store, "w", (3, 2)).tolist() == [[1, 1]] * 3


def test_rows_that_were_never_stored_become_zeros_too():
    store = kvstore.create("local")
    store.init_rows("w", (4, 1), initializer=7.0)
    store.assign("w", nd.sparse.row_sparse_array(([[5]], [2]), shape=(4, 1)))
    assert pulled(store, "w", (4, 1)).ravel().tolist() == [0, 0, 5, 0]


def test_wrong_shapes_and_keys_are_refused():
    store = kvstore.create("local")
    store.init("w", nd.ones((2, 2)))
    with pytest.raises(NDSparseError):
        store.assign("w", nd.ones((3, 2)))
    with pytest.raises(ShapeError):
        store.assign("w", nd.zeros((3, 2), stype="row_sparse"))
    with pytest.raises(KeyNotFound):
        store.assign("v", nd.ones((2, 2)))
