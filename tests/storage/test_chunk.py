"""Buffers of a chunk: capacity, growth, delayed allocation, pinning, moves."""

from __future__ import annotations

import numpy as np
import pytest

from ndsparse.errors import ArgumentError, DTypeError, ShapeError, StorageTypeError
from ndsparse.storage import (
    Chunk,
    CSRChunk,
    DefaultChunk,
    RowSparseChunk,
    as_dtype,
    as_shape,
    register,
    storage_class,
    storage_types,
)

F32 = np.dtype(np.float32)
SPARSE = pytest.mark.parametrize(
    ("kind", "shape"), [(CSRChunk, (3, 4)), (RowSparseChunk, (3, 4)), (RowSparseChunk, (5,))]
)
EVERY = pytest.mark.parametrize("kind", [DefaultChunk, CSRChunk, RowSparseChunk])


def csr(nnz: int = 3) -> CSRChunk:
    chunk = CSRChunk((2, 10), F32)
    chunk.check_and_alloc_aux(0, (3,))[:] = [0, nnz, nnz]
    chunk.check_and_alloc_aux(1, (nnz,))[:] = range(nnz)
    chunk.check_and_alloc_data((nnz,))[:] = range(1, nnz + 1)
    return chunk


def filled(kind: type[Chunk]) -> Chunk:
    chunk = kind((3, 4), F32)
    dense = np.zeros((3, 4), F32)
    dense[1] = [0, 1, 0, 2]
    chunk.set_dense(dense)
    return chunk


# -- delayed allocation --------------------------------------------------------------------------------


@SPARSE
def test_a_new_sparse_chunk_holds_nothing_and_reads_as_zeros(kind, shape):
    chunk = kind(shape, F32)
    assert not chunk.initialized
    assert chunk.capacity == (0,) * (1 + len(kind.aux_names))
    assert chunk.nbytes == 0
    assert np.array_equal(chunk.to_dense(), np.zeros(shape, F32))
    chunk.check_format(full_check=True)


def test_facts_of_a_chunk_that_was_never_written_allocate_nothing():
    chunk = RowSparseChunk((2**40, 3), F32)
    assert chunk.storage_shape == (0, 3)
    assert chunk.aux_shapes == [(0,)]
    assert CSRChunk((2**40, 3), F32).aux_shapes == [(2**40 + 1,), (0,)]
    assert DefaultChunk((2**40, 3), F32).storage_shape == (2**40, 3)
    assert "row_sparse" in repr(chunk)
    assert not chunk.initialized


def test_the_empty_csr_has_an_indptr_of_zeros():
    chunk = CSRChunk((3, 4), F32)
    assert chunk.indptr.tolist() == [0, 0, 0, 0]
    assert chunk.indices.shape == chunk.data.shape == (0,)
    assert chunk.nnz == 0


def test_a_dense_chunk_that_was_never_written_reads_as_zeros():
    chunk = DefaultChunk((2, 2), F32)
    assert not chunk.initialized
    assert chunk.data.tolist() == [[0, 0], [0, 0]]
    assert chunk.initialized


# -- capacity -----------------------------------------------------------------------------------------


def test_the_same_shape_is_the_same_array():
    chunk = csr()
    data, indices = chunk.data, chunk.indices
    assert chunk.check_and_alloc_data((3,)) is data
    assert chunk.check_and_alloc_aux(1, (3,)) is indices


def test_less_is_served_from_the_same_buffer_and_so_is_the_first_size_again():
    chunk = csr(8)
    data = chunk.data
    smaller = chunk.check_and_alloc_data((5,))
    assert smaller.shape == (5,)
    assert np.shares_memory(smaller, data)
    assert chunk.storage_shape == (5,)
    assert chunk.capacity[0] == 8
    again = chunk.check_and_alloc_data((8,))
    assert np.shares_memory(again, data)
    indices = chunk.indices
    assert np.shares_memory(chunk.check_and_alloc_aux(1, (5,)), indices)
    assert chunk.aux_shapes == [(3,), (5,)]


def test_growth_is_geometric_so_a_slowly_growing_array_is_seldom_allocated():
    chunk = CSRChunk((1, 10**6), F32)
    buffers = set()
    for nnz in range(1, 2000):
        buffers.add(chunk.check_and_alloc_data((nnz,)).__array_interface__["data"][0])
        assert chunk.capacity[0] >= nnz
    capacities = {chunk.capacity[0]}
    assert len(buffers) < 40
    assert max(capacities) < 2 * 2000


