"""What group 0 refuses, each with its reason, and that it is done once the reason is gone."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.protocols.group0.discovery import Peers, obstacle, seeds_of
from kit.protocols.group0.facts import nodes
from kit.protocols.group0.raft import (
    CommitCommand,
    CrashNode,
    InstallSnapshot,
    LoseCommand,
    PassHour,
    Reconfigure,
    Replicate,
    StepDown,
)
from kit.protocols.group0.rules.commands import Command, Indexes
from kit.protocols.group0.rules.schema import SchemaState, Statement, merged
from kit.protocols.group0.state import VALID as IS_VALID
from kit.protocols.group0.state import FaultsLeft, HeldGuard
from tests.protocols.group0.driving import FIRST_SIX, Driven

TABLE = ("create keyspace ks at A", "create table ks.t at A")
WRITE = "write ks.t at A to B"
ALTER, CREATE = "alter table ks.t add c at A", ("create table ks.t at B",)
SERVED: dict[str, Any] = {"operations": (), "earlier": TABLE, "requests": (WRITE,), "crashes": 1}
LAGS = (ALTER, *(f"{word} A" for word in FIRST_SIX), "commit 7 by A C", "apply A", WRITE)
NO_LEADER = "A, the leader, is down: another leader must be elected"
LED: dict[str, Any] = {"operations": CREATE, "elections": 1, "crashes": 1}
VALID = (*CREATE, *(f"{word} B" for word in FIRST_SIX[:-1]), "crash A")
REFUSED: tuple[tuple[dict[str, Any], tuple[str, ...], str, str, tuple[str, ...]], ...] = (
    (SERVED, ("crash A",), WRITE, "A is down", ("restart A",)),
    (SERVED, (WRITE, "crash B"), f"serve: {WRITE}", "B is down", ("restart B",)),
    ({**SERVED, "operations": (ALTER,)}, (*LAGS, "crash B"), f"fetch: {WRITE}", "B is down",
     ("restart B",)),
    (LED, VALID, "submit B", NO_LEADER, ("elect B",)),
    (LED, (*VALID[:-1], "submit B", "crash A"), "retry B", NO_LEADER, ("elect B",)),
    (LED, (*VALID[:-1], "submit B"), "retry B",
     "the command is on its way, and the same leader still leads", ("elect C",)),
    ({**SERVED, "earlier": TABLE[:1]}, (), WRITE, "A does not know table ks.t", ()),
)  # fmt: skip


@pytest.mark.parametrize(("given", "steps", "verb", "why", "mends"), REFUSED)
def test_it_is_refused_until_the_reason_is_gone(
    given: dict[str, Any], steps: tuple[str, ...], verb: str, why: str, mends: tuple[str, ...]
) -> None:
    """Who is down sends, fetches and serves nothing; an unknown table is asked of nobody; without
    a leader no command is sent, and none again while the first may arrive.
    """
    driven = Driven(**given).do(*steps)
    assert driven.refused(verb) == why
    if mends:
        driven.do(*mends, verb)


def test_nothing_is_asked_of_a_leader_that_is_down() -> None:
    """Nobody catches up, submits or commits until another one is elected, or the leader is back."""
    driven = Driven(elections=1, crashes=1, operations=CREATE).do(CREATE[0], "crash A")
    assert driven.refused("barrier B") == NO_LEADER
    assert driven.model.suggest(driven.state) == driven.model.find(driven.state, "elect B")[0]
    driven.do("elect B", "barrier B", "read B", "make-id B", "validate B", "submit B")
    steps = (CREATE[0], "barrier B", "read B", "make-id B", "crash A")
    without = Driven(crashes=1, elections=0, operations=CREATE).do(*steps)
    assert without.model.suggest(without.state) == without.model.find(without.state, "restart A")[0]


def test_without_a_majority_nobody_is_elected() -> None:
    """Three of five voters are down; with one of them back somebody is."""
    driven = Driven(nodes=5, elections=1, crashes=3, operations=())
    driven.do("crash A", "crash B", "crash C")
    assert driven.refused("elect D") == "no quorum: more than half of the voters must be up"
    assert driven.model.find(driven.state, "elect D")[1].missing == ("A", "B", "C")
    driven.do("restart B", "elect D")


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_how_many_nodes_may_discover_one_another(size: int) -> None:
    """A node alone founds its group; of none there is nothing to show."""
    if not size:
        with pytest.raises(BadInput, match=r"^seeds: .*contact points for 1 to"):
            seeds_of(())
    else:
        assert seeds_of(("",) * size) == dict.fromkeys("ABC"[:size], ())
        assert seeds_of(("A A",) * size) == dict.fromkeys("ABC"[:size], ("A",))


def test_one_asks_again_whom_no_request_is_on_its_way_to() -> None:
    """While requests to both are under way A waits; with one of them lost it asks again."""
    model: Any = build("discovery", {"seeds": ("B C", "", ""), "losses": 1})
    start = model.start()
    waits = "requests from A, or answers to them, are on their way"
    assert model.find(start, "ask-again A")[1].reason == waits
    for lost in "BC":
        [drop] = [a for a in model.actions(start) if model.verb(a).startswith(f"drop A>{lost}")]
        assert model.find(model.act(start, drop), "ask-again A")[1] is None


def test_who_builds_a_command_applies_nothing() -> None:
    """From what it has read until it has submitted; before and afterwards it goes on."""
    other = "create table ks.u at B"
    driven = Driven(operations=(ALTER, other), earlier=TABLE).do(other, "barrier B")
    driven.submitted(ALTER).do("commit 7 by A B", "replicate B")
    assert driven.model.find(driven.state, "apply B")[1] is None
    for step in ("read B", "make-id B", "validate B"):
        driven.do(step)
        assert driven.refused("apply B") == "B is building a command on the state that it has"
    driven.do("submit B", "apply B")


def test_who_builds_a_command_fetches_no_schema() -> None:
    """B has looked at its state: until it has submitted, no request may change that."""
    other, fetch = "create table ks.u at B", f"fetch: {WRITE}"
    driven = Driven(earlier=TABLE, requests=(WRITE,), operations=(other, ALTER))
    driven.do(other, "barrier B", "read B", *LAGS)
    for step in ("make-id B", "validate B", "submit B"):
        assert driven.refused(fetch) == "B is building a command on its state"
        driven.do(step)
    driven.do(fetch)


def test_what_is_not_the_very_same_command_gets_an_id_that_was_never_given() -> None:
    """Without the safeguard a lost command is submitted again under a new id of its node."""
    for off, ids in (((), (4,)), (("same-id-on-retry",), (7,))):
        driven = Driven(off, operations=("create table ks.t at A",), losses=1)
        driven.submitted("create table ks.t at A")
        assert [command.new for command in driven.state.in_flight] == [4]
        driven.do("lose 4", "retry A")
        assert tuple(command.new for command in driven.state.in_flight) == ids


@pytest.mark.parametrize("statement", [Statement("create", "ks"), Statement("create", "ks", "t")])
def test_an_older_statement_that_comes_late_changes_nothing_but_gaps(statement: Statement) -> None:
    """The newer definition stays; of a table that there is not no column is added."""
    whole = merged(SchemaState(), Statement("create", "ks"), 5)
    [keyspace] = whole.keyspaces
    assert keyspace.replication == 1
    newer = merged(whole, statement, 6) if statement.table else whole
    assert merged(newer, statement, 3) == newer
    assert merged(newer, statement, 9) != newer
    assert merged(newer, Statement("alter", "ks", "u", "c"), 6).tables == newer.tables


def test_what_counts_as_a_milestone() -> None:
    """A command is committed, somebody leads, a client is answered; nothing else."""
    table = "create table ks.t at A"
    driven = Driven(operations=(table,), elections=1).submitted(table)
    steps = ("commit 4 by A B", "apply A", "look-up A", "elect B")
    for step, told in zip(steps, ("index 2", None, "answered", "term 2"), strict=True):
        before, action = driven.state, driven.model.find(driven.state, step)[0]
        assert driven.model.milestone(before, action, driven.do(step).state) == told


@pytest.mark.parametrize(
    ("steps", "leading", "deposed"),
    [
        ((), "A", ""),
        (("crash A",), "", ""),
        (("crash B",), "A", ""),
        (("crash A", "restart A"), "A", ""),
        (("elect B",), "A B", "A"),
        (("elect B", "crash A"), "B", ""),
        (("elect B", "crash B"), "A", "A"),
        (("crash A", "elect B"), "B", ""),
        (("crash A", "elect B", "restart A"), "B", ""),
    ],
)
def test_only_who_is_up_takes_itself_for_the_leader(
    steps: tuple[str, ...], leading: str, deposed: str
) -> None:
    """The newest leader, and whoever led before and does not know of it; not who is down."""
    driven = Driven(elections=1, crashes=1).do(*steps)
    rows = nodes(driven.model, driven.state)
    assert [row.name for row in rows if row.leads] == leading.split()
    assert [row.name for row in rows if row.deposed] == deposed.split()


def test_who_is_elected_leads_the_next_term() -> None:
    """The old leader, which is up, still takes itself for one; an election is spent each time."""
    driven = Driven(elections=2).do("elect B")
    state = driven.state
    assert (state.leader, state.term, state.deposed, state.left.elections) == (1, 2, 0b001, 1)
    after = driven.do("elect C").state
    assert (after.leader, after.term, after.deposed, after.left.elections) == (2, 3, 0b011, 0)
    again = Driven(elections=2).do("elect B", "elect A").state
    assert (again.leader, again.deposed) == (0, 0b010)
    down = Driven(elections=1, crashes=1).do("crash A", "elect B").state
    assert (down.leader, down.deposed) == (1, 0)


NAMES = ("A", "B", "C")
MASKS = tuple(product((False, True), repeat=2))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("group", "joining"), [("", ""), ("B", ""), ("", "B"), ("B", "B")])
def test_who_may_found_a_group(name: str, group: str, joining: str) -> None:
    """Once, with everybody's answer, and with the lowest Raft id of those that it looks at."""
    others = [other for other in NAMES if other != name]
    for known, answers in product(MASKS, MASKS):
        knows = [other for other, is_known in zip(others, known, strict=True) if is_known]
        heard = [o for o, has in zip(others, answers, strict=True) if has and o in knows]
        tables = (tuple(sorted({name, *names})) for names in (knows, heard))
        peers = Peers(name, *tables, group, joining)
        lacking = ", ".join(sorted({*knows} - {*heard}))
        for closure in (True, False):
            lowest = min(peers.known if closure else peers.answered)
            expected: str | None = None
            if group or joining:
                expected = f"{name} already has a group"
            elif closure and lacking:
                expected = f"{name} is waiting for an answer from {lacking}"
            elif lowest != name:
                expected = f"{lowest} has a lower Raft id than {name}"
            assert obstacle(peers, closure=closure) == expected


