"""Storage types of results beside the table recorded from MXNet, with every difference named."""

from __future__ import annotations

import ast
import csv
from pathlib import Path
from typing import Any

import pytest

from ndsparse.errors import GraphError
from ndsparse.ops import dispatch, registry

BETTER: dict[str, str] = {
    **{
        f"_{n}_scalar": "kept where 0 is mapped to 0"
        for n in (
            "hypot", "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "mod", "power",
            "rminus", "rmod",
        )
    },
    "Cast": "a cast keeps the storage type, as astype does",
    "amp_cast": "a cast keeps the storage type, as astype does",
    "_contrib_quadratic": "row_sparse is kept like csr",
    "add_n": "csr terms stay csr",
    "broadcast_mul": "row_sparse times dense stays row_sparse",
    "broadcast_div": "row_sparse divided by dense stays row_sparse",
}  # fmt: skip
"""Operators whose results are sparse where MXNet's become dense, and when."""

FEWER_OUTPUTS = {"Dropout", "sort"}
"""Operators whose second output, which nobody sees, is not one here."""

FILL = {
    "input_dim": 5, "output_dim": 4, "num_hidden": 3, "begin": (0,), "end": (1,), "axis": 0, "repeats": 2,
    "reps": (2,), "depth": 3, "shape": (1,), "pad_width": (0, 0), "mode": "edge", "num_args": 1,
}  # fmt: skip
"""Attributes that the table leaves out because storage types do not depend on them."""


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


@pytest.fixture(scope="module")
def table(golden_dir: Path) -> list[dict[str, str]]:
    path = golden_dir.parent / "reference" / "stype_table.csv"
    if not path.is_file():
        pytest.skip(f"no {path}")
    with path.open() as file:
        return [r for r in csv.DictReader(file) if r["direction"] == "forward"]


def _decided(op: registry.Operator, row: dict[str, str]) -> tuple[str, ...] | None:
    given = dict(part.split("=", 1) for part in row["attrs"].split(";") if "=" in part)
    attrs = {k: _value(v) for k, v in given.items() if k in op.attributes}
    for name, attribute in op.attributes.items():
        if attribute.required and name not in attrs:
            attrs[name] = FILL[name]
    normalized = op.normalize(attrs)
    stypes = row["input_stypes"].split("|")
    if not op.variadic and len(op.inputs_of(normalized)) != len(stypes):
        return None
    return dispatch.decide(op, stypes, normalized).stypes


def test_storage_types_are_those_of_the_table_or_sparser(table: list[dict[str, str]]) -> None:
    seen, differ = 0, set()
    for row in table:
        try:
            op = registry.get(row["op"])
        except GraphError:
            continue
        if op.name.endswith("_update") or op.name in FEWER_OUTPUTS:
            continue  # updates write their weight, whatever its storage type
        found = _decided(op, row)
        if found is None:
            continue
        seen += 1
        if "|".join(found) != row["output_stypes"]:
            differ.add(op.name)
            assert row["output_stypes"] == "default" and found[0] in row["input_stypes"].split("|"), row
    assert seen > 1500
    assert differ <= set(BETTER)
