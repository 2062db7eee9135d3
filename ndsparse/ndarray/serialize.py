"""``nd.save``, ``nd.load`` and ``nd.load_frombuffer``: files of arrays of every storage type.

Two formats: our own (:mod:`ndsparse.ndarray.format_npz`), and MXNet's
(:mod:`ndsparse.ndarray.format_mxnet`); ``load`` tells them apart by their first bytes.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from typing import IO, Any, Literal

from ndsparse.atomic import replacing
from ndsparse.errors import ArgumentError, ArgumentTypeError, FileFormatError
from ndsparse.ndarray.ndarray import NDArray

Format = Literal["ndsparse", "mxnet"]


def save(fname: str | os.PathLike[str], data: Any, *, format: Format = "ndsparse") -> None:
    """Write arrays to a file, which is there whole or not at all.

    Parameters
    ----------
    fname : str or path
    data : NDArray, list of NDArray, or dict of str to NDArray
    format : {"ndsparse", "mxnet"}
        Ours (an ``.npz`` of all storage types), or the one of MXNet 1.x (``.params``).

    Examples
    --------
    >>> import ndsparse as mx
    >>> mx.nd.save("weights.nds", {"w": mx.nd.ones((2, 2))})
    >>> mx.nd.load("weights.nds")["w"].asnumpy().tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    arrays, names = _parts(data)
    if format not in ("ndsparse", "mxnet"):
        raise ArgumentError(f"format: expected 'ndsparse' or 'mxnet', got {format!r}")
    from ndsparse.ndarray import format_mxnet, format_npz  # zipfile takes a while to import

    with replacing(fname) as file:
        if format == "mxnet":
            format_mxnet.write(file, arrays, names or [])
        else:
            format_npz.write(file, arrays, names)


def _parts(data: Any) -> tuple[list[NDArray], list[str] | None]:
    if isinstance(data, NDArray):
        return [data], None
    if isinstance(data, Mapping):
        names, arrays = list(data.keys()), list(data.values())
    elif isinstance(data, (list, tuple)):
        names, arrays = None, list(data)
    else:
        names, arrays = None, [data]
    wanted = "save only accept dict str->NDArray or list of NDArray"
    for key, array in zip(range(len(arrays)) if names is None else names, arrays, strict=True):
        if names is not None and not isinstance(key, str):
            raise ArgumentTypeError(f"data: {wanted}; the key {key!r} is of type {type(key).__name__}")
        if not isinstance(array, NDArray):
            where = f"data[{key!r}]" if array is not data else "data"
            raise ArgumentTypeError(
                f"{where}: {wanted}, got {type(array).__name__}; mx.nd.array(x) makes an NDArray"
            )
    return arrays, names


def load(fname: str | os.PathLike[str]) -> Any:
    """Read a file that :func:`save`, or MXNet's, has written.

    Parameters
    ----------
    fname : str or path

    Returns
    -------
    list of NDArray, or dict of str to NDArray
        As it was saved; an array saved alone comes as a list of one.

    Raises
    ------
    FileFormatError
        The file is neither format or breaks it; the message has the file and the byte.
    """
    if not isinstance(fname, (str, os.PathLike)):
        raise ArgumentTypeError(f"fname: expected a path, got {type(fname).__name__}")
    with open(fname, "rb") as file:
        return _read(file, os.fspath(fname))


def load_frombuffer(buf: Any) -> Any:
    """Read arrays from bytes: the content of a file that :func:`save` has written."""
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(f"buf: expected bytes, got {type(buf).__name__}")
    return _read(io.BytesIO(buf))


def _read(file: IO[bytes], path: str | None = None) -> Any:
    from ndsparse.ndarray import format_mxnet, format_npz
    from ndsparse.ndarray.binary import Source

    source = Source(file, path)
    head = source.read(min(8, source.size), "the head")
    source.file.seek(0)
    names: list[str] | None
    if format_mxnet.is_mxnet(head):
        arrays, names = format_mxnet.read(source)
        if len(set(names)) != len(names):
            raise FileFormatError("two arrays have the same name", path=source.path)
        names = names or None
    elif format_npz.is_npz(head):
        arrays, names = format_npz.read(source)
    else:
        raise FileFormatError(
            f"neither a file of ndsparse nor of MXNet: it begins with {head!r}", path=source.path, offset=0
        )
    return arrays if names is None else dict(zip(names, arrays, strict=True))
