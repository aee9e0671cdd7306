"""A drill: somebody types an operator's commands, and the model of a family is the cluster.

What is typed is read by the forms of the family (``kit.console.forms``). A command that changes
something is one or more actions of the model, and what the model refuses is the terminal's error.
Nothing runs on the machine. The history is a ``Timeline``, so that a drill is graded by replay.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from msgspec import Struct, structs

from kit.console.forms import HAPPEN, LONGEST_LINE, Form, Given, Grammar, Slot
from kit.edge.arguments import checked
from kit.errors import BadInput, KitError, Refusal, Refused, one_line, shorten
from kit.model.family import drill_places
from kit.model.model import Model
from kit.model.registry import build, check_one_of, entry_of, one_of, scenario_of
from kit.model.timeline import Moment, Timeline, played_out

_ADDRESSED = re.compile(
    r"(?P<before>\s*(?:sudo\s+(?:-u\s+\S+\s+)?)?)"
    r"(?:(?P<tool>nodetool)\s+-h|(?P<shell>cqlsh)(?=\s+\S+(?:\s+9042)?\s+(?:-e|--execute)\b))"
    r"\s+(?P<host>[^\s-]\S*)(?:\s+9042)?\s+(?P<rest>\S.*)"
)
MOST_OWN_STEPS = 100
"""Steps that a cluster does by itself after a command; a model whose own steps have no end is
wrong.
"""
MOST_ENTRIES = 10_000
GO_ON = "…"
"""Among the verbs of what happened before: the cluster does what it does by itself."""
CLEAR, HINT = "clear", "hint"
"""Words that a terminal itself obeys, too: an empty screen, and the next step in sight."""


class DrillMoment(Struct, frozen=True):
    """The situation of a command: the model, the run so far, the machine, what was noted on the
    way.

    ``marks`` are what commands noted that the model does not tell, such as what was read.
    """

    model: Any
    run: tuple[Moment, ...]
    place: str
    marks: frozenset[str] = frozenset()

    @property
    def state(self) -> Any:
        """The state of now."""
        return self.run[-1].state

    @property
    def here(self) -> int:
        """The number of the node whose machine one is on."""
        return self.number(self.place)

    def number(self, name: Any) -> int:
        """The number of a node."""
        return tuple(self.model.names).index(name)

    @property
    def node(self) -> Any:
        """That node."""
        return self.state.nodes[self.here]

    def has(self, action: Any) -> bool:
        """Whether there is something of the kind to do now, be it refused."""
        return self.model.comes_to(self.state, action) is not None


class CommandReply(Struct, frozen=True):
    """The outcome of a command: its lines, and actions in order, another machine, marks.

    ``said`` is told of some of the actions in place of the model's own words.
    """

    lines: tuple[str, ...] = ()
    actions: tuple[Any, ...] = ()
    place: str | None = None
    marks: tuple[str, ...] = ()
    said: Mapping[Any, str] = {}


class CheckedStep(Struct, frozen=True):
    """A step of the procedure: ``done`` as the run tells, or a mark of what was only read.

    ``missed``: it was not done, and can no longer be done.
    """

    name: str
    what: str
    done: bool
    missed: bool = False

    @property
    def text(self) -> str:
        """A sentence on what to do, and that it is too late for it."""
        return f"{self.what} (no longer possible)" if self.missed else self.what


def procedure(
    steps: Mapping[str, tuple[str, Callable[[DrillMoment], bool]]],
    too_late: Mapping[str, Callable[[DrillMoment], bool]] = {},
) -> Callable[[DrillMoment], tuple[CheckedStep, ...]]:
    """The checklist of steps that say, by their names, what is to be done, and know if it is.

    ``too_late`` knows of some of them whether they can no longer be done.
    """

    def checked(now: DrillMoment) -> Iterator[CheckedStep]:
        for name, (what, is_done) in steps.items():
            done = is_done(now)
            missed = not done and name in too_late and too_late[name](now)
            yield CheckedStep(name, what, done, missed)

    return lambda now: tuple(checked(now))


class GradeRow(Struct, frozen=True):
    """A criterion, whether it holds (None: told, not judged), and why."""

    name: str
    holds: bool | None
    why: str


def judged(name: str, wrong: Sequence[str], well: str) -> GradeRow:
    """The row of a criterion: all that is wrong with it, or what holds."""
    return GradeRow(name, not wrong, "; ".join(wrong) or well)


class Grade(Struct, frozen=True):
    """A run, graded: passed where nothing that is judged fails."""

    rows: tuple[GradeRow, ...]

    @property
    def passed(self) -> bool:
        """Whether all that is judged holds."""
        return all(row.holds is not False for row in self.rows)


def steps_needed(model: Model[Any, Any], kinds: tuple[type, ...]) -> int:
    """How many steps of these kinds a model's own schedule takes to its end."""
    timeline = played_out(Timeline(model))
    return sum(isinstance(timeline.moments[at].action, kinds) for at in timeline.path())


