"""Two models as graphs with a csr data variable and row_sparse weights."""

from __future__ import annotations

import ndsparse as nds
from ndsparse import sym

FACTORS = 8


def logistic_regression(width: int) -> sym.Symbol:
    """Return sigmoid(x w + b)."""
    x = sym.Variable("data", stype="csr")
    w = sym.Variable("w", shape=(width, 1), stype="row_sparse", init=nds.init.Zero())
    b = sym.Variable("b", shape=(1,), init=nds.init.Zero())
    score = sym.broadcast_add(sym.sparse.dot(x, w), b)
    return sym.LogisticRegressionOutput(score, sym.Variable("label"), name="late")


def factorization_machine(width: int, factors: int = FACTORS) -> sym.Symbol:
    """Return sigmoid(x w + b + sum over pairs of <v_i, v_j> x_i x_j).

    The sum over pairs is half of ``(x v)^2 - x^2 v^2``, summed over the factors (Rendle,
    "Factorization Machines", 2010, section III-B), which costs O(nonzeros x factors).
    """
    x = sym.Variable("data", stype="csr")
    w = sym.Variable("w", shape=(width, 1), stype="row_sparse", init=nds.init.Zero())
    v = sym.Variable("v", shape=(width, factors), stype="row_sparse", init=nds.init.Normal(0.05))
    b = sym.Variable("b", shape=(1,), init=nds.init.Zero())
    linear = sym.broadcast_add(sym.sparse.dot(x, w), b)
    squared_sum = sym.sum(sym.square(sym.sparse.dot(x, v)), axis=1, keepdims=True)
    sum_squared = sym.sparse.dot(sym.square(x), sym._internal._square_sum(v, axis=1, keepdims=True))
    score = linear + 0.5 * (squared_sum - sum_squared)
    return sym.LogisticRegressionOutput(score, sym.Variable("label"), name="late")
