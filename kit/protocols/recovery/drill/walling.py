"""The firewall of either drill: live nodes refuse the addresses of those that are given up."""

from __future__ import annotations

from collections.abc import Iterable

from kit.engine.drill import CommandReply, DrillMoment
from kit.engine.forms import Given


def dropped(now: DrillMoment, given: Given, dead: Iterable[str], step: object) -> CommandReply:
    """These ``addresses``, too; with those of all the ``dead`` it is the model's ``step``.

    As long as one is left out it is told which.
    """
    marks = tuple(f"dropped {address}" for address in given["addresses"])
    left = [each for each in dead if f"dropped {each}" not in {*now.marks, *marks}]
    if left:
        return CommandReply((f"not refused yet: {', '.join(left)}",), marks=marks)
    return CommandReply(actions=() if now.state.isolated else (step,), marks=marks)
