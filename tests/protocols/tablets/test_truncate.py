"""A truncate: its searches, its session, and what it excludes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.tablets.truncate import NEW_ROWS, OLD_ROWS, Truncate, TruncateState
from kit.search.check import check
from tests.outcomes import acted
from tests.quality.breaking import broken, doing, never, unguarded
from tests.quality.reporting import assert_reported, judges

INVARIANTS = {prop.name: prop.invariant for prop in build("truncate").properties}
TO_SENDING = ("truncate", "open session", "apply A", "apply B", "apply C", "barrier")
TO_DONE = ("close session", "apply A", "apply B", "apply C", "barrier", "write")


def played(model: Any, *verbs: str) -> TruncateState:
    """The state after these verbs."""
    state: TruncateState = acted(model, model.start(), *verbs)
    return state


@pytest.mark.parametrize(
    "given",
    [{"late": 2, "changes": 1, "moves": 1}, {"nodes": 4, "replicas": "A B C", "late": 2}],
    ids=str,
)
def test_a_truncate_with_late_rpcs_and_a_new_coordinator_breaks_no_promise(
    given: dict[str, Any],
) -> None:
    """The search is complete, and every goal is reached."""
    result = check(build("truncate", given))
    assert result.violation is None, result.violation
    assert result.verdict == "complete"
    assert not result.unreached


def test_without_its_session_a_truncate_deletes_rows_written_afterwards() -> None:
    """S-42: with it the search is complete."""
    [guard] = Truncate.safeguards
    missing = check(build("truncate", guard.smallest, (guard.name,))).violation
    assert missing is not None
    assert INVARIANTS[missing.property] in guard.protects
    assert check(build("truncate", guard.smallest)).verdict == "complete"


@pytest.mark.spec("F-013")
def test_a_truncate_waits_for_moves_and_lets_no_other_begin() -> None:
    """Once the move has ended its session may open."""
    model = build("truncate", {"moves": 2})
    state = played(model, "move", "truncate")
    assert model.find(state, "open session")[1].reason == "tablets are in transition"
    state = played(model, "move", "truncate", "end move")
    assert model.find(state, "open session")[1] is None
    assert "requested or under way" in model.find(state, "move")[1].reason


@pytest.mark.spec("F-014")
def test_a_truncate_sends_its_rpcs_to_nodes_with_replicas_alone() -> None:
    """B has none, and gets none."""
    model = build("truncate", {"replicas": "A C"})
    state = played(model, *TO_SENDING)
    sends = [model.verb(a) for a in model.actions(state) if model.verb(a).startswith("send")]
    assert sends == ["send A", "send C"]
    assert state.session == 1


@pytest.mark.spec("F-015")
def test_a_late_rpc_of_a_truncate_has_no_effect_after_its_session() -> None:
    """It is refused, and the new rows stay."""
    model = build("truncate", {})
    state = played(model, *TO_SENDING, "delay A", "send A", "send B", *TO_DONE)
    action, _ = model.find(state, "arrive A")
    after = model.act(state, action)
    assert "refuses the RPC" in model.describe(state, action, after)
    assert after.rows[0] == NEW_ROWS
    assert not any(rows & OLD_ROWS for rows in after.rows)
    assert after.late == 0


def late() -> Any:
    """A late RPC is carried out whatever its session."""
    [guard] = Truncate.safeguards
    return build("truncate", guard.smallest, (guard.name,))


REPORTED: dict[str, Callable[[], Any]] = {
    "rows-kept": late,
    "in-session": late,
    "rows-gone": lambda: broken(build("truncate"), Truncate.close_session.struct, unguarded),
    "moves-apart": lambda: broken(build("truncate", {"moves": 1}), Truncate.move.struct, unguarded),
    "done": lambda: broken(
        build("truncate"), Truncate.close_session.struct, doing(lambda s, action: s)
    ),
    "ends": lambda: broken(build("truncate"), Truncate.pass_barrier.struct, never),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_of_a_truncate_reports_the_property_that_was_broken(name: str) -> None:
    """Each property is judged alone, on a model that was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_property_of_a_truncate_has_a_broken_model() -> None:
    """The table names all of them."""
    assert set(REPORTED) == set(judges(build("truncate")))
