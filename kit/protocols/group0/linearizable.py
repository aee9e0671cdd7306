"""Linearizability of metadata operations: who begins after another was answered sees its effect.

A successful operation takes its place in the log. One that was refused takes a place between two
commands at which its statement makes no sense for the same reason. A place is a number of commands.
Every operation must have a place that is not before that of one which was answered before it began.
Source: M. Herlihy and J. Wing, "Linearizability" (1990).
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kit.engine.model import Monitor
from kit.protocols.group0.guards import BeginOperation, LookUp, Validate
from kit.protocols.group0.rules.schema import objection
from kit.protocols.group0.state import Group0State, Members, put


class Places(Struct, frozen=True, cache_hash=True):
    """What the monitor remembers: the latest place of an answered operation, and where it stood
    when each operation that is under way began (-1: none is).
    """

    answered: int
    begun: tuple[int, ...]
    broken: str | None = None


def linearizability(m: Members) -> Monitor:
    """The monitor for these clients' operations."""

    def watch(memory: Places, before: Group0State, action: Any, after: Group0State) -> Places:
        if memory.broken is not None:
            return memory
        if isinstance(action, BeginOperation):
            begun = put(memory.begun, action.operation, memory.answered)
            return Places(memory.answered, begun)
        guard = before.guards[m.number(action.node)]
        assert guard is not None
        number, answer = guard.operation, after.answers[guard.operation]
        if answer == "running":
            return memory
        ended = put(memory.begun, number, -1)
        if answer == "unknown":
            return Places(memory.answered, ended)
        place = _place(m, memory.begun[number], before, action, number)
        if place is None:
            return Places(memory.answered, ended, _witness(m, before, action, number))
        return Places(max(memory.answered, place), ended)

    return Monitor(
        "linearizable",
        "Who begins after another's success sees its effect",
        lambda: Places(0, (-1,) * len(m.clients)),
        watch,
        lambda memory: memory.broken,
        invariant="INV-LIN",
        on=(BeginOperation, Validate, LookUp),
    )


def _place(m: Members, begun: int, s: Group0State, action: Any, number: int) -> int | None:
    """The place of an operation that is answered in this step; None: it has none."""
    node, statement = m.number(action.node), m.clients[number].statement
    if isinstance(action, Validate):
        why = objection(m.tables(s, node).schema, statement)
        places = range(begun, len(s.log) + 1)
        return next((at for at in places if _refuses(m, s, at, number) == why), None)
    guard = s.guards[node]
    effective = m.tables_at(s, len(s.log)).effective
    for at, (command, counts) in enumerate(zip(s.log, effective, strict=True)):
        if guard and counts and command.new == guard.new:
            return at + 1 if at >= begun and _refuses(m, s, at, number) is None else None
    return None


def _refuses(m: Members, s: Group0State, place: int, number: int) -> str | None:
    return objection(m.tables_at(s, place).schema, m.clients[number].statement)


def _witness(m: Members, s: Group0State, action: Any, number: int) -> str:
    text = m.clients[number].text
    if isinstance(action, Validate):
        applied = s.indexes[m.number(action.node)].applied
        why = _refuses(m, s, applied, number)
        return f"{text} is refused ({why}), after another client's success had changed that"
    return f"{text} succeeds, where the state before it did not allow it"
