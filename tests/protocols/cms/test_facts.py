"""What rows say of a moment of the metadata service, case by case."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.console.drill import DrillMoment
from kit.errors import Refused
from kit.model.flows import address_of
from kit.model.log import AtomicLog, LogState
from kit.model.log import log_of as chunked
from kit.model.registry import build, entry_of
from kit.model.timeline import Moment
from kit.protocols.cms.facts import commit as facts
from kit.protocols.cms.facts import members as facts_of_members
from kit.protocols.cms.facts import schema as facts_of_schema
from kit.protocols.cms.facts.tools import (
    BY_DC,
    ENDED,
    UNPREPARED,
    CmsServers,
    CommitServers,
    LoggedEvent,
    MigratingServers,
    OrderedServers,
    of_members,
    with_lacks,
)
from kit.protocols.cms.facts.zooming import agreed_by
from kit.protocols.cms.refining import grown
from kit.protocols.cms.rules.designs import EntryTimes, usable
from kit.protocols.cms.rules.log import Entry, NodeLog, Snapshot
from kit.protocols.cms.rules.members import Members
from kit.protocols.cms.schema import JOINER
from kit.protocols.cms.submitting import Answer, Handling
from tests.views.frames import after, go_on

ENTRY = Entry(1, "drop table t", "r1")


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (Handling(0), "validates"),
        (Handling(0, 1, 0b011), "1A: 2 of 3 promised"),
        (Handling(0, 1, 0b011, value=ENTRY), "1A: 0 of 3 accepted"),
        (Handling(0, 1, 0b011, value=ENTRY, accepts=0b111), "1A: 3 of 3 accepted"),
        (Handling(1, 1, 0b011, value=ENTRY), "1A for r1: 0 of 3 accepted"),
        (Handling(0, 1, answer=Answer("committed", 1)), "committed as epoch 1"),
    ],
)
def test_how_far_a_member_is(work: Handling, said: str) -> None:
    """It validates, asks for promises, then for acceptance, and has an answer in the end."""
    model: Any = build("commit")
    assert facts.work_of(model, work) == said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer("committed", 2), "r1 in its log: committed as epoch 2."),
        (Answer("rejected", 2, "x"), "that “e” no longer makes sense: {} x (epoch 2)."),
        (Answer("rejected", 0, "x"), "that “e” no longer makes sense: {} x."),
    ],
)
def test_what_validation_comes_to(answer: Answer, said: str) -> None:
    """An epoch that stands in the way is named; without one it never was there."""
    ending = answer.ending.format(node="A", id="r1", event="e")
    assert ending == f"A finds {said.format('rejected because')}"


def test_who_knows_an_entry_and_who_holds_it_back() -> None:
    """A node that has an entry above a gap holds it back, and does not know it yet."""
    race = {"nodes": 3, "members": 1, "events": ("drop table t at A", "alter table u at A")}
    timeline = after("commit", race)
    while timeline.forward() is not None:
        pass
    model: Any = timeline.model
    whole = timeline.state.nodes[0].log
    gap = replace(whole, entries=(), held=whole.entries[1:])
    pairs = zip(timeline.state.nodes, (whole, whole, gap), strict=True)
    nodes = tuple(each.but(log=log) for each, log in pairs)
    rows = facts.log(model, timeline.state.but(nodes=nodes))
    assert [(row.epoch, row.known, row.held) for row in rows] == [
        (1, ("A", "B"), ()),
        (2, ("A", "B"), ("C",)),
    ]


@pytest.mark.parametrize(
    ("held", "behind"),
    [((), ""), (("C",), "; held back by C"), (("C", "D"), "; held back by C, D")],
)
def test_an_entry_in_words(held: tuple[str, ...], behind: str) -> None:
    """Who knows it; that somebody holds it back is said only where somebody does."""
    row = facts.EntryRow(2, "drop table t", "r1", ("A", "B"), held)
    assert facts.log_line(row) == f"epoch 2: drop table t (r1), known to A, B{behind}"


def test_when_each_entry_was_begun_committed_and_applied() -> None:
    """By the numbers of the steps; work on an entry begins where a member takes its request."""
    two = {"backend": "atomic", "events": ("drop table t at A", "drop table u at A")}
    first = ("submit r1 A", "append A", "answer A")
    timeline = after("commit", two, *first, "submit r2 A", "append A", "ask A for C")
    model: Any = timeline.model
    assert facts.entry_times(model, timeline.passed()) == (
        EntryTimes(epoch=1, begun=1, committed=2, applied=(2, None, 6, None)),
        EntryTimes(epoch=2, begun=4, committed=5, applied=(5, None, 6, None)),
    )


@pytest.mark.parametrize(
    ("design", "applied", "uses"),
    [
        ("as designed", (9, 5, None), (9, 5, None)),
        ("in two steps", (9, 5, None), (12, 8, None)),  # three more: from 1 to 4, and again
        ("hidden epochs", (9, 5, 7), (9, 7, 7)),  # two of three have it from 7 on
        ("hidden epochs", (5, 9, 7), (7, 9, 7)),
        ("hidden epochs", (5, 9, None), (9, 9, None)),
        ("hidden epochs", (5, None, None), (None, None, None)),
        ("hidden epochs", (5, 6, None, None), (None, None, None, None)),  # half is no majority
        ("hidden epochs", (5, 6, 4, None), (6, 6, 6, None)),
    ],
)
def test_from_when_an_epoch_may_be_used(
    design: str, applied: tuple[int | None, ...], uses: tuple[int | None, ...]
) -> None:
    """In each design, of an entry that was begun in step 1 and committed in step 4."""
    assert usable(EntryTimes(1, 1, 4, applied), design) == uses


@pytest.mark.parametrize(
    ("readers", "writers", "said"),
    [(0b011, 0b011, "A, B"), (0b001, 0b101, "A + C"), (0, 0, "nobody"), (0, 0b10, "nobody + B")],
)
def test_members_in_words(readers: int, writers: int, said: str) -> None:
    """Who is read from, then who is only written to."""
    model: Any = build("cms")
    members = Members(readers=readers, writers=writers)
    assert facts_of_members.text(model, members) == said


@pytest.mark.parametrize(
    ("readers", "writers", "read", "written"),
    [
        (0b011, 0b011, "A, B", "A, B"),
        (0b001, 0b101, "A", "A, C"),
        (0, 0b10, "nobody", "B"),
        (0, 0, "nobody", "nobody"),
    ],
)
def test_all_members_own_the_one_range(readers: int, writers: int, read: str, written: str) -> None:
    """By the newest state that a node has; a snapshot of an operator may be without members."""
    model: Any = build("cms")
    made = Snapshot(7, Members(cluster=0b111, readers=readers, writers=writers))
    state = model.start().at(2, log=NodeLog(snapshots=(made,)))
    assert facts_of_members.placement(model, state) == (("(MIN, MAX]", read, written),)


def test_who_is_down_with_a_corrupt_log_does_not_come_back_for_a_quorum() -> None:
    """Two of three members: only then does nothing help but a state that is forced."""
    model: Any = build("cms", {"members": 3})
    start = model.start()
    for corrupt, forced in ((0b000, False), (0b010, False), (0b110, True)):
        nodes = tuple(
            each.but(health="down" if at else "up", corrupt=bool(corrupt >> at & 1))
            for at, each in enumerate(start.nodes)
        )
        assert model.needs_override(start.but(nodes=nodes)) is forced


def test_nobody_misses_writes_before_joining() -> None:
    """Of writes that were acknowledged a newcomer lacks none until it is there."""
    model: Any = build("schema", {"joins": 1})
    start = model.start()
    assert start.nodes[-1].name == JOINER
    lacks = [facts_of_schema.known(model, start.but(written=written)) for written in ((), (0, 0))]
    assert [rows[-1].missing for rows in lacks] == [0, 0]


def test_which_writes_a_node_holds() -> None:
    """By their numbers, of those that there were."""
    model: Any = build("schema", {"joins": 1})
    start = model.start()
    nodes = (start.nodes[0].but(data=0b10), start.nodes[1].but(data=0b01), *start.nodes[2:])
    rows = facts_of_schema.known(model, start.but(nodes=nodes, written=(0, 0)))
    assert [row.holds for row in rows[:2]] == [(2,), (1,)]


E1, E2, E3 = (Entry(epoch, f"drop table t{epoch}", f"r{epoch}") for epoch in (1, 2, 3))
APPLY = AtomicLog.apply_next("A")


@pytest.mark.parametrize(
    ("was", "now", "steps"),
    [
        (NodeLog(), NodeLog(), []),
        (NodeLog(), NodeLog((E1,)), [APPLY]),
        (NodeLog(), NodeLog(held=(E2,)), [AtomicLog.deliver("A", 1)]),
        (NodeLog(held=(E2,)), NodeLog(held=(E2, E3)), [AtomicLog.deliver("A", 2)]),
        (NodeLog(held=(E2,)), NodeLog((E1, E2)), [APPLY]),
        (NodeLog((E1,)), NodeLog((E1, E2, E3)), [APPLY, APPLY]),
        (NodeLog(held=(E3,)), NodeLog((E1, E2, E3)), [APPLY, APPLY]),
    ],
)
def test_what_a_node_does_with_new_entries(was: NodeLog, now: NodeLog, steps: list[Any]) -> None:
    """It applies what comes next, holds what comes above a gap, and what it held then follows."""
    assert [*grown("A", was, now)] == steps


def test_what_a_node_has_on_its_disk() -> None:
    """Entries behind the cut, what is above a gap, and how many to replay after a snapshot."""
    model: Any = build("commit")
    start = model.start()
    taken = tuple(Snapshot(epoch, None) for epoch in (1, 2))
    log = NodeLog((E1, E2, E3), taken, (replace(E3, epoch=5),), 1)
    rows = facts.stores(model, start.but(nodes=(start.nodes[0].but(log=log), *start.nodes[1:])))
    assert (rows[0].epoch, rows[0].replays, rows[0].snapshots) == (3, 1, (1, 2))
    assert (rows[0].entries, rows[0].archive) == (("2 r2", "3 r3"), ("1 r1",))
    assert rows[0].held == ("5 r3",)
    assert (rows[1].epoch, rows[1].replays, rows[1].snapshots) == (0, 0, ())


@pytest.mark.parametrize(
    ("health", "corrupt", "said"),
    [
        ("up", False, "up"),
        ("up", True, "corrupt"),
        ("down", True, "down"),
        ("lost", True, "lost"),
        ("down", False, "down"),
    ],
)
def test_how_a_node_is(health: str, corrupt: bool, said: str) -> None:
    """That its state is corrupt matters while it is up."""
    model: Any = build("cms")
    s = model.start().at(1, health=health, corrupt=corrupt)
    assert facts_of_members.nodes(model, s)[1].status == said


def test_which_step_is_zoomed_into() -> None:
    """One that commits an epoch by Paxos; its round comes after those of the epochs before."""
    events = {"events": ("drop table t at A", "drop table u at A")}
    timeline = after("commit", events, "submit r1 A", "ballot A", "prepare A B")
    model: Any = timeline.model
    assert agreed_by(model, timeline.passed()) is None
    go_on(timeline, "propose A", "accept A B", "learn A")
    run = agreed_by(model, timeline.passed())
    assert run is not None
    assert run.parameters["epochs"] == 1
    assert run.parameters["values"] == ("drop table t (r1) at A",)
    go_on(timeline, "answer A")
    assert agreed_by(model, timeline.passed()) is None
    by_counter = after("commit", {**events, "backend": "atomic"}, "submit r1 A", "append A")
    counting: Any = by_counter.model
    assert agreed_by(counting, by_counter.passed()) is None


# -- what servers answer ---------------------------------------------------------------------------

TWO_DCS = {"nodes": 4, "dcs": 2, "members": 2, "edition": "server"}


def met(model: Any, s: Any, place: str = "A") -> DrillMoment:
    """What a command meets on a machine, in a state."""
    return DrillMoment(model, (Moment(0, 0, None, s, ""),), place)


@pytest.mark.parametrize(
    ("event", "dcs"),
    [
        ("reconfigure 2", "dc1=2"),
        ("reconfigure dc1:1,dc2:2", "dc1=1, dc2=2"),
        ("reconfigure dc2:2 B D", "dc2=2"),
    ],
)
def test_what_an_entry_says_of_sizes(event: str, dcs: str) -> None:
    """One number is for the first datacenter; the members by name are no part of what is said."""
    model: Any = build("cms", TWO_DCS)
    logged = of_members(model, Entry(2, event, "A"), 0b11)
    assert f"MetaStrategy, {dcs}}}" in logged.more["replicationParams"]
    assert logged.event == " ".join(event.split()[:2])


def test_a_size_that_was_asked_for_already() -> None:
    """In the words of the command, be it one size or one for each datacenter."""
    model: Any = build("cms", TWO_DCS)
    now, servers = met(model, model.start()), CmsServers()
    assert servers.idle(now, {"sizes": "dc1:1,dc2:1"}, BY_DC) == "this size was already asked for"
    assert servers.idle(now, {"sizes": "dc1:1,dc2:2"}, BY_DC) != "this size was already asked for"
    nobody = met(model, model.start().at(0, health="down"))
    assert servers.idle(nobody, {"sizes": "dc1:1,dc2:1"}, BY_DC) == "no quorum of the CMS answers"


def test_nothing_changes_where_nobody_can_be_chosen() -> None:
    """Of the datacenter that is to have a member no node is left."""
    model: Any = build("cms", TWO_DCS)
    made = Snapshot(3, Members(0b101, 1, 1, by_dc="dc2:1"))
    now = met(model, model.start().at(0, log=NodeLog(snapshots=(made,))))
    assert CmsServers().change_status(now, {}).lines == ("No active reconfiguration",)


@pytest.mark.parametrize(("edition", "needs"), [("server", True), ("documents", False)])
def test_a_service_that_is_too_small_says_so(edition: str, needs: bool) -> None:
    """Two of the three members that were asked for; by the documents a cluster of two wants two."""
    given = {"nodes": 3, "members": 3, "edition": edition, "losses": 1, "crashes": 0, "longest": 8}
    sizes = {"up_to": ["2"], "sizes": ["2", "3"]}
    timeline = after("cms", given | sizes, "lose C", "assassinate A C A B")
    while (action := timeline.model.suggest(timeline.state)) is not None:
        timeline.do(action)
    now = met(timeline.model, timeline.state)
    assert CmsServers().service(now, 0).unsettled is needs


def test_entries_are_dumped_by_epoch() -> None:
    """Of a log to which an operator's snapshot came behind its entries."""
    model: Any = build("cms")
    start = model.start()
    log = replace(start.nodes[0].log, snapshots=(Snapshot(2, model.known(start, 0)),))
    logged = CmsServers().logged(met(model, start.at(0, log=log)))
    assert [(each.epoch, each.event) for each in logged] == [
        (1, "initialize A"),
        (2, "a hand-made snapshot"),
    ]


