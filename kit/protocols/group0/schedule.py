"""What comes next in group 0 when nobody chooses: one client after the other, then all catch up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kit.protocols.group0.actions import (
    ApplyCommand,
    BeginOperation,
    CommitCommand,
    Elect,
    FetchSchema,
    InstallSnapshot,
    LookUp,
    MakeStateId,
    ReadBarrier,
    ReadStateId,
    Reconfigure,
    Replicate,
    RestartNode,
    Retry,
    SendRequest,
    ServeTableRequest,
    StepDown,
    Submit,
    Validate,
)
from kit.protocols.group0.rules.voters import is_majority
from kit.protocols.group0.setup import Setup
from kit.protocols.group0.state import Group0State

# A guard that is held comes first, then the log, then who is not needed, then the next client.
_ORDER = (
    *(LookUp, Submit, Validate, MakeStateId, ReadStateId, ReadBarrier),
    *(CommitCommand, StepDown, Retry, Reconfigure, ServeTableRequest, FetchSchema),
)


def suggestion(setup: Setup, s: Group0State, enabled: Sequence[Any]) -> Any | None:
    """The next action of the default schedule among those enabled; None: nothing is left to do."""
    if not s.up >> s.leader & 1:
        mends = Elect if is_majority(s.up, s.voters) and s.left.elections else RestartNode
        mending = next((action for action in enabled if isinstance(action, mends)), None)
        if mending is not None:
            return mending
    for kind in _ORDER:
        for action in enabled:
            if isinstance(action, kind):
                return action
    busy = {setup.names[i] for i, guard in enumerate(s.guards) if guard is not None}
    catching_up = [a for a in enabled if isinstance(a, ApplyCommand | Replicate | InstallSnapshot)]
    needed = [action for action in catching_up if action.node in busy]
    begins = [action for action in enabled if isinstance(action, BeginOperation)]
    restarts = [action for action in enabled if isinstance(action, RestartNode)]
    sends = [action for action in enabled if isinstance(action, SendRequest)]
    return next(iter((*needed, *catching_up, *restarts, *begins, *sends)), None)
