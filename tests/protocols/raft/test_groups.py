"""Several groups on the same nodes, as a student sees them: ids, tables, a list to choose from."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.playing.opening import open_named
from kit.protocols.raft.groups import EDITIONS, ELECTED, IDS
from kit.protocols.raft.library import Commands, GroupRegistry, Network, RaftServer
from kit.protocols.raft.rules.configuration import Configuration
from kit.protocols.raft.rules.log import Entry
from kit.protocols.raft.rules.progress import Progress
from kit.protocols.raft.state import Leader
from kit.protocols.raft.tables import RaftTables
from kit.search.check import check
from kit.views.fragment import Frag
from kit.views.panel import scene_of
from kit.views.registry import for_model
from tests.views.frames import after, check_frame, last_flows, panel_text, scenes, walk
from tests.views.test_stage import pictured

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


def test_groups_do_not_meet() -> None:
    """A complete search of two nodes finds no two leaders of a term, and groups led apart."""
    result = check(build("raft_groups", {"nodes": 2, "entries": 1}))
    assert (result.verdict, result.unreached) == ("complete", ())


def test_a_disk_says_of_each_group_what_it_holds() -> None:
    """That its log is empty, how much of it is committed, and what is in a snapshot."""
    timeline = played("one-node-leads", "snapshot")
    assert "schema t0: empty data t0: empty" in pictured(scene_of(timeline, 0)).text()
    [node] = [
        each for each in pictured(scene_of(timeline, timeline.at)).walk() if each.key == "n:A"
    ]
    assert "schema t1 ✓2 of 2 data t1 ✓2 of 2 snapshot schema 2" in node.text()


@pytest.mark.parametrize("name", ["one-node-leads", "own-leaders"])
def test_every_step_is_drawn_whole(name: str) -> None:
    """In every step of every scenario keys are unique and each panel has words and a label."""
    for scene in scenes(walk(f"raft_groups/{name}")):
        check_frame(scene)


@pytest.mark.spec("C-003")
def test_a_list_chooses_one_of_several_groups() -> None:
    """Two groups with other options run at once; each table has a list of them, and shows one."""
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
    """Each row of each table begins with the id; a message on its way says whose it is."""
    timeline = after("raft_groups", {"nodes": 2}, *ELECTED[:2])
    [flow] = last_flows(timeline)
    assert flow.label == "schema: pre-vote? t1"
    said = panel_text(timeline, "nodes")
    assert "a pre-vote for term 1 in group schema" in said
    assert f"group schema, id {SCHEMA}" in said
    for name in TABLES:
        rows = [line.split() for line in panel_text(timeline, name).splitlines()]
        assert {row[1] for row in rows if row[0] in ("A", "B")} == {SCHEMA, DATA}


@pytest.mark.spec("C-005")
def test_each_node_has_three_tables() -> None:
    """A tab for each, with the columns of the server and rows of every node."""
    timeline = played("one-node-leads")
    titles = [panel.title for panel in for_model(timeline.model).panels]
    assert titles[3:6] == [*TABLES]
    for name, heads in TABLES.items():
        text = panel_text(timeline, name).replace("\u200b", "")
        assert heads in " ".join(text.split())
        assert {line.split()[0] for line in text.splitlines()} >= {"A", "B", "C"}


@pytest.mark.spec("C-006")
def test_a_change_behind_the_snapshot_is_newer() -> None:
    """The snapshot's table still has C, which the log has removed: the log's members count."""
    timeline = played("one-node-leads", "remove")
    for name, members in (("raft_snapshot_config", "ABC"), ("members", "AB")):
        rows = [line.split() for line in panel_text(timeline, name).splitlines()]
        assert [r[3] for r in rows if r[:3] == ["A", SCHEMA, "CURRENT"]] == [*members]


@pytest.mark.spec("C-007")
def test_a_member_has_an_id_and_an_address_of_any_format() -> None:
    """The table of members shows both; one address is an IP, another one a name and a port."""
    text = panel_text(Timeline(build("raft_groups", {})), "members")
    assert "A yes 10.0.0.1" in " ".join(text.split())
    assert "B yes b.example:7000" in " ".join(text.split())


@pytest.mark.spec("C-008")
def test_a_lookup_finds_the_group_on_every_shard() -> None:
    """What a cell would ask: the registry of a node, a group id, any shard."""
    registry, network = GroupRegistry(shards=4), Network()
    for group in (SCHEMA, DATA):
        registry.add(RaftServer(group, "A", RaftTables(), network, Commands()))
    for shard in range(4):
        assert [registry.find(group, shard).group for group in (SCHEMA, DATA)] == [SCHEMA, DATA]
        assert registry.find(DATA, shard) is registry.find(DATA)


NOTHING = "there is nothing to do for this event"


@pytest.mark.parametrize(
    ("event", "nodes", "last", "heard", "left", "reason"),
    [
        ("write", 3, 2, (1, 1), 3, ""),
        ("write", 3, 3, (1, 1), 3, NOTHING),  # as far as commands may go
        ("remind", 3, 3, (1, 1), 3, NOTHING),  # all know what is committed
        ("remind", 3, 3, (1, 0), 3, ""),
        ("remind", 3, 3, (0, 1), 3, ""),
        ("remind", 3, 3, (0, 0), 3, ""),
        ("remove", 3, 1, (1, 1), 3, ""),
        ("remove", 2, 1, (1,), 2, ""),
        ("remove", 3, 1, (1,), 2, NOTHING),  # the last one has gone already
        ("remove", 1, 1, (), 1, NOTHING),  # somebody has to stay
    ],
)
def test_what_a_leader_of_a_group_has_to_do(
    event: str, nodes: int, last: int, heard: tuple[int, ...], left: int, reason: str
) -> None:
    """Entry 1 is committed; the others have said up to where they know that."""
    model: Any = build("raft_groups", {"nodes": nodes, "entries": 3})
    state = model.start()
    server, other = state.nodes[0]
    configuration = Configuration(model.members[:left])
    log = server.log.cut(1)
    log = replace(log, snapshot=replace(log.snapshot, configuration=configuration))
    for index in range(1, last + 1):
        log = log.appended(Entry(1, index, f"x{index}"))
    known = zip(model.names[1:], heard, strict=False)
    role = Leader(tuple(Progress(n, last + 1, last, "pipeline", commit=c) for n, c in known))
    stored = replace(server.stored, term=1, log=log, commit=1)
    leads = replace(server, stored=stored, role=role, applied=1)
    option = model.find(state.but(nodes=((leads, other), *state.nodes[1:])), f"{event} A schema")
    assert option is not None
    assert (option[1].reason if option[1] else "") == reason


@pytest.mark.parametrize(
    ("leads", "own"),
    [
        ("10 01 00", True),
        ("01 10 00", True),
        ("10 00 00", False),
        ("01 00 00", False),
        ("11 00 00", False),
        ("00 00 00", False),
    ],
)
def test_when_groups_have_leaders_of_their_own(leads: str, own: bool) -> None:
    """One node leads the first group alone, another one the second."""
    model: Any = build("raft_groups")
    state = model.start()
    servers = tuple(
        tuple(
            replace(server, role=Leader()) if digit == "1" else server
            for server, digit in zip(of, each, strict=True)
        )
        for of, each in zip(state.nodes, leads.split(), strict=True)
    )
    assert model.own_leaders(state.but(nodes=servers)) is own
