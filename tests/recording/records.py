"""What was recorded of each model, how it is made, and what differs from it.

``configurations.toml`` says at what the recorder looks; below ``recorded`` lies a file for each
family, with a block for each look, each scenario and each story that a file tells. A look has a
line for each type of action: how often it was done and refused, and a digest of its lines in each
column of ``walking``; and a line for each refusal's sentence, with how often it came. A story has a
line of its own run, one of all that could be done there, and one of walks that leave it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct, convert, field
from msgspec.structs import replace

from kit.errors import BadInput
from kit.model.family import families
from kit.model.model import Model
from kit.model.parameters import plainly
from kit.model.registry import Scenario, build, entry_of, output_of
from kit.model.scenario import file_named, files, open_file
from kit.model.scenario import read as text
from kit.model.timeline import Timeline
from kit.model.trace import dumps
from tests.recording.walking import COLUMNS, STATE, Line, Step, Visit

HERE = Path(__file__).parent
RECORDED = HERE / "recorded"
LONGEST_SCENARIO = 150
"""Steps of a scenario that are recorded: by then each has told its story."""
REFUSED = "refused: "
FILE = "file"
AROUND, ASTRAY = "(around)", "(astray)"
WALKS, STEPS, MOST_DONE = 6, 40, 1500
"""Of a scenario's configuration, with each choice of safeguards; and the most steps that are taken
then.
"""
_CELL = re.compile(r"(\w[\w ]*) ([0-9a-f]+)(?:, |$)")

Row = dict[str, str]
Block = dict[str, Row]
"""By line of a block (a type of action, a sentence), its cells by name."""


class Look(Struct, frozen=True, forbid_unknown_fields=True):
    """A configuration of a model: every reachable state, or what ``walks`` drawn walks meet.

    ``deep`` is too large for every landing.
    """

    about: str
    parameters: dict[str, Any] = field(default_factory=dict)
    off: tuple[str, ...] = ()
    walks: int = 0
    steps: int = 60
    deep: bool = False

    def visit(self, model: str) -> Visit:
        """A visit of this configuration that is still to be made."""
        return Visit(build(model, self.parameters, self.off), walks=self.walks, steps=self.steps)


class Looks(Struct, frozen=True, forbid_unknown_fields=True):
    """All looks at a model, and what none of them meets, each with the reason.

    ``not_done`` are types of action, ``not_said`` sentences of refusals.
    """

    looks: tuple[Look, ...]
    not_done: dict[str, str] = field(default_factory=dict)
    not_said: dict[str, str] = field(default_factory=dict)


@cache
def table() -> dict[str, Looks]:
    """What is looked at, by model."""
    text = (HERE / "configurations.toml").read_text(encoding="utf-8")
    return convert(tomllib.loads(text), dict[str, Looks])


class _Digests:
    """The digests of lines, by type of action and column; order is the states' alone."""

    def __init__(self) -> None:
        self._hashes: dict[tuple[str, str], Any] = {}

    def add(self, line: Line) -> None:
        """Take a line in."""
        key = line.kind, line.column
        if key not in self._hashes:
            self._hashes[key] = blake2b(digest_size=6)
        self._hashes[key].update(line.text.encode() + b"\n")

    def of(self, kind: str) -> Row:
        """The digests of a type of action, by column."""
        found = {c: self._hashes[kind, c] for c in COLUMNS if (kind, c) in self._hashes}
        return {column: each.hexdigest() for column, each in found.items()}


def look_at(visit: Visit) -> Block:
    """The block of a visit."""
    digests = _Digests()
    for line in visit.lines():
        digests.add(line)
    block = {STATE: {"seen": str(visit.states), **digests.of(STATE)}}
    for kind in sorted({*visit.done, *visit.refused}):
        counts = {"done": visit.done.get(kind, 0), "refused": visit.refused.get(kind, 0)}
        block[kind] = {**{name: str(count) for name, count in counts.items()}, **digests.of(kind)}
    for sentence, times in sorted(visit.sentences.items()):
        block[REFUSED + sentence] = {"times": str(times)}
    return block


@cache
def told_in_files() -> dict[str, str]:
    """The model of each story that a file tells."""
    models = {
        story: re.findall(r"^model (\w+)$", text(path), re.M) for story, path in files().items()
    }
    return {story: model for story, [model] in models.items()}


def led_on(timeline: Timeline, most: int) -> Timeline:
    """The timeline itself, led on to its end if it has one; it gets at most so many moments."""
    while len(timeline.path()) < most and timeline.forward() is not None:
        pass
    return timeline


def played(model: str, scenario: Scenario) -> Timeline:
    """A scenario that was played."""
    timeline = Timeline(build(model, scenario.parameters, scenario.off), scenario.script)
    return led_on(timeline, LONGEST_SCENARIO + 1)


def block_along(timeline: Timeline, reader: Callable[[Step], None] | None = None) -> Block:
    """The block of a story: its saved trace, what is said along it, what its file may show; around
    it, all that could be done at each of its moments; and where one may go astray.
    """
    model = timeline.model
    trace = replace(timeline.save(), kit="")
    told = "\n".join(f"{moment.say} {moment.milestone}" for moment in timeline.moments)
    output = output_of(model.name)
    shown = "\n".join(_shown(each, timeline) for each in output.values())
    row = {"steps": str(len(trace.steps)), "trace": _digest(dumps(trace)), "words": _digest(told)}
    return {
        STATE: row | ({"shown": _digest(shown)} if output else {}),
        AROUND: _in_all([Visit(model, run=timeline.actions())], reader),
        ASTRAY: _in_all(_astray(model), reader),
    }


