"""What a student sees after a loss: who lives, what one more costs, what repairs pass over."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.facts.tablets import tablet_map
from kit.protocols.tablets.panels.losses import GRACE
from kit.protocols.tablets.rules.availability import primary_replica
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
    assert f"lose A: no quorum: tablet{'s' * (len(left) > 1)} " in panel.text(scene)
    assert cells(timeline, "losses", "lose:A")[1].endswith(", ".join(map(str, left)))
    for tablet in left:
        rebuilt(timeline, tablet)
    assert cells(timeline, "losses", "lose:A")[1] == "every tablet keeps its quorum"


@pytest.mark.spec("E-035")
def test_a_range_whose_primary_has_left_is_not_marked() -> None:
    """Its part of the line is hollow and has a sign; a line says that tombstones stay. Once all is
    rebuilt every range is marked.
    """
    timeline = replacing()
    places = dict.fromkeys("ABCD", ("", ""))
    given = tablet_map(timeline.model, timeline.state)
    skipped = [n for n in range(4) if primary_replica(given, n, places).host == "C"]
    assert skipped
    for tablet in range(4):
        shape = drawn(timeline, "repairs", f"repaired:{tablet}")
        assert shape is not None
        is_hollow = any("wire" in (one.get("class") or "").split() for one in shape.walk())
        assert is_hollow == ("!" in shape.text()) == (tablet in skipped)
        line = drawn(timeline, "repairs", f"skipped:{tablet}")
        assert (line is not None) == (tablet in skipped)
        assert line is None or "C:0 has left" in line.text()
    for tablet in range(4):
        rebuilt(timeline, tablet)
    panel, scene = seen(timeline, "repairs")
    assert "4 ranges marked, 0 skipped" in panel.text(scene)


@pytest.mark.spec("E-036")
def test_tablets_are_warned_of_once_the_grace_is_over() -> None:
    """The Player's slider is the clock, a step a day. Past the grace a tablet without a repair is
    listed; one whose repair has ended since is not, until that is too long ago, too.
    """
    given = {"kinds": ("repair",), "tablets": ("A B C", "B C A"), "moves": 4, "edition": "server"}
    timeline = Timeline(build("tablets", given))
    ended, listed = dict.fromkeys(range(2), 0), set[tuple[int, ...]]()
    for day in range(60):
        shown = tuple(n for n in (0, 1) if drawn(timeline, "repairs", f"late:{n}") is not None)
        assert shown == tuple(n for n in (0, 1) if day - ended[n] > GRACE)
        clock = drawn(timeline, "repairs", "repair:clock")
        assert clock is not None
        assert f"Day {day}." in clock.text()
        listed.add(shown)
        before = timeline.state.tablets
        if timeline.forward() is None:
            break
        for tablet, (was, now) in enumerate(zip(before, timeline.state.tablets, strict=True)):
            if was.transitions and not now.transitions:
                ended[tablet] = day + 1
    assert {(), (0, 1)} < listed


@pytest.mark.spec("D-004")
def test_who_has_left_is_a_replica_by_host_id_and_has_no_address() -> None:
    """The table of tablets has two columns of replicas until the last rebuild is over."""
    timeline = replacing()
    panel, scene = seen(timeline, "tablets")
    cells = (each for each in panel.draw(scene).walk() if each.tag == "th")
    heads = [each.text().replace("\u200b", "") for each in cells]
    assert [heads[0], *heads[2:4]] == ["tablet", "get_replicas()", "get_natural_endpoints()"]
    line = "get_replicas() A:0, B:0, C:0; get_natural_endpoints() A:0, B:0\n"
    assert line in panel.text(scene)
    while timeline.forward() is not None:
        panel, scene = seen(timeline, "tablets")
        rows = timeline.state.tablets
        gone = any(each.host == "C" for row in rows for each in row.replicas)
        assert ("get_natural_endpoints()" in panel.text(scene)) >= gone
    assert "endpoints" not in panel.text(scene)
    assert "D:0" in panel.text(scene)
