"""A rendered timeline: its frames, each drawn once, to be packed whole or sent piece by piece."""

from collections import Counter, OrderedDict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec

from kit.model.model import Model
from kit.model.timeline import Timeline
from kit.search.causes import Inquiry, smallest_cause
from kit.views.cover import Story
from kit.views.frame import draw_flows, frame
from kit.views.headlines import chapter
from kit.views.panel import Panel, Scene, at_rest, is_shown, scene_at, scene_of
from kit.views.registry import Views, for_model
from kit.views.store import FragmentStore
from kit.views.wire import DrawnMoment, Pack, Position, Update

LONGEST_RUN, LONGEST_LIVE = 64, 12
"""The steps inside a longer run are not drawn beforehand; live, they are when one unfolds it."""
MOST_AT_ONCE = 500_000
"""Characters of new frames after which the others wait until a page asks: so it is shown soon. A
hundred frames of three nodes have fewer, one of a hundred nodes with 256 tokens has more."""
LONGEST_CAUSE = 200
"""Steps of a run whose smallest cause is found for a page that can ask nobody."""
MOST_AHEAD = 240
"""Steps of a script that are counted beforehand, to say how long a story takes."""
MOST_TEXTS = 20_000
MOST_CHARACTERS = 16_000_000
KEPT = 1_000
"""When a store grows past either limit a new one begins with this many of the latest frames."""
MOST_SAID = 512
"""Texts of panels that are held, to see in which the next step changes something."""


def _breaks(timeline: Timeline) -> bool:
    return bool(timeline.model_at(timeline.tip).off and timeline.breaches(timeline.tip))