def test_a_first_allocation_takes_what_is_asked_for():
    chunk = CSRChunk((1, 100), F32)
    chunk.check_and_alloc_data((7,))
    chunk.check_and_alloc_aux(1, (7,))
    assert chunk.capacity == (7, 0, 7)


def test_rows_of_any_width_reuse_one_buffer():
    chunk = RowSparseChunk((100, 2, 3), F32)
    ids, data = chunk.check_and_alloc(10)
    assert data.shape == (10, 2, 3)
    fewer_ids, fewer = chunk.check_and_alloc(4)
    assert fewer.shape == (4, 2, 3)
    assert fewer_ids.shape == (4,)
    assert np.shares_memory(fewer, data)
    assert np.shares_memory(fewer_ids, ids)
    assert chunk.capacity == (60, 10)


def test_adopted_matrices_serve_as_capacity():
    chunk = RowSparseChunk((100, 4), F32)
    data = np.zeros((10, 4), F32)
    chunk.adopt(data, np.arange(10))
    assert np.shares_memory(chunk.check_and_alloc_data((6, 4)), data)


def test_a_view_that_is_not_contiguous_is_no_capacity():
    chunk = DefaultChunk((4, 3), F32)
    backing = np.zeros((4, 6), F32)
    chunk.adopt(backing[:, ::2])
    assert np.shares_memory(chunk.check_and_alloc_data((4, 3)), backing)
    assert not np.shares_memory(chunk.check_and_alloc_data((2, 3)), backing)


def test_a_scalar_and_an_empty_shape_can_be_allocated():
    assert DefaultChunk((), F32).check_and_alloc_data(()).shape == ()
    assert DefaultChunk((0, 3), F32).check_and_alloc_data((0, 3)).shape == (0, 3)


def test_the_dtype_of_an_index_array_can_change():
    chunk = csr()
    before = chunk.indices
    after = chunk.check_and_alloc_aux(1, (3,), np.int32)
    assert after.dtype == np.int32
    assert not np.shares_memory(before, after)
    assert chunk.aux_types == [np.dtype(np.int64), np.dtype(np.int32)]
    assert chunk.check_and_alloc_aux(1, (2,)).dtype == np.int32


def test_index_arrays_are_int64_by_default_and_int32_where_asked():
    assert CSRChunk((2, 2), F32).indptr.dtype == np.int64
    assert RowSparseChunk((2, 2), F32).indices.dtype == np.int64
    assert RowSparseChunk((2, 2), F32, [np.int32]).indices.dtype == np.int32


def test_int32_is_kept_only_where_it_suffices():
    small, huge = CSRChunk((2, 5), F32), CSRChunk((2, 2**33), F32)
    i32, i64 = np.dtype(np.int32), np.dtype(np.int64)
    assert small.alloc_indptr(i32, i32).dtype == np.int32
    assert small.alloc_elements(2)[1].dtype == np.int32
    assert small.alloc_indptr(i32, i64).dtype == np.int64
    assert huge.alloc_indptr(i32, i32).dtype == np.int64


# -- pinning -------------------------------------------------------------------------------------------


@EVERY
def test_a_pinned_chunk_takes_fresh_buffers_and_leaves_the_old_alone(kind):
    chunk = filled(kind)
    held = [chunk.data, *(chunk.aux(i) for i in range(len(kind.aux_names)))]
    before = [h.copy() for h in held]
    chunk.pin()
    assert chunk.pinned
    chunk.set_dense(np.full((3, 4), 7, F32))
    for array, was in zip(held, before, strict=True):
        assert np.array_equal(array, was)
    assert np.array_equal(chunk.to_dense(), np.full((3, 4), 7, F32))
    assert not chunk.pinned


def test_each_buffer_is_pinned_on_its_own():
    chunk = csr()
    chunk.pin()
    data, indices = chunk.data, chunk.indices
    assert chunk.check_and_alloc_data((3,)) is not data
    assert chunk.pinned
    assert chunk.indices is indices
    assert chunk.check_and_alloc_aux(1, (3,)) is not indices
    chunk.check_and_alloc_aux(0, (3,))
    assert not chunk.pinned


