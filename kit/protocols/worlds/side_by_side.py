"""Two worlds as one model: each goes its own way, and nothing passes between them.

So one Player has both: one time bar, one history, branches that change either. The two stories
are woven together at the rows of their pair: first what happens in one, then in the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from kit.errors import Refusal
from kit.model.compose import Product
from kit.model.declared import sometimes
from kit.model.model import Property, Safeguard
from kit.protocols.worlds.alignment import TITLES, WORLDS, Aligned, Meeting, PairName


class WorldsParameters(Struct, frozen=True):
    """The parameters of both worlds."""

    pair: Annotated[PairName, Meta(title="question", description="What both worlds answer.")] = (
        "bootstrap"
    )


class SideBySide(Product):
    """The two models of a pair. A verb begins with its world: ``epochs apply B``.

    ``rows`` are the rows of the pair by the states at which both worlds are there, and ``moments``
    the steps of the woven story that lead there.
    """

    title = "One question in two worlds"
    premise = (
        "One question in two worlds: epochs in the picture, and the topology coordinator next to "
        "it. The two models exchange nothing. A milestone is a moment that both worlds have."
    )
    revision = 0  # raised when the stories of a pair begin otherwise; those of its models are added
    parameters: WorldsParameters

    def __init__(self, given: Aligned) -> None:
        super().__init__("worlds", dict(zip(WORLDS, given.models, strict=True)))
        self.aligned, self.title = given, given.pair.question
        self.parameters = WorldsParameters(given.pair.name)
        self.revision += sum(model.revision for model in given.models)
        self.properties = (*self._promises(), *self.properties)
        own = {world: model.safeguards for world, model in self.parts.items()}
        self.safeguards = of_worlds(given.pair.name, own)
        self.off = tuple(f"{world}:{name}" for world, m in self.parts.items() for name in m.off)
        self.rows = {self.meets(met): met for met in given.met}
        self.moments = tuple(sum(met.steps) for met in given.met)
        self._steps = [{now.after: step for step, now in enumerate(story)} for story in given.ways]
        self._woven = tuple(woven(given))

    @sometimes(name="last-row")
    def last_row(self, s: Any) -> bool:
        """Both worlds reach the last row."""
        met = self.rows.get(s)
        return met is not None and met is self.aligned.met[-1]

    def meets(self, met: Meeting) -> Any:
        """The state in which both worlds are at a row."""
        return self.State(*(now.after for now in met.nows))

    def _promises(self) -> Iterator[Property]:
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
        """The next step of the woven story that is still to come in its world.

        A world that has left its story goes on by itself, once the other one has told its own; so
        does one that cannot tell its own to the end, as a safeguard is off.
        """
        at = [
            steps.get(getattr(s, world)) for world, steps in zip(WORLDS, self._steps, strict=True)
        ]
        for number, step in self._woven:
            if at[number] == step - 1:
                planned = self.wrap[WORLDS[number]](self.aligned.ways[number][step].action)
                if self.refusal(s, planned) is None:
                    return planned
        for world, model in self.parts.items():
            if (action := model.suggest(getattr(s, world))) is not None:
                return self.wrap[world](action)
        return None

    def milestone(self, before: Any, action: Any, after: Any) -> str | None:
        """The row whose moment this is in both worlds."""
        met = self.rows.get(after)
        return met.row.title if met else None

    def why_here(self, before: Any, action: Any, after: Any) -> str:
        """The claim of this moment's row, else the reason in the world that acts."""
        met = self.rows.get(after)
        if met is None:
            return super().why_here(before, action, after)
        return f"{met.row.verdict.capitalize()}: {met.row.claim}"

    def place(self, key: str, before: Any, after: Any) -> str:
        """Each world's picture has its own keys: the one that acts is the one that changed.

        The board has no state diagram.
        """
        world = "topology" if before.epochs is after.epochs else "epochs"
        return "" if key.startswith("states:") else placed(key, world)


def placed(key: str, world: str) -> str:
    """The key of something in the picture of a world, in the picture of both."""
    return f"{key}@{world}"


def of_worlds(pair: str, own: Mapping[str, tuple[Safeguard, ...]]) -> tuple[Safeguard, ...]:
    """The safeguards of both worlds in a pair. Names say in which world; so do ids that both have.

    Their smallest configurations are those of the models, and a pair has its own.
    """
    ids = [each.id for safeguards in own.values() for each in safeguards]
    return tuple(
        replace(
            each.shown_by({"pair": pair}),
            name=f"{world}:{each.name}",
            id=each.id if ids.count(each.id) == 1 else f"{world}:{each.id}",
            title=f"{TITLES[world]}: {each.title}",
            wider={},
        )
        for world, safeguards in own.items()
        for each in safeguards
    )


def woven(given: Aligned) -> Iterator[tuple[int, int]]:
    """The steps of both stories in the order of their rows: the world, and the step in its story.

    Up to a row one world goes first, then the other; at the end both go on to theirs.
    """
    before = [0, 0]
    for steps in (*(met.steps for met in given.met), tuple(len(each) - 1 for each in given.ways)):
        for world, step in enumerate(steps):
            yield from ((world, at) for at in range(before[world] + 1, step + 1))
        before = [*steps]
