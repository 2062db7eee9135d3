"""The ``@kernel`` decorator: numba, compiled late, cached on disk.

``import ndsparse`` must not import numba (half a second), so a kernel is a plain object that builds
its numba dispatcher at its first call.  Kernels that a kernel calls are found among its module's
globals and in its closure, and built with it.  Compiled code is kept in the user's cache folder
(:mod:`ndsparse.kernels.cache`), so that a read-only install works.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Callable
from typing import Any, TypeVar, cast, overload

from ndsparse.config import settings
from ndsparse.kernels.cache import DiskCache, code_digest, global_names

F = TypeVar("F", bound=Callable[..., Any])

_build_lock = threading.RLock()


class Kernel:
    """A function for numba, compiled for the types it is called with.

    Calling it runs the compiled code without the global interpreter lock.  ``kernel.python`` is
    the plain function.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.python = cast(types.FunctionType, function)
        self.options = options
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self._dispatcher: Callable[..., Any] | None = None
        self._building: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        """Run the compiled code, compiled now if these types are new."""
        dispatcher = self._dispatcher
        if dispatcher is None:
            dispatcher = self.dispatcher()
        return dispatcher(*args)

    def __repr__(self) -> str:
        return f"<kernel {self.__module__}.{self.__name__}>"

    def dispatcher(self) -> Callable[..., Any]:
        """Return numba's dispatcher, built now if this is the first use."""
        if self._dispatcher is None:
            with _build_lock:
                if self._dispatcher is None:
                    if self._building is not None:  # it calls itself
                        return self._building
                    self._build()
        return cast(Callable[..., Any], self._dispatcher)

    def _build(self) -> None:
        import numba

        source = self.python
        namespace = dict(source.__globals__)
        closure = tuple(types.CellType(cell.cell_contents) for cell in source.__closure__ or ())
        bound = types.FunctionType(source.__code__, namespace, source.__name__, source.__defaults__, closure)
        digest = code_digest(source, self.options, _followed)
        bound.__module__ = source.__module__
        # The symbols of the machine code bear this name.  With the digest in it, code loaded from
        # the disk never meets other code of the same name, such as that of another generated kernel.
        bound.__qualname__ = f"{source.__qualname__}_{digest[:12]}"
        dispatcher = numba.njit(nogil=True, error_model="numpy", **self.options)(bound)
        self._building = dispatcher
        try:
            for name in global_names(source.__code__):
                if isinstance(namespace.get(name), Kernel):
                    namespace[name] = namespace[name].dispatcher()
            for cell in closure:
                if isinstance(cell.cell_contents, Kernel):
                    cell.cell_contents = cell.cell_contents.dispatcher()
        finally:
            self._building = None
        folder = settings.kernel_cache_dir
        if folder is not None and hasattr(dispatcher, "_cache"):  # not under NUMBA_DISABLE_JIT
            dispatcher._cache = DiskCache(folder, source.__qualname__, digest)
        self._dispatcher = dispatcher


def _followed(value: object) -> tuple[types.FunctionType, dict[str, Any]] | None:
    return (value.python, value.options) if isinstance(value, Kernel) else None


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
