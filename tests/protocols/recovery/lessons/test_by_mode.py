"""Questions on RECOVERY mode: how a node runs is read from its disk when it starts."""

from __future__ import annotations

import pytest

from kit.errors import BadInput, KitError
from kit.lessons.predictions import predict
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.recovery.lessons.by_mode import RUNS, runs_after_restart
from tests.protocols.topology.joins import do
from tests.saying import like


@pytest.mark.parametrize(
    ("verbs", "mode"),
    [((), "group 0"), (("isolate", "set A"), "recovery"), (("isolate", "mistype A"), "recovery")],
)
def test_how_a_node_runs_after_its_restart(verbs: tuple[str, ...], mode: str) -> None:
    """By the row that it finds; what is no known value counts as recovery."""
    timeline = Timeline(build("recovery_mode", {"mistypes": 1}))
    do(timeline, *verbs)
    assert predict(timeline, runs_after_restart, "A").right == (RUNS[mode],)


def test_whom_nobody_starts_is_not_asked_about() -> None:
    """A dead node is not started, and an unknown one is refused with the names."""
    timeline = Timeline(build("recovery_mode"))
    with pytest.raises(KitError, match="C cannot be started"):
        predict(timeline, runs_after_restart, "C")
    with pytest.raises(BadInput, match=like("node | one of A, B, C, D")):
        predict(timeline, runs_after_restart, "Z")
