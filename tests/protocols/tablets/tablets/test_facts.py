"""What the panels ask of one state: hosts with their notes, stages with their work, barriers."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.registry import build
from kit.engine.timeline import PassedStep, Timeline
from kit.protocols.group0.rules.commands import Command
from kit.protocols.tablets.cluster import (
    StageChange,
    TabletCommand,
    TabletRow,
    TabletTransition,
)
from kit.protocols.tablets.facts import tablets as facts
from kit.protocols.tablets.rules.grid import DECIDED, GridHost
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, last_tokens
from kit.protocols.tablets.rules.replica_sets import replicas_in
from kit.protocols.topology.control import Attempted
from kit.protocols.topology.rules.cluster import RequestEntry
from kit.protocols.topology.rules.machines import EdgeKind
from kit.protocols.topology.topology import CommitDeposed
from kit.views.panel import scene_of
from tests.views.frames import after, go_on

TWO = {"nodes": 4, "tablets": ("A B", "B C"), "moves": 1}
"""Two tablets, of which the second one moves: D gets what B has."""


COMMAND = Command(change=None, previous=1, new=2, creator="A")


def streaming(given: dict[str, Any], *verbs: str, stage: str = "streaming") -> Timeline:
    """The default schedule after these verbs until some tablet has entered a stage."""
    timeline = after("tablets", given, "imbalance", *verbs)
    while stage not in [each.stage for row in timeline.state.tablets for each in row.transitions]:
        assert timeline.forward() is not None
    return timeline


@pytest.mark.parametrize(
    ("node", "control", "note", "health", "is_banned"),
    [
        ({}, {}, "", "up", False),
        ({}, {"up": 0b0101}, "down", "down", False),
        ({}, {"cut": 0b0010}, "cut off", "up", False),
        ({}, {"unheard": 0b0010}, "not reached at its new address", "up", False),
        ({"tokens": False}, {}, "no tokens", "up", False),
        ({"tokens": False}, {"up": 0b0101}, "down", "down", False),
        ({"request": "rebuild"}, {}, "", "up", False),
        ({"request": "replace"}, {}, "joins", "up", False),
        ({"request": "leave"}, {}, "leaves", "up", False),
        ({"request": "leave", "tokens": False}, {}, "leaves", "up", False),
        ({"request": "remove"}, {}, "goes", "up", False),
        ({"request": "remove"}, {"up": 0b0101}, "down", "down", False),
        ({"state": "none", "request": "join"}, {}, "new", "joining", False),
        ({"state": "none", "tokens": False}, {}, "new", "joining", False),
        ({"state": "bootstrapping"}, {}, "joins", "joining", False),
        ({"state": "replacing"}, {}, "joins", "joining", False),
        ({"state": "decommissioning"}, {}, "leaves", "up", False),
        ({"state": "removing"}, {}, "goes", "up", False),
        ({"state": "rebuilding"}, {}, "rebuilds", "up", False),
        ({"state": "left", "tokens": False}, {}, "left", "gone", True),
        ({"state": "left"}, {"up": 0b0101}, "left", "gone", True),
    ],
    ids=str,
)
def test_a_node_has_one_note(
    node: dict[str, Any], control: dict[str, Any], note: str, health: Any, is_banned: bool
) -> None:
    """Its health before what it asks for, and that before that it owns no tokens."""
    model: Any = build("tablets", {"nodes": 3, "racks": ("d/r", "d/s", "d/r"), "shards": 2})
    state, number = model.start(), 1
    a, b, c = state.control.topology.nodes
    requests = (RequestEntry(node.get("request", "leave"), number),)
    b = replace(b, request_id=1, **node)
    topology = replace(state.control.topology, nodes=(a, b, c), requests=requests)
    state = state.but(control=state.control.but(topology=topology, **control))
    hosts = facts.grid(model, state).hosts
    alone = GridHost("B", 2, "d/s", note, tag="v1", health=health, is_banned=is_banned)
    assert hosts[number] == alone
    assert hosts[0] == GridHost("A", 2, "d/r", leads=True, tag="v1")
    # Who is ignored is called so, whatever else there is to say of it.
    ignored = replace(topology, ignored=0b0010)
    state = state.but(control=state.control.but(topology=ignored))
    again = facts.grid(model, state).hosts[number]
    assert again == replace(alone, note="excluded", is_banned=True)


@pytest.mark.parametrize(
    ("command", "attempted", "hand"),
    [
        (False, Attempted(), ""),
        (False, Attempted(step=1), "●"),
        (False, Attempted(step=2, streaming=True), "●●◐"),
        (False, Attempted(step=2, failed=True), "●●✗"),
        (False, Attempted(failed=True, streaming=True), "✗"),
        (True, Attempted(step=1), DECIDED),
        (False, Attempted(step=1, command=COMMAND), DECIDED),
    ],
    ids=str,
)
def test_the_coordinator_has_its_work_in_hand(
    command: bool, attempted: Attempted, hand: str
) -> None:
    """A pip for each piece that is done, and how the next one goes; or a command. The others have
    nothing, and nobody has while no coordinator is up.
    """
    model: Any = build("tablets", {"nodes": 3})
    state = model.start()
    control = state.control.but(attempted=attempted)
    state = state.but(control=control, command=TabletCommand() if command else None)
    assert [each.hand for each in facts.grid(model, state).hosts] == [hand, "", ""]
    state = state.but(control=control.but(coordinator=-1))
    assert [each.hand for each in facts.grid(model, state).hosts] == ["", "", ""]


def test_a_barrier_of_the_cluster_is_in_the_grid() -> None:
    """While E joins: who has answered, and who is asked still; before and after it nobody is."""
    timeline = Timeline(build("tablets", {"nodes": 3, "moves": 0, "operations": ("bootstrap D",)}))
    seen: list[tuple[str, ...]] = []
    while timeline.forward() is not None:
        roles = tuple(each.barrier for each in facts.grid(timeline.model, timeline.state).hosts)
        seen += [roles] if seen[-1:] != [roles] else []
    none, first = ("",) * 4, ("asked",) * 4
    answers = [("answered",) * n + ("asked",) * (4 - n) for n in range(1, 4)]
    assert seen[:6] == [none, first, *answers, none]


def test_a_barrier_of_tablets_is_in_the_grid_and_by_itself() -> None:
    """D is ignored, E does not hear it; A has answered. No tablet waits for one before."""
    given = {"nodes": 5, "down": ("D", "E"), "ignored": ("D",), "answering": True}
    timeline = after("tablets", {**given, "tablets": ("A B", "B A")}, "imbalance")
    assert facts.barrier(timeline.model, timeline.state) is None
    assert [h.barrier for h in facts.grid(timeline.model, timeline.state).hosts] == [""] * 5
    go_on(timeline, "migrate 1 B:0 C:0", "commit", "answer stages A")
    standing = ("answered", "asked", "asked", "passed over", "unheard")
    runs = facts.barrier(timeline.model, timeline.state)
    assert runs == facts.TabletBarrier((1,), tuple(zip("ABCDE", standing, strict=True)))
    hosts = facts.grid(timeline.model, timeline.state).hosts
    assert tuple(each.barrier for each in hosts) == standing
    # Who has left is no member any more, and has no part in it.
    control = timeline.state.control
    *others, last = control.topology.nodes
    nodes = (*others, replace(last, state="left"))
    control = control.but(topology=replace(control.topology, nodes=nodes, members=0b01111))
    runs = facts.barrier(timeline.model, timeline.state.but(control=control))
    assert runs == facts.TabletBarrier((1,), tuple(zip("ABCD", standing[:4], strict=True)))


@pytest.mark.parametrize(
    ("tables", "before", "work"),
    [
        (("ks.a",), ("barrier", "next"), [("stream", "next")]),
        (
            ("ks.a", "ks.b"),
            ("barrier", "next"),
            [("stream ks.a", "next"), ("stream ks.b", "later")],
        ),
    ],
    ids=str,
)
def test_a_stage_names_the_tables_of_its_work(
    tables: tuple[str, ...], before: tuple[str, str], work: list[tuple[str, str]]
) -> None:
    """Where there are several; a barrier is of none. It has the replicas that requests use."""
    given = {**TWO, "tables": tables}
    timeline = streaming(given, "migrate 1 B:0 D:0", stage="write_both_read_old")
    [stage] = facts.stages(timeline.model, timeline.state)
    assert stage.work == (facts.WorkFacts(*before),)
    timeline = streaming(given, "migrate 1 B:0 D:0")
    assert facts.tablet_map(timeline.model, timeline.state).table == "ks.a"
    [stage] = facts.stages(timeline.model, timeline.state)
    transition = timeline.state.tablets[1].transitions[0]
    old, both = transition.old, transition.sets.both
    assert stage == facts.StageFacts(
        *(1, "migration", "streaming", "old", old, "both", both, 1),
        tuple(facts.WorkFacts(*each) for each in work),
        None,
    )
    assert [str(each) for each in both] == ["B:0", "C:0", "D:0"]


def test_the_first_transition_of_a_host_has_its_shards_stage_by_stage() -> None:
    """B has a replica of the tablet that rests, too: that one has no stages. A is in none."""
    given = {**TWO, "shards": 2, "tablets": ("A:0 B:1", "B:0 C:1")}
    timeline = streaming(given, "migrate 1 C:1 D:1")
    table = facts.tablet_map(timeline.model, timeline.state)
    shards = {"B": 0, "C": 1, "D": 1}
    names = "allow_write_both_read_old write_both_read_old streaming write_both_read_new use_new"
    way_back = "cleanup_target revert_migration"
    stages = f"{names} cleanup end_migration {way_back}".split()
    for host in "ABCD":
        rows = facts.stage_shards(timeline.model, table, host)
        if host not in shards:
            assert rows == []
            continue
        at = shards[host]
        assert sorted(rows) == sorted(
            (name, name == "streaming", at, (at,), (at,)) for name in stages
        )


def test_within_a_host_both_shards_hold_the_tablet() -> None:
    """Reads and writes go by the stage's selectors: to the shard of before, both, that of after."""
    given = {"nodes": 2, "shards": 2, "kinds": ("intranode_migration",), "tablets": ("A:0 B:0",)}
    timeline = streaming(given, "migrate-within 0 B:0 B:1", stage="write_both_read_new")
    table = facts.tablet_map(timeline.model, timeline.state)
    other = facts.stage_shards(timeline.model, table, "A")
    assert [row[2:] for row in other] == [(0, (0,), (0,))] * 9
    rows = facts.stage_shards(timeline.model, table, "B")
    assert {row[0]: row[1:] for row in rows} == {
        "allow_write_both_read_old": (False, 0, (0,), (0, 1)),
        "write_both_read_old": (False, 0, (0, 1), (0, 1)),
        "streaming": (False, 0, (0, 1), (0, 1)),
        "write_both_read_new": (True, 1, (0, 1), (0, 1)),
        "use_new": (False, 1, (1,), (0, 1)),
        "cleanup": (False, 1, (1,), (0, 1)),
        "end_migration": (False, 1, (1,), (0, 1)),
        "cleanup_target": (False, 0, (0,), (0, 1)),
        "revert_migration": (False, 0, (0,), (0, 1)),
    }


