"""The ``@kernel`` decorator: numba, compiled late, cached on disk.

Three needs shape this file.

* ``import ndsparse`` must not import numba (half a second), so a kernel is a plain object that
  builds its numba dispatcher at its first call.  Kernels that a kernel calls are found among its
  module's globals and built with it.
* Compiled code is kept in the user's cache directory, so that a read-only install works.
* Several processes may compile at once.  numba's own index file gives two processes the same file
  number, and one then loads the other's code (numba issue 10486); here a file is named by the
  digest of everything its code depends on, so there is no index and nothing to race for.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import threading
import types
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast, overload

from ndsparse.config import settings

F = TypeVar("F", bound=Callable[..., Any])

_build_lock = threading.RLock()


class Kernel:
    """A function for numba, compiled for the types it is called with.

    Calling it runs the compiled code without the global interpreter lock.  ``kernel.python`` is
    the plain function.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.python = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self._options = options
        self._dispatcher: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        dispatcher = self._dispatcher
        if dispatcher is None:
            dispatcher = self.dispatcher()
        return dispatcher(*args)

    def __repr__(self) -> str:
        return f"<kernel {self.python.__module__}.{self.__name__}>"

    def dispatcher(self) -> Callable[..., Any]:
        """Return numba's dispatcher, built now if this is the first use."""
        if self._dispatcher is None:
            with _build_lock:
                if self._dispatcher is None:
                    self._dispatcher = _build(self.python, self._options)
        return self._dispatcher


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(*, fastmath: bool | set[str] = ..., inline: str = ...) -> Callable[[F], F]: ...
def kernel(function: F | None = None, **options: Any) -> Any:
    """Mark a function as a kernel.

    Parameters
    ----------
    fastmath : bool or set of str
        Passed to numba.  ``{"contract"}`` (fused multiply-add) and ``{"reassoc"}`` (vectorised
        sums) are the flags in use; never let NaN or inf be assumed away.
    inline : str
        Passed to numba.
    """
    if function is None:
        return lambda f: cast(Any, Kernel(f, options))
    return cast(F, Kernel(function, options))


def _build(function: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    import numba

    source = cast(types.FunctionType, function)
    namespace = dict(source.__globals__)
    for name in _names(source.__code__):
        if isinstance(namespace.get(name), Kernel):
            namespace[name] = namespace[name].dispatcher()
    bound = types.FunctionType(
        source.__code__, namespace, source.__name__, source.__defaults__, source.__closure__
    )
    bound.__qualname__ = source.__qualname__
    bound.__module__ = source.__module__
    dispatcher = numba.njit(nogil=True, error_model="numpy", **options)(bound)
    if settings.kernel_cache_dir is not None and hasattr(dispatcher, "_cache"):
        dispatcher._cache = _disk_cache()(bound)
    return cast(Callable[..., Any], dispatcher)


def _names(code: types.CodeType) -> set[str]:
    """Return the global names a code object may read, nested functions included."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names


@functools.cache
def _source_digest() -> str:
    """Return a digest of every kernel source, so that no stale code is ever loaded."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


@functools.cache
def _disk_cache() -> Any:
    """Return the cache class.  It is made here because it subclasses numba's."""
    import numba
    from numba.core.caching import Cache, CompileResultCacheImpl

    class Locator:
        """Stand where numba looks for the place of its files; ours are found by digest."""

        def get_disambiguator(self) -> str:
            return "0"

        def get_cache_path(self) -> str:
            return str(settings.kernel_cache_dir)

        def get_source_stamp(self) -> str:
            return _source_digest()

        def ensure_cache_path(self) -> None:
            pass  # made, and complained about, where a file is written

        @classmethod
        def from_function(cls, py_func: Any, py_file: str) -> Locator:
            return cls()

    class Impl(CompileResultCacheImpl):  # type: ignore[misc]
        _locator_classes = [Locator]

    class DiskCache(Cache):  # type: ignore[misc]
        _impl_class = Impl

        def __init__(self, py_func: Any) -> None:
            super().__init__(py_func)
            stamp = f"{numba.__version__}|{_source_digest()}|{py_func.__module__}"
            self._cache_file = DigestFiles(Path(self._cache_path), py_func.__qualname__, stamp)

    return DiskCache


class DigestFiles:
    """Files of compiled code, each named by the digest of what it was compiled from.

    It has the two methods that numba's cache calls.  A file that cannot be read or written is no
    error: the kernel is compiled, and not kept.
    """

    def __init__(self, folder: Path, name: str, stamp: str) -> None:
        self._folder = folder
        self._name = "".join(c if c.isalnum() else "-" for c in name)
        self._stamp = stamp

    def _path(self, key: object) -> Path:
        digest = hashlib.sha256(f"{self._stamp}|{key!r}".encode()).hexdigest()[:32]
        return self._folder / f"{self._name}-{digest}.nbc"

    def load(self, key: object) -> Any:
        """Return what was saved under ``key``, or None."""
        try:
            return pickle.loads(self._path(key).read_bytes())
        except Exception:  # absent, unreadable, torn or of another numba: compile instead
            return None

    def save(self, key: object, data: Any) -> None:
        """Write aside, then rename."""
        from numba.core.serialize import dumps

        path = self._path(key)
        aside = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}")
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            aside.write_bytes(dumps(data))
            os.replace(aside, path)
        except OSError:
            aside.unlink(missing_ok=True)

    def flush(self) -> None:
        """Do nothing: files of other sources are never read."""
