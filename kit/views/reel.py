"""A reel: the frames of a timeline, drawn once each, ready to be packed or sent piece by piece."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, TypedDict

from kit.engine.model import Model
from kit.engine.timeline import Timeline
from kit.views.frame import frame
from kit.views.panel import Panel, Scene, scene_at
from kit.views.registry import Views, for_model
from kit.views.store import Store, squeeze

Node = list[Any]
"""What the player's module knows of a moment: parent, root text (None when it was let go),
the action's verb, the milestone, the question's text id (None without one), and 1 when it is an
inner step of a macro."""

LONGEST_RUN, LONGEST_LIVE = 64, 12
"""The steps inside a longer run are not drawn beforehand; live, they are when one unfolds it."""
MOST_TEXTS = 20_000
MOST_CHARACTERS = 16_000_000
KEPT = 1_000
"""When a store grows past either limit a new one begins with this many of the latest frames."""


class News(TypedDict, total=False):
    """What a reader is missing: texts after ``base``, nodes from ``first`` on."""

    session: str
    base: int
    f: list[str]
    first: int
    n: list[Node]
    at: int
    tip: int
    turn: int
    error: str


class Reel:
    """The drawn frames of one timeline. ``session`` changes when readers must start anew;
    ``turn`` counts what was told to them since.
    """

    def __init__(
        self,
        timeline: Timeline,
        *,
        panels: Sequence[Panel] | None = None,
        closed: str | None = None,
        session: int = 0,
    ) -> None:
        """Draw what the timeline holds; ``panels`` replaces the model's own choice."""
        self.timeline = timeline
        self.views: Views = for_model(timeline.model)
        self.panels = tuple(self.views.panels if panels is None else panels)
        self.closed = closed
        self.number = session
        self.turn = 0
        self.store = Store()
        self.nodes: list[Node] = []
        self._folds: Counter[int] = Counter()
        self.update()

    @property
    def model(self) -> Model[Any, Any]:
        """The timeline's model."""
        return self.timeline.model

    @property
    def session(self) -> str:
        """Names the store; texts of another session have other numbers."""
        return str(self.number)

    def scene(self, moment: int) -> Scene:
        """Return what a moment is drawn from."""
        return scene_at(self.timeline, moment, self.closed, self._suggested(moment))

    def _suggested(self, moment: int) -> Any:
        """What the step button does at a moment; the timeline knows its script."""
        here = self.timeline.at
        self.timeline.at = moment
        try:
            return self.timeline.suggest()
        finally:
            self.timeline.at = here

    def update(self) -> int:
        """Draw the moments not drawn yet; return the first node that is new or changed."""
        first = len(self.nodes)
        for one in self.timeline.moments[first:]:
            self._folds[one.fold] += 1
        for moment in range(first, len(self.timeline.moments)):
            self.nodes.append(self._drawn(moment))
        for moment in range(max(0, first - 1), len(self.nodes)):
            inner = int(self._inner(moment))
            if self.nodes[moment][5] != inner:
                self.nodes[moment][5] = inner
                first = min(first, moment)
        return first

    def full(self) -> bool:
        """Whether the store has grown past its limits."""
        return len(self.store) > MOST_TEXTS or self.store.size > MOST_CHARACTERS

    def renew(self, kept: int = KEPT) -> None:
        """Begin a new store and session with the latest frames; older ones are drawn on demand."""
        self.number += 1
        self.store = Store()
        old = len(self.nodes) - kept
        self.nodes = [
            self._blank(moment) if moment < old else self._drawn(moment)
            for moment in range(len(self.nodes))
        ]

    def need(self, moment: int) -> News:
        """Draw a moment that was let go, and return what shows it."""
        base = len(self.store)
        self.nodes[moment] = self._node(moment)
        return {
            "session": self.session,
            "base": base,
            "f": self.store.since(base),
            "first": moment,
            "n": [self.nodes[moment]],
        }

    def news(self, base: int, first: int) -> News:
        """Return what a reader with ``base`` texts and ``first`` nodes is missing."""
        return {
            "session": self.session,
            "base": base,
            "f": self.store.since(base),
            "first": first,
            "n": self.nodes[first:],
        }

    def pack(self) -> bytes:
        """Return the whole reel, compressed: texts, nodes, position and session."""
        return squeeze(
            {
                "f": self.store.texts,
                "n": self.nodes,
                "at": self.timeline.at,
                "tip": self.timeline.tip,
                "s": self.session,
                "turn": self.turn,
            }
        )

    def html(self, moment: int) -> str:
        """Return the HTML of one frame."""
        root = self.nodes[moment][1]
        if root is None:
            self.need(moment)
            root = self.nodes[moment][1]
        return self.store.flat(root)

    def _bones(self, moment: int) -> tuple[int, str, str | None]:
        one = self.timeline.moments[moment]
        verb = "" if one.action is None else self.model.verb(one.action)
        return one.parent, verb, one.milestone

    def _blank(self, moment: int) -> Node:
        parent, verb, milestone = self._bones(moment)
        return [parent, None, verb, milestone, None, int(self._inner(moment))]

    def _inner(self, moment: int) -> bool:
        one = self.timeline.moments[moment]
        children = (self.timeline.moments[child] for child in self.timeline.children[moment])
        return one.fold != 0 and any(child.fold == one.fold for child in children)

    def _drawn(self, moment: int) -> Node:
        """The inner steps of a long run are drawn when somebody asks for them."""
        limit = LONGEST_LIVE if self.closed is None else LONGEST_RUN
        long = self._folds[self.timeline.moments[moment].fold] > limit
        return self._blank(moment) if long and self._inner(moment) else self._node(moment)

    @property
    def undrawn(self) -> int:
        """How many moments nobody has asked for yet."""
        return sum(node[1] is None for node in self.nodes)

    def _node(self, moment: int) -> Node:
        scene = self.scene(moment)
        parent, verb, milestone = self._bones(moment)
        root = self.store.add(frame(scene, self.panels, self.views.macros))
        question = None if scene.action is None else self.views.question(scene)
        asked = None if question is None else self.store.add(question.draw())
        return [parent, root, verb, milestone, asked, int(self._inner(moment))]
