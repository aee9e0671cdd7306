"""A join that nobody coordinates, searched and seen: RING_DELAY, two at once, a joiner's death."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build, entries, entry_of
from kit.model.scenario import files, open_file
from kit.protocols.gossip.facts import JOIN_OUTPUT, news, views
from kit.protocols.gossip.rules import View, gives_up, pending, replicas, started
from kit.search.check import check
from kit.search.fuzz import fuzz
from tests.views.frames import after, check_frame, go_on, last_flows, panel_text, scenes, walk

SCENARIOS = [f"gossip_join/{one.name}" for one in entries()["gossip_join"].scenarios]
HEARD = ("shadow X A", "boot X", "gossip A X", "gossip A B")
WALK = ("X", "Y", "A", "B", "C")


def view(**statuses: str) -> View:
    """A view in which nodes say these statuses."""
    seen: View = ()
    for name, status in statuses.items():
        seen = started(seen, name, 1, STATUS=status)
    return seen


@pytest.mark.parametrize(
    ("statuses", "rf", "reads", "writes", "place"),
    [
        ({"A": "NORMAL", "B": "NORMAL"}, 1, ("A",), (), "A"),
        ({"A": "NORMAL", "B": "NORMAL", "X": "BOOT"}, 1, ("A",), ("X",), "A"),
        ({"A": "NORMAL", "B": "NORMAL", "X": "BOOT", "Y": "BOOT"}, 2, ("A", "B"), ("X", "Y"), "B"),
        ({"A": "NORMAL", "B": "NORMAL", "X": "NORMAL"}, 2, ("X", "A"), (), ""),
        ({"A": "NORMAL"}, 2, ("A",), (), ""),
    ],
)
def test_owners_are_computed_from_a_view(
    statuses: dict[str, str], rf: int, reads: tuple[str, ...], writes: tuple[str, ...], place: str
) -> None:
    """Those in NORMAL are read, those in BOOT written to, too; X takes the last one's place."""
    seen = view(**statuses)
    assert replicas(seen, WALK, rf) == reads
    assert pending(seen, WALK, rf) == writes
    assert gives_up(seen, WALK, rf, "X") == place


@pytest.mark.parametrize(
    "given",
    [
        *({}, {"rf": 3, "writes": 2}, {"nodes": 2, "writes": 2, "crashes": 2}),
        *({"joiners": 2, "rf": 3}, {"joiners": 2, "rf": 2, "nodes": 2, "crashes": 1}),
    ],
)
def test_one_node_after_the_other_joins_without_loss(given: dict[str, Any]) -> None:
    """RING_DELAY and one at a time: every state is seen, no write is lost, all get in."""
    model = build("gossip_join", given)
    result = check(model)
    assert (result.violation, result.complete, result.unreached) == (None, True, ())


@pytest.mark.deep
def test_two_nodes_join_without_loss() -> None:
    """The same with two joins, two writes, a death in between."""
    result = check(build("gossip_join", {"joiners": 2, "rf": 3, "writes": 2, "crashes": 1}))
    assert (result.violation, result.complete) == (None, True)


@pytest.mark.parametrize(
    ("name", "first"), [("ring-delay", "streamed"), ("one-at-a-time", "one-joins")]
)
def test_what_protects_a_join(name: str, first: str) -> None:
    """Without it the shortest run to its harm is found, and one losing a write; with it none."""
    [guard] = [each for each in entry_of("gossip_join").safeguards if each.name == name]
    model = build("gossip_join", guard.smallest, (name,))
    kept = tuple(prop for prop in model.properties if prop.name == "kept")
    for judged, found in ((None, first), (kept, "kept")):
        violation = check(model, judged).violation
        assert violation is not None
        assert violation.property == found
    result = check(build("gossip_join", guard.smallest))
    assert (result.violation, result.complete) == (None, True)


def test_a_delay_is_no_proof() -> None:
    """A node that is cut off while the time passes loses a write later, with all safeguards on."""
    for given in ({"cuts": 1}, {"cuts": 1, "rf": 3}):
        violation = check(build("gossip_join", given)).broken
        assert violation is not None
        assert violation.property == "kept"


def test_views_part_while_news_travel() -> None:
    """Even where no write is lost for good a read misses one: X is read, and A still asks A."""
    model = build("gossip_join", {"nodes": 2})
    violation = check(model, model.signs).violation
    assert violation is not None
    assert violation.property == "seen"


