"""What a reader may ask of a broken promise: why, since when, and what a safeguard would do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kit.edge.progress import Progress, seldom
from kit.errors import BadInput, KitError, Refused
from kit.model.parameters import plainly
from kit.model.registry import made_again
from kit.model.timeline import Breach
from kit.playing.working import Background, on_this_loop
from kit.search import causes
from kit.views.lanes import mermaid

if TYPE_CHECKING:
    from kit.playing.session import Session

WHOLE = "No promise is broken on the way to this step."
BUSY = "A search is running: stop it first."
COUNTS = {
    "cause": "parts of the run tried: {done:,}",
    "possible": "{done:,} states searched from step {now}",
}


class BreakQuestion(Struct, frozen=True):
    """A question about a run that breaks a promise of a model; called, it is answered."""

    about: Literal["cause", "possible"]
    model: Any
    run: tuple[Any, ...]
    name: str

    def __call__(self, progress: Progress) -> causes.Cause | causes.Possible:
        """Find out; ``progress`` hears how far that is."""
        if self.about == "cause":
            return causes.smallest_cause(self.model, self.run, self.name, progress)
        return causes.first_possible(self.model, self.run, self.name, progress=progress)


class Work(Protocol):
    """The worker beside the session: a thread of it, or another worker of a page."""

    @property
    def running(self) -> bool:
        """Whether something is under way."""

    def stop(self) -> None:
        """End what is under way."""

    def begin(self, work: BreakQuestion, report: Progress, ended: Callable[[Any], None]) -> None:
        """Begin to answer; ``ended`` gets what was found, an error, or None after a stop."""


class Breaks:
    """The questions about the first break on the way to the moment that is shown."""

    def __init__(self, player: Session) -> None:
        self.player = player
        self.work: Work = Background[Any]()

    def perform(self, control: str) -> None:
        """Do what a button of the page asks for; what takes long goes on in a thread.

        Raises Refused when no promise is broken, or a search is under way.
        Raises BadInput when there is no such button.
        """
        what, _, given = control.partition(":")
        if what == "stop":
            self.work.stop()
        elif what == "why":
            self._begin("cause")
        elif what == "possible":
            self._begin("possible")
        elif what == "back":
            self.put_back(given)
        else:
            raise BadInput("control", f"break:{control}", "a control of the player")

    def place(self) -> tuple[int, Breach]:
        """The moment that breaks a promise, and which: the one that is shown, else the first.

        Raises Refused when none is broken on the way to it.
        """
        timeline = self.player.timeline
        breaches = timeline.broken_by(timeline.at) or timeline.breaches(timeline.at)
        if not breaches:
            raise Refused(WHOLE)
        return timeline.path(timeline.at)[breaches[0].step + 1], breaches[0]

    # What takes a moment, for a cell that waits for it.

    def why(self) -> causes.Cause:
        """The smallest cause."""
        moment, breach = self.place()
        timeline = self.player.timeline
        known = timeline.inquiries.get(moment) or causes.Inquiry()
        if known.cause is not None:
            return known.cause
        run = timeline.actions(moment)
        cause = causes.smallest_cause(timeline.model_at(moment), run, breach.name)
        self._learn(moment, cause=cause)
        return cause

    def possible(self, max_states: int, progress: Progress | bool | None) -> causes.Possible:
        """From where a search reaches the break."""
        moment, breach = self.place()
        timeline = self.player.timeline
        model, run = timeline.model_at(moment), timeline.actions(moment)
        limits: Any = {"max_states": max_states, "progress": progress}
        possible = causes.first_possible(model, run, breach.name, **limits)
        self._learn(moment, possible=possible)
        return possible

    def put_back(self, safeguard: str) -> causes.Restored:
        """Do the run again with a safeguard that is off (its id or name; empty: the first)."""
        moment, _ = self.place()
        timeline = self.player.timeline
        model = timeline.model_at(moment)
        known = {each.id: each for each in model.safeguards if each.name in model.off}
        if not known:
            raise Refused("No safeguard is off, so there is none to put back.")
        wanted = safeguard or next(iter(known))
        chosen = next((s for s in known.values() if wanted in (s.id, s.name)), None)
        if chosen is None:
            raise BadInput("safeguard", safeguard, f"one that is off: {', '.join(known)}")
        inquiry = timeline.inquiries.get(moment) or causes.Inquiry()
        for again in inquiry.restored:
            if again.safeguard == chosen.id:
                return again
        off = tuple(name for name in model.off if name != chosen.name)
        restored = made_again(model, plainly(model.parameters), off)
        if restored.start() != timeline.moments[0].state:
            other = f"With {chosen.id} on, the run starts differently"
            raise Refused(f"{other}: switch it on under Safeguards.")
        at, tip = timeline.at, timeline.tip
        left_out = timeline.again(restored, moment)
        end = timeline.at
        broken = tuple(dict.fromkeys(breach.title for breach in timeline.breaches(end)))
        parted = causes.parted(model, timeline.actions(moment), chosen.name)
        timeline.tip, timeline.at = tip, at
        again = causes.Restored(chosen.id, end, left_out, broken, parted)
        self._learn(moment, restored=(*inquiry.restored, again))
        return again

    def mermaid(self) -> str:
        """The smallest cause as a sequence diagram; of a run that breaks nothing all of it."""
        timeline = self.player.timeline
        try:
            moment, breach = self.place()
        except Refused:
            way = timeline.passed()
            return mermaid(timeline.here, way, range(len(way)))
        way, cause = timeline.passed(moment), self.why()
        return mermaid(timeline.model_at(moment), way, cause.steps, breach)

    # What a page asks for.

    def _begin(self, about: Literal["cause", "possible"]) -> None:
        moment, breach = self.place()
        if self.work.running:
            raise Refused(BUSY)
        player, timeline = self.player, self.player.timeline
        model, run = timeline.model_at(moment), timeline.actions(moment)
        on_loop = on_this_loop()

        @seldom
        def report(done: int, now: int) -> None:
            on_loop(player.tell_progress, COUNTS[about].format(done=done, now=now))

        def ended(outcome: Any) -> None:
            player.tell_progress("")
            if player.timeline is not timeline:  # another one is shown meanwhile
                return
            if isinstance(outcome, KitError):
                player.tell_refused(str(outcome))
            elif outcome is not None:
                self._learn(moment, **{about: outcome})

        self.work.begin(BreakQuestion(about, model, run, breach.name), report, ended)

    def _learn(self, moment: int, **learnt: Any) -> None:
        inquiries = self.player.timeline.inquiries
        inquiries[moment] = replace(inquiries.get(moment) or causes.Inquiry(), **learnt)
        self.player.redraw(moment)
