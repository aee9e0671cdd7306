"""Who is read and written is seen: pictures of replicas change as their stages do."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from kit.model.registry import entries
from kit.model.timeline import Timeline
from kit.playing.opening import open_source
from kit.protocols.storage import facts
from kit.views.fragment import Frag
from kit.views.panel import Scene, at_rest, scene_at
from kit.views.registry import for_model
from kit.views.replicas import asked_words, disk, envelope, eye, pencil
from tests.views.frames import classed, panel_text, part

FAMILIES = (
    *("tablet", "tablets", "resize", "balance", "truncate"),
    *("vnodes", "dataplane", "tcm"),
)


def played(source: str) -> Timeline:
    """A scenario, from its start to its end."""
    timeline = open_source(source).timeline
    while timeline.forward() is not None:
        pass
    return timeline


def bare(timeline: Timeline, moment: int) -> Scene:
    """A moment without change marks, trails and the way that led to it."""
    return msgspec.structs.replace(at_rest(scene_at(timeline, moment)), past=tuple, kept={})


def drawn_at(timeline: Timeline, moment: int) -> Frag:
    """The picture of a moment, from the state alone."""
    views = for_model(timeline.model)
    [panel] = [each for each in views.panels if each.name == views.picture]
    return panel.draw(bare(timeline, moment))


def pictures(timeline: Timeline) -> list[str]:
    """The picture of each moment."""
    return [drawn_at(timeline, at).html() for at in range(len(timeline.moments))]


def scenarios() -> list[str]:
    """Every registered scenario of these families."""
    known = entries()
    return [f"{name}/{each.name}" for name in FAMILIES for each in known[name].scenarios]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("source", scenarios())
def test_a_step_changes_the_picture(source: str) -> None:
    """At least 85 of 100 steps do, and never two one after the other do not: of these all do."""
    same = [one == other for one, other in pairwise(pictures(played(source)))]
    assert not any(same), [at for at, each in enumerate(same, 1) if each]


def test_the_stages_of_a_move_make_different_pictures() -> None:
    """Who is read, who is written, what has arrived, the key: no two stages look alike."""
    timeline = played("tablets/one-tablet-moves")
    views = for_model(timeline.model)
    [panel] = [each for each in views.panels if each.name == views.picture]
    seen: dict[str, Frag] = {}
    for at, moment in enumerate(timeline.moments):
        ways = moment.state.tablets[0].transitions
        if ways:
            seen.setdefault(ways[0].stage, panel.draw(bare(timeline, at)))
    shown = {
        stage: [str(part) for part in drawn.walk() if part.key and part.key.startswith("tablet:")]
        for stage, drawn in seen.items()
    }
    assert len(seen) >= 7
    kinds = {stage: "".join(chips) for stage, chips in shown.items()}
    assert kinds["streaming"] != kinds["write_both_read_new"] != kinds["use_new"]
    assert len({drawn.html() for drawn in seen.values()}) == len(seen)


@pytest.mark.parametrize("source", ["dataplane/write-and-read", "vnodes/write-during-bootstrap"])
def test_at_the_start_one_sees_whom_clients_would_ask(source: str) -> None:
    """Before anything has happened the picture has every node, and whom each client asks."""
    timeline = open_source(source).timeline
    drawn = drawn_at(timeline, 0)
    parts = {part.key: part for part in drawn.walk() if part.key}
    m: Any = timeline.model
    s: Any = timeline.now.state
    for line in facts.addressees(m, s):
        way = parts[f"asks:{line.client}:{'write' if line.write else 'read'}"]
        assert all(name in way.text() for name in line.surely)
    for row in facts.replicas(m, s):
        head = parts[f"head:{row.name}"]
        assert asked_words(
            row.role in ("reads and writes", "reads only"), "writes" in row.role
        ) in (head.text())
    said = panel_text(timeline, "spacetime")
    assert "now K1 writes to" in said
    assert "K1 reads" not in said, "its client only writes"


def test_a_client_may_ask_by_several_epochs() -> None:
    """Whom all epochs that it may know have in common is asked surely, the others perhaps."""
    timeline = played("dataplane/write-and-read")
    m: Any = timeline.model
    lines = [line for moment in timeline.moments for line in facts.addressees(m, moment.state)]
    both = [line for line in lines if line.perhaps]
    assert both
    assert all(line.oldest < line.newest and line.number is None for line in both)
    assert not any(set(line.surely) & set(line.perhaps) for line in lines)
    opened = [line for line in lines if line.on_the_way]
    assert opened
    assert all(line.oldest == line.newest for line in opened)


@pytest.mark.parametrize("name", ["dataplane/write-and-read", "vnodes/write-during-removenode"])
def test_a_disk_fills_as_copies_arrive(name: str) -> None:
    """Who holds nothing has an empty disk, with a dash where it should hold something; who has
    what was written, and every copy that it is to get, has a full one.
    """
    timeline = played(name)
    m: Any = timeline.model
    shares: dict[str, list[float]] = {}
    joined = set[str]()
    for moment in timeline.moments:
        for row in facts.replicas(m, moment.state):
            share = facts.arrived(row)
            assert not share or row.held != "nothing"
            shares.setdefault(row.name, []).append(share)
            head = part(drawn_at(timeline, moment.id), f"head:{row.name}")
            assert head is not None
            assert bool(classed(head, "level")) is (share > 0)
            assert bool(classed(head, "sign")) is row.joins
            assert ("becomes a replica" in head.text()) is row.joins
            joined |= {row.name} if row.joins else set()
            assert ("–" in head.text()) <= (row.role != "no replica" and not share)
    assert all(each[0] == 0 for each in shares.values())
    assert {each[-1] for each in shares.values()} <= {0.0, 1.0}
    assert 1.0 in shares["C"]
    assert joined == {"A" if "removenode" in name else "X"}


def _looks(*drawn: Frag) -> list[str]:
    return [part.get("class") or "" for each in drawn for part in each.walk()]


def test_marks_are_told_apart_without_colour() -> None:
    """Filled or hollow is a class of its own, an opened envelope another shape, a level a part."""
    assert "asked on" in _looks(eye(0, 0, filled=True), pencil(0, 0, filled=True))
    assert "asked on" not in _looks(eye(0, 0, filled=False), pencil(0, 0, filled=False))
    assert "level" not in _looks(disk(0, 0, 0.0))
    assert str(disk(0, 0, 0.5)) != str(disk(0, 0, 1.0))
    assert envelope(0, 0).get("d") != envelope(0, 0, opened=True).get("d")


def test_a_token_of_a_newcomer_is_drawn() -> None:
    """X's token stands at its disc, whatever the angle; who has no token is beside the ring."""
    timeline = played("tcm/bootstrap")
    views = for_model(timeline.model)
    [panel] = [each for each in views.panels if each.name == views.picture]
    drawn = [panel.draw(bare(timeline, at)) for at in range(len(timeline.moments))]
    discs = [part for each in drawn for part in each.walk() if part.key == "n:X:150"]
    assert discs
    assert all("150" in [kid.text() for kid in disc.walk() if kid.tag == "text"] for disc in discs)
    assert any(part.key == "outside:X" for part in drawn[0].walk())
