"""What a picture is drawn from, and what a panel is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import accumulate, zip_longest
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from kit.errors import Refusal
from kit.model.flows import Flow, flows
from kit.model.timeline import Breach, PassedStep, Timeline, first_breaches
from kit.search.causes import Inquiry
from kit.views.fragment import Frag, Kid, h

T = TypeVar("T")


@lru_cache(128)
def worked_out(work: Callable[[Any, Any], Any], model: Any, state: Any) -> Any:
    """What a pure function makes of a model and a state; kept for the latest who asked."""
    return work(model, state)


class Scene(Struct, frozen=True):
    """One moment to draw: the state, the step that led to it, and whether one may act.

    ``model`` is a Model of any family; its own views know which. ``before`` and ``action`` are None
    at the start; ``before`` serves only to mark what changed. ``say`` tells what happened, ``why``
    what it was for. ``suggested`` is the action that the step button would do. ``closed`` is the
    sentence to answer with where acting is impossible (an
    exported page); ``following`` gives an action that was done next there the moment that it led
    to. ``memories`` is what the model's monitors remember at this moment. ``past``
    gives the steps that led here, for pictures of a whole run; ``broken`` says which of them broke
    a promise, where somebody kept that. ``counted`` gives a step of that way (from 0) the number
    that the Player's counter shows, and ``moments`` the moments of a timeline that they lead to.
    ``met`` gives a state the first moment at which it is met, on any branch that there is by now.
    ``inquiry`` is what was found out about a promise that breaks here. ``half``: its picture shares
    the board with another one. ``kept`` is what was worked out for this scene already.
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
    why: str = ""
    past: Callable[[], Sequence[PassedStep]] = tuple
    broken: Callable[[], tuple[Breach, ...]] | None = None
    counted: Callable[[int], int] = lambda step: step + 1
    moments: Callable[[], Sequence[int]] = tuple
    met: Callable[[Any], int | None] = lambda state: None
    inquiry: Inquiry | None = None
    half: bool = False
    following: Mapping[Any, int] = {}
    kept: dict[Any, Any] = field(default_factory=dict)

    def once(self, name: Any, work: Callable[[], T]) -> T:
        """What ``work`` gives for this scene, worked out when it is first asked for."""
        if name not in self.kept:
            self.kept[name] = work()
        result: T = self.kept[name]
        return result

    def of(self, work: Callable[[Any, Any], T]) -> T:
        """What ``work`` makes of the model and the state, once for all who ask: the panels of this
        moment, their words, and the next moment, which marks what changed.
        """
        result: T = worked_out(work, self.model, self.state)
        return result

    def former(self) -> Scene | None:
        """The moment before; None at the start."""

        def former() -> Scene:
            return Scene(self.model, self.before, closed=self.closed, past=lambda: self.way()[:-1])

        if self.action is None and self.before is self.state:
            return self
        return None if self.before is None else self.once("former", former)

    def options(self) -> tuple[tuple[Any, Refusal | None], ...]:
        """Every action that somebody could try here, with why it may not happen now."""
        return self.of(_options)

    def refusal(self, action: Any) -> Refusal | None:
        """Why an action may not happen here; None when it may."""
        known = self.once("refusals", lambda: dict(self.options()))
        refusal: Refusal | None = (
            known[action] if action in known else self.model.refusal(self.state, action)
        )
        return refusal

    def way(self) -> Sequence[PassedStep]:
        """The steps from the start to here; at least the last one, where nobody kept the others."""
        steps = self.once("way", self.past)
        if not steps and self.action is not None:
            return (PassedStep(self.before, self.action, self.state, self.memories),)
        return steps

    def flows(self) -> tuple[Flow, ...]:
        """What travels in the step that led here; nothing at the start."""
        if self.action is None:
            return ()
        return self.once("flows", lambda: flows(self.model, self.before, self.action, self.state))

    def breaches(self) -> tuple[Breach, ...]:
        """The first step to break each promise on the way here."""
        if self.broken is not None:
            return self.broken()
        return first_breaches(self.model, self.way())


def _options(model: Any, state: Any) -> tuple[tuple[Any, Refusal | None], ...]:
    return tuple(model.options(state))


