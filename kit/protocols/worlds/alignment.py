"""A question in two worlds: a story of each, and the moments at which the stories meet.

A row says what happens, and how to recognise it in each world. Its moments are not written down:
they are found in the runs, one row after the other. What a row says of the two is told by the
states that were found; whether its claim is true of them a test asks, so a story that changes
cannot leave a false sentence behind.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from kit.errors import KitError
from kit.model.model import Model
from kit.model.scenario import file_named, open_file
from kit.model.timeline import PassedStep, Timeline

World: TypeAlias = Literal["epochs", "topology"]
WORLDS: tuple[World, World] = ("epochs", "topology")
TITLES: dict[str, str] = {"epochs": "Epochs (CEP-21)", "topology": "Topology over Raft"}
PairName: TypeAlias = Literal[
    "bootstrap", "decommission", "death", "majority", "cancel", "two-at-once"
]


class Now(Struct, frozen=True):
    """A moment of a story: the model, and the step that led here (at the start: none)."""

    m: Any
    before: Any
    action: Any
    after: Any

    @property
    def verb(self) -> str:
        """The step as a line of a scenario file; empty at the start."""
        return "" if self.action is None else self.m.verb(self.action)

    def is_a(self, word: str) -> bool:
        """Whether the step is of this kind: the first word of its verb."""
        return self.verb.partition(" ")[0] == word

    def could(self, word: str) -> set[str]:
        """What else could have been done of this kind at the moment before."""
        verbs = map(self.m.verb, self.m.actions(self.before))
        return {verb.removeprefix(f"{word} ") for verb in verbs if verb.startswith(f"{word} ")}


class Side(Struct, frozen=True):
    """How a row is found in one world, and what is told of it there.

    It is the first moment, behind that of the row above, of which ``is_it`` is true.
    """

    is_it: Callable[[Now], bool]
    says: Callable[[Now], str]


class Row(Struct, frozen=True):
    """Something that happens in both worlds: what is claimed of it there, and a side for each."""

    title: str
    claim: str
    epochs: Side
    topology: Side
    alike: bool = False

    @property
    def verdict(self) -> str:
        """``alike`` or ``differs``."""
        return "alike" if self.alike else "differs"


class Pair(Struct, frozen=True):
    """A question, the scenario files that answer it in each world, and where they meet."""

    name: PairName
    question: str
    stories: tuple[str, str]
    rows: tuple[Row, ...]

    @property
    def scenario(self) -> str:
        """The name of the scenario that tells both; bare names belong to one scenario alone."""
        return f"{self.name}-in-both"


class Meeting(Struct, frozen=True):
    """A row with its moment in each story, and the step (from 0: the start) that leads to it."""

    row: Row
    nows: tuple[Now, Now]
    steps: tuple[int, int]

    @property
    def words(self) -> tuple[str, str]:
        """The words about each world."""
        return self.row.epochs.says(self.nows[0]), self.row.topology.says(self.nows[1])


class Aligned(Struct, frozen=True):
    """A pair with its two models, every moment of each story, and the rows that were met."""

    pair: Pair
    models: tuple[Model[Any, Any], Model[Any, Any]]
    ways: tuple[tuple[Now, ...], tuple[Now, ...]]
    met: tuple[Meeting, ...]


def in_order(names: set[str]) -> str:
    """These names as a list to read."""
    return ", ".join(sorted(names)) or "nobody"


def moments(timeline: Timeline) -> Iterator[Now]:
    """Every moment of a story, from its start."""
    steps: Sequence[PassedStep] = timeline.passed(timeline.tip)
    model = timeline.model
    yield Now(model, None, None, model.start())
    yield from (Now(model, step.before, step.action, step.after) for step in steps)


def aligned(pair: Pair) -> Aligned:
    """Play both stories of a pair and find its rows in them.

    Raises KitError for a row that a story does not have behind the one above: a mistake of the
    pair, not of its reader.
    """
    stories = [open_file(file_named(story)) for story in pair.stories]
    runs = [tuple(moments(timeline)) for timeline in stories]
    at, met = [-1, -1], list[Meeting]()
    for row in pair.rows:
        for world, side in enumerate((row.epochs, row.topology)):
            later = range(at[world] + 1, len(runs[world]))
            step = next((i for i in later if side.is_it(runs[world][i])), None)
            if step is None:
                raise KitError(
                    f"{pair.name}: {pair.stories[world]} has no moment for “{row.title}”"
                )
            at[world] = step
        nows = runs[0][at[0]], runs[1][at[1]]
        met.append(Meeting(row, nows, (at[0], at[1])))
    return Aligned(pair, (stories[0].model, stories[1].model), (runs[0], runs[1]), tuple(met))
