"""The Player's drop-downs and switches: model or scenario, parameters, safeguards, files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import ipywidgets

from kit.errors import BadInput, KitError, counted
from kit.model.model import Model, Safeguard
from kit.model.registry import entries
from kit.model.timeline import Timeline
from kit.playing.opening import open_named
from kit.playing.setup import Field, Setup
from kit.playing.verdicts import MOST_STATES, check_bound, ending, outcome_box, stopped_box
from kit.playing.working import Background
from kit.search.check import Result, check
from kit.search.zoom import finer_run, finer_runs
from kit.views.fragment import Frag, h
from kit.views.parts import prose

if TYPE_CHECKING:
    from kit.widgets.player import Player


class SearchBoard:
    """The button, its bound, a stop, what is under way, and the box with the result."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.work: Background[Result] = Background()
        self.seen = 0  # states, by the search that was begun last
        self.result: Result | None = None
        self.button = button("Search for a violation", "try every run of this model", self._press)
        keeps = "stop the search and keep what it found"
        self.halt = button("Stop", keeps, lambda _button: self.stop())
        self.halt.layout.display = "none"
        # A bounded field would put its limit in the place of what was typed, without a word.
        self.most = ipywidgets.IntText(
            value=MOST_STATES,
            description="states at most",
            style={"description_width": "100px"},
            layout=ipywidgets.Layout(width="220px"),
        )
        self.most.observe(self._bound, "value")
        self.count, self.wrong, self.found = (ipywidgets.HTML() for _ in range(3))
        row = _row([self.button, self.halt, self.most, self.wrong, self.count])
        self.box = ipywidgets.VBox([row, self.found])

    def _bound(self, change: Mapping[str, Any]) -> None:
        most = change["new"]
        self.wrong.value = ""
        try:
            check_bound(most)
        except BadInput as error:
            self.most.value = change["old"]
            self.wrong.value = _wrong(error).html()

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
        model, most, self.seen = self.player.model, self.most.value, 0
        self.work.begin(
            lambda progress: check(model, max_states=most, progress=progress),
            self._count,
            lambda outcome: self._ended(model, outcome),
        )

    def _count(self, states: int, now: int) -> None:
        self.seen = states
        self.count.value = f"{states:,} states, {now:,} being examined"

    def _ended(self, model: Model[Any, Any], outcome: Result | KitError | None) -> None:
        self._show_running(False)
        if isinstance(outcome, KitError):
            self.found.value = _wrong(outcome).html()
            return
        if self.player.model is not model:  # a switch was used meanwhile
            return
        if outcome is None:
            self.found.value = stopped_box(model, self.seen).html()
            return
        self.result = outcome
        self.found.value = outcome_box(model, outcome).html()
        if (broken := outcome.broken) is not None:
            self.player.lead_to(broken.actions, ending(model, broken))

    def _show_running(self, on: bool) -> None:
        self.button.disabled = on
        self.halt.layout.display = "" if on else "none"
        self.count.value = "searching …" if on else ""


def _wrong(error: KitError) -> Frag:
    return h("p", prose(str(error)), class_="kit-wrong", role="alert")


OWN = ""  # the choice that stands for a model of one's own


