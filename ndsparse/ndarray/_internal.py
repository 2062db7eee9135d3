"""``nd._internal``: MXNet's namespace of that name; every operator is found here too."""

from __future__ import annotations

from typing import Any

from ndsparse.ndarray.namespace import operator_function


def __getattr__(name: str) -> Any:
    found = globals()[name] = operator_function(name, __name__)  # asked for once
    return found
