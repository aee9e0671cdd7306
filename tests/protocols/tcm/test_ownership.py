"""The ring shows whose each range is: arcs, letters, epochs, locks, what a broken promise names."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.moment import missed, range_key
from kit.protocols.tcm.panels.placement import lines
from kit.protocols.tcm.panels.ring import arcs, draw_ring, ring_text
from tests.views.frames import classed, milestones, part, scenes, walk


@pytest.mark.parametrize("name", ["bootstrap", "two-bootstraps", "two-datacenters", "replace"])
def test_arcs_cover_the_ring_once_and_say_what_the_table_says(name: str) -> None:
    """In every frame the arcs follow each other round the turn; each names its groups."""
    for scene in milestones(walk(f"tcm/{name}")):
        for keyspace in facts.keyspaces(scene.model):
            round_turn = arcs(scene, keyspace, frozenset())
            assert (round_turn[0].left, round_turn[-1].right) == (0.0, 1.0)
            assert all(one.right == two.left for one, two in pairwise(round_turn))
            for one, line in zip(round_turn, lines(scene, keyspace), strict=True):
                assert one.line == line
                assert one.held == line.row.locked_by


@pytest.mark.parametrize(
    ("name", "off"), [("tcm/rf3", "old-writer-stays"), ("tcm/two-bootstraps", "write-before-read")]
)
def test_a_broken_promise_lights_its_range_and_nodes(name: str, off: str) -> None:
    """The arc, the row and the nodes that a witness names are marked; others are not."""
    found = scenes(walk(name, off=(off,)))
    broken = next(one for one in found if missed(one.model, one.state))
    apart = missed(broken.model, broken.state)
    assert apart is not None
    token, (_, reads), (_, writes) = apart
    assert not set(reads) & set(writes)
    row = next(
        row for row in facts.rows(broken.model, broken.state) if row.left < token <= row.right
    )
    drawn = draw_ring(broken)
    named = {one.get("data-of") for one in classed(drawn, "guilty")}
    assert {range_key(row.left, row.right), *reads} <= named
    outlines = part(drawn, "missed")
    assert outlines is not None
    assert [one.text() for one in classed(outlines, "outlined")] == [
        " ".join(reads),
        " ".join(writes),
    ]
    assert "have no node in common" in ring_text(broken)
    assert not classed(draw_ring(found[0]), "guilty")
    assert part(draw_ring(found[0]), "missed") is None