@pytest.mark.parametrize(
    ("given", "linked", "streamed"),
    [
        (TWO, 0, 1),
        ({**TWO, "tables": ("ks.a", "ks.b")}, 0, 2),
        ({"nodes": 2, "shards": 2, "tablets": ("A:0",), "kinds": ("intranode_migration",)}, 1, 0),
        ({"nodes": 3, "tablets": ("A B",), "kinds": ("repair",)}, 0, 0),
        ({"tablets": ("A B",), "moves": 0, "operations": ("keyspace_rf_change ks dc1=1",)}, 0, 0),
        ({"tablets": ("A B",), "moves": 0, "operations": ("keyspace_rf_change ks dc1=3",)}, 0, 1),
    ],
    ids=str,
)
def test_copies_are_counted(given: dict[str, Any], linked: int, streamed: int) -> None:
    """Within a node by links; a replica that goes is streamed to nobody, and a repair copies none.
    Before there is nothing.
    """
    timeline = Timeline(build("tablets", given))
    assert facts.copies(timeline.model, ()) == facts.Copies(0, 0)
    while timeline.forward() is not None:
        pass
    steps = scene_of(timeline, timeline.at).way()
    assert facts.copies(timeline.model, steps) == facts.Copies(linked, streamed)


def test_what_fails_is_no_copy() -> None:
    """A stream that has failed has copied nothing."""
    timeline = streaming({**TWO, "failures": 1})
    go_on(timeline, "fail work on 0")
    steps = scene_of(timeline, timeline.at).way()
    assert facts.copies(timeline.model, steps) == facts.Copies(0, 0)


