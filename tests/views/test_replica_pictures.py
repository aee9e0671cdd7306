"""Who is read and written is seen: pictures of replicas change as their stages do."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from kit.engine.registry import entries
from kit.engine.timeline import Timeline
from kit.protocols.storage import facts
from kit.views.fragment import Frag
from kit.views.panel import Scene, at_rest, scene_at
from kit.views.registry import for_model
from kit.views.replicas import asked_words, disk, envelope, eye, pencil
from kit.widgets.opening import open_source

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


def pictures(timeline: Timeline) -> list[str]:
    """The picture of each moment, from the state alone."""
    views = for_model(timeline.model)
    [panel] = [each for each in views.panels if each.name == views.picture]
    return [panel.draw(bare(timeline, at)).html() for at in range(len(timeline.moments))]


def scenarios() -> list[str]:
    """Every registered scenario of these families."""
    known = entries()
    return [f"{name}/{each.name}" for name in FAMILIES for each in known[name].scenarios]


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
    """Before anything has happened the picture has every node, and each client's two ways."""
    timeline = open_source(source).timeline
    views = for_model(timeline.model)
    [panel] = [each for each in views.panels if each.name == views.picture]
    drawn = panel.draw(bare(timeline, 0))
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
    assert "now K1 reads from" in panel.text(bare(timeline, 0))


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


def test_a_disk_fills_as_copies_arrive() -> None:
    """A replica that comes has nothing, then all; one that has always been there has all."""
    timeline = played("dataplane/write-and-read")
    m: Any = timeline.model
    shares = {
        row.name: [
            facts.arrived(m, moment.state, each)
            for moment in timeline.moments
            for each in facts.replicas(m, moment.state)
            if each.name == row.name
        ]
        for row in facts.replicas(m, timeline.now.state)
    }
    assert shares["X"][0] == 0
    assert shares["X"][-1] == 1
    assert set(shares["B"]) == {1}


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
