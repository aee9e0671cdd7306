"""Scenario files: one text is a lesson, a golden test and something that the player opens.

The first lines say why it is worth seeing and what is played; then come steps, each with what is
shown after it. Blank lines part them; lines that begin with ``#`` are comments::

    # A joiner gets every write before anything is read from it.
    model tcm
    rf 3
    operations ["bootstrap X --tokens 150"]
    off range-locks

    bootstrap X --tokens 150
    catch up
    rows
    ----
    bootstrap X at 150 begins: Epoch 1: split ranges ...

A parameter's value is JSON, or else plain text. A step is lines of verbs and of what to show, then
``----``. Verbs are the model's own (``apply B``; one that must wait shows why) and ``next``,
``milestone``, ``quiet`` (on until no news is in flight), ``back``, ``catch up``. Of every model can
be shown ``verdicts``, ``waiting`` and ``enabled`` (after the last two the beginning of the verbs
that are meant); ``rows``, ``log`` and so on of those whose registry entry has such output.
"""

from copy import copy
from inspect import signature
from itertools import groupby
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.edge.arguments import checked
from kit.edge.reading import read_text
from kit.errors import BadInput
from kit.model import registry
from kit.model.family import families
from kit.model.model import LaterCase, Model
from kit.model.timeline import Timeline, catch_up

MOST_BYTES = 1_000_000
MOST_NAMED = 6
RULE = "----"


class ScriptLine(Struct, frozen=True):
    """A line of a file with its number, from 1."""

    number: int
    text: str


class ScriptStep(Struct, frozen=True):
    """The lines above a rule: comments and commands; and those below it, what is shown."""

    above: tuple[ScriptLine, ...]
    below: tuple[ScriptLine, ...]

    @property
    def commands(self) -> tuple[ScriptLine, ...]:
        """The verbs and what to show, in order."""
        return tuple(line for line in self.above if not line.text.startswith("#"))


class Script(Struct, frozen=True):
    """A file, taken apart: its name, why it is worth seeing, the header's lines, the steps."""

    name: str
    why: str
    header: tuple[ScriptLine, ...]
    steps: tuple[ScriptStep, ...]

    @property
    def remarks(self) -> bool:
        """Whether comments stand at its steps."""
        return any(len(step.commands) < len(step.above) for step in self.steps)


def files() -> dict[str, Path]:
    """The scenario files that come with the kit, by name: ``dataplane/anomaly-lost-write``."""
    return {
        f"{family.name}/{path.stem}": path
        for family in families()
        for path in sorted((family.folder / "scenarios").glob("*.txt"))
    }


@checked
def file_named(name: str) -> Path:
    """The kit's scenario file of this name. Raises BadInput naming near ones for others."""
    known = files()
    registry.check_one_of("story", name, known)
    return known[name]


@checked
def open_file(path: str | Path) -> Timeline:
    """The history that a scenario file tells, to be looked at from its start.

    Raises BadInput when the file cannot be read, or naming the line that is wrong.
    """
    return open_script(parse(read(path), str(path)))


@checked
def open_script(script: Script) -> Timeline:
    """The same of a file that was taken apart."""
    timeline, _ = run(script)
    timeline.goto(0)
    return timeline


@checked
def differences(script: Script) -> tuple[str, ...]:
    """A line for each step that shows something else than the file says below its rule.

    A file that says nothing there claims nothing.
    """
    _, shown = run(script)
    return tuple(
        f"{script.name}:{step.below[0].number}: this step now shows something else: {texts[:1]}"
        for step, texts in zip(script.steps, shown, strict=True)
        if step.below and tuple(line.text for line in step.below) != texts
    )


@checked
def read(path: str | Path) -> str:
    """The text of a file. Raises BadInput when it cannot be read, is not UTF-8, or is too large."""
    return read_text(path, "file", MOST_BYTES)


