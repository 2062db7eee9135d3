"""Every row of every operator against its dense meaning, and the checker against operators that are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndsparse.ops import registry
from ndsparse.ops.registry import Operator
from ndsparse.storage.structure import canonical, like
from ndsparse.testing import Sample, check_rules
from ndsparse.testing.samples import samples_of

OPERATORS = {o.name: o for o in registry.operators().values()}

ELSEWHERE = {
    "Custom", "_backward_Custom",  # need an operator of the user: test_custom
    "_backward_Concat",  # takes the inputs besides the gradient: covered by the gradient of Concat
    "_contrib_group_adagrad_update", "mp_sgd_mom_update", "mp_sgd_update", "signsgd_update", "signum_update",
}  # fmt: skip
"""Operators with rows that are tested in files of their own."""


@pytest.mark.parametrize("name", sorted(n for n, o in OPERATORS.items() if samples_of(o)))
def test_rows_agree_with_the_dense_body(name: str) -> None:
    assert check_rules(name)


def test_every_operator_with_rows_has_samples() -> None:
    missing = {n for n, o in OPERATORS.items() if o.rows and not samples_of(o)}
    assert missing <= ELSEWHERE


def _doubling(row: Any, outputs: str = "csr") -> Operator:
    """Return an operator that doubles, with one row for csr; it is not registered."""

    def body(data: Any) -> Any:
        return 2 * data

    op = Operator(body, "data(*s) -> (*s)", name="doubling")
    op.on(f"csr -> {outputs}")(row)
    return op


SAMPLES = [Sample(((5, 4),))]


def test_a_right_row_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    def row(data: Any, out: Any) -> None:
        source = canonical(data)
        np.multiply(source.data, 2, out=like(out, source))

    cases = check_rules(_doubling(row), dtypes=["float64"])
    assert {c.layout for c in cases if c.stypes == ("csr",)} == {
        "canonical", "unsorted", "empty", "int32", "read_only",
    }  # fmt: skip


def test_a_wrong_value_is_found() -> None:
    def row(data: Any, out: Any) -> None:
        source = canonical(data)
        np.multiply(source.data, 3, out=like(out, source))

    with pytest.raises(AssertionError, match=r"doubling\(csr\) -> csr"):
        check_rules(_doubling(row), dtypes=[])


def test_a_row_that_keeps_the_disorder_of_its_input_is_found() -> None:
    def row(data: Any, out: Any) -> None:
        values = data.data
        np.multiply(values, 2, out=like(out, data))

    with pytest.raises(Exception, match="ascending and unique"):
        check_rules(_doubling(row), dtypes=[])


def test_a_row_that_writes_its_input_is_found() -> None:
    def row(data: Any, out: Any) -> None:
        source = canonical(data)
        values = source.data
        if values.flags.writeable:
            values *= 2
        np.multiply(values, 1, out=like(out, source))

    with pytest.raises(AssertionError, match="an input was changed"):
        check_rules(_doubling(row), dtypes=[])


def test_a_row_that_adds_to_what_was_in_its_output_is_found() -> None:
    def row(data: Any, out: Any) -> None:
        target = out.check_and_alloc_data(out.shape) if not out.initialized else out.data
        if not getattr(row, "used", False):
            target[...] = 0
        row.used = True  # type: ignore[attr-defined]
        target += 2 * data.to_dense()

    with pytest.raises(AssertionError, match="used outputs"):
        check_rules(_doubling(row, outputs="default"), dtypes=[])
