"""A journal to step through: in a Player, and as a page."""

from __future__ import annotations

from pathlib import Path

from kit.protocols.topology.dry_run.history import topology_history
from kit.protocols.topology.dry_run.journal import journal_timeline, lines_text, standing
from kit.protocols.topology.lessons.journals import replay_journal
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


def test_a_page_to_step_through(tmp_path: Path) -> None:
    """``--html`` writes one page of journals; a dump is one moment."""
    page = tmp_path / "history.html"
    assert call("topology", *map(str, LOGS), "--html", str(page)).status == 0
    assert page.stat().st_size > 10_000
    assert says(bad("topology", str(LOGS[0]), "--html", str(LOGS[0])), "--html | a different file")
    dump = str(FIXTURES / "topology.csv")
    assert says(bad("topology", dump, "--html", str(page)), "--html | journals")
