from ndsparse.executor.passes.remove_dead import remove_dead
from ndsparse.graph import Entry, Graph, apply, variable
from ndsparse.ops import registry


def test_what_outputs_and_effects_need_stays():
    x = variable("x")
    wanted = apply(registry.get("square"), [x], {}, name="wanted")
    unread = apply(registry.get("exp"), [x], {}, name="unread")
    source = apply(registry.get("negative"), [x], {}, name="source")
    draw = apply(registry.get("Dropout"), [Entry(source)], {}, name="draw")
    recorded = Graph([Entry(wanted)], {"shape": [(1,)] * 6}, effects=[wanted, unread, draw])
    kept = remove_dead(recorded)
    assert [n.name for n in kept.nodes] == ["x", "wanted", "source", "draw"]
    assert kept.effects == (draw,)
    assert len(kept.attributes["shape"]) == len(kept.entries)
    assert remove_dead(kept) is kept