@checked
def parse(text: str, name: str = "scenario") -> Script:
    """A file's text, taken apart, in today's words. Raises BadInput naming file and line."""
    numbered = enumerate(text.splitlines(), start=1)
    lines = [ScriptLine(number, line.rstrip()) for number, line in numbered]
    parted = groupby(lines, key=lambda line: bool(line.text))
    blocks = [tuple(block) for is_full, block in parted if is_full]
    if not blocks or not blocks[0][0].text.startswith("#"):
        first = blocks[0][0] if blocks else ScriptLine(1, "")
        raise _wrong(name, first, "a comment that says why, and then `model NAME`")
    header, *rest = blocks
    comments = [line.text.lstrip("# ") for line in header if line.text.startswith("#")]
    steps = tuple(_step(name, block) for block in rest)
    return Script(name, " ".join(comments), header, steps)


def _step(name: str, block: tuple[ScriptLine, ...]) -> ScriptStep:
    texts = [line.text for line in block]
    if RULE not in texts:
        raise _wrong(name, block[-1], f"a line {RULE} after the commands")
    at = texts.index(RULE)
    step = ScriptStep(block[:at], block[at + 1 :])
    if not step.commands:
        raise _wrong(name, block[at], f"a command above {RULE}")
    return step


def _wrong(name: str, line: ScriptLine, allowed: str) -> BadInput:
    return BadInput(f"{name}:{line.number}", line.text, allowed)


@checked
def model_for(script: Script) -> Model[Any, Any]:
    """The model that the header describes. Raises BadInput naming the line that is wrong."""
    given = [line for line in script.header if not line.text.startswith("#")]
    first = given[0] if given else script.header[-1]
    word, _, model = first.text.partition(" ")
    if word != "model" or not model:
        raise _wrong(script.name, first, "`model NAME` after the comment")
    parameters: dict[str, str] = {}
    off: tuple[str, ...] = ()
    for line in given[1:]:
        word, _, value = line.text.partition(" ")
        if not value.strip() or word in parameters:
            raise _wrong(script.name, line, "a parameter and its value, no parameter twice")
        if word == "off":
            off = (*off, *value.split())
        else:
            parameters[word] = value.strip()
    try:
        entry = registry.entry_of(model.strip())
        return registry.build(entry.name, registry.as_written(entry, parameters), off)
    except BadInput as error:
        place = f"{script.name}:{_blamed(given, error).number} {error.field}"
        raise BadInput(place, error.value, error.allowed) from None


def _blamed(header: list[ScriptLine], error: BadInput) -> ScriptLine:
    for line in header:
        if {error.field, str(error.value)} & set(line.text.split()):
            return line
    return next((line for line in header[1:] if str(error.value) in line.text), header[0])


@checked
def title_of(name: str) -> str:
    """The title of a file that tells a story: its name in words."""
    words = Path(name).stem.replace("-", " ")
    return words[:1].upper() + words[1:]


@checked
def run(script: Script) -> tuple[Timeline, tuple[tuple[str, ...], ...]]:
    """The history of a script, and what each step shows. Raises BadInput with a line."""
    player = _Player(script)
    player.timeline.tell(title_of(script.name), script.why)
    return player.timeline, tuple(map(player.play, script.steps))


