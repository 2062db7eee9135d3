"""MXNet's binary files of arrays (``.params``, ``.nd``), read and written.

::

    u64 0x112, u64 0                      file magic, reserved
    u64 count, then ``count`` arrays
    u64 count of names (0 or as many), then for each: u64 length, bytes

    array:  u32 magic        0xF993FAC9 (V2); V3 is the same with numpy's shapes (0 is a size)
            i32 stype        0 default, 1 row_sparse, 2 csr
            [storage shape]  sparse only
            shape            u32 dimensions, then i64 each
            i32 device type, i32 device id
            i32 dtype        see ``DTYPE_FLAGS``
            [i32 dtype, shape] for each auxiliary array
            data, then auxiliary arrays

All little-endian.  Files of MXNet before 1.0 hold dense arrays with other heads (V1, V0), which are
read too.  Source: ``NDArray::Save`` and ``NDArray::Load`` of MXNet 1.9.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from ndsparse.errors import FormatCheckError, NDSparseError, StorageTypeError
from ndsparse.ndarray.binary import Source, adopt_checked
from ndsparse.ndarray.invoke import dense, wrap
from ndsparse.storage import Chunk, storage_class

FILE_MAGIC = 0x112
V1, V2, V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA

DTYPE_FLAGS = tuple(
    np.dtype(t) for t in ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")
)
"""dtype by MXNet's number."""

MAX_DIMENSIONS = 32
"""As many as numpy's arrays had for long; no file has more."""

CPU = 1


def is_mxnet(head: bytes) -> bool:
    """Whether a file that begins with ``head`` (8 bytes or more) is one of MXNet's."""
    return len(head) >= 8 and struct.unpack("<Q", head[:8])[0] == FILE_MAGIC


# -- reading ------------------------------------------------------------------------------------------


def read(source: Source) -> tuple[list[Any], list[str]]:
    """Return the arrays and their names (none for a list).

    Raises
    ------
    FileFormatError
        With the file and the byte where it departs from the format.
    """
    source.number("Q", "file magic")
    source.number("Q", "reserved number")
    count = source.number("Q", "count of arrays")
    arrays: list[Any] = []
    while len(arrays) < count:  # every array takes bytes, so a lying count ends at the end of the file
        arrays.append(_read_array(source, f"array {len(arrays)} of {count}"))
    at = source.position
    names = source.number("Q", "count of names")
    if names not in (0, count):
        raise source.error(f"{names} names for {count} arrays", at)
    found = [_read_name(source, f"name {i} of {names}") for i in range(names)]
    if source.position != source.size:
        raise source.error(f"{source.size - source.position} bytes follow after the end")
    return arrays, found


def _read_name(source: Source, what: str) -> str:
    length = source.number("Q", f"length of {what}")
    at = source.position
    try:
        return source.read(length, what).decode("utf-8")
    except UnicodeDecodeError as error:
        raise source.error(f"{what} is not UTF-8: {error.reason}", at) from None


def _read_array(source: Source, what: str) -> Any:
    at = source.position
    magic = source.number("I", f"magic of {what}")
    if magic not in (V2, V3):
        return _read_old(source, magic, what, at)
    at = source.position
    code = source.number("i", f"storage type of {what}")
    try:
        kind = storage_class(code)
    except StorageTypeError:
        raise source.error(f"{what}: {code} is no storage type", at) from None
    aux_count = len(kind.aux_names)
    stored = _read_shape(source, f"storage shape of {what}") if aux_count else None
    at = source.position
    shape = _read_shape(source, f"shape of {what}", unknown=magic == V3)
    if shape is None or (not shape and magic == V2):
        return dense(np.zeros(0, np.float32))  # an array that never got a shape: nothing follows
    dtype = _read_place_and_dtype(source, what)
    aux = [
        (_read_dtype(source, f"{what}, {n}"), _read_shape(source, f"shape of {what}, {n}"))
        for n in kind.aux_names
    ]
    chunk = kind(shape, dtype)
    data = source.array(shape if stored is None else stored, dtype, f"data of {what}")
    parts = [
        source.array(s or (), t, f"{n} of {what}") for (t, s), n in zip(aux, kind.aux_names, strict=True)
    ]
    return wrap(_checked(source, chunk, data, parts, what, at))