def _astray(model: Model[Any, Any]) -> Iterator[Visit]:
    """Drawn walks from the start of a model: as it is, and with more and more safeguards off."""
    draw = Random(model.name)
    names = [each.name for each in model.safeguards]
    for number in sorted({0, 1, 2, len(names)}):
        off = {*model.off, *draw.sample(names, min(number, len(names)))}
        spoiled = build(model.name, plainly(model.parameters), tuple(sorted(off)))
        yield Visit(spoiled, walks=WALKS, steps=STEPS)


def _in_all(visits: Iterable[Visit], reader: Callable[[Step], None] | None) -> Row:
    """What visits say, in one row."""
    digests, done, refused = _Digests(), 0, 0
    for visit in visits:
        visit.reader = reader
        for line in visit.lines():
            digests.add(line._replace(kind=AROUND))
            if visit.transitions > MOST_DONE:
                break
        done, refused = done + visit.transitions, refused + sum(visit.refused.values())
    return {"done": str(done), "refused": str(refused), **digests.of(AROUND)}


def _shown(output: Callable[[Any, Any, str], str], timeline: Timeline) -> str:
    """What a file may show of each moment; or why not, where it has to say of whom."""
    try:
        return "\n".join(output(timeline.model, each.state, "") for each in timeline.moments)
    except BadInput as error:
        return str(error)


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=6).hexdigest()


def blocks_of(model: str, *, deep: bool = False) -> Iterator[tuple[str, Block]]:
    """What a model says now, each block by its name; ``deep``: the large looks alone."""
    for name in names_of(model, deep=deep):
        yield name, block_of(name)


def block_of(name: str, reader: Callable[[Step], None] | None = None) -> Block:
    """What a model says now in one block; ``reader`` is told of each step of a look on the way."""
    model, about = name.split(": ", 1)
    for look in table()[model].looks:
        if look.about == about:
            visit = look.visit(model)
            visit.reader = reader
            return look_at(visit)
    kind, story = about.split(" ", 1)
    if kind == FILE:
        return block_along(open_file(file_named(story)), reader)
    scenario = next(each for each in entry_of(model).scenarios if each.name == story)
    return block_along(played(model, scenario), reader)


def names_of(model: str, *, deep: bool | None = None) -> list[str]:
    """The names of a model's blocks, in their order; ``deep``: the large looks alone, or all but
    them.
    """
    looks = [each.about for each in table()[model].looks if deep in (None, each.deep)]
    scenarios = [f"scenario {each.name}" for each in entry_of(model).scenarios]
    told = [f"{FILE} {story}" for story, its in told_in_files().items() if its == model]
    return [f"{model}: {about}" for about in looks + ([] if deep else scenarios + told)]


def file_of(model: str) -> Path:
    """The file with what was recorded of a model: its family's."""
    family = next(family for family in families() if model in family.models)
    return RECORDED / f"{family.name}.txt"


def read(path: Path) -> dict[str, Block]:
    """The blocks in a file."""
    blocks: dict[str, Block] = {}
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for line in filter(None, lines):
        if not line.startswith("  "):
            blocks[line] = block = {}
            continue
        name, _, cells = line.strip().rpartition(" = ")
        block[name] = dict(_CELL.findall(cells))
    return blocks


def written(blocks: Mapping[str, Block]) -> str:
    """The text of such a file."""
    texts = [
        "\n".join([name, *(f"  {row} = {_cells(cells)}" for row, cells in block.items())])
        for name, block in blocks.items()
    ]
    return "\n\n".join(texts) + "\n"


def _cells(row: Row) -> str:
    return ", ".join(f"{name} {value}" for name, value in row.items())


def rewrite(model: str, found: Mapping[str, Block]) -> None:
    """Record these blocks of a model; of others, what is known stays if it is still looked at."""
    path = file_of(model)
    known = {**read(path), **found}
    family = next(family for family in families() if model in family.models)
    names = [name for each in family.models for name in names_of(each)]
    kept = {name: known[name] for name in names if name in known}
    path.write_text(written(kept), encoding="utf-8")


def differences(model: str, found: Iterable[tuple[str, Block]]) -> Iterator[str]:
    """A line for each type of action or sentence that is not as it was recorded."""
    known = read(file_of(model))
    for name, block in found:
        recorded = known.get(name)
        if recorded is None:
            yield f"{name}: nothing is recorded of it"
            continue
        for row in dict.fromkeys([*recorded, *block]):
            was, now = recorded.get(row), block.get(row)
            if was == now:
                continue
            if was is None or now is None:
                yield f"{name}: {row}: {'new' if was is None else 'gone'}"
                continue
            cells = [cell for cell in {**was, **now} if was.get(cell) != now.get(cell)]
            yield f"{name}: {row}: {', '.join(_change(c, was, now) for c in cells)}"


def _change(cell: str, was: Row, now: Row) -> str:
    """What became of a cell: counts are told, of digests only that they differ."""
    if cell in (*COLUMNS, "trace", "shown"):
        return f"{cell} differs"
    return f"{cell} was {was.get(cell)}, is {now.get(cell)}"