class _Player:
    """Carries out the commands of a script, one after the other."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.timeline = Timeline(model_for(script))
        self.output = registry.output_of(self.timeline.model.name)
        self.moves = {
            "next": self.timeline.forward,
            "milestone": self.timeline.to_milestone,
            "quiet": self.timeline.to_quiet,
            "back": self.timeline.back,
        }
        self.tellings = {"catch up": self._catch_up, "verdicts": self._verdicts}

    def play(self, step: ScriptStep) -> tuple[str, ...]:
        """Do what a step says. A comment is about the moment to which the next line leads."""
        shown: list[str] = []
        remarks: list[str] = []
        for line in step.above:
            if line.text.startswith("#"):
                remarks.append(line.text.lstrip("# "))
            else:
                shown += self.do(line)
                if remarks:
                    self.timeline.remark(" ".join(remarks))
                remarks = []
        return tuple(shown)

    def do(self, line: ScriptLine) -> list[str]:
        command = line.text
        word, _, rest = command.partition(" ")
        if command in self.moves:
            moment = self.moves[command]()
            return ["nothing is left to do" if moment is None else moment.say]
        if command in self.tellings:
            return self.tellings[command]()
        if word == "waiting":
            return self._waiting(rest)
        if word == "enabled":
            verbs = map(self.timeline.model.verb, self.timeline.model.actions(self.timeline.state))
            return [", ".join(verb for verb in verbs if verb.startswith(rest)) or "nothing"]
        if word in self.output:
            return self._show(line, word, rest.strip())
        return self._act(line)

    def _show(self, line: ScriptLine, word: str, rest: str) -> list[str]:
        if rest and list(signature(self.output[word]).parameters)[-1] == "_":
            raise _wrong(self.script.name, line, f"{word} alone, with no words after it")
        try:
            shown = self.output[word](self.timeline.model, self.timeline.state, rest)
        except BadInput as error:
            raise _wrong(self.script.name, line, error.allowed) from None
        return [text for text in shown.splitlines() if text]

    def _act(self, line: ScriptLine) -> list[str]:
        model, state = self.timeline.model, self.timeline.state
        option = model.find(state, line.text)
        if option is None:
            verbs = [model.verb(action) for action, _ in model.options(state)]
            known = [*self.moves, *self.tellings, "waiting", "enabled", *self.output]
            raise _wrong(self.script.name, line, registry.one_of(line.text, [*verbs, *known]))
        action, refusal = option
        return [self.timeline.do(action).say if refusal is None else f"refused: {refusal.reason}"]

    def _catch_up(self) -> list[str]:
        model = self.timeline.model
        done = list(catch_up(model, self.timeline.state))
        self.timeline.run(done)
        verbs = list(dict.fromkeys(map(model.verb, done)))
        if len(verbs) <= MOST_NAMED:
            return [", ".join(verbs) or "no node lags"]
        return [f"{verbs[0]}, {verbs[1]} … {verbs[-1]}: {len(done)} steps"]

    def _verdicts(self) -> list[str]:
        verdicts = self.timeline.verdicts()
        out = [
            f"Broken: {verdict.title}. {verdict.witness}"
            + (f"; {verdict.cost.remark()}" if verdict.cost else "")
            for verdict in verdicts
            if not verdict.ok
        ]
        return out or [
            f"all {len(verdicts)} promises hold" if verdicts[1:] else "the one promise holds"
        ]

    def _waiting(self, beginning: str) -> list[str]:
        model = self.timeline.model
        lines = []
        for action, refusal in model.waiting(self.timeline.state):
            if model.verb(action).startswith(beginning):
                lines.append(f"{model.verb(action)}: {refusal.reason}")
                lines += [f"  {evidence}" for evidence in refusal.evidence]
        return lines or ["nothing waits"]


class Begun(Struct, frozen=True):
    """A run, and the model that goes on from its end: its states are those of ``run.model``."""

    run: Timeline
    model: Model[Any, Any]

    @property
    def actions(self) -> tuple[Any, ...]:
        """The run's actions: before what is done in ``model``, they are a run of ``run.model``."""
        return self.run.actions()


@checked
def begun(run: Timeline) -> Begun:
    """A model that starts where a run has come to; its monitors remember that run."""
    state, memories = run.state, run.memories()
    later = copy(run.model)
    monitors = tuple(
        replace(monitor, begin=lambda memory=memory: memory)
        for monitor, memory in zip(run.model.monitors, memories, strict=True)
    )
    vars(later).update(start=lambda: state, monitors=monitors)
    return Begun(run, later)


@checked
def begun_by(case: LaterCase, off: tuple[str, ...] = ()) -> Begun:
    """The model of a case, without the safeguards ``off``, at the end of its first lines.

    Raises BadInput when there is no such file or line.
    """
    script = parse(read(file_named(case.scenario)), case.scenario)
    header = tuple(line for line in script.header if not line.text.startswith("off "))
    if off:
        header = (*header, ScriptLine(header[-1].number, f"off {' '.join(off)}"))
    timeline, _ = run(replace(script, header=header, steps=_before(script, case.before)))
    return begun(timeline)


def _before(script: Script, text: str) -> tuple[ScriptStep, ...]:
    for place, step in enumerate(script.steps):
        for number, line in enumerate(step.above):
            if line.text == text:
                return (*script.steps[:place], ScriptStep(step.above[:number], ()))
    raise BadInput("before", text, f"a line of {script.name}")
