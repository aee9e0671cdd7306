"""Bringing a Player to where a cell wants it, however far it was played by hand before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kit.errors import BadInput, Refused
from kit.lessons.stills import cluster_of
from kit.tcm import facts
from kit.timeline import Moment

if TYPE_CHECKING:
    from kit.widgets.player import Player


def to_epoch(player: Player, epoch: int) -> Moment:
    """Show the moment at which ``epoch`` was committed, going on as far as that takes.

    A cell that does this may be run again, and after any pressing of buttons, and shows the same.

    Raises:
        BadInput: when the branch that is shown does not get to that epoch.
    """
    timeline = player.timeline
    m = cluster_of(timeline)
    for moment in timeline.path():
        if facts.epoch(m, timeline.moments[moment].state) == epoch:
            return player.goto(moment)
    player.goto(timeline.tip)
    while facts.epoch(m, timeline.state) < epoch:
        try:
            player.milestone()
        except Refused:
            break
    last = facts.epoch(m, timeline.state)
    if last != epoch:
        raise BadInput("epoch", epoch, f"one up to {last}, where this branch ends")
    return timeline.now
