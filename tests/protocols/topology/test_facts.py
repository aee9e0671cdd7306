"""What is told of a cluster's state: nodes, requests, commands, and what its servers answer."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.drill import DrillMoment
from kit.engine.registry import build
from kit.engine.timeline import PassedStep
from kit.protocols.topology import topology as act
from kit.protocols.topology.facts import (
    SERVERS,
    START_MARKER,
    TABLETS,
    command_words,
    ends_of,
    entries,
    journal,
    nodes,
    parameter,
)
from kit.protocols.topology.rules.cluster import NOBODY, RequestEntry
from kit.protocols.topology.topology import Topology
from tests.protocols.topology.test_said_next import until
from tests.protocols.topology.test_seen import press, starting
from tests.protocols.topology.test_seen import until as shown

ASKED = RequestEntry("cleanup", NOBODY)
DONE = replace(ASKED, done=True)
FAILED = replace(ASKED, done=True, error=True)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({}, {}, START_MARKER),
        ({"started": True}, {"started": True}, TABLETS),
        ({}, {"enabled": 3}, "features are enabled"),
        ({}, {"balancing": False}, "tablet balancing is off"),
        ({"balancing": False}, {"balancing": True}, "tablet balancing is on"),
        ({"session": 4}, {"session": 0}, "session = null"),
        ({"session": 4}, {"session": 0, "version": 2}, "version 2"),
        ({}, {"requests": (ASKED,)}, "request cleanup"),
        ({"requests": (ASKED,)}, {"requests": (DONE,)}, "request 1 is done"),
        ({"requests": (ASKED,)}, {"requests": (FAILED,)}, "request 1 fails"),
        # What follows is of no line of its own: the cells that changed are said.
        (
            {"requests": (replace(ASKED, node=0),)},
            {"requests": (replace(ASKED, node=0), replace(DONE, node=1))},
            "request 2 is done",
        ),
        ({"requests": (DONE,)}, {"requests": (FAILED,)}, "request 1 has an error"),
    ],
)
def test_a_command_in_one_line(before: dict[str, Any], after: dict[str, Any], said: str) -> None:
    """What matters most, else each cell; else that it marked a start, or moved tablets."""
    model = Topology()
    started = before.pop("started", False)
    after.pop("started", False)
    states = [
        model.start().but(started=started, topology=replace(model.start().topology, **cells))
        for cells in ({"requests": ()} | before, {"requests": ()} | before | after)
    ]
    assert command_words(model, *states) == said


@pytest.mark.parametrize(
    ("was", "now", "ends"),
    [
        ((), (ASKED,), {}),
        ((), (DONE,), {1: 7}),
        ((ASKED,), (DONE,), {1: 7}),
        ((DONE,), (FAILED,), {}),
    ],
)
def test_when_a_request_ended(
    was: tuple[RequestEntry, ...], now: tuple[RequestEntry, ...], ends: dict[int, int]
) -> None:
    """With the command that made it done, and with none that changed it later."""
    start = Topology().start()
    before, after = (
        start.but(topology=replace(start.topology, requests=each)) for each in (was, now)
    )
    step = PassedStep(before, act.CommitDecision(), after.but(state_id=7))
    assert ends_of([step]) == ends


def test_who_is_no_member_is_not_behind() -> None:
    """E waits to join while the others apply what D's join changed: it has nothing to go by."""
    timeline = starting("join D", "join E")
    for words in ("join D", "join E"):
        press(timeline, words)
    shown(timeline, lambda s: len(s.views) > 1)
    facts = {node.name: node for node in nodes(timeline.here, timeline.state)}
    assert facts["E"].row.state == "none"
    assert not facts["E"].is_behind
    assert facts["B"].is_behind


@pytest.mark.parametrize(
    ("words", "given", "said"),
    [
        ("join D --zero-token", {}, "join_ring=false, no tokens"),
        ("replace D C --zero-token", {"zero_tokens": ("C",)}, None),
        ("leave C", {"zero_tokens": ("C",)}, ""),
        ("truncate_table ks.t", {}, "ks.t"),
    ],
)
def test_what_a_request_says_beside_its_kind(
    words: str, given: dict[str, Any], said: str | None
) -> None:
    """That it owns no tokens is a new node's word; of one that leaves its row tells."""
    timeline = press(starting(words, **given), words)
    [entry] = entries(timeline.here, timeline.state)
    replaces = "replaces C, join_ring=false, no tokens"
    assert parameter(timeline.here, timeline.state, entry) == (replaces if said is None else said)


@pytest.mark.parametrize("marker", [True, False])
def test_a_new_coordinator_enters_the_state_again(marker: bool) -> None:
    """Once it has begun: with its start marker, or without one where it needs none."""
    model: Any = build("topology", {"changes": 1}, off=() if marker else ("start-marker",))
    before = until(model, model.start(), "accept")
    after = model.act(before, act.ElectCoordinator("B"))
    entered = "entered `join group0` transition state"
    assert (entered in journal(model, before, act.ElectCoordinator("B"), after)) is not marker
    if marker:
        before = model.act(after, act.TakeDecision())
        after = model.act(before, act.CommitDecision())
        assert entered in journal(model, before, act.CommitDecision(), after)


def test_a_new_coordinator_sends_nothing_before_it_has_begun() -> None:
    """Its barrier is sent again with its start marker, not as soon as it is there."""
    model: Any = build("topology", {"changes": 1, "crashes": 1, "lag": False})
    state = until(model, model.start(), "barrier")
    sent = []
    for words in ("crash A", "elect B", "decide", "commit"):
        action, refusal = model.find(state, words)
        assert refusal is None
        after = model.apply(state, action)
        sent.append(
            any("global topology command" in x for x in journal(model, state, action, after))
        )
        state = after
    assert sent == [False, False, False, True]


@pytest.mark.parametrize(
    ("words", "token"), [("join D", "nothing else"), ("join D --initial-token=-150", "-150")]
)
def test_the_token_that_somebody_gave(words: str, token: str) -> None:
    """It is the one that the server's table has; before that the node has none."""
    timeline = shown(starting(words), lambda s: s.topology.nodes[3].tokens)
    now = DrillMoment(timeline.here, (timeline.now,), "A", frozenset())
    rows = {row["host_id"]: row for row in SERVERS.rows(now, 0)}
    [own] = [row["tokens"] for row in rows.values() if row["node_state"] == "bootstrapping"]
    assert (own == [token]) is (token == "-150")
    assert {row["transition_state"] for row in rows.values()} != {None}
