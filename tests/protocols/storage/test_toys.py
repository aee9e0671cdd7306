"""Three protocols' histories, searched whole: safe with all their rules, unsafe without any one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kit.protocols.storage.facts import session
from kit.protocols.storage.rules.history import Edge, RangeHistory
from kit.search.check import check
from tests.protocols.storage.toys import drains, epochs, stages, toy, versions

Toy = Callable[..., RangeHistory]
SAFE = {epochs: (1043, 18), versions: (7492, 39), drains: (371, 17), stages: (5336, 36)}
NEEDED = [
    (epochs, "MajorityKnows", 10),
    (epochs, "union", 12),
    (versions, "AllKnow", 11),
    (versions, "fence", 17),
    (versions, "joint", 15),
    (drains, "AllKnow", 10),
    (drains, "NothingBelow", 13),
    (stages, "AllKnow", 13),
    (stages, "one-stage-apart", 17),
    (stages, "quorum-plus-pending", 15),
]
DELETED = ("K1 write QUORUM", "K1 delete QUORUM", "K2 read QUORUM")


@pytest.mark.parametrize("move", SAFE, ids=lambda move: move.__name__)
def test_a_handmade_move_with_all_its_rules_loses_no_write(move: Toy) -> None:
    """The search is complete, rollbacks and new attempts included."""
    found = check(toy(move()))
    assert found.violation is None, found
    assert found.complete, found
    assert (found.states, found.depth) == SAFE[move]


@pytest.mark.parametrize(("move", "rule", "steps"), NEEDED)
def test_a_handmade_move_without_one_rule_loses_a_write(move: Toy, rule: str, steps: int) -> None:
    """The shortest run has as many steps as the table says."""
    model = toy(move(rule))
    found = check(model, (), monitors=model.monitors)
    assert found.violation is not None
    assert (found.violation.property, len(found.violation.actions)) == ("visible", steps)
    assert "which had succeeded" in found.violation.witness


def test_a_rollback_that_does_not_wait_for_its_session_brings_deleted_data_back() -> None:
    """A copy then arrives after the rollback and the cleanup."""
    options = {"cleaning": True, "collecting": True}
    model = toy(versions(), DELETED, **options)
    kept = check(model, (), monitors=model.monitors)
    assert kept.violation is None, kept
    assert (kept.states, kept.complete) == (28650, True)
    model = toy(versions("SessionClosed"), DELETED, **options)
    broken = check(model, (), monitors=model.monitors)
    assert broken.violation is not None
    assert broken.violation.property == "no-resurrection"


READS = ("K1 write QUORUM", "K2 read QUORUM", "K2 read QUORUM")


@pytest.mark.parametrize(
    ("move", "states"), [(drains, 27384), pytest.param(stages, 547360, marks=pytest.mark.deep)]
)
def test_blocking_repair_is_linearizable_under_versions_and_stages(move: Toy, states: int) -> None:
    """The search of one write and two reads is complete."""
    found = check(toy(move(), READS, together=True, repair="blocking"))
    assert found.violation is None, found
    assert (found.states, found.complete) == (states, True)


@pytest.mark.parametrize(
    ("move", "steps", "kind"),
    [
        (drains, 14, "answered"),
        (drains, 14, "mismatch"),
        pytest.param(stages, 17, "answered", marks=pytest.mark.deep),
        pytest.param(stages, 17, "mismatch", marks=pytest.mark.deep),
    ],
)
def test_weaker_repair_is_not_linearizable_under_versions_and_stages(
    move: Toy, steps: int, kind: str
) -> None:
    """A pending replica that is not repaired lets a later read miss what an earlier one saw."""
    found = check(toy(move(), READS, together=True, repair=kind))
    assert found.violation is not None
    assert (found.violation.property, len(found.violation.actions)) == ("linearizable", steps)


def test_an_event_has_no_wait_copy_or_session_by_default() -> None:
    """Nor does it move reads, give ranges back, or lead aside."""
    moves = epochs()
    assert moves.epochs[0].edges == (
        Edge("add", "", 1, conditions=(), streamed=False, switches=False, regains=0, aside=False),
    )
    last = moves.epochs[-1]
    assert (last.edges, last.copies, last.dead, last.quiet, last.session) == ((), (), 0, False, 0)
    assert (last.cleans_after, last.cleans, last.ignored) == ((), None, 0)
    assert (moves.admission, moves.lag, moves.kept) == ("epoch-exchange", None, None)
    assert (moves.unit, moves.sessions, moves.sharded) == ("epoch", False, None)


def test_a_history_without_sessions_shows_none() -> None:
    """The panel has neither an open nor a closed session to draw."""
    model = toy(epochs())
    assert session(model, model.start()) == 0
