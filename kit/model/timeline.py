"""A history that can be walked: act, go back, go on, branch. Nothing that was done is ever lost."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise, takewhile
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import astuple, replace

from kit import __version__
from kit.edge.arguments import checked, finite, whole_number
from kit.errors import BadInput, BadType, Refused, shorten
from kit.model import vet
from kit.model.liveness import loop_of, loop_words
from kit.model.model import Cost, Model, Verdict, fingerprint, verdicts
from kit.model.parameters import edition_in
from kit.model.patience import patient
from kit.model.registry import made_again
from kit.model.trace import MOST_STEPS, RecordedStep, Trace, action_from, model_of, trace_of


class PassedStep(Struct, frozen=True):
    """A step on the way to a moment, and what the model's monitors remember after it."""

    before: Any
    action: Any
    after: Any
    memories: tuple[Any, ...] = ()


class Breach(Struct, frozen=True):
    """Step ``step`` of a run (from 0), an ``action``, was the first to break the promise ``title``.

    ``name`` is that of the property or monitor which says so, and ``witness`` what it says.
    ``cost`` is the known cost of the protocol that this is, if it is one. Where the run goes on for
    ever from there, ``loop`` is the number of steps before the loop.
    """

    step: int
    action: Any
    name: str
    title: str
    witness: str
    cost: Cost | None = None
    loop: int | None = None


def _new_breaches(
    model: Model[Any, Any],
    number: int,
    passed: PassedStep,
    known: tuple[Breach, ...],
    way: Callable[[], Iterable[PassedStep]],
) -> tuple[Breach, ...]:
    """The promises that step ``number`` breaks and none of the ``known`` has broken.

    ``way`` gives all steps up to this one. Nobody has judged the start, so the first step is judged
    by everything; of a large run most steps touch little of a state.
    """
    before, action, after, memories = astuple(passed)
    touched = [p for p in model.properties if not number or not p.stays(before, after)]
    loops: dict[str, int] = {}
    for prop in model.properties:
        if prop.kind == "live" and not prop.check(after):
            run = [(each.before, each.action) for each in way()]
            loop = loop_of(model, prop, run, after)
            if loop is not None:
                loops[prop.name] = loop
    names = {breach.name for breach in known}
    return tuple(
        Breach(
            *(number, action, each.name, each.title),
            loop_words(number + 1, loops[each.name]) if each.name in loops else str(each.witness),
            model.known_cost(each.name, after),
            loops.get(each.name),
        )
        for each in verdicts(model, after, before, action, memories, touched)
        if each.name not in names and (not each.ok or each.name in loops)
    )


def first_breaches(model: Model[Any, Any], steps: Iterable[PassedStep]) -> tuple[Breach, ...]:
    """The first step to break each promise, in the order of steps."""
    breaches: tuple[Breach, ...] = ()
    way: list[PassedStep] = []
    for number, passed in enumerate(steps):
        way.append(passed)
        breaches += _new_breaches(model, number, passed, breaches, lambda: way)
    return breaches


LONGEST_RUN = 10_000
A_MODEL = "a model, such as kit.build(…)"
OF_ANOTHER = (
    "this trace was saved with {version} of {model}: its steps were replayed, but their results "
    "were not compared"
)
MOST_FOLD = MOST_STEPS  # one for each step that a trace may have


class Moment(Struct, frozen=True):
    """One node of the history: a state, how it was reached, and from where.

    ``fold`` groups the steps of one macro (*catch up all*): steps of equal non-zero fold read as
    one. ``say`` narrates the step; ``milestone`` names what it reached, if anything.
    """

    id: int
    parent: int
    action: Any
    state: Any
    say: str
    milestone: str | None = None
    fold: int = 0


class _Place(Struct, frozen=True):
    """The position of a moment: steps from the start, the first moment of the branch that it was
    made on, how many lines of the script the way to it has followed, and the model that led here.
    """

    depth: int
    begun: int
    followed: int
    model: Any


