"""Every example in the documentation runs."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = [p for p in sorted((ROOT / "ndsparse").rglob("*.py")) if ">>>" in p.read_text(encoding="utf-8")]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def python_blocks(text: str) -> list[tuple[int, str, str | None]]:
    """Return the blocks of Python in a page: first line, code, and the text block that follows at once."""
    pattern = r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?"
    found = re.finditer(pattern, text, re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, m.start(1)), m.group(1), m.group(2)) for m in found]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", [p for p in PAGES if python_blocks(p.read_text("utf-8"))], ids=relative)
def test_blocks_of_a_page_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for line, block, printed in python_blocks(page.read_text(encoding="utf-8")):
        if block.startswith(">>>"):
            run_examples(block, namespace, str(page), line)
            continue
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile("\n" * line + block, str(page), "exec"), namespace)
        if printed is not None:
            assert output.getvalue().split() == printed.split(), f"{relative(page)}, block at line {line}"


@pytest.mark.parametrize("source", SOURCES, ids=relative)
def test_examples_in_docstrings(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = relative(source).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert result.failed == 0


def test_links_between_pages_lead_somewhere() -> None:
    pages = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{relative(page)} links to {target}"


def run_examples(block: str, namespace: dict[str, object], name: str, line: int) -> None:
    test = doctest.DocTestParser().get_doctest(block, namespace, name, name, line)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, clear_globs=False)
    namespace.update(test.globs)
    assert runner.summarize(verbose=False).failed == 0
