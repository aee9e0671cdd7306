"""Facts of a moment, against what is worked out by hand."""

from __future__ import annotations

from itertools import combinations, groupby
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.console.cassandra import ServiceView
from kit.errors import BadInput
from kit.model.registry import build
from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline, played_out
from kit.protocols.tcm import cluster as tcm_cluster
from kit.protocols.tcm import tcm
from kit.protocols.tcm.cluster import Driver, follow
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.large import (
    DENSITY,
    Majorities,
    _shared,
    changes,
    first_missed,
    length,
    look,
    majorities,
    rows_of,
    served,
    spread,
)
from kit.protocols.tcm.facts.moment import traffic_of
from kit.protocols.tcm.facts.tools import SERVERS, TcmServers, directory, kind_of, under_way
from kit.protocols.tcm.parameters import parse_operation
from kit.protocols.tcm.rules.metadata import Advance, Begin, _clash
from kit.protocols.tcm.rules.operations import (
    LEVELS,
    Edition,
    ProtocolSwitches,
    TcmSafeguards,
    step_table,
    weaker,
)
from kit.ring.placements import Placement, Table
from kit.ring.ranges import Range
from kit.ring.replication import (
    Keyspace,
    LocalStrategy,
    NetworkTopologyStrategy,
    SimpleStrategy,
)
from kit.ring.sizes import Stored
from kit.ring.topology import Node
from tests.protocols.tcm.driving import Drive

NAMES = st.sets(st.sampled_from("ABCDE"), min_size=1).map(lambda names: tuple(sorted(names)))


def copy(target: str, done: bool, size: int | None) -> Any:
    """One range that a node streams to another."""
    return SimpleNamespace(target=target, done=done, bytes=size)


@pytest.mark.parametrize(
    ("copies", "loads"),
    [
        ([], []),
        (["A X 1 5"], ["A 1 1 5, 0 0 0", "X 0 0 0, 1 1 5"]),
        (["A X 0 5", "A Y 1 7", "B X 0 9"],
         ["A 2 1 12, 0 0 0", "B 1 0 9, 0 0 0", "X 0 0 0, 2 0 14", "Y 0 0 0, 1 1 7"]),
        (["A X 0 -", "B X 0 -"], ["A 1 0 -, 0 0 -", "B 1 0 -, 0 0 -", "X 0 0 -, 2 0 -"]),
        (["B Y 0 5", "A X 0 -"], ["B 1 0 5, 0 0 0", "A 1 0 -, 0 0 0", "Y 0 0 0, 1 0 5",
                                  "X 0 0 0, 1 0 -"]),
        # Whose bytes are not known comes after all who send any, and beside who sends none.
        (["A X 0 -", "B Y 0 0", "B Z 0 0"], ["B 2 0 0, 0 0 0", "A 1 0 -, 0 0 0", "X 0 0 0, 1 0 -",
                                             "Y 0 0 0, 1 0 0", "Z 0 0 0, 1 0 0"]),
        (["A X 0 -", "A X 0 -", "B Y 0 0"], ["A 2 0 -, 0 0 0", "B 1 0 0, 0 0 0", "X 0 0 0, 2 0 -",
                                             "Y 0 0 0, 1 0 0"]),
        (["A X 0 -", "A X 0 -", "B Y 0 1"], ["B 1 0 1, 0 0 0", "A 2 0 -, 0 0 0", "X 0 0 0, 2 0 -",
                                             "Y 0 0 0, 1 0 1"]),
        (["A X 0 5", "A X 0 -"], ["A 2 0 -, 0 0 0", "X 0 0 0, 2 0 -"]),
        (["A B 0 5", "B A 1 6"], ["B 1 1 6, 1 0 5", "A 1 0 5, 1 1 6"]),
    ],
)  # fmt: skip
def test_what_each_node_sends_and_receives(copies: list[str], loads: list[str]) -> None:
    """How many, how many of them are done, how many bytes; unknown where one of them is."""
    given = []
    for line in copies:
        source, target, done, size = line.split()
        given.append((source, copy(target, done == "1", None if size == "-" else int(size))))
    sums = [
        f"{x.node} {x.sends} {x.sent} {x.sends_bytes}, {x.receives} {x.received} {x.receives_bytes}"
        for x in traffic_of(given)
    ]
    assert [each.replace("None", "-") for each in sums] == loads


