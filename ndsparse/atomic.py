"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing bytes; it takes the place of ``path`` when the block ends well.

    Until then ``path`` is untouched; after an error it stays so, and nothing is left behind.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from ndsparse.atomic import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.txt"
    ...     with replacing(path) as file:
    ...         _ = file.write(b"whole")
    ...     path.read_bytes()
    b'whole'
    """
    target = Path(path)
    aside = target.with_name(f".{target.name}.{uuid.uuid4().hex[:12]}")
    with _naming(target):
        opened = open(aside, "xb")  # noqa: SIM115  (the block below closes it)
    try:
        with opened as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with _naming(target):
            os.replace(aside, target)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


@contextmanager
def _naming(target: Path) -> Iterator[None]:
    """Let errors speak of the path that the caller knows."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        if not target.parent.exists():
            why = f"there is no folder {os.fspath(target.parent)!r} to write into"
        raise type(error)(error.errno, why, os.fspath(target)) from None