ALL, SOME, NONE = Indexes(2, 2, 2), Indexes(1, 1, 1), Indexes()
C_LACKS_ALL, C_LEADS_ON = {"indexes": (ALL, ALL, NONE)}, {"deposed": 0b101}
B_DOWN, B_IS_DOWN = {"up": 0b101}, "B, the leader, is down"
C_LOOKS = {"guards": (None, None, HeldGuard(0, step=IS_VALID))}
FIVE = {"nodes": 5, "voters": 0b00111}
LOST = Command(Statement("create", "ks", "u"), 4, 5, "A")
SPENT = {"faults": 1, "left": FaultsLeft(0, 0, 0, 0), "in_flight": (LOST,)}
FAULTS = ("losses", "crashes", "hours")


def group(nodes: int = 3, faults: int = 0, **more: Any) -> tuple[Any, Any]:
    """Servers with two commands, of which the leader, B, keeps the last; a state of them."""
    given: dict[str, Any] = {"operations": ("create table ks.u at A",), "earlier": TABLE, "kept": 1}
    given |= {"nodes": nodes, "edition": "server", **dict.fromkeys(FAULTS, faults)}
    model: Any = build("group0", given)
    return model, model.start().but(leader=1, **more)


@pytest.mark.parametrize(
    ("state", "action", "why", "missing"),
    [
        ({**B_DOWN, "indexes": (SOME, ALL, ALL)}, Replicate("A"), B_IS_DOWN, ("B",)),
        (
            C_LACKS_ALL,
            Replicate("C"),
            "B, the leader, has dropped entries up to 1: the node needs a snapshot first",
            ("C",),
        ),
        ({**C_LACKS_ALL, **B_DOWN}, InstallSnapshot("C"), B_IS_DOWN, ("B",)),
        (
            {**C_LACKS_ALL, **C_LOOKS},
            InstallSnapshot("C"),
            "C is building a command on the state that it has",
            ("C",),
        ),
        (
            {**C_LEADS_ON, **B_DOWN},
            StepDown("C"),
            "the leader, which knows the new term, is down",
            (),
        ),
        (
            {**FIVE, "up": 0b11101},
            Reconfigure(tuple("ABCDE")),
            f"{B_IS_DOWN}: another leader must be elected",
            ("B",),
        ),
        (
            {**FIVE, "up": 0b11011, "indexes": (ALL, ALL, ALL, SOME, SOME)},
            Reconfigure(tuple("ABCDE")),
            "a majority of the new voters must be up and store the log",
            ("C", "D", "E"),
        ),
        (SPENT, LoseCommand(5), "the budget of losses is spent", ()),
        (SPENT, CrashNode("A"), "the budget of crashes is spent", ()),
        (SPENT, PassHour(), "the budget of hours is spent", ()),
    ],
)
def test_what_the_log_waits_for(
    state: dict[str, Any], action: Any, why: str, missing: tuple[str, ...]
) -> None:
    """A leader that is up and has what is asked for, a node that looks at nothing, a fault left."""
    model, before = group(**state)
    refusal = model.refusal(before, action)
    assert (refusal.reason, refusal.missing) == (why, missing)


