"""Two worlds in the registry: a model for each pair, and a scenario that tells its stories."""

from functools import cache
from typing import Any

from msgspec.structs import replace

from kit.errors import BadInput
from kit.model.model import Model, Safeguard
from kit.model.parameters import plainly
from kit.model.registry import Entry, Scenario, build, entry_of, one_of
from kit.protocols.worlds.alignment import WORLDS, Pair, aligned
from kit.protocols.worlds.facts import PAIRS, pair_named
from kit.protocols.worlds.side_by_side import SideBySide, WorldsParameters, of_worlds

_played = cache(aligned)
"""The stories as their files tell them, with the safeguards on, whatever is off in a pair."""


def _built(given: WorldsParameters, off: tuple[str, ...]) -> SideBySide:
    sound = SideBySide(_played(pair_named(given.pair)))
    known = [each.name for each in sound.safeguards]
    for name in off:
        if name not in known:
            raise BadInput("safeguard", name, f"in pair {given.pair}, {one_of(name, known)}")
    models = tuple(_without(model, world, off) for world, model in sound.parts.items())
    return SideBySide(replace(sound.aligned, models=models)) if off else sound


def _without(model: Model[Any, Any], world: str, off: tuple[str, ...]) -> Model[Any, Any]:
    own = tuple(each.removeprefix(f"{world}:") for each in off if each.startswith(f"{world}:"))
    return build(model.name, plainly(model.parameters), own) if own else model


def _safeguards(pair: Pair) -> tuple[Safeguard, ...]:
    stories = zip(WORLDS, pair.stories, strict=True)
    models = {world: entry_of(story.partition("/")[0]) for world, story in stories}
    return of_worlds(pair.name, {world: entry.safeguards for world, entry in models.items()})


SAFEGUARDS = {each.name: each for pair in reversed(PAIRS) for each in _safeguards(pair)}
"""Those of all pairs, each as in the first pair that has it."""
ENTRY = Entry(
    name="worlds",
    title=SideBySide.title,
    parameters=WorldsParameters,
    build=_built,
    safeguards=tuple(SAFEGUARDS.values()),
    scenarios=tuple(Scenario(each.scenario, each.question, {"pair": each.name}) for each in PAIRS),
)
