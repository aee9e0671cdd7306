"""Two worlds as one model: each goes its own way, and nothing passes between them.

So one Player has both: one time bar, one history, branches that change either. The two stories
are woven together at the rows of their pair: first what happens in one, then in the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from kit.engine.compose import Product
from kit.engine.model import Property
from kit.engine.timeline import Timeline
from kit.errors import Refusal
from kit.protocols.worlds.alignment import TITLES, WORLDS, Aligned, Meeting

PREMISE = (
    "One question in two worlds: epochs in the picture, the topology coordinator beside it. "
    "Nothing passes between them. A milestone is a moment that both have."
)


class SideBySide(Product):
    """The two models of a pair. A verb begins with its world: ``epochs apply B``."""

    def __init__(self, given: Aligned) -> None:
        """The models of an aligned pair, each at its start."""
        self.aligned = given
        self.title = given.pair.question
        parts = dict(zip(WORLDS, given.models, strict=True))
        super().__init__(f"worlds/{given.pair.name}", parts)
        self.properties = tuple(self._promises())
        self.premise = PREMISE
        self.rows: dict[tuple[Any, Any], Meeting] = {}
        self.moments: tuple[int, ...] = ()

    def _promises(self) -> Iterator[Property]:
        """What each world promises, by names that say in which; *sometimes* says nothing here."""
        for world, model in self.parts.items():
            for prop in model.properties:
                if prop.kind in ("always", "step"):
                    title = f"{TITLES[world]}: {prop.title}"
                    yield replace(
                        self._lifted(world, prop), name=f"{world}:{prop.name}", title=title
                    )

    def _lifted(self, world: str, prop: Property) -> Property:
        if prop.kind == "always":
            return prop.within(lambda s: getattr(s, world))

        def check_step(before: Any, action: Any, after: Any) -> str | None:
            part, own = self.part_of(action)
            if part != world:
                return None
            return prop.of_step(getattr(before, world), own, getattr(after, world))

        return replace(prop, check=check_step, on=())

    def verb(self, action: Any) -> str:
        """The world, then its own words."""
        return f"{self.part_of(action)[0]} {super().verb(action)}"

    def label(self, s: Any, action: Any) -> str:
        """The same for a button."""
        return f"{self.part_of(action)[0]}: {super().label(s, action)}"

    def describe(self, before: Any, action: Any, after: Any) -> str:
        """The world, then what its model says."""
        said = super().describe(before, action, after)
        return f"{TITLES[self.part_of(action)[0]]}: {said}"

    def find(self, s: Any, verb: str) -> tuple[Any, Refusal | None] | None:
        """The option of a world that goes by the words behind its name."""
        world, _, own = verb.partition(" ")
        option = self.parts[world].find(getattr(s, world), own) if world in self.parts else None
        return None if option is None else (self.wrap[world](option[0]), option[1])

    def suggest(self, s: Any) -> Any | None:
        """What the first world suggests that is not at its end."""
        for world, model in self.parts.items():
            if (action := model.suggest(getattr(s, world))) is not None:
                return self.wrap[world](action)
        return None

    def milestone(self, before: Any, action: Any, after: Any) -> str | None:
        """The row that this step completes."""
        met = self.rows.get((action, after))
        return met.row.title if met else None

    def place(self, key: str, before: Any, after: Any) -> str:
        """Each world's picture has its own keys: the one that acts is the one that changed."""
        return placed(key, "topology" if before.epochs is after.epochs else "epochs")


def placed(key: str, world: str) -> str:
    """The key of something in the picture of a world, in the picture of both."""
    return f"{key}@{world}"


def woven(given: Aligned) -> Iterator[tuple[str, Any, Meeting | None]]:
    """The actions of both stories in the order of their rows, with the row that each completes.

    Up to a row one world goes first, then the other; at the end both go on to theirs.
    """
    ends = [*(met.steps for met in given.met), (len(given.actions[0]), len(given.actions[1]))]
    before = (0, 0)
    for steps, met in zip(ends, [*given.met, None], strict=True):
        acts = [
            (world, action)
            for world, name in enumerate(WORLDS)
            for action in given.actions[world][before[world] : steps[world]]
        ]
        for at, (world, action) in enumerate(acts, start=1):
            yield WORLDS[world], action, met if at == len(acts) else None
        before = steps


def run_of(given: Aligned) -> Timeline:
    """Both stories of a pair as one run, looked at from its start: every row is a milestone."""
    model = SideBySide(given)
    way = [(model.wrap[world](action), met) for world, action, met in woven(given)]
    timeline = Timeline(model, tuple(model.verb(wrapped) for wrapped, _ in way))
    timeline.tell(given.pair.question, model.premise)
    ends = []
    for wrapped, met in way:
        if met is not None:
            model.rows[wrapped, model.apply(timeline.state, wrapped)] = met
        timeline.do(wrapped)
        if met is not None:
            timeline.remark(f"{met.row.verdict.capitalize()}: {met.row.claim}")
            ends.append(timeline.at)
    model.moments = tuple(ends)
    timeline.goto(0)
    return timeline