def test_the_tools_of_a_node_that_has_left_need_its_server() -> None:
    """C was down when it was removed, and is down still; D left while it was up."""
    given = {"nodes": 4, "edition": "server", "crashes": 1, "orders": 2, "longest": 8}
    timeline = after("cms", given, "crash C", "assassinate A C A", "decommission A D A")
    go_on(timeline, "depart A D A")
    way = timeline.path()
    for place, answers in (("C", False), ("D", True)):
        now = DrillMoment(timeline.model, tuple(timeline.moments[at] for at in way), place)
        if answers:
            assert CmsServers().answering(now, "nodetool") == 3
            continue
        with pytest.raises(Refused):
            CmsServers().answering(now, "nodetool")


FOUR = {"nodes": 4, "newcomers": 1, "edition": "server"}
STEPS = "ADVANCE_CMS_RECONFIGURATION"


def log_of(*events: str) -> NodeLog:
    """A log of these events."""
    return NodeLog(tuple(Entry(epoch, event, "A") for epoch, event in enumerate(events, 1)))


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (("start add B", "decommission B"), [(STEPS, (UNPREPARED,)), ("PREPARE_SIMPLE", ())]),
        (("start add B", "decommission C"), [(STEPS, (UNPREPARED,)), ("PREPARE_LEAVE", ())]),
        (
            ("reconfigure 2 A B", "start add B", "finish add B"),
            [("PREPARE_COMPLEX", ()), (STEPS, ()), (STEPS, (ENDED,))],
        ),
        # Once it is cancelled nothing is open that the next step would belong to.
        (
            ("start add B", "cancel", "start add C"),
            [(STEPS, (UNPREPARED,)), ("CANCEL", ()), (STEPS, (UNPREPARED,))],
        ),
        # B is a member instead of A: as many as are wanted, though another one is chosen.
        (
            ("start add B", "finish add B", "removal of A"),
            [(STEPS, (UNPREPARED,)), (STEPS, ()), (STEPS, (ENDED,))],
        ),
    ],
)
def test_what_the_server_has_besides(
    events: tuple[str, ...], said: list[tuple[str, tuple[str, ...]]]
) -> None:
    """An entry before a change, and one behind it; a member that leaves hands over first."""
    model: Any = build("cms", FOUR)
    first, *more = with_lacks(model, model.start(), log_of("initialize A", *events))
    assert (first.kind, first.lacks) == ("INITIALIZE_CMS", ())
    assert [each.lacks for each in more] == [lacks for _, lacks in said]
    assert [each.kind.startswith(kind) for each, (kind, _) in zip(more, said, strict=True)] == [
        True for _ in said
    ]


