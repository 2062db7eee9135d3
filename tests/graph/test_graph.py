import json

import pytest

import ndsparse as mx
from ndsparse.errors import ArgumentTypeError, GraphError
from ndsparse.graph import Entry, Graph, Node, apply, variable
from ndsparse.graph.json import from_json, to_json
from ndsparse.ops import registry


def chain(length: int) -> Entry:
    entry = variable("x")
    for _ in range(length):
        entry = Entry(apply(registry.get("negative"), [entry], {}))
    return entry


def test_inputs_come_before_their_users_and_depth_is_no_limit():
    graph = Graph([chain(5000)])
    assert len(graph) == 5001
    assert graph.nodes[0].is_variable
    position = {id(n): i for i, n in enumerate(graph.nodes)}
    assert all(position[id(e.node)] < i for i, n in enumerate(graph.nodes) for e in n.inputs)


def test_equal_looking_nodes_are_two_nodes():
    x = variable("x")
    op = registry.get("negative")
    a, b = (Entry(apply(op, [x], {})) for _ in range(2))
    assert a != b
    assert len(Graph([a, b])) == 3
    assert Entry(a.node, 0) == a
    assert len({a, Entry(a.node, 0)}) == 1


def test_nodes_do_not_change():
    node = variable("x").node
    with pytest.raises(GraphError, match="do not change"):
        node.name = "y"


def test_effects_come_first():
    x = variable("x")
    first = apply(registry.get("negative"), [x], {}, name="first")
    op = registry.get("negative")
    second = Node(op, op.normalize({}), (x,), "second", None, (first,))
    assert [n.name for n in Graph([Entry(second)]).nodes] == ["x", "first", "second"]


def test_a_wrong_number_of_inputs_is_refused():
    with pytest.raises(ArgumentTypeError, match="dot: expected inputs lhs, rhs; got 1"):
        apply(registry.get("dot"), [variable("x")], {})


def test_consumers_count_each_use():
    x = variable("x")
    graph = Graph([Entry(apply(registry.get("elemwise_add"), [x, x], {}))])
    assert graph.consumers() == ((1, 1), ())


def test_json_round_trip_keeps_attributes_annotations_and_outputs():
    x = variable("x", {"__storage_type__": "2", "__shape__": "(4, 3)"})
    node = apply(
        registry.get("dot"), [x, variable("w")], {"transpose_a": True}, name="d", annotations={"k": "v"}
    )
    text = to_json([Entry(node), x])
    document = json.loads(text)
    assert document["nodes"][2]["attrs"] == {"transpose_a": "True", "k": "v"}
    assert document["arg_nodes"] == [0, 1]
    assert document["heads"] == [[2, 0, 0], [0, 0, 0]]
    again = from_json(text)
    assert again[0].node.attrs == node.attrs
    assert dict(again[0].node.annotations) == {"k": "v"}
    assert dict(again[1].node.annotations) == dict(x.node.annotations)
    assert to_json(again) == text


def test_json_of_older_mxnet_versions_is_read():
    old = {
        "nodes": [
            {"op": "null", "param": {}, "name": "data", "inputs": [], "attr": {"lr_mult": "2"}},
            {"op": "transpose", "param": {"axes": "(1, 0)"}, "name": "t", "inputs": [[0, 0]]},
        ],
        "heads": [[1, 0]],
    }
    (entry,) = from_json(json.dumps(old))
    assert entry.node.attrs["axes"] == (1, 0)
    assert entry.node.inputs[0].node.annotations["lr_mult"] == "2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1, column 2"),
        ("[]", "expected an object with a list 'nodes'"),
        ('{"nodes": [3], "heads": []}', "node 0"),
        ('{"nodes": [{"op": "no_such", "name": "n", "inputs": []}], "heads": []}', "no operator 'no_such'"),
        (
            '{"nodes": [{"op": "negative", "name": "n", "inputs": [[0, 0, 0]]}], "heads": []}',
            "node 0 .n.: there is no entry",
        ),
        (
            '{"nodes": [{"op": "null", "name": "x", "inputs": []}], "heads": [[1, 0, 0]]}',
            "heads: there is no entry",
        ),
        ('{"nodes": [{"op": "null", "name": "x", "inputs": []}]}', "heads"),
    ],
)
def test_broken_json_says_where(text, message):
    with pytest.raises(GraphError, match=message):
        mx.sym.load_json(text)
