import io
import xml.etree.ElementTree as ET

import ndsparse as mx
from ndsparse.graph import Entry, Graph, apply, variable
from ndsparse.ops import registry

sym = mx.sym


def bound():
    x = sym.Variable("x", stype="csr")
    w = sym.Variable("w<&>", shape=(5, 3), stype="row_sparse")
    y = sym.tanh(sym.dot(x, w, name="y") * 2, name='t"')
    return y.simple_bind(mx.cpu(), x=(6, 5)).graph


def test_a_plain_graph_prints_names_and_inputs():
    node = apply(registry.get("square"), [variable("x")], {}, name="s")
    graph = Graph([Entry(node)])
    out = io.StringIO()
    graph.print(out)
    assert out.getvalue().splitlines() == ["node  operator  inputs", "x", "s     square    x"]


def test_a_bound_graph_prints_what_the_passes_found():
    line = next(s for s in str(bound()).splitlines() if s.startswith("y "))
    assert line.split() == ["y", "dot", "csr,", "row_sparse", "->", "default", "fcompute_ex", "6x3", "0"]


def test_dot_has_a_box_a_node_and_an_arrow_an_input():
    graph = bound()
    text = graph.dot()
    assert text.count("fillcolor") == len(graph)
    assert text.count(" -> n") == sum(len(n.inputs) for n in graph.nodes)
    assert 'label="csr 6x5"' in text
    assert r"t\"" in text


def test_html_is_one_well_formed_page_without_scripts():
    page = bound().html()
    tree = ET.fromstring(page.replace("<!DOCTYPE html>", "").replace('<meta charset="utf-8">', ""))
    assert len(tree.findall(".//rect")) == len(bound())
    assert "w<&>" in [cell.text for cell in tree.iter("td")]
    assert "script" not in page and "http" not in page