def scene_at(
    timeline: Timeline, moment: int, closed: str | None = None, suggested: Any = None
) -> Scene:
    """What a moment of a timeline is drawn from."""
    drawn = timeline.moments[moment]
    return Scene(
        timeline.model_at(moment),
        drawn.state,
        None if drawn.parent < 0 else timeline.moments[drawn.parent].state,
        drawn.action,
        drawn.say,
        drawn.milestone,
        closed,
        suggested,
        timeline.memories(moment),
        timeline.why(moment),
        partial(timeline.passed, moment),
        partial(timeline.breaches, moment),
        counting(timeline, moment),
        lambda: timeline.path(moment)[1:],
        lambda state: next((each.id for each in timeline.moments if each.state == state), None),
        timeline.inquiries.get(moment),
    )


def scene_of(
    timeline: Timeline, moment: int, closed: str | None = None, tip: int | None = None
) -> Scene:
    """The same, with what the step button does at that moment: the timeline knows its script.

    The start is drawn as the model of the branch has it, or of the one that ends at ``tip``.
    """
    former = timeline.at, timeline.tip
    timeline.at, timeline.tip = moment, timeline.tip if tip is None else tip
    try:
        model, suggested = timeline.here, timeline.suggest()
    finally:
        timeline.at, timeline.tip = former
    following = dict[Any, int]()
    if closed is not None:  # steps within a run of several are not gone to one by one
        after = (timeline.moments[number] for number in timeline.children[moment])
        following = {each.action: each.id for each in after if not each.fold}
        # What follows there is what the step button does, whatever else could be done.
        suggested = suggested if suggested in following else next(iter(following), suggested)
    scene = scene_at(timeline, moment, closed, suggested)
    return msgspec.structs.replace(scene, model=model, following=following)


def counting(timeline: Timeline, moment: int) -> Callable[[int], int]:
    """The Player's number for a step (from 0) on the way to a moment; a folded run is one step."""

    @cache
    def numbers() -> tuple[int, ...]:
        folds = [timeline.moments[at].fold for at in timeline.path(moment)[1:]]
        ends = (fold == 0 or fold != after for fold, after in zip_longest(folds, folds[1:]))
        return tuple(accumulate(ends, initial=1))

    return lambda step: numbers()[step]


def at_rest(scene: Scene) -> Scene:
    """The same state, as if the step that led to it had changed nothing."""
    still = {"before": scene.state, "action": None, "say": "", "why": "", "milestone": None}
    return msgspec.structs.replace(scene, **still, kept={})


class Panel(Struct, frozen=True):
    """One picture of a moment, and the same in words.

    ``wording`` writes it in words where those of the picture, line by line, will not do.
    ``optional`` panels are the first to be left out of an export that grows too large; those with
    ``still`` make up the picture that a notebook keeps without a kernel. ``shown`` tells whether
    there is anything. ``tab`` is a shorter title for a tab; one with ``gates`` draws them itself.
    ``legend`` says what the marks mean that a picture has now: it stands beside the title.
    Of an ``own`` panel each row of a table says what the node that it is keyed by knows itself, and
    nothing that only others know: a seat of a class shows its node that row. ``known`` gives a
    picture as each node that is behind knows it, with its name as ``tab``.
    """

    name: str
    title: str
    draw: Callable[[Scene], Frag]
    wording: Callable[[Scene], str] | None = None
    optional: bool = False
    still: bool = False
    shown: Callable[[Scene], bool] | None = None
    tab: str = ""
    gates: Callable[[Scene], Iterable[Any]] | None = None
    legend: Callable[[Scene], str] | None = None
    own: bool = False
    known: Callable[[Scene], Iterable[Panel]] | None = None

    def text(self, scene: Scene) -> str:
        """The panel in words: its own, or the lines of its picture."""
        if self.wording is not None:
            return self.wording(scene)
        return "\n".join(f"  {line}" for line in self.draw(scene).lines())


def is_shown(panel: Panel, scene: Scene) -> bool:
    """Whether a panel has anything to show of a moment."""
    return panel.shown is None or panel.shown(scene)


def alternative(what: str, text: str) -> str:
    """A picture in a line, for those who do not see it: what it is of, then its lines in words."""
    return f"{what}: {'; '.join(line.strip() for line in text.splitlines())}"


def section(panel: Panel, body: Kid, kind: str, label: str = "") -> Frag:
    """Frame a panel's picture with its title; it scrolls when it is larger than its slot."""
    return h(
        "section",
        h("h3", panel.title),
        body,
        k=f"panel:{panel.name}",
        class_=f"{kind} panel {panel.name}",
        tabindex=0,
        role="region",
        aria_label=label or panel.title,
    )
