"""Searches of the control model: complete with all safeguards on, a counterexample without."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.check import check
from kit.engine.registry import build
from kit.protocols.topology.rules.machines import EDITIONS, Edition

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


@pytest.mark.spec("D-033", "D-049")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", [*OPERATIONS, *SMALL])
def test_each_operation_with_a_failure_and_a_new_coordinator(edition: Edition, words: str) -> None:
    """Any piece of work fails, and the coordinator changes, anywhere: nothing is broken, and the
    operation can always come to its end.
    """
    searched(edition, words, failures=1, changes=1)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", OPERATIONS)
def test_each_operation_with_a_late_stream_and_a_client(edition: Edition, words: str) -> None:
    """A stream that was left behind and a client's request run by what their nodes have applied."""
    searched(edition, words, late=1, clients=1)