def test_steps_of_a_change_are_counted_past_other_entries() -> None:
    """What clients change between two steps does not begin the count again."""
    model: Any = build("cms", FOUR)
    log = log_of("initialize A", "start add B", "change", "finish add B")
    rows = [*CmsServers().entries(met(model, model.start().at(0, log=log)))]
    assert [("idx=0" in each[2], "idx=1" in each[2]) for each in rows] == [
        (False, False), (True, False), (False, False), (False, True),
    ]  # fmt: skip


def test_a_node_without_a_log_knows_nobody() -> None:
    """The newcomer lists no node, and no change is open by what it knows."""
    model: Any = build("cms", FOUR)
    state, servers = model.start(), CmsServers()
    service = servers.service(met(model, state, "D"), 3)
    assert (service.epoch, service.members, service.unsettled) == (0, (), False)
    assert servers.listed(met(model, state, "D"), 3) == {}
    joined = servers.listed(met(model, state), 0)
    assert {node: each.state for node, each in joined.items()} == dict.fromkeys(range(3), "JOINED")


BEGUN, DONE = "start add B", "finish add B"


@pytest.mark.parametrize(
    ("events", "roles", "shares"),
    [
        ((), ("member", "not a member"), (None, None)),
        ((BEGUN,), ("member", "written to only"), (None, 1 / 2)),
        (("change", "change", BEGUN), ("member", "written to only"), (None, 1 / 4)),
        ((BEGUN, "change", "change"), ("member", "written to only"), (None, 1 / 2)),
        ((BEGUN, DONE), ("member", "member"), (None, None)),
        ((BEGUN, "cancel"), ("member", "not a member"), (None, None)),
    ],
)
def test_what_part_a_node_has(
    events: tuple[str, ...], roles: tuple[str, ...], shares: tuple[float | None, ...]
) -> None:
    """By the newest log; B has one epoch of those up to where its addition began."""
    model: Any = build("cms", FOUR)
    state = model.start().at(0, log=log_of("initialize A", *events))
    rows = facts_of_members.nodes(model, state)
    assert tuple(row.role for row in rows) == (*roles, "not a member", "not in the cluster")
    assert tuple(row.share for row in rows) == (*shares, None, None)
    assert [row.knows for row in rows[1:]] == ["A", "A", "nobody"]  # D has no log yet