def operator_steps(now: DrillMoment, kinds: tuple[type, ...], needed: int) -> GradeRow:
    """How many steps of an operator a run took, beside those that are ``needed``."""
    used = sum(isinstance(step.action, kinds) for step in now.run)
    words = f"{used} by the operator, and the procedure needs {needed}"
    return GradeRow("steps", None, words)


class DrillKind(Struct, frozen=True, kw_only=True):
    """A family's declaration of its drill.

    ``opened`` makes the model that is drilled on of a scenario's, with what may go wrong in it, and
    ``begun`` the verbs of what happened before the operator came, ``GO_ON`` among them.
    ``starts_at`` is the first machine. ``own_step`` is what the cluster does by itself, if
    anything. ``checklist`` and ``grade`` are told by the run, and by marks of what was only read.
    """

    title: str
    task: str
    forms: tuple[Form, ...]
    slots: dict[str, Slot]
    opened: Callable[[Any], Model[Any, Any]]
    starts_at: Callable[[Any], str]
    checklist: Callable[[DrillMoment], tuple[CheckedStep, ...]]
    grade: Callable[[DrillMoment], Grade]
    begun: Callable[[Any], Iterable[str]] = lambda model: ()
    own_step: Callable[[Any, Any], Any] = lambda model, state: None


def drills() -> tuple[str, ...]:
    """The names of all drills: each model that has one, and each of its scenarios.

    A scenario may have a drill of its own, beside its model's or alone.
    """
    return tuple(dict.fromkeys(chain.from_iterable(map(_drills_of, drill_places()))))


def _drills_of(place: str) -> tuple[str, ...]:
    scenarios = () if "/" in place else entry_of(place).scenarios
    return (place, *(f"{place}/{each.name}" for each in scenarios))


@checked
def open_drill(name: str) -> Drill:
    """A drill by the name of a model or scenario. Raises BadInput for a name that no drill has."""
    model, _, scenario = name.partition("/")
    if not any(name in _drills_of(each) for each in drill_places() if each in (name, model)):
        raise BadInput("drill", name, one_of(name, list(drills())))
    given = scenario_of(name)[1] if scenario else None
    places = drill_places()
    family, place = places[name if name in places else model]
    built = build(model, given.parameters if given else {}, given.off if given else ())
    return Drill(family.load(place), built)


class TypedLine(Struct, frozen=True):
    """A line that was typed, on which machine, and what came of it.

    ``lines`` were printed, ``said`` tells the steps that were done, ``error`` is why there is no
    more of either. ``moment`` is the moment of the history after it; ``changed`` tells whether it
    changed something by an operator's hand.
    """

    number: int
    place: str
    typed: str
    lines: tuple[str, ...]
    said: tuple[str, ...]
    error: str
    moment: int
    changed: bool = False


