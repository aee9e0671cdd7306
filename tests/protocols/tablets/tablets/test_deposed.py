"""What an earlier coordinator decided and is committed late, where no guard holds it off (S-59)."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.protocols.tablets.tablets.test_given_up import reached

GIVEN: dict[str, Any] = {"nodes": 2, "tablets": ("A",), "moves": 2}
SOON = "An earlier coordinator's decision is committed late. Group 0 stores it: "


def played(given: dict[str, Any], *verbs: str) -> Timeline[Any, Any]:
    """A history without the guard, in which each verb is done as soon as it may be."""
    timeline = Timeline(build("tablets", {**GIVEN, **given}, off=("S-59",)))
    for verb in verbs:
        reached(timeline, verb)
    return timeline


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("meanwhile", ["ended", "another kind"])
def test_a_late_stage_finds_no_transition(edition: Edition, meanwhile: str) -> None:
    """The repair that it was decided for has ended, and a migration may stand in its place: it
    changes nothing, and says so.
    """
    timeline = played(
        {"edition": edition, "nodes": 3, "changes": 1, "kinds": ("migration", "repair")},
        *("imbalance", "repair-tablet 0", "commit", "work on 0", "decide", "commit", "barrier"),
    )
    for verb in (*["work on 0"] * (edition == "server"), "decide", "elect B"):
        reached(timeline, verb)
    while timeline.state.in_transition:
        assert timeline.forward() is not None
    if meanwhile == "another kind":
        reached(timeline, "migrate 0 A:0 B:0")
        reached(timeline, "commit")
    before = timeline.state.tablets
    assert [way.kind for way in before[0].transitions] == ["migration"] * (meanwhile != "ended")
    reached(timeline, "commit deposed")
    assert timeline.state.tablets == before
    assert timeline.moments[-1].say == SOON + "nothing."


def test_a_late_rollback_drains_nobody_of_whom_it_no_longer_speaks() -> None:
    """A stream failed, a new coordinator tried it again, and the tablet has moved."""
    timeline = played(
        {"changes": 1, "failures": 1},
        *("imbalance", "migrate 0 A:0 B:0", "commit", "fail work on 0", "decide", "elect B"),
    )
    while timeline.state.in_transition:
        assert timeline.forward() is not None
    before = timeline.state.tablets
    assert [each.host for each in before[0].replicas] == ["B"]
    reached(timeline, "commit deposed")
    assert (timeline.state.tablets, timeline.state.given_up) == (before, 0)


def test_a_stage_decided_later_is_committed_without_the_entry_before_it() -> None:
    """Two coordinators are deposed: the first with the entry into the track, the second with a
    stage. What is committed late is the stage alone.
    """
    timeline = played(
        {"changes": 2},
        *("imbalance", "migrate 0 A:0 B:0", "elect B", "migrate 0 A:0 B:0", "commit", "barrier"),
        *("decide", "elect A"),
    )
    entry = timeline.state.control.deposed
    assert entry is not None
    assert timeline.state.deposed_alone
    reached(timeline, "commit deposed")
    assert timeline.state.control.deposed == entry
    assert [way.stage for way in timeline.state.tablets[0].transitions] == ["write_both_read_old"]


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
