"""Promises of group 0 on states made by hand: what keeps each of them, and what breaks it."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.registry import build
from kit.protocols.group0.raft import Elect
from kit.protocols.group0.rules.commands import Command, Indexes

ALL, BEHIND = Indexes(stored=1, commit=1, applied=1), Indexes()


@pytest.mark.parametrize(
    ("up", "own", "said"),
    [
        (0b111, ALL, None),
        (0b011, ALL, None),
        (0b001, ALL, "A was elected without a majority"),
        (0b000, ALL, "A was elected without a majority"),
        (0b111, BEHIND, "A leads but lacks index 1"),
    ],
)
def test_who_is_elected(up: int, own: Indexes, said: str | None) -> None:
    """Two of three voters are needed, and a leader that stores the one entry of the log."""
    model: Any = build("group0")
    state = model.start()
    before = state.but(up=up, indexes=(own, *state.indexes[1:]))
    assert model.elected(before, Elect("A"), before) == said


@pytest.mark.parametrize(
    ("answer", "times", "said"),
    [
        ("running", 0, None),
        ("running", 1, None),
        ("running", 2, "took effect twice"),
        ("running", 3, "took effect 3 times"),
        ("success", 0, "took effect never; its client was told: success"),
        ("success", 1, None),
        ("error", 0, None),
        ("error", 1, "took effect once; its client was told: error"),
    ],
)
def test_how_often_a_change_takes_effect(answer: str, times: int, said: str | None) -> None:
    """Without the guard each command takes effect; the client hears of one alone."""
    model: Any = build("group0", {"operations": ("create keyspace ks at A",), "earlier": ()})
    client = model.clients[0]
    state = model.start()
    log = state.log
    for number in range(times):
        log = log.append(Command(client.statement, None, number + 9, "A"))
    found = model.once(state.but(log=log, answers=(answer,)))
    assert found == (None if said is None else f"{client.text} {said}")
