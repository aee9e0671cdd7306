"""Who is read and written is seen: pictures of replicas change as their stages do."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from kit.model.registry import entries
from kit.model.timeline import Timeline
from kit.playing.opening import open_source
from kit.views.fragment import Frag
from kit.views.panel import Scene, at_rest, scene_at
from kit.views.registry import for_model
from kit.views.replicas import disk, envelope_path

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


def _looks(*drawn: Frag) -> list[str]:
    return [part.get("class") or "" for each in drawn for part in each.walk()]


def test_marks_are_told_apart_without_colour() -> None:
    """An opened envelope is another shape, a level a part."""
    assert "level" not in _looks(disk(0, 0, 0.0))
    assert str(disk(0, 0, 0.5)) != str(disk(0, 0, 1.0))
    assert envelope_path() != envelope_path(opened=True)


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