def test_reading_a_pinned_chunk_keeps_the_buffers():
    chunk = csr()
    data = chunk.data
    chunk.pin()
    assert chunk.data is data
    chunk.to_dense()
    assert chunk.data is data


@EVERY
def test_arrays_that_cannot_be_written_are_pinned_when_adopted(kind):
    source = filled(kind)
    arrays = [source.data, *(source.aux(i) for i in range(len(kind.aux_names)))]
    for array in arrays:
        array.flags.writeable = False
    chunk = kind((3, 4), F32)
    chunk.adopt(*arrays)
    chunk.set_dense(np.ones((3, 4), F32))
    assert np.array_equal(chunk.to_dense(), np.ones((3, 4), F32))
    assert np.array_equal(source.to_dense()[1], [0, 1, 0, 2])


# -- whole contents ------------------------------------------------------------------------------------


def test_adopt_takes_the_arrays_themselves():
    data, indptr, indices = np.ones(2, F32), np.array([0, 2], np.int32), np.array([0, 1], np.int32)
    chunk = CSRChunk((1, 2), F32)
    chunk.adopt(data, indptr, indices)
    assert chunk.csr[0] is indptr
    assert chunk.csr[1] is indices
    assert chunk.csr[2] is data
    assert chunk.aux_types == [np.dtype(np.int32)] * 2
    assert chunk.capacity == (2, 2, 2)


@EVERY
def test_move_from_exchanges_buffers(kind):
    source, target = filled(kind), kind((3, 4), F32)
    data, expected = source.data, source.to_dense()
    old = target.check_and_alloc_data((1, 4) if kind is RowSparseChunk else (3, 4)[: len(data.shape)])
    target.move_from(source)
    assert target.data is data
    assert source.data is old
    assert np.array_equal(target.to_dense(), expected)


def test_pins_move_with_the_buffers():
    source, target = csr(), CSRChunk((2, 10), F32)
    source.pin()
    data = source.data
    target.move_from(source)
    assert target.pinned
    assert not source.pinned
    assert target.check_and_alloc_data((3,)) is not data


@EVERY
def test_release_frees_everything(kind):
    chunk = filled(kind)
    chunk.release()
    assert not chunk.initialized
    assert chunk.nbytes == 0
    assert not chunk.to_dense().any()


def test_release_keeps_the_dtype_of_index_arrays():
    chunk = RowSparseChunk((3, 1), F32)
    chunk.adopt(np.ones((1, 1), F32), np.array([2], np.int32))
    chunk.release()
    assert chunk.indices.dtype == np.int32


@EVERY
def test_copies_share_nothing_and_convert(kind):
    source = filled(kind)
    twin = source.copy()
    assert np.array_equal(twin.to_dense(), source.to_dense())
    assert not np.shares_memory(twin.data, source.data)
    for i in range(len(kind.aux_names)):
        assert not np.shares_memory(twin.aux(i), source.aux(i))
    wider = kind((3, 4), np.float64)
    wider.copy_from(source)
    assert wider.data.dtype == np.float64
    assert np.array_equal(wider.to_dense(), source.to_dense())
    source.copy_from(source)
    assert np.array_equal(twin.to_dense(), source.to_dense())


@EVERY
def test_copying_a_chunk_that_holds_nothing_empties_the_target(kind):
    target = filled(kind)
    target.copy_from(kind((3, 4), F32))
    assert not target.to_dense().any()
    target.check_format()
    untouched = kind((3, 4), F32)
    untouched.copy_from(kind((3, 4), F32))
    assert not untouched.initialized


def test_like_copies_the_structure():
    source, target = csr(), CSRChunk((2, 10), np.float64)
    target.like(source)[:] = 5
    assert target.indices.tolist() == [0, 1, 2]
    assert not np.shares_memory(target.indices, source.indices)
    assert target.to_dense()[0, :4].tolist() == [5, 5, 5, 0]
    assert source.like(source) is source.data


def test_coordinates_of_a_csr_that_is_not_canonical_are_sorted_and_unique():
    chunk = CSRChunk((2, 3), F32)
    chunk.adopt(np.array([1, 2, 4, 8], F32), np.array([0, 3, 4]), np.array([2, 0, 2, 1]))
    (rows, columns), values = chunk.to_coo()
    assert rows.tolist() == [0, 0, 1]
    assert columns.tolist() == [0, 2, 1]
    assert values.tolist() == [2, 5, 8]
    assert chunk.indices.tolist() == [2, 0, 2, 1]