@pytest.mark.parametrize(
    ("tokens", "bins", "filled"),
    [
        ((0,), 4, (0,)),
        ((99, 100, 199), 4, (0, 1)),
        ((400,), 4, (3,)),
        ((400,), 1, (0,)),
        ((0, 399, 400), 400, (0, 399)),
    ],
)
def test_in_which_parts_of_the_line_tokens_are(
    tokens: tuple[int, ...], bins: int, filled: tuple[int, ...]
) -> None:
    """The last token of the line is in its last part."""
    given = {"members": (Node("A", tokens),), "operations": ("bootstrap X --tokens 50",)}
    model: Any = build("tcm", {**given, "rf": 1, "low": 0, "high": 400})
    [all_stable] = spread(model, model.start(), bins)
    assert (all_stable.node, all_stable.bins) == (None, filled)


@given(NAMES, NAMES)
def test_the_first_majorities_that_do_not_meet(readers: Any, writers: Any) -> None:
    """None where each two meet; else two that do not, of the smallest, the first in order."""
    ways = [
        (r, w)
        for r in combinations(readers, len(readers) // 2 + 1)
        for w in combinations(writers, len(writers) // 2 + 1)
        if not {*r} & {*w}
    ]
    assert first_missed(readers, writers) == (ways[0] if ways else None)


def test_tokens_half_a_degree_apart_can_be_told_apart() -> None:
    """Twice as many parts as a circle has degrees, each with the one token in its middle."""
    tokens = tuple(10 * part + 5 for part in range(720))
    given = {"members": (Node("A", tokens),), "operations": ("bootstrap X --tokens 50",)}
    model: Any = build("tcm", {**given, "rf": 1, "low": 0, "high": 7200})
    [all_stable] = spread(model, model.start(), DENSITY)
    assert all_stable.bins == tuple(range(720))


SIX = {
    "members": tuple(Node(name, (at * 100,)) for at, name in enumerate("ABCDEF", 1)),
    "keyspaces": (Keyspace("ks", SimpleStrategy(2)),),
    "low": 0,
    "high": 700,
}


def drive(*operations: str, off: tuple[str, ...] = (), **more: Any) -> Drive:
    """Six nodes with a token each, two replicas of each range."""
    return Drive(off=off, operations=operations, **SIX | more)


def test_what_is_kept_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest goes when one more comes than are kept."""
    monkeypatch.setattr(facts, "MOST", 2)
    model, asked = build("tcm"), list[str]()
    for key in ("a", "b", "a", "b", "c", "b", "a"):
        facts.memo(model, key, lambda at=key: asked.append(at))
    assert asked == ["a", "b", "c", "a"]


def test_barriers_that_are_not_met_come_first_where_not_all_are_told() -> None:
    """Where there is room for all they are in the order of ranges."""
    run = drive("bootstrap X --tokens 350").act("bootstrap X --tokens 350")
    run.act("apply C", "apply D")
    m, s, (sequence,) = run.model, run.state, run.metadata.sequences
    every = facts.awaiting(m, s, sequence, None)
    met = [row.met for row in every.rows]
    assert met != sorted(met)
    few = facts.awaiting(m, s, sequence, every.count - 1)
    assert facts.awaiting(m, s, sequence, every.count) == every
    assert [row.met for row in few.rows] == sorted(met)[:-1]
    assert (few.count, few.unmet) == (every.count, every.unmet)


@pytest.mark.parametrize(
    ("stored", "known"),
    [
        (Stored(), False),
        (Stored(nodes=(("A", 5),)), True),
        (Stored(ranges=(("ks", ((0, 100, 5),)),)), True),
    ],
)
def test_sizes_are_known_of_nodes_or_of_ranges(stored: Stored, known: bool) -> None:
    """Of nothing stored nothing is said."""
    assert (facts.sizes(drive("decommission A", stored=stored).model) is not None) is known


def test_of_a_node_that_moves_some_tokens_the_others_stay() -> None:
    """Only what it does not own yet is to come, only what it will not own is to go."""
    members = (Node("A", (100, 300)), *(Node(n, (t,)) for n, t in (("B", 200), ("C", 400))))
    run = drive("move A --tokens 100,350", members=members).act("move A --tokens 100,350")
    found = {each.name: each for each in facts.nodes(run.model, run.state)}
    assert (found["A"].coming, found["A"].going) == ((350,), (300,))
    assert (found["B"].coming, found["B"].going) == ((), ())


def test_what_was_cancelled_is_not_copied() -> None:
    """Neither does it count as sent; what begins anew does."""
    run = drive("decommission C", cancels=1).act("decommission C")
    assert facts.copies(run.model, run.state)
    run.act("cancel C")
    assert facts.copies(run.model, run.state) == ()
    run.act("decommission C")
    assert not any(row.done for _, row in facts.copies(run.model, run.state))
    [planned] = facts.planned(run.model, run.state)
    assert planned.status == "under way"


@pytest.mark.parametrize(
    ("before", "then", "left"),
    [
        ("move C --tokens 350", (), ["move"]),  # of one node's two the latest is taken back
        ("decommission F", ("decommission A",), ["decommission"]),  # what began later stays
    ],
)
def test_only_what_is_cancelled_is_taken_back(
    before: str, then: tuple[str, ...], left: list[str]
) -> None:
    """Of all that has begun: the last operation of that node."""
    run = drive(before, "decommission C", *then, cancels=1, off=("range-locks",), rf=1)
    run.complete(before) if not then else None
    run.act("decommission C", *then, "cancel C")
    begun = [each.plan.operation.kind for each, _ in facts._begun(run.model, run.state)]
    assert begun == left


def test_one_keyspace_in_transition_is_enough() -> None:
    """The other one has no replica where the newcomer is."""
    members = (*(Node(n, (t,)) for n, t in (("A", 100), ("B", 200))), Node("C", (300,), "dc2"))
    keyspaces = tuple(
        Keyspace(dc, NetworkTopologyStrategy(((dc, 1),))) for dc in (members[0].dc, "dc2")
    )
    join = "bootstrap X --tokens 250 --dc dc2"
    run = drive(join, members=members, keyspaces=keyspaces)
    assert facts.stable(run.model, run.state)
    run.act(join).commit("X")
    assert not facts.stable(run.model, run.state)


@pytest.mark.parametrize(
    ("token", "said"),
    [(0, "a token above 0 in a replicated keyspace"), (401, "from 0 to 400"), (-1, "from 0 to")],
)
def test_a_token_that_nobody_serves_is_refused(token: int, said: str) -> None:
    """At the lowest end, and outside of the line."""
    run = Drive()
    with pytest.raises(BadInput, match=said):
        facts.owners(run.model, run.state, token)


def test_no_quorum_is_asked_of_a_datacenter_with_factor_0() -> None:
    """Its nodes are no replicas."""
    members = (Node("A", (100,)), Node("B", (200,), "dc2"))
    keyspaces = (Keyspace("ks", NetworkTopologyStrategy(((members[0].dc, 1), ("dc2", 0)))),)
    run = drive("decommission A", members=members, keyspaces=keyspaces)
    lost = [(each.level, each.nodes, each.broken) for each in facts.losses(run.model, run.state)]
    assert lost == [
        ("QUORUM", (("A", 3),), 0),
        (f"LOCAL_QUORUM {members[0].dc}", (("A", 3),), 0),
    ]


def test_who_is_written_to_beyond_the_last_reader_is_pending() -> None:
    """A table to read from that ends early is judged by its last row."""
    reads = Table.of([(0, 50, (1,))])
    late = facts._late(Table.of([(0, 50, (1,)), (50, 100, (2,))]), reads)
    assert late is not None
    assert late.tolist() == [[False, True]]


def test_of_two_operations_of_a_node_one_is_under_way() -> None:
    """The other one is still planned, and may not begin."""
    run = drive("decommission C", "move C --tokens 350").act("move C --tokens 350")
    found = [(each.status, each.refusal is None) for each in facts.planned(run.model, run.state)]
    assert found == [("planned", False), ("under way", True)]


def test_a_local_keyspace_has_no_table() -> None:
    """So nothing of it is counted."""
    keyspaces = (Keyspace("own", LocalStrategy()), Keyspace("ks", SimpleStrategy(1)))
    run = drive("decommission C", keyspaces=keyspaces)
    assert length(run.model, run.state, "own") is None
    assert length(run.model, run.state, "ks") == 7


def test_majorities_are_of_ranges_with_both_groups() -> None:
    """Where cuts are not made first, some range has only one of them, and no pair."""
    lacking = set()
    for off in (("split-first",), ("split-first", "write-before-read")):
        run = drive("bootstrap X --tokens 350", off=off).complete("bootstrap X --tokens 350")
        for state in run.states:
            rows = facts.rows(run.model, state)
            both = [row for row in rows if row.reads and row.writes]
            lacking |= {(bool(row.reads), bool(row.writes)) for row in rows}
            assert [each.row for each in majorities(run.model, state)] == both
    assert lacking == {(True, True), (True, False), (False, True)}


def test_who_is_read_from_and_not_written_to_serves() -> None:
    """Without the order of writes before reads there is such a node."""
    run = drive("bootstrap X --tokens 350", off=("write-before-read",))
    run.complete("bootstrap X --tokens 350")
    alone = set()
    for state in run.states:
        rows = facts.rows(run.model, state)
        names = {name for row in rows for name in (*row.reads, *row.writes)}
        found = served(run.model, state, "ks")
        assert [name for name, *_ in found] == sorted(names)
        alone |= {name for name, reads, writes in found if reads and not writes}
    assert alone == {"X"}


def test_a_name_that_is_an_address_is_that_of_its_machine() -> None:
    """With dots or with colons; any other node has an address by its place."""
    names = ("10.1.0.7", "fd00::7", "C")
    members = tuple(Node(name, (at * 100,)) for at, name in enumerate(names, 1))
    run = drive("decommission C", members=members)
    now: Any = SimpleNamespace(model=run.model, state=run.state)
    found = [host.address for host in SERVERS.hosts(now)]
    assert found[:2] == ["10.1.0.7", "fd00::7"]
    assert found[2] not in names


def test_what_is_lost_is_listed_in_order() -> None:
    """Whoever fails first."""
    lines = ("decommission A", "decommission D")
    run = drive(*lines, off=("pending-in-metadata", "range-locks"), crashes=2)
    run.act(*lines, "crash D", "crash A")
    assert run.state.tcm.forgotten == ("A", "D")


def test_who_has_nothing_under_way_has_no_next_step() -> None:
    """The label of a commit is empty then."""
    run = drive("decommission C")
    assert run.model.tcm.next_step(run.state.tcm, Advance("C")) == ""
    run.act("decommission C")
    assert "decommission C" in run.model.tcm.next_step(run.state.tcm, Advance("C"))


def test_one_table_that_is_in_transition_is_enough() -> None:
    """Of two keyspaces one may have no replica where something moves."""
    members = (*(Node(n, (t,)) for n, t in (("A", 100), ("B", 200), ("C", 300))),
               Node("D", (400,), "dc2"))  # fmt: skip
    keyspaces = tuple(
        Keyspace(dc, NetworkTopologyStrategy(((dc, 1),))) for dc in (members[0].dc, "dc2")
    )
    run = drive("decommission A", members=members, keyspaces=keyspaces).act("decommission A")
    while all(p.reads == p.writes for p in run.model.snapshot(run.state).placements):
        assert not run.model.tcm.in_transition(run.state.tcm)
        run.commit("A")
    assert any(p.reads == p.writes for p in run.model.snapshot(run.state).placements)
    assert run.model.tcm.in_transition(run.state.tcm)


@pytest.mark.parametrize(("off", "lacking"), [((), 2), (("apply-in-order",), 1)])
def test_nodes_apply_all_that_they_lack(off: tuple[str, ...], lacking: int) -> None:
    """What is held back above a gap comes with the entry below it; a gap that was skipped not."""
    lines = ("decommission A", "decommission C", "decommission E")
    one = (Keyspace("ks", SimpleStrategy(1)),)
    run = drive(*lines, off=off, window=3, keyspaces=one)
    run.act(*lines[:2], "deliver 2 to B", lines[2])
    verbs = [run.model.verb(each) for each in follow(run.model, run.state, ["B"])]
    assert verbs == ["apply B"] * lacking


def test_an_event_that_is_refused_is_not_brought_about() -> None:
    """Though what it waits for was done as far as that goes."""
    driver = Driver(drive("decommission A", holds=1).model)
    m = driver.model
    assert driver.bring_about(Begin(m.tcm.cluster.operations[0]))
    [hold] = (each for each in m.actions(driver.state) if m.verb(each) == "hold commit A")
    driver.state = m.apply(driver.state, hold)
    assert not driver.bring_about(Advance("A"))
    assert m.verb(driver.actions[-1]).startswith("stream ")


def test_no_token_has_two_future_owners() -> None:
    """Without what is committed being looked at, two may claim one: that breaks a promise."""
    lines = ("bootstrap X --tokens 150", "bootstrap Y --tokens 150")
    run = drive(*lines, off=("validate-committed",)).act(lines[0])
    assert not [said for said in run.dark() if said.startswith("valid")]
    said = "valid: token 150 is claimed by both bootstrap X at 150 and bootstrap Y at 150"
    assert said in run.act(lines[1]).dark()


@pytest.mark.parametrize(("edition", "differs"), [("server", False), ("documents", True)])
def test_tables_are_the_same_where_a_skipped_epoch_changed_no_row(
    edition: Any, differs: bool
) -> None:
    """The published server only takes locks when it prepares a decommission; documents act."""
    lines = ("decommission A", "decommission D")
    one = (Keyspace("ks", SimpleStrategy(1)),)
    run = drive(*lines, off=("apply-in-order",), window=3, keyspaces=one, edition=edition)
    said = run.act(*lines, "deliver 2 to B").dark()
    assert "log-prefix: B has applied an entry above a gap" in said
    assert any(each.startswith("same-state: B has applied") for each in said) is differs


def test_only_what_was_asked_for_begins_by_itself() -> None:
    """A menu offers more than that to a person."""
    m: Any = drive("decommission A", "bootstrap X --tokens 150", menu=True).model
    assert len(m.tcm.cluster.operations) > 2
    wanted = [m.verb(action) for action in m.to_begin(m.start())]
    assert wanted == ["decommission A", "bootstrap X --tokens 150"]


@pytest.mark.parametrize(("longest", "text"), [(10, "(200, 250]"), (9, "1 range")])
def test_a_label_that_is_short_enough_travels(
    longest: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else how many ranges there are."""
    monkeypatch.setattr(tcm, "LONGEST_LABEL", longest)
    run = drive("bootstrap X --tokens 250").act("bootstrap X --tokens 250")
    run.repeat("apply ").act("commit X").repeat("apply ")
    m, s = run.model.tcm, run.state.tcm
    found = {
        travel.label
        for action in run.model.actions(run.state)
        if run.model.verb(action).startswith("stream ")
        for travel in m.along_the_ring(s, action.action, s)
    }
    assert text in found


def test_evidence_that_is_not_told_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the barrier and of both ends of a stream together."""
    line = "bootstrap X --tokens 350"
    rows = []
    for most in (64, 1):
        monkeypatch.setattr(tcm_cluster, "MOST_TOLD", most)
        run = drive(line).act(line).repeat("apply ").act("commit X")
        refusals = [
            refusal
            for action, refusal in run.model.waiting(run.state)
            if run.model.verb(action).startswith("stream ")
        ]
        rows.append([(len(each.evidence), each.untold) for each in refusals])
    all_told, few_told = rows
    assert [untold for _, untold in all_told] == [0] * len(all_told)
    assert few_told == [(2, told - 2) for told, _ in all_told]


def test_what_a_former_member_streams_begins_at_the_newcomer() -> None:
    """Where locks are off it may have left by then, and has no place on the ring."""
    lines = ("bootstrap X --tokens 150", "decommission C")
    run = drive(*lines, off=("range-locks",)).act(*lines).finish("C")
    run.repeat("apply ").act("commit X").repeat("apply ")
    m, s = run.model.tcm, run.state.tcm
    found = {
        (travel.source, travel.target)
        for action in run.model.actions(run.state)
        if run.model.verb(action).startswith("stream ")
        for travel in m.along_the_ring(s, action.action, s)
    }
    assert found == {("n:B:200", "n:X:150"), ("n:C:150", "n:X:150")}


def test_what_a_moving_node_inherits_ends_at_the_token_that_it_keeps() -> None:
    """Two operations at once: what the other node leaves to it has nothing to do with its move."""
    members = (Node("A", (100, 300)), *(Node(n, (t,)) for n, t in (("B", 50), ("C", 200),
                                                                   ("D", 400))))  # fmt: skip
    lines = ("move A --tokens 100,350", "decommission B")
    run = drive(*lines, members=members, keyspaces=(Keyspace("ks", SimpleStrategy(1)),))
    run.act(*lines).repeat("apply ").act("commit A").repeat("apply ")
    ends = {
        run.model.verb(action): {
            (travel.source, travel.target)
            for travel in run.model.tcm.along_the_ring(run.state.tcm, action.action, run.state.tcm)
        }
        for action in run.model.actions(run.state)
        if run.model.verb(action).startswith("stream ")
    }
    assert ends == {
        "stream A: D to A": {("n:D:400", "n:A:350")},
        "stream B: B to A": {("n:B:50", "n:A:100")},
    }


def test_a_range_at_the_end_of_the_line_ends_at_the_first_token() -> None:
    """In whatever order a newcomer's tokens are given; here that is the lowest of the line."""
    line = "bootstrap X --tokens 350,0"
    run = drive(line, keyspaces=(Keyspace("ks", SimpleStrategy(1)),)).act(line).commit("X")
    run.repeat("apply ")
    ends = {
        (travel.source, travel.target)
        for action in run.model.actions(run.state)
        if run.model.verb(action).startswith("stream ")
        for travel in run.model.tcm.along_the_ring(run.state.tcm, action.action, run.state.tcm)
    }
    assert ends == {("n:D:400", "n:X:350"), ("n:A:100", "n:X:0")}


class Given:
    """Has only what it is given, and can be the key of what is kept."""


def model_of(placement: Placement) -> Any:
    """One whose only keyspace, ks, has these tables in every state."""
    metadata = SimpleNamespace(group_of=["ks"].index)
    model: Any = Given()
    model.snapshot = lambda s: SimpleNamespace(metadata=metadata, placements=(placement,))
    return model


@pytest.mark.parametrize(
    ("reads", "writes", "rows"),
    [
        ([(0, 100), (100, 200)], [(0, 100), (100, 200)], 2),
        ([(0, 100), (100, 200)], [(0, 100), (50, 200)], None),
        ([(0, 100), (50, 200)], [(0, 100), (100, 200)], None),
        ([(0, 100), (50, 200)], [(0, 100), (50, 200)], None),
        ([(0, 100), (100, 200)], [(0, 50), (50, 200)], None),
    ],
)
def test_columns_need_two_tables_that_cut_the_line_alike(
    reads: list[tuple[int, int]], writes: list[tuple[int, int]], rows: int | None
) -> None:
    """Each of them into pieces, and both at the same tokens."""
    read, written = (Table.of([(*ends, (0,)) for ends in given]) for given in (reads, writes))
    model = model_of(Placement(read, written))
    state = SimpleNamespace(tcm=SimpleNamespace(events=()))
    assert length(model, state, "ks") == rows


@pytest.mark.parametrize(
    ("tokens", "most", "rights"),
    [
        ((100, 200, 300), 2, [100, 200]),
        ((300, 101, 200, 300), 4, [200, 300]),
        ((300,), 0, []),
    ],
)
def test_the_first_rows_that_hold_tokens(
    tokens: tuple[int, ...], most: int, rights: list[int]
) -> None:
    """Each once, from left to right, and no more than are wanted."""
    run = drive("decommission A")
    assert [row.right for row in rows_of(run.model, run.state, "ks", tokens, most)] == rights


def test_where_nobody_may_cancel_nobody_tries() -> None:
    """Neither an operator nor a timeout; with one cancel there is one who may."""
    for cancels, nodes in ((0, []), (1, ["C"])):
        run = drive("decommission C", cancels=cancels).act("decommission C")
        assert [*run.model.tcm.cancellable(run.state.tcm)] == nodes
        run.act("cancel C") if cancels else None
        assert [*run.model.tcm.cancellable(run.state.tcm)] == []


@pytest.mark.parametrize(
    ("line", "dead"), [("decommission C", frozenset[int]()), ("removenode C", frozenset({2}))]
)
def test_who_is_removed_is_dead_in_both_epochs(line: str, dead: frozenset[int]) -> None:
    """From the event on that begins it; before any event there is nobody."""
    run = drive(line, crashes=1)
    [(now, then, *gone)] = run.model.tcm.neighbours(run.state.tcm.events)
    assert (now is then, gone) == (True, [frozenset()] * 2)
    run.act(*(["crash C"] if dead else []), line)
    found = [*run.model.tcm.neighbours(run.state.tcm.events)]
    assert [(one.metadata.epoch, other.metadata.epoch) for one, other, *_ in found] == [
        (1, 1), (0, 1), (1, 0)
    ]  # fmt: skip
    assert [gone for _, _, *gone in found] == [[dead, dead]] * 3


def test_two_operations_that_change_one_range_break_a_promise() -> None:
    """The lamp names both, and the first range of the first one that the second one holds too."""
    lines = ("bootstrap X --tokens 350", "decommission A", "bootstrap Y --tokens 320")
    run = drive(*lines, off=("range-locks",)).act(lines[0])
    shared = "locks: bootstrap X at 350 and bootstrap Y at 320 both change "
    assert not [said for said in run.dark() if said.startswith("locks")]
    run.act(lines[2])
    assert [said for said in run.dark() if said.startswith("locks")] == [f"{shared}(200, 300]"]


def test_what_is_held_above_a_gap_is_part_of_the_service() -> None:
    """By its epochs: what is applied, and what waits for the entry below it."""
    lines = ("decommission A", "decommission C", "decommission E")
    run = drive(*lines, window=3, keyspaces=(Keyspace("ks", SimpleStrategy(1)),)).act(*lines[:2])
    now: Any = SimpleNamespace(model=run.model, state=run.state)
    assert SERVERS.service(now, 1) == ServiceView(0, ())
    now.state = run.act("deliver 2 to B").state
    assert SERVERS.service(now, 1) == ServiceView(0, (2,))
    now.state = run.act(lines[2], "deliver 3 to B").state
    assert SERVERS.service(now, 1) == ServiceView(0, (2, 3))


def test_each_level_falls_back_to_the_next() -> None:
    """Behind the last one there is nothing."""
    order = ("ALL", "EACH_QUORUM", "QUORUM", "LOCAL_QUORUM", "ONE", "NODE_LOCAL")
    assert tuple(LEVELS) == order
    assert [weaker(level) for level in LEVELS] == [*order[1:], None]


@pytest.mark.parametrize(
    ("off", "parts"),
    [
        ((), [("split",), ("add",), ("switch",), ("drop",), ("merge",)]),
        (("old_writer_stays",), [("split",), ("add",), ("switch", "drop"), (), ("merge",)]),
    ],
)
def test_parts_of_each_step(off: tuple[str, ...], parts: list[tuple[str, ...]]) -> None:
    """Where the old writer does not stay, it goes with the switch of reads and not after it."""
    safeguards = TcmSafeguards(**dict.fromkeys(off, False))
    table = step_table("decommission", ProtocolSwitches("documents", safeguards))
    assert [each for _, each in table] == parts


@pytest.mark.parametrize(
    ("applied", "said"),
    [
        ("", "only 0 of B, D applied epoch 1: no majority in (100, 200]"),
        ("DEF", "only 1 of B, D applied epoch 1: no majority in (100, 200]"),
        ("BD", "only 1 of D, E applied epoch 1: no majority in (200, 300]"),
        ("BDE", None),
    ],
)
def test_a_majority_of_those_who_live_must_know(applied: str, said: str | None) -> None:
    """Half of them is none; whoever is removed is dead and not counted."""
    run = drive("removenode C", off=("progress-barrier",), crashes=1).act("crash C", "removenode C")
    run.act(*(f"apply {name}" for name in applied))
    found = run.model.one_step(run.state, run.find("commit C"), None)
    assert found == (said and f"switch-reads is committed although {said}")


@pytest.mark.parametrize(
    ("applied", "epochs"),
    [
        ((0, 1, 2, 3, 3, 3), [(0, 2), (0, 3), (1, 3)]),
        ((1, 1, 2, 3, 3, 3), [(1, 3)]),
        ((2, 2, 3, 3, 3, 3), []),
        ((3, 3, 3, 3, 3, 3), []),
    ],
)
def test_epochs_in_use_that_are_no_neighbours(
    applied: tuple[int, ...], epochs: list[tuple[int, int]]
) -> None:
    """From the oldest that somebody is at; whoever knows more is silent, and who is removed."""
    run = drive("removenode C", crashes=1).act("crash C", "removenode C").commit("C", 2)
    events = run.state.tcm.events
    assert len(events) == 3

    def silent(known: int) -> frozenset[int]:
        return frozenset({2, *(code for code, at in enumerate(applied) if at > known)})

    found = [(len(a), len(b), *who) for a, b, *who in run.model.in_use(events, applied)]
    assert found == [
        (one, other, silent(one), silent(other))
        for pair in epochs
        for one, other in (pair, pair[::-1])
    ]


def looks(*tables: list[tuple[int, int, tuple[int, ...]]], first: int = 0, last: int = 1) -> bytes:
    """A look at some rows; one table is read from and written to."""
    several = [Table.of(rows) for rows in tables]
    return look(model_of(Placement(several[0], several[-1])), None, "ks", first, last)


def test_rows_with_another_bound_or_group_look_different() -> None:
    """Also where only the first node of the ring is in the group, or only writers differ."""
    shown = [
        looks([(0, 100, ())]),
        looks([(0, 100, (0,))]),
        looks([(0, 100, (1,))]),
        looks([(0, 100, (0, 1))]),
        looks([(50, 100, (0,))]),
        looks([(0, 150, (0,))]),
        looks([(0, 100, (0,))], [(0, 100, (0, 1))]),
        looks([(0, 100, (0,))], [(0, 100, (1,))]),
        looks([(0, 100, (1,))], [(0, 100, (0,))]),
    ]
    assert len(set(shown)) == len(shown)


def test_rows_look_the_same_whatever_is_beside_them() -> None:
    """Though another row has more replicas."""
    alone, wide = [(100, 200, (0,))], [(0, 100, (0, 1, 2)), (100, 200, (0,))]
    assert looks(alone) == looks(wide, first=1, last=2)
    assert looks(alone, alone) == looks(wide, wide, first=1, last=2)


def test_pairs_of_majorities_that_meet_and_that_do_not() -> None:
    """One that shares no node is enough for not."""
    row: Any = None
    pairs = _shared((("A", "B"), ("A", "C")), (("B", "C"), ("A", "C")))
    assert pairs == ((("B",), ("A",)), (("C",), ("A", "C")))
    assert Majorities(row, (), (), pairs).meet is True
    pairs = _shared((("A", "B"),), (("C",), ("B",)))
    assert pairs == (((), ("B",)),)
    assert Majorities(row, (), (), pairs).meet is False


def test_the_first_ranges_that_a_step_changed() -> None:
    """With those before it that had its tokens; as many as are wanted, and all are counted."""
    line = "bootstrap X --tokens 350"
    run = drive(line).act(line).commit("X")
    index = next(i for i, s in enumerate(run.states) if len(s.tcm.events) == 2)
    model, after, before = run.model, run.states[index], run.states[index - 1]
    for most in range(4):
        found = changes(model, after, before, "ks", most)
        assert [(now.right, [each.right for each in then]) for now, then in found.rows] == [
            (300, [300]), (350, [350])
        ][:most]  # fmt: skip
        assert (found.reads, found.writes, found.either) == (0, 2, 2)
    none = changes(model, after, after, "ks", 9)
    assert (none.rows, none.either) == ((), 0)


@pytest.mark.parametrize(
    ("ours", "held", "editions"),
    [
        ((0, 100), (900, 1000), ("server",)),
        ((900, 1000), (0, 100), ("server",)),
        ((0, 100), (100, 200), ()),
        ((100, 200), (0, 100), ()),
        ((100, 200), (900, 1000), ()),
        ((0, 100), (50, 200), ("documents", "server")),
        ((100, 200), (100, 101), ("documents", "server")),
    ],
)
def test_ranges_at_both_ends_of_the_line_clash_in_the_server(
    ours: tuple[int, int], held: tuple[int, int], editions: tuple[str, ...]
) -> None:
    """On its ring they are neighbours; elsewhere ranges clash that have a token in common."""
    metadata: Any = SimpleNamespace(ring=SimpleNamespace(space=SimpleNamespace(low=0, high=1000)))
    clash = tuple(
        edition
        for edition in ("documents", "server")
        if _clash(metadata, Range(*ours), (Range(*held),), ProtocolSwitches(edition))
    )
    assert clash == editions


@pytest.mark.parametrize(
    ("line", "edition", "forced"),
    [
        ("assassinate C", "server", True),
        ("assassinate C", "documents", False),
        ("removenode C", "server", False),
        ("removenode C --force", "server", True),
        ("removenode C --force", "documents", True),
    ],
)
def test_what_is_begun_whatever_remains(line: str, edition: Edition, forced: bool) -> None:
    """By an option; the server assassinates so without one."""
    assert ProtocolSwitches(edition).forces(parse_operation(line)) is forced


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        *(("bootstrap", "JOIN"), ("move", "MOVE"), ("replace", "REPLACE")),
        *(("decommission", "LEAVE"), ("removenode", "LEAVE")),
    ],
)
def test_steps_have_the_names_of_the_published_log(kind: Any, word: str) -> None:
    """Of either edition; a removal is a leave there, and what is undone has one name."""
    for begins, steps in {
        "PREPARE": ("split", "prepare"),
        "START": ("add-writes", "start"),
        "MID": ("switch-reads", "mid"),
        "FINISH": ("drop-writes", "merge", "finish"),
    }.items():
        assert {kind_of(kind, step) for step in steps} == {f"{begins}_{word}"}
    undone = ("cancel", "cancel-reads", "cancel-writes")
    assert {kind_of(kind, step) for step in undone} == {"CANCEL_SEQUENCE"}
    assert kind_of("assassinate", "assassinate") == "ASSASSINATE"


