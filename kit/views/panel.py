"""What a picture is drawn from, and what a panel is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from msgspec import Struct

from kit.engine.breaches import Breach, PassedStep, first_breaches
from kit.engine.flows import Flow, flows
from kit.engine.timeline import Timeline
from kit.views.fragment import Frag, Kid, h

Area = Literal["head", "main", "side", "foot"]


def _no_way() -> Sequence[PassedStep]:
    return ()


class Scene(Struct, frozen=True):
    """One moment to draw: the state, the step that led to it, and whether one may act.

    ``model`` is a Model of any family; its own views know which. ``before`` and ``action`` are None
    at the start; ``before`` serves only to mark what changed. ``suggested`` is the action that the
    step button would do. ``closed`` is the sentence to answer with where acting is impossible (an
    exported page). ``memories`` is what the model's monitors remember at this moment. ``past``
    gives the steps that led here, for pictures of a whole run.
    """

    model: Any
    state: Any
    before: Any = None
    action: Any = None
    say: str = ""
    milestone: str | None = None
    closed: str | None = None
    suggested: Any = None
    memories: tuple[Any, ...] = ()
    past: Callable[[], Sequence[PassedStep]] = _no_way

    def way(self) -> Sequence[PassedStep]:
        """The steps from the start to here; at least the last one, where nobody kept the others."""
        steps = self.past()
        if not steps and self.action is not None:
            return (PassedStep(self.before, self.action, self.state, self.memories),)
        return steps

    def flows(self) -> tuple[Flow, ...]:
        """What travels in the step that led here; nothing at the start."""
        if self.action is None:
            return ()
        return flows(self.model, self.before, self.action, self.state)

    def breaches(self) -> tuple[Breach, ...]:
        """The first step to break each promise on the way here."""
        return first_breaches(self.model, self.way())


def scene_at(
    timeline: Timeline, moment: int, closed: str | None = None, suggested: Any = None
) -> Scene:
    """What a moment of a timeline is drawn from."""
    drawn = timeline.moments[moment]
    return Scene(
        timeline.model,
        drawn.state,
        None if drawn.parent < 0 else timeline.moments[drawn.parent].state,
        drawn.action,
        drawn.say,
        drawn.milestone,
        closed,
        suggested,
        timeline.memories(moment),
        partial(timeline.passed, moment),
    )


class Panel(Struct, frozen=True):
    """One picture of a moment, and the same in words.

    ``optional`` panels are the first to be left out of an export that grows too large; those
    with ``folded`` are shown as a title that opens; those with ``still`` make up the picture that a
    notebook keeps without a kernel. ``shown`` tells whether there is anything.
    """

    name: str
    title: str
    area: Area
    draw: Callable[[Scene], Frag]
    text: Callable[[Scene], str]
    optional: bool = False
    folded: bool = False
    still: bool = False
    shown: Callable[[Scene], bool] | None = None


def section(panel: Panel, body: Kid) -> Frag:
    """Frame a panel's picture with its title; the title folds it away."""
    return h(
        "details",
        h("summary", h("h3", panel.title)),
        body,
        k=f"panel:{panel.name}",
        class_=f"panel {panel.area} {panel.name}",
        open=not panel.folded,
    )
