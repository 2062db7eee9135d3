"""Build the wheel, install it into an empty environment, and use it there as a stranger would.

Checked: the wheel holds the package only; importing takes less than a second, starts no thread,
imports neither numba nor scipy; using it writes nothing beside the installed files (a read-only
install works) and keeps compiled kernels in the cache folder of the user.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

IMPORT = """
import sys, threading, time
begin = time.perf_counter()
import ndsparse
seconds = time.perf_counter() - begin
assert threading.active_count() == 1, threading.enumerate()
heavy = {"numba", "scipy", "llvmlite", "matplotlib"} & sys.modules.keys()
assert not heavy, f"import ndsparse imports {heavy}"
print(seconds)
"""

USE = """
import pathlib, sys
import ndsparse
folder = pathlib.Path(ndsparse.__file__).parent
assert pathlib.Path(sys.prefix) in folder.parents, f"not the installed package: {folder}"
for name in ("ops", "executor", "kvstore"):
    assert not (folder.parent / name).exists(), f"the wheel installs a top-level {name}"
import numpy
from ndsparse import nd
dense = numpy.array([[0, 1, 0], [2, 0, 3]], "f4")
csr = nd.array(dense).tostype("csr")
result = nd.dot(csr, nd.array(numpy.ones((3, 2), "f4")))
assert (result.asnumpy() == dense @ numpy.ones((3, 2), "f4")).all()
"""


def python(interpreter: Path, code: str, home: Path) -> str:
    """Run ``code`` isolated from this repository and from the settings of whoever runs this."""
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("NDSPARSE_", "PYTHON", "XDG_"))}
    return subprocess.run(
        [interpreter, "-I", "-B", "-W", "error", "-c", code],
        cwd=home,
        env={**keep, "HOME": str(home)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def build(folder: Path) -> Path:
    """Build the wheel and check what it holds."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert {t for t in tops if not t.endswith(".dist-info")} == {"ndsparse"}, tops
    assert "ndsparse/py.typed" in names
    print(f"{wheel.name}: {len(names)} files, {wheel.stat().st_size / 1024:.0f} KiB")
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """Install the wheel into a new environment and return its interpreter."""
    venv.create(folder, with_pip=True)
    interpreter = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    subprocess.run(
        [interpreter, "-m", "pip", "--disable-pip-version-check", "install", "-qq", wheel],
        check=True,
    )
    return interpreter


def snapshot(folder: Path) -> dict[str, int]:
    """Return the files below a folder with their times of change."""
    return {str(p): p.stat().st_mtime_ns for p in sorted(folder.rglob("*")) if p.is_file()}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        interpreter = install(build(base / "dist"), base / "venv")
        home = base / "home"
        home.mkdir()
        (package,) = (base / "venv").rglob("site-packages/ndsparse")
        writable = [p for p in [package, *package.rglob("*")] if not p.is_symlink()]
        for path in writable:  # root may write all the same, hence the snapshots
            path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
        before = snapshot(package)
        try:
            seconds = min(float(python(interpreter, IMPORT, home)) for _ in range(3))
            python(interpreter, USE, home)
        finally:  # so that the folder can be removed
            for path in writable:
                path.chmod(path.stat().st_mode | stat.S_IWUSR)
        assert snapshot(package) == before, "using the package changed the installed files"
        kernels = list((home / ".cache" / "ndsparse").glob("*"))
        assert kernels, "no compiled kernel in the cache folder of the user"
        assert seconds < 1, f"import ndsparse takes {seconds:.2f} s"
        print(f"installed and used: import takes {seconds:.2f} s, {len(kernels)} kernels cached")


if __name__ == "__main__":
    main()
