"""What group 0 refuses, each with its reason, and that it is done once the reason is gone."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.group0.rules.schema import SchemaState, Statement, merged
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
