"""Our own file of arrays: an uncompressed ``.npz`` that names its storage types.

::

    ndsparse.npy      the header: JSON as uint8, {"format": "ndsparse", "version": 1, "names": [...] or
                      null, "arrays": [{"stype", "shape", "dtype"}, ...]}
    0.data.npy        the stored values of array 0
    0.indptr.npy ...  its auxiliary arrays, by the names that the storage type gives them

``numpy.load`` opens it too.  Nothing is pickled; a storage type needs no code here.
"""

from __future__ import annotations

import json
import math
import struct
import zipfile
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from ndsparse.errors import FileFormatError, NDSparseError
from ndsparse.ndarray.binary import Source, adopt_checked, fill
from ndsparse.ndarray.invoke import wrap
from ndsparse.storage import as_dtype, as_shape, storage_class

HEADER = "ndsparse"
VERSION = 1
ZIP_MAGIC = b"PK\x03\x04"
MAX_HEADER = 1 << 28
"""Bytes of JSON that are believed: room for a million arrays."""

INDEX = (np.dtype(np.int32), np.dtype(np.int64))


def is_npz(head: bytes) -> bool:
    """Whether a file that begins with ``head`` is a zip file."""
    return head[:4] == ZIP_MAGIC


def write(file: IO[bytes], arrays: Sequence[Any], names: Sequence[str] | None) -> None:
    """Write arrays, and their names unless None, to a binary file object."""
    heads = [{"stype": a.stype, "shape": list(a.shape), "dtype": a._chunk.dtype.name} for a in arrays]
    document = {
        "format": HEADER,
        "version": VERSION,
        "names": None if names is None else list(names),
        "arrays": heads,
    }
    text = np.frombuffer(json.dumps(document).encode("utf-8"), np.uint8)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        _write_part(archive, HEADER, text)
        for i, array in enumerate(arrays):
            chunk = array._chunk
            _write_part(archive, f"{i}.data", chunk.data)
            for j, name in enumerate(chunk.aux_names):
                _write_part(archive, f"{i}.{name}", chunk.aux(j))


def _write_part(archive: zipfile.ZipFile, name: str, array: np.ndarray[Any, Any]) -> None:
    info = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))  # the same arrays give the same bytes
    with archive.open(info, "w", force_zip64=True) as part:
        npy.write_array(part, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)


def read(source: Source) -> tuple[list[Any], list[str] | None]:
    """Return the arrays and their names (None for a list).

    Raises
    ------
    FileFormatError
        With the file, the part, and the byte where the part begins.
    """
    try:
        with zipfile.ZipFile(source.file) as archive:
            parts = _Parts(source, archive)
            document = parts.header()
            names, heads = document["names"], document["arrays"]
            arrays = [_read_array(parts, i, head) for i, head in enumerate(heads)]
    except FileFormatError:
        raise
    except (
        zipfile.BadZipFile,
        struct.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        OSError,
        ValueError,
    ) as error:
        raise FileFormatError(f"not a whole zip file: {error}", path=source.path) from None
    return arrays, names


def _read_array(parts: _Parts, i: int, head: Any) -> Any:
    try:
        if not isinstance(head, dict) or not isinstance(head.get("shape"), list):
            raise FileFormatError("expected an object with stype, shape and dtype")
        kind = storage_class(str(head.get("stype")))
        shape = as_shape(head["shape"])
        kind.check_shape(shape)
        chunk = kind(shape, as_dtype(str(head.get("dtype"))))
        data = parts.array(f"{i}.data", chunk.dtype)
        aux = [parts.array(f"{i}.{name}", *INDEX) for name in kind.aux_names]
        if not aux and data.shape != shape:
            raise FileFormatError(f"data of shape {data.shape} for an array of shape {shape}")
        adopt_checked(chunk, data, *aux)
    except FileFormatError as error:
        if error.path is not None:
            raise
        raise parts.error(f"array {i}: {error.reason}") from None
    except NDSparseError as error:
        raise parts.error(f"array {i}: {error}") from None
    return wrap(chunk)


