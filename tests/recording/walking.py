"""Everything that a model says of a configuration, as lines: what the recorder compares.

Every reachable state is visited, the nearest first; or, where there are too many, those on some
drawn walks, or on a run that is given. A line belongs to one of four *columns*:

``content``   states and actions as data, by the names of their fields: what traces hold;
``protocol``  the same graph by numbers and verbs: which options there are, where they lead, all of
              a refusal but its texts' labels, what is suggested, what each property says;
``order``     in which order the options of a state come;
``words``     labels, groups of buttons, sentences, milestones, what travels, lines of server logs,
              the readable form of a state.

States are numbered in the order of verbs, so that neither the order of options nor the form of a
state moves a number: when a field is renamed, ``content`` differs alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from random import Random
from typing import Any, NamedTuple

import msgspec

from kit.errors import Refusal
from kit.model.flows import Flow, flows
from kit.model.model import Model, Property, verdicts
from kit.model.registry import fuzzing_of

COLUMNS = ("content", "protocol", "order", "words")
STATE = "(states)"
SERVER_LOGS = {
    "raft_upgrade": "kit.protocols.upgrade.raft_upgrade:LOG",
    "recovery": "kit.protocols.recovery.recovery:LOG",
    "recovery_mode": "kit.protocols.recovery.recovery_mode:LOG",
}
"""Where the lines of a model's servers come from."""
_NAME = r"(?:[A-Z]\d*|K\d|RM\d+|TM|[a-z]+\d*\.\w+)"
_NAMES = re.compile(rf"\b{_NAME}(?:(?:, | and | or | → | ){_NAME})*\b")
_NUMBER = re.compile(r"\b[0-9a-f]{6,}\b|\d[\d,.:]*\d|\d")
_CLAUSE = re.compile(r"; (?:and )?")


class Line(NamedTuple):
    """Something a model says: in which column, of which type of action, and the text."""

    column: str
    kind: str
    text: str


class Step(NamedTuple):
    """A step that was taken, what is said of it, and what travels in it."""

    model: Any
    before: Any
    action: Any
    after: Any
    said: str
    flows: tuple[Flow, ...]


@lru_cache(1 << 12)
def sentences_of(reason: str) -> tuple[str, ...]:
    """The clauses of a refusal's sentence without the names and numbers of one moment.

    Where several things are in the way, each has a clause.
    """
    return tuple(_NUMBER.sub("0", _NAMES.sub("X", clause)) for clause in _CLAUSE.split(reason))


def _plain(value: Any) -> Any:
    """What stands for a value that carries its own digest (a log prefix, a ring)."""
    digest = getattr(value, "digest", None)
    if isinstance(digest, bytes):
        return digest.hex()
    raise TypeError(f"a state cannot hold a {type(value).__name__}")


_ENCODER = msgspec.json.Encoder(enc_hook=_plain, order="sorted")


def as_text(value: Any) -> str:
    """A value as JSON with the names of its fields, sorted: whole numbers may be of any size."""
    try:
        return _ENCODER.encode(value).decode()
    except OverflowError:
        return repr(msgspec.to_builtins(value, enc_hook=_plain, order="sorted"))


def kind_of(action: Any) -> str:
    """The type of an action, as its data say it: its tag, behind that of the part that acts."""
    return "/".join(_tags(msgspec.to_builtins(action, enc_hook=_plain)))


def _tags(plain: Any) -> Iterator[str]:
    """A value's own tag, then that of the action or message that it carries."""
    if not isinstance(plain, dict):
        return
    for field in ("part", "type"):
        if isinstance(plain.get(field), str):
            yield plain[field]
    for field in ("action", "envelope", "message"):
        yield from _tags(plain.get(field))