def test_versions_are_counted_as_the_map_changes() -> None:
    """From the map of the start on; steps that leave it as it is make none."""
    timeline = after("tablets", TWO, "imbalance", "migrate 1 B:0 D:0")
    maps = [facts.tablet_map(timeline.model, timeline.moments[0].state)]
    steps = scene_of(timeline, timeline.at).way()
    assert facts.versions(timeline.model, timeline.state, steps) == (*maps,)
    go_on(timeline, "commit", "barrier")
    maps.append(facts.tablet_map(timeline.model, timeline.state))
    steps = scene_of(timeline, timeline.at).way()
    assert facts.versions(timeline.model, timeline.state, steps) == (*maps,)
    assert [row.stage for row in maps[1].tablets] == ["", "allow_write_both_read_old"]


@pytest.mark.parametrize(("nodes", "asked"), [(1, 1), (11, 11), (12, 12), (13, 12), (20, 12)])
def test_at_most_twelve_hosts_are_asked(nodes: int, asked: int) -> None:
    """The first of them."""
    model: Any = build("tablets", {"nodes": nodes, "tablets": ("A",)})
    assert facts.asked_hosts(model) == tuple("ABCDEFGHIJKLMNOPQRST"[:asked])


A, B = map(replicas_in, "AB")
RESTS = TabletRow(A, (), A, A)


