"""What a student sees after a loss: who lives and what one more costs."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.views.fragment import Frag
from kit.views.panel import Panel, Scene, scene_of
from kit.views.registry import for_model
from tests.views.frames import part

# D replaces C, which is dead; the tablets of C are rebuilt on D once C has left.
REPLACE = {
    "nodes": 3,
    "tablets": ("A B C", "B C A", "C A B", "A C B"),
    "moves": 0,
    "crashes": 1,
    "operations": ("replace D C",),
}


def seen(timeline: Timeline, name: str) -> tuple[Panel, Scene]:
    """A tab, and the moment that is shown."""
    [panel] = [each for each in for_model(timeline.model).panels if each.name == name]
    return panel, scene_of(timeline, timeline.at)


def drawn(timeline: Timeline, name: str, key: str) -> Frag | None:
    """A part of a tab's picture."""
    panel, scene = seen(timeline, name)
    return part(panel.draw(scene), key)


def cells(timeline: Timeline, name: str, key: str) -> list[str]:
    """The cells of a row."""
    row = drawn(timeline, name, key)
    assert row is not None, key
    return [" ".join(one.text().split()) for one in row.walk() if one.tag == "td"]


def replacing() -> Timeline:
    """The default schedule, until C has left."""
    timeline = Timeline(build("tablets", REPLACE))
    while timeline.state.control.topology.nodes[2].state != "left":
        assert timeline.forward() is not None
    return timeline


def rebuilt(timeline: Timeline, tablet: int) -> Timeline:
    """The default schedule, until a tablet has a replica on D and is in no transition."""
    while not _is_on_d(timeline.state.tablets[tablet]):
        assert timeline.forward() is not None
    return timeline


def _is_on_d(row: Any) -> bool:
    return not row.transitions and any(each.host == "D" for each in row.replicas)


@pytest.mark.spec("E-033")
def test_tablets_have_less_to_spare_until_they_are_rebuilt() -> None:
    """C's column has crosses, no tablet has a replica to spare, and each further loss costs a
    quorum; row by row that ends with the rebuild. A button loses one more.
    """
    timeline = replacing()
    for tablet in range(4):
        assert cells(timeline, "losses", f"losses:{tablet}") == ["✓", "✓", "✗", "", "! 0"]
    assert cells(timeline, "losses", "lose:A") == ["!", "no quorum: tablets 0, 1, 2, 3"]
    assert cells(timeline, "losses", "lose:D") == ["✓", "every tablet keeps its quorum"]
    rebuilt(timeline, 0)
    assert cells(timeline, "losses", "losses:0") == ["✓", "✓", "", "✓", "✓ 1"]
    left = [n for n, row in enumerate(timeline.state.tablets) if not _is_on_d(row)]
    assert left
    panel, scene = seen(timeline, "losses")
    assert f"lose A  !  no quorum: tablet{'s' * (len(left) > 1)} " in panel.text(scene)
    assert cells(timeline, "losses", "lose:A")[1].endswith(", ".join(map(str, left)))
    for tablet in left:
        rebuilt(timeline, tablet)
    assert cells(timeline, "losses", "lose:A")[1] == "every tablet keeps its quorum"


@pytest.mark.spec("D-004")
def test_who_has_left_is_a_replica_by_host_id_and_has_no_address() -> None:
    """The table of tablets has two columns of replicas until the last rebuild is over."""
    timeline = replacing()
    panel, scene = seen(timeline, "tablets")
    cells = (each for each in panel.draw(scene).walk() if each.tag == "th")
    heads = [each.text().replace("\u200b", "") for each in cells]
    assert [heads[0], *heads[2:4]] == ["tablet", "get_replicas()", "get_natural_endpoints()"]
    assert "  A:0, B:0, C:0  A:0, B:0  null" in panel.text(scene)
    while timeline.forward() is not None:
        panel, scene = seen(timeline, "tablets")
        rows = timeline.state.tablets
        gone = any(each.host == "C" for row in rows for each in row.replicas)
        assert ("get_\u200bnatural_\u200bendpoints()" in panel.text(scene)) >= gone
    assert "endpoints" not in panel.text(scene)
    assert "D:0" in panel.text(scene)
