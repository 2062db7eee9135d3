"""Settings, read from the environment once and changeable at run time.

======================== ============================== ======================================
setting                  environment variable           meaning
======================== ============================== ======================================
``num_threads``          ``NDSPARSE_NUM_THREADS``       threads a kernel may use (default: the
                                                        cores this process may run on)
``kernel_cache_dir``     ``NDSPARSE_KERNEL_CACHE_DIR``  where compiled kernels are kept (default:
                                                        ``$XDG_CACHE_HOME/ndsparse`` or
                                                        ``~/.cache/ndsparse``); empty = nowhere
``storage_fallback``     ``NDSPARSE_STORAGE_FALLBACK``  ``warn`` (default), ``error``, ``silent``
``deterministic``        ``NDSPARSE_DETERMINISTIC``     1: the same bits for the same seed with
                                                        any number of threads
======================== ============================== ======================================

MXNet's ``MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0`` is understood as ``silent``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ndsparse.errors import ArgumentError

FALLBACK_MODES = ("warn", "error", "silent")


def _available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _default_cache_dir() -> Path | None:
    given = os.environ.get("NDSPARSE_KERNEL_CACHE_DIR")
    if given is not None:
        return Path(given) if given else None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "ndsparse"
    except RuntimeError:  # no home directory
        return None


def _default_fallback() -> str:
    given = os.environ.get("NDSPARSE_STORAGE_FALLBACK")
    if given is None:
        return "silent" if os.environ.get("MXNET_STORAGE_FALLBACK_LOG_VERBOSE") == "0" else "warn"
    return given


class Config:
    """The settings of this process; use the instance ``ndsparse.config.settings``."""

    __slots__ = ("_deterministic", "_kernel_cache_dir", "_num_threads", "_storage_fallback")

    def __init__(self) -> None:
        self._num_threads = _available_cores()
        self._storage_fallback = "warn"
        self._kernel_cache_dir = _default_cache_dir()
        self._deterministic = os.environ.get("NDSPARSE_DETERMINISTIC", "0") not in ("", "0")
        threads = os.environ.get("NDSPARSE_NUM_THREADS")
        if threads:
            self.num_threads = threads  # type: ignore[assignment]
        self.storage_fallback = _default_fallback()

    @property
    def num_threads(self) -> int:
        """Threads a kernel may use, at least 1."""
        return self._num_threads

    @num_threads.setter
    def num_threads(self, value: int) -> None:
        try:
            number = int(value)
        except (TypeError, ValueError):
            number = 0
        if number < 1:
            raise ArgumentError(f"num_threads: expected a whole number of at least 1, got {value!r}")
        self._num_threads = number

    @property
    def storage_fallback(self) -> str:
        """What a storage fallback does: ``warn``, ``error`` or ``silent``."""
        return self._storage_fallback

    @storage_fallback.setter
    def storage_fallback(self, value: str) -> None:
        if value not in FALLBACK_MODES:
            raise ArgumentError(f"storage_fallback: expected one of {FALLBACK_MODES}, got {value!r}")
        self._storage_fallback = value

    @property
    def kernel_cache_dir(self) -> Path | None:
        """Folder of compiled kernels; None (or "") keeps none.  Set it before the first kernel runs."""
        return self._kernel_cache_dir

    @kernel_cache_dir.setter
    def kernel_cache_dir(self, value: str | Path | None) -> None:
        self._kernel_cache_dir = Path(value) if value else None

    @property
    def deterministic(self) -> bool:
        """Whether results must not depend on the number of threads."""
        return self._deterministic

    @deterministic.setter
    def deterministic(self, value: bool) -> None:
        self._deterministic = bool(value)


settings = Config()


@contextmanager
def using(**changes: Any) -> Iterator[Config]:
    """Change settings for the length of a ``with`` block (process wide, not per thread).

    Examples
    --------
    >>> import ndsparse as nds
    >>> with nds.config.using(num_threads=1, storage_fallback="silent") as settings:
    ...     settings.num_threads
    1
    """
    known = [name.lstrip("_") for name in Config.__slots__]
    for name in changes:
        if name not in known:
            raise ArgumentError(f"config: unknown setting {name!r}; there are {sorted(known)}")
    before = {name: getattr(settings, name) for name in changes}
    try:
        for name, value in changes.items():
            setattr(settings, name, value)
        yield settings
    finally:
        for name, value in before.items():
            setattr(settings, name, value)
