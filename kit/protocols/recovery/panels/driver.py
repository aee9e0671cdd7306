"""A plot of the newest schema version that a driver sees, with a mark where it goes back.

A recovery may lose an entry that was committed. Then that version goes back, outside of what the
procedure is about. Source: Topology over Raft, "Raft topology recovery", its last remark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from kit.protocols.recovery.lost_majority import NO_GROUP
from kit.protocols.recovery.recovering_cluster import RecoveryState
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene, alternative
from kit.views.parts import scroll

LEFT, RIGHT, TOP, HEIGHT = 34.0, 20.0, 34.0, 150.0
STEP = 28.0
WHAT = "Newest schema version that a driver sees. At step 0 the majority is lost."
EXPECTED = "an effect outside of the recovery, no broken promise"


class DriverPoint(Struct, frozen=True):
    """A moment: its step, and the newest version that is seen then.

    Step 0 is the start, when the majority is lost; -1 is before that. A version is a count of
    entries; None where nobody answers. ``was`` is what was seen before.
    """

    step: int
    version: int | None
    was: int | None

    @property
    def goes_back(self) -> bool:
        """Whether a driver has seen a newer version before."""
        return self.version is not None and self.was is not None and self.version < self.was


def driver_points(states: Iterable[RecoveryState]) -> tuple[DriverPoint, ...]:
    """What a driver sees in each state of a run, after what it saw before the disaster."""
    points: list[DriverPoint] = []
    last: int | None = None
    for at, s in enumerate(states):
        if not at:
            points.append(DriverPoint(-1, s.entries, None))
            last = s.entries
        answering = (n.index for n in s.nodes if n.takes_part and n.group != NO_GROUP)
        version = max(answering, default=None)
        points.append(DriverPoint(at, version, last))
        last = last if version is None else version
    return tuple(points)


def _points(scene: Scene) -> tuple[DriverPoint, ...]:
    way = scene.way()
    first = way[0].before if way else scene.state
    return driver_points([first, *(step.after for step in way)])


def draw(scene: Scene) -> Frag:
    """Draw the versions as steps of a line; where it goes back, both numbers stand below it."""
    points = _points(scene)
    seen = sorted({p.version for p in points if p.version is not None})
    width = LEFT + STEP * len(points) + RIGHT
    heights = {version: TOP + (HEIGHT - TOP) * (len(seen) - at - 0.5) / len(seen)
               for at, version in enumerate(seen)}  # fmt: skip
    return scroll(
        "versions that a driver sees",
        h("p", WHAT),
        h(
            "svg",
            [h("text", str(version), x=LEFT - 8, y=y + 4, text_anchor="end", class_="strong")
             for version, y in heights.items()],
            h("path", d=_line(points, heights), class_="message"),
            [_point(point, heights) for point in points],
            viewBox=f"0 0 {width:.0f} {HEIGHT + 24:.0f}",
            width=width,
            role="img",
            aria_label=alternative("versions that a driver sees", text(scene)),
        ),
        [h("p", line) for line in _backwards(points)],
    )  # fmt: skip


def _x(point: DriverPoint) -> float:
    return LEFT + STEP * (point.step + 1)


def _line(points: Sequence[DriverPoint], heights: dict[int, float]) -> str:
    """A line that keeps its height for a step; a gap where nobody answers."""
    parts: list[str] = []
    for point in points:
        if point.version is None:
            continue
        parts.append(f"{'L' if parts else 'M'}{_x(point):.0f} {heights[point.version]:.1f}")
        parts.append(f"H{_x(point) + STEP:.0f}")
    return "".join(parts)


def _point(point: DriverPoint, heights: dict[int, float]) -> Frag:
    """The number of a step; a mark where the version goes back, or nobody answers."""
    sign = "▼" if point.goes_back else "?" if point.version is None else ""
    y = heights.get(point.version, TOP) if point.version is not None else TOP
    return h(
        "g",
        h(
            "text",
            str(point.step) if point.step >= 0 else "",
            x=STEP / 2,
            y=HEIGHT + 16,
            text_anchor="middle",
            class_="soft",
        ),
        h("text", sign, x=0, y=y - 8, text_anchor="middle", class_="strong") if sign else None,
        transform=f"translate({_x(point):.0f} 0)",
    )


def _backwards(points: Sequence[DriverPoint]) -> list[str]:
    return [
        f"Step {point.step}: it goes back from {point.was} to {point.version}: {EXPECTED}."
        for point in points
        if point.goes_back
    ]


def text(scene: Scene) -> str:
    """Write what is seen where it changes, and a sentence where it goes back."""
    points = _points(scene)
    lines = [f"  before the majority was lost: {points[0].version}"]
    for point in points[1:]:
        if point.version is None:
            lines.append(f"  step {point.step}: nobody answers")
        elif point.version != point.was:
            lines.append(f"  step {point.step}: {point.version}")
    return "\n".join([*lines, *(f"  {line}" for line in _backwards(points))])


DRIVER = Panel("driver", "What a driver sees", draw, text, tab="Driver")