@pytest.mark.parametrize(
    ("operation", "states"),
    [
        ("bootstrap X --tokens 150", ["REGISTERED", "BOOTSTRAPPING", "JOINED"]),
        ("replace C X", ["REGISTERED", "BOOT_REPLACING", "JOINED"]),
        ("decommission C", ["JOINED", "LEAVING", "LEFT"]),
        ("removenode C", ["JOINED", "LEAVING", "LEFT"]),
        ("move C --tokens 350", ["JOINED", "MOVING", "JOINED"]),
    ],
)
def test_how_the_directory_has_the_node_of_an_operation(operation: str, states: list[str]) -> None:
    """From before it begins to its end; whom a newcomer replaces has left by then."""
    timeline = played_out(Timeline(build("tcm", {"operations": [operation]})))
    m: Any = timeline.model
    node = "X" if "X" in operation else "C"
    moments = [timeline.moments[at].state.tcm.events for at in timeline.path()]
    listed = [directory(m.tcm.cluster, m.tcm.snapshot(each).metadata) for each in moments]
    assert [state for state, _ in groupby(each[node].state for each in listed)] == states
    if operation.startswith("replace"):
        assert (listed[0]["C"].state, listed[-1]["C"].state) == ("JOINED", "LEFT")


def test_what_is_undone_in_two_events_is_under_way_between_them() -> None:
    """Reads are back, so it stays a newcomer, with its tokens, until writes are."""
    timeline = open_file(file_named("tcm/cancel-after-switch"))
    m: Any = timeline.model
    states = (timeline.moments[at].state for at in timeline.path())
    sequences = (m.tcm.snapshot(s.tcm.events).metadata.sequences for s in states)
    [undone] = {under_way(each).state for found in sequences for each in found if each.undoing}
    assert undone == "BOOTSTRAPPING"


def test_tables_of_the_log_and_of_placements_can_be_read() -> None:
    """What every server of such a cluster has, and who holds what."""
    titles = [table.title for table in TcmServers().tables]
    assert {"system_views.cluster_metadata_log", "system_views.data_placements"} <= {*titles}
