"""First values of parameters.

An initializer is called with the name of a parameter and its array.  What it does follows, in this
order, from the ``__init__`` attribute that the variable carries, from the end of the name (a
``bias`` is 0, a ``gamma`` 1, ...), or from the initializer itself.

Random numbers come from ``mx.random``: the same seed gives the same parameters.
"""

from __future__ import annotations

from ndsparse.initializer.base import InitDesc, Initializer, create, register
from ndsparse.initializer.composed import Load, Mixed
from ndsparse.initializer.scaled import Bilinear, LSTMBias, MSRAPrelu, Orthogonal, Xavier
from ndsparse.initializer.simple import Constant, Normal, One, Uniform, Zero

Zeros, Ones = Zero, One

__all__ = [
    "Bilinear", "Constant", "InitDesc", "Initializer", "LSTMBias", "Load", "MSRAPrelu", "Mixed", "Normal",
    "One", "Ones", "Orthogonal", "Uniform", "Xavier", "Zero", "Zeros", "create", "register",
]  # fmt: skip