def test_the_check_in_a_shadow_round_stops_who_hears() -> None:
    """Y, which has heard that X joins, does not; one that has not heard does."""
    given: dict[str, Any] = {"joiners": 2, "rf": 2}
    off = ("one-at-a-time",)
    timeline = after("gossip_join", given, *HEARD, "shadow Y B", off=off)
    option = timeline.model.find(timeline.state, "boot Y")
    assert option is not None
    assert option[1] is not None
    assert option[1].reason == "Y has heard that X is joining"
    timeline = after("gossip_join", given, *HEARD, "shadow Y C", "boot Y", off=off)
    assert timeline.state.nodes[-1].phase == "boot"


def test_who_has_not_heard_uses_old_owners() -> None:
    """B knows of BOOT and writes to X, too; C does not, and its write misses X."""
    timeline = after("gossip_join", {"writes": 2}, *HEARD)
    text = panel_text(timeline, "views")
    assert "  B: has heard X BOOT 1; reads from A, also writes to X" in text
    assert "  C: reads from A" in text.splitlines()
    assert "yet to hear: 1" in panel_text(timeline, "badges")
    timeline = after("gossip_join", {"writes": 2}, *HEARD, "write B by A X", "write C by A")
    [flow] = last_flows(timeline)
    assert (flow.from_key, flow.to_key, flow.label) == ("n:C", "n:A", "write 2")
    assert "X: BOOT, write 1" in panel_text(timeline, "ring")


def test_streaming_comes_from_the_replica_that_is_displaced() -> None:
    """X takes C's place, and the range travels from C."""
    timeline = after("gossip_join", {"rf": 3}, *HEARD, "gossip A C", "stream X")
    [flow] = last_flows(timeline)
    assert (flow.from_key, flow.to_key) == ("n:C", "n:X")


def test_a_dead_joiner_is_forgotten_in_the_end() -> None:
    """While it is remembered it counts among those that must acknowledge: no write succeeds."""
    timeline = after("gossip_join", {"crashes": 1, "nodes": 2}, *HEARD, "crash X")
    verbs = [timeline.model.verb(a) for a in timeline.model.actions(timeline.state)]
    assert not [verb for verb in verbs if verb.startswith("write")]
    option = timeline.model.find(timeline.state, "forget X")
    assert option is not None
    timeline.do(option[0])
    verbs = [timeline.model.verb(a) for a in timeline.model.actions(timeline.state)]
    assert "write B by A" in verbs


def test_walks_take_every_rule() -> None:
    """Random walks with deaths, and with a node cut off, do all that there is."""
    fuzzing = entry_of("gossip_join").fuzzing
    walks = fuzz(build("gossip_join", fuzzing.parameters), seeds=range(20), weights=fuzzing.weights)
    assert (walks.findings, {*walks.untaken}) == ((), {"cut", "reconnect"})


@pytest.mark.parametrize("name", [*SCENARIOS, *(n for n in files() if n.startswith("gossip/"))])
def test_every_step_is_drawn_whole(name: str) -> None:
    """In every step of every scenario keys are unique and each panel has words and a label."""
    timeline = open_file(files()[name]) if name in files() else walk(name)
    for scene in scenes(timeline):
        check_frame(scene)


def test_more_replicas_than_members_are_refused() -> None:
    """The key needs as many members as it has replicas."""
    with pytest.raises(BadInput, match="rf: got 3"):
        build("gossip_join", {"rf": 3, "nodes": 2})


def test_what_is_copied_is_seen_on_the_disk() -> None:
    """The joiner has the range once it has streamed, whether or not anything was written."""
    timeline = after("gossip_join", {}, *HEARD, "gossip A C")
    assert "X: BOOT, no data" in panel_text(timeline, "ring")
    go_on(timeline, "stream X")
    assert "X: streamed, range" in panel_text(timeline, "ring")
    given = {"operation": "removenode", "rf": 3}
    removing = ("removenode A Z", "gossip A B", "gossip A C")
    timeline = after("gossip_join", given, *removing)
    assert "C: member, no data" in panel_text(timeline, "ring")
    go_on(timeline, "restore A")
    assert "C: member, range" in panel_text(timeline, "ring")


def test_who_takes_no_place_copies_nothing() -> None:
    """X has the one replica before Y joins: Y is asked for nothing."""
    given = {"nodes": 1, "joiners": 2}
    steps = ("shadow X A", "boot X", "gossip A X", "stream X", "normal X", "gossip A X")
    timeline = after("gossip_join", given, *steps, "shadow Y A", "boot Y", "gossip A Y")
    before = timeline.state.streams
    go_on(timeline, "gossip A X", "stream Y")
    assert timeline.state.nodes[2].phase == "streamed"
    assert timeline.state.streams == before == 1


