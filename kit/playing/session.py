"""A session: a history that somebody steps, forks and searches, with the pages that show it.

It speaks the wire (``kit.views.wire``) and knows nothing of notebooks. The Player of JupyterLab is
one with widgets around it; a class plays one through its server, a page without a kernel one in a
worker of the browser.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from inspect import signature
from pathlib import Path
from typing import Any, Protocol

import msgspec

from kit.edge.arguments import checked, finite
from kit.errors import BadInput, BadType, KitError, Refusal, Refused
from kit.model import trace as traces
from kit.model.model import Model
from kit.model.registry import made_again, registered
from kit.model.source import error_line
from kit.model.timeline import LONGEST_RUN, Moment, Timeline, held
from kit.model.vet import asking, is_own, uncollected
from kit.playing.breaking import Breaks
from kit.playing.opening import Source, open_named, open_source, panels_named
from kit.playing.verdicts import ending
from kit.search.causes import MOST_STATES, Cause, Possible, Restored
from kit.search.check import Progress, Result, check
from kit.views.actions import end_words, mark, refusal_text
from kit.views.dangers import without
from kit.views.export import LIMIT, Exported, export_html
from kit.views.frame import frame_text
from kit.views.rendered import RenderedTimeline
from kit.views.runs import seen_by
from kit.views.wire import Act, Look, Need, Pack, Sync, Update, read_message

LIVE = 5
"""How hard a pack is compressed that is sent at once and never stored in a page of its own."""


class Stage(Protocol):
    """The screen of a session: it holds the whole history for a page that comes, and is told more.

    ``steps`` is how many the story is known to have.
    """

    pack: bytes
    steps: int

    def send(self, content: Any) -> None:
        """Tell the pages what is new."""


class Line:
    """A stage whose pages are at the end of a line: ``tell`` sends them a message or a pack."""

    def __init__(self, tell: Callable[[str | bytes], object] = lambda said: None) -> None:
        self.tell = tell
        self._steps, self._pack = 0, b""

    @property
    def pack(self) -> bytes:
        """The whole history as it was last sent."""
        return self._pack

    @pack.setter
    def pack(self, pack: bytes) -> None:
        self._pack = pack
        self.tell(pack)

    @property
    def steps(self) -> int:
        """How many steps the story is known to have."""
        return self._steps

    @steps.setter
    def steps(self, steps: int) -> None:
        self._steps = steps
        self.send({"traits": {"steps": steps}})

    def send(self, content: Any) -> None:
        """Tell the pages what is new."""
        self.tell(msgspec.json.encode(content).decode())


class Session:
    """A history and how one goes through it; everything buttons do, methods do by the same code.

    ``source`` is a timeline, a model, a scenario, or the name of a model or scenario; None is the
    first scenario of the worked examples. ``drawn`` is a pack of that history, which pages have. A
    method raises the ``kit.errors.KitError`` that a button shows in place.
    """

    def __init__(
        self,
        source: Source,
        stage: Stage,
        *,
        panels: tuple[str, ...] | None = None,
        drawn: Pack | None = None,
    ) -> None:
        self._names = panels
        self.stage = stage
        opened = open_source(source)
        self.name = opened.name
        self.timeline = self.origin = opened.timeline
        chosen = panels_named(self.model, panels)
        self.rendered = RenderedTimeline(self.timeline, panels=chosen, drawn=drawn)
        self.breaks = Breaks(self)
        self.opener: Callable[[str], object] = lambda name: self.show(open_named(name).timeline)
        self._longest = 0  # moments of the longest history that was shown before
        # Held by whoever acts or draws: programs and widgets of JupyterLab do in threads of theirs.
        self.lock = threading.RLock()
        self.watchers: list[Callable[[], None]] = []
        self._repack()

    # What a person can do; buttons, keys and cells all come here.

    @property
    def model(self) -> Model[Any, Any]:
        """The model that is played: a branch may have other safeguards."""
        return self.timeline.model_at(self.timeline.tip)

    @property
    def state(self) -> Any:
        """The state that is shown."""
        return self.timeline.state

    def step(self) -> Moment:
        """Go one step on; at the end of the branch, do what the script or the model suggests.

        Raises Refused when nothing is left to do, or when what comes next must wait.
        """
        return self._change(self._forward)

    def back(self) -> Moment:
        """Go one step back; at the start, stay there."""
        return self._change(self.timeline.back)

    def milestone(self) -> Moment:
        """Go to the next milestone or broken promise, or as far as one can.

        Raises Refused when not even one step was possible.
        """
        return self._change(self._to_milestone)

    @checked
    def act(self, action: Any) -> Moment:
        """Do an action, given as an object or as its verb (``"apply B"``). At an earlier moment
        this forks the history.

        Raises Refused, with the reason, when the action cannot happen now.
        Raises BadInput when there is no such action.
        """
        return self._change(lambda: self.timeline.do(self._find(action)))

    @checked
    def run(self, macro: str) -> Moment:
        """Do the ordinary actions of a macro (``"catch-up"``, ``"barrier"``) as one folded step.

        Raises Refused when there is nothing to do.
        Raises BadInput when the model has no such macro.
        """
        return self._change(lambda: self._run(macro))

    def fork(self) -> Moment:
        """Begin a new branch at the moment that is shown."""
        return self._change(self.timeline.fork)

    @checked
    def follow_run(self, actions: Iterable[Any], *, at_end: bool = False) -> Moment:
        """Make a run a branch of the history; steps done before are shared.

        It then shows the start of the run, or with ``at_end`` its last step.

        Raises Refused when one of the actions is not enabled.
        """
        run, timeline = finite("actions", actions, LONGEST_RUN), self.timeline

        def along() -> None:
            timeline.goto(0)
            for action in run:
                timeline.do(action)
            timeline.fork()
            if not at_end:
                timeline.goto(0)

        return self._change(along)

    def lead_to(self, actions: Sequence[Any], words: str) -> Moment:
        """Make a counterexample a branch, and show its last step, which says how the run ends."""
        moment = self.follow_run(actions, at_end=True)
        if words and words not in self.timeline.why(moment.id):
            self.timeline.remark(words)
            self.redraw(moment.id)
        return moment

    @checked
    def search(
        self, *, max_states: int | None = None, progress: Progress | bool | None = True
    ) -> Result:
        """Search every run of the model that is shown.

        A counterexample becomes a branch, and the step that breaks the promise is shown.

        Raises BadInput for a bound below 1, or a model that a search cannot follow.
        Raises Refused for a record.
        """
        result = check(self.model, max_states=max_states, progress=progress)
        if result.broken is not None:
            self.lead_to(result.broken.actions, ending(self.model, result.broken))
        return result

    def why(self) -> Cause:
        """The smallest cause of the first broken promise: the steps without which it holds.

        Raises Refused when no promise is broken on the way to the step that is shown.
        """
        return self.breaks.why()

    @checked
    def became_possible(
        self, *, max_states: int = MOST_STATES, progress: Progress | bool | None = True
    ) -> Possible:
        """Find the step from which on a search of so many states reaches the break.

        Raises Refused when no promise is broken on the way to the step that is shown.
        """
        return self.breaks.possible(max_states, progress)

    @checked
    def put_back(self, safeguard: str = "") -> Restored:
        """Repeat the run with a missing safeguard switched on, as a branch to compare with.

        Raises Refused when none is off, or no promise is broken.
        Raises BadInput for one that is not off.
        """
        return self.breaks.put_back(safeguard)

    def mermaid(self) -> str:
        """The run as a sequence diagram in Mermaid's words; of a broken one its smallest cause."""
        return self.breaks.mermaid()

    @checked
    def seen_by(self, node: str) -> tuple[str, ...]:
        """Tell what a node has done and seen so far. Raises BadInput for an unknown node."""
        known = seen_by(self.rendered.scene(self.timeline.at), node)
        return tuple(f"{step}. {part}: {said}" for step, part, said in known)

    @checked
    def goto(self, moment: int) -> Moment:
        """Look at any moment of any branch. Raises BadInput when there is no such moment."""
        return self._change(lambda: self.timeline.goto(moment))

    def reset(self) -> Moment:
        """Begin again as it was opened: that model with its own ring and safeguards, its script."""
        first = self.origin
        begun = Timeline(first.model, first.script)
        begun.tell(first.story, first.premise, first)
        self.put(begun)
        return self.timeline.now

    @checked
    def show(self, timeline: Timeline) -> None:
        """Open another timeline. From then on, ``reset`` goes back to its start."""
        self.put(timeline)
        self.origin = timeline

    @checked
    def put(self, timeline: Timeline, *, ahead: bool = True) -> None:
        """Show a timeline of another configuration. ``reset`` undoes that.

        Unless one draws ``ahead``, moments that are not shown wait until a page asks for them.
        """
        with self.lock:
            self.breaks.work.stop()
            panels, former = panels_named(timeline.model, self._names), self.rendered
            rendered = RenderedTimeline(  # what cannot be drawn leaves all as it was
                timeline,
                panels=panels,
                session=former.number + 1,
                sequence=former.sequence + 1,
                ahead=ahead,
            )
            self._longest = max(self._longest, len(former.moments))
            self.timeline, self.rendered = timeline, rendered
            self._repack()
            Session._follow(self)

    @checked
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the whole history as a trace file."""
        traces.write(self.timeline.save(), path)
        return Path(path)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Show a trace file. Raises BadInput for what cannot be replayed; what is shown stays."""
        trace, model = traces.read(path), self.model
        if trace.model != model.name or registered(model):
            self.show(Timeline.load(trace))
        else:  # the registry does not know it
            self.show(Timeline.load(trace, made_again(model, trace.parameters, trace.off)))

    @checked
    def export(self, path: str | os.PathLike[str], *, limit: int = LIMIT) -> Exported:
        """Write one HTML page of at most ``limit`` bytes that needs neither kernel nor network."""
        return export_html(self.timeline, path, limit=limit)

    def after(self, act: Callable[[], object]) -> Moment:
        """Let somebody act; show what came of it. Raises BadType for what cannot be called so."""
        try:
            signature(act).bind()
        except TypeError:
            raise BadType("act", act, "a function that takes no arguments") from None
        except ValueError:  # of some that come with Python nobody can tell
            pass
        return self._change(act)

    # What a reader without a browser gets.

    def text(self) -> str:
        """Return every panel of the moment that is shown, as text."""
        return frame_text(self.rendered.scene(self.timeline.at), self.rendered.panels)

    def __repr__(self) -> str:
        path = self.timeline.path()
        here = path.index(self.timeline.at)
        where = f"{self.model.name}: step {here} of {len(path) - 1}"
        return f"{type(self).__name__}({where}; {self.timeline.now.say})"

    # One way in for buttons and methods alike.

    def perform(self, message: Act) -> Moment:
        """Do what a control asked for, at the moment it was shown at.

        Raises KitError when it is no control, or none of that moment, or must wait: then nothing
        happens, and one stands where it was pressed.
        """
        timeline = self.timeline
        verb, _, rest = message.control.partition(":")
        plain: dict[str, Callable[[], object]] = {
            "step": self._forward,
            "milestone": self._to_milestone,
            "fork": timeline.fork,
        }
        named: dict[str, Callable[[], object]] = {
            "do": lambda: timeline.do(self._marked(rest)),
            "break": lambda: self.breaks.perform(rest),
            "macro": lambda: self._run(rest),
            "off": lambda: self._without(*rest.partition(":")[::2]),
        }
        if verb == "story":
            self.opener(rest)
            return self.timeline.now
        act = plain.get(message.control) or named.get(verb)
        if act is None and message.control != "mermaid":
            raise BadInput("control", message.control, "a control of the player")
        timeline.goto(message.at)
        if act is not None:
            return self._change(act, message.have)
        self._tell(self.rendered.notice(copied=self.mermaid()))
        return timeline.now

    def hear(self, content: object) -> None:
        """Do what a page says; what is wrong with it is told there."""
        try:
            message = read_message(content)
            with self.lock, uncollected():  # a page waits: what is garbage goes afterwards
                if isinstance(message, Act):
                    self.perform(message)
                    self._rest()
                elif isinstance(message, Look):
                    self._look(message)
                elif isinstance(message, Need):
                    self._need(message)
                else:
                    self._sync(message)
        except KitError as error:
            self.tell_refused(str(error))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # of the model's own code, which may call exit(): shown here
            self.tell_refused(error_line(error))

    def _rest(self) -> None:
        """A control was used, and who used it looks at what came of it: nothing else is to do."""

    def foresee(self) -> None:
        """Draw what comes next while nobody waits, and send what it is made of."""
        if not is_own(self.model):
            return  # a student's code is called when they ask for it
        with self.lock, uncollected(), suppress(KitError):  # why not, they hear when they press
            base = len(self.rendered.store)
            self.rendered.foresee()
            if len(self.rendered.store) > base:
                self._tell(self.rendered.update(base, len(self.rendered.moments)))

    # A page looks and asks for frames by itself, perhaps before it has heard of another history.

    def _look(self, message: Look) -> None:
        there = message.position
        if 0 <= there.sequence < self.rendered.sequence:
            return
        self._within(there.at)
        self._within(there.tip)
        current = there.sequence == self.rendered.sequence
        if current and there.at in self.timeline.path(there.tip):
            self.timeline.tip, self.timeline.at = there.tip, there.at
            self._follow()

    def _need(self, message: Need) -> None:
        if len(self.timeline.moments) <= message.moment < self._longest:
            return
        self._within(message.moment)
        self._tell(self.rendered.need(message.moment))

    def _sync(self, message: Sync) -> None:
        self.rendered.draw_new()  # a cell may have stepped the timeline by itself
        texts, moments = len(self.rendered.store), len(self.rendered.moments)
        other = message.session != self.rendered.session
        if other or message.texts > texts or message.moments > moments:
            self._repack()
        else:  # also who lacks nothing may look at another moment than the one to be shown
            self._tell(self.rendered.rest(max(0, message.texts), max(0, message.moments)))

    def _within(self, moment: int) -> None:
        if not 0 <= moment < len(self.timeline.moments):
            last = len(self.timeline.moments) - 1
            raise BadInput("moment", moment, f"a number from 0 to {last}")

    def _change(self, act: Callable[[], object], have: int | None = None) -> Moment:
        with self.lock:
            return self._changed(act, have)

    def _changed(self, act: Callable[[], object], have: int | None) -> Moment:
        base = len(self.rendered.store)
        try:
            with asking(self.model, under_way=lambda: [self.state]):
                act()
        finally:
            with asking(self.model, under_way=lambda: [self.state]):
                first = self.rendered.draw_new()
            if self.rendered.full():
                self.rendered.renew()
                self._repack()
            else:
                base = base if have is None else max(0, min(have, base))
                self._tell(self.rendered.moved(base, first))
            self._follow()
        return self.timeline.now

    def _follow(self) -> None:
        for watch in self.watchers:
            watch()

    def redraw(self, moment: int) -> None:
        """Draw a moment again, of which more is known now, and what came since."""
        with self.lock:
            base = len(self.rendered.store)
            first = min(moment, self.rendered.draw_new())
            self.rendered.moments[moment] = self.rendered.draw(moment)
            self._tell(self.rendered.moved(base, first))

    def tell_progress(self, words: str) -> None:
        """Say how far a search for a cause has come; nothing: it has ended."""
        self._tell(self.rendered.notice(progress=words))

    def tell_refused(self, why: str) -> None:
        """Say why what was asked for did not happen."""
        self._tell(self.rendered.notice(error=why))

    def _repack(self) -> None:
        self.stage.steps = self.rendered.story.steps if self.rendered.story else 0
        self.stage.pack = self.rendered.pack().compressed(LIVE)
        self._packed = self.rendered.session, self.rendered.sequence

    def _tell(self, update: Update) -> None:
        self.stage.send(msgspec.to_builtins(update))

    def _forward(self) -> Moment:
        return self._moved(self.timeline.forward())

    def _to_milestone(self) -> Moment:
        return self._moved(self.timeline.to_milestone())

    def _moved(self, moment: Moment | None) -> Moment:
        if moment is None:
            raise Refused(end_words(self.rendered.scene(self.timeline.at)))
        return moment

    def _run(self, name: str) -> Moment:
        runs = {macro.name: actions for macro, actions in self.rendered.views.runs}
        if name not in runs:
            raise BadInput("macro", name, f"one of {', '.join(runs) or 'none'}")
        if not (actions := list(runs[name](self.timeline.here, self.state))):
            raise Refused("Nothing to do here: every step of this run is already done.")
        return self.timeline.run(held(self.timeline, actions))

    def _without(self, safeguard: str, action: str) -> Moment:
        """Repeat the run without a safeguard, as a branch, and then do what it held up."""
        timeline = self.timeline
        timeline.again(without(timeline.here, safeguard), timeline.at)
        return timeline.do(self._marked(action))

    def _find(self, action: Any) -> Any:
        if not isinstance(action, str):
            return action
        if (option := self.timeline.here.find(self.state, action)) is None:
            verbs = ", ".join(map(self.model.verb, self.timeline.here.actions(self.state)))
            raise BadInput("action", action, verbs or "nothing: no action is possible here")
        return _permitted(*option)

    def _marked(self, name: str) -> Any:
        for option in self.timeline.here.options(self.state):
            if mark(self.model, option[0]) == name:
                return _permitted(*option)
        raise BadInput("act", name, "an action of the state that is shown")


def _permitted(action: Any, refusal: Refusal | None) -> Any:
    if refusal is not None:
        raise Refused(refusal_text(refusal))
    return action
