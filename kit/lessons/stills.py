"""Pictures that stay: a moment's panels as text and as HTML that needs neither kernel nor script.

A Player shown twice is one Player in two places, and both move on. A still keeps what was to be
seen when its cell ran, so that a stored notebook tells its story epoch by epoch.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice, repeat
from typing import Any

from msgspec import Struct

from kit.errors import BadInput
from kit.model.registry import check_one_of
from kit.model.timeline import LONGEST_RUN, Moment, Timeline
from kit.views.breaks import breaking
from kit.views.fragment import Frag, h
from kit.views.frame import narration
from kit.views.panel import Panel, Scene, scene_at
from kit.views.parts import prose
from kit.views.registry import for_model
from kit.views.static import Shown


class Still(Shown):
    """Some panels of one moment."""

    def __init__(self, scene: Scene, panels: tuple[Panel, ...]) -> None:
        self.scene = scene
        self.panels = tuple(p for p in panels if p.shown is None or p.shown(scene))

    def draw(self, head: str = "") -> Frag:
        """The panels, one under the other, each below its title; in a film below its ``head``."""
        if head:
            drawn = [panel.draw(self.scene) for panel in self.panels]
            return h("div", h("h4", head), drawn, narration(self.scene), class_="frame")
        bodies = [(h("h4", panel.title), panel.draw(self.scene)) for panel in self.panels]
        return h("div", narration(self.scene), bodies)

    def __repr__(self) -> str:
        parts = [f"{panel.title}\n{panel.text(self.scene)}".rstrip() for panel in self.panels]
        return "\n\n".join([self.scene.say, *parts])


class Frames(Shown):
    """A run as a film of small pictures: its start, each milestone or break, and its end."""

    def __init__(self, stills: tuple[Still, ...]) -> None:
        self.stills = stills

    def draw(self) -> Frag:
        """The frames side by side, as many in a row as there is room for, each below its number."""
        frames = [each.draw(self._head(i)) for i, each in enumerate(self.stills)]
        return h("div", frames, class_="film")

    def _head(self, place: int) -> str:
        scene = self.stills[place].scene
        broke = "a promise broke" if breaking(scene) else ""
        names = ", ".join(filter(None, (scene.milestone, broke)))
        names = names or ("the end" if place else "the start")
        return f"Frame {place + 1} of {len(self.stills)}: {names}"

    def __repr__(self) -> str:
        return "\n\n".join(f"{self._head(i)}\n{each!r}" for i, each in enumerate(self.stills))


def timeline_of(source: Any) -> Timeline:
    """The timeline of a Player, or the timeline itself. Raises BadInput when it is neither."""
    timeline = getattr(source, "timeline", source)
    if not isinstance(timeline, Timeline):
        raise BadInput("source", source, "a Player or a Timeline")
    return timeline


def scene_of(timeline: Timeline) -> Scene:
    """The scene of the moment that a timeline looks at."""
    return scene_at(timeline, timeline.at)


def still(source: Any, *names: str) -> Still:
    """A lasting picture of the moment that ``source`` shows: the named panels, or the usual ones.

    Raises BadInput for a panel that the model does not have.
    """
    timeline = timeline_of(source)
    known = {panel.name: panel for panel in for_model(timeline.model).panels}
    for name in names:
        check_one_of("panel", name, known)
    chosen = tuple(known[name] for name in names)
    return Still(scene_of(timeline), chosen or tuple(p for p in known.values() if p.still))


def frames(source: Any, *names: str) -> Frames:
    """A run from its start, milestone by milestone, as numbered pictures of the named panels.

    It is the story that was opened, else what was played so far, else what would be played. Without
    names it is the picture that the Player shows. A step that breaks a promise has one,
    too. ``source`` is a Player or a timeline; what it shows stays where it is.

    Raises BadInput for a panel that the model does not have, or another source.
    """
    given = timeline_of(source)
    run = Timeline(given.model, given.script)
    taken = () if given.script else given.actions(given.tip)
    moves: Iterator[Callable[[], Moment | None]] = repeat(run.forward)
    if taken:
        moves = chain((partial(run.do, action) for action in taken), repeat(lambda: None))
    picture = for_model(given.model).picture
    shown = names or (picture,) * bool(picture)
    pictures, last = [still(run, *shown)], 0
    for move in islice(moves, LONGEST_RUN):
        moved = move()
        if run.at != last and (moved is None or moved.milestone or run.broken_by(run.at)):
            pictures.append(still(run, *shown))
            last = run.at
        if moved is None:
            break
    return Frames(tuple(pictures))


class Judgement(Struct, Shown, frozen=True):
    """A judgement on an answer.

    ``heading`` is one sentence, ``lines`` are the facts behind it, ``evidence`` is the moment of
    the run that settles it, where there is one.
    """

    passed: bool
    heading: str
    lines: tuple[str, ...] = ()
    evidence: Still | None = None

    @property
    def sign(self) -> str:
        """A tick or a cross: colour is never the only sign."""
        return "✓" if self.passed else "✗"

    def draw(self, *, spoken: bool = False) -> Frag:
        """The heading, the facts, and the picture below them.

        ``spoken`` has a screen reader say the heading and the facts as soon as they appear.
        """
        kind = "badge" if self.passed else "badge busy"
        return h(
            "div",
            h(
                "div",
                h("p", h("span", prose(f"{self.sign} {self.heading}"), class_=kind)),
                [h("p", prose(line), class_="say") for line in self.lines],
                role="alert" if spoken else None,
            ),
            self.evidence.draw() if self.evidence else None,
        )

    def __repr__(self) -> str:
        return "\n".join([f"{self.sign} {self.heading}", *(f"  {line}" for line in self.lines)])
