"""A command takes effect once, on the state that it was built on; what is refused, and why."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.masks import is_majority
from kit.model.registry import build
from kit.protocols.group0.rules.commands import (
    FIRST_STATE,
    Command,
    Group0Safeguards,
    Indexes,
    StateHistory,
    command_of,
    next_state_id,
    outcome,
    retried,
    takes_effect,
)
from kit.protocols.group0.rules.schema import SchemaState, Statement, merged
from kit.protocols.group0.rules.voters import majorities_with
from tests.protocols.group0.driving import FIRST_SIX, Driven

ON = Group0Safeguards()


ENTRIES = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 9)), max_size=8)


def built(previous: int | None, new: int, forgets: int = FIRST_STATE) -> Command:
    """A command of node A without a change."""
    return Command(None, previous, new, "A", forgets=forgets)


def history_of(commands: Iterable[Command], safeguards: Group0Safeguards) -> StateHistory:
    """The table of a node that has gone through these commands, in order."""
    history = StateHistory()
    for command in commands:
        if takes_effect(history.newest, command, safeguards):
            history = history.recorded(command)
    return history


@given(st.integers(0, 50), st.integers(0, 50), st.integers(2, 5))
def test_a_new_state_id_is_above_the_newest_and_unique_to_its_node(
    newest: int, other: int, places: int
) -> None:
    """And above the node's own last id, by no more than the number of nodes."""
    ids = [next_state_id(newest, given, i, places) for i, given in enumerate((0, other))]
    assert min(ids) > newest
    assert ids[1] > other
    assert ids[0] != ids[1]
    assert ids[0] <= newest + places


@given(ENTRIES)
def test_each_state_was_built_on_the_state_before(entries: list[tuple[int, int]]) -> None:
    """Whatever entries the log has, the history is a chain of states, each there once."""
    commands = [built(previous, previous + more) for previous, more in entries]
    rows = history_of(commands, ON).rows
    by_id = {(command.previous, command.new) for command in commands}
    assert all(pair in by_id for pair in zip((FIRST_STATE, *rows), rows, strict=False))
    assert len(set(rows)) == len(rows)


@given(ENTRIES)
def test_a_command_repeated_in_the_log_is_a_no_op(entries: list[tuple[int, int]]) -> None:
    """Its row is in the history once."""
    commands = [built(previous, previous + more) for previous, more in entries]
    once = history_of(commands, ON)
    for command in commands:
        assert history_of([*commands, command], ON).rows.count(command.new) <= 1
        if command.new in once.rows:
            assert history_of([*commands, command], ON) == once


def test_of_two_commands_on_the_same_state_only_the_first_takes_effect() -> None:
    """In either order; the creator of the second finds a no-op."""
    pair = (built(3, 4), built(3, 5))
    for first, second in permutations(pair):
        history = history_of([built(0, 3), first, second], ON)
        assert history.rows == (3, first.new)
        assert outcome(history, first.new) == "applied"
        assert outcome(history, second.new) == "no-op"


def test_without_the_state_id_check_two_commands_on_the_same_state_take_effect() -> None:
    """S-30 off: the second is applied on a state that its creator never saw."""
    commands = [built(0, 3), built(3, 4), built(3, 5)]
    assert history_of(commands, Group0Safeguards(state_id_check=False)).rows == (3, 4, 5)


def test_a_command_committed_without_a_guard_takes_effect_on_any_state() -> None:
    """With the guard it carries the state that it was built on, and is a no-op on another."""
    careless = command_of(None, 3, 4, "A", Group0Safeguards(commit_with_guard=False))
    careful = command_of(None, 3, 4, "A", ON)
    assert (careless.previous, careful.previous) == (None, 3)
    assert history_of([built(0, 9), careless], ON).rows == (9, 4)
    assert history_of([built(0, 9), careful], ON).rows == (9,)


def test_a_retry_keeps_the_id_of_the_first_attempt() -> None:
    """Without the safeguard it gets a fresh one."""
    command = built(3, 4)
    assert retried(command, 9, ON) is command
    assert retried(command, 9, Group0Safeguards(same_id_on_retry=False)).new == 9


def test_the_outcome_of_a_command_whose_row_has_expired_is_unknown() -> None:
    """A later command forgets old rows, but never the newest."""
    history = history_of([built(0, 1), built(1, 2), built(2, 7, forgets=2)], ON)
    assert history == StateHistory((2, 7))
    assert outcome(history, 1, expired=2) == "unknown"
    assert outcome(history, 1) == "no-op"
    assert outcome(history, 2, expired=2) == "applied"
    assert history.recorded(built(7, 8, forgets=8)).rows == (8,)


def test_a_node_stores_before_it_knows_and_knows_before_it_applies() -> None:
    """None of the three indexes ever goes back."""
    stored = Indexes().storing(2)
    assert stored == Indexes(2, 0, 0)
    assert stored.storing(1) == stored
    known = stored.knowing(3)
    assert known == Indexes(3, 3, 0)
    assert known.knowing(1) == known
    assert known.applying() == Indexes(3, 3, 1)


@given(st.integers(1, 63), st.integers(0, 63), st.integers(0, 63))
def test_any_two_majorities_share_a_voter(voters: int, some: int, other: int) -> None:
    """Of the same voters."""
    if is_majority(some, voters) and is_majority(other, voters):
        assert some & other & voters