def _read_old(source: Source, magic: int, what: str, at: int) -> Any:
    """Read a dense array of MXNet before 1.0: V1, or V0 where the magic is the number of dimensions."""
    if magic == V1:
        shape = _read_shape(source, f"shape of {what}")
    elif magic <= MAX_DIMENSIONS:
        shape = tuple(source.number("I", f"shape of {what}") for _ in range(magic))
    else:
        raise source.error(f"{what}: 0x{magic:08X} is no magic number of an array", at)
    if not shape:
        return dense(np.zeros(0, np.float32))
    dtype = _read_place_and_dtype(source, what)
    return dense(source.array(shape, dtype, f"data of {what}"))


def _read_shape(source: Source, what: str, unknown: bool = False) -> tuple[int, ...] | None:
    """Read a shape; -1 dimensions mean None where ``unknown`` allows it."""
    at = source.position
    ndim = source.number("i", what)
    if ndim == -1 and unknown:
        return None
    if not 0 <= ndim <= MAX_DIMENSIONS:
        raise source.error(f"{what}: {ndim} dimensions; wanted 0 to {MAX_DIMENSIONS}", at)
    shape = tuple(source.number("q", what) for _ in range(ndim))
    if any(n < 0 for n in shape):
        raise source.error(f"{what}: {shape} has a negative dimension", at)
    return shape


def _read_place_and_dtype(source: Source, what: str) -> np.dtype[Any]:
    source.number("i", f"device type of {what}")
    source.number("i", f"device id of {what}")
    return _read_dtype(source, what)


def _read_dtype(source: Source, what: str) -> np.dtype[Any]:
    at = source.position
    flag = source.number("i", f"dtype of {what}")
    if not 0 <= flag < len(DTYPE_FLAGS):
        raise source.error(f"dtype of {what}: {flag} is none; wanted 0 to {len(DTYPE_FLAGS) - 1}", at)
    return DTYPE_FLAGS[flag]


def _checked(
    source: Source,
    chunk: Chunk,
    data: np.ndarray[Any, Any],
    aux: Sequence[np.ndarray[Any, Any]],
    what: str,
    at: int,
) -> Chunk:
    """Fill ``chunk``; MXNet's files may hold unsorted ids and unused room behind the last csr row."""
    aux = list(aux)
    try:
        chunk.check_shape(chunk.shape)
        for name, array in zip(chunk.aux_names, aux, strict=True):
            if array.dtype not in (np.dtype(np.int64), np.dtype(np.int32)):
                raise FormatCheckError(f"{name} are {array.dtype}; wanted int64 or int32")
        if chunk.stype == "csr" and aux[0].ndim == aux[1].ndim == 1 and len(aux[0]):
            end = int(aux[0][-1])
            if 0 <= end < min(len(aux[1]), len(data)):
                data, aux[1] = data[:end].copy(), aux[1][:end].copy()
        adopt_checked(chunk, data, *aux)
    except NDSparseError as error:
        raise source.error(f"{what}: {error}", at) from None
    return chunk


# -- writing -------------------------------------------------------------------------------------------


def write(file: IO[bytes], arrays: Sequence[Any], names: Sequence[str]) -> None:
    """Write arrays (and as many names, or none) to a binary file object.

    Raises
    ------
    StorageTypeError
        An array is of a storage type that MXNet does not have.
    """
    for array in arrays:
        if array.stype not in ("default", "row_sparse", "csr"):
            raise StorageTypeError(
                f"format 'mxnet': has no storage type {array.stype!r}; use format 'ndsparse'"
            )
    file.write(struct.pack("<QQQ", FILE_MAGIC, 0, len(arrays)))
    for array in arrays:
        _write_array(file, array._chunk)
    file.write(struct.pack("<Q", len(names)))
    for name in names:
        text = name.encode("utf-8")
        file.write(struct.pack("<Q", len(text)) + text)


def _write_array(file: IO[bytes], chunk: Chunk) -> None:
    aux = [chunk.aux(i) for i in range(len(chunk.aux_names))]
    legacy = bool(chunk.shape) and 0 not in chunk.shape  # V2 cannot say a size of 0
    file.write(struct.pack("<Ii", V2 if legacy else V3, chunk.code))
    if aux:
        file.write(_shape(chunk.data.shape))
    file.write(_shape(chunk.shape) + struct.pack("<iii", CPU, 0, DTYPE_FLAGS.index(chunk.dtype)))
    for array in aux:
        file.write(struct.pack("<i", DTYPE_FLAGS.index(array.dtype)) + _shape(array.shape))
    for array in (chunk.data, *aux):
        plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        file.write(plain.reshape(-1).view(np.uint8).data)


def _shape(shape: tuple[int, ...]) -> bytes:
    return struct.pack(f"<i{len(shape)}q", len(shape), *shape)
