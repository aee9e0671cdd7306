"""A Player on both worlds."""

from kit.edge.arguments import checked
from kit.protocols.worlds.facts.pairs import side_by_side_run
from kit.widgets.player import Player


@checked
def side_by_side(name: str = "bootstrap") -> Player:
    """A Player on a question that is answered in two worlds, aligned step by step.

    Its milestones are the rows of the table *Alike or not*. Names are in ``python -m kit
    side-by-side``.

    Raises BadInput for a pair that there is not.
    """
    return Player(side_by_side_run(name), controls=False)
