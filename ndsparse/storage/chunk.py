"""A Chunk: the memory of one array, in one storage type.

A chunk owns a data buffer and, for sparse storage types, auxiliary buffers (``indptr``,
``indices``, ...).  What is stored is usually smaller than the buffers: a buffer has a *capacity*,
and ``check_and_alloc_data`` / ``check_and_alloc_aux`` hand out its first part in the shape that is
asked for, so that a sparse result, whose size is known only when it is computed, is written into
memory that a former step left behind.

::

    shape         (6, 4)             what the user sees
    storage_shape (nnz,)             shape of ``data``
    data          [v v v v . . . .]  stored values, then unused capacity
    aux(0)        indptr  [0 1 1 3 3 4 4]
    aux(1)        indices [c c c c . . . .]

Source: MXNet pull request 7082, "Sparse Tensor" (NDArray::Chunk, CheckAndAlloc).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ndsparse.errors import ArgumentError, DTypeError, ShapeError, StorageTypeError
from ndsparse.kernels import border

Array = NDArray[Any]
Shape = tuple[int, ...]

INT64: np.dtype[Any] = np.dtype(np.int64)
DTYPES = tuple(
    np.dtype(t) for t in (np.float16, np.float32, np.float64, np.int8, np.int32, np.int64, np.uint8, np.bool_)
)
GROWTH = 1.5
"""A buffer that must grow takes at least this times its old capacity."""

UNDEFINED = -1
"""The code of a storage type that is not known yet."""


class Chunk:
    """Base of all storage types.

    Parameters
    ----------
    shape : tuple of int
        Shape of the array.
    dtype : dtype
        One of float16/32/64, int8/32/64, uint8, bool.
    aux_types : sequence of dtype, optional
        dtypes of the auxiliary arrays; default int64.

    Attributes
    ----------
    meta : tuple
        Storage type, shape and number of the dtype: what dispatch depends on.

    Notes
    -----
    Nothing is allocated until it is written or read (``delay_alloc``); a chunk that was never
    written reads as zeros.
    """

    stype: ClassVar[str] = "undefined"
    code: ClassVar[int] = UNDEFINED
    aux_names: ClassVar[tuple[str, ...]] = ()
    ndims: ClassVar[tuple[int, ...] | None] = None
    """Numbers of dimensions the storage type can hold; None = any."""

    __slots__ = ("__weakref__", "_aux", "_aux_buffers", "_data", "_data_buffer", "_pinned", "aux_types",
                 "dtype", "meta", "shape")  # fmt: skip

    def __init__(self, shape: Shape, dtype: DTypeLike, aux_types: Sequence[DTypeLike] | None = None) -> None:
        self.shape = shape
        self.dtype = dtype = dtype if isinstance(dtype, np.dtype) else np.dtype(dtype)
        self.meta = (self.stype, shape, dtype.num)
        count = len(self.aux_names)
        self.aux_types: list[np.dtype[Any]] = (
            [INT64] * count if aux_types is None else [np.dtype(t) for t in aux_types]
        )
        self._data: Array | None = None
        self._data_buffer: Array | None = None
        self._aux: list[Array | None] = [None] * count
        self._aux_buffers: list[Array | None] = [None] * count
        self._pinned = 0

    # -- what a storage type states -----------------------------------------------------------

    @classmethod
    def check_shape(cls, shape: Shape) -> None:
        """Raise ShapeError unless arrays of this storage type can have ``shape``."""
        if cls.ndims is not None and len(shape) not in cls.ndims:
            wanted = " or ".join(str(n) for n in cls.ndims)
            raise ShapeError(f"shape: a {cls.stype} array has {wanted} dimensions, got {shape}")

    def _empty_data_shape(self) -> Shape:
        """Return the storage shape of an array of zeros."""
        raise StorageTypeError(f"{self.stype}: a storage type must define its empty storage shape")

    def _empty_aux_shape(self, i: int) -> Shape:
        """Return the shape of auxiliary array ``i`` of an array of zeros (its values are 0)."""
        return (0,)

    def check_format(self, full_check: bool = True) -> None:
        """Raise FormatCheckError where the arrays break the invariants of the storage type.

        Parameters
        ----------
        full_check : bool
            False checks shapes only, O(1); True reads the index arrays, O(nnz).
        """
        raise StorageTypeError(f"{self.stype}: a storage type must define check_format")

    def in_bounds(self) -> bool:
        """Whether arrays of fitting shapes can be read by kernels: order and uniqueness do not matter."""
        return not self.aux_names

    def index_extent(self, stored: int) -> int:
        """Return the largest number that index arrays may have to hold, with ``stored`` rows or elements."""
        return max(*self.shape, stored)

    def to_coo(self) -> tuple[tuple[Array, ...], Array]:
        """Return (one int64 index array a dimension, values); row-major, unique, stored zeros kept."""
        raise StorageTypeError(f"{self.stype}: a storage type must define to_coo")

    def set_coo(self, coords: Sequence[Array], values: Array) -> None:
        """Become the array with these elements; any order, duplicates are summed."""
        raise StorageTypeError(f"{self.stype}: a storage type must define set_coo")

    def to_dense(self, out: Array | None = None) -> Array:
        """Return the dense array (C order), written into ``out`` if given.  O(size)."""
        raise StorageTypeError(f"{self.stype}: a storage type must define to_dense")

    def set_dense(self, array: Array) -> None:
        """Become the array with these dense values (of the same shape).  O(size)."""
        raise StorageTypeError(f"{self.stype}: a storage type must define set_dense")

    def is_canonical(self) -> bool:
        """Whether what is stored is sorted and unique.  O(stored ids)."""
        return True

    def canonicalize(self) -> None:
        """Sort what is stored and sum duplicates, in place; nothing to do by default."""

    # -- memory -----------------------------------------------------------------------------

    @property
    def data(self) -> Array:
        """The stored values, of shape ``storage_shape`` (memory of the chunk, not a copy)."""
        data = self._data
        if data is None:
            data = self._data = self._data_buffer = np.zeros(self._empty_data_shape(), self.dtype)
        return data

    def aux(self, i: int) -> Array:
        """Return auxiliary array ``i`` (memory of the chunk, not a copy)."""
        aux = self._aux[i]
        if aux is None:
            aux = np.zeros(self._empty_aux_shape(i), self.aux_types[i])
            self._aux[i] = self._aux_buffers[i] = aux
        return aux

    @property
    def storage_shape(self) -> Shape:
        """Shape of ``data``."""
        return self._empty_data_shape() if self._data is None else self._data.shape

    @property
    def aux_shapes(self) -> list[Shape]:
        """Shapes of the auxiliary arrays."""
        return [self._empty_aux_shape(i) if a is None else a.shape for i, a in enumerate(self._aux)]

    @property
    def initialized(self) -> bool:
        """Whether anything was stored yet."""
        return self._data is not None

    @property
    def nbytes(self) -> int:
        """Bytes of what is stored (not of the capacity)."""
        arrays = [self._data, *self._aux]
        return sum(a.nbytes for a in arrays if a is not None)

    @property
    def capacity(self) -> tuple[int, ...]:
        """Elements that the data buffer and each auxiliary buffer can hold."""
        return tuple(0 if b is None else b.size for b in (self._data_buffer, *self._aux_buffers))

    def check_and_alloc_data(self, shape: Shape) -> Array:
        """Return the data array in ``shape``, its content undefined; reuses the buffer if it can."""
        data = self._data
        if data is not None and data.shape == shape and not self._pinned & 1:
            return data
        self._data_buffer = self._fit(self._data_buffer, shape, self.dtype, 1)
        self._data = _first(self._data_buffer, shape)
        return self._data

    def check_and_alloc_aux(self, i: int, shape: Shape, dtype: DTypeLike | None = None) -> Array:
        """Return auxiliary array ``i`` in ``shape``, its content undefined.

        ``dtype`` (int32 or int64) changes the type of the auxiliary array.
        """
        if dtype is not None:
            self.aux_types[i] = np.dtype(dtype)
        aux = self._aux[i]
        if (
            aux is not None
            and aux.shape == shape
            and aux.dtype == self.aux_types[i]
            and not self._pinned & 2 << i
        ):
            return aux
        buffer = self._fit(self._aux_buffers[i], shape, self.aux_types[i], 2 << i)
        self._aux_buffers[i] = buffer
        aux = self._aux[i] = _first(buffer, shape)
        return aux

    def _fit(self, buffer: Array | None, shape: Shape, dtype: np.dtype[Any], bit: int) -> Array:
        size = math.prod(shape)
        if buffer is not None and buffer.dtype == dtype:
            reusable = buffer.flags.c_contiguous and not self._pinned & bit
            if buffer.size >= size and reusable:
                return buffer
            if 0 < buffer.size < size:
                size = max(size, int(buffer.size * GROWTH))
        self._pinned &= ~bit
        return np.empty(size, dtype)

    def pin(self) -> None:
        """Promise that arrays handed out are never written again: the next allocation is fresh."""
        self._pinned = (1 << (1 + len(self.aux_names))) - 1

    @property
    def pinned(self) -> bool:
        """Whether a buffer of this chunk is in other hands."""
        return bool(self._pinned)

    # -- whole contents -----------------------------------------------------------------------

    def adopt(self, data: Array, *aux: Array) -> None:
        """Take these arrays as the content, without copying or checking.

        Sparse arrays must be C-contiguous; dense ones may be any view.  Arrays that cannot be
        written are pinned.
        """
        self._data = self._data_buffer = data
        self._pinned = 0 if data.flags.writeable else 1
        if aux:
            self._aux = list(aux)
            self._aux_buffers = list(aux)
            self.aux_types = [a.dtype for a in aux]
            for i, array in enumerate(aux):
                if not array.flags.writeable:
                    self._pinned |= 2 << i

    def take_over(self, data: Array, *aux: Array) -> None:
        """Take arrays from outside as the content: :meth:`adopt` with bounds checked, order not.

        int32 index arrays are widened where the shape needs it, since later writes keep their dtype.

        Raises
        ------
        FormatCheckError
            Shapes that do not fit, or ids that would make kernels read outside of the arrays.
        """
        extent = self.index_extent(len(data)) if aux else 0
        self.adopt(data, *(a.astype(border.index_dtype(extent, a.dtype), copy=False) for a in aux))
        self.check_format(full_check=False)
        if not self.in_bounds():
            self.check_format(full_check=True)

    def move_from(self, other: Chunk) -> None:
        """Take the buffers of ``other`` (same storage type, shape and dtype) and give it ours."""
        for name in ("_data", "_data_buffer", "_aux", "_aux_buffers", "aux_types", "_pinned"):
            mine, theirs = getattr(self, name), getattr(other, name)
            setattr(self, name, theirs)
            setattr(other, name, mine)

    def release(self) -> None:
        """Forget the content and free the memory."""
        self.__init__(self.shape, self.dtype, self.aux_types)  # type: ignore[misc]

    def share_structure(self, other: Chunk) -> None:
        """Take the auxiliary arrays of ``other`` (same storage type and shape) without copying them.

        Both are pinned, so that whichever is written first takes arrays of its own.
        """
        self._aux = [other.aux(i) for i in range(len(self.aux_names))]
        self._aux_buffers = list(self._aux)
        self.aux_types = list(other.aux_types)
        mask = (2 << len(self.aux_names)) - 2
        self._pinned |= mask
        other._pinned |= mask

    def copy_from(self, other: Chunk) -> None:
        """Copy the content of ``other`` (same storage type and shape), converting the dtype."""
        if self is other:
            return
        if other._data is None and not self.initialized:
            return
        np.copyto(self.check_and_alloc_data(other.data.shape), other.data, casting="unsafe")
        for i in range(len(self.aux_names)):
            source = other.aux(i)
            np.copyto(self.check_and_alloc_aux(i, source.shape, source.dtype), source)

    def copy(self) -> Self:
        """Return a new chunk with the same content in memory of its own."""
        twin = type(self)(self.shape, self.dtype, self.aux_types)
        twin.copy_from(self)
        return twin

    def fresh(self) -> Self:
        """Return an empty chunk of the same storage type, shape and dtype."""
        return type(self)(self.shape, self.dtype, self.aux_types)

    def __repr__(self) -> str:
        shape = "x".join(str(n) for n in self.shape)
        return f"<{self.stype} chunk {shape} {self.dtype}, stored {self.storage_shape}>"


def _first(buffer: Array, shape: Shape) -> Array:
    if buffer.shape == shape:
        return buffer
    return buffer.reshape(-1)[: math.prod(shape)].reshape(shape)


def as_shape(shape: Any, name: str = "shape") -> Shape:
    """Return ``shape`` as a tuple of non-negative ints; an int means one dimension."""
    try:
        dims = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        result = tuple(int(n) for n in dims)
        whole = all(float(n) == r for n, r in zip(dims, result, strict=True))
    except (TypeError, ValueError, OverflowError):
        whole, result = False, ()
    if not whole or any(n < 0 for n in result):
        raise ShapeError(f"{name}: expected non-negative whole numbers, got {shape!r}")
    return result


def as_dtype(dtype: Any, name: str = "dtype") -> np.dtype[Any]:
    """Return a supported dtype in native byte order, else raise DTypeError."""
    result: np.dtype[Any] | None
    try:
        result = np.dtype(dtype).newbyteorder("=")
    except TypeError:
        result = None
    if result is None or result not in DTYPES:  # numpy takes None for float64
        raise DTypeError(f"{name}: expected one of {', '.join(str(d) for d in DTYPES)}; got {dtype!r}")
    return result


# -- the open set of storage types -------------------------------------------------------------

_TYPES: dict[str, type[Chunk]] = {}
_CODES: dict[int, type[Chunk]] = {}


def register(storage: type[Chunk]) -> type[Chunk]:
    """Class decorator: add a storage type under its name and code."""
    for key, other in ((storage.stype, _TYPES.get(storage.stype)), (storage.code, _CODES.get(storage.code))):
        if other not in (None, storage):
            raise ArgumentError(f"storage type {key!r} is already registered")
    _TYPES[storage.stype] = _CODES[storage.code] = storage
    return storage


def storage_types() -> Iterable[str]:
    """Return the names of the registered storage types."""
    return tuple(_TYPES)


def storage_class(stype: str | int) -> type[Chunk]:
    """Return the class of a storage type by name or code."""
    found = _TYPES.get(stype) if isinstance(stype, str) else _CODES.get(stype)
    if found is None:
        raise StorageTypeError(f"stype: unknown storage type {stype!r}; there are {sorted(_TYPES)}")
    return found
