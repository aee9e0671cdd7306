"""A command takes effect once, on the state that it was built on, on every node alike."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from kit.masks import is_majority
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
from kit.protocols.group0.rules.voters import majorities_with

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
def test_a_state_id_is_greater_than_what_was_read_and_no_other_nodes(
    newest: int, other: int, places: int
) -> None:
    """Each node's id is above the newest one and above its own last; no two nodes give one id."""
    ids = [next_state_id(newest, given, i, places) for i, given in enumerate((0, other))]
    assert min(ids) > newest
    assert ids[1] > other
    assert ids[0] != ids[1]
    assert ids[0] <= newest + places


@given(ENTRIES)
def test_every_row_was_built_on_the_row_before_it(entries: list[tuple[int, int]]) -> None:
    """Whatever stands in the log, what took effect is a chain of states."""
    commands = [built(previous, previous + more) for previous, more in entries]
    rows = history_of(commands, ON).rows
    by_id = {(command.previous, command.new) for command in commands}
    assert all(pair in by_id for pair in zip((FIRST_STATE, *rows), rows, strict=False))
    assert len(set(rows)) == len(rows)


@given(ENTRIES)
def test_going_through_a_command_again_changes_nothing(entries: list[tuple[int, int]]) -> None:
    """The same command, later in the log once more, is a no-op."""
    commands = [built(previous, previous + more) for previous, more in entries]
    once = history_of(commands, ON)
    for command in commands:
        assert history_of([*commands, command], ON).rows.count(command.new) <= 1
        if command.new in once.rows:
            assert history_of([*commands, command], ON) == once


def test_of_two_commands_on_one_state_the_first_counts() -> None:
    """In whatever order they are committed, one takes effect and the other's creator sees that."""
    pair = (built(3, 4), built(3, 5))
    for first, second in permutations(pair):
        history = history_of([built(0, 3), first, second], ON)
        assert history.rows == (3, first.new)
        assert outcome(history, first.new) == "applied"
        assert outcome(history, second.new) == "no-op"


def test_without_the_check_both_take_effect() -> None:
    """Switched off, the second command is applied on a state that its creator never saw."""
    commands = [built(0, 3), built(3, 4), built(3, 5)]
    assert history_of(commands, Group0Safeguards(state_id_check=False)).rows == (3, 4, 5)


def test_a_command_without_a_guard_always_takes_effect() -> None:
    """Who does not say what a command was built on gets it applied on anything."""
    careless = command_of(None, 3, 4, "A", Group0Safeguards(commit_with_guard=False))
    careful = command_of(None, 3, 4, "A", ON)
    assert (careless.previous, careful.previous) == (None, 3)
    assert history_of([built(0, 9), careless], ON).rows == (9, 4)
    assert history_of([built(0, 9), careful], ON).rows == (9,)


def test_a_retry_is_the_same_command() -> None:
    """With the safeguard a retry has the id of the first attempt; without, a fresh one."""
    command = built(3, 4)
    assert retried(command, 9, ON) is command
    assert retried(command, 9, Group0Safeguards(same_id_on_retry=False)).new == 9


def test_rows_that_are_too_old_go_and_the_outcome_is_unknown() -> None:
    """A later command forgets old rows, but never the newest; of an old command a missing row tells
    nothing.
    """
    history = history_of([built(0, 1), built(1, 2), built(2, 7, forgets=2)], ON)
    assert history == StateHistory((2, 7))
    assert outcome(history, 1, expired=2) == "unknown"
    assert outcome(history, 1) == "no-op"
    assert outcome(history, 2, expired=2) == "applied"
    assert history.recorded(built(7, 8, forgets=8)).rows == (8,)


def test_the_three_indexes_follow_one_another() -> None:
    """A node stores, learns that it is committed, and applies one command at a time."""
    stored = Indexes().storing(2)
    assert stored == Indexes(2, 0, 0)
    assert stored.storing(1) == stored
    known = stored.knowing(3)
    assert known == Indexes(3, 3, 0)
    assert known.knowing(1) == known
    assert known.applying() == Indexes(3, 3, 1)


@given(st.integers(1, 63), st.integers(0, 63), st.integers(0, 63))
def test_any_two_majorities_share_a_voter(voters: int, some: int, other: int) -> None:
    """More than half and more than half have somebody in common."""
    if is_majority(some, voters) and is_majority(other, voters):
        assert some & other & voters


def test_the_smallest_majorities_of_a_leader() -> None:
    """Each has the leader and just enough others; nodes that are down or do not vote count not."""
    assert majorities_with(0, 0b111, 0b111) == (0b011, 0b101)
    assert majorities_with(1, 0b110, 0b111) == (0b110,)
    assert majorities_with(1, 0b010, 0b111) == ()
    assert majorities_with(0, 0b1111, 0b0111) == (0b0011, 0b0101)
    assert all(is_majority(nodes, 0b11111) for nodes in majorities_with(2, 0b11111, 0b11111))
