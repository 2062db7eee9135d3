"""The links at the root of the repository, their guards, and what is shipped."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

LINKS = ("ops", "executor", "kvstore")

Run = Callable[..., str]


@pytest.mark.parametrize("name", LINKS)
def test_root_has_links_into_the_package(root: Path, name: str) -> None:
    link = root / name
    assert link.is_symlink()
    assert link.readlink() == Path("ndsparse") / name
    assert (link / "__init__.py").is_file()


def test_git_keeps_them_as_links(root: Path) -> None:
    if not (root / ".git").exists():
        pytest.skip("not a clone")
    out = subprocess.run(
        ["git", "ls-files", "--stage", *LINKS], cwd=root, check=True, capture_output=True, text=True
    ).stdout
    assert sorted(line.split()[0] + " " + line.split()[-1] for line in out.splitlines()) == sorted(
        f"120000 {name}" for name in LINKS
    )


@pytest.mark.parametrize("name", LINKS)
def test_bare_name_is_the_packages_own_module(root: Path, run_python: Run, name: str) -> None:
    code = f"import {name}, sys, ndsparse.{name} as own; print({name} is own, {name}.__name__)"
    assert run_python(code, cwd=root).strip() == f"True ndsparse.{name}"
    code = f"import ndsparse, {name}, sys; print({name} is sys.modules['ndsparse.{name}'])"
    assert run_python(code, cwd=root).strip() == "True"


@pytest.mark.parametrize("name", LINKS)
def test_bare_submodules_are_the_packages_own(root: Path, run_python: Run, name: str) -> None:
    submodules = [p.stem for p in sorted((root / "ndsparse" / name).glob("*.py")) if p.stem != "__init__"]
    code = f"""
import importlib, json, sys
for sub in json.loads({json.dumps(submodules)!r}):
    bare = importlib.import_module("{name}." + sub)
    own = importlib.import_module("ndsparse.{name}." + sub)
    assert bare is own, sub
    assert own.__name__ == own.__spec__.name == "ndsparse.{name}." + sub
first = [m for m in sys.modules if m.split(".")[0] == "{name}"]
assert all(sys.modules[m] is sys.modules["ndsparse." + m] for m in first), first
"""
    run_python(code, cwd=root)


def test_no_second_registry(root: Path, run_python: Run) -> None:
    code = """
import gc, sys
import ops, executor, kvstore
files = {}
for name, module in list(sys.modules.items()):
    path = getattr(module, "__file__", None)
    if path and "ndsparse" in path or name.split(".")[0] in ("ops", "executor", "kvstore"):
        files.setdefault(module.__spec__.name, set()).add(id(module))
assert all(len(ids) == 1 for ids in files.values())
assert not [f for f in files if f.split(".")[0] != "ndsparse"], files
import ops.registry as bare, ndsparse.ops.registry as own
assert bare is own
"""
    run_python(code, cwd=root)


def test_missing_submodule_is_an_import_error(root: Path, run_python: Run) -> None:
    code = """
import ops
try:
    import ops.nothing_of_this_name
except ModuleNotFoundError as error:
    print(error)
"""
    assert "nothing_of_this_name" in run_python(code, cwd=root)


def test_package_of_another_project_keeps_its_name(run_python: Run, tmp_path: Path) -> None:
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "__init__.py").write_text("mine = True\n")
    (tmp_path / "ops" / "dot.py").write_text("mine = True\n")
    code = "import ndsparse, ops, ops.dot; print(ops.mine, ops.dot.mine)"
    assert run_python(code, cwd=tmp_path).strip() == "True True"


def test_pytest_does_not_collect_the_links(root: Path) -> None:
    import runpy

    assert set(runpy.run_path(str(root / "conftest.py"))["collect_ignore"]) == set(LINKS)


@pytest.fixture(scope="module")
def shipped(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Return the names in the wheel and in the source distribution."""
    pytest.importorskip("hatchling", reason="hatchling is part of the extra dev")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=root,
        check=True,
        capture_output=True,
    )
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        names = {"wheel": set(wheel.namelist())}
    with tarfile.open(next(folder.glob("*.tar.gz"))) as sdist:
        names["sdist"] = {name.partition("/")[2] for name in sdist.getnames()}
    return names


def test_wheel_holds_the_package_only(root: Path, shipped: dict[str, set[str]]) -> None:
    tops = {name.split("/")[0] for name in shipped["wheel"]}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"ndsparse"}
    assert {"ndsparse/py.typed", "ndsparse/ops/__init__.py"} <= shipped["wheel"]
    assert any(name.endswith("licenses/LICENSE") for name in shipped["wheel"])
    assert not [name for name in shipped["wheel"] if name.endswith(".pyc")]


def test_source_distribution_has_no_links(shipped: dict[str, set[str]]) -> None:
    tops = {name.split("/")[0] for name in shipped["sdist"]}
    assert not tops & {*LINKS, "tests", "examples", "benchmarks"}
    assert {"ndsparse", "pyproject.toml", "README.md", "LICENSE"} <= tops
