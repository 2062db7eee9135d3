"""The row slab against a dictionary."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndsparse.errors import ArgumentError, ShapeError
from ndsparse.kvstore import row_slab
from ndsparse.kvstore.row_init import RowInit, row_init
from ndsparse.kvstore.row_slab import RowSlab

EXTREMES = [0, -1, 1, -(2**63), 2**63 - 1, 5_000_000_000]


@pytest.fixture
def small(monkeypatch):
    """Chunks and tables so small that a few rows need many."""
    monkeypatch.setattr(row_slab, "_FIRST_ROWS", 2)
    monkeypatch.setattr(row_slab, "_LARGE_CHUNK", 32)


def ids_of(*values):
    return np.array(values, np.int64)


def test_rows_are_found_again(small):
    slab = RowSlab(3, np.float32)
    ids = ids_of(*EXTREMES)
    rows = np.arange(18, dtype=np.float32).reshape(6, 3)
    slab.write(ids[:4], rows[:4])
    slab.write(ids[3:], rows[3:])
    assert len(slab) == 6
    assert slab.chunks > 1
    np.testing.assert_array_equal(slab.read(ids[::-1]), rows[::-1])
    np.testing.assert_array_equal(slab.read(ids_of(-1, 77, -1)), [rows[1], [0] * 3, rows[1]])
    assert (slab.find(ids_of(77, -2)) == -1).all()
    order = np.argsort(ids)
    got_ids, got_rows = slab.export()
    np.testing.assert_array_equal(got_ids, ids[order])
    np.testing.assert_array_equal(got_rows, rows[order])


@given(
    batches=st.lists(
        st.lists(st.integers(-3, 40) | st.sampled_from(EXTREMES), unique=True, max_size=12), max_size=10
    ),
    seed=st.integers(0, 100),
)
def test_slab_is_a_dictionary(batches, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_slab, "_FIRST_ROWS", 2)
        patch.setattr(row_slab, "_LARGE_CHUNK", 32)
        first = RowInit("uniform", -1, 1, seed)
        slab, model = RowSlab(2, np.float64, first), {}
        rng = np.random.default_rng(seed)
        for batch in batches:
            ids = np.array(batch, np.int64)
            wanted = [model.get(i, first.rows(ids_of(i), 2, np.float64)[0]) for i in batch]
            np.testing.assert_array_equal(slab.read(ids), np.array(wanted).reshape(-1, 2))
            assert len(slab) == len(model)  # reading stores nothing
            rows = rng.normal(size=(len(ids), 2))
            slab.write(ids, rows)
            model.update(zip(batch, rows, strict=True))
        ids, rows = slab.export()
        assert list(ids) == sorted(model)
        for i, row in zip(ids, rows, strict=True):
            np.testing.assert_array_equal(row, model[int(i)])


def test_new_rows_begin_with_their_first_value(small):
    first = row_init(("normal", {"sigma": 0.5}), (100, 3), seed=2, key="w")
    slab = RowSlab(3, np.float32, first)
    ids = np.random.default_rng(0).permutation(50).astype(np.int64)
    computed = slab.read(ids)
    slab.find_or_insert(ids[:20])
    slab.find_or_insert(ids)  # some there, some not
    assert len(slab) == 50
    np.testing.assert_array_equal(slab.read(ids), computed)
    np.testing.assert_array_equal(computed, first.rows(ids, 3, np.float32))


def test_repeated_ids_are_one_row(small):
    slab = RowSlab(1, np.float32)
    places = slab.find_or_insert(ids_of(9, 8, 9, 9, 8))
    assert len(slab) == 2
    assert places[0] == places[2] == places[3]
    assert places[1] == places[4]


def test_groups_cover_the_places_once(small):
    slab = RowSlab(2, np.float32)
    ids = np.arange(30, dtype=np.int64)
    slab.find_or_insert(ids)
    asked = np.concatenate([ids[::-3], ids_of(99)])
    seen = np.concatenate([g.sources for g in slab.groups(slab.find(asked))])
    assert sorted(seen) == list(range(len(asked) - 1))
    for group in slab.groups(slab.find_or_insert(asked)):
        group.columns["weight"][group.rows, 0] = asked[group.sources]
    np.testing.assert_array_equal(slab.read(asked)[:, 0], asked)


def test_optimizer_columns_begin_at_zero(small):
    slab = RowSlab(3, np.float32)
    slab.find_or_insert(np.arange(5))
    slab.add_column("mom", 3, np.float32)
    slab.add_column("h", 1, np.float64)
    slab.find_or_insert(np.arange(12))
    assert not slab.read(np.arange(15), "mom").any()
    slab.write(ids_of(11, 30), np.array([[1.0], [2.0]]), "h")
    np.testing.assert_array_equal(slab.read(ids_of(30, 11, 4), "h"), [[2], [1], [0]])
    assert not slab.read(ids_of(30)).any()  # its weight got its first value
    slab.drop_column("mom")
    assert [c.name for c in slab.columns] == ["weight", "h"]
    with pytest.raises(ArgumentError, match="already"):
        slab.add_column("h", 1, np.float32)
    with pytest.raises(ArgumentError, match="no column 'weight'"):
        slab.drop_column("weight")


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.int32, np.int64, np.bool_])
def test_rows_of_any_dtype_are_moved(dtype):
    slab = RowSlab(2, dtype)
    rows = np.array([[0, 1], [1, 1]], dtype)
    slab.write(ids_of(4, 2), rows)
    np.testing.assert_array_equal(slab.read(ids_of(2, 3, 4)), [rows[1], [0, 0], rows[0]])


def test_clear(small):
    slab = RowSlab(2, np.float32, RowInit("constant", 5.0))
    slab.write(np.arange(9), np.ones((9, 2)))
    slab.clear()
    assert len(slab) == 0
    assert (slab.read(ids_of(1)) == 5).all()
    slab.clear(RowInit())
    assert (slab.read(ids_of(1)) == 0).all()


def test_no_rows_at_all():
    slab = RowSlab(2, np.float32)
    none = np.empty(0, np.int64)
    assert slab.read(none).shape == (0, 2)
    assert slab.find_or_insert(none).shape == (0,)
    ids, rows = slab.export()
    assert ids.shape == (0,)
    assert rows.shape == (0, 2)


def test_a_row_costs_little_more_than_its_payload():
    slab = RowSlab(64, np.float32)
    slab.add_column("history", 1, np.float32)
    rng = np.random.default_rng(0)
    for _ in range(5):
        slab.find_or_insert(rng.integers(0, 5_000_000_000, 20_000))
        memory = slab.memory()
        assert memory.rows == len(slab)
        assert memory.payload == len(slab) * 260
        assert memory.payload + memory.table <= 1.2 * memory.payload
        assert memory.reserved >= memory.payload + memory.table
    before = slab.memory()
    slab.read(rng.integers(0, 5_000_000_000, 10_000))
    assert slab.memory() == before


def test_reading_into_an_array():
    slab = RowSlab(2, np.float32)
    slab.write(ids_of(1), np.ones((1, 2)))
    out = np.full((2, 2), np.nan, np.float32)
    assert slab.read(ids_of(0, 1), out=out) is out
    np.testing.assert_array_equal(out, [[0, 0], [1, 1]])
    with pytest.raises(ShapeError, match=r"out is \(2, 2\) float32; wanted \(1, 2\)"):
        slab.read(ids_of(0), out=out)
