"""The configuration of a session: its parameters and safeguards, and what becomes of a change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.inspect import BoolType, IntType

from kit.errors import counted
from kit.model.model import Model, Safeguard
from kit.model.parameters import Parameter, parameters_of, plainly
from kit.model.registry import Entry, build, registered
from kit.model.timeline import Timeline
from kit.playing.links import run_of
from kit.playing.session import Session

MOST = 1000
"""The end of every number's control: a number that its model does not allow says so, in place."""
GENERATED = ("generated", "replicas")


class Field(Struct, frozen=True):
    """A control of a parameter: what it is called, what it may be, how it is now.

    A ``number`` is within ``least`` and ``most``; a ``choice`` one of ``options``, each with its
    word; a ``text`` has semicolons between its parts.
    """

    name: str
    title: str
    meaning: str
    kind: Literal["switch", "text", "number", "choice"]
    value: Any
    options: tuple[tuple[str, Any], ...] = ()
    least: int = 0
    most: int = MOST


class Change(Struct, frozen=True):
    """The value that a touched parameter ``was``, and all before and after: it can be undone."""

    touched: str
    was: Any
    before: Mapping[str, Any]
    after: Mapping[str, Any]


class Setup:
    """The parameters of a session as plain data, and the names of the safeguards that are off.

    A safeguard that is switched does the run again, as a branch; other parameters open another
    history, and what was done with these before is there again.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.parameters: dict[str, Any] = {}
        self.off: tuple[str, ...] = ()
        self.kept: dict[tuple[str, bytes, tuple[str, ...]], Timeline] = {}
        self.left: dict[str, tuple[Timeline, Timeline]] = {}  # stories: as opened, as left
        self.last: Change | None = None
        self.follow()

    def follow(self) -> None:
        """Take the configuration of the model that is shown."""
        self.parameters = plainly(self.session.model.parameters)
        self.off = tuple(self.session.model.off)

    @property
    def entry(self) -> Entry | None:
        """The registry's entry of the model that is shown; None for a model of one's own."""
        return registered(self.session.model)

    @property
    def safeguards(self) -> tuple[Safeguard, ...]:
        """The safeguards that can be switched: an entry may name more, for other parameters."""
        return () if self.entry is None else self.session.model.safeguards

    @property
    def fields(self) -> tuple[Field, ...]:
        """A control for every parameter that is a number, a choice, a switch or written as text."""
        if self.entry is None:
            return ()
        values = _with_sizes(self.parameters)
        parts = parameters_of(self.entry.parameters)
        shown = (_field(each, values.get(each.name)) for each in parts if not is_hidden(each))
        return tuple(field for field in shown if field is not None)

    def configure(self, off: tuple[str, ...], touched: str = "", value: Any = None) -> str:
        """Build the model again, with one parameter changed (none: the empty text), and say how.

        Raises BadInput for a value out of its limits; nothing has changed then.
        """
        entry, session = self.entry, self.session
        if entry is None:
            return ""
        was = next((field.value for field in self.fields if field.name == touched), None)
        before, given = self.parameters, self._parameters_after(entry.parameters, touched, value)
        script = session.timeline.script if given == self.parameters else ()
        model = build(entry.name, given, off)
        self.off, former = off, self.off
        if given == self.parameters and off != former:
            again = self._switched(model)
            if again:
                return again
        said = self.replace(Timeline(model, script))
        self.parameters = plainly(model.parameters)
        self.last = Change(touched, was, before, self.parameters)
        return said

    def _switched(self, model: Model[Any, Any]) -> str:
        timeline, done, of = self.session.timeline, 0, 0
        known = (timeline.model_at(tip) for tip in (0, *timeline.branches()))
        model = next((each for each in known if {*each.off} == {*model.off}), model)
        if model.start() != timeline.moments[0].state:
            return ""

        def switch() -> None:
            nonlocal done, of
            done, of = timeline.switch(model)

        self.session.after(switch)
        were = f"{done} of {counted(of, 'step')} {'was' if done == 1 else 'were'} possible"
        return f"The run was repeated as a branch on the map: {were}." if done else ""

    def replace(self, other: Timeline) -> str:
        """Show the history of another configuration, and keep the one that is shown until then.

        What was done with that configuration before is there again; of what is put away it is said
        how it comes back.
        """
        self.keep()
        left = _steps(self.session.timeline)
        known = self.kept.get(configuration(other))
        self.session.put(other if known is None else known)
        if known is None and left:
            kept = f"Yours ({counted(left, 'step')}) is kept: undo the change to get it back."
            return f"A new run begins. {kept}"
        if known is None:
            return ""
        steps = counted(_steps(known), "step")
        return f"You are back in the history for these switches ({steps})."

    def open(self, timeline: Timeline, former: str = "", name: str = "") -> str:
        """Show another history, to which a reset goes back from then on, and say so if it is known.

        ``former`` and ``name`` are the stories that it leaves and opens, where they have a name: of
        a story that was left, all that was done is there again.
        """
        session = self.session
        self.keep()
        if former:
            self.left[former] = session.origin, session.timeline
        origin, known = self.left.get(name, (timeline, timeline))
        session.show(origin)
        if known is not origin:
            session.put(known)
        self.follow()
        if known is timeline or not _steps(known):
            return ""
        return f"You are back in the history of this story ({counted(_steps(known), 'step')})."

    def open_link(self, text: str) -> str:
        """Show the run that a link carries, as a branch where its configuration is shown; say so.

        Raises BadInput for what is no link of this story, Refused for a step that is refused.
        """
        session = self.session
        linked = run_of(text, session.origin.model)
        if configuration(linked) == configuration(session.timeline):
            session.follow_run(linked.actions())
            session.goto(session.timeline.path()[linked.at])
        else:
            self.keep()
            session.put(linked)
            self.follow()
        return f"This is the run from the link: {counted(linked.tip, 'step')}."

    def reset(self) -> str:
        """Begin again as it was opened, and say so where that is another configuration."""
        self.keep()
        former = configuration(self.session.timeline)
        self.session.reset()
        if former == configuration(self.session.timeline):
            del self.kept[former]
            return ""
        self.follow()
        return "The story has started again with its own ring, model and safeguards."

    def keep(self) -> None:
        """Keep the history that is shown, for a return to its configuration."""
        timeline = self.session.timeline
        self.kept[configuration(timeline)] = timeline

    def _parameters_after(
        self, kind: type[msgspec.Struct], touched: str, value: Any
    ) -> dict[str, Any]:
        """The parameters after one was touched.

        Touching what a ring is generated from leaves a ring that was given, and the operations on
        it; another number of replicas fits the operations on a generated ring. Who undoes the last
        change has all of them again.
        """
        given, last = dict(self.parameters), self.last
        if not touched:
            return given
        if last and (last.touched, last.was, last.after) == (touched, value, given):
            return dict(last.before)
        parts = {each.name: each for each in parameters_of(kind)}
        several = parts[touched].flags.get("written") and not isinstance(given[touched], str)
        numbers = isinstance(getattr(parts[touched].type, "item_type", None), IntType)
        ring = {name: each.flags["ring"] for name, each in parts.items() if "ring" in each.flags}
        if ring.get(touched) in GENERATED and given.get("members"):
            shown = _with_sizes(self.parameters)
            for name, part in ring.items():
                if part in GENERATED:
                    given[name] = shown[name]
                else:
                    given.pop(name, None)
        given[touched] = _lines(value, numbers) if several else value
        if ring.get(touched) == "generated":
            given.pop("operations", None)
        return given


def _steps(timeline: Timeline) -> int:
    return len(timeline.moments) - 1


def configuration(timeline: Timeline) -> tuple[str, bytes, tuple[str, ...]]:
    """The difference between one model and another: name, parameters, safeguards off."""
    model = timeline.model
    return model.name, msgspec.json.encode(model.parameters), tuple(model.off)


def is_hidden(parameter: Parameter) -> bool:
    """Whether a parameter has no control."""
    return bool(parameter.flags.get("hidden"))


def _with_sizes(parameters: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict(parameters)
    members = shown.get("members")
    if members and isinstance(members, list | tuple):  # elsewhere it is how many there are
        shown["nodes"] = len(members)
        shown["tokens"] = max((len(member["tokens"]) for member in members), default=1)
        shown["dcs"] = len({member["dc"] for member in members})
        shown["racks"] = max(1, len({member["rack"] for member in members}))
    return shown


def _field(parameter: Parameter, value: Any) -> Field | None:
    words = parameter.name, parameter.title, parameter.meaning
    if isinstance(parameter.type, BoolType):
        return Field(*words, "switch", value)
    if parameter.flags.get("written"):
        text = value if isinstance(value, str) else "; ".join(map(str, value))
        return Field(*words, "text", text)
    if isinstance(parameter.type, IntType):
        return Field(*words, "number", value, least=min(0, parameter.least or 0))
    if parameter.least is not None and parameter.most is not None:  # a number, or null
        numbers = ((str(n), n) for n in range(parameter.least, parameter.most + 1))
        return Field(*words, "choice", value, (("null", None), *numbers))
    if parameter.choices:
        choices = tuple((str(each), each) for each in parameter.choices)
        return Field(*words, "choice", value, choices)
    return None


def _lines(text: str, numbers: bool) -> list[str | int]:
    """The lines of a text that has semicolons between them; ``numbers``: whole ones as such.

    What should be a number and is none, or an empty line before a semicolon, stays as it was
    written: the model says what is wrong.
    """
    lines = [line.strip() for line in text.split(";")]
    if not lines[-1]:  # behind the last semicolon
        lines.pop()
    return [int(line) if numbers and line.isdecimal() else line for line in lines]
