"""Streaming that is given up: for the sake of a node that is to leave, and on a full disk."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.topology.rules.machines import Edition
from kit.search.check import check


def reached(timeline: Timeline, verb: str) -> None:
    """Go on until a step is possible, and take it."""
    while (option := timeline.model.find(timeline.state, verb)) is None or option[1] is not None:
        assert timeline.forward() is not None, verb
    timeline.do(option[0])


def ended(timeline: Timeline) -> tuple[list[bool], list[str]]:
    """Of each request whether it ended with an error, and who holds the tablets at last."""
    while timeline.forward() is not None:
        pass
    if timeline.state.given_up:
        reached(timeline, "fail")
    while timeline.forward() is not None:
        pass
    state = timeline.state
    errors = [entry.error for entry in state.control.topology.requests]
    return errors, [" ".join(each.host for each in row.replicas) for row in state.tablets]


LEAVE: dict[str, Any] = {"moves": 0, "operations": ("leave A",), "tablets": ("A", "B")}
MOVE: dict[str, Any] = {"moves": 1, "tablets": ("A", "B")}
# What is given, the steps, whether the stream is given up, the errors, the hosts at the end. In the
# server's edition a stream that failed is tried again, unless it is off a node that is to leave,
# its target's disk is full, or somebody in it is excluded.
CASES: tuple[tuple[Edition, dict[str, Any], tuple[str, ...], list[bool], list[str]], ...] = (
    ("server", LEAVE | {"failures": 1}, ("leave A", "fail work on 0"), [True], ["A", "B"]),
    ("server", LEAVE | {"full": 1}, ("leave A", "fill disk for 0"), [True], ["A", "B"]),
    ("server", MOVE | {"full": 1}, ("migrate 0 A:0 C:0", "fill disk for 0"), [], ["A", "B"]),
    ("documents", MOVE | {"full": 1}, ("migrate 0 A:0 C:0", "fill disk for 0"), [], ["A", "B"]),
    (
        "documents",
        MOVE | {"failures": 1},
        ("migrate 0 A:0 C:0", "commit", "barrier", "fail work on 0"),
        [],
        ["A", "B"],
    ),
    ("server", LEAVE, ("leave A",), [False], ["B", "B"]),
)


@pytest.mark.parametrize(("edition", "given", "verbs", "errors", "hosts"), CASES, ids=str)
def test_a_stream_is_given_up(
    edition: Edition,
    given: dict[str, Any],
    verbs: tuple[str, ...],
    errors: list[bool],
    hosts: list[str],
) -> None:
    """The tablet stays where it was, a request to leave ends with an error, its node is normal."""
    timeline = Timeline(build("tablets", {"nodes": 3, "edition": edition, **given}))
    for verb in verbs:
        reached(timeline, verb)
    found_errors, found_hosts = ended(timeline)
    assert found_errors == errors
    assert sorted(found_hosts) == sorted(hosts) or not any(errors)
    if errors == [True]:
        told = " ".join(moment.say for moment in timeline.moments)
        assert "Draining A has failed." in told
        assert "Draining fails: a tablet could not be streamed off A." in told
        assert timeline.state.control.topology.nodes[0].state == "normal"


def test_other_streams_are_tried_again() -> None:
    """Without a request and with room on the disk the server's work does not lead back."""
    timeline = Timeline(build("tablets", {"nodes": 3, "edition": "server", **MOVE, "failures": 1}))
    reached(timeline, "migrate 0 A:0 C:0")
    while timeline.state.tablets[0].transitions[:1] == () or (
        timeline.state.tablets[0].transitions[0].stage != "streaming"
    ):
        assert timeline.forward() is not None
    option = timeline.model.find(timeline.state, "fail work on 0")
    assert option is None or option[1] is not None


@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize(
    "given",
    [
        LEAVE | {"failures": 1, "full": 1},
        {**MOVE, "tablets": ("A",), "full": 1},
        {**LEAVE, "tablets": ("A B",), "failures": 1, "full": 1, "changes": 1},
    ],
    ids=str,
)
def test_nothing_is_lost_by_that(edition: Edition, given: dict[str, Any]) -> None:
    """Complete searches: every promise holds, and everything comes to an end."""
    result = check(build("tablets", {"nodes": 3, "edition": edition, **given}))
    assert result.violation is None, result.violation
    assert result.verdict == "complete"
