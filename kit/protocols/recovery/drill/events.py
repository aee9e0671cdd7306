"""What no operator does, in either drill: a node crashes or comes back, a client asks something."""

from __future__ import annotations

from collections.abc import Sequence

from kit.engine.drill import CommandReply, DrillMoment
from kit.engine.forms import Given
from kit.errors import BadInput


def happened(now: DrillMoment, given: Given, events: Sequence[str]) -> CommandReply:
    """An event at a node, if the model has it now.

    Raises:
        BadInput: when it has not, naming those of ``events`` that it has.
    """
    m, verb = now.model, f"{given['event']} {given['node']}"
    option = m.find(now.state, verb)
    if option is None:
        able = [m.verb(a) for a in m.actions(now.state) if m.verb(a).split()[0] in events]
        raise BadInput("happen", verb, ", ".join(able) or "nothing now")
    return CommandReply(actions=(option[0],))