def ways(*stages: str) -> TabletRow:
    """A tablet with a transition at each of these stages."""
    return RESTS.but(transitions=tuple(TabletTransition("migration", x, A, B) for x in stages))


def leaves(tablet: int, place: int, kind: EdgeKind) -> TabletCommand:
    """A command by which a transition leaves its stage by an edge of some kind."""
    return TabletCommand((StageChange(tablet, place, "streaming", kind),))


ON, BACK, ALSO = leaves(0, 0, "happy"), leaves(0, 0, "rollback"), leaves(0, 0, "proceed")
Moves = list[tuple[tuple[TabletRow, ...], TabletCommand | None]]


@pytest.mark.parametrize(
    ("moves", "stages", "ended", "failures"),
    [
        ([((ways("a"),), None)], "a", False, set()),
        ([((ways("a"),), None), ((ways("b"),), ON)], "ab", False, set()),
        ([((ways("a"),), None), ((ways("b"),), BACK)], "ab", False, {0}),
        ([((ways("a"),), None), ((ways("b"),), ALSO)], "ab", False, {0}),
        (
            [
                ((ways("a"),), None),
                ((ways("b"),), None),
                ((ways("c"),), BACK),
                ((ways("d"),), BACK),
                ((ways(),), None),
            ],
            *("abcd", True, {1, 2}),
        ),
        # A second one begins anew; what failed of the first one is forgotten.
        (
            [
                ((ways("a"),), None),
                ((ways("b"),), BACK),
                ((ways(),), None),
                ((ways("c"),), None),
            ],
            *("c", False, set()),
        ),
        # Of several: the one that moved last, the others are as they were.
        ([((ways("a"), RESTS), None), ((ways("a"), ways("b")), None)], "b", False, set()),
        ([((ways("a", "b"),), None), ((ways("a", "c"),), BACK)], "bc", False, set()),
        (
            [((ways("a", "b"),), None), ((ways("a", "c"),), leaves(0, 1, "rollback"))],
            *("bc", False, {0}),
        ),
        (
            [((ways("a"), RESTS), None), ((ways("b"), RESTS), leaves(1, 0, "rollback"))],
            *("ab", False, set()),
        ),
        ([], "", False, set()),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_the_stages_that_a_transition_went_through(
    moves: Moves, stages: str, ended: bool, failures: set[int], late: bool
) -> None:
    """With those that it left because work had failed, also by a command that came too late."""
    start: Any = build("tablets", {"nodes": 3, "tablets": ("A",)}).start()
    before, steps = start.but(tablets=(RESTS,) * len(moves[0][0]) if moves else start.tablets), []
    for held, command in moves:
        pairs = zip(before.tablets, held, strict=True)
        after = before.but(tablets=tuple(old if old == new else new for old, new in pairs))
        commands = {"deposed": command, "command": BACK} if late else {"command": command}
        steps.append(PassedStep(before.but(**commands), CommitDeposed() if late else None, after))
        before = after
    expected = facts.StageWay("migration", (*stages,), ended, frozenset(failures))
    assert facts.way_of(steps) == (expected if moves else None)


@pytest.mark.parametrize("changed", [None, 0, 1, 2, 3])
def test_the_key_that_is_asked_about_is_of_a_tablet_that_changed(changed: int | None) -> None:
    """The first of them by token; the first of all where none changed, or none is in it."""
    before = TabletMap("ks.t", tuple(Tablet(last, A) for last in last_tokens(4)))
    rows = [
        replace(tablet, replicas=B) if number == changed else tablet
        for number, tablet in enumerate(before.tablets)
    ]
    every = facts.keys(4)
    assert [key.token for key in every] == sorted(key.token for key in every)
    inside = [key for key in every if key.tablet == changed]
    made = facts.asked_about(replace(before, tablets=tuple(rows)), before)
    assert made == [*inside, every[0]][0]
