"""check_gradient: gradient rules against finite differences."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ndsparse.config import using
from ndsparse.executor.passes.gradient import gradient
from ndsparse.graph import Entry, apply, variable
from ndsparse.graph.graph import topological
from ndsparse.ndarray.invoke import invoke, wrap
from ndsparse.ops import dispatch, registry
from ndsparse.ops.registry import FALLBACK, OpContext, Operator
from ndsparse.storage import converted
from ndsparse.testing.layouts import make_chunk
from ndsparse.testing.rules import combinations
from ndsparse.testing.samples import Sample, samples_of, values_of

STEP = 1e-5
"""Step of the differences, in float64."""

JUMP = 1e3
"""A slope that no function has at the samples: it is a jump."""


def check_gradient(
    op: str | Operator | None = None,
    *,
    samples: Sequence[Sample] | None = None,
    rtol: float = 1e-4,
    atol: float = 1e-6,
    seed: int = 0,
) -> int:
    """Compare the gradient rule of an operator, or of all, with central differences in float64.

    The differences are those of the dense body.  The gradient runs through the graph, with every
    input dense, and with the sparse storage types that the operator's rows serve; the gradient that
    arrives is dense, and also of the storage type of the output.  Elements at which the function has
    a kink or a jump are left out.

    Parameters
    ----------
    op : str or Operator, optional
        Default: all that are registered, can be sampled and have a gradient.
    samples : sequence of Sample, optional
        Default: those of :func:`ndsparse.testing.samples.samples_of`.
    rtol, atol : float
    seed : int
        Of the values.

    Returns
    -------
    int
        How many combinations of storage types were checked.

    Raises
    ------
    AssertionError
        A gradient disagrees; the message names operator, input and storage types.

    Examples
    --------
    >>> from ndsparse.testing import check_gradient
    >>> check_gradient("square") > 0
    True
    """
    unique = {id(o): o for o in registry.operators().values()}
    ops = list(unique.values()) if op is None else [registry.get(op) if isinstance(op, str) else op]
    count = 0
    with using(storage_fallback="silent"), np.errstate(all="ignore"):
        for each in ops:
            if each.gradient is None:
                continue
            for sample in samples_of(each) if samples is None else samples:
                if sample.gradient and all(np.prod(s) for s in sample.shapes):
                    count += _check_sample(each, sample, rtol, atol, seed)
    return count


def _check_sample(op: Operator, sample: Sample, rtol: float, atol: float, seed: int) -> int:
    attrs = op.normalize(sample.attrs)
    rng = np.random.default_rng(seed)
    values = [values_of(sample.kind(i), s, np.float64, rng) for i, s in enumerate(sample.shapes)]
    smooth = [i for i in range(len(values)) if not sample.kind(i).startswith(("ids:", "mask"))]
    heads = [values_of("filled", np.shape(r), np.float64, rng) for r in _forward(op, attrs, values)]
    wanted = {i: _differences(op, attrs, values, heads, i) for i in smooth}
    count = 0
    for stypes, decision in combinations(op, sample, attrs, fallbacks=True):
        if decision.mode == FALLBACK and len(set(stypes)) > 1:
            continue
        for head_stypes in _heads_of(decision):
            _check_stypes(op, sample, values, heads, stypes, head_stypes, wanted, (rtol, atol))
            count += 1
    return count


def _heads_of(decision: dispatch.Decision) -> Iterator[tuple[str, ...]]:
    """Yield the storage types in which gradients may arrive: dense, and those of the outputs."""
    dense = ("default",) * len(decision.stypes)
    yield dense
    if decision.stypes != dense:
        yield decision.stypes


def _forward(op: Operator, attrs: Mapping[str, Any], values: Sequence[Any]) -> list[Any]:
    state = None if op.make_state is None else op.make_state(attrs)
    call = dispatch._bound(op.body, attrs, state)
    count = op.num_outputs(attrs)
    ctx = OpContext(True, ("write",) * count, np.random.default_rng(7))
    result = call([v.copy() for v in values], ctx)
    return [np.asarray(r) for r in ([result] if count == 1 else result)]


def _differences(
    op: Operator, attrs: Mapping[str, Any], values: Sequence[Any], heads: Sequence[Any], i: int
) -> tuple[Any, Any]:
    """Return the gradient of ``sum(heads * outputs)`` by input ``i``, and where it exists."""

    def loss(element: tuple[int, ...], shift: float) -> float:
        moved = [v.copy() for v in values]
        moved[i][element] += shift
        return float(sum(np.sum(h * r) for h, r in zip(heads, _forward(op, attrs, moved), strict=True)))

    found, exists = np.zeros(values[i].shape), np.ones(values[i].shape, np.bool_)
    middle = loss((0,) * values[i].ndim, 0.0) if values[i].size else 0.0
    for element in itertools.product(*(range(n) for n in values[i].shape)):
        up, down = loss(element, STEP), loss(element, -STEP)
        left, right = (middle - down) / STEP, (up - middle) / STEP
        found[element] = (up - down) / (2 * STEP)
        exists[element] = abs(left - right) <= 1e-2 * max(1.0, abs(found[element]))
    return found, exists & (np.abs(found) < JUMP)


def _check_stypes(
    op: Operator,
    sample: Sample,
    values: Sequence[Any],
    heads: Sequence[Any],
    stypes: Sequence[str],
    head_stypes: Sequence[str],
    wanted: Mapping[int, tuple[Any, Any]],
    tolerance: tuple[float, float],
) -> None:
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(len(values))]
    inputs = [variable(n) for n in names]
    node = apply(op, inputs, sample.attrs)
    outputs = [Entry(node, i) for i in range(node.num_outputs)]
    head_entries = [variable(f"g{i}") for i in range(len(outputs))]
    wrt = [inputs[i] for i in wanted]
    entries = gradient(outputs, head_entries, wrt)
    known = {
        e: wrap(make_chunk(v, s, "canonical", rng)) for e, v, s in zip(inputs, values, stypes, strict=True)
    }
    for entry, head, stype in zip(head_entries, heads, head_stypes, strict=True):
        known[entry] = wrap(converted(make_chunk(head, "default", "canonical", rng), stype))
    label = (
        f"gradient of {op.name}({', '.join(stypes)}), arriving as {tuple(head_stypes)}, {dict(sample.attrs)}"
    )
    try:
        found = evaluate(entries, known)
    except Exception as error:
        raise AssertionError(f"{label}: {type(error).__name__}: {error}") from error
    for (i, (want, exists)), got in zip(wanted.items(), found, strict=True):
        got.check_format(full_check=True)
        if got.shape != want.shape:
            raise AssertionError(f"{label}: input {i} has shape {want.shape}, its gradient {got.shape}")
        np.testing.assert_allclose(
            np.where(exists, got.asnumpy(), 0), np.where(exists, want, 0), tolerance[0], tolerance[1],
            err_msg=f"{label}, by input {i}",
        )  # fmt: skip


def evaluate(entries: Sequence[Entry], known: Mapping[Entry, Any]) -> list[Any]:
    """Compute entries of a graph from NDArrays for its variables, one operator after the other."""
    results = dict(known)
    for node in topological([e.node for e in entries]):
        if node.op is None:
            continue
        value = invoke(node.op, [results[e] for e in node.inputs], dict(node.attrs))
        for i, array in enumerate(value if isinstance(value, list) else [value]):
            results[Entry(node, i)] = array
    return [results[e] for e in entries]
