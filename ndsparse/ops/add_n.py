"""``add_n``: the sum of any number of arrays.  Gradients of an array that is used often end in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndsparse.kernels import csr_elementwise, row_ids, row_sparse
from ndsparse.kernels.opcodes import Op
from ndsparse.ops.elementwise import evaluate
from ndsparse.ops.registry import operator
from ndsparse.ops.shapes import merge
from ndsparse.storage import Chunk, CSRChunk, DefaultChunk, RowSparseChunk
from ndsparse.storage.structure import canonical


@operator("-> (*s)", variadic=True, aliases=("ElementWiseSum", "_sparse_add_n", "_sparse_ElementWiseSum"))
def add_n(*args: Any) -> Any:
    """Return the sum of all arrays, of one shape.

    Notes
    -----
    The sum of row_sparse arrays is row_sparse, that of csr arrays csr; any other mix is dense, and the
    sparse terms are added to it without becoming dense themselves.
    """
    total = args[0].copy()
    for term in args[1:]:
        total = evaluate(np.add, (total, term))
    return total


@add_n.shape
def _(inputs: Any, outputs: Any) -> Any:
    shape = outputs[0]
    for found in inputs:
        shape = merge(shape, found) if merge(shape, found) is not None else found
    return [shape] * len(inputs), [shape]


@add_n.grad
def _(g: Any, *args: Any) -> Any:
    return [g] * len(args)


@add_n.on("row_sparse... -> row_sparse")
def _(*chunks: RowSparseChunk) -> None:
    *terms, out = (canonical(c) if c is not chunks[-1] else c for c in chunks)
    ids = row_ids.union_ids([t.indices for t in terms])
    kept = np.result_type(*(t.indices.dtype for t in terms))
    out_ids, data = out.check_and_alloc(len(ids), kept)
    np.copyto(out_ids, ids, casting="same_kind")
    row_sparse.sum_many([t.rows for t in terms], ids, data)


@add_n.on("csr... -> csr")
def _(*chunks: CSRChunk) -> None:
    *terms, out = chunks
    total = canonical(terms[0])
    for term in terms[1:]:
        added = CSRChunk(out.shape, out.dtype)
        term = canonical(term)
        kinds = (c.aux(i).dtype for c in (total, term) for i in (0, 1))
        indptr = added.alloc_indptr(*kinds, nnz=total.nnz + term.nnz)
        nnz = csr_elementwise.csr_csr_count(Op.ADD, total.csr, term.csr, indptr)
        csr_elementwise.csr_csr_fill(Op.ADD, total.csr, term.csr, added.alloc_elements(nnz))
        total = added
    out.copy_from(total)


@add_n.on("default... -> default")
def _(*chunks: DefaultChunk) -> None:
    *terms, out = chunks
    target = out.check_and_alloc_data(out.shape)
    if len(terms) == 1:
        np.copyto(target, terms[0].data, casting="unsafe")
        return
    evaluate(np.add, (terms[0].data, terms[1].data), target)
    for term in terms[2:]:
        evaluate(np.add, (target, term.data), target)


@add_n.on("*... -> default")
def _(*chunks: Chunk) -> None:
    *terms, out = chunks
    target = out.check_and_alloc_data(out.shape)
    target[...] = 0
    for term in terms:
        if isinstance(term, CSRChunk):
            csr_elementwise.csr_dense_sum(Op.ADD, term.csr, target, target)
        elif isinstance(term, RowSparseChunk):
            row_sparse.row_dense_sum(Op.ADD, canonical(term).rows, target, target)
        else:
            evaluate(
                np.add, (target, term.data if isinstance(term, DefaultChunk) else term.to_dense()), target
            )
