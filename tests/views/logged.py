"""Two-phase commit whose servers write logs, one line of which is markup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.model.flows import ServerLine, ServerLog
from kit.model.timeline import Timeline
from kit.protocols.twophase.twophase import Prepare, ReceivePrepared, TwoPhase
from kit.views.logs import log_panel
from kit.views.registry import Views, register


def writes(model: Any, before: Any, action: Any, after: Any) -> Iterator[ServerLine]:
    """Who prepares says so, in two components; the manager that reads it has words of the kit."""
    if isinstance(action, Prepare):
        yield ServerLine(f"RM{action.rm}", "disk", "prepared <b>for good</b>", phase="voting")
        yield ServerLine(f"RM{action.rm}", "network", "sent a vote")
    if isinstance(action, ReceivePrepared):
        yield ServerLine("TM", "network", f"heard RM{action.rm}", own=True)


def begins(model: Any, state: Any) -> tuple[ServerLine, ...]:
    """The manager has started."""
    return (ServerLine("TM", "disk", "started"),)


class LoggedTwoPhase(TwoPhase):
    """The same protocol under a name that has views of its own."""

    name = "logged"


LOG = log_panel(ServerLog(writes, begins))
register("logged", Views((LOG,)))


def run() -> Timeline:
    """Two managers have prepared, and one was heard."""
    timeline = Timeline(LoggedTwoPhase())
    for action in (Prepare(0), Prepare(1), ReceivePrepared(0)):
        timeline.do(action)
    return timeline
