"""Errors of the project.

Every error subclasses :class:`NDSparseError` (MXNet programs know it as ``MXNetError``) and the
builtin that a Python programmer would catch.  Messages say which argument, what it was, what was
wanted and what to do.
"""

from __future__ import annotations

from pathlib import Path


class NDSparseError(Exception):
    """Base class of all errors raised on purpose by this package."""


class ShapeError(NDSparseError, ValueError):
    """A shape does not fit: wrong rank, a dimension that disagrees, an unknown dimension."""


class DTypeError(NDSparseError, TypeError):
    """A dtype is not supported or disagrees."""


class StorageTypeError(NDSparseError, ValueError):
    """A storage type is unknown, not supported, or cannot be decided."""


class ArgumentError(NDSparseError, ValueError):
    """A value of an argument is not allowed."""


class ArgumentTypeError(NDSparseError, TypeError):
    """An argument is of a type that is not accepted."""


class IndexOutOfBounds(NDSparseError, IndexError):
    """An index or a row id lies outside the array."""


class NotSupportedForSparse(NDSparseError, NotImplementedError):
    """The operation has no meaning for this storage type."""


class FormatCheckError(NDSparseError, ValueError):
    """``check_format`` found an array that breaks the invariants of its storage type."""


class GraphError(NDSparseError, ValueError):
    """A graph is malformed, or an attribute of one of its nodes cannot be inferred."""


class KeyNotFound(NDSparseError, KeyError):
    """A key is not in the store."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class FileFormatError(NDSparseError, ValueError):
    """A file breaks its format.

    Parameters
    ----------
    reason : str
        What is wrong and what was wanted.
    path : str or Path, optional
        The file.
    line : int, optional
        1-based line number.
    token : str, optional
        The text that was refused.
    offset : int, optional
        Where in a binary file, in bytes from its beginning.
    """

    def __init__(
        self,
        reason: str,
        *,
        path: str | Path | None = None,
        line: int | None = None,
        token: str | None = None,
        offset: int | None = None,
    ) -> None:
        self.reason = reason
        self.path = None if path is None else str(path)
        self.line = line
        self.token = token
        self.offset = offset
        where = self.path or ""
        if line is not None:
            where += f", line {line}" if where else f"line {line}"
        if offset is not None:
            where += f", byte {offset}" if where else f"byte {offset}"
        if token is not None:
            where += f", token {token!r}" if where else f"token {token!r}"
        super().__init__(f"{where}: {reason}" if where else reason)


class StorageFallbackWarning(UserWarning):
    """An operator has no kernel for the storage types it was given and ran on dense copies."""
