"""The drawer of a page: what one may set up, as HTML, and what its controls say.

A search is made by a worker of its own, so that this one goes on answering and a stop is at once.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from kit.edge.json_text import fitting
from kit.edge.progress import Progress
from kit.errors import BadInput, KitError
from kit.model import trace as traces
from kit.model.timeline import Timeline
from kit.playing import verdicts
from kit.playing.links import link_of, place_in
from kit.playing.opening import open_named
from kit.playing.session import Session
from kit.playing.setup import Field, Setup
from kit.search.check import check, check_searchable
from kit.site.elsewhere import Elsewhere
from kit.views.fragment import Frag, h
from kit.views.parts import prose

# What the page says; the field ``setup`` tells which of these it is.


class Change(Struct, frozen=True, forbid_unknown_fields=True, tag_field="setup", tag="change"):
    """A parameter was given a value."""

    name: str
    value: bool | int | str | None


class Switch(Struct, frozen=True, forbid_unknown_fields=True, tag_field="setup", tag="switch"):
    """A safeguard was switched."""

    name: str
    on: bool


class Begin(Struct, frozen=True, forbid_unknown_fields=True, tag_field="setup", tag="reset"):
    """The story begins again as it was opened."""


class Search(Struct, frozen=True, forbid_unknown_fields=True, tag_field="setup", tag="search"):
    """A search of the model that is shown is asked for, of so many states at most."""

    most: int


class Link(Struct, frozen=True, forbid_unknown_fields=True, tag_field="setup", tag="link"):
    """The page's address shall lead to the run; ``quiet``: nobody has asked for it, and one of the
    story as the page has it stored is its number, with the step.
    """

    quiet: bool = False


class Linked(Struct, frozen=True, forbid_unknown_fields=True, tag_field="setup", tag="linked"):
    """The page was opened by a link that carries a run."""

    run: str


class Stopped(Struct, frozen=True, forbid_unknown_fields=True, tag_field="setup", tag="stopped"):
    """The search was stopped, after so many states."""

    states: int


class Verdict(Struct, frozen=True, forbid_unknown_fields=True, tag_field="setup", tag="verdict"):
    """A search has ended: what it says, as HTML, and the run that it found, as a trace (or none).

    ``trace`` is that of what was searched, ``ending`` what the picture of the run does not show.
    """

    trace: str
    html: str
    run: str = ""
    ending: str = ""


Said: TypeAlias = Change | Switch | Begin | Link | Linked | Search | Stopped | Verdict


class Drawer:
    """The drawer of a page; ``session`` is played there, ``tell`` sends the page a message.

    ``program`` makes its model, where that is not the kit's.
    """

    def __init__(self, session: Session, tell: Any, program: str = "") -> None:
        self.session, self.tell = session, tell
        self.stored = len(session.timeline.moments)
        self.work = session.breaks.work = Elsewhere(tell, program)
        self.setup = Setup(session)
        session.opener = self._open
        self.verdict: str = ""
        self.is_busy = False
        self._note: tuple[str, str, bool] = "", "", False

    def hear(self, content: object) -> None:
        """Do what a control says; what is wrong with it is told beside it.

        Raises BadInput for what no control says.
        """
        said: Said = fitting(content, Said, "setup", "what a control says")
        if isinstance(said, Link) and said.quiet:
            with suppress(BadInput):  # a run that is too long for an address
                self._do(said)
            return
        touched = getattr(said, "name", "")
        self._note, self.is_busy = ("", "", False), True
        try:
            words, is_wrong = self._do(said), False
        except KitError as error:
            words, is_wrong = str(error), True
            if isinstance(said, Linked):  # nobody has opened the drawer yet
                self.session.tell_refused(words)
        finally:
            self.is_busy = False
        self._note = touched if is_wrong else "", words, is_wrong
        self.show()

    def _do(self, said: Said) -> str:
        if isinstance(said, Change):
            return self._forgetting(self.setup.configure(self.setup.off, said.name, said.value))
        if isinstance(said, Switch):
            others = (name for name in self.setup.off if name != said.name)
            off = (*others, *([] if said.on else [said.name]))
            return self._forgetting(self.setup.configure(off))
        if isinstance(said, Begin):
            return self._forgetting(self.setup.reset())
        if isinstance(said, Link):
            if not self.stored:
                raise BadInput("link", "another story", "a run of the story of this page")
            timeline, story = self.session.timeline, self.session.origin
            known = place_in(timeline, story, self.stored) if said.quiet else None
            run, step = known or (link_of(timeline, story.model), None)
            there = {} if step is None else {"step": step}
            self.tell({"link": str(run), "quiet": said.quiet, **there})
            return "The address of this page now leads to this run, so you can share it."
        if isinstance(said, Linked):
            return self._forgetting(self.setup.open_link(said.run))
        if isinstance(said, Search):
            verdicts.check_bound(said.most)
            check_searchable(self.session.model)
            self.work.search(self._trace(), said.most)
        elif isinstance(said, Stopped):
            self.work.is_searching = False
            self.verdict = verdicts.stopped_box(self.session.model, said.states).html()
        else:
            self.work.is_searching = False
            if said.trace == self._trace():  # else a switch was used meanwhile
                self.verdict = said.html
                if said.run:
                    actions = Timeline.load(traces.loads(said.run)).actions()
                    self.session.lead_to(actions, said.ending)
        return ""

    def _open(self, story: str) -> None:
        """Open another story here; the page's address leads to none of its runs."""
        self.session.show(open_named(story).timeline)
        self.setup, self.stored, self.verdict = Setup(self.session), 0, ""
        self.show()

    def _forgetting(self, words: str) -> str:
        """The last verdict was of another model than the one that is shown now."""
        self.verdict = ""
        return words

    def _trace(self) -> str:
        return traces.dumps(Timeline(self.session.model).save())

    def follow(self) -> None:
        """Show the switches of the branch that is shown, if they are others."""
        if not self.is_busy and {*self.setup.off} != {*self.session.model.off}:
            self.verdict = ""
            self.setup.follow()
            self.show()

    def show(self) -> None:
        """Send the page the drawer as it is now."""
        begin, search, *rest = (part.html() for part in self._parts())
        self.tell({"drawer": "".join((begin, search, self.verdict, *rest))})  # where one looks

    def _parts(self) -> list[Frag]:
        switches = [
            self._row(
                each.name,
                _box(each.name not in self.setup.off, data_switch=each.name),
                h("span", f"{each.id}  {each.in_full}"),
            )
            for each in self.setup.safeguards
        ]
        fields = [
            self._row(each.name, h("span", each.title), _control(each), title=each.meaning)
            for each in self.setup.fields
        ]
        usual, largest = verdicts.MOST_STATES, verdicts.LARGEST_BOUND
        most = h("input", type="number", value=usual, min=1, max=largest)
        search = h(
            "div",
            _button("search", "Search for a violation", "try every run of this model"),
            _button("stop", "Stop", "stop the search and keep what it found"),
            h("label", h("span", "states at most"), most),
            h("span", class_="kit-count", role="status"),
        )
        where, words, is_wrong = self._note
        note = None if where else _note(words, is_wrong)
        link = _button("link", "Link", "put this run into the page's address")
        begin = _button("reset", "Reset", "restart with this model")
        heads = [h("h3", "Safeguards")] if switches else []
        ring = [h("h3", "Ring and model"), *fields] if fields else []
        return [h("div", begin, link, note), search, h("div", heads, switches, ring)]

    def _row(self, name: str, *kids: Frag, title: str | None = None) -> Frag:
        where, words, is_wrong = self._note
        note = _note(words, is_wrong) if where == name else None
        return h("div", h("label", *kids, title=title), note)