class Drill:
    """A drill under way: its history, the transcript, and the machine that one is on.

    ``timeline`` may be walked and forked by others; a command meets the moment that is shown.
    """

    def __init__(self, kind: DrillKind, model: Model[Any, Any]) -> None:
        self.kind, self._model = kind, model
        self.timeline = Timeline(kind.opened(model))
        for verb in kind.begun(self.timeline.model):
            if verb == GO_ON:
                deque(self._own_steps(), 0)
                continue
            option = self.timeline.model.find(self.timeline.state, verb)
            assert option is not None, verb
            self.timeline.do(option[0])
        self.beginning = self.timeline.at
        self.place = kind.starts_at(self.timeline.model)
        self.transcript: list[TypedLine] = []
        self._marks: dict[int, frozenset[str]] = {self.beginning: frozenset()}
        self.grammar = Grammar((*kind.forms, *_own_forms(self)), {**kind.slots, **OWN_SLOTS})

    @property
    def now(self) -> DrillMoment:
        """The situation of the next command."""
        timeline = self.timeline
        run = tuple(timeline.moments[at] for at in timeline.path(timeline.at))
        marks = (self._marks[each.id] for each in reversed(run) if each.id in self._marks)
        return DrillMoment(timeline.model, run, self.place, next(marks, frozenset()))

    def enter(self, line: str) -> TypedLine:
        """Do what a line says; what is wrong with it is told in the entry, and nothing is lost."""
        lines: tuple[str, ...] = ()
        error, place, before = "", self.place, self.timeline.at
        said: list[str] = []
        changed = False
        try:
            if len(self.transcript) >= MOST_ENTRIES:
                raise BadInput("transcript", MOST_ENTRIES, f"at most {MOST_ENTRIES:,} lines")
            now, rest = self._addressee(line)
            form, given = self.grammar.read(rest, now)
            answer: CommandReply = form.answer(now, given)
            lines = answer.lines
            noted = {*answer.marks} - self.now.marks
            self._do(answer, said)
            asks = form.looks or self.is_own(form) or form.text.startswith(HAPPEN)
            changed = bool(said or noted) and not asks
            if not (lines or said or answer.place or form.looks or self.is_own(form)):
                if not noted:
                    lines = ("(nothing changed: this was already the case)",)
                elif not form.own:
                    lines = (f"(done on {place}: {form.about})",)
        except KitError as wrong:
            error = one_line(str(wrong))
        typed = one_line(line) if len(line) <= LONGEST_LINE else shorten(line)
        number = len(self.transcript)
        at = self.timeline.at
        entry = TypedLine(number, place, typed, lines, tuple(said), error, at, changed)
        if before != self.timeline.at or number < MOST_ENTRIES:
            self.transcript.append(entry)
        return entry

    def _addressee(self, line: str) -> tuple[DrillMoment, str]:
        now, addressed = self.now, _ADDRESSED.fullmatch(line)
        machines = self.kind.slots.get("machine")
        if addressed is None or machines is None or machines.values is None:
            return now, line
        known, names = [*machines.values(now)], now.model.names
        host, tool = addressed["host"], addressed["tool"] or addressed["shell"]
        check_one_of("-h" if addressed["tool"] else tool, host, known)
        # Names come first, then the addresses of the same machines.
        place = names[known.index(host) % len(names)]
        return structs.replace(now, place=place), f"{addressed['before']}{tool} {addressed['rest']}"

    def complete(self, line: str) -> tuple[str, ...]:
        """The lines that go on from this one by a word."""
        return self.grammar.complete(line, self.now)

    def offers(self) -> Iterator[tuple[Form, tuple[str, ...]]]:
        """The forms with the lines that they have here, for buttons."""
        return self.grammar.offers(self.now)

    def checklist(self) -> tuple[CheckedStep, ...]:
        """The steps of the procedure, ticked by the run."""
        return self.kind.checklist(self.now)

    def grade(self) -> Grade:
        """The run up to the moment that is shown, graded."""
        return self.kind.grade(self.now)

    def again(self) -> Drill:
        """The same drill, in which nothing has been typed yet."""
        return Drill(self.kind, self._model)

    def note(self, marks: frozenset[str]) -> None:
        """Put in the place of what was noted at the moment that is shown."""
        self._marks[self.timeline.at] = marks

    def is_own(self, form: Form) -> bool:
        """Whether every drill has a form: it asks, and changes nothing."""
        return form not in self.kind.forms

    def _do(self, answer: CommandReply, said: list[str]) -> None:
        said.extend(answer.said.get(each, done(self.timeline, each)) for each in answer.actions)
        said.extend(self._own_steps() if answer.actions else ())
        self._marks[self.timeline.at] = self.now.marks | {*answer.marks}
        self.place = answer.place or self.place

    def _own_steps(self) -> Iterator[str]:
        for _ in range(MOST_OWN_STEPS):
            if (own := self.kind.own_step(self.timeline.model, self.timeline.state)) is None:
                return
            yield done(self.timeline, own)


