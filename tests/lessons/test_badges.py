"""Badges: which runs earn which, what a learner keeps, and what is said of a file that is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.errors import BadInput
from kit.lessons.badges import Badge, badges, earned, every_badge
from kit.model.scenario import files, open_file
from kit.model.timeline import Timeline, played_out
from kit.playing.opening import open_source
from kit.widgets import Player

ALL = [*every_badge()]


def played(name: str) -> Timeline:
    """The whole run: of a file, or of a model as it goes on by itself."""
    if name in files():
        return open_file(files()[name])
    timeline = open_source(name).timeline
    played_out(timeline)
    return timeline


def test_there_is_one_for_each_sight_of_the_catalogue() -> None:
    """The published catalogue names nine; each scenario is one of its model."""
    assert len({each.sight for each in ALL}) == len(ALL) == 9
    assert all(played(each.scenario).model.name == each.model for each in ALL)


@pytest.mark.parametrize("badge", ALL, ids=lambda badge: badge.scenario)
def test_a_scenario_earns_its_badge(badge: Badge) -> None:
    """Not at its start: a step shows it."""
    timeline = played(badge.scenario)
    assert earned(Timeline(timeline.model)) == []
    assert badge.sight in earned(timeline)


@pytest.mark.parametrize(
    "name", ["tcm/bootstrap", "cms/one-event", "cms/first-of-the-log", "cms/quorum-lost"]
)
def test_a_run_without_such_a_sight_earns_nothing(name: str) -> None:
    """One operation, one commit, a cluster that begins, members that are lost."""
    assert earned(open_file(files()[name]) if name in files() else open_source(name)) == []


def test_a_branch_that_was_left_counts() -> None:
    """What was seen was seen, though one looks at another branch."""
    timeline = played("tcm/cancel")
    timeline.goto(0)
    timeline.forward()
    assert earned(timeline) == ["an operation cancelled"]


def test_a_learner_keeps_what_was_seen(tmp_path: Path) -> None:
    """A file has it: a later session adds to it; without one only the given runs count."""
    kept = tmp_path / "badges.json"
    assert badges(kept=kept).text().startswith("Have you seen it? 0 of 9\n")
    assert not kept.exists()
    first = badges(Player(played("tcm/cancel"), controls=False), kept=kept)
    assert [row[1] for row in first.rows if row[0] == "✓"] == ["an operation cancelled"]
    both = badges(played("cms/race-rejected"), kept=kept)
    assert both.title == "Have you seen it? 2 of 9"
    assert badges(kept=kept).rows == both.rows
    assert badges().title == "Have you seen it? 0 of 9"
    unseen = [row[2] for row in both.rows if row[0] == "–"]
    assert "tcm/replace" in unseen


@pytest.mark.parametrize("text", ["", "{}", "[1]", "no json"])
def test_a_file_that_is_none_is_refused_and_stays(tmp_path: Path, text: str) -> None:
    """It may be something else that somebody needs."""
    kept = tmp_path / "mine.json"
    kept.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=r"kept: got .*allowed: a file that the kit wrote"):
        badges(played("tcm/cancel"), kept=kept)
    assert kept.read_text(encoding="utf-8") == text


def test_what_is_no_run_is_refused() -> None:
    """A name is no run."""
    with pytest.raises(BadInput, match="source"):
        badges("tcm/cancel")
