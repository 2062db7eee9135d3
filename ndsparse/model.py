"""Checkpoints, and what callbacks are told.

A checkpoint is two files: ``<prefix>-symbol.json``, the graph, and ``<prefix>-<epoch>.params``, the
parameters.  Each is there whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from ndsparse import symbol as symbols
from ndsparse.errors import ArgumentTypeError, FileFormatError
from ndsparse.executor.symbol import Symbol
from ndsparse.ndarray.ndarray import NDArray
from ndsparse.ndarray.serialize import Format, load, save

Params = dict[str, NDArray]


class BatchEndParam(NamedTuple):
    """What a callback after a batch is told."""

    epoch: int
    nbatch: int
    eval_metric: Any
    locals: Mapping[str, Any] | None


def params_file(prefix: str | os.PathLike[str], epoch: int) -> str:
    """Return the name of the file of parameters of an epoch."""
    return f"{os.fspath(prefix)}-{epoch:04d}.params"


def save_params(
    fname: str | os.PathLike[str], arg_params: Params, aux_params: Params, *, format: Format = "ndsparse"
) -> None:
    """Write parameters (``arg:`` and ``aux:`` before their names) to one file."""
    table = {f"arg:{k}": v for k, v in arg_params.items()} | {f"aux:{k}": v for k, v in aux_params.items()}
    save(fname, table, format=format)


def read_params(fname: str | os.PathLike[str]) -> tuple[Params, Params]:
    """Return the arguments and auxiliary states of a file of parameters, ours or MXNet's.

    Raises
    ------
    FileFormatError
        The file is no such file.
    """
    table = load(fname)
    parts: dict[str, Params] = {"arg": {}, "aux": {}}
    if table == []:
        return parts["arg"], parts["aux"]
    if not isinstance(table, dict):
        raise FileFormatError("a list of arrays; wanted parameters with names", path=os.fspath(fname))
    for name, array in table.items():
        kind, colon, rest = name.partition(":")
        if not colon or kind not in parts:
            raise FileFormatError(f"{name!r} does not begin with 'arg:' or 'aux:'", path=os.fspath(fname))
        parts[kind][rest] = array
    return parts["arg"], parts["aux"]


def save_checkpoint(
    prefix: str | os.PathLike[str],
    epoch: int,
    symbol: Symbol | None,
    arg_params: Params,
    aux_params: Params,
    remove_amp_cast: bool = True,
    *,
    format: Format = "ndsparse",
) -> None:
    """Write a graph and its parameters.

    Parameters
    ----------
    prefix : str or path
        Beginning of the file names.
    epoch : int
    symbol : Symbol or None
        None writes the parameters only.
    arg_params, aux_params : dict of str to NDArray
    remove_amp_cast : bool
        Accepted as in MXNet; there are no such casts here.
    format : {"ndsparse", "mxnet"}
        Of the parameters.
    """
    if symbol is not None:
        symbol.save(f"{os.fspath(prefix)}-symbol.json")
    save_params(params_file(prefix, epoch), arg_params, aux_params, format=format)


def load_params(prefix: str | os.PathLike[str], epoch: int) -> tuple[Params, Params]:
    """Return the arguments and auxiliary states of a checkpoint."""
    return read_params(params_file(prefix, epoch))


def load_checkpoint(prefix: str | os.PathLike[str], epoch: int) -> tuple[Symbol, Params, Params]:
    """Return the graph, the arguments and the auxiliary states of a checkpoint."""
    if not isinstance(epoch, int):
        raise ArgumentTypeError(f"epoch: expected a whole number, got {epoch!r}")
    symbol = symbols.load(f"{os.fspath(prefix)}-symbol.json")
    return (symbol, *load_params(prefix, epoch))