class _Parts:
    """The parts of an open file."""

    def __init__(self, source: Source, archive: zipfile.ZipFile) -> None:
        self.source = source
        self.archive = archive
        self.at: int | None = None
        self.read_so_far = 0

    def error(self, reason: str) -> FileFormatError:
        return FileFormatError(reason, path=self.source.path, offset=self.at)

    def header(self) -> dict[str, Any]:
        if f"{HEADER}.npy" not in self.archive.namelist():
            raise self.error(f"a zip file without the part '{HEADER}.npy'; it was not written by nd.save")
        text = self.array(HEADER, np.dtype(np.uint8))
        if text.size > MAX_HEADER:
            raise self.error(f"the header has {text.size} bytes; at most {MAX_HEADER} are read")
        try:
            document = json.loads(text.tobytes().decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise self.error(f"the header is no JSON: {error}") from None
        if not isinstance(document, dict) or document.get("format") != HEADER:
            raise self.error("the header does not say that this is a file of ndsparse")
        if document.get("version") != VERSION:
            raise self.error(
                f"version {document.get('version')!r} of the format; this program reads {VERSION}"
            )
        names, arrays = document.get("names"), document.get("arrays")
        if not isinstance(arrays, list) or not (names is None or _is_names(names, len(arrays))):
            raise self.error("the header must list arrays, and as many names (text) or null")
        return document

    def array(self, name: str, *dtypes: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """Return a part as an array of one of ``dtypes``; its length is checked before it is read."""
        try:
            info = self.archive.getinfo(f"{name}.npy")
        except KeyError:
            raise self.error(f"part '{name}.npy' is missing") from None
        self.at = info.header_offset
        if info.compress_type != zipfile.ZIP_STORED:
            raise self.error(f"part '{name}.npy' is compressed; nd.save does not compress")
        self.read_so_far += info.file_size  # in all, too: parts may claim the same bytes
        if info.file_size != info.compress_size or self.read_so_far > self.source.size:
            raise self.error(f"part '{name}.npy' claims {info.file_size} bytes, more than the file holds")
        with self.archive.open(info) as part:
            shape, fortran, dtype = self._npy_head(part, name)
            if fortran and len(shape) > 1:
                raise self.error(f"part '{name}.npy' is in Fortran order")
            if dtype.newbyteorder("=") not in dtypes:
                wanted = " or ".join(str(d) for d in dtypes)
                raise self.error(f"part '{name}.npy' holds {dtype}; wanted {wanted}")
            if math.prod(shape) * dtype.itemsize != info.file_size - part.tell():
                raise self.error(f"part '{name}.npy' says shape {shape}, but has {info.file_size} bytes")
            found = fill(part, shape, dtype)
            if part.read(1):  # also makes the zip reader compare its checksum
                raise self.error(f"part '{name}.npy' is longer than it says")
        return found.astype(dtype.newbyteorder("="), copy=False)

    def _npy_head(self, part: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
        try:
            version = npy.read_magic(part)
            if version == (1, 0):
                shape, fortran, dtype = npy.read_array_header_1_0(part)
            elif version == (2, 0):
                shape, fortran, dtype = npy.read_array_header_2_0(part)
            else:
                raise self.error(f"part '{name}.npy' is of npy version {version}")
        except FileFormatError:
            raise
        except (ValueError, TypeError, SyntaxError, EOFError) as error:
            raise self.error(f"part '{name}.npy': {error}") from None
        if any(n < 0 for n in shape):
            raise self.error(f"part '{name}.npy' has the shape {shape}")
        return shape, fortran, dtype


def _is_names(names: Any, count: int) -> bool:
    unique = (
        isinstance(names, list) and all(isinstance(n, str) for n in names) and len(set(names)) == len(names)
    )
    return unique and len(names) == count
