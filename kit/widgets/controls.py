"""The Player's drop-downs and switches: model or scenario, parameters, safeguards, files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import ipywidgets
import msgspec
from msgspec.inspect import BoolType, IntType

from kit.edge.words import later, say
from kit.engine.check import Result, check
from kit.engine.model import Model, Safeguard
from kit.engine.parameters import Parameter, parameters_of, plainly
from kit.engine.registry import Entry, build, entries, entry_of, model_names
from kit.engine.timeline import Timeline
from kit.engine.zoom import finer_runs
from kit.errors import KitError
from kit.playing.opening import open_named
from kit.playing.working import Background
from kit.views.fragment import Frag, h
from kit.views.parts import prose

if TYPE_CHECKING:
    from kit.widgets.player import Player

MOST_STATES = 500_000
LARGEST_BOUND = 20_000_000
MOST_VERBS = 60
WHOLE = "complete: no violation"


def verdict(model: Model[Any, Any], result: Result) -> str:
    """What a search says, in one or two sentences."""
    seen = say("{n:,} states", n=result.states)
    if result.violation is not None:
        steps = len(result.violation.actions)
        if result.mode == "breadth":
            return say(
                "Broken after {n} steps (the shortest run; {seen} searched).", n=steps, seen=seen
            )
        return say("Broken after {n} steps ({seen} searched).", n=steps, seen=seen)
    if result.interrupted:
        at_work = " " + say("At work was {what}.", what=result.at_work) if result.at_work else ""
        stopped = say("Stopped after {seen}: none found so far, and nothing is proven.", seen=seen)
        return stopped + at_work
    if not result.complete:
        reached = say("Not complete: the bound of {seen} was reached.", seen=seen)
        return f"{reached} {say('None was found, and nothing is proven.')} " + say(
            "Raise the bound, or take a smaller configuration."
        )
    never = ""
    if result.unreached:
        never = " " + say("Never reached: {names}.", names=", ".join(result.unreached))
    if result.sentence != WHOLE:
        return f"{seen}: {result.sentence}.{never}"
    return say("Complete: {seen}, none.", seen=seen) + never


def outcome_box(model: Model[Any, Any], result: Result) -> Frag:
    """The box: what was found in which configuration, by which run; what was judged, what not."""
    off = ", ".join(safeguard.id for safeguard in model.safeguards if safeguard.name in model.off)
    which = say("without {names}", names=off) if off else say("with every safeguard on")
    which += result.scope.budgets
    broken = result.violation
    sign = "✓" if result.sentence == WHOLE else "!" if broken else "…"
    parts: list[Frag] = [
        h("p", h("strong", f"{sign} {verdict(model, result)}"), f" ({model.name} {which})")
    ]
    if other := elsewhere(model, result):
        parts.append(h("p", other))
    if broken is not None:
        parts += [
            h("p", f"{_title(model, broken.property)}: ", h("strong", broken.witness)),
            h("p", say("The run, now a branch of the history; its last step is shown:")),
            h("ol", [h("li", model.verb(action)) for action in broken.actions[:MOST_VERBS]]),
        ]
        if len(broken.actions) > MOST_VERBS:
            parts.append(h("p", say("and {n} steps more", n=len(broken.actions) - MOST_VERBS)))
    parts += [h("p", line, class_="say") for line in result.scope.lines()]
    parts += [
        h("p", say("not judged: goal {name}", name=name), class_="say") for name in result.unjudged
    ]
    return h("div", parts, class_="kit-found", role="status")


def elsewhere(model: Model[Any, Any], result: Result) -> str:
    """Where a safeguard that is off is needed, if not here, and what holds without it anyhow."""
    if result.violation is not None:
        return ""
    here = _plain(model.parameters)
    off = [each for each in model.safeguards if each.name in model.off]
    said = [f"{each.id}: {kept.sentence}." for each in off for kept in each.kept]
    said += [
        say(
            "{id} is needed in another scenario: {which}.",
            id=each.id,
            which=_written(each.smallest),
        )
        for each in off
        if each.protects
        and any(here.get(name) != value for name, value in _plain(each.smallest).items())
    ]
    return " ".join(said)


def _plain(values: object) -> dict[str, Any]:
    """Parameters as a file would have them."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(values))
    return plain


def _written(values: Mapping[str, Any]) -> str:
    """Parameters as one would set them: ``nodes 4; operations bootstrap X --tokens 150``."""
    words = []
    for name, value in _plain(values).items():
        several = value if isinstance(value, list) else [value]
        words.append(f"{name} {', '.join(map(str, several))}")
    return "; ".join(words) or say("its own")


