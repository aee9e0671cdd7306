"""Several groups on the same nodes, golden runs that a person can read, and runs by a seed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.raft_groups import GROUP, Simulation
from kit.chunks import CHUNK
from kit.model.registry import build
from kit.model.scenario import files, open_file, read
from kit.model.timeline import Timeline
from kit.playing.opening import open_named
from kit.protocols.raft.groups import EDITIONS, ELECTED, IDS
from kit.protocols.raft.library import Commands, GroupRegistry, Network, RaftServer
from kit.protocols.raft.rules.log import Entry, Log
from kit.protocols.raft.state import Leader
from kit.protocols.raft.tables import RaftTables
from kit.search.check import check
from kit.views.fragment import Frag
from kit.views.panel import scene_of
from kit.views.registry import for_model
from kit.views.rendered import RenderedTimeline
from tests.stories import rewritten
from tests.views.frames import after, check_frame, last_flows, panel_text, scenes, walk

SCHEMA, DATA = IDS.values()


TABLES = {
    "raft": "node group_id index term data vote_term vote snapshot_id commit_idx",
    "raft_snapshots": "node group_id snapshot_id idx term",
    "raft_snapshot_config": "node group_id disposition server_id can_vote address",
}


def drawn(timeline: Timeline, name: str) -> Frag:
    """A panel as it is drawn."""
    [panel] = [each for each in for_model(timeline.model).panels if each.name == name]
    return panel.draw(scene_of(timeline, timeline.at))


def played(name: str, event: str = "") -> Timeline:
    """A scenario, played to the first event of a kind, or to its end."""
    timeline = open_named(f"raft_groups/{name}").timeline
    while timeline.forward() is not None:
        if event and getattr(timeline.moments[timeline.at].action, "event", "") == event:
            return timeline
    return timeline


def test_no_state_of_two_groups_breaks_a_promise() -> None:
    """The search is complete, and reaches groups with leaders of their own."""
    result = check(build("raft_groups", {"nodes": 2, "entries": 1}))
    assert (result.verdict, result.unreached) == ("complete", ())


@pytest.mark.parametrize("name", ["one-node-leads", "own-leaders"])
def test_every_step_of_the_groups_is_drawn_whole(name: str) -> None:
    """Keys are unique, and each panel has words and a label."""
    for scene in scenes(walk(f"raft_groups/{name}")):
        check_frame(scene)


@pytest.mark.spec("C-003")
def test_each_table_shows_a_chosen_group() -> None:
    """Two groups with other options run at once."""
    assert EDITIONS[0].edition != EDITIONS[1].edition
    timeline = played("own-leaders", "snapshot")
    assert panel_text(timeline, "badges").split() == "schema: A leads data: B leads".split()
    for name in TABLES:
        frag = drawn(timeline, name)
        chooser = next(part for part in frag.walk() if part.get("data-choose"))
        assert [part.get("value") for part in chooser.walk() if part.tag == "option"] == [*IDS]
        parts = [part for part in frag.walk() if part.get("data-choice")]
        assert ["hidden" in dict(part.attrs) for part in parts] == [False, True]


@pytest.mark.spec("C-004")
def test_a_group_id_is_on_rows_and_arrows() -> None:
    """A message on its way says of which group it is."""
    timeline = after("raft_groups", {"nodes": 2}, *ELECTED[:2])
    [flow] = last_flows(timeline)
    assert flow.label == "schema: pre-vote? t1"
    said = panel_text(timeline, "nodes")
    assert "a pre-vote for term 1 in group schema" in said
    assert f"group schema, id {SCHEMA}" in said
    for name in TABLES:
        rows = [line.split() for line in panel_text(timeline, name).splitlines()]
        assert {row[1] for row in rows if row[0] in ("A", "B")} == {SCHEMA, DATA}, name


@pytest.mark.spec("C-005")
def test_each_node_has_rows_in_the_servers_three_tables() -> None:
    """A tab for each, with the server's columns."""
    timeline = played("one-node-leads")
    titles = [panel.title for panel in for_model(timeline.model).panels]
    assert titles[3:6] == [*TABLES]
    for name, heads in TABLES.items():
        text = panel_text(timeline, name)
        assert heads in " ".join(text.split())
        assert {line.split()[0] for line in text.splitlines()} >= {"A", "B", "C"}, name


