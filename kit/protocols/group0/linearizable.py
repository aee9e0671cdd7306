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
from kit.protocols.group0.actions import BeginOperation, LookUp, Validate
from kit.protocols.group0.rules.schema import objection
from kit.protocols.group0.setup import Setup, put
from kit.protocols.group0.state import Group0State, NodeTables, prefix, tables_after


class Places(Struct, frozen=True, cache_hash=True):
    """What the monitor remembers: the latest place of an answered operation, and where it stood
    when each operation that is under way began (-1: none is).
    """

    answered: int
    begun: tuple[int, ...]
    broken: str | None = None


def linearizability(setup: Setup) -> Monitor:
    """The monitor for these clients' operations."""

    def watch(memory: Places, before: Group0State, action: Any, after: Group0State) -> Places:
        if memory.broken is not None:
            return memory
        if isinstance(action, BeginOperation):
            begun = put(memory.begun, action.operation, memory.answered)
            return Places(memory.answered, begun)
        guard = before.guards[setup.number(action.node)]
        assert guard is not None
        number, answer = guard.operation, after.answers[guard.operation]
        if answer == "running":
            return memory
        ended = put(memory.begun, number, -1)
        if answer == "unknown":
            return Places(memory.answered, ended)
        place = _place(setup, memory.begun[number], before, action, number)
        if place is None:
            return Places(memory.answered, ended, _witness(setup, before, action, number))
        return Places(max(memory.answered, place), ended)

    return Monitor(
        "linearizable",
        "Who begins after another's success sees its effect",
        lambda: Places(0, (-1,) * len(setup.operations)),
        watch,
        lambda memory: memory.broken,
        invariant="INV-LIN",
        on=(BeginOperation, Validate, LookUp),
    )


def _at(setup: Setup, s: Group0State, place: int) -> NodeTables:
    return tables_after(prefix(s.log, place), setup.safeguards)


def _place(
    setup: Setup, begun: int, s: Group0State, action: Validate | LookUp, number: int
) -> int | None:
    """The place of an operation that is answered in this step; None: it has none."""
    node, statement = setup.number(action.node), setup.operations[number].statement
    if isinstance(action, Validate):
        why = objection(_at(setup, s, s.indexes[node].applied).schema, statement)
        places = range(begun, len(s.log) + 1)
        return next((at for at in places if _refuses(setup, s, at, number) == why), None)
    guard = s.guards[node]
    effective = tables_after(s.log, setup.safeguards).effective
    for at, (command, counts) in enumerate(zip(s.log, effective, strict=True)):
        if guard and counts and command.new == guard.new:
            return at + 1 if at >= begun and _refuses(setup, s, at, number) is None else None
    return None


def _refuses(setup: Setup, s: Group0State, place: int, number: int) -> str | None:
    return objection(_at(setup, s, place).schema, setup.operations[number].statement)


def _witness(setup: Setup, s: Group0State, action: Validate | LookUp, number: int) -> str:
    text = setup.operations[number].text
    if isinstance(action, Validate):
        applied = s.indexes[setup.number(action.node)].applied
        why = _refuses(setup, s, applied, number)
        return f"{text} is refused ({why}), after another client's success had changed that"
    return f"{text} succeeds, where the state before it did not allow it"
