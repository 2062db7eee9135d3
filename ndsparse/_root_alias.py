"""One module, however it is named.

The folders ``ops``, ``executor`` and ``kvstore`` also stand at the root of the repository, as links
into this package.  Whoever starts Python there and says ``import ops`` would run the same files
under a second name, and get a second operator registry that the rest of the package knows nothing
of.  The first lines of the three ``__init__`` files therefore call :func:`guard`, which makes
``ops`` and ``ops.dot`` other names of the modules ``ndsparse.ops`` and ``ndsparse.ops.dot``.

A package of another project that has one of these names is never touched: only the linked files
themselves call :func:`guard`.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence

PACKAGE = __name__.partition(".")[0]


def guard(name: str) -> None:
    """Replace the module that is being imported by the package's own, if it has a bare name.

    Parameters
    ----------
    name : str
        ``__name__`` of the calling ``__init__`` file.
    """
    if "." in name or name == "__main__":
        return
    if not any(isinstance(finder, _SubmoduleFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _SubmoduleFinder())
    sys.modules[name] = importlib.import_module(f"{PACKAGE}.{name}")


class _SubmoduleFinder(importlib.abc.MetaPathFinder):
    """Finds ``ops.dot`` where ``ops`` is another name of ``ndsparse.ops``."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec for a submodule of an aliased package, None for everything else."""
        top, dot, _ = fullname.partition(".")
        if not dot or top == PACKAGE:
            return None
        own = sys.modules.get(f"{PACKAGE}.{top}")
        if own is None or sys.modules.get(top) is not own:
            return None
        return importlib.machinery.ModuleSpec(fullname, _AliasLoader())


class _AliasLoader(importlib.abc.Loader):
    """Puts the package's own module where the import system expects the aliased one."""

    def exec_module(self, module: types.ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(f"{PACKAGE}.{module.__name__}")