@pytest.mark.parametrize(
    ("state", "action", "after"),
    [
        ({"indexes": (SOME, ALL, SOME)}, Replicate("C"),
         {"indexes": (SOME, ALL, Indexes(2, 2, 1))}),
        (C_LACKS_ALL, InstallSnapshot("C"), {"indexes": (ALL, ALL, SOME)}),
        (C_LEADS_ON, StepDown("C"), {"deposed": 0b001}),
        (FIVE, Reconfigure(tuple("ABCDE")), {"voters": 0b11111}),
        ({"faults": 1, "guards": (HeldGuard(0), None, None)}, CrashNode("A"),
         {"up": 0b110, "guards": (None,) * 3, "answers": ("no answer",)}),
        ({"faults": 1, **C_LOOKS}, CrashNode("A"), {"up": 0b110, "answers": ("waiting",)}),
    ],
)  # fmt: skip
def test_what_happens_to_the_log(state: dict[str, Any], action: Any, after: dict[str, Any]) -> None:
    """A node gets the log, or the state in its place; a leader hears of another one; voters are
    chosen; who asked a node that crashes gets no answer.
    """
    model, before = group(**state)
    reached = model.act(before, action)
    assert {name: getattr(reached, name) for name in after} == after


def test_a_command_that_is_lost_or_committed_is_on_its_way_no_more() -> None:
    """The others are; what is told names the change, and who stores it."""
    model, before = group(faults=1)
    statement = model.clients[0].statement
    before = before.but(in_flight=tuple(Command(statement, 4, new, "A") for new in (7, 8, 9)))
    says = {
        LoseCommand(8): "“create table ks.u” by A is lost on the way; no node is told.",
        CommitCommand(8, ("A", "B")): (
            "A and B store “create table ks.u” by A, so it is committed at index 3."
        ),
    }
    for action, said in says.items():
        after = model.act(before, action)
        assert [each.new for each in after.in_flight] == [7, 9]
        assert model.describe(before, action, after) == said


@pytest.mark.parametrize(
    ("voters", "said"), [(("B",), "B"), (("A", "B"), "A and B"), (("A", "B", "C"), "A, B and C")]
)
def test_voters_are_listed(voters: tuple[str, ...], said: str) -> None:
    """As one says it."""
    model, before = group()
    action = Reconfigure(voters)
    assert model.describe(before, action, before) == f"The voters are now {said}."


@pytest.mark.parametrize(
    ("indexes", "said"),
    [
        ((ALL, ALL, SOME), None),
        ((ALL, SOME, SOME), "only A stores index 2"),
        ((SOME, SOME, SOME), "only no node stores index 2"),
    ],
)
def test_what_is_committed_a_majority_stores(
    indexes: tuple[Indexes, ...], said: str | None
) -> None:
    """The whole log, up to its last index."""
    model, state = group(indexes=indexes)
    assert model.majority(state) == said