def _title(model: Model[Any, Any], name: str) -> str:
    """A property or monitor with its invariant: ``INV-VISIBLE broken, visible``."""
    promises: tuple[Any, ...] = (*model.properties, *model.monitors)
    known = ((each.invariant, each.title) for each in promises if each.name == name)
    invariant, title = next(known, ("", name))
    return say("{promise} broken: {title}", promise=invariant, title=title) if invariant else title


class SearchBoard:
    """The button, its bound, a stop, what is under way, and the box with the result."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.work: Background[Result] = Background()
        self.result: Result | None = None
        self.button = button(
            say("Search for a violation"), say("try every run of this model"), self._press
        )
        keeps = say("stop the search and keep what it found")
        self.halt = button(say("Stop"), keeps, lambda _button: self.stop())
        self.halt.layout.display = "none"
        self.most = ipywidgets.BoundedIntText(
            value=MOST_STATES,
            min=1,
            max=LARGEST_BOUND,
            description=say("states at most"),
            style={"description_width": "100px"},
            layout=ipywidgets.Layout(width="220px"),
        )
        self.count = ipywidgets.HTML()
        self.found = ipywidgets.HTML()
        row = ipywidgets.HBox([self.button, self.halt, self.most, self.count])
        self.box = ipywidgets.VBox([row, self.found])

    def stop(self) -> None:
        """End the search that is under way, if any; it tells what it has seen."""
        self.work.stop()

    def forget(self) -> None:
        """Take the verdict away: it was of another model than the one that is shown now."""
        self.stop()
        self.result = None
        self.found.value = ""

    def _press(self, _button: Any) -> None:
        if self.work.running:
            return
        self._show_running(True)  # the last box stays until there is another: nothing jumps
        model, most = self.player.model, self.most.value
        self.work.begin(
            lambda progress: check(model, max_states=most, progress=progress),
            self._count,
            lambda outcome: self._ended(model, outcome),
        )

    def _count(self, states: int, now: int) -> None:
        self.count.value = say("{n:,} states, {now:,} being looked at", n=states, now=now)

    def _ended(self, model: Model[Any, Any], outcome: Result | KitError | None) -> None:
        self._show_running(False)
        self._show(model, outcome)

    def _show(self, model: Model[Any, Any], outcome: Result | KitError | None) -> None:
        if outcome is None:
            return
        if isinstance(outcome, KitError):
            self.found.value = h("p", prose(str(outcome)), class_="kit-wrong", role="alert").html()
            return
        if self.player.model is not model:  # a switch was used meanwhile
            return
        self.result = outcome
        self.found.value = outcome_box(model, outcome).html()
        if outcome.violation is not None:
            self.player.branch(outcome.violation.actions, at_end=True)

    def _show_running(self, on: bool) -> None:
        self.button.disabled = on
        self.halt.layout.display = "" if on else "none"
        self.count.value = say("searching …") if on else ""


MOST = 1000
"""The end of every number's control: a number that its model does not allow says so, in place."""
OWN = ""  # the choice that stands for a model of one's own
GENERATED = ("generated", "replicas")


