"""The source of random numbers of this process.

One numpy Generator, made when it is first needed from seed 0 (as in MXNet, a program that never
calls ``seed`` draws the same numbers at every run).  A Generator locks itself, so threads may share
it; the order in which they draw is then theirs to fix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ndsparse.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    import numpy as np

_generator: np.random.Generator | None = None


def generator() -> np.random.Generator:
    """Return the generator that initializers, samplers and random operators draw from."""
    return _seeded(0) if _generator is None else _generator


def seed(seed_state: int, ctx: Any = "all") -> None:
    """Begin the random numbers anew.

    Parameters
    ----------
    seed_state : int
        The same seed gives the same numbers.
    ctx : Context or str
        Accepted as in MXNet; all devices draw from one generator.
    """
    try:
        whole = int(seed_state)
        if whole != seed_state:
            raise ValueError
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"seed_state: expected a whole number, got {seed_state!r}") from None
    _seeded(abs(whole) * 2 + (whole < 0))


def _seeded(number: int) -> np.random.Generator:
    global _generator
    from numpy.random import PCG64, Generator  # takes a while to import

    _generator = Generator(PCG64(number))
    return _generator


def get_state() -> dict[str, Any]:
    """Return the state of the generator as plain values (JSON can hold them)."""
    return dict(generator().bit_generator.state)


def set_state(state: dict[str, Any]) -> None:
    """Bring the generator into a state that :func:`get_state` returned.

    Raises
    ------
    ArgumentError
        It is no such state.
    """
    try:
        generator().bit_generator.state = state
    except (TypeError, ValueError, KeyError) as error:
        raise ArgumentError(f"state: not a state of this generator: {error}") from None
