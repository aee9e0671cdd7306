"""Of very many nodes there is a heat map with a lens."""

from __future__ import annotations

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.views.heat import MOST_ARCS, MOST_NODES, Aspect, draw_heat, heat_lines, shares
from kit.views.panel import scene_at
from kit.views.registry import for_model
from tests.keyed import check_keys


def aspect(count: int, changed: int = 0) -> Aspect:
    """Every third node is down."""
    values = {f"N{at}": "up" if at % 3 else "down" for at in range(count)}
    return Aspect("state", values, frozenset(list(values)[:changed]))


def test_a_mark_has_a_shape_for_its_value() -> None:
    """The commonest value is hollow, each other has its own shape; the numbers are said."""
    state = aspect(30, 2)
    assert shares(state) == "□ up ×20, ■ down ×10"
    drawn = draw_heat({name: f"n:{name}" for name in state.values}, [state], "thirty nodes")
    check_keys(drawn)
    kinds = [part.get("class") or "" for part in drawn.walk() if part.tag == "path"]
    assert sum(kind.startswith("mark common") for kind in kinds) == 20
    assert sum("moved" in kind for kind in kinds) == 2
    lens = [part for part in drawn.walk() if part.get("data-lens") is not None]
    assert [part.kids[0].text() for part in lens[:2] if not isinstance(part.kids[0], str)] == [
        "N0: state down",
        "N1: state up",
    ]
    assert list(heat_lines([state])) == [
        "state: □ up ×20, ■ down ×10",
        "N0: state down",
        "N1: state up",
    ]


def test_very_many_nodes_are_few_parts() -> None:
    """Of a thousand nodes most are one path a value; what changed is still drawn by itself."""
    state = aspect(1000, 3)
    drawn = draw_heat({name: f"n:{name}" for name in state.values}, [state], "many")
    assert sum(1 for _ in drawn.walk()) < 600
    assert {"n:N0", "n:N1", "n:N2"} <= {part.key for part in drawn.walk()}


def test_the_thickest_ways_are_drawn() -> None:
    """Of more ways than there is room for the thickest are drawn, the rest is counted."""
    state = aspect(40)
    ways = {(f"N{at}", f"N{at + 1}"): at for at in range(MOST_ARCS + 3)}
    drawn = draw_heat({name: f"n:{name}" for name in state.values}, [state], "ways", ways)
    arcs = [part.key for part in drawn.walk() if part.key and part.key.startswith("mover:")]
    assert len(arcs) == MOST_ARCS
    assert "mover:N0:N1" not in arcs
    assert "and 3 more pairs" in drawn.text()


def test_a_large_cluster_is_a_heat_map() -> None:
    """Above 24 nodes the stage of a topology is one: each node, and who has answered."""
    timeline = Timeline(build("topology", {"nodes": MOST_NODES + 2}))
    views = for_model(timeline.model)
    [panel] = [each for each in views.panels if each.name == views.picture]
    drawn = panel.draw(scene_at(timeline, 0))
    assert any(part.get("class") == "heat" for part in drawn.walk())
    check_keys(drawn)