def done(timeline: Timeline, action: Any) -> str:
    """Do what a command is, and say it. Raises Refused, in a line, for what the model refuses."""
    model, state = timeline.model, timeline.state
    if (end := model.comes_to(state, action)) is None:
        raise Refused(f"{model.verb(action)}: nothing like that can be done now")
    if isinstance(end, Refusal):
        raise Refused(refusal_line(end))
    return timeline.do(action).say


def refusal_line(refusal: Refusal) -> str:
    """A refusal in a line: its reason, the facts behind it, who stands in the way."""
    missing = f" ({', '.join(refusal.missing)})" if refusal.missing else ""
    return "; ".join([f"{refusal.reason}{missing}", *refusal.evidence])


def checklist_lines(steps: Iterable[CheckedStep]) -> tuple[str, ...]:
    """The checklist as text."""
    signs = {True: "[x]", False: "[ ]"}
    return tuple(f"{signs[step.done]} {step.name}: {step.text}" for step in steps)


def grade_lines(grade: Grade) -> tuple[str, ...]:
    """A grade as text."""
    signs = {True: "✓", False: "!", None: "–"}
    rows = tuple(f"{signs[row.holds]} {row.name}: {row.why}" for row in grade.rows)
    return ("Passed." if grade.passed else "Not passed.", *rows)


OWN_SLOTS: dict[str, Slot] = {"command": Slot("the first word of a command")}


def _own_forms(drill: Drill) -> Iterator[Form]:
    def helped(now: DrillMoment, given: Given) -> CommandReply:
        word = str(given.get("command", "")).casefold()
        forms = [f for f in drill.grammar.forms if f.text.casefold().startswith(word)]
        if not forms:
            raise BadInput("help", word, "the beginning of a command; help alone lists all of them")
        shown = (form for form in forms if not form.absent)
        return CommandReply(tuple(f"{form.usage} – {form.meaning}" for form in shown))

    yield Form("help", "all commands", helped, own=True)
    about = "the commands that start this way"
    yield Form("help {command}", about, helped, offered=False, own=True)

    def prints(lines: Callable[[DrillMoment], Iterable[str]]) -> Callable[..., CommandReply]:
        return lambda now, given: CommandReply(tuple(lines(now)))

    def remembered(now: DrillMoment) -> Iterable[str]:
        typed = [f"{each.number + 1:>4}  {each.typed}" for each in drill.transcript]
        return typed or ["nothing has been typed yet"]

    def hinted(now: DrillMoment) -> Iterator[str]:
        left = [step for step in checklist(now) if not step.done]
        if (step := next((step for step in left if not step.missed), None)) is not None:
            yield f"next, {step.name}: {step.what}"
        elif left:
            missed = ", ".join(step.name for step in left)
            yield f"every other step is done, and it is too late for {missed}"
        else:
            yield "every step of the procedure is done: grade shows what else counts"

    checklist, grade = drill.kind.checklist, drill.kind.grade
    yield Form(HINT, "the next step of the procedure", prints(hinted), own=True)
    yield Form("history", "what you have typed so far", prints(remembered), own=True)
    yield Form(CLEAR, "clear the screen", prints(lambda now: ()), own=True)
    graded = prints(lambda now: grade_lines(grade(now)))
    ended = prints(lambda now: (*grade_lines(grade(now)), "You can keep typing."))
    about = "how the run is graded so far; on the command line it also ends the drill"
    yield Form("exit", about, ended, own=True)
    about = "the steps of the procedure, ticked off as they are done"
    yield Form("checklist", about, prints(lambda now: checklist_lines(checklist(now))), own=True)
    yield Form("grade", "how the run would be graded now", graded, own=True)
