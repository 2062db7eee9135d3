"""Compiled kernels on disk, each in a file named by the digest of everything its code depends on.

numba keeps an index file beside its data files.  Two processes that compile at once are given the
same file number there, and one then loads the other's code (numba issue 10486); and numba's key
holds the bytecode of a function but not its constants, nor the functions it calls.  Here the name of
a file is a digest of the function, of the kernels it calls, of the constants both read, of the
options and of the versions, so there is no index, nothing to race for, and nothing stale to load.

A cache file holds machine code, so loading one means trusting whoever wrote it.  Files are therefore
accepted only from this user or from root, and only if nobody else may write them; a checksum
finds files torn by a crash.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import stat
import sys
import types
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

_CHECKSUM = hashlib.sha256().digest_size
_NUMBA_SETTINGS = ("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ENABLE_AVX", "DEBUGINFO_DEFAULT")
"""What numba reads from its environment variables and lets change the code it makes."""


class DiskCache:
    """What numba's dispatcher asks before it compiles, and tells after it has.

    It has the methods that the dispatcher calls on its ``_cache``.  A file that cannot be read or
    written is no error: the kernel is compiled, and not kept.

    Parameters
    ----------
    folder : Path
        Where the files are; made at the first write.
    name : str
        Name of the kernel, for people who look into the folder.
    digest : str
        :func:`code_digest` of the kernel.
    """

    def __init__(self, folder: Path, name: str, digest: str) -> None:
        self._folder = folder
        self._name = "".join(c if c.isalnum() else "-" for c in name)
        self._stamp = f"{_versions()}|{digest}"

    @property
    def cache_path(self) -> str:
        """The folder, as numba's statistics show it."""
        return str(self._folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for these argument types, or None."""
        from numba.core.compiler import CompileResult

        target_context.refresh()
        payload = read(self._path(sig, target_context.codegen()))
        if payload is None:
            return None
        try:
            return CompileResult._rebuild(target_context, *pickle.loads(payload))  # noqa: S301
        except Exception:  # noqa: BLE001  (a module it refers to is gone, for example: compile instead)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function."""
        from numba.core.serialize import dumps

        if data.lifted or data.library.has_dynamic_globals:  # it holds addresses of this process
            return
        write(self._path(sig, data.codegen), dumps(data._reduce()))

    def flush(self) -> None:
        """Do nothing: files of other sources are never read."""

    def _path(self, sig: Any, codegen: Any) -> Path:
        key = f"{self._stamp}|{sig!r}|{codegen.magic_tuple()!r}"
        return self._folder / f"{self._name}-{hashlib.sha256(key.encode()).hexdigest()[:32]}.nbc"


def read(path: Path) -> bytes | None:
    """Return what :func:`write` put there; None if it is absent, damaged or not to be trusted."""
    try:
        with path.open("rb") as file:
            if not _trusted(os.fstat(file.fileno())):
                return None
            content = file.read()
    except OSError:
        return None
    checksum, payload = content[:_CHECKSUM], content[_CHECKSUM:]
    return payload if hashlib.sha256(payload).digest() == checksum else None


def write(path: Path, payload: bytes) -> None:
    """Write aside, then rename, so that no reader sees half a file."""
    aside = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
    except OSError:
        return
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(hashlib.sha256(payload).digest() + payload)
        os.replace(aside, path)
    except OSError:
        aside.unlink(missing_ok=True)


def _trusted(status: os.stat_result) -> bool:
    if os.name != "posix":
        return True
    return status.st_uid in (0, os.geteuid()) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@functools.cache
def _versions() -> str:
    import numba

    flags = [getattr(numba.config, name, None) for name in _NUMBA_SETTINGS]
    return f"1|{sys.implementation.cache_tag}|{numba.__version__}|{np.__version__}|{flags}"


def code_digest(
    function: types.FunctionType, options: Mapping[str, Any], called: Callable[[object], Any]
) -> str:
    """Return a digest of all that decides what a function compiles to, the same in every process.

    Parameters
    ----------
    function : function
        The plain function.
    options : mapping
        Options of its compilation.
    called : callable
        Given a global of a function, returns ``(function, options)`` if it is a kernel, else None.
    """
    writer = _Writer(called)
    writer.kernel(function, options)
    return writer.digest.hexdigest()


def global_names(code: types.CodeType) -> set[str]:
    """Return the global names a code object may read, nested functions included."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= global_names(constant)
    return names


class _Writer:
    """Feeds functions and the values they read to one digest."""

    def __init__(self, called: Callable[[object], Any]) -> None:
        self.digest = hashlib.sha256()
        self._called = called
        self._seen: set[types.CodeType] = set()

    def text(self, *parts: object) -> None:
        for part in parts:
            self.digest.update(f"{part!r};".encode())

    def kernel(self, function: types.FunctionType, options: Mapping[str, Any]) -> None:
        self.text(function.__module__, function.__qualname__, function.__defaults__)
        if function.__code__ in self._seen:  # recursion
            return
        self._seen.add(function.__code__)
        for key, value in sorted(options.items()):
            self.text(key, sorted(value) if isinstance(value, set | frozenset) else value)
        self.code(function.__code__)
        for cell in function.__closure__ or ():
            self.value(cell.cell_contents)
        for name in sorted(global_names(function.__code__)):
            if name in function.__globals__:
                self.text(name)
                self.value(function.__globals__[name])

    def code(self, code: types.CodeType) -> None:
        self.text(code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_argcount)
        for constant in code.co_consts:
            self.value(constant)

    def value(self, value: object) -> None:
        kernel = self._called(value)
        if kernel is not None:
            self.kernel(*kernel)
        elif isinstance(value, types.CodeType):
            self.code(value)
        elif isinstance(value, tuple | list):
            self.text(type(value).__name__, len(value))
            for item in value:
                self.value(item)
        elif isinstance(value, frozenset):
            self.text(sorted(map(repr, value)))
        elif isinstance(value, np.ndarray):
            self.text(value.dtype.str, value.shape, value.tobytes())
        elif value is None or isinstance(value, int | float | complex | str | bytes | np.generic | np.dtype):
            self.text(type(value).__name__, value)
        else:
            self.reference(value)

    def reference(self, value: Any) -> None:
        """Feed a module, class, or function that is no kernel: its name, and its source if it is ours."""
        module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
        self.text(type(value).__name__, module, getattr(value, "__qualname__", None))
        if str(module).partition(".")[0] not in ("numpy", "math", "cmath", "builtins", "numba"):
            self.text(
                _sources_digest(), _file_digest(getattr(sys.modules.get(str(module)), "__file__", None))
            )


@functools.cache
def _sources_digest() -> str:
    """Return a digest of every kernel source, for kernels that read what cannot be followed."""
    return "".join(_file_digest(str(path)) for path in sorted(Path(__file__).parent.rglob("*.py")))


@functools.cache
def _file_digest(path: str | None) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else ""
    except OSError:  # in a zip file
        return ""
