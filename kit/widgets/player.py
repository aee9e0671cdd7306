"""The Player: step a model by hand, forwards and backwards, in JupyterLab."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import Any

import anywidget
import ipywidgets
import traitlets

from kit.edge.arguments import checked, whole_number
from kit.errors import BadType, KitError
from kit.playing.opening import Source, replayed
from kit.playing.session import Session
from kit.playing.stored import stored_run
from kit.search.zoom import finer_runs, zoomed
from kit.views.export import closed_words
from kit.views.frame import stored_frame
from kit.views.promises import verdict_at
from kit.views.shell import browser_module, shell
from kit.views.static import bundle_of, static_html
from kit.views.styles import widget_style
from kit.widgets.controls import Controls

LEAVES = 0.02
"""Seconds until an answer has left the kernel: who draws sooner holds it up."""


class Stage(anywidget.AnyWidget):
    """Shows the frames it is sent and reports what its reader does. Holds no protocol facts."""

    _esm = browser_module("widget")
    _css = widget_style()
    pack = traitlets.Bytes().tag(sync=True)
    shell = traitlets.Unicode().tag(sync=True)
    live = traitlets.Bool(True).tag(sync=True)
    plays = traitlets.Bool(False).tag(sync=True)
    closed = traitlets.Unicode().tag(sync=True)
    steps = traitlets.Int(0).tag(sync=True)
    story = traitlets.Bool(False).tag(sync=True)

    def __repr__(self) -> str:
        return "Stage()"


class Player(Session, ipywidgets.VBox):  # type: ignore[misc]  # ipywidgets ships no types
    """A model on a stage, with controls for time, actions and parameters.

    ``source`` is a timeline, a model, a scenario, or the name of a model or scenario; None is the
    first scenario of the worked examples. With ``controls`` False there are no drop-downs and
    switches. A model of your own never has them. With ``play`` True it starts to play when it is
    first shown, unless the reader prefers no motion. With ``story`` True, what several nodes do
    alike is shown as one step, which opens when pressed. The methods do everything that the buttons
    do, with the same code. Where a button shows an error in place, a method raises the
    ``kit.errors.KitError``.

    Four traits follow whatever is done, pressed or played, for ``observe`` and ``link``.
    ``step_number`` counts the steps from the start of the branch; when it is set, the Player goes
    there. ``epoch`` is the protocol's own count (``Model.newest_epoch``). ``verdict`` is ``holds``,
    or the id of the promise that was broken first, or empty for a model without promises.
    ``branch`` numbers the branches from 1, in the order in which they were begun.
    """

    stage: Stage
    step_number = traitlets.Int(0)
    epoch = traitlets.Int(None, allow_none=True, read_only=True)
    verdict = traitlets.Unicode(read_only=True)
    branch = traitlets.Int(1, read_only=True)

    @checked
    def __init__(
        self,
        source: Source = None,
        *,
        controls: bool = True,
        play: bool = False,
        story: bool = False,
        panels: tuple[str, ...] | None = None,
    ) -> None:
        ipywidgets.VBox.__init__(self)
        self.add_class("kit-player")
        words = {"shell": shell().html(), "closed": closed_words()}
        stage = Stage(plays=play, story=story, **words)
        self.controls: Controls | None = None
        Session.__init__(self, source, stage, panels=panels)
        self.watchers.append(self._tell_traits)
        self._tell_traits()
        stage.on_msg(lambda _widget, content, _buffers: self.hear(content))
        self.coarser: Player | None = None
        self.controls = Controls(self, self.name) if controls else None
        self.children = [self.controls.box, stage] if self.controls else [stage]

    def open(self, path: str | os.PathLike[str] | None = None) -> None:
        """Show a trace file, as ``load`` does; ipywidgets calls it without one to reach the page.

        Raises BadInput for what cannot be replayed; what is shown stays.
        Raises BadType where it is called on the class.
        """
        if isinstance(self, str | os.PathLike):
            raise BadType("Player.open", self, "a Player that opens it: Player().open(path)")
        if path is None:
            super().open()
        else:
            self.load(path)

    def zoom(self) -> Player:
        """A Player on the run of a finer model that achieves the step that is shown.

        Raises KitError where nothing finer is known of that step.
        """
        run = zoomed(self.timeline)
        finer = Player(run, controls=finer_runs(run.model) is not None)
        finer.coarser = self
        return finer

    def zoom_out(self) -> Player:
        """The Player of the step that this run achieves.

        Raises KitError for a Player that no other one has opened.
        """
        if self.coarser is None:
            raise KitError(f"zoom_out: this run of {self.model.name} was opened on its own")
        return self.coarser

    def copy(self) -> Player:
        """A Player of its own on the same history, at the same moment, without drop-downs.

        What is done with it leaves this one where it is: for cells below the one that shows it.
        """
        return Player(replayed(self.timeline), controls=False, panels=self._names)

    def static(self) -> str:
        """Return the moment that is shown as HTML that survives an untrusted notebook."""
        scene, views = self.rendered.scene(self.timeline.at), self.rendered.views
        return static_html(stored_frame(scene, self.rendered.panels, views))

    def _tell_traits(self) -> None:
        line = self.timeline
        with self.hold_trait_notifications():  # who hears of one finds all of them as they are now
            self.step_number = line.path().index(line.at)
            self.set_trait("epoch", line.here.newest_epoch(line.state))
            self.set_trait("verdict", verdict_at(line))
            self.set_trait("branch", line.branches().index(line.tip) + 1)

    @traitlets.validate("step_number")
    def _check_step(self, proposed: Any) -> int:
        return whole_number("step_number", proposed.value, most=len(self.timeline.path()) - 1)

    @traitlets.observe("step_number")
    def _go(self, change: Any) -> None:
        moment = self.timeline.path()[change.new]
        if moment != self.timeline.at:
            self.goto(moment)

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        with self.lock:
            behind = self.rendered.draw_new() < len(self.rendered.moments)
            if behind or self._packed != (self.rendered.session, self.rendered.sequence):
                self._repack()  # what is saved without a page that hears is what was done until now
        data = bundle_of(super(), **options)
        data = {**data, "text/plain": repr(self), "text/html": self.static()}
        return data, stored_run(self.timeline, self.name, story=self.stage.story)

    def _rest(self) -> None:
        with contextlib.suppress(RuntimeError):  # no loop: nobody comes back to it
            asyncio.get_running_loop().call_later(LEAVES, self.foresee)

    def _follow(self) -> None:
        if self.controls is not None:
            self.controls.follow()
        super()._follow()
