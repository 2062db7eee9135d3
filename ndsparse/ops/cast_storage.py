"""``cast_storage``: the same values in another storage type."""

from __future__ import annotations

from typing import Any

from ndsparse.ops.operands import canonical_rows
from ndsparse.ops.registry import operator
from ndsparse.storage import Chunk, RowSparseChunk, cast, storage_types


@operator("data(*s) -> (*s)", hint="stype", aliases=("_sparse_cast_storage",))
def cast_storage(data: Any, *, stype: str) -> Any:
    """Return the array in another storage type.

    Parameters
    ----------
    data : NDArray
    stype : str
        ``default``, ``row_sparse``, ``csr`` or another registered storage type.

    Notes
    -----
    NaN is stored, -0.0 is not.  Cost: O(stored elements + rows) between sparse types, one pass over
    the dense array where one end is dense.
    """
    return data


@cast_storage.grad
def _(g: Any, data: Any) -> Any:
    return g


def _convert(data: Chunk, out: Chunk) -> None:
    cast(data, out)
    out.canonicalize()


def _convert_rows(data: RowSparseChunk, out: Chunk) -> None:
    cast(canonical_rows(data), out)


for _source in storage_types():
    for _target in storage_types():
        if not _source == _target == "default":
            cast_storage.on(f"{_source} -> {_target}")(_convert_rows if _source == "row_sparse" else _convert)
