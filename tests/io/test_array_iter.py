"""NDArrayIter: the rows of every epoch, in every mode, for dense and csr arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import ndsparse as mx
from ndsparse import random
from ndsparse.errors import ArgumentError, ArgumentTypeError, ShapeError
from ndsparse.io import NDArrayIter


def matrix(rows: int, stype: str = "default", width: int = 3) -> Any:
    """Return an array whose row i holds i + 1 in column i mod width."""
    dense = np.zeros((rows, width), dtype=np.float32)
    dense[np.arange(rows), np.arange(rows) % width] = np.arange(rows) + 1
    array = mx.nd.array(dense)
    return array if stype == "default" else array.tostype(stype)


def ids(batch: Any) -> list[int]:
    """Return which rows of ``matrix`` a batch holds."""
    return (batch.data[0].asnumpy().sum(axis=1).astype(int) - 1).tolist()


def epoch(iterator: Any) -> list[tuple[list[int], int]]:
    return [(ids(batch), batch.pad) for batch in iterator]


@pytest.mark.parametrize("stype", ["default", "csr"])
@pytest.mark.parametrize(
    ("mode", "epochs"),
    [
        ("pad", [[([0, 1], 0), ([2, 3], 0), ([4, 0], 1)]] * 2),
        ("discard", [[([0, 1], 0), ([2, 3], 0)]] * 2),
        (
            "roll_over",
            [[([0, 1], 0), ([2, 3], 0)], [([4, 0], 0), ([1, 2], 0), ([3, 4], 0)], [([0, 1], 0), ([2, 3], 0)]],
        ),
    ],
)
def test_last_batches(stype: str, mode: str, epochs: list[list[tuple[list[int], int]]]) -> None:
    label = np.arange(5)
    iterator = NDArrayIter(matrix(5, stype), label, batch_size=2, last_batch_handle=mode)
    for expected in epochs:
        batches = list(iterator)
        assert [(ids(b), b.pad) for b in batches] == expected
        for batch in batches:
            assert batch.data[0].stype == stype
            assert batch.data[0].shape == (2, 3)
            batch.data[0].check_format(full_check=True)
            assert batch.label[0].asnumpy().tolist() == ids(batch)
            assert batch.index.tolist() == ids(batch)
        with pytest.raises(StopIteration):
            iterator.next()
        iterator.reset()


@pytest.mark.parametrize("mode", ["pad", "discard", "roll_over"])
@pytest.mark.parametrize("stype", ["default", "csr"])
def test_batches_larger_than_the_data(mode: str, stype: str) -> None:
    iterator = NDArrayIter(matrix(2, stype), batch_size=5, last_batch_handle=mode)
    got = []
    for _ in range(3):
        got.append(epoch(iterator))
        iterator.reset()
    expected: dict[str, Any] = {
        "pad": [[([0, 1, 0, 1, 0], 3)]] * 3,
        "discard": [[], [], []],
        "roll_over": [[], [], [([0, 1, 0, 1, 0], 0)]],
    }
    assert got == expected[mode]


@given(
    rows=st.integers(1, 12),
    size=st.integers(1, 7),
    mode=st.sampled_from(["pad", "discard", "roll_over"]),
    stype=st.sampled_from(["default", "csr"]),
    seed=st.integers(0, 100),
)
def test_shuffled_epochs_hold_every_row(rows: int, size: int, mode: str, stype: str, seed: int) -> None:
    iterator = NDArrayIter(
        matrix(rows, stype), batch_size=size, shuffle=True, last_batch_handle=mode, seed=seed
    )
    seen: list[int] = []
    for _ in range(size):
        for batch in iterator:
            assert batch.data[0].stype == stype
            assert batch.index.tolist() == ids(batch)
            seen += ids(batch)[: size - batch.pad]
        iterator.reset()
    counts = np.bincount(seen, minlength=rows)
    if mode == "discard":
        assert len(seen) == size * (rows // size) * size
    else:  # whole epochs, or with roll_over nothing left after as many epochs as a batch has rows
        assert counts.tolist() == [size] * rows


def test_the_order_follows_the_seed() -> None:
    def orders(**options: Any) -> list[list[int]]:
        iterator = NDArrayIter(matrix(20), batch_size=20, shuffle=True, **options)
        first = epoch(iterator)[0][0]
        iterator.reset()
        return [first, epoch(iterator)[0][0]]

    assert orders(seed=1) == orders(seed=1) != orders(seed=2)
    assert orders(seed=1)[0] != orders(seed=1)[1]
    random.seed(3)
    first = orders()
    random.seed(3)
    assert orders() == first


def test_data_and_labels_stay_together_when_shuffled() -> None:
    labels = mx.nd.array(np.eye(9, dtype=np.float32)).tostype("csr")
    iterator = NDArrayIter(matrix(9, "csr"), labels, batch_size=4, shuffle=True, seed=0)
    for batch in iterator:
        assert batch.label[0].stype == "csr"
        assert batch.label[0].asnumpy().argmax(axis=1).tolist() == ids(batch)


def test_resetting_in_the_middle_and_twice() -> None:
    iterator = NDArrayIter(matrix(5), batch_size=2, last_batch_handle="roll_over")
    iterator.next()
    iterator.reset()
    assert epoch(iterator) == [([0, 1], 0), ([2, 3], 0)]
    iterator.reset()
    iterator.reset()
    assert epoch(iterator)[0] == ([4, 0], 0)
    iterator.reset()
    iterator.hard_reset()
    assert epoch(iterator)[0] == ([0, 1], 0)


@pytest.mark.parametrize(
    "source",
    [
        matrix(4, "csr"),
        sparse.csr_matrix(matrix(4).asnumpy()),
        sparse.csc_array(matrix(4).asnumpy()),
        sparse.coo_array(matrix(4).asnumpy()),
        matrix(4).tostype("row_sparse"),
    ],
    ids=["csr", "scipy csr", "scipy csc", "scipy coo", "row_sparse"],
)
def test_sparse_sources_give_csr_batches(source: Any) -> None:
    batches = list(NDArrayIter(source, batch_size=2))
    assert [b.data[0].stype for b in batches] == ["csr", "csr"]
    assert [ids(b) for b in batches] == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (np.ones((4, 2)), ["data"]),
        ([[1, 2], [3, 4]], ["data"]),
        ([np.ones((4, 2))], ["data"]),
        ([np.ones((4, 2)), matrix(4, "csr")], ["_0_data", "_1_data"]),
        ({"b": np.ones((4, 2)), "a": sparse.csr_array(np.eye(4))}, ["b", "a"]),
    ],
)
def test_names(data: Any, names: list[str]) -> None:
    iterator = NDArrayIter(data, batch_size=2)
    assert [d.name for d in iterator.provide_data] == names
    assert [d.shape for d in iterator.provide_data] == [a.shape for a in iterator.next().data]
    assert iterator.provide_label == []
    labelled = NDArrayIter(data, data, batch_size=2, label_name="y")
    assert [d.name.replace("y", "data") for d in labelled.provide_label] == names


def test_batches_in_order_share_memory_and_operators_do_not_write_to_it() -> None:
    source = matrix(4, "csr")
    batch = next(NDArrayIter(source, batch_size=2))
    assert np.shares_memory(batch.data[0]._chunk.data, source._chunk.data)
    before = source.asnumpy().tolist()
    mx.nd.square(batch.data[0], out=batch.data[0])
    assert source.asnumpy().tolist() == before


def test_higher_dimensions_and_dtypes() -> None:
    data = np.arange(24, dtype=np.int32).reshape(4, 3, 2)
    iterator = NDArrayIter(mx.nd.array(data, dtype="int32"), batch_size=3)
    assert iterator.provide_data[0].shape == (3, 3, 2)
    assert iterator.provide_data[0].dtype == np.int32
    assert [b.data[0].asnumpy().tolist() for b in iterator] == [
        data[:3].tolist(),
        data[[3, 0, 1]].tolist(),
    ]


@pytest.mark.parametrize(
    ("arguments", "error", "reason"),
    [
        (
            {"data": np.ones((3, 1)), "last_batch_handle": "keep"},
            ArgumentError,
            "last_batch_handle: expected one of",
        ),
        ({"data": np.ones((3, 1)), "batch_size": 0}, ArgumentError, "batch_size: expected"),
        ({"data": {}}, ArgumentError, "data: expected at least one array"),
        ({"data": np.ones((3, 1)), "label": np.ones(4)}, ShapeError, "equally many rows"),
        ({"data": object()}, ArgumentTypeError, "data: expected an NDArray"),
        ({"data": np.float32(1)}, ShapeError, "expected rows"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, Any], error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        NDArrayIter(**arguments)


def test_no_rows_give_no_batches() -> None:
    assert epoch(NDArrayIter(np.ones((0, 2)), batch_size=2)) == []