@pytest.mark.parametrize(
    ("events", "readers", "writers"),
    [
        ((), 0b01, 0b01),  # there was none before
        ((BEGUN,), 0b01, 0b01),
        ((BEGUN, DONE), 0b01, 0b11),
        ((BEGUN, DONE, "change", "change"), 0b01, 0b11),  # which change no member
        ((BEGUN, "cancel"), 0b01, 0b11),
        ((BEGUN, DONE, "start add C"), 0b11, 0b11),
    ],
)
def test_the_membership_before(events: tuple[str, ...], readers: int, writers: int) -> None:
    """The last one that differs from the present one."""
    model: Any = build("cms", FOUR)
    state = model.start().at(0, log=log_of("initialize A", *events))
    before = facts_of_members.former(model, state)
    assert (before.readers, before.writers) == (readers, writers)


def test_who_has_stored_an_epoch_and_who_has_applied_it() -> None:
    """B holds an entry above a gap; A took a snapshot, so it has applied what it does not store."""
    model: Any = build("cms", FOUR)
    log = log_of("initialize A", BEGUN, DONE, "change")
    first, second, third, last = log.entries
    start = model.start()
    made = Snapshot(3, model.known(start, 0))
    state = start.at(0, log=NodeLog((last,), (made,))).at(1, log=NodeLog((first,), held=(third,)))
    state = state.at(2, log=NodeLog((first, second, third)))
    rows = facts_of_members.log(model, state)
    assert [(row.epoch, row.event, row.forced, row.applied, row.stored) for row in rows] == [
        (1, "initialize A", False, ("B", "C"), ()),
        (2, BEGUN, False, ("C",), ()),
        (3, DONE, False, ("C",), ("B",)),
        (3, "snapshot", True, ("A",), ()),
        (4, "change", False, ("A",), ()),
    ]


