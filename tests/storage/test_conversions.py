"""Conversion between storage types keeps every value, sorts, and never goes through dense."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp

from ndsparse.errors import ShapeError
from ndsparse.storage import CSRChunk, DefaultChunk, RowSparseChunk, cast, converted, storage_class
from ndsparse.storage.chunk import DTYPES

STYPES = ("default", "row_sparse", "csr")
SPECIAL = (0.0, -0.0, 1.0, -2.5, np.nan, np.inf, 3.0)


def same(found: np.ndarray, wanted: np.ndarray) -> bool:
    """Equal values and dtypes, NaN equal to itself; the sign of a zero is not kept."""
    return found.dtype == wanted.dtype and np.array_equal(found, wanted, equal_nan=wanted.dtype.kind == "f")


def of(dense: np.ndarray, stype: str) -> DefaultChunk | CSRChunk | RowSparseChunk:
    """Return a chunk made element by element, with the loops that the definitions suggest."""
    chunk = storage_class(stype)(dense.shape, dense.dtype)
    if stype == "default":
        chunk.adopt(dense.copy())
    elif stype == "csr":
        found = [(i, j) for i in range(dense.shape[0]) for j in range(dense.shape[1]) if dense[i, j] != 0]
        counts = [0] * (dense.shape[0] + 1)
        for i, _ in found:
            counts[i + 1] += 1
        data = np.array([dense[i, j] for i, j in found], dense.dtype)
        chunk.adopt(data, np.cumsum(counts), np.array([j for _, j in found], np.int64))
    else:
        ids = [i for i in range(dense.shape[0]) if (dense[i] != 0).any()]
        chunk.adopt(np.ascontiguousarray(dense[ids]), np.array(ids, np.int64))
    return chunk


@st.composite
def arrays(draw: st.DrawFn, ndim: int | None = None) -> np.ndarray:
    shape = draw(hnp.array_shapes(min_dims=ndim or 1, max_dims=ndim or 3, min_side=0, max_side=6))
    dtype = draw(st.sampled_from(DTYPES))
    values = draw(hnp.arrays(np.float64, shape, elements=st.sampled_from(SPECIAL)))
    mask = draw(hnp.arrays(np.bool_, shape))
    values = np.where(mask, values, 0)
    if dtype.kind != "f":
        values = np.nan_to_num(values, nan=5, posinf=7)
        values = np.abs(values) if dtype.kind in "ub" else values
    return values.astype(dtype)


@given(arrays(2), st.sampled_from(STYPES), st.sampled_from(STYPES))
def test_every_pair_keeps_values_and_is_canonical(dense, before, after):
    source = of(dense, before)
    source.check_format(full_check=True)
    result = converted(source, after)
    assert result.stype == after
    assert result.shape == dense.shape
    result.check_format(full_check=True)
    assert same(result.to_dense(), dense)
    assert same(source.to_dense(), dense)
    assert not np.shares_memory(result.data, source.data)


@given(arrays(), st.booleans())
def test_row_sparse_of_any_rank(dense, back):
    source, after = (of(dense, "row_sparse"), "default") if back else (of(dense, "default"), "row_sparse")
    result = converted(source, after)
    result.check_format(full_check=True)
    assert same(result.to_dense(), dense)


@given(arrays(2), st.sampled_from(STYPES), st.sampled_from(STYPES), st.booleans(), st.data())
def test_into_an_array_that_holds_something(dense, before, after, pinned, data):
    old = data.draw(hnp.arrays(dense.dtype, dense.shape, elements=st.sampled_from([0, 1])))
    target = of(old, after)
    held, was = target.data, target.data.copy()
    if pinned:
        target.pin()
    cast(of(dense, before), target)
    target.check_format(full_check=True)
    assert same(target.to_dense(), dense)
    if pinned:
        assert np.array_equal(held, was, equal_nan=held.dtype.kind == "f")


@pytest.mark.parametrize("before", STYPES)
@pytest.mark.parametrize("after", STYPES)
def test_dtypes_convert_on_the_way(before, after):
    dense = np.array([[0, 1, 0], [2, 0, 3]], np.float32)
    for dtype in (np.float64, np.int8, np.bool_):
        for target in (storage_class(after)((2, 3), dtype), of(np.ones((2, 3), dtype), after)):
            cast(of(dense, before), target)
            assert same(target.to_dense(), dense.astype(dtype))


@given(arrays(2), st.randoms(use_true_random=False), st.booleans())
def test_csr_with_unsorted_and_repeated_columns(dense, random, wide):
    chunk = of(dense, "csr")
    indptr, indices, data = (a.copy() for a in chunk.csr)
    order = np.arange(len(indices))
    for begin, end in itertools.pairwise(indptr):
        part = order[begin:end].tolist()
        random.shuffle(part)
        order[begin:end] = part
    order = np.repeat(order, 2)  # each element twice: v and 0
    values = data[order]
    values[1::2] = 0
    dtype = np.int32 if dense.dtype == np.float32 and not wide else np.int64  # one set of kernels more
    messy = CSRChunk(dense.shape, dense.dtype)
    messy.adopt(values, (2 * indptr).astype(dtype), indices[order].astype(dtype))
    for after in STYPES:
        result = converted(messy, after)
        if after != "csr":
            result.check_format(full_check=True)
        assert same(result.to_dense(), dense)
    messy.canonicalize()
    messy.check_format(full_check=True)
    assert same(messy.to_dense(), dense)


def test_nan_is_an_element_and_minus_zero_is_none():
    dense = np.array([[np.nan, -0.0], [0.0, -0.0]], np.float32)
    for stype in ("csr", "row_sparse"):
        chunk = converted(of(dense, "default"), stype)
        assert len(chunk.data) == 1
        assert np.isnan(chunk.data.ravel()[0])


def test_stored_zeros_survive_between_sparse_types():
    chunk = CSRChunk((3, 2), np.float32)
    chunk.adopt(np.array([0, 5], np.float32), np.array([0, 1, 1, 2]), np.array([1, 0]))
    assert converted(chunk, "csr").data.tolist() == [0, 5]
    assert converted(chunk, "row_sparse").indices.tolist() == [0, 2]
    assert converted(chunk, "default").data.tolist() == [[0, 0], [0, 0], [5, 0]]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_the_dtype_of_index_arrays_is_kept_between_sparse_types(dtype):
    csr = CSRChunk((3, 2), np.float32)
    csr.adopt(np.ones(2, np.float32), np.array([0, 1, 1, 2], dtype), np.array([1, 0], dtype))
    rows = converted(csr, "row_sparse")
    assert rows.indices.dtype == dtype
    back = converted(rows, "csr")
    assert (back.indptr.dtype, back.indices.dtype) == (dtype, dtype)
    assert converted(csr, "csr").indices.dtype == dtype


def test_from_dense_index_arrays_are_as_the_target_had_them():
    dense = of(np.eye(3, dtype=np.float32), "default")
    assert converted(dense, "csr").indices.dtype == np.int64
    target = CSRChunk((3, 3), np.float32, [np.int32, np.int32])
    cast(dense, target)
    assert (target.indptr.dtype, target.indices.dtype) == (np.int32, np.int32)
    rows = RowSparseChunk((3, 3), np.float32, [np.int32])
    cast(dense, rows)
    assert rows.indices.dtype == np.int32


LAYOUTS = {
    "fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2],
    "reversed": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": lambda a: np.require(a.copy(), requirements="C"),
    "broadcast": lambda a: np.broadcast_to(a[:1], a.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("after", STYPES)
def test_dense_sources_of_any_layout(layout, after):
    array = LAYOUTS[layout](np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 4, 0]], np.float32))
    array.flags.writeable = False
    result = converted(DefaultChunk.of(array), after)
    assert same(result.to_dense(), array)
    assert result.data.flags.writeable


@pytest.mark.parametrize("before", STYPES)
def test_into_a_dense_view_that_is_not_contiguous(before):
    dense = np.array([[0, 1], [2, 0], [0, 0]], np.float32)
    backing = np.full((3, 4), 9, np.float32)
    view = DefaultChunk.of(backing[:, 1:3])
    cast(of(dense, before), view)
    assert np.array_equal(backing[:, 1:3], dense)
    assert (backing[:, [0, 3]] == 9).all()


def test_read_only_sparse_sources():
    dense = np.array([[0, 1, 0], [2, 0, 3]], np.float64)
    for before in ("csr", "row_sparse"):
        chunk = of(dense, before)
        for array in (chunk.data, *(chunk.aux(i) for i in range(len(chunk.aux_names)))):
            array.flags.writeable = False
        for after in STYPES:
            assert same(converted(chunk, after).to_dense(), dense)


def test_shapes_must_agree_and_suit_the_storage_type():
    with pytest.raises(ShapeError, match=r"cast_storage: the shapes differ: \(2, 2\) and \(3, 2\)"):
        cast(DefaultChunk((2, 2), np.float32), CSRChunk((3, 2), np.float32))
    with pytest.raises(ShapeError, match="a csr array has 2 dimensions"):
        converted(DefaultChunk((2, 2, 2), np.float32), "csr")
    with pytest.raises(ShapeError, match="at least 1 dimension"):
        converted(DefaultChunk((), np.float32), "row_sparse")


# -- huge shapes -----------------------------------------------------------------------------------------


@contextmanager
def allocating_less_than(limit: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()


def test_row_sparse_of_2_to_the_40_rows():
    ids = np.array([0, 2**35, 2**40 - 1])
    chunk = RowSparseChunk((2**40, 3), np.float32)
    chunk.adopt(np.ones((3, 3), np.float32), ids)
    with allocating_less_than(2**20):
        twin = converted(chunk, "row_sparse")
        twin.check_format(full_check=True)
        again = RowSparseChunk(chunk.shape, np.float64)
        again.set_coo(*twin.to_coo())
    assert again.indices.tolist() == ids.tolist()
    assert (again.data == 1).all()


def test_csr_of_2_to_the_33_columns():
    columns = np.array([5, 2**33 - 1, 2**32])
    chunk = CSRChunk((2, 2**33), np.float32)
    with allocating_less_than(2**20):
        chunk.set_coo((np.array([1, 0, 1]), columns), np.array([1, 2, 3], np.float32))
        chunk.check_format(full_check=True)
        twin = converted(chunk, "csr")
    assert twin.indices.tolist() == [2**33 - 1, 5, 2**32]
    assert twin.data.tolist() == [2, 1, 3]


def test_sparse_types_convert_without_a_dense_array():
    csr = CSRChunk((200_000, 100), np.float64)
    csr.set_coo((np.array([7, 150_000]), np.array([99, 3])), np.array([1.0, 2.0]))
    dense_bytes = 200_000 * 100 * 8
    with allocating_less_than(dense_bytes // 10):
        rows = converted(csr, "row_sparse")
        back = converted(rows, "csr")
    assert rows.indices.tolist() == [7, 150_000]
    assert back.indices.tolist() == [99, 3]
