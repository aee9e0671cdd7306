"""The ring shows whose each range is: arcs, letters, epochs, locks, what a broken promise names."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.moment import about, missed, range_key
from kit.protocols.tcm.panels.placement import lines
from kit.protocols.tcm.panels.ring import (
    MOST_SINGLE,
    MOST_WHOLE,
    Arc,
    arcs,
    draw_ring,
    letters,
    ring_text,
)
from kit.views.fragment import Frag
from kit.views.labels import Box, fitting
from kit.views.panel import Scene
from tests.views.frames import classed, milestones, part, scenes, walk


def at_arc(drawn: Frag, kind: str) -> list[str]:
    """The letters of an arc whose class is exactly this."""
    return [one.text() for one in drawn.walk() if one.get("class") == kind]


def test_letters_say_who_and_colour_says_what_changes() -> None:
    """Inside an arc stand its readers, outside who is only written to, marked when it came."""
    start, _, written, switched, done = milestones(walk("tcm/bootstrap"))
    key = f"arc:ks:{range_key(100, 150)}"
    shown = [part(draw_ring(scene), key) for scene in (written, switched, done)]
    add, switch, drop = (one for one in shown if one is not None)
    assert at_arc(add, "letter") == ["B", "C"]
    assert at_arc(add, "letter pending added") == ["X"]
    assert at_arc(switch, "letter added") == ["X"]
    assert at_arc(switch, "letter") == ["B"]
    assert at_arc(switch, "letter pending") == ["C"]
    assert at_arc(drop, "letter") == ["X", "B"]
    assert at_arc(drop, "letter removed") == ["−C"]
    assert not classed(draw_ring(start), "moved")
    assert "moved" in (add.get("class") or "").split()


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


def test_nodes_carry_their_applied_epochs() -> None:
    """The small number at a node is the epoch that it has applied; the words say it, too."""
    for scene in scenes(walk("tcm/bootstrap"))[:8]:
        drawn = draw_ring(scene)
        known = {row.node: row.epoch for row in facts.applied(scene.model, scene.state)}
        for disc in classed(drawn, "spot"):
            numbers = [one.text() for one in classed(disc, "count")]
            name = disc.get("data-of") or ""
            assert numbers == ([str(known[name])] if name in known else [])
            assert name not in known or f"epoch {known[name]}:" in ring_text(scene)


LARGE = {"nodes": 12}


def many(tokens: int) -> tuple[Scene, Scene]:
    """A generated ring of twelve nodes before and after a join begins to be written to."""
    start, _, written, *_ = milestones(walk("tcm/bootstrap", **LARGE, tokens=tokens))
    return start, written


def test_many_ranges_that_rest_are_one_arc() -> None:
    """Above 96 ranges what rests side by side is one arc; what changed is drawn singly."""
    start, now = many(16)
    keyspace = facts.keyspaces(now.model)[0]
    changed = [line for line in lines(now, keyspace) if line.changed]
    assert len(lines(now, keyspace)) > MOST_WHOLE
    assert changed
    drawn = arcs(now, keyspace, frozenset())
    single = [one.line for one in drawn if one.line is not None and one.line.changed]
    assert single == changed[:MOST_SINGLE]
    assert sum(one.count for one in drawn) == len(lines(now, keyspace))
    assert len(arcs(start, keyspace, frozenset())) == 1
    focused = lines(start, keyspace)[7].row.key
    assert focused in {one.key for one in arcs(start, keyspace, frozenset({focused}))}


def test_letters_are_left_out_where_an_arc_is_narrow() -> None:
    """A range too narrow for its letters shows none."""
    line = lines(milestones(walk("tcm/bootstrap"))[0], "ks")[0]
    names = {"A": "A", "B": "B"}
    assert letters(Arc(0.2, 0.205, "", None, line), names) == ()
    assert [one.name for one in letters(Arc(0.2, 0.3, "", None, line), names)] == ["A", "B"]


def test_a_label_that_would_cover_another_is_left_out() -> None:
    """The more important label stays; boxes that only touch both stay."""
    one, over, beside = Box(0, 0, 20), Box(15, 0, 20), Box(20, 0, 20)
    assert fitting([("a", (one,)), ("b", (over,))]) == {"a"}
    assert fitting([("a", (one,)), ("b", (beside,))]) == {"a", "b"}
    assert fitting([("a", (one,)), ("b", (beside, Box(5, 5, 4)))]) == {"a"}
    far = [Box(x * 31.0, y * 17.0, 30) for x in range(-6, 7) for y in range(-6, 7)]
    assert not any(a.meets(b) for a, b in combinations(far, 2))
    assert len(fitting((str(i), (box,)) for i, box in enumerate(far))) == len(far)


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


def test_a_witness_names_whole_words_only() -> None:
    """The name of a node is not found inside another word, nor a range without both its ends."""
    scene = milestones(walk("tcm/bootstrap"))[0]
    key = range_key(0, 100)
    assert about(scene.model, scene.state, "ks (0, 100]: A, B") == {key, "A", "B"}
    assert about(scene.model, scene.state, "A's ABC and (0, 10]") == frozenset()
