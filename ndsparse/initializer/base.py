"""What all initializers share: rules by name, JSON, and their registry."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np

from ndsparse.errors import ArgumentError, ArgumentTypeError
from ndsparse.initializer.writing import fill
from ndsparse.ndarray.ndarray import NDArray

_registry: dict[str, type[Initializer]] = {}

T = TypeVar("T", bound="type[Initializer]")

SUFFIXES: tuple[tuple[str, float], ...] = (
    ("bias", 0.0),
    ("gamma", 1.0),
    ("beta", 0.0),
    ("moving_mean", 0.0),
    ("running_mean", 0.0),
    ("moving_var", 1.0),
    ("running_var", 1.0),
    ("moving_inv_var", 0.0),
    ("moving_avg", 0.0),
    ("min", 0.0),
    ("max", 1.0),
)
"""Constants by the end of the name; names that end in ``weight`` get the initializer's own rule."""


class InitDesc(str):
    """Name of a parameter, with the attributes of its variable.

    Parameters
    ----------
    name : str
    attrs : mapping of str to str, optional
        Attributes; ``__init__`` goes before every other rule.
    global_init : Initializer, optional
        What to use for parts of composed initializers.
    """

    __slots__ = ("attrs", "global_init")

    attrs: dict[str, str]
    global_init: Initializer | None

    def __new__(
        cls, name: str, attrs: Mapping[str, str] | None = None, global_init: Initializer | None = None
    ) -> InitDesc:
        """Make the text; see the class."""
        self = super().__new__(cls, name)
        self.attrs = dict(attrs or {})
        self.global_init = global_init
        return self


class Initializer:
    """Base of all initializers.  A subclass defines :meth:`_init_weight` and is registered.

    Parameters
    ----------
    **kwargs
        What :meth:`dumps` writes, and what the initializer can be made from again.
    """

    aliases: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print: Callable[[NDArray], str] = _magnitude

    def set_verbosity(
        self, verbose: bool = False, print_func: Callable[[NDArray], str] | None = None
    ) -> Initializer:
        """Log what becomes of each parameter; ``print_func`` turns an array into the text to log."""
        self._verbose = verbose
        self._print = print_func or _magnitude
        return self

    def dumps(self) -> str:
        """Return the initializer as JSON, ``[name, parameters]``; :func:`create` reads it."""
        return json.dumps([type(self).__name__.lower(), plain(self._kwargs)])

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.dumps() == other.dumps()

    def __hash__(self) -> int:
        return hash(self.dumps())

    def __repr__(self) -> str:
        numbers = ", ".join(f"{k}={v!r}" for k, v in self._kwargs.items())
        return f"{type(self).__name__}({numbers})"

    def __call__(self, desc: str, arr: NDArray) -> None:
        """Write the first values of the parameter ``desc`` into ``arr``."""
        if not isinstance(desc, str):
            raise ArgumentTypeError(f"desc: expected a name or an InitDesc, got {type(desc).__name__}")
        own = desc.attrs.get("__init__") if isinstance(desc, InitDesc) else None
        if isinstance(desc, InitDesc) and desc.global_init is None:
            desc.global_init = self
        if own:
            create(own)._init_weight(desc, arr)
            rule = own
        else:
            rule = self._by_name(desc, arr)
        if self._verbose:
            logging.getLogger(__name__).info("%s initialized by %s: %s", desc, rule, self._print(arr))

    def _by_name(self, name: str, arr: NDArray) -> str:
        if name.endswith("weight"):
            self._init_weight(name, arr)
            return "weight"
        for suffix, value in SUFFIXES:
            if name.endswith(suffix):
                fill(arr, value)
                return suffix
        self._init_default(name, arr)
        return "default"

    def _init_weight(self, name: str, arr: NDArray) -> None:
        raise ArgumentError(f"{type(self).__name__} does not say how weights begin; define _init_weight")

    def _init_default(self, name: str, arr: NDArray) -> None:
        raise ArgumentError(
            f"Unknown initialization pattern for {name}. Default initialization is limited to names that "
            f"end in 'weight', {', '.join(repr(s) for s, _ in SUFFIXES)}; "
            "use mx.sym.Variable(init=mx.init.*) to say how this one begins"
        )


def register(klass: T) -> T:
    """Class decorator: make an initializer known to :func:`create`, by its name in lower case.

    Examples
    --------
    >>> from ndsparse import initializer, nd
    >>> @initializer.register
    ... class Seven(initializer.Initializer):
    ...     def _init_weight(self, name, arr):
    ...         arr[:] = 7
    >>> a = nd.zeros(2)
    >>> initializer.create("seven")("a_weight", a)
    >>> a.asnumpy().tolist()
    [7.0, 7.0]
    """
    if not (isinstance(klass, type) and issubclass(klass, Initializer)):
        raise ArgumentTypeError(f"register: expected a subclass of Initializer, got {klass!r}")
    for name in (klass.__name__, *klass.__dict__.get("aliases", ())):
        _registry[name.lower()] = klass
    return klass


def create(initializer: Any, **kwargs: Any) -> Any:
    """Return an initializer from its name, its JSON, or itself.

    Parameters
    ----------
    initializer : str or Initializer or callable
        ``"xavier"``, ``'["normal", {"sigma": 0.1}]'``, or something that is one already.
    **kwargs
        Parameters, with a name.

    Raises
    ------
    ArgumentError
        There is no initializer of that name, or it does not take these parameters.
    """
    if not isinstance(initializer, str):
        if not callable(initializer):
            raise ArgumentTypeError(f"initializer: expected a name or an Initializer, got {initializer!r}")
        return initializer
    name = initializer
    if initializer.lstrip().startswith("["):
        try:
            name, numbers = json.loads(initializer)
            kwargs = {**numbers, **kwargs}
        except (ValueError, TypeError):
            raise ArgumentError(f"initializer: not [name, parameters] in JSON: {initializer!r}") from None
    klass = _registry.get(str(name).lower())
    if klass is None:
        raise ArgumentError(f"initializer: there is no {name!r}; there are {sorted(_registry)}")
    try:
        return klass(**kwargs)
    except TypeError as error:
        raise ArgumentError(f"initializer {name!r}: {error}") from None


def _magnitude(arr: NDArray) -> str:
    values = arr._chunk.data
    return f"mean magnitude {float(np.abs(values).mean()) if values.size else 0.0:g}"


def plain(value: Any) -> Any:
    """Return ``value`` as something that JSON can hold."""
    if isinstance(value, Mapping):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (NDArray, np.ndarray)):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value