class Timeline:
    """The tree of all that was done with one model, and the moment we look at.

    Moments are numbered in the order in which they were made; 0 is the start. ``at`` is the
    current moment, ``tip`` the last one of the branch it lies on. Walking and forking cost the
    same however long the history is. ``story`` and ``premise`` are the title of what is told and
    why it is worth seeing, where somebody says so. ``inquiries`` keeps what was found out about a
    moment that breaks a promise. A method that takes a moment raises BadInput when there is none.
    """

    @checked
    def __init__(self, model: Model[Any, Any], script: Iterable[str] = ()) -> None:
        """A history that holds only the model's first state.

        ``script`` holds verbs; each takes the place of the model's suggestion as soon as it is
        enabled, in order.
        """
        vet.check_contract(model)
        self.model = model
        self._own = vet.is_own(model)
        with self._asking():
            start = model.start()
            if not self._own:
                vet.check_seen(model, start)
                vet.check_start(model, start)
        title = model.title + edition_in(model.parameters, ", edition {}")
        self.moments = [Moment(0, -1, None, start, f"{title.rstrip('?')}: the start.")]
        self.children: list[list[int]] = [[]]
        self.at = self.tip = 0
        self.script = finite("script", script, LONGEST_RUN)
        self._places = [_Place(0, 0, 0, model)]
        self._monitors = tuple(map(vet.careful_monitor, model.monitors))
        with self._asking(start):
            self._memories = [tuple(monitor.begin() for monitor in self._monitors)]
        self._line, self._folds = [0], 0
        self.inquiries: dict[int, Any] = {}
        self._breaches: dict[int, tuple[Breach, ...]] = {0: ()}  # of moments that were judged
        self.notes: tuple[str, ...] = ()
        self.story, self.premise = "", ""
        self._remarks: dict[tuple[Any, Any], str] = {}

    @contextmanager
    def _asking(self, *states: Any) -> Iterator[None]:
        if self._own:
            yield
            return
        with vet.blaming(self.model, under_way=lambda: list(states)), patient():
            yield

    @classmethod
    @checked
    def along(cls, model: Model[Any, Any], actions: Iterable[Any]) -> Timeline:
        """The history of a run, at its last step. Raises Refused for a step that is refused."""
        timeline = cls(model)
        for action in actions:
            timeline.do(action)
        return timeline

    @property
    def now(self) -> Moment:
        """The moment we look at."""
        return self.moments[self.at]

    @property
    def state(self) -> Any:
        """The state we look at."""
        return self.now.state

    @property
    def before(self) -> Any:
        """The state one step earlier; None at the start."""
        return None if self.at == 0 else self.moments[self.now.parent].state

    def model_at(self, moment: int) -> Model[Any, Any]:
        """The model as it is at a moment: a branch may have other safeguards."""
        model: Model[Any, Any] = self._places[self._known(moment)].model
        return model

    @property
    def here(self) -> Model[Any, Any]:
        """The model as it is at the current moment; at the start, that of the branch."""
        return self.model_at(self.at or self.tip)

    def again(self, model: Model[Any, Any], tip: int) -> tuple[tuple[int, str], ...]:
        """Do the run to a moment again with other safeguards, as a branch, and go to its end.

        What is refused there is left out: its steps (from 0) are returned, with the reasons.

        Raises BadInput for a model that does not begin as this one does.
        """
        if model.name != self.model.name or model.start() != self.moments[0].state:
            raise BadInput("model", model.name, f"{self.model.name}, in the same configuration")
        left_out = []
        path = self.path(tip)
        self.goto(0)
        for number, moment in enumerate(path[1:]):
            action = self.moments[moment].action
            if (refusal := model.refusal(self.state, action)) is None:
                self.do(action, model=model)
            else:
                left_out.append((number, refusal.reason))
        return tuple(left_out)

    def switch(self, model: Model[Any, Any]) -> tuple[int, int]:
        """Do the run again with other safeguards, and look at the same step of that branch.

        The run is that of the branch; of a story that nobody has begun it is all of it. How many
        steps of how many could be done; where none could be, all stays as it was.

        Raises BadInput for no model, or one that does not begin as this one does.
        """
        if not isinstance(model, Model):
            raise BadType("model", model, A_MODEL)
        at, is_new = self.at, len(self.moments) == 1 and (self.script or self.story)
        while is_new and len(self.moments) < LONGEST_RUN and self.forward() is not None:
            pass
        tip, done = self.tip, len(self.path(at)) - 1
        left_out = self.again(model, tip)
        all_ = len(self.path(tip)) - 1
        if len(left_out) == all_:
            self.at, self.tip = at, tip
        else:
            done -= sum(number < done for number, _ in left_out)
            self.at = self.path()[done]
        return all_ - len(left_out), all_

    def do(self, action: Any, *, fold: int = 0, model: Model[Any, Any] | None = None) -> Moment:
        """Act on the current state. Acting from the past begins a new branch.

        Doing again what was done here before walks along the branch that did it. Steps of equal
        ``fold`` but 0 read as one. ``model`` has other safeguards from this step on.

        Raises Refused when the action is not enabled; the history stays as it was.
        Raises BadInput for a fold that is no number, or below 0, and for what is no model.
        """
        fold = whole_number("fold", fold, most=MOST_FOLD)
        model = self.here if model is None else model
        if not isinstance(model, Model):
            raise BadType("model", model, A_MODEL)
        for child in self.children[self.at]:
            if self.moments[child].action == action and self._places[child].model is model:
                self._enter(child)
                return self.now
        before = self.state
        with self._asking(before):
            after = model.act(before, action)
            if not self._own:
                vet.check_seen(model, after)
            say = model.describe(before, action, after)
            milestone = model.milestone(before, action, after)
            moment = Moment(len(self.moments), self.at, action, after, say, milestone, fold)
            place = self._placed(moment, model)
            memories = tuple(
                monitor.after(memory, before, action, after)
                for monitor, memory in zip(self._monitors, self._memories[self.at], strict=True)
            )
            if not self._own:
                vet.check_told(model, say, milestone, self._monitors, memories)
        self.moments.append(moment)
        self._memories.append(memories)
        self.children.append([])
        self.children[self.at].append(moment.id)
        self._places.append(place)
        self.at = self.tip = moment.id
        self._folds = max(self._folds, fold)
        return moment

    def remark(self, text: str) -> None:
        """Say why the current moment matters; it stands wherever the same step leads to the same.

        What is said first stands first.
        """
        place = self.now.action, self.state
        self._remarks[place] = f"{self._remarks.get(place, '')} {text}".strip()

    def tell(self, story: str, premise: str = "", like: Timeline | None = None) -> None:
        """Say what is told and why it is worth seeing, with the remarks of another history."""
        self.story, self.premise = story, premise
        self._remarks = like._remarks if like else self._remarks

    def why(self, moment: int) -> str:
        """The remark on a step, else the purpose of such a step; of the start, the premise."""
        each = self.moments[self._known(moment)]
        if known := self._remarks.get((each.action, each.state)):
            return known
        if each.action is None:
            return re.split(r"(?<=[.?]) ", self.model.premise)[0]
        return self.model.why_here(self.moments[each.parent].state, each.action, each.state)

    def memories(self, moment: int | None = None) -> tuple[Any, ...]:
        """The memory of each monitor of the model at a moment (the current one when None)."""
        return self._memories[self.at if moment is None else self._known(moment)]

    def _placed(self, moment: Moment, model: Model[Any, Any]) -> _Place:
        parent = self._places[moment.parent]
        begun = moment.id if self.children[moment.parent] else parent.begun
        followed = parent.followed
        if followed < len(self.script):
            before = self.moments[moment.parent].state
            followed += model.goes_by(before, moment.action, self.script[followed])
        return _Place(parent.depth + 1, begun, followed, model)

    def suggest(self) -> Any | None:
        """The next action of the branch; at its tip, that of the script, or else of the model's
        default schedule. None: nothing.
        """
        if known := self._following():
            return known.action
        followed = self._places[self.at].followed
        if followed < len(self.script):
            option = self.here.find(self.state, self.script[followed])
            if option is not None and option[1] is None:
                return option[0]
        with self._asking(self.state):
            here = self.here
            return here.suggest(self.state) if self._own else vet.suggested_by(here, self.state)

    def forward(self) -> Moment | None:
        """One step on along the branch; at its tip, what the model suggests. None: nothing."""
        if known := self._following():
            self.at = known.id
            return known
        action = self.suggest()
        return None if action is None else self.do(action)

    def back(self) -> Moment | None:
        """One step back; never branches. None at the start."""
        if self.at == 0:
            return None
        self.at = self.now.parent
        return self.now

    def to_milestone(self) -> Moment | None:
        """Forward to the next milestone or broken promise, to rest, or ``LONGEST_RUN`` steps; None:
        nothing moved.
        """
        return self._until(lambda moved: moved.milestone is not None)

    def to_quiet(self) -> Moment | None:
        """The same, but to where no news is in flight on a network."""
        return self._until(lambda moved: not self.model.is_busy(moved.state))

    def _until(self, reached: Callable[[Moment], bool]) -> Moment | None:
        last = None
        for _ in range(LONGEST_RUN):
            moved = self.forward()
            last = moved or last
            if moved is None or reached(moved) or self.broken_by(moved.id):
                break
        return last

    def goto(self, moment: int) -> Moment:
        """Look at any moment of any branch."""
        self._known(moment)
        self._enter(moment)
        return self.now

    @checked
    def run(self, actions: Iterable[Any]) -> Moment:
        """Several ordinary actions, folded into one step of the picture (a macro).

        Raises Refused when one of them is not enabled; the history stays as it was before the
        first.
        """
        count, former = len(self.moments), (self.at, self.tip, self._folds)
        fold = self._folds + 1
        try:
            for action in actions:
                self.do(action, fold=fold)
        except BaseException:
            self._take_back(count, *former)
            raise
        return self.now

    @contextmanager
    def foreseen(self) -> Iterator[Moment | None]:
        """Stand one step on, as ``forward`` goes; afterwards nothing has happened."""
        count, former = len(self.moments), (self.at, self.tip, self._folds)
        try:
            yield self.forward()
        finally:
            self._take_back(count, *former)

    def _take_back(self, count: int, at: int, tip: int, folds: int) -> None:
        for moment in reversed(self.moments[count:]):
            self.children[moment.parent].pop()
            self._breaches.pop(moment.id, None)
        for kept in (self.moments, self.children, self._places, self._memories):
            del kept[count:]
        self.at, self.tip, self._folds = at, tip, folds
        self._branch()

    def fork(self) -> Moment:
        """Stay here and make this the tip: what is done next begins a branch of its own.

        Unless it was done here before: then the branch that did it is walked again.
        """
        self.tip = self.at
        return self.now

    def path(self, tip: int | None = None) -> list[int]:
        """The moments from the start to ``tip`` (the current branch's when None)."""
        if tip is None or self._known(tip) == self.tip:
            return list(self._branch())
        moments, moment = [], tip
        while moment >= 0:
            moments.append(moment)
            moment = self.moments[moment].parent
        return moments[::-1]

    def branches(self) -> list[int]:
        """The tip of every branch, in the order in which they were begun.

        A fork on which nothing was done yet is the last; looking elsewhere drops it.
        """
        tips = [moment for moment, children in enumerate(self.children) if not children]
        tips.sort(key=lambda moment: self._places[moment].begun)
        return [*tips, self.tip] if self.children[self.tip] else tips

    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts of the model's properties and monitors on the current moment."""
        with self._asking(self.state):
            said = verdicts(self.here, self.state, self.before, self.now.action, self.memories())
        if all(prop.kind != "live" for prop in self.here.properties) or not self.at:
            return said
        loops = {b.name: b.witness for b in self.broken_by(self.at) if b.loop is not None}
        return tuple(
            replace(each, ok=False, witness=loops[each.name]) if each.name in loops else each
            for each in said
        )

    def passed(self, moment: int | None = None) -> tuple[PassedStep, ...]:
        """The steps on the way to a moment (the current one when None), from the start."""
        way = [self.moments[at] for at in self.path(self.at if moment is None else moment)]
        return tuple(
            PassedStep(before.state, after.action, after.state, self._memories[after.id])
            for before, after in pairwise(way)
        )

    def actions(self, moment: int | None = None) -> tuple[Any, ...]:
        """The actions on the way to a moment (the end of the current branch when None)."""
        return tuple(self.moments[each].action for each in self.path(moment)[1:])

    def broken_by(self, moment: int) -> tuple[Breach, ...]:
        """The promises that the step to a moment is the first on its way to break."""
        breaches, step = self.breaches(moment), self._places[moment].depth - 1
        return tuple(breach for breach in breaches if breach.step == step)

    def breaches(self, moment: int) -> tuple[Breach, ...]:
        """The first step to break each promise on the way to a moment, in the order of steps."""
        self._known(moment)
        unjudged = []
        while moment not in self._breaches:
            unjudged.append(self.moments[moment])
            moment = self.moments[moment].parent
        breaches = self._breaches[moment]
        for each in reversed(unjudged):
            before, memories = self.moments[each.parent].state, self._memories[each.id]
            passed = PassedStep(before, each.action, each.state, memories)
            with self._asking(before, each.state):
                number, model = self._places[each.id].depth - 1, self.model_at(each.id)
                way = partial(self.passed, each.id)
                breaches += _new_breaches(model, number, passed, breaches, way)
            self._breaches[each.id] = breaches
        return breaches

    def save(self) -> Trace:
        """The whole tree as data."""
        steps = tuple(
            RecordedStep(
                m.parent,
                self.model.verb(m.action),
                msgspec.to_builtins(m.action),
                fingerprint(m.state),
                m.fold,
                self._off(m.id),
            )
            for m in self.moments[1:]
        )
        return trace_of(self.model, steps, at=self.at, tip=self.tip)

    def _off(self, moment: int) -> tuple[str, ...] | UnsetType:
        off = tuple(self.model_at(moment).off)
        return UNSET if off == tuple(self.model.off) else off

    @classmethod
    @checked
    def load(cls, trace: Trace, model: Model[Any, Any] | None = None) -> Timeline:
        """Build a history again by replaying every step.

        A trace of another revision of the model is replayed by its actions alone: where they lead
        is not compared then, and ``notes`` say so.

        Raises BadInput naming the first step that is not enabled or leads to another state.
        """
        if model is not None and model.name != trace.model:
            raise BadInput("model", trace.model, f"{model.name}, the model to replay on")
        timeline = cls(model or model_of(trace))
        if trace.revision != timeline.model.revision:
            made = f"revision {trace.revision}"
            timeline.notes = (OF_ANOTHER.format(version=made, model=timeline.model.name),)
        models = {tuple(timeline.model.off): timeline.model}
        try:
            for number, recorded in enumerate(trace.steps):
                off = trace.off if recorded.off is UNSET else recorded.off
                if off not in models:
                    models[off] = made_again(timeline.model, trace.parameters, off)
                timeline._replay(recorded, number, models[off])
        except BadInput as error:
            written = list(timeline.notes)
            if trace.kit != __version__:
                written.append(f"the trace is of kit {shorten(trace.kit)}, this is {__version__}")
            if not written:
                raise
            allowed = f"{error.allowed} ({'; '.join(written)})"
            raise BadInput(error.field, error.value, allowed) from None
        whole_number("tip", trace.tip, most=len(trace.steps))
        whole_number("at", trace.at, most=len(trace.steps))
        timeline.at = timeline.tip = trace.tip
        if not timeline._on_branch(trace.at):
            raise BadInput("at", trace.at, f"a moment on the way to the tip, {trace.tip}")
        timeline.at = trace.at
        return timeline

    def _replay(self, recorded: RecordedStep, number: int, model: Model[Any, Any]) -> None:
        field = f"steps[{number}]"
        whole_number(f"{field}.parent", recorded.parent, most=number)
        whole_number(f"{field}.fold", recorded.fold, most=MOST_FOLD)
        self.at = recorded.parent
        named = f"step {number + 1}, {shorten(recorded.verb)}"
        try:
            action = action_from(self.model, recorded.action, f"{field}.action")
        except BadInput as error:
            raise BadInput(error.field, error.value, f"{error.allowed} as {named}") from None
        try:
            self.do(action, fold=recorded.fold, model=model)
        except Refused as refused:
            allowed = f"an enabled action as {named} ({refused})"
            raise BadInput(field, recorded.verb, allowed) from None
        if len(self.moments) != number + 2:
            raise BadInput(field, recorded.verb, "a step that its parent does not already have")
        if self.notes:
            return
        replayed = fingerprint(self.state)
        if replayed != recorded.fingerprint:
            allowed = f"{replayed} by replay (if nobody edited the file, the model has changed)"
            raise BadInput(f"{field}.fingerprint", recorded.fingerprint, allowed)
        verb = self.model.verb(action)
        if recorded.verb != verb:
            raise BadInput(f"{field}.verb", recorded.verb, f"{verb}, as its action says")

    def _known(self, moment: int) -> int:
        if type(moment) is int and 0 <= moment < len(self.moments):
            return moment
        return whole_number("moment", moment, most=len(self.moments) - 1)

    def _branch(self) -> list[int]:
        """The moments from the start to the tip. It is kept, so that it costs what changed."""
        missing, moment = [], self.tip
        while not self._on_line(moment):
            missing.append(moment)
            moment = self.moments[moment].parent
        del self._line[self._places[moment].depth + 1 :]
        self._line += missing[::-1]
        return self._line

    def _following(self) -> Moment | None:
        """The next moment of the branch, if one looks at a moment of it."""
        line, after = self._branch(), self._places[self.at].depth + 1
        return self.moments[line[after]] if self._on_line(self.at) and after < len(line) else None

    def _on_line(self, moment: int) -> bool:
        depth = self._places[moment].depth
        return depth < len(self._line) and self._line[depth] == moment

    def _on_branch(self, moment: int) -> bool:
        self._branch()
        return self._on_line(moment)

    def _enter(self, moment: int) -> None:
        self.at = moment
        if self._on_branch(moment):
            return
        while self.children[moment]:
            moment = self.children[moment][-1]
        self.tip = moment