class Controls:
    """The widgets in the drawer. A change builds the model again; a wrong one says why, in place.

    ``parameters`` are those of the model that is shown, as plain data.
    """

    def __init__(self, player: Player, name: str | None) -> None:
        self.player = player
        self.name = name
        self.parameters = plainly(player.model.parameters)
        self.off: tuple[str, ...] = tuple(player.model.off)
        self._quiet = False
        self.message = ipywidgets.HTML()
        self.home = self.place = ipywidgets.VBox([self.message])
        self.places: dict[Any, ipywidgets.VBox] = {}  # of a control and the reason below it
        self.file = ipywidgets.Text(value="trace.json", description=say("File"))
        self.reset = button(say("Reset"), say("begin again with this model"), self._reset)
        self.fields: dict[str, Any] = {}
        self.switches: dict[str, ipywidgets.Checkbox] = {}
        self.board = SearchBoard(player)
        self.kept: dict[tuple[str, bytes, tuple[str, ...]], Timeline] = {}
        self.source = self._source()
        self.openers: dict[str, ipywidgets.ToggleButton] = {}
        self.row = ipywidgets.HBox([], layout=ipywidgets.Layout(flex_flow="row wrap"))
        self.page = ipywidgets.VBox()
        self.box = ipywidgets.VBox([self.row, self.home, self.page])
        self.box.add_class("kit-drawer")
        self._settle()

    def _source(self) -> ipywidgets.Dropdown:
        # None would leave the box blank: it stands for no choice at all.
        choices = [(say("this model"), OWN)] if self.name is None else []
        for entry in entries().values():
            choices.append((f"{entry.name}: {entry.title}", entry.name))
            for scenario in entry.scenarios:
                title = f"{entry.name} / {scenario.name}: {scenario.title}"
                choices.append((title, f"{entry.name}/{scenario.name}"))
        names = [value for _, value in choices]
        box = ipywidgets.Dropdown(
            options=choices,
            value=self.name if self.name in names else names[0],
            description=say("Scenario"),
            layout=ipywidgets.Layout(width="100%"),
        )
        box.observe(self._open, "value")
        return box

    @property
    def entry(self) -> Entry | None:
        """The registry's entry of the model that is shown; None for a model of one's own."""
        name = self.player.model.name
        return entry_of(name) if name in model_names() else None

    def _settle(self) -> None:
        """Show the parameters and switches of the model that is shown now."""
        self._quiet = True
        entry = self.entry
        own = None if entry is None else entry.parameters
        self.fields = {} if own is None else _fields(own, _shown(self.parameters))
        safeguards = () if entry is None else entry.safeguards
        self.switches = {each.name: _switch(each, each.name not in self.off) for each in safeguards}
        self.places = {}
        for widget in (*self.fields.values(), *self.switches.values()):
            widget.observe(self._rebuild, "value")
            self.places[widget] = ipywidgets.VBox([widget])
        fields = [self.places[field] for field in self.fields.values()]
        switches = [self.places[switch] for switch in self.switches.values()]
        files = [
            self.file,
            button(say("Save trace"), say("write the history to this file"), self._save),
            button(say("Load trace"), say("replay the history in this file"), self._load),
            button(say("Export page"), say("write an HTML page beside it"), self._export),
        ]
        search = ipywidgets.VBox([self.board.box, _grid(switches, 300)])
        pages = {
            say("Ring and model"): _grid(fields, 280),
            say("Safeguards") if safeguards else say("Search"): search,
            say("Files"): ipywidgets.HBox(files),
        }
        self.pages = {title: page for title, page in pages.items() if page.children}
        former = next((title for title, opener in self.openers.items() if opener.value), None)
        self.openers = {title: _opener(title, title == former) for title in self.pages}
        for opener in self.openers.values():
            opener.observe(self._turn_to, "value")
        zoom = button(
            say("Zoom in"), say("how this step is achieved, in a finer model"), self._zoom
        )
        back = button(say("Zoom out"), say("back to this run alone"), self._zoom_out)
        zooms = [zoom, back] * (finer_runs(self.player.model) is not None)
        self.row.children = (self.source, self.reset, *zooms, *self.openers.values())
        self.page.children = (self.pages[former],) if former in self.pages else ()
        self._quiet = False

    def _turn_to(self, change: Mapping[str, Any]) -> None:
        """Show the page of the button that was pressed, and no other; pressed again, none."""
        if self._quiet:
            return
        self._quiet = True
        for opener in self.openers.values():
            opener.value = opener is change["owner"] and change["new"]
        chosen = [title for title, opener in self.openers.items() if opener.value]
        self.page.children = [self.pages[title] for title in chosen]
        self._quiet = False

    def _open(self, change: Mapping[str, Any]) -> None:
        name = change["new"]
        if name in (None, OWN) or self._quiet:
            return
        with self._reporting(change):
            opened = open_named(name)
            self.name = opened.name
            self._open_on(opened.timeline)

    def _rebuild(self, change: Mapping[str, Any]) -> None:
        entry = self.entry
        if self._quiet or entry is None:
            return
        with self._reporting(change):
            owner = change["owner"]
            touched = next((name for name, widget in self.fields.items() if widget is owner), "")
            given = self._given(entry.parameters, touched)
            off = tuple(name for name, switch in self.switches.items() if not switch.value)
            script = self.player.timeline.script if given == self.parameters else ()
            model = build(entry.name, given, off)
            self.off, former = off, self.off
            if given != self.parameters or off == former or not self._switched(model):
                self._say(self._replace(Timeline(model, script)))
                self.parameters = plainly(model.parameters)

    def _switched(self, model: Model[Any, Any]) -> bool:
        """Do the run again with other safeguards, as a branch, if there is any and it begins so."""
        timeline, done, of = self.player.timeline, 0, 0
        known = (timeline.model_at(tip) for tip in (0, *timeline.branches()))
        model = next((each for each in known if {*each.off} == {*model.off}), model)
        if model.start() != timeline.moments[0].state:
            return False

        def switch() -> None:
            nonlocal done, of
            done, of = timeline.switch(model)

        self._quiet = True
        try:
            self.player.after(switch)
        finally:
            self._quiet = False
        if done:
            self.board.forget()
            again = later(
                "The run again, as a branch on the map: {n} of {all} steps could be done."
            )
            self._say(say(again, n=done, all=of))
        return done > 0

    def follow(self) -> None:
        """Show the switches of the branch that is shown, if they are others."""
        if not self._quiet and {*self.off} != {*self.player.model.off}:
            self.board.forget()
            self._follow()

    def _replace(self, other: Timeline) -> str:
        """Show the history of another configuration, and keep the one that is shown until then.

        What was done with that configuration before is there again.
        """
        old = self.player.timeline
        self.board.forget()
        self.kept[_configuration(old)] = old
        known = self.kept.get(_configuration(other))
        if known is not None:
            self.player.put(known)
            return say(
                "Back to the history of these switches: {n} steps.", n=len(known.moments) - 1
            )
        self.player.put(other)
        return ""

    def _given(self, kind: type[msgspec.Struct], touched: str) -> dict[str, Any]:
        """The parameters after one was touched (none: the empty text).

        Touching what a ring is generated from leaves a ring that was given, and the operations on
        it; another number of replicas fits the operations on a generated ring.
        """
        given = dict(self.parameters)
        if not touched:
            return given
        value, parts = self.fields[touched].value, {each.name: each for each in parameters_of(kind)}
        several = parts[touched].flags.get("written") and not isinstance(given[touched], str)
        numbers = isinstance(getattr(parts[touched].type, "item_type", None), IntType)
        ring = {name: each.flags["ring"] for name, each in parts.items() if "ring" in each.flags}
        if ring.get(touched) in GENERATED and given.get("members"):
            for name, part in ring.items():
                if part in GENERATED:
                    given[name] = self.fields[name].value
                else:
                    given.pop(name, None)
        given[touched] = _lines(value, numbers) if several else value
        if ring.get(touched) == "generated":
            given.pop("operations", None)
        return given

    def _open_on(self, timeline: Timeline) -> None:
        self.board.forget()
        self.kept[_configuration(self.player.timeline)] = self.player.timeline
        self.player.show(timeline)
        self._follow()

    def _follow(self) -> None:
        self.parameters = plainly(self.player.model.parameters)
        self.off = tuple(self.player.model.off)
        self._settle()

    def _reset(self, _button: Any) -> None:
        former = self.player.timeline
        with self._reporting():
            self.player.reset()
            if _configuration(former) != _configuration(self.player.timeline):
                self.board.forget()
                self.kept[_configuration(former)] = former
                self._follow()
                self._say(say("Begun again with its own ring, model and safeguards."))

    def _save(self, _button: Any) -> None:
        with self._reporting():
            self._say(say("Saved {file}.", file=self.player.save(self.file.value)))

    def _zoom(self, _button: Any) -> None:
        """Open the finer run below the stage, in the place of a former one."""
        with self._reporting():
            finer = self.player.zoom()
            self.player.children = [*self.player.children[:2], finer]
            self._say(say("Below: {story}.", story=finer.timeline.story))

    def _zoom_out(self, _button: Any) -> None:
        """Close the finer run below the stage."""
        self.player.children = self.player.children[:2]
        self._say(say("back to this run alone"))

    def _load(self, _button: Any) -> None:
        with self._reporting():
            self.player.load(self.file.value)
            self._open_on(self.player.timeline)
            notes = "; ".join(self.player.timeline.notes)
            loaded = say("Loaded {file}.", file=self.file.value)
            self._say(loaded + (" " + say("Note: {notes}.", notes=notes) if notes else ""))

    def _export(self, _button: Any) -> None:
        with self._reporting():
            made = self.player.export(f"{self.file.value.removesuffix('.json')}.html")
            left = (
                " " + say("Left out: {parts}.", parts=", ".join(made.left_out))
                if made.left_out
                else ""
            )
            self._say(say("Wrote {file} ({n:,} bytes).", file=made.path, n=made.size) + left)

    def _say(self, text: str, *, wrong: bool = False, control: Any = None) -> None:
        """Say it on top of the drawer, or right below the control that it is about."""
        place = self.places.get(control, self.home)
        if place is not self.place:
            self.place.children = self.place.children[:-1]
            place.children = (*place.children, self.message)
            self.place = place
        kind = "kit-wrong" if wrong else "kit-told"
        said = h("span", prose(text), class_=kind, role="alert")
        self.message.value = said.html() if text else ""

    @contextmanager
    def _reporting(self, change: Mapping[str, Any] | None = None) -> Iterator[None]:
        """Show a KitError where the person looks, and leave everything as it was.

        ``change`` is what was touched, if anything: its control goes back to its value before.
        """
        self._say("")
        try:
            yield
        except KitError as error:
            touched = None
            if change is not None:
                touched, self._quiet = change["owner"], True
                touched.value = change["old"]
                self._quiet = False
            self._say(str(error), wrong=True, control=touched)


