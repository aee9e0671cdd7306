"""Two worlds in the registry: a model for each pair, and a scenario that tells its stories."""

from kit.engine.registry import Entry, Scenario
from kit.protocols.worlds.alignment import aligned
from kit.protocols.worlds.facts.pairs import PAIRS, pair_named
from kit.protocols.worlds.side_by_side import SideBySide, WorldsParameters


def _built(given: WorldsParameters, off: tuple[str, ...]) -> SideBySide:
    return SideBySide(aligned(pair_named(given.pair)))


ENTRY = Entry(
    name="worlds",
    title=SideBySide.title,
    parameters=WorldsParameters,
    build=_built,
    scenarios=tuple(Scenario(each.scenario, each.question, {"pair": each.name}) for each in PAIRS),
)
