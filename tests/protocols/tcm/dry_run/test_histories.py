"""A dry run as a history: what comes first, how far it goes, what it says when it stops."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

import kit
from kit.errors import BadInput
from kit.model.timeline import Timeline
from kit.operators.importers.opening import Imported, InFlight
from kit.protocols.tcm.dry_run import history
from kit.protocols.tcm.dry_run.history import (
    StepSummary,
    elsewhere,
    forced,
    model_for,
    opening_state,
    operations_of,
    outcome,
    standstill,
    steps,
)
from kit.protocols.tcm.dry_run.plan import dry_run
from kit.protocols.tcm.dry_run.survival import survival
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.parameters import TcmParameters, parse_operation
from kit.protocols.tcm.rules.operations import Operation
from kit.ring.placements import stable_placement
from kit.ring.replication import (
    Keyspace,
    LocalStrategy,
    NetworkTopologyStrategy,
    SimpleStrategy,
)
from kit.ring.sizes import Stored
from kit.ring.tokens import MURMUR3, TokenSpace, small
from kit.ring.topology import Node, Ring
from tests.operators.printing import Host, host_id
from tests.protocols.tcm.dry_run.samples import JOIN, cluster, hosts, played, printed
from tests.saying import like, says


def last(timeline: Timeline) -> Any:
    """The state at the end."""
    return timeline.moments[timeline.tip].state


def test_the_end_is_the_ring_after_the_operations() -> None:
    """At the end every table is that of the new, stable ring, and everybody who is up knows it."""
    timeline = played(cluster(), "decommission 10.20.0.2", JOIN)
    m: Any = timeline.model
    snapshot = m.snapshot(last(timeline))
    for placement, group in zip(snapshot.placements, snapshot.metadata.groups, strict=True):
        assert placement == stable_placement(snapshot.metadata.ring, group)
    members = {node.name for node in snapshot.metadata.ring.nodes if node.tokens}
    assert "10.20.0.10" in members
    assert "10.20.0.2" not in members
    epochs = {one.epoch for one in facts.applied(m, last(timeline)) if one.up}
    assert epochs == {facts.epoch(m, last(timeline))}


def test_it_stands_where_the_operations_have_begun() -> None:
    """The history is opened where all that may begin has begun, and goes on from there."""
    timeline = played(cluster(), "decommission 10.20.0.2", JOIN)
    assert timeline.now.milestone == "epoch 2"
    assert timeline.tip > timeline.at
    assert [one.moment for one in steps(timeline)][1] == timeline.at


def test_nodes_that_are_down_are_down_from_the_start() -> None:
    """What the tools show as down neither applies nor streams, and nothing waits for it."""
    timeline = played(cluster(), "decommission 10.20.0.2")
    assert opening_state(timeline).tcm.down == ("10.20.0.6",)
    [row] = [one for one in facts.applied(timeline.model, last(timeline)) if not one.up]
    assert (row.node, row.epoch) == ("10.20.0.6", 0)
    assert [one.status for one in outcome(timeline)] == ["done"]


def test_operations_in_flight_come_first() -> None:
    """A joining node that the tools show is under way before anything is planned."""
    given = printed(
        [*hosts(8), Host("n9", (350,), state="Joining", load="1 bytes", host_id=host_id(9))]
    )
    timeline = played(given, "decommission n8")
    m: Any = timeline.model
    before = facts.operations(m, opening_state(timeline))
    assert [one.title for one in before] == ["bootstrap n9 at 350"]
    assert facts.epoch(m, opening_state(timeline)) == given.epoch
    assert [one.status for one in outcome(timeline)] == ["done", "done"]


def test_what_is_in_the_way_ends_before_the_opening() -> None:
    """A leave beside a newcomer waits for it: it begins in the ring that has it."""
    joins = Host("n9", (350,), state="Joining", load="1 bytes", host_id=host_id(9))
    timeline = played(printed([*hosts(8), joins]), "decommission n4")
    m, before = timeline.model, opening_state(timeline)
    assert facts.operations(m, before) == ()  # type: ignore[arg-type]  # its model is tcm
    members = [one.name for one in facts.nodes(m, before) if one.status == "joined"]
    assert members == [f"n{at}" for at in range(1, 10)]


def test_what_cannot_begin_says_why() -> None:
    """A node that is down cannot leave; the history has no step and the reason is told."""
    timeline = played(cluster(), "decommission 10.20.0.6")
    assert steps(timeline) == ()
    assert opening_state(timeline) == timeline.state
    [line] = standstill(timeline)
    assert line.startswith("decommission 10.20.0.6 cannot begin: 10.20.0.6 is down")


def test_what_stands_still_says_why() -> None:
    """With too many nodes down an operation stops at its barrier, and that is told."""
    given = printed(hosts(6, n2="Down", n3="Down"))
    timeline = played(given, "decommission n1")
    [line] = standstill(timeline)
    assert line.startswith("decommission n1 has stopped: waiting at the barrier")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            ("decommission n1", "decommission n1"),
            "operation | 'decommission n1' | each | operation | once | given twice",
        ),
        (("decommission n99",), "node | 'n99' | n1, n2"),
        (("bootstrap n1 --tokens 5",), "node | 'n1' | name | ring | yet"),
        (("bootstrap x --tokens 100",), "tokens[0] | 100 | token | no node owns"),
        (("decommission n1 --dc x",), "--dc | 'x' | except with bootstrap and replace"),
    ],
)
def test_operations_that_do_not_fit_the_ring(lines: tuple[str, ...], said: str) -> None:
    """An operation that does not speak of this ring is named in one line."""
    with pytest.raises(BadInput) as caught:
        played(printed(hosts(6)), *lines)
    assert says(caught.value, said)


def test_operations_in_flight_that_exclude_each_other() -> None:
    """Two in flight that lock a common range are refused by name."""
    flying = tuple(map(parse_operation, ("decommission n1", "decommission n2")))
    with pytest.raises(BadInput, match=like("operation in flight | 'decommission n2'")):
        played(printed(hosts(6)), "decommission n5", in_flight=flying)


def test_operators_own_words() -> None:
    """Decommission, removenode and bootstrap are leave, remove and join."""
    words = {
        "decommission n1": "decommission n1",
        "removenode n1": "removenode n1",
        "bootstrap x --tokens 5": "bootstrap x --tokens 5",
    }
    assert {text: parse_operation(text).text for text in words} == words


def test_a_saved_rehearsal_is_loaded_with_its_sizes() -> None:
    """A trace of a dry run replays to the same states, and still knows the bytes."""
    timeline = played(cluster(), "decommission 10.20.0.2")
    again = Timeline.load(timeline.save())
    assert [m.state for m in again.moments] == [m.state for m in timeline.moments]
    m: Any = again.model
    stream = facts.operations(m, again.state)[0].streams[0]
    assert stream.bytes == facts.operations(timeline.model, timeline.state)[0].streams[0].bytes
    assert stream.bytes


def test_what_is_in_flight_is_not_asked_for_again() -> None:
    """Nor is it said twice to be in flight, which is no mistake; the line says which it is."""
    flying = (parse_operation("decommission n1"),) * 2
    with pytest.raises(BadInput, match=r"each operation once; this one is already in flight$"):
        played(printed(hosts(6)), "decommission n1", in_flight=flying)
    timeline = played(printed(hosts(6)), in_flight=flying)
    assert [one.status for one in outcome(timeline)] == ["done"]


@pytest.mark.parametrize(
    ("line", "edition", "up", "said"),
    [
        ("removenode n1", "server", {"n1"}, "n1 is up: decommission it"),
        ("removenode n1", "server", {"n2"}, ""),
        ("removenode n1", "documents", {"n1"}, ""),
        ("replace n1 x", "server", {"n1"}, "n1 is up: stop it first"),
        ("replace n1 x", "server", {"x"}, ""),
        ("assassinate n1", "server", {"n1"}, ""),
        ("decommission n1", "server", {"n1"}, ""),
        ("move n1 --tokens 5", "server", {"n1"}, ""),
    ],
)
def test_what_a_node_has_against_an_operation(
    line: str, edition: Any, up: set[str], said: str
) -> None:
    """The server removes or replaces nobody who is up; assassinate asks nobody."""
    refusal = elsewhere(parse_operation(line), edition, printed(hosts(6)).ring, up)
    assert (refusal.reason if refusal else "") == said


@pytest.mark.parametrize(
    ("line", "edition", "said"),
    [
        (
            "move n1 --tokens 5,6",
            "server",
            "n1 has several tokens, and the server moves a node with one",
        ),
        ("move n1 --tokens 5,6", "documents", ""),
        ("move n2 --tokens 5", "server", ""),
        ("decommission n1", "server", ""),
    ],
)
def test_the_server_moves_a_node_with_one_token(line: str, edition: Any, said: str) -> None:
    """Neither one of two, nor anybody by the documents' rules, is turned away."""
    ring = Ring.of([Node("n1", (100, 200)), Node("n2", (300,))], small(400))
    refusal = elsewhere(parse_operation(line), edition, ring, ())
    assert (refusal.reason if refusal else "") == said