def test_the_smallest_majorities_have_the_leader_and_just_enough_live_voters() -> None:
    """Nodes that are down or do not vote count for none."""
    assert majorities_with(0, 0b111, 0b111) == (0b011, 0b101)
    assert majorities_with(1, 0b110, 0b111) == (0b110,)
    assert majorities_with(1, 0b010, 0b111) == ()
    assert majorities_with(0, 0b1111, 0b0111) == (0b0011, 0b0101)
    assert all(is_majority(nodes, 0b11111) for nodes in majorities_with(2, 0b11111, 0b11111))


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
def test_a_step_is_refused_with_its_reason_until_the_reason_is_gone(
    given: dict[str, Any], steps: tuple[str, ...], verb: str, why: str, mends: tuple[str, ...]
) -> None:
    """Each row: steps, the refused verb, its reason, and what makes it possible."""
    driven = Driven(**given).do(*steps)
    assert driven.refused(verb) == why
    if mends:
        driven.do(*mends, verb)


def test_a_barrier_is_refused_while_the_leader_is_down() -> None:
    """The schedule suggests an election, or a restart where none is left; then B submits."""
    driven = Driven(elections=1, crashes=1, operations=CREATE).do(CREATE[0], "crash A")
    assert driven.refused("barrier B") == NO_LEADER
    assert driven.model.suggest(driven.state) == driven.model.find(driven.state, "elect B")[0]
    driven.do("elect B", "barrier B", "read B", "make-id B", "validate B", "submit B")
    steps = (CREATE[0], "barrier B", "read B", "make-id B", "crash A")
    without = Driven(crashes=1, elections=0, operations=CREATE).do(*steps)
    assert without.model.suggest(without.state) == without.model.find(without.state, "restart A")[0]


def test_without_a_majority_no_leader_is_elected() -> None:
    """Three of five voters are down and named; with B back, D is elected."""
    driven = Driven(nodes=5, elections=1, crashes=3, operations=())
    driven.do("crash A", "crash B", "crash C")
    assert driven.refused("elect D") == "no quorum: more than half of the voters must be up"
    assert driven.model.find(driven.state, "elect D")[1].missing == ("A", "B", "C")
    driven.do("restart B", "elect D")


def test_a_node_repeats_its_discovery_only_once_a_request_is_lost() -> None:
    """While requests to B and C are under way A waits."""
    model: Any = build("discovery", {"seeds": ("B C", "", ""), "losses": 1})
    start = model.start()
    waits = "requests from A, or answers to them, are on their way"
    assert model.find(start, "ask-again A")[1].reason == waits
    for lost in "BC":
        [drop] = [a for a in model.actions(start) if model.verb(a).startswith(f"drop A>{lost}")]
        assert model.find(model.act(start, drop), "ask-again A")[1] is None


def test_a_node_that_builds_a_command_applies_no_other() -> None:
    """From reading the newest state until it has submitted; before and after, it applies."""
    other = "create table ks.u at B"
    driven = Driven(operations=(ALTER, other), earlier=TABLE).do(other, "barrier B")
    driven.submitted(ALTER).do("commit 7 by A B", "replicate B")
    assert driven.model.find(driven.state, "apply B")[1] is None
    for step in ("read B", "make-id B", "validate B"):
        driven.do(step)
        assert driven.refused("apply B") == "B is building a command on the state that it has"
    driven.do("submit B", "apply B")


def test_a_node_that_builds_a_command_fetches_no_schema() -> None:
    """From reading the newest state until it has submitted."""
    other, fetch = "create table ks.u at B", f"fetch: {WRITE}"
    driven = Driven(earlier=TABLE, requests=(WRITE,), operations=(other, ALTER))
    driven.do(other, "barrier B", "read B", *LAGS)
    for step in ("make-id B", "validate B", "submit B"):
        assert driven.refused(fetch) == "B is building a command on its state"
        driven.do(step)
    driven.do(fetch)


def test_a_lost_command_retried_without_its_id_gets_a_new_one() -> None:
    """With the safeguard its id stays 4; without, A gives 7."""
    for off, ids in (((), (4,)), (("same-id-on-retry",), (7,))):
        driven = Driven(off, operations=("create table ks.t at A",), losses=1)
        driven.submitted("create table ks.t at A")
        assert [command.new for command in driven.state.in_flight] == [4]
        driven.do("lose 4", "retry A")
        assert tuple(command.new for command in driven.state.in_flight) == ids, off


@pytest.mark.parametrize("statement", [Statement("create", "ks"), Statement("create", "ks", "t")])
def test_an_older_statement_coming_late_changes_no_newer_definition(statement: Statement) -> None:
    """A newer one does; a column of a table that is not there is not added."""
    whole = merged(SchemaState(), Statement("create", "ks"), 5)
    [keyspace] = whole.keyspaces
    assert keyspace.replication == 1
    newer = merged(whole, statement, 6) if statement.table else whole
    assert merged(newer, statement, 3) == newer
    assert merged(newer, statement, 9) != newer
    assert merged(newer, Statement("alter", "ks", "u", "c"), 6).tables == newer.tables


def test_an_elected_leader_leads_the_next_term() -> None:
    """Leaders before that are deposed if they are up; each election is spent."""
    driven = Driven(elections=2).do("elect B")
    state = driven.state
    assert (state.leader, state.term, state.deposed, state.left.elections) == (1, 2, 0b001, 1)
    after = driven.do("elect C").state
    assert (after.leader, after.term, after.deposed, after.left.elections) == (2, 3, 0b011, 0)
    again = Driven(elections=2).do("elect B", "elect A").state
    assert (again.leader, again.deposed) == (0, 0b010)
    down = Driven(elections=1, crashes=1).do("crash A", "elect B").state
    assert (down.leader, down.deposed) == (1, 0)