class RenderedTimeline:
    """The frames of one timeline. ``session`` changes when pages must begin again from nothing;
    ``sequence`` counts where they were told to go, in all sessions.
    """

    def __init__(
        self,
        timeline: Timeline,
        *,
        panels: Sequence[Panel] | None = None,
        closed: str | None = None,
        session: int = 0,
        sequence: int = 0,
        drawn: Pack | None = None,
        ahead: bool = True,
    ) -> None:
        """Draw what the timeline holds; ``panels`` replaces the model's own choice.

        ``drawn`` is a pack of the same moments: what it holds is not drawn again. Unless one draws
        ``ahead``, only the moment that is shown is drawn, and a page asks for others.
        """
        self.timeline = timeline
        self.views: Views = for_model(timeline.model)
        self.panels = tuple(self.views.panels if panels is None else panels)
        self.closed = closed
        self.number = session
        self.sequence = sequence
        self.store = FragmentStore()
        self.moments: list[DrawnMoment] = []
        self._folds: Counter[int] = Counter()
        self._rest: OrderedDict[tuple[str, int], str] = OrderedDict()
        self._still: dict[int, Scene] = {}
        self._chapters: dict[int, tuple[str, ...]] = {}
        self._foreseen: tuple[tuple[Any, ...], DrawnMoment] | None = None
        self.story = self._story_told()
        if closed is not None:
            self._find_causes()
        if drawn is not None and len(drawn.moments) == len(timeline.moments):
            self._folds.update(moment.fold for moment in timeline.moments)
            self.moments = [*drawn.moments]
            self.store.take(drawn.texts)
        self.draw_new(ahead=ahead)

    @property
    def model(self) -> Model[Any, Any]:
        """The timeline's model."""
        return self.timeline.model

    def _story_told(self) -> Story | None:
        timeline, steps = self.timeline, len(self.timeline.path()) - 1
        # What a story says of its run is said of no run under other rules.
        same = timeline.model_at(timeline.tip).off == self.model.off
        premise = (timeline.premise if same else "") or self.model.premise
        if self.closed is not None:
            shown = self._apart(timeline.path())
            return Story(timeline.story or self.model.title, premise, shown, _breaks(timeline))
        if not timeline.story:
            return None
        if not steps:
            timeline = Timeline(self.model, timeline.script)
            while steps < MOST_AHEAD and timeline.forward() is not None:
                steps += 1
        known = steps if steps < MOST_AHEAD else 0
        return Story(self.timeline.story, premise, known, _breaks(timeline))

    def _find_causes(self) -> None:
        """Find out why promises break: whoever reads a page has nobody to ask."""
        timeline = self.timeline
        for moment in range(1, len(timeline.moments)):
            broken = timeline.broken_by(moment)
            if not broken or broken[0].step >= LONGEST_CAUSE:
                continue
            known = timeline.inquiries.get(moment) or Inquiry()
            if known.cause is None:
                model, run = timeline.model_at(moment), timeline.actions(moment)
                cause = smallest_cause(model, run, broken[0].name)
                timeline.inquiries[moment] = msgspec.structs.replace(known, cause=cause)

    def _apart(self, path: list[int]) -> int:
        """The steps of a path in *Story*: what several nodes do alike is one (``branches.js``)."""
        steps = [self.timeline.moments[moment] for moment in path[1:]]
        acts = [(*self.model.verb(step.action).split(" "), step.milestone) for step in steps]
        alike = (
            len(act) == len(after) == 3 and act[0] == after[0] and act[1] != after[1] and not act[2]
            for act, after in pairwise(acts)
        )
        return len(acts) - sum(alike)

    @property
    def session(self) -> str:
        """Names the store; texts of another session have other numbers."""
        return str(self.number)

    @property
    def undrawn(self) -> int:
        """How many moments nobody has asked for yet."""
        return sum(moment.root is None for moment in self.moments)

    def scene(self, moment: int, tip: int | None = None) -> Scene:
        """Return what a moment is drawn from, on its branch or on the one that ends at ``tip``.

        The moment before is the one that its own frame was compared with: nothing is worked out
        twice.
        """
        scene = scene_of(self.timeline, moment, self.closed, tip)
        parent = self.timeline.moments[moment].parent
        if parent >= 0 and (former := self._resting(parent)).model is scene.model:
            scene.kept["former"] = former
        return scene

    def html(self, moment: int) -> str:
        """Return the HTML of one frame."""
        self.need(moment)
        root = self.moments[moment].root
        assert root is not None
        return self.store.flat(root)

    # What pages are sent.

    def pack(self) -> Pack:
        """Return the whole history."""
        return Pack(self.session, self.store.texts, self.moments, self._position())

    def update(self, base: int, first: int) -> Update:
        """Return what a page with ``base`` texts and ``first`` moments is missing."""
        return Update(self.session, base, self.store.since(base), first, self.moments[first:])

    def rest(self, base: int, first: int) -> Update:
        """Return what a page is missing, with the position as it is."""
        return msgspec.structs.replace(self.update(base, first), position=self._position())

    def moved(self, base: int, first: int) -> Update:
        """Return what a page is missing, with a new position, to which every reader goes."""
        self.sequence += 1
        return self.rest(base, first)

    def notice(self, **said: str) -> Update:
        """Return what is said beside the history: an ``error``, how far a ``progress`` has come."""
        held = self.update(len(self.store), len(self.moments))
        return msgspec.structs.replace(held, **said)

    def need(self, moment: int) -> Update:
        """Draw a moment, unless it is drawn, and return what shows it."""
        base = len(self.store)
        if self.moments[moment].root is None:
            self.moments[moment] = self.draw(moment)
        shown = [self.moments[moment]]
        return Update(self.session, base, self.store.since(base), moment, shown)

    def _position(self) -> Position:
        return Position(self.timeline.at, self.timeline.tip, self.sequence)

    # How moments are drawn.

    def draw_new(self, *, ahead: bool = True) -> int:
        """Take in the moments that are new; return the first one that is new or changed.

        The one that is shown is drawn first. A page can ask for others, an exported one cannot.
        """
        first, size = len(self.moments), self.store.size
        most = MOST_AT_ONCE if ahead else 1
        for moment in self.timeline.moments[first:]:
            self._folds[moment.fold] += 1
        new = range(first, len(self.timeline.moments))
        self.moments += map(self._blank, new)
        if self._foreseen is not None and new and self._is_foreseen(first):
            self.moments[first], self._foreseen = self._foreseen[1], None
        elif new:
            self._forget_foreseen()
        undrawn = [number for number in new if self.moments[number].root is None]
        for number in sorted(undrawn, key=lambda each: each != self.timeline.at):
            if self.closed is not None or self.store.size - size < most:
                self.moments[number] = self._drawn(number)
        for number in range(max(0, first - 1), len(self.moments)):
            inner = self._inner(number)
            if self.moments[number].inner != inner:
                self.moments[number] = msgspec.structs.replace(self.moments[number], inner=inner)
                first = min(first, number)
        return first

    def foresee(self) -> None:
        """Draw the next step while nobody waits: who takes it finds it drawn."""
        number = len(self.moments)
        if number < len(self.timeline.moments):
            return
        with self.timeline.foreseen() as moment:
            if moment is None or moment.id < number or self._is_foreseen(number):
                return
            self._forget_foreseen()
            origin, blank = self._origin(number), self._blank(number)
            self._foreseen = origin, blank
            self.moments.append(blank)
            try:
                self._foreseen = origin, self.draw(number)
            finally:
                self.moments.pop()

    def _is_foreseen(self, number: int) -> bool:
        return self._foreseen is not None and self._foreseen[0] == self._origin(number)

    def _forget_foreseen(self) -> None:
        if self._foreseen is not None:
            number, self._foreseen = self._foreseen[0][0], None
            self._still.pop(number, None)
            for key in [key for key in self._rest if key[1] == number]:
                del self._rest[key]

    def _origin(self, number: int) -> tuple[Any, ...]:
        moment = self.timeline.moments[number]
        scene = scene_of(self.timeline, number, self.closed, number)
        said = scene.say, scene.why, scene.milestone, scene.suggested
        return number, moment.parent, moment.action, moment.fold, id(scene.model), *said

    def full(self) -> bool:
        """Whether the store has grown past its limits."""
        return len(self.store) > MOST_TEXTS or self.store.size > MOST_CHARACTERS

    def renew(self, kept: int = KEPT) -> None:
        """Begin a new store and session with the latest frames; older ones are drawn on demand."""
        self.number += 1
        self.sequence += 1  # who looked before has not heard where this begins
        self._forget_foreseen()
        self.store = FragmentStore()
        every = range(len(self.moments))
        self.moments = list(map(self._blank, every))
        for moment in every[-kept:]:
            self.moments[moment] = self._drawn(moment)

    def _drawn(self, moment: int) -> DrawnMoment:
        """The inner steps of a long run are drawn when somebody asks for them.

        What travels in them is told at once: it is part of what the run shows as one step.
        """
        limit = LONGEST_LIVE if self.closed is None else LONGEST_RUN
        steps = self._folds[self.timeline.moments[moment].fold]
        if steps <= limit or not self._inner(moment):
            return self.draw(moment)
        if steps > LONGEST_RUN:
            return self.moments[moment]
        return self._with_flows(moment, self.scene(moment))

    def _blank(self, number: int) -> DrawnMoment:
        moment = self.timeline.moments[number]
        verb = "" if moment.action is None else self.model.verb(moment.action)
        inner, broken = self._inner(number), bool(self.timeline.broken_by(number))
        model = self.timeline.model_at(number)
        off = ", ".join(each.id for each in model.safeguards if each.name in model.off)
        begun, name = self._chapters.get(moment.parent, ()), ""
        if number:
            former = self.timeline.moments[moment.parent].milestone or ""
            text = f"{moment.say}\n{former}"
            name = chapter(model.name, moment.milestone or "", text, begun)
        self._chapters[number] = (*begun, name) if name else begun
        return DrawnMoment(moment.parent, None, verb, name or None, None, inner, None, broken, off)

    def draw(self, moment: int) -> DrawnMoment:
        """Draw a moment into the store: its frame, its question and what travels."""
        scene, views = self.scene(moment, moment), self.views
        changed = self._changed(moment, scene)
        root, question, start = self._framed(scene, changed), None, None
        if "picture" in scene.kept:  # the next step can be asked about what stands in it
            self._resting(moment).kept["picture"] = scene.kept["picture"]
        if self.moments[moment].parent == 0 and scene.model is not self.model:
            start = self._framed(self.scene(0, moment))
        if scene.action is not None:
            question = views.asks(scene, [p for p in self.panels if is_shown(p, scene)], changed)
        text = None if question is None else self.store.add(question.draw())
        drawn = self._with_flows(moment, scene)
        return msgspec.structs.replace(drawn, root=root, question=text, start=start)

    def _framed(self, scene: Scene, changed: Sequence[str] = ()) -> int:
        views = self.views
        return self.store.add(frame(scene, self.panels, views.macros, views, changed, self.story))

    def _with_flows(self, moment: int, scene: Scene) -> DrawnMoment:
        flows = scene.flows()
        text = self.store.add(draw_flows(flows)) if flows else None
        return msgspec.structs.replace(self.moments[moment], flows=text)

    def _changed(self, moment: int, scene: Scene) -> list[str]:
        parent = self.timeline.moments[moment].parent
        if parent < 0:
            return []
        names, views = [], self.views
        for panel in self.panels:
            if panel.name not in (views.picture, views.badges) and is_shown(panel, scene):
                former = self._panel_text(
                    panel, parent
                )  # first: a long run is written on from there
                rest = self._panel_text(panel, moment)
                if rest != former or panel.text(scene) != rest:
                    names.append(panel.name)
        return names

    def _panel_text(self, panel: Panel, moment: int) -> str:
        key = panel.name, moment
        if key not in self._rest:
            self._rest[key] = panel.text(self._resting(moment))
            while len(self._rest) > MOST_SAID:
                self._rest.popitem(last=False)
        return self._rest[key]

    def _resting(self, moment: int) -> Scene:
        if moment not in self._still:
            while len(self._still) > 1:
                self._still.pop(next(iter(self._still)))
            self._still[moment] = at_rest(scene_at(self.timeline, moment, self.closed))
        return self._still[moment]

    def _inner(self, number: int) -> bool:
        fold = self.timeline.moments[number].fold
        children = (self.timeline.moments[child] for child in self.timeline.children[number])
        return fold != 0 and any(child.fold == fold for child in children)