def test_a_state_that_is_forced_may_share_nobody_with_the_one_before() -> None:
    """A alone was a member; then an operator forced B, and C is written to as well."""
    model: Any = build("cms", FOUR)
    made = Snapshot(2, Members(cluster=0b111, readers=0b010, writers=0b110))
    state = model.start().at(0, log=replace(log_of("initialize A"), snapshots=(made,)))
    assert facts_of_members.quorums(model, state) == {"A": {"B C": "! nobody"}}


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ((), "B: up, member, epoch 2, knows A, B"),
        ((4,), "B: up, member, epoch 2, holds 4 above a gap, knows A, B"),
        ((4, 5), "B: up, member, epoch 2, holds 4, 5 above a gap, knows A, B"),
    ],
)
def test_a_node_in_words(held: tuple[int, ...], said: str) -> None:
    """What it holds above a gap, where there is something."""
    parts = {"health": "up", "reads": True, "writes": True, "joined": True, "share": None}
    row = facts_of_members.NodeRow("B", "up", "member", 2, held, "A, B", **parts)  # type: ignore[arg-type]  # one of each
    assert facts_of_members.node_line(row) == said


@pytest.mark.parametrize(
    ("forced", "applied", "stored", "said"),
    [
        (False, ("A",), (), "2 change by r1: applied by A"),
        (False, ("A", "B"), ("C",), "2 change by r1: applied by A, B, stored by C"),
        (False, (), ("B", "C"), "2 change by r1: applied by nobody, stored by B, C"),
        (True, ("A",), (), "2 change by r1: ! forced, applied by A"),
    ],
)
def test_an_epoch_in_words(
    forced: bool, applied: tuple[str, ...], stored: tuple[str, ...], said: str
) -> None:
    """Who has applied it, who stored it only, and whether an operator forced it."""
    row = facts_of_members.EpochRow(2, "change", "r1", forced, applied, stored)
    assert facts_of_members.epoch_line(row) == said


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({}, "D: joining, epoch 2; writes to nobody"),
        ({"owners": ("A", "B")}, "D: joining, epoch 2; writes to A, B"),
        (
            {"owners": ("A",), "joining": ("C", "D")},
            "D: joining, epoch 2; writes to A and C, D, which is joining",
        ),
        ({"members": ("A", "B")}, "D: joining, epoch 2; writes to nobody; its CMS: A, B"),
        ({"missing": 1}, "D: joining, epoch 2; writes to nobody; 1 write missing"),
        ({"missing": 2}, "D: joining, epoch 2; writes to nobody; 2 writes missing"),
    ],
)
def test_what_a_node_knows_in_words(parts: dict[str, Any], said: str) -> None:
    """Only what there is: a list of the CMS, who is joining, what a joiner misses."""
    row = facts_of_schema.KnownRow("D", "joining", "epoch 2", (), (), (), (), 0)
    assert facts_of_schema.said(replace(row, **parts)) == said