def held(timeline: Timeline, actions: Iterable[Any]) -> Iterator[Any]:
    """Yield actions for a timeline to do, none after one that breaks a promise."""
    for action in actions:
        yield action
        if timeline.broken_by(timeline.at):
            return


def every(model: Model[Any, Any], state: Any, wanted: Callable[[Any], bool]) -> Iterator[Any]:
    """Yield the first enabled action that is wanted, again and again, until none is enabled."""
    return _led(model, state, lambda s: next(filter(wanted, model.actions(s)), None))


def catch_up(model: Model[Any, Any], state: Any) -> Iterator[Any]:
    """Every node that can be reached applies all that it lacks."""
    return every(model, state, lambda action: model.kind(action) == "apply")


def suggested(
    model: Model[Any, Any], state: Any, stop: Callable[[Any], bool] = lambda action: False
) -> Iterator[Any]:
    """Yield what the model suggests until it suggests nothing, or what ``stop`` holds back."""
    return takewhile(lambda action: not stop(action), _led(model, state, model.suggest))


def _led(model: Model[Any, Any], state: Any, following: Callable[[Any], Any]) -> Iterator[Any]:
    for _ in range(LONGEST_RUN):
        action = following(state)
        if action is None:
            return
        yield action
        state = model.apply(state, action)


MOST = 2_000
"""Steps: several times the longest run of a lesson."""


def played_out(timeline: Timeline) -> Timeline:
    """The timeline itself, led on to its end. Raises BadInput for more than ``MOST`` steps."""
    for _ in range(MOST):
        if timeline.forward() is None:
            return timeline
    raise BadInput("timeline", timeline.model.name, f"a run that ends within {MOST:,} steps")
