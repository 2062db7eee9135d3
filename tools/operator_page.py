"""Write docs/operators.md from the registry: ``operator_page.py [--check]``.

The storage-type tables are the rows that inference and dispatch read, so they cannot be wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import ndsparse  # noqa: F401  (registers the operators)
from ndsparse.ops import registry
from ndsparse.ops.attrs import Attribute
from ndsparse.ops.operator import Operator
from ndsparse.ops.rows import Row

PAGE = Path(__file__).parents[1] / "docs" / "operators.md"

HEAD = """# Operators

Printed from the registry by `tools/operator_page.py`. Each operator runs dense on any storage type (the
*fallback*, with a warning); the rows below are the combinations with a kernel of their own, the first match
wins. `=0` is the storage type of the first input, `|` separates alternatives, `*` is any storage type, `...`
repeats the last input.
"""


def main(arguments: list[str]) -> int:
    """Write the page, or check that it is what would be written."""
    text = page()
    if "--check" not in arguments:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") != text:
        print("docs/operators.md is not what the registry says: run tools/operator_page.py")
        return 1
    return 0


def page() -> str:
    """Return the page."""
    table = registry.operators()
    own = {op.name: op for op in table.values()}
    public = sorted(
        (n for n in own if not n.startswith("_backward")), key=lambda n: (n.startswith("_"), n.lower())
    )
    index = "| operator | sparse rows | gradient |\n|---|---|---|\n" + "\n".join(
        f"| [`{n}`](#{anchor(n)}) | {len(own[n].rows)} | {'yes' if own[n].gradient else 'no'} |"
        for n in public
    )
    return "\n".join([HEAD, index, "", *(section(own[n]) for n in public)])


def anchor(name: str) -> str:
    """Return the anchor that a heading gets."""
    return name.lower()


def section(op: Operator) -> str:
    """Return what there is to say of one operator."""
    inputs = "*args" if op.variadic else ", ".join(op.input_names)
    attributes = "".join(f", {attribute(a)}" for a in op.attributes.values())
    lines = [
        f"## {op.name}",
        "",
        f"`{op.name}({inputs}{attributes})`",
        "",
        op.doc.split("\n\n")[0].replace("\n", " "),
    ]
    if op.aliases:
        lines += ["", f"Also: {', '.join(f'`{a}`' for a in op.aliases)}"]
    if op.rows:
        lines += ["", "| storage types | when | |", "|---|---|---|", *(row(r) for r in op.rows)]
    return "\n".join([*lines, ""])


def attribute(declared: Attribute) -> str:
    """Return an attribute as in a call."""
    return declared.name if declared.required else f"{declared.name}={declared.default!r}"


def row(found: Row) -> str:
    """Return a line of the table of an operator."""
    conditions = [f"{name}={value!r}" for name, value in found.where.items()]
    if found.when is not None:
        conditions.append("depends on attributes")
    kind = (
        "refused: " + found.refusal
        if found.refusal
        else ("kernel" if found.kernel else "by the dense body, then cast")
    )
    return f"| {found.text.replace('|', chr(92) + '|')} | {', '.join(conditions)} | {kind} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
