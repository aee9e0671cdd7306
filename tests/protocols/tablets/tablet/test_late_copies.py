"""A copy that comes long after its session has ended."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.registry import build
from tests.protocols.tablets.tablet.runs import REPAIRED

ON_THE_WAY = ("plan repair", "apply A", "apply B", "copy B to A", "write 1 at version 11")
LATE = "late copy of session 1, B to A"


@pytest.mark.parametrize(
    ("verbs", "why"),
    [
        (("give up to end_repair",), None),
        (("crash A", "give up to end_repair"), "A is down"),
        (("crash B", "give up to end_repair"), None),
    ],
)
def test_only_a_replica_that_is_up_gets_a_late_copy(
    verbs: tuple[str, ...], why: str | None
) -> None:
    """Who sent it may have crashed since."""
    model: Any = build("tablet", {**REPAIRED, "crashes": 1})
    state = model.start()
    for verb in (*ON_THE_WAY, *verbs):
        option = model.find(state, verb)
        assert option is not None, verb
        state = model.act(state, option[0])
    late = model.find(state, LATE)
    assert late is not None
    assert (late[1] and late[1].reason) == why