class Visit:
    """One look at a configuration: every reachable state, those on ``walks`` drawn walks, or those
    on a ``run``.

    ``lines`` says all; afterwards ``states``, ``transitions`` and ``refused`` tell how many there
    were, and ``sentences`` how often each refusal's sentence came. ``reader`` is told of each step.
    """

    reader: Callable[[Step], None] | None = None

    def __init__(
        self,
        model: Model[Any, Any],
        *,
        walks: int = 0,
        steps: int = 60,
        run: Sequence[Any] | None = None,
    ) -> None:
        """A look at ``model``; ``steps`` is the most that a walk takes, ``run`` are actions."""
        self.model, self.walks, self.steps, self.run = model, walks, steps, run
        self.numbers: dict[Any, int] = {}
        self.known: list[Any] = []
        self.memories: list[tuple[Any, ...]] = []
        self.done: dict[str, int] = {}
        self.refused: dict[str, int] = {}
        self.sentences: dict[str, int] = {}
        self._always = [p for p in (*model.properties, *model.signs) if p.kind != "step"]
        self._steps = [p for p in (*model.properties, *model.signs) if p.kind == "step"]
        self._kinds: dict[Any, tuple[str, str, str, str]] = {}
        self._found: dict[tuple[str, int], Any] = {}
        place = SERVER_LOGS.get(model.name)
        self._log = None
        if place:
            module, _, name = place.partition(":")
            self._log = getattr(import_module(module), name)

    @property
    def states(self) -> int:
        """How many states were seen."""
        return len(self.known)

    @property
    def transitions(self) -> int:
        """How many steps were taken."""
        return sum(self.done.values())

    def lines(self) -> Iterator[Line]:
        """All lines, state by state."""
        begun = tuple(monitor.begin() for monitor in self.model.monitors)
        self._number(self.model.start(), begun)
        if self._log:
            for line in self._log.begins(self.model, self.known[0]):
                yield Line("words", STATE, f"begins {as_text(line)}")
        if self.run is not None:
            yield from self._passed(self.run)
        else:
            yield from self._drawn() if self.walks else self._reachable()

    def _reachable(self) -> Iterator[Line]:
        number = 0
        while number < len(self.known):
            found, _ = self._of_state(number)
            yield from found
            number += 1

    def _passed(self, run: Sequence[Any]) -> Iterator[Line]:
        """The states of a run with all that could be done in them; each is looked at once."""
        seen: dict[int, dict[Any, int]] = {}
        number = 0
        for action in (*run, None):
            if number not in seen:
                found, steps = self._of_state(number)
                seen[number] = dict(steps)
                yield from found
            number = seen[number].get(action, number)

    def _drawn(self) -> Iterator[Line]:
        """Walks from the start; a state that was looked at before is only passed."""
        seen: dict[int, list[tuple[Any, int]]] = {}
        weights = fuzzing_of(self.model).weights
        for seed in range(self.walks):
            draw, number = Random(seed), 0
            for _ in range(self.steps):
                if number not in seen:
                    found, seen[number] = self._of_state(number)
                    yield from found
                if not seen[number]:
                    break
                chances = [weights.get(self._told(a)[2], 1) for a, _ in seen[number]]
                number = draw.choices(seen[number], chances)[0][1] if any(chances) else 0

    def _number(self, state: Any, memories: tuple[Any, ...]) -> int:
        """The number of a state; a new one gets the next."""
        number = self.numbers.setdefault(state, len(self.known))
        if number == len(self.known):
            self.known.append(state)
            self.memories.append(memories)
        return number

    def _told(self, action: Any) -> tuple[str, str, str, str]:
        """An action's type, verb, group of buttons and data."""
        if (told := self._kinds.get(action)) is None:
            model = self.model
            told = kind_of(action), model.verb(action), model.kind(action), as_text(action)
            self._kinds[action] = told
        return told

    def _of_state(self, number: int) -> tuple[list[Line], list[tuple[Any, int]]]:
        """What there is to say of a state and its options; and the steps from it."""
        model, s = self.model, self.known[number]
        lines: list[Line] = []
        options = list(model.options(s))
        verbs = [self._told(action)[1] for action, _ in options]
        lines.append(Line("content", STATE, f"{number} is {as_text(s)}"))
        lines.append(Line("order", STATE, f"{number} offers {' | '.join(verbs)}"))
        suggestion = model.suggest(s)
        next_one = "nothing" if suggestion is None else model.verb(suggestion)
        judged = "".join(f"; {each}" for each in self._judged(number))
        lines.append(Line("protocol", STATE, f"{number} suggests {next_one}{judged}"))
        readable = model.readable(s)
        if readable is not s:
            lines.append(Line("words", STATE, f"{number} reads {as_text(readable)}"))
        steps = []
        for at in sorted(range(len(options)), key=verbs.__getitem__):
            action, refusal = options[at]
            kind, verb, group, content = self._told(action)
            said = f"{number} {verb} [{group}: {model.label(s, action)}]"
            if refusal is not None:
                self._count(kind, refusal)
                lines.append(Line("content", kind, f"{number} {content}: refused"))
                lines.append(Line("protocol", kind, f"{number} {verb}: {as_text(refusal)}"))
                lines.append(Line("words", kind, said))
                continue
            self.done[kind] = self.done.get(kind, 0) + 1
            after = model.apply(s, action)
            memories = tuple(
                monitor.after(memory, s, action, after)
                for monitor, memory in zip(model.monitors, self.memories[number], strict=True)
            )
            to = self._number(after, memories)
            steps.append((action, to))
            lines.append(Line("content", kind, f"{number} {content}: {to}"))
            broken = self._broken(s, action, after, memories)
            lines.append(Line("protocol", kind, f"{number} {verb}: {to}{broken}"))
            lines.append(Line("words", kind, f"{said} {self._step(s, action, after)}"))
        return lines, steps

    def _count(self, kind: str, refusal: Refusal) -> None:
        self.refused[kind] = self.refused.get(kind, 0) + 1
        for sentence in sentences_of(refusal.reason):
            self.sentences[sentence] = self.sentences.get(sentence, 0) + 1

    def _judged(self, number: int) -> Iterator[str]:
        """What each property says of a state: whether it is so there, or the witness against it."""
        for prop in self._always:
            found = self._verdict(prop, self.known[number])
            if prop.kind == "always":
                yield f"{prop.name} {'ok' if found is None else found}"
            else:
                yield f"{prop.name} {'reached' if found else 'not reached'}"

    def _verdict(self, prop: Property, state: Any) -> Any:
        """What a property says of a state; of the same part of a state it is asked once."""
        if prop.of is None:
            return prop.check(state)
        at = prop.name, id(prop.of(state))  # all states are kept, so no id comes twice
        if at not in self._found:
            self._found[at] = prop.check(state)
        return self._found[at]

    def _broken(self, before: Any, action: Any, after: Any, memories: tuple[Any, ...]) -> str:
        """What properties of steps, and monitors on the way by which a state was found, say."""
        judged = verdicts(self.model, after, before, action, memories, self._steps)
        return "".join(f"; {each.name}: {each.witness}" for each in judged if not each.ok)

    def _step(self, before: Any, action: Any, after: Any) -> str:
        """What is said of a step."""
        model = self.model
        told = [model.describe(before, action, after)]
        moved = flows(model, before, action, after)
        if self.reader:
            self.reader(Step(model, before, action, after, told[0], moved))
        milestone = model.milestone(before, action, after)
        if milestone is not None:
            told.append(f"milestone {milestone}")
        told += map(as_text, moved)
        if self._log:
            told += (as_text(line) for line in self._log.writes(model, before, action, after))
        return " | ".join(told)