@pytest.mark.parametrize("line", ["assassinate n1", "decommission n1"])
def test_the_opening_is_just_before_the_first_operation_begins(line: str) -> None:
    """Also of one that is over as it begins."""
    timeline = played(printed(hosts(6)), line)
    assert opening_state(timeline) == timeline.moments[0].state


@pytest.mark.parametrize(("nodes", "crashes"), [(5, 1), (6, 1), (7, 0)])
def test_a_further_crash_is_offered_where_somebody_can_choose(
    nodes: int, crashes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of so many nodes, and not of more."""
    assert history.MOST_TO_CHOOSE == 128
    monkeypatch.setattr(history, "MOST_TO_CHOOSE", 6)
    m: Any = played(printed(hosts(nodes)), "decommission n1").model
    assert m.parameters.crashes == crashes


@pytest.mark.parametrize(("nodes", "number"), [(3, 1), (6, 1)])
def test_what_cannot_begin_is_said_once(nodes: int, number: int) -> None:
    """Of what stands still that is the reason; of what is played, that a node is up."""
    said = kit.rehearse(printed(hosts(nodes)), "removenode n1").warnings
    begins = [line for line in said if "cannot begin" in line]
    assert len(begins) == number
    assert ("n1 is up" in begins[0]) is (nodes == 6)


LINE = Ring.of(
    [
        *(Node(name, (at * 100,), "dc1") for at, name in enumerate("ABC", 1)),
        Node("D", (350,), "dc2"),
    ],
    small(400),
)
OWN = Keyspace("own", LocalStrategy())
COPIES_NOTHING = "assassinate copies nothing"


def kept_in(*dcs: str) -> Keyspace:
    """A keyspace with two replicas in dc1, and one in each of the others."""
    return Keyspace("ks", NetworkTopologyStrategy((("dc1", 2), *((dc, 1) for dc in dcs))))


@pytest.mark.parametrize(
    ("keyspaces", "kept"),
    [
        ((kept_in(),), False),
        ((OWN,), False),
        ((kept_in(), OWN), False),
        ((OWN, kept_in("dc9")), True),
        ((Keyspace("ks", SimpleStrategy(2)),), True),
    ],
)
def test_the_first_node_of_a_datacenter_is_told(
    keyspaces: tuple[Keyspace, ...], kept: bool
) -> None:
    """And whether any keyspace keeps replicas there; a local one keeps them nowhere else."""
    newcomer = parse_operation("bootstrap X --tokens 120 --dc dc9 --rack r")
    said = dry_run(Imported(5, LINE, keyspaces), newcomer).warnings
    tail = "" if kept else ", where no keyspace keeps replicas"
    assert f"X is the first node of datacenter dc9{tail}" in said
    lacking = "keyspace ks needs 1 replica in dc9: 0 nodes now, enough afterwards"
    assert (lacking in said) is ("dc9" in str(keyspaces))


def test_where_every_node_keeps_its_own_nothing_breaks() -> None:
    """No step of an operation has a range without a quorum."""
    shown = steps(played(Imported(5, LINE, (OWN,)), "decommission A"))
    assert [(one.broken, one.fragile, one.streams) for one in shown] == [(0, (), 0)] * 4


@pytest.mark.parametrize(
    ("line", "beside", "assumed"),
    [
        ("bootstrap X --tokens 120", (), "datacenter dc1 and rack r1"),
        ("bootstrap X --tokens 120", ("bootstrap Y --tokens 320 --dc dc9 --rack r1",), ""),
    ],
)
def test_a_place_is_assumed_among_members(line: str, beside: tuple[str, ...], assumed: str) -> None:
    """Who only joins gives no choice of datacenters yet."""
    nodes = [Node(f"n{at}", (100 * at,), "dc1", "r1") for at in range(1, 9)]
    other = [] if beside else [Node("o", (850,), "dc2", "r2")]
    given = Imported(5, Ring.of([*nodes, *other], small(1000)), (kept_in(),))
    flying = tuple(map(parse_operation, beside))
    said = dry_run(given, parse_operation(line), in_flight=flying).warnings
    assert said == ((f"X is assumed to be in {assumed}",) if assumed else ())


def test_a_rack_is_assumed_of_two() -> None:
    """In one datacenter only the rack is not certain."""
    nodes = [Node("a", (100,), "dc1", "r1"), Node("b", (200,), "dc1", "r2")]
    given = Imported(5, Ring.of(nodes, small(400)), (kept_in(),))
    [said] = dry_run(given, parse_operation("bootstrap X --tokens 120")).warnings
    assert said in {f"X is assumed to be in rack {rack}" for rack in ("r1", "r2")}


def test_clashes_and_waits_are_in_the_order_of_keyspaces() -> None:
    """Keyspaces that are replicated alike share their placements, not their place in a list."""
    nodes = [Node(f"n{at}", (100 * at,)) for at in range(1, 7)]
    factors = {"a": 1, "b": 2, "c": 1}
    keyspaces = tuple(Keyspace(name, SimpleStrategy(rf)) for name, rf in factors.items())
    given = Imported(5, Ring.of(nodes, small(1000)), (*keyspaces, OWN))
    moves, leaves = parse_operation("move n2 --tokens 250"), parse_operation("decommission n3")
    report = dry_run(given, leaves, in_flight=(moves,))
    clashes = [clash.keyspace for clash in report.conflicts]
    assert clashes == sorted(clashes)
    assert {*clashes} == {*factors}
    for step in dry_run(given, leaves).steps:
        ranges = [(wait.keyspace, *wait.range) for wait in step.barriers]
        assert [row[0] for row in ranges] == sorted(row[0] for row in ranges)
        copies = [(copy.keyspace, copy.range[1], copy.target) for copy in step.streams]
        assert copies == sorted(copies)


def test_waits_are_from_left_to_right_by_datacenter() -> None:
    """Two keyspaces of two kinds; the server asks each datacenter on its own."""
    network = NetworkTopologyStrategy((("dc2", 1), ("dc1", 2)))
    keyspaces = (Keyspace("a", SimpleStrategy(2)), Keyspace("b", network))
    report = dry_run(Imported(5, LINE, keyspaces), parse_operation("decommission B"))
    waits = {
        step.name: [(wait.keyspace, wait.range[1], wait.dc) for wait in step.barriers]
        for step in report.steps
    }
    assert waits["prepare"] == []
    for rows in list(waits.values())[1:]:
        assert rows == sorted(rows, key=lambda row: (row[0], row[1] or 400, row[2]))
        assert {(name, dc) for name, _, dc in rows} >= {("b", "dc1"), ("b", "dc2")}


@pytest.mark.parametrize(
    ("line", "beside", "reason", "locked"),
    [
        ("decommission X", "bootstrap X --tokens 550", "bootstrap X at 550", False),
        ("replace X Z", "bootstrap X --tokens 550", "bootstrap X at 550", False),
        ("move n3 --tokens 350", "decommission n3", "decommission n3", True),
        ("removenode n3", "decommission n3", "decommission n3", True),
    ],
)
def test_whoever_takes_part_in_an_operation_has_no_other(
    line: str, beside: str, reason: str, locked: bool
) -> None:
    """That comes before all else that stands against it; a newcomer holds nothing to lock."""
    report = dry_run(
        printed(hosts(8)),
        parse_operation(line),
        in_flight=(parse_operation(beside),),
        up=("n3",),
    )
    name = line.split()[1]
    assert not report.accepted
    assert report.reason == f"{name} already takes part in an operation: {reason}"
    assert bool(report.locks) is bool(report.conflicts) is locked
    assert (report.steps, report.pending, list(report.before)) == ((), (), ["ks"])


@pytest.mark.parametrize("line", ["removenode n3", "replace n3 x", "assassinate n3"])
def test_whose_place_is_taken_may_be_down(line: str) -> None:
    """The dead hand nothing over."""
    report = dry_run(printed(hosts(6)), parse_operation(line), down=("n3",))
    assert (report.accepted, report.reason) == (True, None)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("replace B X", None),
        ("removenode B", f"{{}}, and the server tries again for ever ({COPIES_NOTHING})"),
    ],
)
def test_what_no_live_node_holds_is_lost(line: str, reason: str | None) -> None:
    """A replacement begins without it; a removal never ends."""
    given = Imported(5, LINE, (Keyspace("ks", SimpleStrategy(1)),))
    report = dry_run(given, parse_operation(line))
    lost = "no live node holds ks (100, 200]: its data is lost"
    assert lost in report.warnings
    assert report.reason == (reason and reason.format(lost))


def test_where_nobody_hands_a_place_over_the_server_streams_from_one() -> None:
    """A third node joins two that keep three replicas: a majority of two is both of them."""
    ring = Ring.of([Node("A", (100,)), Node("B", (200,))], small(400))
    given = Imported(5, ring, (Keyspace("ks", SimpleStrategy(3)),))
    joins = parse_operation("bootstrap X --tokens 150")
    lacks = "keyspace ks needs 3 replicas: 2 nodes now, enough afterwards"
    way = (
        "a quorum streams where no live node hands its place over, as in the documents; the "
        "server copies from one live replica, so repair afterwards"
    )
    assert dry_run(given, joins).warnings == (lacks, way)
    assert dry_run(given, joins, edition="documents").warnings == (lacks,)


@pytest.mark.parametrize("down", [(), ("A",)])
def test_a_level_that_no_node_can_meet_is_bad_input(down: tuple[str, ...]) -> None:
    """Whoever is up: in the datacenter of the node that leaves there is no replica."""
    leaves, given = parse_operation("decommission D"), Imported(5, LINE, (kept_in(),))
    with pytest.raises(BadInput, match="no replica is there to answer"):
        dry_run(given, leaves, level="LOCAL_QUORUM", down=down)


def test_who_is_down_halts_an_operation() -> None:
    """What it waits for is said; with everybody up it comes to its end."""
    leaves, given = parse_operation("decommission A"), Imported(5, LINE, (kept_in(),))
    assert dry_run(given, leaves, level="ALL").reason is None
    halted = dry_run(given, leaves, level="ALL", down=("B",))
    assert halted.reason is not None
    assert halted.reason.startswith("waiting at the barrier")


@pytest.mark.parametrize(("down", "broken", "status"), [("", 0, 0), ("A", 0, 1), ("ABC", 5, 1)])
def test_a_quorum_that_is_broken_is_an_answer_too(down: str, broken: int, status: int) -> None:
    """Where nobody has to stay up since it is too late, it is not well."""
    report = survival(Imported(0, LINE, (Keyspace("ks", SimpleStrategy(3)),)), set(down))
    assert report.answer().status == status
    assert bool(report.must_stay_up) is (down == "A")
    assert (report.broken > 0) is (broken > 0)


@pytest.mark.parametrize("down", [("n2", "n9"), ("n9", "n2")])
def test_who_would_hand_over_and_is_down_is_listed(down: tuple[str, ...]) -> None:
    """In the order of the ring, whoever is named first."""
    newcomer = parse_operation("bootstrap x --tokens 150,850")
    reason = dry_run(printed(hosts(10)), newcomer, down=down).reason
    assert reason is not None
    assert reason.startswith("n2, n9 are down and would hand over ranges")


@pytest.mark.parametrize(("begun", "epoch"), [(None, 8), (0, 10), (1, 9), (3, 7)])
def test_a_model_starts_before_what_is_in_flight(begun: int | None, epoch: int) -> None:
    """An event for each; unless it is said how many there are, all but the last one."""
    lines = ("decommission A", "decommission B", "decommission D")
    given = Imported(10, LINE, (Keyspace("ks", SimpleStrategy(1)),))
    model = history.model_for(given, tuple(map(parse_operation, lines)), begun=begun)
    assert model.parameters.epoch == epoch
    assert (model.parameters.edition, model.parameters.level) == ("server", "own")
    assert (model.parameters.crashes, model.parameters.cancels) == (0, 0)


@pytest.mark.parametrize(
    ("loads", "sizes"),
    [
        ((), [None, None, 0, 0]),
        ((("A", 40), ("B", 50), ("C", 60), ("D", 70)), [40, 40, 0, 0]),
    ],
)
def test_each_step_tells_what_is_still_to_be_copied(
    loads: tuple[tuple[str, int], ...], sizes: list[int | None]
) -> None:
    """Both of the ranges of A, at the ends of the line, until reads are switched."""
    given = Imported(10, LINE, (Keyspace("ks", SimpleStrategy(1)),), loads=dict(loads))
    shown = steps(played(given, "decommission A"))
    assert [(one.epoch, one.streams, one.bytes, one.busiest) for one in shown] == [
        (11 + at, streams, size, "A" if streams else None)
        for at, (streams, size) in enumerate(zip((2, 2, 0, 0), sizes, strict=True))
    ]
    assert [one.broken for one in shown] == [0] * 4


def test_what_is_in_flight_was_forced_where_too_few_remain() -> None:
    """The second one that leaves four nodes with three replicas; what nobody can tell is left out.

    Who has left already is not counted for those that come later.
    """
    flying = (
        InFlight("decommission", "A", "up"),
        InFlight("bootstrap", "X", "up", (120,), "dc1", "r1"),
        InFlight("move", "C", "up"),
        InFlight("removenode", "B", "down"),
    )
    given = Imported(5, LINE, (Keyspace("ks", SimpleStrategy(3)),), in_flight=flying)
    assert operations_of(given) == (
        Operation("decommission", "A"),
        Operation("bootstrap", "X", (120,), dc="dc1", rack="r1"),
        Operation("removenode", "B", force=True),
    )
    assert list(forced(given)) == [
        "removenode B is in flight, though too few nodes remain for a keyspace"
    ]


@pytest.mark.parametrize(
    ("space", "ends"),
    [(small(400), (0, 400)), (small(400, -5), (-5, 400)), (MURMUR3, (None, None))],
)
def test_the_model_of_a_ring(space: TokenSpace, ends: tuple[int | None, int | None]) -> None:
    """With its own line of tokens; the first operations of several have begun at its epoch."""
    ring = Ring.of([Node("A", (100,)), Node("B", (200,)), Node("C", (300,))], space)
    given = Imported(5, ring, (Keyspace("ks", SimpleStrategy(2)),))
    lines = ("decommission A", "bootstrap X --tokens 120", "move C --tokens 350")
    operations = tuple(map(parse_operation, lines))
    for begun, epoch in ((None, 3), (0, 5), (1, 4), (3, 2)):
        found = model_for(given, operations, begun=begun).parameters
        assert (found.low, found.high, found.epoch) == (*ends, epoch)
    wanted = TcmParameters(
        members=ring.nodes, keyspaces=given.keyspaces, low=ends[0], high=ends[1],
        operations=lines, edition="documents", epoch=5, crashes=2, cancels=1,
        stored=Stored((("A", 7),)), level="ONE",
    )  # fmt: skip
    options: Any = {"crashes": 2, "cancels": 1, "stored": Stored((("A", 7),)), "level": "ONE"}
    assert model_for(given, operations, "documents", begun=0, **options).parameters == wanted
    plain = model_for(given, operations).parameters
    assert (plain.edition, plain.crashes, plain.cancels) == ("server", 0, 0)
    assert (plain.stored, plain.level) == (None, "own")


@pytest.mark.parametrize(
    ("field", "operation"),
    [
        ("node", Operation("bootstrap", "X" * 300, (120,))),
        ("dc", Operation("bootstrap", "X", (120,), dc=" ")),
        ("rack", Operation("bootstrap", "X", (120,), dc="d", rack="\n")),
    ],
)
def test_names_of_operations_are_as_strict_as_those_of_files(
    field: str, operation: Operation
) -> None:
    """They are shown, stored and compared like these."""
    given = Imported(5, LINE, (Keyspace("ks", SimpleStrategy(2)),))
    with pytest.raises(BadInput, match=f"^{field}: ") as caught:
        model_for(given, (operation,))
    assert "printable characters" in str(caught.value)


def test_of_a_newcomers_load_nothing_is_read() -> None:
    """It is no measure of what it will hold; that of the members is."""
    joins = Host("n4", (350,), state="Joining", load="1 bytes", host_id=host_id(4))
    m: Any = played(printed([*hosts(3), joins])).model
    assert m.parameters.stored == Stored((("n1", 1024), ("n2", 2048), ("n3", 3072)))
    own = Stored((("n1", 5),))
    m = played(printed([*hosts(3), joins]), stored=own).model
    assert m.parameters.stored == own


def test_an_operation_that_nobody_hears_of_has_an_opening() -> None:
    """The only other node is down: the last step is that it begins."""
    timeline = played(printed(hosts(2, n2="Down")), "assassinate n1")
    assert [timeline.model.verb(timeline.moments[at].action) for at in timeline.path()[1:]] == [
        "crash n2", "assassinate n1"
    ]  # fmt: skip
    assert opening_state(timeline) == timeline.moments[1].state
    assert timeline.at == 2


@pytest.mark.parametrize(
    ("sizes", "done", "copied", "busiest"),
    [
        ((), 0, (0, 0), None),
        ((5, 7), 0, (2, 12), "B"),
        ((5, None), 0, (2, 5), "A"),
        ((None, None), 0, (2, None), "A"),
        ((0, 7), 1, (1, 7), "B"),
        ((5, 7), 2, (0, 0), None),
    ],
)
def test_an_epoch_in_a_row(
    sizes: tuple[int | None, ...], done: int, copied: tuple[int, int | None],
    busiest: str | None, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """What is left to copy; who must not die, in the order of the ring, each once; the last line
    of the log, and the most ranges that any level lacks.
    """
    losses = [
        SimpleNamespace(nodes=(("C", 2), ("A", 1)), broken=1),
        SimpleNamespace(nodes=(("B", 1), ("C", 1)), broken=3),
        SimpleNamespace(nodes=(), broken=0),
    ]
    copies = [
        (name, SimpleNamespace(target="X", done=at < done, bytes=size))
        for at, (name, size) in enumerate(zip("AB", sizes, strict=False))
    ]
    log = [
        SimpleNamespace(text=text, operation=SimpleNamespace(title=f"{text} of A"))
        for text in ("first", "second", "last")
    ]
    for name, value in (("copies", copies), ("losses", losses), ("log", log), ("epoch", 7)):
        monkeypatch.setattr(history.facts, name, lambda m, s, value=value: value)
    m: Any = SimpleNamespace(codes={"C": 0, "B": 1, "A": 2, "X": 3})
    at: Any = SimpleNamespace(state=None, id=9)
    row = StepSummary(7, "last (last of A)", 9, *copied, busiest, ("C", "B", "A"), 3)
    assert history._summary(m, at) == row
    monkeypatch.setattr(history.facts, "losses", lambda m, s: [])
    assert history._summary(m, at) == replace(row, fragile=(), broken=0)
