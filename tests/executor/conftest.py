"""A reference executor: every node runs for itself, in an array of its own, nothing is optimised."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from ndsparse.executor.passes import gradient, infer_shape, infer_storage_type, infer_type
from ndsparse.executor.symbol import Symbol
from ndsparse.graph import Entry, Graph, variable
from ndsparse.ndarray.generator import generator
from ndsparse.ops import dispatch
from ndsparse.ops.registry import WRITE, OpContext
from ndsparse.storage import Chunk, DefaultChunk, storage_class

Values = Mapping[str, Chunk]


def naive_run(
    symbol: Symbol, values: Values, wrt: Sequence[str] = (), heads: Sequence[np.ndarray] = ()
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return outputs and gradients, dense."""
    count = len(symbol.entries)
    head_entries = [variable(f"head{i}") for i in range(count)]
    nodes = {n.name: Entry(n) for n in Graph(symbol.entries).variables}
    grads = gradient(symbol.entries, head_entries, [nodes[n] for n in wrt]) if wrt else []
    given = dict(values) | {f"head{i}": DefaultChunk.of(h) for i, h in enumerate(heads)}
    results = run_nodes(Graph([*symbol.entries, *grads]), given)
    return results[:count], results[count:]


def run_nodes(graph: Graph, values: Values) -> list[np.ndarray]:
    """Infer and run a graph node by node; return its outputs, dense."""
    graph = infer_shape(graph, {n: c.shape for n, c in values.items()})
    graph = infer_type(graph, {n: c.dtype for n, c in values.items()})
    graph = infer_storage_type(graph, {n: c.stype for n, c in values.items()})
    chunks: list[Any] = []
    for k, node in enumerate(graph.nodes):
        if node.op is None:
            chunks.append(values[node.name].copy())
            continue
        ids = graph.output_ids(node)
        shapes, dtypes, stypes = (graph.attributes[a] for a in ("shape", "dtype", "stype"))
        outputs = [storage_class(stypes[i])(shapes[i], dtypes[i]) for i in ids]
        state = None if node.op.make_state is None else node.op.make_state(node.attrs)
        run = dispatch.runner(node.op, graph.attributes["decision"][k], node.attrs, state)
        inputs = [chunks[graph.entry_id(e)] for e in node.inputs]
        with np.errstate(all="ignore"):
            run(inputs, outputs, OpContext(True, (WRITE,) * len(outputs), generator()))
        chunks += outputs
    return [chunks[graph.entry_id(e)].to_dense() for e in graph.outputs]


@pytest.fixture(name="naive_run", scope="session")
def naive_run_fixture() -> Callable[..., Any]:
    """Return the reference: ``naive_run(symbol, chunks by name, wrt, heads)``."""
    return naive_run
