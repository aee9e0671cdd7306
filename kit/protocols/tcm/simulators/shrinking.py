"""Making a failing simulation small: whole operations first, then events, then single actions.

Nodes that have to follow follow by themselves, so that leaving out an event leaves a run that goes
on. Delta debugging, as in ``kit.engine.shrink``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kit.engine.shrink import PropertyJudges, least, shrink
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.rules.history import node_of
from kit.protocols.tcm.rules.metadata import Begin, Event
from kit.protocols.tcm.schedule import Driver
from kit.protocols.tcm.simulators.columns import Columns

MANY = 250  # actions: a longer run stays as it is once no event can be left out


def smaller(model: TcmCluster, actions: Sequence[Any], column: str) -> tuple[Any, ...]:
    """A shorter run that does not keep the same column.

    Without any one of its events it would keep it; nor is any single action without need, unless
    there are very many.
    """
    columns = Columns(model)
    events = tuple(action.action for action in actions if isinstance(action.action, Event))
    trials: dict[tuple[Event, ...], tuple[Any, ...] | None] = {}

    def run(kept: tuple[Event, ...]) -> tuple[Any, ...] | None:
        if kept not in trials:
            trials[kept] = _fails(columns, kept, column)
        return trials[kept]

    def of_nodes(some: tuple[str, ...]) -> tuple[Event, ...]:
        return tuple(event for event in events if node_of(event) in some)

    if run(events) is None:
        return tuple(actions)
    nodes = least(
        tuple(dict.fromkeys(map(node_of, events))),
        lambda some: some if run(of_nodes(some)) is not None else None,
    )
    events = least(of_nodes(nodes), lambda some: some if run(some) is not None else None)
    kept = run(events) or tuple(actions)
    if len(kept) > MANY:
        return kept
    judged = tuple(p for p in columns.properties() if p.name == column)
    return shrink(model, kept, column, PropertyJudges(judged, (), (), ()))[0]


def _fails(columns: Columns, events: tuple[Event, ...], column: str) -> tuple[Any, ...] | None:
    """The actions up to the failure; None when the column is kept after all."""
    driver = Driver(columns.model)
    for event in events:
        if isinstance(event, Begin) or driver.metadata.sequence(event.node) is not None:
            driver.bring_about(event)
            if columns.looked(driver.state.tcm.events).fault(column) is not None:
                return tuple(driver.actions)
    return None