def test_only_acknowledged_writes_are_owed() -> None:
    """X lacks the first of two writes; nobody was told that it is done."""
    timeline = after("gossip_join", {"nodes": 1, "writes": 2}, *HEARD[:3], "stream X", "normal X")
    model: Any = timeline.model
    act = timeline.moments[-1].action
    s = timeline.state.at(0, data=0b11).at(1, data=0b10)
    lacks = "X becomes a replica, but X lacks write 1"
    assert model.streamed(s.but(acknowledged=0b10), act, s) is None
    assert model.streamed(s.but(acknowledged=0b11), act, s) == lacks
    assert model.streamed(s.but(acknowledged=0b01), act, s) == lacks
    later = s.at(1, data=0b01)
    assert model.streamed(s.but(acknowledged=0b01), act, later) is None
    assert model.streamed(s.but(acknowledged=0b10), act, later) == lacks.replace("1", "2")


@pytest.mark.parametrize(
    ("data", "lacks"),
    [
        ((1, 0, 0, 1), None),  # others lack it, which was so before
        ((0, 1, 0, 0), "X, A lack"),
        ((1, 1, 0, 0), None),  # a quorum of two has one of A and B
        ((0, 0, 0, 0), "X, A, B lack"),
    ],
)
def test_whom_a_new_replica_is_blamed_for(data: tuple[int, ...], lacks: str | None) -> None:
    """Only for what it lacks itself, and if a quorum lacks it with it."""
    verbs = (*HEARD, "gossip A C", "stream X", "normal X")
    timeline = after("gossip_join", {"rf": 3}, *verbs)
    s = timeline.state.but(acknowledged=1)
    for node, held in enumerate(data):
        s = s.at(node, data=held)
    model: Any = timeline.model
    said = f"X becomes a replica, but {lacks} write 1" if lacks else None
    assert model.streamed(s, timeline.moments[-1].action, s) == said


def test_writes_on_a_disk_are_numbered() -> None:
    """From 1 on, each by its own bit."""
    model: Any = build("gossip_join", {"writes": 3})
    state = model.start().but(written=3).at(0, data=0b110).at(1, data=0b001)
    assert [row.holds for row in views(model, state)] == [(2, 3), (1,), (), ()]


@pytest.mark.parametrize(
    ("verbs", "heard"),
    [
        ((), []),
        (HEARD[:1], []),
        (HEARD[:2], [("X", "X BOOT", ("X",), ("A", "B", "C"))]),
        (HEARD, [("X", "X BOOT", ("A", "B", "X"), ("C",))]),
        ((*HEARD, "crash X"), []),
    ],
)
def test_news_begin_with_what_a_newcomer_says(verbs: tuple[str, ...], heard: list[Any]) -> None:
    """There are none of a node that is not there, that only asks, or that has died."""
    timeline = after("gossip_join", {"crashes": 1}, *verbs)
    model: Any = timeline.model
    assert [(*each[:2], *map(sorted_, each[2:])) for each in news(model, timeline.state)] == heard


def sorted_(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names, for whose order nobody asks."""
    return tuple(sorted(names))


def test_who_is_cut_off_is_one_node() -> None:
    """That node, and no other."""
    timeline = after("gossip_join", {"cuts": 1}, "cut-off B")
    rows = views(timeline.model, timeline.state)
    assert [row.name for row in rows if row.cut_off] == ["B"]


@pytest.mark.parametrize(
    ("given", "verbs", "lines"),
    [
        (
            {"nodes": 2, "writes": 2},
            (*HEARD, "write A by A X"),
            [
                "A: reads from A, also writes to X, has write 1",
                "B: reads from A, also writes to X",
                "X: reads from A, also writes to X, has write 1",
            ],
        ),
        (
            {"nodes": 1, "writes": 2},
            ("write A by A", "write A by A"),
            ["A: reads from A, has writes 1, 2", "X: reads from –"],
        ),
    ],
)
def test_a_file_shows_what_each_node_does(
    given: dict[str, Any], verbs: tuple[str, ...], lines: list[str]
) -> None:
    """Whom it would ask, whom it writes to besides, and which writes it has."""
    timeline = after("gossip_join", given, *verbs)
    assert JOIN_OUTPUT["views"](timeline.model, timeline.state, "").splitlines() == lines
