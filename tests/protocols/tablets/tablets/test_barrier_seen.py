"""What a student sees of the barrier that tablets wait for: who has answered, who is not asked."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.views.frames import go_on, last_flows, panel_text

GIVEN: dict[str, Any] = {"nodes": 4, "tablets": ("A B",), "down": ("D",), "answering": True}
BEGUN = ("imbalance", "migrate 0 A:0 C:0", "commit")


def waiting(**given: Any) -> Timeline:
    """A tablet of four nodes, of which D is down, waits for its first barrier."""
    timeline = Timeline(build("tablets", {**GIVEN, **given}))
    go_on(timeline, *BEGUN)
    return timeline


def answers(timeline: Timeline) -> list[str]:
    """The lines of the nodes."""
    return [line.strip() for line in panel_text(timeline, "tablet-barrier").splitlines()[-4:]]


@pytest.mark.spec("D-042")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_migration_passes_over_the_ignored(edition: Edition) -> None:
    """D is dead and ignored: its line says that it is not asked, the others answer one by one, and
    the tablet goes its whole way.
    """
    timeline = waiting(edition=edition, ignored=("D",))
    for done in range(4):
        assert answers(timeline) == [
            *(f"✓ {name} has answered" for name in "ABC"[:done]),
            *(f"… {name} is asked" for name in "ABC"[done:]),
            "– D is ignored and not asked",
        ]
        timeline.forward()
    asked = {flow.to_key for flow in last_flows(timeline)}
    while timeline.forward() is not None:
        asked |= {flow.to_key for flow in last_flows(timeline) if flow.label == "barrier"}
    assert "host:D" not in asked
    assert list(map(str, timeline.state.tablets[0].replicas)) == ["C:0", "B:0"]
    assert timeline.state.tablets[0].transitions == ()


@pytest.mark.spec("D-046")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_barrier_fails_for_the_dead(edition: Edition) -> None:
    """D is dead and not ignored: the node does not receive the barrier, which cannot pass."""
    timeline = waiting(edition=edition)
    assert answers(timeline)[-1] == "! D does not receive it"
    option = timeline.model.find(timeline.state, "barrier")
    assert option is not None
    assert option[1] is not None
    assert option[1].missing == ("A", "B", "C", "D")
