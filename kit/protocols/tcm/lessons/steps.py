"""Bringing a Player to where a cell wants it, however far it was played by hand before."""

from __future__ import annotations

from kit.engine.registry import one_of
from kit.engine.scenario import file_named, open_file
from kit.engine.timeline import Moment
from kit.errors import BadInput, Refused
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.lessons.clusters import cluster_of
from kit.widgets.player import Player


def story(name: str, *, controls: bool = False) -> Player:
    """A Player on a story that is told in a scenario file of the kit, looked at from its start.

    ``name`` is the file's, without ``.txt``, after its model's: ``dataplane/anomaly-lost-write``.

    Raises:
        BadInput: for an unknown name, with the nearest ones.
    """
    return Player(open_file(file_named(name)), controls=controls)


def before(player: Player, verb: str) -> Moment:
    """Show the moment before the first step of the branch with this verb; it is still to come.

    Raises:
        BadInput: when the branch has no such step.
    """
    return player.goto(player.timeline.moments[_step(player, verb)].parent)


def after(player: Player, verb: str) -> Moment:
    """Show the moment after the first step of the branch with this verb.

    Raises:
        BadInput: when the branch has no such step.
    """
    return player.goto(_step(player, verb))


def _step(player: Player, verb: str) -> int:
    """The moment that the first step with this verb leads to."""
    timeline = player.timeline
    verbs = {
        timeline.model.verb(timeline.moments[moment].action): moment
        for moment in reversed(timeline.path()[1:])
    }
    if verb not in verbs:
        raise BadInput("verb", verb, one_of(verb, list(verbs)))
    return verbs[verb]


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
