"""The value that a row has before anything is stored for it.

It depends on (seed, key, row id) and the parameters here alone, so a row that was never touched, was
dropped, or moves to another shard needs no storage and no message.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndsparse.errors import ArgumentError, ArgumentTypeError, DTypeError
from ndsparse.kernels.random_rows import normal_rows, uniform_rows

KINDS = ("constant", "uniform", "normal")


@dataclass(frozen=True)
class RowInit:
    """How rows begin.

    Parameters
    ----------
    kind : {"constant", "uniform", "normal"}
    a, b : float
        The constant; the bounds (uniform in [a, b)); or mean and standard deviation.
    stream : int
        Which random stream, 0 <= stream < 2^64; see :func:`stream_of`.

    Examples
    --------
    >>> RowInit("uniform", -0.1, 0.1, stream_of(seed=1, key="w")).rows(np.array([7]), 3, np.float32).shape
    (1, 3)
    """

    kind: str = "constant"
    a: float = 0.0
    b: float = 0.0
    stream: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ArgumentError(f"RowInit: kind is {self.kind!r}; wanted one of {', '.join(KINDS)}")

    @property
    def is_zero(self) -> bool:
        """Whether all rows begin as zeros."""
        return self.kind == "constant" and self.a == 0

    def fill(self, out: NDArray[Any], places: NDArray[Any], ids: NDArray[Any]) -> None:
        """Write the first values of rows ``ids`` into rows ``places`` of the matrix ``out``."""
        if self.kind == "constant":
            out[places] = self.a
        elif out.dtype != np.float32 and out.dtype != np.float64:
            raise DTypeError(f"RowInit: random first values of dtype {out.dtype}; wanted float32 or float64")
        elif self.kind == "uniform":
            uniform_rows(out, places, ids, self.stream, self.a, self.b)
        else:
            normal_rows(out, places, ids, self.stream, self.a, self.b)

    def rows(self, ids: NDArray[Any], width: int, dtype: Any) -> NDArray[Any]:
        """Return the first values of rows ``ids``, (n, width)."""
        out = np.empty((len(ids), width), dtype)
        self.fill(out, np.arange(len(ids)), np.ascontiguousarray(ids, np.int64))
        return out

    def to_config(self) -> dict[str, Any]:
        """Return the parameters as plain values, for a message or a snapshot."""
        return asdict(self)

    @staticmethod
    def from_config(config: Mapping[str, Any]) -> RowInit:
        """Rebuild from :meth:`to_config`."""
        return RowInit(str(config["kind"]), float(config["a"]), float(config["b"]), int(config["stream"]))


def stream_of(seed: int, key: int | str) -> int:
    """Return the random stream of a key: 64 bits of BLAKE2b over the seed, the key and its type."""
    text = f"{int(seed)}|{'int' if isinstance(key, int) else 'str'}|{key}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def row_init(
    initializer: Any, shape: Sequence[int], *, seed: int = 0, key: int | str = 0, dtype: Any = np.float32
) -> RowInit:
    """Derive the first values of rows from an initializer.

    Parameters
    ----------
    initializer : None, float, str, (str, dict), or an object with MXNet's ``dumps()``
        None is zero, a number is a constant; a name stands for the initializer of that name with its
        default numbers: ``zeros``, ``ones``, ``constant`` (value), ``uniform`` (scale), ``normal``
        (sigma), ``xavier`` (rnd_type, factor_type, magnitude).
    shape : sequence of int
        The shape of the whole weight (Xavier's fans are taken from it: out is the number of rows, in
        the elements of a row, unless ``fan_in`` / ``fan_out`` are given).
    seed, key
        Choose the random stream.
    dtype : dtype
        Of the weight; random values need a floating point type.

    Raises
    ------
    ArgumentError
        If the initializer is none whose rows are independent of each other.
    """
    if isinstance(initializer, RowInit):
        return initializer
    name, numbers = _name_and_numbers(initializer)
    stream = stream_of(seed, key)
    if name in ("zero", "zeros"):
        made = RowInit("constant", 0.0, 0.0, stream)
    elif name in ("one", "ones"):
        made = RowInit("constant", 1.0, 0.0, stream)
    elif name == "constant":
        made = RowInit("constant", float(numbers.get("value", 0.0)), 0.0, stream)
    elif name == "uniform":
        scale = float(numbers.get("scale", 0.07))
        made = RowInit("uniform", -scale, scale, stream)
    elif name == "normal":
        made = RowInit("normal", 0.0, float(numbers.get("sigma", 0.01)), stream)
    elif name == "xavier":
        made = _xavier(numbers, shape, stream)
    else:
        raise ArgumentError(
            f"row_init: {name!r} does not make rows that are independent of each other; "
            "wanted zeros, ones, constant, uniform, normal or xavier"
        )
    if made.kind != "constant" and np.dtype(dtype).kind != "f":
        raise DTypeError(f"row_init: {name!r} needs a floating point dtype, not {np.dtype(dtype)}")
    return made


def _name_and_numbers(initializer: Any) -> tuple[str, Mapping[str, Any]]:
    if initializer is None:
        return "zeros", {}
    if isinstance(initializer, int | float):
        return "constant", {"value": initializer}
    if isinstance(initializer, str):
        if not initializer.startswith("["):
            return initializer.lower(), {}
        initializer = json.loads(initializer)
    elif hasattr(initializer, "dumps"):
        initializer = json.loads(initializer.dumps())
    if isinstance(initializer, tuple | list) and len(initializer) == 2:
        return str(initializer[0]).lower(), initializer[1]
    raise ArgumentTypeError(
        f"row_init: cannot read an initializer from {initializer!r}; wanted a name, (name, numbers), "
        "a number, or an Initializer"
    )


def _xavier(numbers: Mapping[str, Any], shape: Sequence[int], stream: int) -> RowInit:
    fan_in = float(numbers.get("fan_in", math.prod(shape[1:])))
    fan_out = float(numbers.get("fan_out", shape[0]))
    factors = {"avg": (fan_in + fan_out) / 2, "in": fan_in, "out": fan_out}
    factor_type, rnd_type = str(numbers.get("factor_type", "avg")), str(numbers.get("rnd_type", "uniform"))
    if factor_type not in factors:
        raise ArgumentError(f"xavier: factor_type is {factor_type!r}; wanted avg, in or out")
    scale = math.sqrt(float(numbers.get("magnitude", 3.0)) / factors[factor_type])
    if rnd_type == "uniform":
        return RowInit("uniform", -scale, scale, stream)
    if rnd_type == "gaussian":
        return RowInit("normal", 0.0, scale, stream)
    raise ArgumentError(f"xavier: rnd_type is {rnd_type!r}; wanted uniform or gaussian")