def _note(words: str, is_wrong: bool) -> Frag | None:
    kind = "kit-wrong" if is_wrong else "kit-told"
    return h("p", prose(words), class_=kind, role="alert") if words else None


def _button(name: str, word: str, title: str) -> Frag:
    return h("button", word, type="button", title=title, data_setup=name)


def _box(on: bool, **names: str) -> Frag:
    return h("input", type="checkbox", checked=on, **names)


def _control(field: Field) -> Frag:
    named = {"data_change": field.name, "data_kind": field.kind}
    if field.kind == "switch":
        return _box(field.value, **named)
    if field.kind == "choice":
        options = []
        for word, value in field.options:
            text = msgspec.json.encode(value).decode()
            options.append(h("option", word, value=text, selected=value == field.value))
        return h("select", options, **named)
    if field.kind == "number":
        limits: dict[str, Any] = {"min": field.least, "max": field.most}
        return h("input", type="number", value=field.value, **limits, **named)
    return h("input", type="text", value=field.value, **named)


def searched(trace: str, most: int, tell: Progress) -> Verdict:
    """The verdict of a search of the model of a trace; ``tell`` hears how far it is.

    Raises BadInput for a trace that is none, or a model that a search cannot follow.
    """
    model = traces.model_of(traces.loads(trace))
    result = check(model, max_states=most, progress=tell)
    box, broken = verdicts.outcome_box(model, result).html(), result.broken
    if broken is None:
        return Verdict(trace, box)
    run = traces.dumps(Timeline.along(model, broken.actions).save())
    return Verdict(trace, box, run, verdicts.ending(model, broken))
