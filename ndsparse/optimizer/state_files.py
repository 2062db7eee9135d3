"""What a file of an optimizer's states says of itself, and who may read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ndsparse.errors import FileFormatError
from ndsparse.optimizer.base import Optimizer

UPDATER_STATES = "ndsparse updater states"
STORE_STATES = "ndsparse shard states"

_ADVICE = {
    (STORE_STATES, UPDATER_STATES): (
        "; the states were saved by weights in a kvstore, and are to be loaded by such: give fit the "
        "sparse_row_id_fn again, or init_optimizer a store (kvstore=mx.kv.create('local'))"
    ),
    (UPDATER_STATES, STORE_STATES): (
        "; the states were saved by a module that updates its own weights, and are to be loaded by such: "
        "kvstore=None, without a sparse_row_id_fn"
    ),
}


def check_states_format(meta: Mapping[str, Any], wanted: str, path: str | None = None) -> None:
    """Raise unless a file says that it is of the format ``wanted``."""
    found = meta.get("format")
    if found != wanted or meta.get("version") != 1:
        advice = _ADVICE.get((found, wanted), "") if isinstance(found, str) else ""
        raise FileFormatError(
            f"holds {found!r} of version {meta.get('version')}; wanted {wanted!r} of version 1{advice}",
            path=path,
        )


def check_states_kind(meta: Mapping[str, Any], optimizer: Optimizer, path: str | None = None) -> None:
    """Raise unless the states are of an optimizer of this kind (files may not say it)."""
    found = meta.get("of")
    if found is not None and found != optimizer.kind:
        raise FileFormatError(
            f"holds states of the optimizer {found!r}, this one is {optimizer.kind!r}; create {found!r} "
            "(in a module: optimizer=) to go on with them, or begin anew without loading",
            path=path,
        )