def _configuration(timeline: Timeline) -> tuple[str, bytes, tuple[str, ...]]:
    """What makes one model differ from another: name, parameters, safeguards off."""
    model = timeline.model
    return model.name, msgspec.json.encode(model.parameters), tuple(model.off)


def _shown(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with the ring's figures taken from its members, where it has some."""
    shown = dict(parameters)
    members = shown.get("members")
    if members and isinstance(members, list | tuple):  # elsewhere it is how many there are
        shown["nodes"] = len(members)
        shown["tokens"] = max((len(member["tokens"]) for member in members), default=1)
        shown["dcs"] = len({member["dc"] for member in members})
        shown["racks"] = max(1, len({member["rack"] for member in members}))
    return shown


def _fields(own: type[msgspec.Struct], values: Mapping[str, Any]) -> dict[str, Any]:
    """A widget for every parameter that is a number, a choice, a switch or written as text."""
    shown = [each for each in parameters_of(own) if not each.flags.get("hidden")]
    widgets = {each.name: _widget(each, values.get(each.name)) for each in shown}
    return {name: widget for name, widget in widgets.items() if widget is not None}


def _widget(parameter: Parameter, value: Any) -> Any:
    wide = {"style": {"description_width": "150px"}, "layout": ipywidgets.Layout(width="270px")}
    said = {"description": parameter.title, "tooltip": parameter.meaning}
    if isinstance(parameter.type, BoolType):
        return ipywidgets.Checkbox(value=value, indent=False, **said)
    if parameter.flags.get("written"):
        text = value if isinstance(value, str) else "; ".join(map(str, value))
        return ipywidgets.Text(value=text, continuous_update=False, **said, **wide)
    if isinstance(parameter.type, IntType):
        least = min(0, parameter.least or 0)
        return ipywidgets.BoundedIntText(value=value, min=least, max=MOST, **said, **wide)
    if parameter.least is not None and parameter.most is not None:  # a number, or null
        numbers = [(str(n), n) for n in range(parameter.least, parameter.most + 1)]
        options = [("null", None), *numbers]
        return ipywidgets.Dropdown(options=options, value=value, **said, **wide)
    if parameter.choices:
        return ipywidgets.Dropdown(options=parameter.choices, value=value, **said, **wide)
    return None


def _lines(text: str, numbers: bool) -> list[str | int]:
    """The lines of a text that has semicolons between them; ``numbers``: whole ones as such.

    What should be a number and is none stays as it was written: the model says what is wrong.
    """
    lines = [line.strip() for line in text.split(";") if line.strip()]
    return [int(line) if numbers and line.isdecimal() else line for line in lines]


def _switch(safeguard: Safeguard, on: bool) -> ipywidgets.Checkbox:
    words = f"{safeguard.id}  {safeguard.in_full}"
    layout = ipywidgets.Layout(width="auto", margin="0 2px")
    return ipywidgets.Checkbox(
        value=on, description=words, tooltip=words, indent=False, layout=layout
    )


def button(word: str, tooltip: str, act: Any, width: str = "auto") -> ipywidgets.Button:
    """A button that acts when it is pressed."""
    layout = ipywidgets.Layout(width=width)
    made = ipywidgets.Button(description=word, tooltip=tooltip, layout=layout)
    made.on_click(act)
    return made


def _opener(title: str, pressed: bool) -> ipywidgets.ToggleButton:
    layout = ipywidgets.Layout(width="auto")
    return ipywidgets.ToggleButton(value=pressed, description=title, layout=layout)


def _grid(widgets: list[Any], least: int) -> ipywidgets.GridBox:
    columns = f"repeat(auto-fill, minmax({least}px, 1fr))"
    layout = ipywidgets.Layout(grid_template_columns=columns, grid_gap="2px 12px")
    return ipywidgets.GridBox(widgets, layout=layout)
