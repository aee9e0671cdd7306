"""A history that can be walked: act, go back, go on, branch. Nothing that was done is ever lost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from kit.errors import BadInput, Refused
from kit.model import Lamp, Model, fingerprint, lamps
from kit.trace import Step, Trace, model_of, trace_of


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


class Timeline:
    """The tree of all that was done with one model, and the moment we look at.

    Moments are numbered in the order in which they were made; 0 is the start. ``at`` is the
    current moment, ``tip`` the last one of the branch it lies on.
    """

    def __init__(self, model: Model[Any, Any], script: Iterable[str] = ()) -> None:
        """A history that holds only the model's first state.

        ``script`` holds verbs; each takes the place of the model's suggestion as soon as it is
        enabled, in order.
        """
        self.model = model
        self.script = tuple(script)
        self.moments = [Moment(0, -1, None, model.start(), f"{model.title}: the start.")]
        self.children: list[list[int]] = [[]]
        self.at = 0
        self.tip = 0
        self._folds = 0

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

    def do(self, action: Any, *, fold: int = 0) -> Moment:
        """Act on the current state. Acting from the past begins a new branch.

        Doing again what was done here before walks along the branch that did it.

        Raises:
            Refused: when the action is not enabled; the history stays as it was.
        """
        for child in self.children[self.at]:
            if self.moments[child].action == action:
                self._enter(child)
                return self.now
        before = self.state
        after = self.model.act(before, action)
        moment = Moment(
            len(self.moments),
            self.at,
            action,
            after,
            self.model.describe(before, action, after),
            self.model.milestone(before, action, after),
            fold,
        )
        self.moments.append(moment)
        self.children.append([])
        self.children[self.at].append(moment.id)
        self.at = self.tip = moment.id
        return moment

    def suggest(self) -> Any | None:
        """What the script, or else the model's default schedule, would do next; None at rest."""
        wanted = self._scripted()
        if wanted is not None:
            for action in self.model.actions(self.state):
                if self.model.verb(action) == wanted:
                    return action
        return self.model.suggest(self.state)

    def _scripted(self) -> str | None:
        """The first line of the script that the way to the current moment has not followed."""
        lines = iter(self.script)
        wanted = next(lines, None)
        for moment in self.path(self.at)[1:]:
            if wanted is not None and self.model.verb(self.moments[moment].action) == wanted:
                wanted = next(lines, None)
        return wanted

    def forward(self) -> Moment | None:
        """One step on along the branch; at its tip, what the model suggests. None at rest."""
        path = self.path()
        position = path.index(self.at)
        if position + 1 < len(path):
            self.at = path[position + 1]
            return self.now
        action = self.suggest()
        return None if action is None else self.do(action)

    def back(self) -> Moment | None:
        """One step back; never branches. None at the start."""
        if self.at == 0:
            return None
        self.at = self.now.parent
        return self.now

    def to_milestone(self) -> Moment | None:
        """Forward to the next milestone or to rest; None when nothing moved."""
        moved = self.forward()
        last = moved
        while moved is not None and moved.milestone is None:
            moved = self.forward()
            last = moved or last
        return last

    def goto(self, moment: int) -> Moment:
        """Look at any moment of any branch.

        Raises:
            BadInput: when there is no such moment.
        """
        if not 0 <= moment < len(self.moments):
            raise BadInput("moment", moment, f"a number from 0 to {len(self.moments) - 1}")
        if moment not in self.path():
            self._enter(moment)
        self.at = moment
        return self.now

    def run(self, actions: Iterable[Any]) -> Moment:
        """Several ordinary actions, folded into one step of the picture (a macro)."""
        self._folds += 1
        for action in actions:
            self.do(action, fold=self._folds)
        return self.now

    def fork(self) -> Moment:
        """Stay here and make this the tip: what is done next begins a branch of its own."""
        self.tip = self.at
        return self.now

    def path(self, tip: int | None = None) -> list[int]:
        """The moments from the start to ``tip`` (the current branch's when None)."""
        found, moment = [], self.tip if tip is None else tip
        while moment >= 0:
            found.append(moment)
            moment = self.moments[moment].parent
        return found[::-1]

    def branches(self) -> list[int]:
        """The tip of every branch, in the order in which they were begun."""
        tips = [moment.id for moment in self.moments if not self.children[moment.id]]
        return tips if self.tip in tips else sorted([*tips, self.tip])

    def first_difference(self, one: int, other: int) -> int:
        """How many steps two branches share (the index of the first step that differs)."""
        pairs = zip(self.path(one), self.path(other), strict=False)
        return next((i for i, (a, b) in enumerate(pairs) if a != b), -1)

    def lamps(self) -> tuple[Lamp, ...]:
        """What the model's properties say of the current moment."""
        return lamps(self.model, self.state, self.before, self.now.action)

    def save(self) -> Trace:
        """The whole tree as data."""
        steps = tuple(
            Step(
                m.parent,
                self.model.verb(m.action),
                _plain(m.action),
                fingerprint(m.state),
                m.fold,
            )
            for m in self.moments[1:]
        )
        return trace_of(self.model, steps, at=self.at, tip=self.tip)

    @classmethod
    def load(cls, trace: Trace, model: Model[Any, Any] | None = None) -> Timeline:
        """Build a history again by replaying every step.

        Raises:
            BadInput: naming the first step that is not enabled or leads to another state.
        """
        timeline = cls(model or model_of(trace))
        for number, recorded in enumerate(trace.steps, start=1):
            field = f"steps[{number - 1}]"
            if not 0 <= recorded.parent < number:
                raise BadInput(f"{field}.parent", recorded.parent, f"0 to {number - 1}")
            timeline.at = recorded.parent
            action = action_from(timeline.model, recorded.action, f"{field}.action")
            try:
                timeline.do(action, fold=recorded.fold)
            except Refused as refused:
                raise BadInput(field, recorded.verb, f"an enabled action ({refused})") from None
            if len(timeline.moments) != number + 1:
                raise BadInput(field, recorded.verb, "a step that its parent does not have already")
            if fingerprint(timeline.state) != recorded.fingerprint:
                found = fingerprint(timeline.state)
                raise BadInput(f"{field}.fingerprint", recorded.fingerprint, f"{found} by replay")
        timeline._folds = max((m.fold for m in timeline.moments), default=0)
        for field, value in (("tip", trace.tip), ("at", trace.at)):
            if not 0 <= value < len(timeline.moments):
                raise BadInput(field, value, f"0 to {len(timeline.moments) - 1}")
        timeline.at = timeline.tip = trace.tip
        timeline.goto(trace.at)
        return timeline

    def _enter(self, moment: int) -> None:
        """Make ``moment`` current, and its newest descendant the tip, unless on the branch."""
        on_branch = moment in self.path()
        self.at = moment
        if on_branch:
            return
        while self.children[moment]:
            moment = self.children[moment][-1]
        self.tip = moment


def action_from(model: Model[Any, Any], plain: Any, field: str) -> Any:
    """An action of ``model`` from plain data, strictly.

    Raises:
        BadInput: when the data is no action of this model.
    """
    try:
        return msgspec.convert(plain, model.Action, strict=True)
    except (msgspec.ValidationError, TypeError) as error:
        raise BadInput(field, plain, f"an action of {model.name} ({error})") from None


def _plain(action: Any) -> Any:
    return msgspec.to_builtins(action)