@pytest.mark.spec("C-006")
def test_the_members_are_those_of_the_log_and_not_of_the_snapshot() -> None:
    """The snapshot's table still has C, which the log has removed."""
    timeline = played("one-node-leads", "remove")
    for name, members in (("raft_snapshot_config", "ABC"), ("members", "AB")):
        rows = [line.split() for line in panel_text(timeline, name).splitlines()]
        shown = [r[3] for r in rows if r[:3] == ["A", SCHEMA, "CURRENT"]]
        assert shown == [*members], name


@pytest.mark.spec("C-007")
def test_the_table_of_members_shows_addresses_of_any_format() -> None:
    """An IP, and a name with a port."""
    text = panel_text(Timeline(build("raft_groups", {})), "members")
    assert "A yes 10.0.0.1" in " ".join(text.split())
    assert "B yes b.example:7000" in " ".join(text.split())


@pytest.mark.spec("C-008")
def test_the_registry_finds_each_group_on_every_shard() -> None:
    """By the group's id."""
    registry, network = GroupRegistry(shards=4), Network()
    for group in (SCHEMA, DATA):
        registry.add(RaftServer(group, "A", RaftTables(), network, Commands()))
    for shard in range(4):
        assert [registry.find(group, shard).group for group in (SCHEMA, DATA)] == [SCHEMA, DATA]
        assert registry.find(DATA, shard) is registry.find(DATA)


GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.txt"))


TOLD = [path for name, path in files().items() if name.startswith("raft/")]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_golden_run_shows_what_a_new_run_shows(path: Path) -> None:
    """Below every rule, exactly; and it can be drawn."""
    found = rewritten(path)
    if os.environ.get("KIT_REWRITE") == "1":
        path.write_text(found, encoding="utf-8")
    assert read(path) == found
    timeline = open_file(path)
    assert len(RenderedTimeline(timeline).moments) == len(timeline.moments)


def test_at_least_forty_golden_runs_and_stories_exist() -> None:
    """Of elections, repair, snapshots, members, reads and transfers."""
    assert len(GOLDEN) + len(TOLD) >= 40


COMMANDS = 150


CASES = [(size, seed) for size in (3, 5) for seed in range(4)]


@pytest.mark.parametrize(("size", "seed"), CASES)
def test_every_command_runs_once_everywhere_under_loss_and_crashes(size: int, seed: int) -> None:
    """In the same order; no term has two leaders."""
    simulation = Simulation(size, seed, faults=True)
    simulation.run(COMMANDS)
    [lines, *others] = (simulation.machines[name].lines[GROUP] for name in simulation.names)
    assert others == [lines] * (size - 1)
    assert set(lines) == {f"set {number}" for number in range(COMMANDS)}
    servers = [step.server for step in simulation.steps]
    leads = {(each.term, each.id) for each in servers if isinstance(each.role, Leader)}
    assert len({term for term, _ in leads}) == len(leads)


def test_the_same_seed_gives_the_same_run() -> None:
    """Each step, with all that servers held; another seed gives another run."""
    runs = [Simulation(3, seed, faults=True) for seed in (7, 7, 8)]
    for each in runs:
        each.run(COMMANDS)
    assert runs[0].steps == runs[1].steps
    assert runs[0].steps != runs[2].steps


def test_a_part_of_a_log_has_the_right_entries_across_chunks() -> None:
    """From any index on, with or without a limit."""
    log = Log()
    for index in range(1, 2 * CHUNK + 10):
        log = log.appended(Entry(1, index, str(index)))
    for first, most in ((1, 0), (CHUNK - 1, 3), (CHUNK, CHUNK + 2), (2 * CHUNK, 0), (999, 5)):
        last = min(log.last_index, first + most - 1) if most else log.last_index
        assert [e.index for e in log.part(first, most)] == [*range(first, last + 1)], (first, most)
