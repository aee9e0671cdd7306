"""A journal to step through: in a Player, and as a page."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kit.protocols.topology.dry_run.history import Passage, Way, topology_history
from kit.protocols.topology.dry_run.journal import (
    Journal,
    draw_lines,
    journal_timeline,
    lines_text,
    replay_journal,
    standing,
    way_of,
)
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.views.diagrams import START
from kit.views.frame import frame, frame_text
from kit.views.panel import scene_at
from kit.views.registry import for_model
from tests.commands.calling import bad, call
from tests.keyed import check_keys
from tests.protocols.topology.dry_run.dumps import FIXTURES
from tests.saying import says

LOGS = (FIXTURES / "journal-a.log", FIXTURES / "journal-b.log")


def test_each_step_reads_on() -> None:
    """A step a stay; the diagram stands at the last state that was named, with the way to it."""
    timeline = journal_timeline(topology_history(LOGS), "server")
    path = timeline.path(timeline.tip)
    assert len(path) == 8
    assert timeline.at == 0
    views = for_model(timeline.model)
    places = []
    for moment in path:
        scene = scene_at(timeline, moment)
        check_keys(frame(scene, views.panels, views.macros))
        assert all(panel.title in frame_text(scene, views.panels) for panel in views.panels)
        place = standing(scene)
        places.append(None if place is None else place.state)
    assert places == [
        None,
        None,
        "join_group0",
        "commit_cdc_generation",
        *["write_both_read_old"] * 3,
        "write_both_read_new",
    ]
    last = standing(scene_at(timeline, timeline.tip))
    assert last is not None
    assert last.diagram.name == "state-topology-bootstrapping-server"
    assert last.path[0] == "●"


def test_a_later_state_tells_which_operation_it_is(tmp_path: Path) -> None:
    """What begins in write_both_read_old and rolls back to normal was no join."""
    states = ("write both read old", "rollback to normal", "tablet migration")
    lines = [
        f"Feb 01 10:00:0{at} n1 scylla[1]: raft_topology - entered `{state}` transition state"
        for at, state in enumerate(states)
    ]
    log = tmp_path / "log"
    log.write_text("\n".join(lines), "utf-8")
    timeline = replay_journal(log).timeline
    place = standing(scene_at(timeline, timeline.path(timeline.tip)[1]))
    assert place is not None
    assert place.diagram.name == "state-topology-decommissioning-server"


def test_a_journal_is_stepped_through_without_controls() -> None:
    """What is said of a stay is listed below it; nothing can be done that did not happen."""
    player = replay_journal(LOGS)
    assert player.controls is None
    timeline = player.timeline
    said = topology_history(LOGS)[0].said
    assert said
    text = lines_text(scene_at(timeline, timeline.path(timeline.tip)[1]))
    assert text.splitlines()[1:] == [f"      {words}" for words in said]


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("states", "machine"),
    [
        (("tablet_migration",), "tablets"),
        (("tablet_migration", "tablet_resize_finalization"), "tablets"),
        (("rollback_to_normal", "tablet_migration"), "decommissioning"),
        (("write_both_read_old",), "bootstrapping"),
        (("commit_cdc_generation",), "bootstrapping"),
        (("lock",), "lock"),
        (("lock", "tablet_migration"), None),
    ],
)
def test_the_machine_that_has_all_states(
    states: tuple[str, ...], machine: str | None, edition: Edition
) -> None:
    """Moves of tablets are drawn as such, though a decommission can end in one."""
    stays = [Passage("10:00", "n1", state, "happy", (), None) for state in states]
    way = way_of(Journal(stays, edition), len(stays))
    assert (None if way is None else way[0].name) == machine
    assert way_of(Journal(stays, edition), 0) is None


def test_of_a_long_journal_the_last_stays_are_listed(tmp_path: Path) -> None:
    """And how many there are before them."""
    line = (
        "2026-02-01T10:{:02}:00Z n1 scylla[1]:  raft_topology - entered `lock` transition state\n"
    )
    (log := tmp_path / "n1.log").write_text("".join(map(line.format, range(60))), "utf-8")
    timeline = journal_timeline(topology_history(log), "server")
    views = for_model(timeline.model)
    scene = scene_at(timeline, timeline.tip)
    said = frame_text(scene, views.panels)
    assert "20 stays before these" in said
    assert said.count("Z n1: lock") == 40
    assert "and 20 earlier stays" in str(frame(scene, views.panels, views.macros))


def test_a_page_to_step_through(tmp_path: Path) -> None:
    """``--html`` writes one page of journals; a dump is one moment."""
    page = tmp_path / "history.html"
    assert call("topology", *map(str, LOGS), "--html", str(page)).status == 0
    assert page.stat().st_size > 10_000
    assert says(bad("topology", str(LOGS[0]), "--html", str(LOGS[0])), "--html | a different file")
    dump = str(FIXTURES / "topology.csv")
    assert says(bad("topology", dump, "--html", str(page)), "--html | journals")


def stays(count: int, edge: Way = "happy", state: str = "join_group0") -> Journal:
    """A journal of so many stays that were come to in this way."""
    return Journal(
        [Passage(f"10:{at:02}", "a", state, edge, (), None) for at in range(count)], "server"
    )


@pytest.mark.parametrize(
    ("read", "more"), [(0, 0), (1, 0), (39, 0), (40, 0), (41, 1), (42, 2), (50, 10)]
)
def test_the_last_stays_are_listed(read: int, more: int) -> None:
    """Newest first in the picture, oldest first in words; how many came before them is said."""
    scene: Any = SimpleNamespace(model=stays(50), state=SimpleNamespace(read=read))
    times = [f"10:{at:02}" for at in range(more, read)]
    text, picture = lines_text(scene), draw_lines(scene).html()
    assert [time for time in times if time in text] == times
    assert [picture.index(time) for time in times] == sorted(map(picture.index, times))[::-1]
    assert text.count("10:") == picture.count("10:") == read - more
    assert ("nothing has been read" in text.lower()) == (read == 0)
    assert ("nothing has been read" in picture.lower()) == (read == 0)
    counted = f"{more} earlier stay{'s' * (more > 1)}"
    assert (counted in picture) == (more > 0) == ("before these" in text)
    assert ("earlier" in picture) == (more > 0)
    assert f"{more} stay{'s' * (more > 1)} before these" in text or not more


@pytest.mark.parametrize(
    ("edge", "state", "said"),
    [
        ("happy", "join_group0", "10:00, a: join_group0"),
        ("", "join_group0", "10:00, a: join_group0"),
        ("", "", "10:00, a: no transition state"),
        ("again", "join_group0", "10:00, a: join_group0 (again)"),
        ("rollback", "left_token_ring", "10:00, a: left_token_ring (rollback)"),
        ("unknown", "x", "10:00, a: x (unknown)"),
    ],
)
def test_how_a_state_was_come_to(edge: Way, state: str, said: str) -> None:
    """The usual way is not worth a word."""
    journal = stays(1, edge, state)
    before: Any = SimpleNamespace(read=0)
    assert journal.describe(before, None, before) == said  # type: ignore[arg-type]  # not looked at
    assert journal.milestone(before, None, before) == (state or None)  # type: ignore[arg-type]  # as above


@pytest.mark.parametrize(
    ("read", "way"),
    [
        (1, "join_group0"),
        (2, "join_group0 commit_cdc_generation"),
        (3, "join_group0 commit_cdc_generation write_both_read_old"),
        (4, "join_group0 commit_cdc_generation write_both_read_old"),
        (5, "join_group0 commit_cdc_generation write_both_read_old write_both_read_new"),
        (6, "join_group0"),
    ],
)
def test_a_state_that_is_entered_again_is_one_step_of_the_way(read: int, way: str) -> None:
    """A coordinator that takes over enters it anew; the next operation has a way of its own."""
    edges: list[tuple[str, Way]] = [
        ("join_group0", "begins"),
        ("commit_cdc_generation", "happy"),
        ("write_both_read_old", "happy"),
        ("write_both_read_old", "again"),
        ("write_both_read_new", "happy"),
        ("join_group0", "begins"),
    ]
    passages = [Passage("10:00", "a", state, edge, (), None) for state, edge in edges]
    told = way_of(Journal(passages, "server"), read)
    assert told is not None
    assert told[1] == tuple(way.split())


@pytest.mark.parametrize(
    ("later", "edge", "machine"),
    [
        ("write_both_read_new", "happy", "bootstrapping"),
        ("rollback_to_normal", "rollback", "decommissioning"),
        ("rollback_to_normal", "begins", "bootstrapping"),
    ],
)
def test_what_follows_tells_which_operation_it_is(later: str, edge: Way, machine: str) -> None:
    """One stay is read; the only other one counts, unless another operation begins with it."""
    first, then = (
        Passage("10:00", "a", state, how, (), None)
        for state, how in (("write_both_read_old", "happy"), (later, edge))
    )
    told = way_of(Journal([first, then], "server"), 1)
    assert told is not None
    assert (told[0].name, told[1]) == (machine, ("write_both_read_old",))


@pytest.mark.parametrize(
    ("state", "path"),
    [
        ("join_group0", (START, "join_group0")),
        ("write_both_read_new", ("write_both_read_new",)),
        ("lock", (START, "lock")),
    ],
)
def test_a_journal_may_begin_in_the_middle(state: str, path: tuple[str, ...]) -> None:
    """Only a state with which the machine begins is come to from its start."""
    scene: Any = SimpleNamespace(model=stays(1, "", state), state=SimpleNamespace(read=1))
    place = standing(scene)
    assert place is not None
    assert place.path == path
