"""The control *search for a violation*: every run of the model that is shown, by exhaustive search.

The search runs in a thread, so that the kernel goes on answering; what it found is put on the stage
by the kernel's own loop. A counterexample becomes a branch of the history, to be stepped like any
other; a search that was cut short says so, and proves nothing.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import ipywidgets
import msgspec

from kit.engine.check import Result, check
from kit.engine.model import Model
from kit.engine.patience import stoppable
from kit.errors import KitError
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
    seen = f"{result.states:,} states"
    if result.violation is not None:
        steps = len(result.violation.actions)
        run = "the shortest run; " if result.mode == "breadth" else ""
        return f"Broken after {steps} steps ({run}{seen} searched)."
    if result.interrupted:
        at_work = f" At work was {result.at_work}." if result.at_work else ""
        return f"Stopped after {seen}: none found so far, and nothing is proven.{at_work}"
    if not result.complete:
        return (
            f"Not complete: the bound of {seen} was reached. None was found, and nothing is "
            "proven: raise the bound, or take a smaller configuration."
        )
    never = f" Never reached: {', '.join(result.unreached)}." if result.unreached else ""
    if result.sentence != WHOLE:
        return f"{seen}: {result.sentence}.{never}"
    return f"Complete: {seen}, none.{never}"


def outcome_box(model: Model[Any, Any], result: Result) -> Frag:
    """The box: what was found in which configuration, by which run; what was judged, what not."""
    off = ", ".join(safeguard.id for safeguard in model.safeguards if safeguard.name in model.off)
    which = f"without {off}" if off else "with every safeguard on"
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
            h("p", "The run, now a branch of the history; its last step is shown:"),
            h("ol", [h("li", model.verb(action)) for action in broken.actions[:MOST_VERBS]]),
        ]
        if len(broken.actions) > MOST_VERBS:
            parts.append(h("p", f"and {len(broken.actions) - MOST_VERBS} steps more"))
    parts += [h("p", line, class_="say") for line in result.scope.lines()]
    parts += [h("p", f"not judged: goal {name}", class_="say") for name in result.unjudged]
    return h("div", parts, class_="kit-found", role="status")


def elsewhere(model: Model[Any, Any], result: Result) -> str:
    """Where a safeguard that is off is needed, when this configuration does without it."""
    if result.violation is not None:
        return ""
    here = _plain(model.parameters)
    places = [
        f"{safeguard.id} is needed in another scenario: {_written(safeguard.smallest)}."
        for safeguard in model.safeguards
        if safeguard.name in model.off
        and any(here.get(name) != value for name, value in _plain(safeguard.smallest).items())
    ]
    return " ".join(places)


def _plain(values: object) -> dict[str, Any]:
    """Parameters as a file would have them."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(values))
    return plain


def _written(values: Mapping[str, Any]) -> str:
    """Parameters as one would set them: ``nodes 4, operations bootstrap X --tokens 150``."""
    words = {
        name: ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in _plain(values).items()
    }
    return "; ".join(f"{name} {value}" for name, value in words.items()) or "its own"


def _title(model: Model[Any, Any], name: str) -> str:
    """A property or monitor with its invariant: ``INV-VISIBLE broken, visible``."""
    known = [(prop.name, prop.invariant, prop.title) for prop in model.properties]
    known += [(monitor.name, monitor.invariant, monitor.title) for monitor in model.monitors]
    named = next(((invariant, title) for key, invariant, title in known if key == name), ("", name))
    return f"{named[0]} broken: {named[1]}" if named[0] else named[1]


class SearchBoard:
    """The button, its bound, a stop, what is under way, and the box with the result."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.thread: threading.Thread | None = None
        self.result: Result | None = None
        self._halt = threading.Event()
        self.button = _button("Search for a violation", "try every run of this model", self._press)
        self.halt = _button("Stop", "stop the search and keep what it found", self._stop)
        self.halt.layout.display = "none"
        self.most = ipywidgets.BoundedIntText(
            value=MOST_STATES,
            min=1,
            max=LARGEST_BOUND,
            description="states at most",
            style={"description_width": "100px"},
            layout=ipywidgets.Layout(width="220px"),
        )
        self.count = ipywidgets.HTML()
        self.found = ipywidgets.HTML()
        row = ipywidgets.HBox([self.button, self.halt, self.most, self.count])
        self.box = ipywidgets.VBox([row, self.found])

    @property
    def running(self) -> bool:
        """Whether a search is under way."""
        return self.thread is not None

    def stop(self) -> None:
        """End the search that is under way, if any; it tells what it has seen."""
        self._halt.set()

    def forget(self) -> None:
        """Take the verdict away: it was of another model than the one that is shown now."""
        self.stop()
        self.result = None
        self.found.value = ""

    def _stop(self, _button: Any) -> None:
        self.stop()

    def _press(self, _button: Any) -> None:
        if self.running:
            return
        self._halt = threading.Event()
        self._show_running(True)  # the last box stays until there is another: nothing jumps
        model, most = self.player.model, self.most.value
        later = _on_this_loop()
        self.thread = threading.Thread(
            target=self._search, args=(model, most, self._halt, later), daemon=True
        )
        self.thread.start()

    def _search(
        self, model: Model[Any, Any], most: int, halt: threading.Event, later: Callable[..., object]
    ) -> None:
        """In a thread of its own: search, and hand the result to the kernel's loop."""

        def progress(states: int, now: int) -> None:
            if halt.is_set():
                raise KeyboardInterrupt  # the search keeps what it has found
            self.count.value = f"{states:,} states, {now:,} being looked at"

        outcome: Result | KitError | None = None
        try:
            with stoppable(halt):  # a function of a student's own may never end
                outcome = check(model, max_states=most, progress=progress)
        except KitError as error:
            outcome = error
        except KeyboardInterrupt:  # it had ended already, or had not begun
            pass
        later(self._ended, model, outcome)

    def _ended(self, model: Model[Any, Any], outcome: Result | KitError | None) -> None:
        try:
            self._show_running(False)
            self._show(model, outcome)
        finally:
            self.thread = None  # last: who sees that it has ended sees the result

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
        self.count.value = "searching …" if on else ""


def _on_this_loop() -> Callable[..., object]:
    """A way to call something on the kernel's loop; without a loop it is called at once."""
    try:
        return asyncio.get_running_loop().call_soon_threadsafe
    except RuntimeError:
        return lambda act, *given: act(*given)


def _button(word: str, tooltip: str, act: Any) -> ipywidgets.Button:
    made = ipywidgets.Button(
        description=word, tooltip=tooltip, layout=ipywidgets.Layout(width="auto")
    )
    made.on_click(act)
    return made