def test_what_a_node_has_applied() -> None:
    """Its epoch, if it has one; where changes go by gossip, the version of its own schema."""
    model: Any = build("schema")
    node = model.start().nodes[0]
    assert facts_of_schema.applied(model, node) == "epoch 2"
    assert facts_of_schema.applied(model, node.but(epoch=0)) == "no epoch"
    by_gossip: Any = build("schema", {}, ("S-80",))
    node = by_gossip.start().nodes[0]
    told = {state.name: state.value for state in node.view[0].states}
    assert facts_of_schema.applied(by_gossip, node) == told["SCHEMA"]


def test_whom_gossipinfo_asks() -> None:
    """The first node, unless another is named; one that is down does not answer.

    Each has a view of its own: here, of itself alone.
    """
    model: Any = build("schema")
    start = model.start()
    nodes = tuple(each.but(view=each.view[at : at + 1]) for at, each in enumerate(start.nodes))
    state = start.but(nodes=(*nodes[:2], nodes[2].but(health="down")))
    asked = {
        node: facts_of_schema.OUTPUT["gossipinfo"](model, state, node) for node in ("", *"ABC")
    }
    assert {node: said.partition("\n")[0] for node, said in asked.items()} == {
        "": "/A",
        "A": "/A",
        "B": "/B",
        "C": "it does not answer",
    }
    assert asked[""] == asked["A"]


