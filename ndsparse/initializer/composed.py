"""Initializers that choose by the whole name: from a file, or by patterns."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ndsparse.errors import ArgumentError, ArgumentTypeError, ShapeError
from ndsparse.initializer.base import create
from ndsparse.ndarray.ndarray import NDArray
from ndsparse.ndarray.serialize import load


class Load:
    """Values from a file or a dict; other parameters begin by another initializer.

    Parameters
    ----------
    param : str or path or dict of str to NDArray
        Names may carry the ``arg:`` and ``aux:`` of a checkpoint.
    default_init : callable, optional
        For parameters that are not there; without it they are an error.
    verbose : bool
        Log where each parameter came from.
    """

    def __init__(self, param: Any, default_init: Any = None, verbose: bool = False) -> None:
        table = param if isinstance(param, Mapping) else load(param)
        if not isinstance(table, Mapping):
            raise ArgumentTypeError(f"param: {param} holds a list of arrays; Load needs names")
        self.param = {re.sub("^(arg|aux):", "", name): value for name, value in table.items()}
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: NDArray) -> None:
        """Write the values of ``name`` into ``arr``."""
        found = self.param.get(str(name))
        if found is not None:
            if found.shape != arr.shape:
                raise ShapeError(f"Load: {name} has shape {arr.shape}, the loaded one has {found.shape}")
            found.copyto(arr)
        elif self.default_init is not None:
            self.default_init(name, arr)
        else:
            raise ArgumentError(
                f"Load: {name} is not among the loaded parameters, and there is no default_init"
            )
        if self.verbose:
            source = "loading" if found is not None else "the default initializer"
            logging.getLogger(__name__).info("%s initialized by %s", name, source)


class Mixed:
    """An initializer for each pattern of names; the first that matches counts.

    Parameters
    ----------
    patterns : list of str
        Regular expressions, matched from the beginning of the name.
    initializers : list of callable
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Any]) -> None:
        if len(patterns) != len(initializers):
            raise ArgumentError(f"Mixed: {len(patterns)} patterns for {len(initializers)} initializers")
        self.map = [(re.compile(p), create(i)) for p, i in zip(patterns, initializers, strict=True)]

    def __call__(self, name: str, arr: NDArray) -> None:
        """Write the first values of ``name`` into ``arr``."""
        for pattern, initializer in self.map:
            if pattern.match(name):
                initializer(name, arr)
                return
        raise ArgumentError(
            f"Parameter name {name} did not match any pattern. "
            'Add a ".*" pattern at the end with a default initializer'
        )
