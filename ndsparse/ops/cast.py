"""``Cast``: the same values in another dtype."""

from __future__ import annotations

from typing import Any

from ndsparse.ops.elementwise import stored_rows
from ndsparse.ops.registry import Operator, operator
from ndsparse.storage.structure import canonical


def _cast(data: Any, *, dtype: str) -> Any:
    return data.astype(dtype)


def _passed(g: Any, data: Any) -> Any:
    return like(g, data)


def _register(name: str, aliases: tuple[str, ...]) -> Operator:
    def body(data: Any, *, dtype: str) -> Any:
        return _cast(data, dtype=dtype)

    body.__doc__ = """Return the array in another dtype; floats are cut towards zero where it is whole.

    The storage type is kept.
    """
    op = operator("data(*s) -> (*s)", name=name, aliases=aliases, dtypes="T -> @dtype")(body)
    stored_rows(op, _cast)
    op.grad(_passed)
    return op


@operator("data(*s), like(*s) -> (*s)", name="_cast_like", dtypes="T, U -> U")
def like(data: Any, like: Any) -> Any:
    """Return ``data`` in the dtype of ``like``: the gradient of a cast."""
    return data.astype(like.dtype)


@like.on(("csr, * -> csr", "row_sparse, * -> row_sparse", "default, csr|row_sparse -> default"))
def _(data: Any, like: Any, out: Any) -> None:
    out.copy_from(canonical(data))


like.grad(lambda g, data, other: (like(g, data), None))
_register("Cast", ("cast",))
_register("amp_cast", ())
