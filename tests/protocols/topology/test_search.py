"""Searches of the control model: complete with all safeguards on, a counterexample without."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from kit.model.model import always, step
from kit.model.registry import build
from kit.protocols.topology.control import voting
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check

OPERATIONS = ("join D", "replace D C", "leave C", "remove C", "rebuild C")
SMALL = ("join D --zero-token", "replace D C --zero-token", "new_cdc_generation", "cleanup", "lock")
MOST = 300_000
"""States that a search of each landing may have."""


def searched(edition: Edition, words: str, **given: Any) -> Any:
    """A search with all safeguards on; alike nodes and state ids are joined."""
    parameters = {"edition": edition, "operations": (words,), **given}
    result = check(build("topology", parameters), symmetry=True, max_states=MOST)
    assert result.violation is None, result.violation
    assert result.complete
    assert not result.unreached
    return result


@pytest.mark.sweep(3)
@pytest.mark.spec("D-033", "D-049")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", [*OPERATIONS, *SMALL])
def test_each_operation_with_a_failure_and_a_new_coordinator(edition: Edition, words: str) -> None:
    """Any piece of work fails, and the coordinator changes, anywhere: nothing is broken, and the
    operation can always come to its end.
    """
    zero = ("C",) if words.startswith("replace") and "zero" in words else ()
    searched(edition, words, failures=1, changes=1, zero_tokens=zero)


LONGEST = tuple(product(("join D", "leave C"), EDITIONS))
LONG = (*LONGEST, *(("replace D C", edition) for edition in EDITIONS))


@pytest.mark.spec("D-048", "D-049")
@pytest.mark.parametrize(
    ("words", "edition"),
    [
        pytest.param(*pair, marks=[pytest.mark.deep] if pair in LONG else [])
        for pair in product(OPERATIONS, EDITIONS)
    ],
)
def test_each_operation_with_a_crash_and_a_new_coordinator(words: str, edition: Edition) -> None:
    """Any node dies, and the coordinator changes, anywhere: the operation can always end."""
    searched(edition, words, crashes=1, changes=1)


@pytest.mark.sweep(3)
@pytest.mark.spec("D-048", "D-049")
@pytest.mark.parametrize(("words", "edition"), LONG)
def test_the_longest_operations_with_a_crash(words: str, edition: Edition) -> None:
    """Any node dies anywhere in them; another coordinator only follows one that died."""
    searched(edition, words, crashes=1)


@pytest.mark.deep
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", ["join D", "leave C"])
def test_a_crash_a_failure_and_a_new_coordinator_at_once(edition: Edition, words: str) -> None:
    """All three anywhere in the two longest operations."""
    searched(edition, words, crashes=1, changes=1, failures=1)


@pytest.mark.sweep(3)
@pytest.mark.spec("D-024", "D-025", "D-045", "F-008")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", OPERATIONS)
def test_each_operation_with_a_late_stream_and_a_client(edition: Edition, words: str) -> None:
    """A stream that was left behind and a client's request run by what their nodes have applied:
    neither outlives the barrier that follows, and at most two versions are served.
    """
    searched(edition, words, late=1, clients=1)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("words", OPERATIONS)
@pytest.mark.parametrize("given", [{"late": 1}, {"clients": 1}], ids=str)
def test_a_failure_in_edition_documents_keeps_versions_and_sessions(
    words: str, given: dict[str, int]
) -> None:
    """A barrier that fails rolls back or is tried again: nothing older outlives one that passed."""
    searched("documents", words, failures=1, **given)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("given", [{"tablets": 1}, {"tablets": 1, "on_tablets": ("C",)}], ids=str)
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", ["join D", "leave C", "remove C"])
def test_operations_beside_the_tablet_track(
    edition: Edition, words: str, given: dict[str, Any]
) -> None:
    """Tablets that move, or cannot be moved, beside a node operation: they exclude each other."""
    searched(edition, words, failures=1, **given)


# What edition server costs where a barrier's drain fails and it goes on all the same.
COSTS = (
    pytest.param("sessions", "join D", {"late": 1, "failures": 1}, id="sessions"),
    pytest.param("shut-down-unused", "leave C", {"clients": 1, "failures": 1}, id="shut-down"),
    pytest.param(
        "live-versions", "leave C", {"clients": 1, "cuts": 1}, id="live", marks=pytest.mark.deep
    ),
)


@pytest.mark.parametrize(("broken", "words", "given"), COSTS)
def test_a_failed_drain_costs_edition_server_a_promise(
    broken: str, words: str, given: dict[str, Any]
) -> None:
    """The published server goes on once the plain barrier passes, or after a pause: work of a
    closed session may run on, a request may still write to who is shut down, a node that is cut off
    may be served at an old version. Edition documents waits, and keeps all three.
    """
    parameters = {"operations": (words,), **given}
    code = check(build("topology", {"edition": "server", **parameters}), symmetry=True)
    assert (code.violation, code.complete) == (None, True)
    assert broken in [met.property for met in code.costs]
    assert searched("documents", words, **given)


def test_only_a_coordinator_gives_a_vote() -> None:
    """A node that has joined does not vote before the published server's coordinator chose it, as
    where the command that made it normal came through after the coordinator had died.
    """

    def given(before: Any, action: Any, after: Any) -> str | None:
        new = voting(after) & ~voting(before)
        return "a vote that nobody gave" if new and after.coordinator == NOBODY else None

    model = build("topology", {"edition": "server", "operations": ("join D",), "crashes": 1})
    result = check(model, (step("voters", "Voters", given),), symmetry=True)
    assert (result.violation, result.complete) == (None, True)


def test_work_that_cannot_succeed_fails_for_nothing() -> None:
    """A node that the work needs is dead: its failure takes nothing from the budget."""

    def spent(s: Any) -> str | None:
        return None if s.faults.failures >= 0 else "more failures than there may be"

    model = build("topology", {"operations": ("leave C",), "crashes": 1})
    assert check(model, (always("budget", "Failures", spent),), max_states=2000).violation is None


@pytest.mark.parametrize(("edition", "off"), [("documents", ""), ("server", "refuse-live-removal")])
def test_ignoring_a_node_that_lives_is_unsafe(edition: Edition, off: str) -> None:
    """Barriers pass over an ignored node: if it lives, what it serves by an older version is lost
    to the stream, in spite of fences that not all have applied yet. The server refuses such a
    removal (S-40).
    """
    given = {"nodes": 4, "operations": ("remove D",), "ignored": ("C",), "clients": 1}
    model = build("topology", {"edition": edition, **given}, off=(off,) if off else ())
    violation = check(model, symmetry=True).violation
    assert violation is not None
    assert violation.property == "older-over"
