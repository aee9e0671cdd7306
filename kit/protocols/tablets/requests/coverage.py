"""The events that a tablet's requests can see of a transition, and which of them a step takes."""

from __future__ import annotations

from typing import Any

from kit.engine.model import TransitionRows
from kit.protocols.storage.actions import Commit
from kit.protocols.storage.rules.history import RangeEpoch
from kit.protocols.tablets.requests.history import stage_of
from kit.protocols.tablets.requests.model import TabletRequests


def rows(model: TabletRequests) -> TransitionRows:
    """A row for each event of the history: the stage that it leads from, and its verb."""
    names = {_row(epoch, edge.verb) for epoch in model.history.epochs for edge in epoch.edges}

    def taken(before: Any, action: Any, after: Any) -> tuple[str, ...]:
        return (_row(model.newest(before), action.verb),) if isinstance(action, Commit) else ()

    return TransitionRows(tuple(sorted(names)), taken)


def _row(epoch: RangeEpoch, verb: str) -> str:
    return f"{stage_of(epoch)}: {verb}"
