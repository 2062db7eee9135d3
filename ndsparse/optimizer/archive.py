"""Files of arrays and plain values, without pickle.

A file is an uncompressed zip of ``.npy`` members, which ``numpy.load(..., allow_pickle=False)`` reads
too.  The member ``meta`` is a one-dimensional uint8 array that holds UTF-8 JSON.  Arrays are written
one after another from where they are, so that a store of many gigabytes is never copied first.
"""

from __future__ import annotations

import itertools
import json
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ndsparse.atomic import replacing
from ndsparse.errors import FileFormatError

META = "meta"


def write_archive(file: IO[bytes], meta: Any, arrays: Iterable[tuple[str, NDArray[Any]]]) -> None:
    """Write plain values and named arrays to an open file."""
    text = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in itertools.chain([(META, text)], arrays):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def read_archive(file: BinaryIO | str | Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the plain values and the arrays of a file that :func:`write_archive` wrote."""
    path = file if isinstance(file, str | Path) else None
    try:
        with np.load(file, allow_pickle=False) as members:
            arrays = {name: members[name] for name in members.files}
        meta = json.loads(arrays.pop(META).tobytes().decode())
    except (ValueError, KeyError, zipfile.BadZipFile, EOFError, TypeError, AttributeError) as error:
        raise FileFormatError(f"not an archive of arrays and a 'meta' member ({error})", path=path) from error
    if not isinstance(meta, dict):
        raise FileFormatError(f"the 'meta' member is {meta!r:.80}; wanted an object", path=path)
    return meta, arrays


def replace_file(path: str | Path, meta: Any, arrays: Iterable[tuple[str, NDArray[Any]]]) -> None:
    """Write an archive aside, make it durable, then rename it: a reader sees the old or the new file."""
    with replacing(path) as file:
        write_archive(file, meta, arrays)