def test_coordinates_of_rows_that_are_not_canonical_are_sorted_and_unique():
    chunk = RowSparseChunk((5, 2), F32)
    chunk.adopt(np.array([[1, 0], [2, 3], [4, 0]], F32), np.array([3, 1, 3]))
    (rows, columns), values = chunk.to_coo()
    assert rows.tolist() == [1, 1, 3]
    assert columns.tolist() == [0, 1, 0]
    assert values.tolist() == [2, 3, 5]


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_])
def test_canonicalize_sorts_and_sums(dtype):
    chunk = CSRChunk((2, 3), dtype)
    chunk.adopt(np.array([1, 1, 1, 1]).astype(dtype), np.array([0, 3, 4]), np.array([2, 0, 2, 1], np.int32))
    expected = np.array([[1, 0, 2], [0, 1, 0]]).astype(dtype)
    assert np.array_equal(chunk.to_dense(), expected)
    chunk.canonicalize()
    chunk.check_format(full_check=True)
    assert chunk.nnz == 3
    assert chunk.indices.dtype == np.int32 or chunk.indices.dtype == np.int64
    assert np.array_equal(chunk.to_dense(), expected)
    rows = RowSparseChunk((4, 2), dtype)
    rows.adopt(np.array([[1, 0], [0, 1], [1, 1]]).astype(dtype), np.array([3, 0, 3], np.int32))
    rows.canonicalize()
    rows.check_format(full_check=True)
    assert rows.indices.dtype == np.int32
    assert np.array_equal(rows.to_dense(), np.array([[0, 1], [0, 0], [0, 0], [2, 1]]).astype(dtype))


# -- shapes, dtypes, the registry ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (3, (3,)),
        (np.int64(3), (3,)),
        ([2, 3], (2, 3)),
        ((np.int32(2), 3.0), (2, 3)),
        ((), ()),
        ((0, 4), (0, 4)),
    ],
)
def test_as_shape(given, wanted):
    assert as_shape(given) == wanted
    assert all(type(n) is int for n in as_shape(given))


@pytest.mark.parametrize("given", [-1, (2, -3), (1.5,), "ab", None, (None, 2), 2.5, [[1]]])
def test_as_shape_refuses(given):
    with pytest.raises(ShapeError, match="size: expected non-negative whole numbers, got"):
        as_shape(given, "size")


@pytest.mark.parametrize(
    "given", ["float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool", float, int, ">f4"]
)
def test_as_dtype(given):
    assert as_dtype(given) == np.dtype(given).newbyteorder("=")
    assert as_dtype(given).isnative


@pytest.mark.parametrize("given", ["complex64", "uint16", "int16", "U3", object, "nonsense", "M8[s]"])
def test_as_dtype_refuses(given):
    with pytest.raises(DTypeError, match="kind: expected one of float16, .*; got"):
        as_dtype(given, "kind")


def test_storage_types_have_mxnets_codes():
    assert [storage_class(code).stype for code in (0, 1, 2)] == ["default", "row_sparse", "csr"]
    assert set(storage_types()) >= {"default", "row_sparse", "csr"}
    assert storage_class("csr") is CSRChunk
    with pytest.raises(StorageTypeError, match="stype: unknown storage type 'foo'; there are"):
        storage_class("foo")


def test_a_storage_type_is_registered_once():
    class Other(Chunk):
        stype = "csr"
        code = 77

    with pytest.raises(ArgumentError, match="'csr' is already registered"):
        register(Other)


def test_a_storage_type_must_state_what_it_is():
    chunk = Chunk((2, 2), F32)
    for call in (
        chunk.to_coo,
        chunk.to_dense,
        chunk.check_format,
        lambda: chunk.set_coo([], np.zeros(0)),
        lambda: chunk.set_dense(np.zeros((2, 2))),
        lambda: chunk.data,
    ):
        with pytest.raises(StorageTypeError, match="a storage type must define"):
            call()


@pytest.mark.parametrize(("kind", "shape"), [(CSRChunk, (3,)), (CSRChunk, (1, 2, 3)), (RowSparseChunk, ())])
def test_shapes_a_storage_type_cannot_hold(kind, shape):
    with pytest.raises(ShapeError, match=r"dimension"):
        kind.check_shape(shape)
