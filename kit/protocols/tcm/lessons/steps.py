"""A copy of a Player, brought to where a cell wants it; the Player itself stays where it is.

So that *Run all* leaves each Player that is shown as the text beside it describes.
"""

from kit.errors import BadInput, Refused
from kit.model.registry import check_one_of
from kit.model.scenario import file_named, open_file
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.lessons import cluster_of
from kit.widgets.player import Player


def story(name: str, *, controls: bool = False, ended: bool = False) -> Player:
    """A Player on a story that is told in a scenario file of the kit, at its start or its end.

    ``name`` is the file's, after its model's: ``dataplane/anomaly-lost-write``; else BadInput.
    """
    timeline = open_file(file_named(name))
    timeline.goto(timeline.tip if ended else 0)
    return Player(timeline, controls=controls)


def before(player: Player, verb: str) -> Player:
    """A copy of the Player before the first step of its branch with this verb; else BadInput."""
    return _beside(player, verb, parent=True)


def after(player: Player, verb: str) -> Player:
    """A copy of the Player after the first step of its branch with this verb; else BadInput."""
    return _beside(player, verb)


def _beside(player: Player, verb: str, *, parent: bool = False) -> Player:
    timeline = player.timeline
    verbs = {
        timeline.model.verb(timeline.moments[moment].action): moment
        for moment in reversed(timeline.path()[1:])
    }
    check_one_of("verb", verb, verbs)
    twin = player.copy()
    twin.goto(timeline.moments[verbs[verb]].parent if parent else verbs[verb])
    return twin


def to_epoch(player: Player, epoch: int) -> Player:
    """A copy of the Player at the moment at which ``epoch`` was committed, played as far as needed.

    BadInput when the branch does not get there. A cell that does this shows the same again.
    """
    twin = player.copy()
    timeline = twin.timeline
    m = cluster_of(timeline)
    for moment in timeline.path():
        if facts.epoch(m, timeline.moments[moment].state) == epoch:
            twin.goto(moment)
            return twin
    twin.goto(timeline.tip)
    while facts.epoch(m, timeline.state) < epoch:
        try:
            twin.milestone()
        except Refused:
            break
    last = facts.epoch(m, timeline.state)
    if last != epoch:
        raise BadInput("epoch", epoch, f"an epoch up to {last}, where this branch ends")
    return twin
