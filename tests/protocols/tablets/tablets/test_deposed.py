"""What an earlier coordinator decided and is committed late, where no guard holds it off (S-59)."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.protocols.tablets.tablets.test_given_up import reached

GIVEN: dict[str, Any] = {"nodes": 2, "tablets": ("A",), "moves": 2}


def played(given: dict[str, Any], *verbs: str) -> Timeline[Any, Any]:
    """A history without the guard, in which each verb is done as soon as it may be."""
    timeline = Timeline(build("tablets", {**GIVEN, **given}, off=("S-59",)))
    for verb in verbs:
        reached(timeline, verb)
    return timeline


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_late_command_makes_what_is_decided_now_stale(edition: Edition) -> None:
    """Both decided the same stage: once the first is committed, late, group 0 is another one."""
    timeline = played(
        {"edition": edition, "nodes": 3, "changes": 1},
        *("imbalance", "migrate 0 A:0 B:0", "commit", "barrier", "decide", "elect B"),
        *("decide", "commit", "barrier", "decide"),
    )
    assert not timeline.state.command.stale
    before = timeline.state.control.state_id
    reached(timeline, "commit deposed")
    assert timeline.state.control.state_id == before
    assert timeline.state.command.stale


@pytest.mark.parametrize("edition", EDITIONS)
def test_with_the_guard_a_late_command_counts_until_its_successor_commits(edition: Edition) -> None:
    """Before that group 0 is as it was decided on: the stage is entered; afterwards it is void."""
    given = {**GIVEN, "edition": edition, "nodes": 3, "changes": 1}
    for verb, stage in (
        ("commit deposed", "write_both_read_old"),
        ("commit", "allow_write_both_read_old"),
    ):
        timeline = Timeline(build("tablets", given))
        for each in ("imbalance", "migrate 0 A:0 B:0", "commit", "barrier", "decide", "elect B"):
            reached(timeline, each)
        assert timeline.state.deposed is not None
        reached(timeline, verb)
        assert timeline.state.deposed is None
        [way] = timeline.state.tablets[0].transitions
        assert way.stage == stage
