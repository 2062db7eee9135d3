"""check_rules: every row of the storage-type tables against the dense meaning."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ndsparse.config import using
from ndsparse.ops import dispatch, registry
from ndsparse.ops.dispatch import Decision
from ndsparse.ops.registry import ADD, FALLBACK, WRITE, OpContext, Operator
from ndsparse.storage import Chunk, storage_class
from ndsparse.testing.layouts import LAYOUTS, contents, make_chunk
from ndsparse.testing.samples import Sample, samples_of, values_of

STYPES = ("default", "csr", "row_sparse")
DTYPES = ("float16", "float64", "int8", "int32", "int64", "uint8", "bool")
"""Besides float32, which is checked in all layouts."""

TOLERANCE = {"float16": 2e-2, "float32": 2e-5, "float64": 1e-12}


class Case(NamedTuple):
    """One thing that was checked."""

    op: str
    stypes: tuple[str, ...]
    outputs: tuple[str, ...]
    mode: str
    layout: str
    dtype: str
    attrs: str
    shapes: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        return (
            f"{self.op}({', '.join(self.stypes)}) -> {', '.join(self.outputs)} [{self.mode}], {self.layout}, "
            f"{self.dtype}, shapes {self.shapes}, {self.attrs}"
        )


def check_rules(
    op: str | Operator | None = None,
    *,
    layouts: Sequence[str] = LAYOUTS,
    dtypes: Sequence[str] = DTYPES,
    fallbacks: bool = True,
    seed: int = 0,
) -> list[Case]:
    """Run every row of an operator, or of all, and compare with the dense body.

    For each combination of storage types that a row serves (and each that falls back), each sample
    and each layout: the results equal those of the dense body on dense copies; their storage types
    are those that inference promises; ``check_format`` holds; inputs are unchanged; a second run
    into the used outputs, ``req="add"`` and an output that is an input give the same.

    Parameters
    ----------
    op : str or Operator, optional
        Default: all that are registered and can be sampled.
    layouts : sequence of str
        See :mod:`ndsparse.testing.layouts`.
    dtypes : sequence of str
        Checked besides float32, in the canonical layout, with the first sample.
    fallbacks : bool
        Whether combinations without a row are run too, with the first sample.
    seed : int
        Of the values.

    Returns
    -------
    list of Case
        What was checked.

    Raises
    ------
    AssertionError
        A row disagrees; the message names the case.

    Examples
    --------
    >>> from ndsparse.testing import check_rules
    >>> len(check_rules("square", layouts=["canonical"], dtypes=[])) > 0
    True
    """
    ops = _all_operators() if op is None else [registry.get(op) if isinstance(op, str) else op]
    cases = []
    with using(storage_fallback="silent"), np.errstate(all="ignore"):
        for each in ops:
            for i, sample in enumerate(samples_of(each)):
                first = i == 0
                kinds = dtypes if first else ()
                cases += list(_check_sample(each, sample, layouts, kinds, fallbacks and first, seed))
    return cases


def _all_operators() -> list[Operator]:
    unique = {id(o): o for o in registry.operators().values()}
    return sorted(unique.values(), key=lambda o: o.name)


def _check_sample(
    op: Operator, sample: Sample, layouts: Sequence[str], dtypes: Sequence[str], fallbacks: bool, seed: int
) -> Iterator[Case]:
    attrs = op.normalize(sample.attrs)
    if op.name.startswith(("_backward", "_contrib_backward")):  # gradients are of floats
        dtypes = [d for d in dtypes if d.startswith("float")]
    for stypes, decision in combinations(op, sample, attrs, fallbacks):
        plain = decision.mode == FALLBACK
        kinds = layouts[:1] if plain else layouts
        kinds = [k for k in kinds if k != "read_only" or not op.mutates]
        others = () if plain else dtypes
        for layout, dtype in [*((la, "float32") for la in kinds), *(("canonical", d) for d in others)]:
            case = Case(
                op.name,
                stypes,
                decision.stypes,
                decision.mode,
                layout,
                dtype,
                str(dict(sample.attrs)),
                sample.shapes,
            )
            if _check_case(op, sample, attrs, decision, case, seed):
                yield case


def combinations(
    op: Operator, sample: Sample, attrs: registry.Attrs, fallbacks: bool
) -> Iterator[tuple[tuple[str, ...], Decision]]:
    """Yield the storage types of inputs that can be, and the decisions for them."""
    count = len(sample.shapes)
    every = itertools.product(STYPES, repeat=count) if count <= 3 else _few(count)
    for stypes in every:
        if not all(_possible(s, shape) for s, shape in zip(stypes, sample.shapes, strict=True)):
            continue
        seen = set()
        for wanted in (None, *STYPES):
            row = op.find_row(stypes, attrs, wanted)
            if (row is None and (wanted or not fallbacks)) or (row is not None and row.refusal):
                continue
            decision = dispatch.decide(op, stypes, attrs, wanted)
            if decision.stypes not in seen and _holds(op, sample, attrs, decision):
                seen.add(decision.stypes)
                yield stypes, decision


def _holds(op: Operator, sample: Sample, attrs: registry.Attrs, decision: Decision) -> bool:
    """Whether the outputs have shapes that their storage types can hold."""
    _, shapes = op.infer_shape(sample.shapes, [None] * op.num_outputs(attrs), attrs)
    return all(
        _possible(s, shape) for s, shape in zip(decision.stypes, shapes, strict=True) if shape is not None
    )


def _few(count: int) -> list[tuple[str, ...]]:
    """Return combinations for many inputs: alike, and one or two that differ."""
    found = {(s,) * count for s in STYPES}
    for base, other in itertools.permutations(STYPES, 2):
        for i, j in itertools.combinations_with_replacement(range(count), 2):
            found.add(tuple(other if k in (i, j) else base for k in range(count)))
    return sorted(found)


def _possible(stype: str, shape: tuple[int, ...]) -> bool:
    ndims = storage_class(stype).ndims
    return stype == "default" or (len(shape) in ndims if ndims is not None else len(shape) > 0)


class _Run:
    """One case, with what several runs of it share."""

    def __init__(
        self, op: Operator, sample: Sample, attrs: registry.Attrs, decision: Decision, case: Case, seed: int
    ) -> None:
        self.op, self.attrs, self.decision, self.case, self.sample = op, attrs, decision, case, sample
        self.rng = np.random.default_rng(seed)
        self.values = [
            values_of(sample.kind(i), shape, _dtype(sample.kind(i), case.dtype), self.rng)
            for i, shape in enumerate(sample.shapes)
        ]
        if case.layout == "empty":
            for i, stype in enumerate(case.stypes):
                if stype != "default":
                    self.values[i] = np.zeros_like(self.values[i])

    def inputs(self) -> list[Chunk]:
        return [
            make_chunk(v, s, self.case.layout, self.rng)
            for v, s in zip(self.values, self.case.stypes, strict=True)
        ]

    def outputs(self) -> list[Chunk]:
        _, shapes = self.op.infer_shape(self.sample.shapes, [None] * self._count, self.attrs)
        _, dtypes = self.op.infer_dtype([v.dtype for v in self.values], [None] * self._count, self.attrs)
        return [
            storage_class(stype)(shape or (), dtype)
            for stype, shape, dtype in zip(self.decision.stypes, shapes, dtypes, strict=True)
        ]

    @property
    def _count(self) -> int:
        return self.op.num_outputs(self.attrs)

    def run(self, inputs: Sequence[Chunk], outputs: Sequence[Chunk], req: str = WRITE) -> None:
        state = None if self.op.make_state is None else self.op.make_state(self.attrs)
        run = dispatch.runner(self.op, self.decision, self.attrs, state)
        run(inputs, outputs, self.context(req))

    def context(self, req: str = WRITE) -> OpContext:
        return OpContext(True, (req,) * self._count, np.random.default_rng(1))

    def expected(self) -> list[Any]:
        """Return what the dense body gives, in the dtypes of the outputs."""
        state = None if self.op.make_state is None else self.op.make_state(self.attrs)
        call = dispatch._bound(self.op.body, self.attrs, state)
        result = call([v.copy() for v in self.values], self.context())
        results = [result] if self._count == 1 else list(result)
        return [
            np.asarray(r).astype(o.dtype).reshape(o.shape)
            for r, o in zip(results, self.outputs(), strict=False)
        ]

    def compare(self, what: str, outputs: Sequence[Chunk], wanted: Sequence[Any]) -> None:
        for out, want in zip(outputs, wanted, strict=True):
            out.check_format(full_check=True)
            self._compare_one(what, out, want)

    def _compare_one(self, what: str, out: Chunk, want: Any) -> None:
        got = out.to_dense()
        if self.sample.compare == "none":
            return
        skip = ~np.isfinite(want) & (got == 0) if out.stype != "default" else np.zeros(got.shape, np.bool_)
        if self.sample.compare == "stored" and out.stype != "default":
            skip |= got == 0
        tolerance = TOLERANCE.get(out.dtype.name, 0)
        np.testing.assert_allclose(
            np.where(skip, 0, got), np.where(skip, 0, want), rtol=tolerance, atol=tolerance,
            err_msg=f"{what}: {self.case}",
        )  # fmt: skip


def _dtype(kind: str, dtype: str) -> str:
    return "int64" if kind.startswith("ids:") and np.dtype(dtype).kind != "f" else dtype


def _check_case(
    op: Operator, sample: Sample, attrs: registry.Attrs, decision: Decision, case: Case, seed: int
) -> bool:
    """Check one case; False if dtype or shapes have no meaning for the row."""
    run = _Run(op, sample, attrs, decision, case, seed)
    try:
        wanted = run.expected()
    except (TypeError, ValueError):
        if case.dtype in ("float32", "float64"):
            raise
        return False
    inputs, outputs = run.inputs(), run.outputs()
    if not all(_possible(out.stype, out.shape) for out in outputs):
        return False  # refused: a csr of three dimensions
    for out, stype in zip(outputs, decision.stypes, strict=True):
        if out.stype != stype:
            raise AssertionError(f"output is {out.stype}, inference promised {stype}: {case}")
    before = [contents(c) for c in inputs]
    try:
        run.run(inputs, outputs)
    except Exception as error:
        raise AssertionError(f"{case}: {type(error).__name__}: {error}") from error
    run.compare("write", outputs, wanted)
    if op.mutates:
        return True
    if [contents(c) for c in inputs] != before:
        raise AssertionError(f"an input was changed: {case}")
    if op.pure and case.dtype in ("float32", "float64") and case.layout in ("canonical", "unsorted"):
        run.run(inputs, outputs)
        run.compare("write into used outputs", outputs, wanted)
        _check_add(run, inputs, wanted)
        _check_in_place(run, inputs, wanted)
    return True


def _check_add(run: _Run, inputs: Sequence[Chunk], wanted: Sequence[Any]) -> None:
    if run.sample.compare == "stored":
        return
    outputs = run.outputs()
    run.run(inputs, outputs)
    run.run(inputs, outputs, ADD)
    run.compare("add", outputs, [w + w for w in wanted])


def _check_in_place(run: _Run, inputs: Sequence[Chunk], wanted: Sequence[Any]) -> None:
    outputs = run.outputs()
    if len(outputs) != 1 or run.case.layout == "read_only":
        return
    for i, source in enumerate(inputs):
        out = outputs[0]
        if (source.stype, source.shape, source.dtype) == (out.stype, out.shape, out.dtype):
            again = run.inputs()
            run.run(again, [again[i]])
            run.compare(f"in place of input {i}", [again[i]], wanted)
