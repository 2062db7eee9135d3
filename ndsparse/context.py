"""Devices.  There is one: the CPU.  MXNet programs name it, so the names exist."""

from __future__ import annotations

from contextvars import ContextVar, Token

from ndsparse.errors import ArgumentError, NDSparseError


class Context:
    """A device, ``cpu(i)``.  Usable as a ``with`` block, as in MXNet.

    Parameters
    ----------
    device_type : str or Context
        ``"cpu"`` (``"cpu_pinned"`` and ``"cpu_shared"`` mean the same memory here).
    device_id : int
        Any number; programs use it to tell workers of one machine apart.
    """

    __slots__ = ("_tokens", "device_id", "device_type")

    devtype2str = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared"}
    devstr2type = {name: code for code, name in devtype2str.items()}

    def __init__(self, device_type: str | Context, device_id: int = 0) -> None:
        if isinstance(device_type, Context):
            device_id = device_type.device_id
            device_type = device_type.device_type
        if device_type == "gpu":
            raise NDSparseError("gpu: ndsparse runs on CPUs only; use cpu()")
        if device_type not in self.devstr2type:
            raise ArgumentError(f"device_type: expected 'cpu', got {device_type!r}")
        self.device_type: str = device_type
        self.device_id: int = int(device_id)
        self._tokens: list[Token[Context]] = []

    @property
    def device_typeid(self) -> int:
        """MXNet's number of the device type (1 = cpu)."""
        return self.devstr2type[self.device_type]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Context)
            and self.device_type == other.device_type
            and self.device_id == other.device_id
        )

    def __hash__(self) -> int:
        return hash((self.device_type, self.device_id))

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    def __enter__(self) -> Context:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *exc: object) -> None:
        _current.reset(self._tokens.pop())

    def empty_cache(self) -> None:
        """Do nothing: there is no device cache."""


def cpu(device_id: int = 0) -> Context:
    """Return the CPU context."""
    return Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """Return the CPU context under MXNet's name for page-locked memory."""
    return Context("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Context:
    """Raise: there are no GPU kernels."""
    return Context("gpu", device_id)


def num_gpus() -> int:
    """Return 0."""
    return 0


_default = Context("cpu", 0)
_current: ContextVar[Context] = ContextVar("ndsparse_context", default=_default)


def current_context() -> Context:
    """Return the context of the innermost ``with`` block, ``cpu(0)`` outside of any."""
    return _current.get()