class Controls:
    """The widgets in the drawer. A change is made or refused in place."""

    def __init__(self, player: Player, name: str | None) -> None:
        self.player = player
        self.name = name
        self.setup = Setup(player)
        self._quiet = False
        self.message = ipywidgets.HTML()
        self.home = self.place = ipywidgets.VBox([self.message])
        self.places: dict[Any, ipywidgets.VBox] = {}  # of a control and the reason below it
        self.file = ipywidgets.Text(value="trace.json", description="File")
        self.reset = button("Reset", "restart with this model", self._reset)
        self.fields: dict[str, Any] = {}
        self.switches: dict[str, ipywidgets.Checkbox] = {}
        self.board = SearchBoard(player)
        self.source = self._source()
        self.openers: dict[str, ipywidgets.ToggleButton] = {}
        self.row = _row([])
        self.page = ipywidgets.VBox()
        self.box = ipywidgets.VBox([self.row, self.home, self.page])
        self.box.add_class("kit-drawer")
        self._settle()
        player.watchers.append(self._offer_zoom)
        player.opener = partial(self.source.set_trait, "value")

    def _source(self) -> ipywidgets.Dropdown:
        # None would leave the box blank: it stands for no choice at all.
        choices = [("this model", OWN)] if self.name is None else []
        for entry in entries().values():
            choices.append((f"{entry.name}: {entry.title}", entry.name))
            for scenario in entry.scenarios:
                title = f"{entry.name} / {scenario.name}: {scenario.title}"
                choices.append((title, f"{entry.name}/{scenario.name}"))
        names = [value for _, value in choices]
        box = ipywidgets.Dropdown(
            options=choices,
            value=self.name if self.name in names else names[0],
            description="Scenario",
            layout=ipywidgets.Layout(width="100%"),
        )
        box.observe(self._open, "value")
        return box

    def _settle(self) -> None:
        self._quiet = True
        safeguards, off = self.setup.safeguards, self.setup.off
        self.fields = {each.name: _widget(each) for each in self.setup.fields}
        self.switches = {each.name: _switch(each, each.name not in off) for each in safeguards}
        self.places = {}
        for widget in (*self.fields.values(), *self.switches.values()):
            widget.observe(self._rebuild, "value")
            self.places[widget] = ipywidgets.VBox([widget])
        fields = [self.places[field] for field in self.fields.values()]
        switches = [self.places[switch] for switch in self.switches.values()]
        files = [
            self.file,
            button("Save trace", "write the history to this file", self._save),
            button("Load trace", "replay the history in this file", self._load),
            button("Export page", "write an HTML page next to it", self._export),
        ]
        search = ipywidgets.VBox([self.board.box, _grid(switches, 300)])
        pages = {
            "Ring and model": _grid(fields, 280),
            "Safeguards" if safeguards else "Search": search,
            "Files": _row(files),
        }
        self.pages = {title: page for title, page in pages.items() if page.children}
        former = next((title for title, opener in self.openers.items() if opener.value), None)
        self.openers = {title: _opener(title, title == former) for title in self.pages}
        for opener in self.openers.values():
            opener.observe(self._turn_to, "value")
        self.zoom = button("Zoom in", "", self._zoom)
        self._offer_zoom()
        back = button("Zoom out", "show this run alone again", self._zoom_out)
        zooms = [self.zoom, back] * (finer_runs(self.player.model) is not None)
        self.row.children = (self.source, self.reset, *zooms, *self.openers.values())
        self.page.children = (self.pages[former],) if former in self.pages else ()
        self._quiet = False

    def _turn_to(self, change: Mapping[str, Any]) -> None:
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
            self._say(self._open_on(opened.timeline, opened.name or ""))
            self.name = opened.name

    def _rebuild(self, change: Mapping[str, Any]) -> None:
        if self._quiet:
            return
        with self._reporting(change):
            owner = change["owner"]
            touched = next((name for name, widget in self.fields.items() if widget is owner), "")
            off = tuple(name for name, switch in self.switches.items() if not switch.value)
            self._quiet = True
            try:
                self._say(self.setup.configure(off, touched, owner.value))
            finally:
                self._quiet = False
            self.board.forget()

    def _offer_zoom(self) -> None:
        line = self.player.timeline
        self.zoom.disabled = finer_run(line, line.at) is None
        here, none = "show how a finer model does this step", "no finer view here"
        self.zoom.tooltip = none if self.zoom.disabled else here

    def follow(self) -> None:
        """Show the switches of the branch that is shown, if they are others."""
        if not self._quiet and {*self.setup.off} != {*self.player.model.off}:
            self.board.forget()
            self.setup.follow()
            self._settle()

    def _open_on(self, timeline: Timeline, name: str = "") -> str:
        self.board.forget()
        said = self.setup.open(timeline, self.name or "", name)
        self._settle()
        return said

    def _reset(self, _button: Any) -> None:
        with self._reporting():
            said = self.setup.reset()
            if said:
                self.board.forget()
                self._settle()
                self._say(said)

    def _save(self, _button: Any) -> None:
        with self._reporting():
            self._say(f"Saved {self.player.save(self.file.value)}.")

    def _zoom(self, _button: Any) -> None:
        with self._reporting():
            finer = self.player.zoom()
            self.player.children = [*self.player.children[:2], finer]
            self._say(f"Below: {finer.timeline.story}.")

    def _zoom_out(self, _button: Any) -> None:
        self.player.children = self.player.children[:2]
        self._say("show this run alone again")

    def _load(self, _button: Any) -> None:
        with self._reporting():
            self.player.load(self.file.value)
            self._open_on(self.player.timeline)
            notes = "; ".join(self.player.timeline.notes)
            loaded = f"Loaded {self.file.value}."
            self._say(loaded + (f" Note: {notes}." if notes else ""))

    def _export(self, _button: Any) -> None:
        with self._reporting():
            made = self.player.export(f"{self.file.value.removesuffix('.json')}.html")
            left = f" Left out: {', '.join(made.left_out)}." if made.left_out else ""
            self._say(f"Wrote {made.path} ({counted(made.size, 'byte')}).{left}")

    def _say(self, text: str, *, wrong: bool = False, control: Any = None) -> None:
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


def _widget(field: Field) -> Any:
    wide = {"style": {"description_width": "150px"}, "layout": ipywidgets.Layout(width="270px")}
    said = {"value": field.value, "description": field.title, "tooltip": field.meaning}
    if field.kind == "switch":
        return ipywidgets.Checkbox(indent=False, **said)
    if field.kind == "text":
        return ipywidgets.Text(continuous_update=False, **said, **wide)
    if field.kind == "number":
        return ipywidgets.IntText(**said, **wide)  # the model says what it does not allow
    return ipywidgets.Dropdown(options=field.options, **said, **wide)


def _switch(safeguard: Safeguard, on: bool) -> ipywidgets.Checkbox:
    words = f"{safeguard.id}  {safeguard.in_full}"
    layout = ipywidgets.Layout(width="auto", margin="0 2px")
    said = {"description": words, "tooltip": words}
    return ipywidgets.Checkbox(value=on, **said, indent=False, layout=layout)


def button(word: str, tooltip: str, act: Any, width: str = "auto") -> ipywidgets.Button:
    """A button that acts when it is pressed."""
    layout = ipywidgets.Layout(width=width)
    made = ipywidgets.Button(description=word, tooltip=tooltip, layout=layout)
    made.on_click(act)
    return made


def _opener(title: str, pressed: bool) -> ipywidgets.ToggleButton:
    layout = ipywidgets.Layout(width="auto")
    return ipywidgets.ToggleButton(value=pressed, description=title, layout=layout)


def _row(widgets: list[Any]) -> ipywidgets.HBox:
    return ipywidgets.HBox(widgets, layout=ipywidgets.Layout(flex_flow="row wrap"))


def _grid(widgets: list[Any], least: int) -> ipywidgets.GridBox:
    columns = f"repeat(auto-fill, minmax({least}px, 1fr))"
    layout = ipywidgets.Layout(grid_template_columns=columns, grid_gap="2px 12px")
    return ipywidgets.GridBox(widgets, layout=layout)
