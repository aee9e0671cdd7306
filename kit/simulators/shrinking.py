"""Making a failing simulation small: whole operations first, then events, then single actions.

Nodes that have to follow follow by themselves, so that leaving out an event leaves a run that goes
on. Delta debugging, as in :mod:`kit.fuzz_shrink`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from kit.fuzz_shrink import Judges, shrink
from kit.simulators.columns import Columns
from kit.simulators.driving import Driver
from kit.tcm.cluster import TcmCluster
from kit.tcm.rules_metadata import Begin, Event

MANY = 250  # actions: a longer run stays as it is once no event can be left out

T = TypeVar("T")


def smaller(model: TcmCluster, actions: Sequence[Any], column: str) -> tuple[Any, ...]:
    """A shorter run that does not keep the same column.

    Without any one of its events it would keep it; nor is any single action without need, unless
    there are very many.
    """
    columns = Columns(model)
    events = [action.action for action in actions if isinstance(action.action, Event)]
    trials: dict[tuple[Event, ...], tuple[Any, ...] | None] = {}

    def run(kept: list[Event]) -> tuple[Any, ...] | None:
        key = tuple(kept)
        if key not in trials:
            trials[key] = _fails(columns, kept, column)
        return trials[key]

    if run(events) is None:
        return tuple(actions)
    nodes = least(
        list(dict.fromkeys(map(node_of, events))),
        lambda some: run([e for e in events if node_of(e) in some]) is not None,
    )
    events = [event for event in events if node_of(event) in nodes]
    events = least(events, lambda some: run(some) is not None)
    kept = run(events) or tuple(actions)
    if len(kept) > MANY:
        return kept
    judged = tuple(p for p in columns.properties() if p.name == column)
    return shrink(model, kept, column, Judges(judged, (), (), ()))[0]


def node_of(event: Event) -> str:
    """The node whose operation an event belongs to."""
    return event.operation.node if isinstance(event, Begin) else event.node


def least(things: list[T], fails: Callable[[list[T]], bool]) -> list[T]:
    """A part of the things that still fails, and does not without any one of them."""
    parts = 2
    while len(things) >= 2:
        size = -(-len(things) // parts)
        for start in range(0, len(things), size):
            rest = [*things[:start], *things[start + size :]]
            if fails(rest):
                things, parts = rest, max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(2 * parts, len(things))
    return things


def _fails(columns: Columns, events: list[Event], column: str) -> tuple[Any, ...] | None:
    """The actions up to the failure; None when the column is kept after all."""
    driver = Driver(columns.model)
    for event in events:
        if isinstance(event, Begin) or driver.metadata.sequence(event.node) is not None:
            driver.bring_about(event)
            if columns.looked(driver.state.tcm.events).fault(column) is not None:
                return tuple(driver.actions)
    return None
