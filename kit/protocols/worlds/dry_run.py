"""A Player on both worlds."""

from kit.edge.arguments import checked
from kit.model.timeline import Timeline, played_out
from kit.playing.opening import open_named
from kit.protocols.worlds.facts.pairs import pair_named
from kit.widgets.player import Player


def side_by_side_run(name: str) -> Timeline:
    """Both stories of a pair as one run, looked at from its start: every row is a milestone.

    Raises BadInput for a pair that does not exist.
    """
    timeline = played_out(open_named(f"worlds/{pair_named(name).scenario}").timeline)
    timeline.goto(0)
    return timeline


@checked
def side_by_side(name: str = "bootstrap") -> Player:
    """Open a Player for one question that is answered in two worlds, aligned step by step.

    Its milestones are the rows of the table *Alike or not*. Names are in ``python -m kit
    side-by-side``.

    Raises BadInput for a pair that does not exist.
    """
    return Player(side_by_side_run(name), controls=False)