@pytest.mark.parametrize(
    ("edition", "events", "states"),
    [
        ("documents", ("decommission A",), ("LEAVING", "JOINED", "JOINED")),
        ("documents", ("decommission B",), ("JOINED", "LEAVING", "JOINED")),
        # On the server a member, be it only half added, hands over before that is said.
        ("server", ("decommission A",), ("JOINED", "JOINED", "JOINED")),
        ("server", ("start add B", "decommission B"), ("JOINED", "JOINED", "JOINED")),
        ("server", ("decommission C",), ("JOINED", "JOINED", "LEAVING")),
        ("server", ("decommission C", "left C"), ("JOINED", "JOINED", "LEFT")),
    ],
)
def test_who_is_listed_as_leaving(
    edition: str, events: tuple[str, ...], states: tuple[str, ...]
) -> None:
    """By the log of A."""
    model: Any = build("cms", {**FOUR, "edition": edition})
    now = met(model, model.start().at(0, log=log_of("initialize A", *events)))
    listed = CmsServers().listed(now, 0)
    assert [listed[node].state for node in sorted(listed)] == [*states]


def test_a_snapshot_of_an_entry_is_not_handmade() -> None:
    """Behind it is the entry itself, which stands there once."""
    model: Any = build("cms")
    start, log = model.start(), log_of("initialize A", "change")
    log = replace(log, snapshots=(Snapshot(2, model.known(start, 0)),))
    logged = CmsServers().logged(met(model, start.at(0, log=log)))
    assert [each.event for each in logged] == ["initialize A", "change"]


