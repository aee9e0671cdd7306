"""What the pictures of Raft say: who is what, which entry is where, whose majorities count."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit import Player
from kit.lessons import attempt, story
from kit.lessons.stills import scene_of
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.raft import facts
from kit.protocols.raft.panels.groups import majorities
from kit.protocols.raft.panels.raft import _cards, _gates
from kit.protocols.raft.rules.log import Entry, Log, Snapshot
from kit.views.gate import gates_of
from kit.views.registry import for_model


def panel(timeline: Timeline, name: str) -> str:
    """A panel of the Player in words."""
    panels = for_model(timeline.model).panels
    return next(each for each in panels if each.name == name).text(scene_of(timeline))


def at(name: str, step: int) -> Timeline:
    """A story of Raft at a step."""
    timeline = story(f"raft/{name}").timeline
    timeline.goto(step)
    return timeline


def rows(timeline: Timeline, what: Any) -> Any:
    """The rows of a moment."""
    return what(timeline.model, timeline.state)


@pytest.mark.spec("C-010")
def test_a_role_is_drawn_and_named() -> None:
    """A follower has neither crown nor ballot; who asks has a ballot; who leads has a crown. All
    start as followers, and who hears of a candidate or leader stays one.
    """
    timeline = at("election", 0)
    roles = []
    for step in (0, 1, 3, 5):
        timeline.goto(step)
        first, *others = rows(timeline, facts.servers)
        roles.append(first.role)
        assert {other.role for other in others} == {"follower"}
    assert roles == ["follower", "pre-candidate", "candidate", "leader"]
    signs = []
    for step in (0, 3, 5):
        timeline.goto(step)
        picture = for_model(timeline.model).panels[1].draw(scene_of(timeline)).html()
        signs.append(("sign ballot" in picture, "crown" in picture))
    assert signs == [(False, False), (True, False), (False, True)]


@pytest.mark.parametrize("dead", ["A", "B", "C"])
def test_who_is_down_is_told_of_itself_alone(dead: str) -> None:
    """Whichever of them it is, the others stay what they are."""
    timeline = at("election", 5)
    whole = {row.name: row.role for row in rows(timeline, facts.servers)}
    places = {name: place for place, name in enumerate(whole)}
    state = replace(timeline.state, down=1 << places[dead])
    told = {row.name: row.role for row in facts.servers(timeline.model, state)}
    assert told == {**whole, dead: "down"}


@pytest.mark.spec("C-012")
def test_terms_and_votes_are_a_table() -> None:
    """Each server with its term and whom it has voted for: one vote a term."""
    timeline = at("one-vote-a-term", 8)
    known = {row.name: (row.term, row.vote) for row in rows(timeline, facts.servers)}
    assert known == {"A": (1, "A"), "B": (1, "B"), "C": (1, "A")}
    assert "C follower 1 A" in " ".join(panel(timeline, "terms").split())


@pytest.mark.spec("C-013", "C-014")
def test_the_log_has_a_line_below_what_is_committed() -> None:
    """Once A and B store x, it is committed on A; C hears of it later. Squares count who has it."""
    timeline = at("committed-by-a-majority", 4)
    [first, second] = rows(timeline, facts.entries)
    assert first.is_last
    assert not second.is_last
    assert second.quorums[0] == "■■□ 2 of 3"
    timeline.goto(5)
    [first, second] = rows(timeline, facts.entries)
    assert second.is_last
    assert second.cells == ("1: x ✓", "1: x", "")
    picture = next(p for p in for_model(timeline.model).panels if p.name == "log")
    assert picture.draw(scene_of(timeline)).html().count("commit-line") == 1


def test_an_entry_is_that_of_the_leader() -> None:
    """C has another one there, of a newer term; above it C alone has an entry."""
    begins = ("1 2, term 4, leads", "1 2, term 4", "1 3 3")
    model = build("raft", {"begins": begins, "terms": 5, "requests": ()})
    found = facts.entries(model, model.start())
    assert [row.entry for row in found] == ["entry:1:1", "entry:2:2", "entry:3:3"]
    assert [row.quorums for row in found] == [("■■■ 3 of 3",), ("■■□ 2 of 3",), ("■□□ 1 of 3",)]


@pytest.mark.spec("C-048")
def test_a_joint_configuration_shows_both_majorities() -> None:
    """From A, B, C to A, D, E: the old group has a majority first, and that is not enough."""
    timeline = at("two-members-of-three-change", 4)
    second = rows(timeline, facts.entries)[1]
    assert [*second.quorums] == ["■■□ 2 of 3", "■□□ 1 of 3"]
    said = panel(timeline, "group")
    assert "the old members" in said
    assert "old members" in for_model(timeline.model).panels[2].draw(scene_of(timeline)).html()


@pytest.mark.spec("C-011")
def test_a_bar_runs_to_the_timeout_and_a_heartbeat_empties_it() -> None:
    """Each tick is a step of the time bar. Squares fill until B asks for votes; once it leads, its
    heartbeats empty the bars of those who hear them.
    """
    player = Player(Timeline(build("raft", {"clock": True, "timeout": 3, "requests": ()})))
    bars = []
    for _ in range(2):
        attempt(player, "tick B clock")
        bars.append(rows(player.timeline, facts.servers)[1].wait)
    assert bars == ["■□□ 1 of 3", "■■□ 2 of 3"]
    assert "■■□ 2 of 3" in panel(player.timeline, "terms")
    attempt(player, "tick B 3")
    assert rows(player.timeline, facts.servers)[1].role == "pre-candidate"
    player.timeline.to_milestone()
    assert rows(player.timeline, facts.servers)[1].role == "leader"
    attempt(player, "tick A clock")
    waited = rows(player.timeline, facts.servers)[0].wait
    assert waited.startswith("■")
    attempt(player, "tick B clock", "deliver B>A")
    emptied = rows(player.timeline, facts.servers)[0].wait
    assert emptied.startswith("□")
    assert rows(player.timeline, facts.servers)[1].wait == ""


def test_a_leader_waits_for_an_entry_of_its_own_term() -> None:
    """However many have an older one: until then no gate for it is open."""
    timeline, seen = story("raft/figure-8").timeline, set()
    for moment in timeline.path():
        timeline.goto(moment)
        scene = scene_of(timeline)
        servers = {n.server.id: n.server for n in scene.state.nodes}
        for server in servers.values():
            for gate in majorities("place", server):
                if gate.what.startswith("commit "):
                    index = int(gate.what.split()[1].rstrip(":"))
                    assert server.log.term(index) == server.term
                    seen.add((index, server.term))
    assert (3, 4) in seen


@pytest.mark.parametrize(
    ("ends", "compacted", "terms"),
    [
        ((4, 4, 4), (0, 0, 0), [1, 1, 1, 1]),
        ((4, 4, 1), (2, 0, 0), [1, 1, 1, 1]),
        ((4, 4, 1), (2, 2, 0), [1, 1, 1, 1]),
        ((4, 4, 1), (3, 3, 0), [1, 0, 1, 1]),
        ((4, 4, 1), (4, 4, 0), [1, 0, 0, 1]),
    ],
)
def test_an_entry_that_only_snapshots_stand_for_has_no_term(
    ends: tuple[int, ...], compacted: tuple[int, ...], terms: list[int]
) -> None:
    """Behind the end of C's log and before the others' entries nobody knows the term any more; of
    the last entry of a snapshot it is known. A snapshot stands for all of them.
    """
    model = build("raft")
    start = model.start()
    whole = tuple(Entry(1, index, "x") for index in range(1, 5))
    nodes = []
    for node, end, until in zip(start.nodes, ends, compacted, strict=True):
        snapshot = Snapshot(until, min(until, 1), node.server.configuration)
        log = Log(replace(snapshot, index=0, term=0)).merged(whole[:end]).compacted(snapshot)
        stored = replace(node.server.stored, term=1, log=log, commit=until)
        nodes.append(replace(node, server=replace(node.server, stored=stored)))
    state = replace(start, nodes=tuple(nodes))
    told = facts.entries(model, state)
    assert [each.entry for each in told] == [f"entry:{i}:{t}" for i, t in enumerate(terms, 1)]
    assert [each.quorums for each in told] == [
        ("■■■ 3 of 3",) if all(end >= index for end in ends) else ("■■□ 2 of 3",)
        for index in range(1, 5)
    ]


def test_the_gate_that_is_closed_is_seen_of_two_before_one_entry() -> None:
    """The old members have confirmed it, the new ones have not."""
    timeline, closed = story("raft/two-members-of-three-change").timeline, 0
    for moment in timeline.path():
        timeline.goto(moment)
        scene = scene_of(timeline)
        shown = {gate.thing: gate.is_open for gate in gates_of(scene, _gates)}
        for gate in _gates(scene):
            closed += not gate.is_open
            assert gate.is_open or not shown[gate.thing]
    assert closed


def test_who_has_a_snapshot_knows_that_what_it_stands_for_is_committed() -> None:
    """Its entries are no longer in the log."""
    timeline, judged = story("raft/a-snapshot-for-who-lags").timeline, 0
    for moment in timeline.path():
        timeline.goto(moment)
        scene = scene_of(timeline)
        servers = [n.server for n in scene.state.nodes]
        for card in _cards(timeline.model, scene.state):
            index, known = int(card.title.split()[1].rstrip(",")), card.title.split(" by ")[1]
            names = {each.id for each in servers if each.commit >= index}
            judged += bool(names)
            assert known == (", ".join(sorted(names)) or "nobody")
    assert judged