@pytest.mark.parametrize(
    ("place", "found", "address"), [("A", False, 1), ("A", True, 101), ("B", False, 101)]
)
def test_a_new_address_is_known_to_who_reaches_it(place: str, found: bool, address: int) -> None:
    """B has moved: it knows so itself, and A once both have found each other."""
    model: Any = build("cms", {"nodes": 3})
    state = model.start().at(1, moved=True).at(0, met=0b010 if found else 0)
    hosts = CmsServers().hosts(met(model, state, place))
    assert [host.address for host in hosts] == [*map(address_of, (0, address, 2))]


@pytest.mark.parametrize(
    ("members", "health", "paused", "answering", "can"),
    [
        ("ABC", "up", False, "ABC", True),
        ("ABC", "up", True, "ABC", False),
        ("ABC", "down", False, "AC", True),
        ("AB", "up", False, "AB", True),
        ("AB", "down", False, "A", False),
    ],
)
def test_how_the_cms_is(members: str, health: str, paused: bool, answering: str, can: bool) -> None:
    """Entries need a majority, and no override that is open; of three nodes all are to be members.

    B may be down: it stays a member.
    """
    model: Any = build("cms", {"members": len(members)})
    state = model.start().but(open=paused).at(1, health=health)
    [row] = CmsServers().health(met(model, state), 0)
    assert row == {
        "members": [*members],
        "answering": [*answering],
        "can_commit": can,
        "needs_reconfiguration": members == "AB",
        "commits_paused": paused,
    }


@pytest.mark.parametrize(
    ("begins", "is_new", "log", "lists"),
    [
        ("upgrade", False, 0, False),
        ("upgrade", True, 0, True),
        ("fresh", True, 0, False),
        ("fresh", True, 1, True),
    ],
)
def test_who_has_a_directory(begins: str, is_new: bool, log: int, lists: bool) -> None:
    """A new version has one, of a fresh cluster once there is a log; the old version never."""
    model: Any = build("migration", {"begins": begins})
    state = model.start().at(0, is_new=is_new, log=log)
    assert bool([*MigratingServers().node_rows(met(model, state), 0)]) is lists


def test_what_is_logged_of_nodes() -> None:
    """Who leaves, who comes for whom; an event of a table is of no node that is there."""
    events = ("decommission A", "replace B E", "A: step", "snapshot")
    model: Any = build("commit")
    log = NodeLog(tuple(Entry(at, each, f"r{at}") for at, each in enumerate(events, 1)))
    start = model.start()
    state = start.but(nodes=tuple(each.but(log=log) for each in start.nodes))
    assert [*CommitServers().logged(met(model, state))] == [
        LoggedEvent(1, "FINISH_LEAVE", "decommission A", 1, "r1", node=0),
        LoggedEvent(2, "FINISH_REPLACE", "replace B E", 2, "r2", node=len(model.names), replaced=1),
        LoggedEvent(3, "CUSTOM", "A: step", 3, "r3"),
        LoggedEvent(4, "TRIGGER_SNAPSHOT", "snapshot", 4, "r4"),
    ]


def test_a_schema_by_gossip_has_no_cms() -> None:
    """With the log its first node is the one member."""
    for off in ((), ("ordered",)):
        model: Any = build("schema", off=off)
        now = met(model, model.start())
        if not off:
            assert OrderedServers().service(now, 0).members == (0,)
            continue
        with pytest.raises(Refused, match="without S-80 there is no log and no CMS"):
            OrderedServers().service(now, 0)


@pytest.mark.parametrize("index", [1, 12, 23])
def test_an_entry_may_arrive_as_far_ahead_as_the_log_is_long(index: int) -> None:
    """The coarser log takes it, whatever the finer model's limits are: 24 epochs at most here."""
    refinement = entry_of("cms").refinement
    assert refinement is not None
    coarse = refinement(build("cms", {"longest": 24}).parameters).coarse
    state = LogState(chunked(range(24)), (0, 0, 0), (0, 0, 0))
    assert coarse.act(state, AtomicLog.deliver("A", index)).held == (1 << index, 0, 0)
