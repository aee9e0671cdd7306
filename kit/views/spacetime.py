"""A space-time diagram from plain data: lifelines, the messages between them, and marks.

Time runs down the page, a row per step; each node has a vertical lifeline. A message is an arrow
from the step in which it was sent to the one in which it was received. One that is on its way ends
in the open, below the last step; one that is held is dashed and ends in two bars, one that is lost
ends in a cross. A copy is dotted and begins between the lifelines, in the step that made it. Equal
arrows are one arrow with their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import hypot

from kit.views.fragment import Frag, h
from kit.views.labels import Box
from kit.views.spacetime_layout import (
    BASE,
    FOOT,
    GUTTER,
    ROW,
    TOP,
    Arrow,
    DrawnArrow,
    Mark,
    Spacetime,
    drawn,
    is_seen,
    leg,
    mark_key,
    seats,
    times,
    y,
)

HEAD = 7
LEGEND = ("open end: in flight", "dashed ‖: held", "✗ lost", "dotted: a copy", "×2: so many alike")


# -- the picture -----------------------------------------------------------------------------------


def draw_spacetime(run: Spacetime) -> Frag:
    """Draw the window of the run that ends at its last step."""
    arrows = drawn(run)
    seen = {key: seat for key, seat in seats(run).items() if is_seen(run, seat)}
    last = max([run.steps + 0.5, *(arrow.end for arrow in arrows)])
    height = round(TOP + ROW * (last - run.first + 1)) + FOOT
    bottom = run.top + height
    return h(
        "div",
        h(
            "svg",
            [_row(run, step) for step in range(run.first, run.steps + 1)],
            [
                h("path", d=f"M{run.x(node)} {run.top}V{bottom}", k=f"life:{node}", class_="life")
                for node in run.nodes
            ],
            [_arrow(run, arrow, seen) for arrow in arrows],
            [_now(run, node) for node in run.nodes],
            [_mark(run, mark, mark_key(i, mark), seen) for i, mark in _marks(run)],
            [_alarm(run, step) for step in sorted(run.alarms) if step >= run.first],
            _names(run),
            viewBox=f"0 {run.top} {run.width} {height}",
            role="img",
            aria_label=_alternative(run),
            width=run.width,
            height=height,
            class_="lifelines",
            data_newest="0 1",
            data_arrows=True,
        ),
        h("p", " · ".join(LEGEND), class_="soft legend"),
        class_="scroll tall",
        tabindex=0,
        role="region",
        aria_label="messages in space and time",
    )


def _alternative(run: Spacetime) -> str:
    """The steps in the window as text, for who cannot see them."""
    before = f"{run.first} earlier steps; " if run.first else ""
    return f"space-time diagram: {before}{'; '.join(_lines(run, run.first))}"


def _row(run: Spacetime, step: int) -> Frag:
    return h("g", tag(str(step or "start"), 2, y(step) + 4, "soft", "start"), k=f"step:{step}")


def _names(run: Spacetime) -> Frag:
    """Draw the names of the lifelines; they stay in sight where the picture is scrolled."""
    paper = h("rect", x=0, y=run.top, width=run.width, height=TOP, class_="paper")
    return h("g", paper, [_name(run, node) for node in run.nodes], k="names", data_pinned="top")


def _name(run: Spacetime, node: str) -> Frag:
    words = h("text", node, x=0, y=0, text_anchor="middle")
    return h("g", words, k=f"who:{node}", transform=f"translate({run.x(node)} {run.top + 17})",
             class_="who")  # fmt: skip


def _now(run: Spacetime, node: str) -> Frag:
    """Where a node stands now: what travels in the last step begins and ends there."""
    circle = h("circle", r=6, class_="now")
    return h("g", circle, k=f"n:{node}", transform=f"translate({run.x(node)} {y(run.steps):.0f})")


def _marks(run: Spacetime) -> Iterator[tuple[int, Mark]]:
    """The marks of the window with their numbers, but for alarms."""
    for number, mark in enumerate(run.marks):
        if mark.at >= run.first and not mark.alarm:
            yield number, mark


def _arrow(run: Spacetime, drawn: DrawnArrow, seen: Mapping[str, Box]) -> Frag:
    """One message, or several that look the same."""
    arrow, line = drawn.arrow, leg(run, drawn)
    came, copied = arrow.fate == "received", arrow.copied_at is not None
    x1, y1, x2, y2 = line.x1, line.y1, line.x2, line.y2
    path = arrow_path(x1, y1, x2, y2) if came else f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"
    out = f"M{run.x(arrow.source):.1f} {y1:.1f}H{x1:.1f}" if _turns(arrow) else ""
    kind = ("copy" if copied else "message") + DASHES.get(arrow.fate, "")
    guilty = " guilty" if came and arrow.ended_at in run.alarms else ""
    return h(
        "g",
        h("path", d=out + path, class_=kind),
        ENDS[arrow.fate](x2, y2) if arrow.fate in ENDS else None,
        _label(drawn.label, seen.get(drawn.key)),
        h("title", _story(arrow)),
        k=drawn.key,
        class_=f"transit {arrow.fate.replace(' ', '-')}{guilty}",
        data_of=None if arrow.ended_at is None else f"step:{arrow.ended_at}",
    )


def _turns(arrow: Arrow) -> bool:
    """Whether it goes back to its sender, as what was sent and no copy does."""
    return arrow.source == arrow.target and arrow.copied_at is None


def _label(words: str, seat: Box | None, kind: str = "tag") -> Frag | None:
    return None if seat is None else tag(words, seat.x, seat.y + BASE, kind)


def _mark(run: Spacetime, mark: Mark, key: str, seen: Mapping[str, Box]) -> Frag:
    """A dot with words at a node, or a line with words across all."""
    label = _label(mark.label, seen.get(key), "tag" if mark.node else "tag strong")
    if mark.node:
        sign = dot(run.x(mark.node), y(mark.at))
    else:
        sign = h("path", d=f"M{GUTTER} {y(mark.at)}H{run.width}", class_="barrier")
    return h("g", sign, label, k=key, data_of=f"step:{mark.at}")


def _alarm(run: Spacetime, step: int) -> Frag:
    """The sign of a step that broke promises, with their words."""
    words = "; ".join(mark.label for mark in run.marks if mark.alarm and mark.at == step)
    return h(
        "g",
        h("rect", x=GUTTER - 16, y=y(step) - 8, width=16, height=15, class_="stop fails"),
        tag("!", GUTTER - 8, y(step) + 4, "tag on"),
        h("title", words),
        k=f"alarm:{step}",
        data_of=f"step:{step}",
    )


def arrow_path(x1: float, y1: float, x2: float, y2: float) -> str:
    """The path of a line with an open head at its second end."""
    far = hypot(x2 - x1, y2 - y1) or 1.0
    ux, uy = (x2 - x1) / far, (y2 - y1) / far
    left = x2 - HEAD * ux + HEAD * uy / 2, y2 - HEAD * uy - HEAD * ux / 2
    right = x2 - HEAD * ux - HEAD * uy / 2, y2 - HEAD * uy + HEAD * ux / 2
    return (
        f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"
        f"M{left[0]:.1f} {left[1]:.1f}L{x2:.1f} {y2:.1f}L{right[0]:.1f} {right[1]:.1f}"
    )


def tag(words: str, at: float, y: float, kind: str = "tag", anchor: str = "middle") -> Frag:
    """A few words, readable over lines."""
    return h("text", words, x=round(at, 1), y=round(y, 1), text_anchor=anchor, class_=kind)


def dot(at: float, y: float) -> Frag:
    """A point on a lifeline."""
    return h("circle", cx=at, cy=y, r=3.5, class_="dot")


def _bars(at: float, y: float) -> Frag:
    return h("path", d=f"M{at - 3} {y}v10M{at + 3} {y}v10", class_="bars")


def cross(at: float, y: float) -> Frag:
    """The end of what failed."""
    return h("path", d=f"M{at - 5} {y - 5}l10 10M{at - 5} {y + 5}l10 -10", class_="cross")


DASHES = {"in flight": " away", "held": " dashed"}
ENDS = {"received": dot, "lost": cross, "held": _bars}

# -- in words --------------------------------------------------------------------------------------


def spacetime_text(run: Spacetime) -> str:
    """Write a line per step, ``!`` where a promise was broken; then what is still on its way."""
    lines = _lines(run, 0)
    return "\n".join(lines) or "nothing has happened yet"


def _lines(run: Spacetime, first: int) -> list[str]:
    alarms, lines = run.alarms, []
    for step in range(first, run.steps + 1):
        said = "; ".join(_events(run, step))
        if said:
            lines.append(f"{'!' if step in alarms else ' '}{step or 'start':>5}  {said}")
    for fate in ("in flight", "held"):
        waiting = Counter(arrow.what for arrow in run.arrows if arrow.fate == fate)
        if waiting:
            lines.append(f"{fate}: {', '.join(times(what, n) for what, n in waiting.items())}")
    return lines


def _events(run: Spacetime, step: int) -> Iterator[str]:
    """What happens in a step: what ends, what is marked, what begins."""
    for arrow in run.arrows:
        if arrow.copied_at == step:
            yield f"{arrow.what} is copied"
        if arrow.ended_at == step:
            yield _story(arrow)
    for mark in run.marks:
        if mark.at == step:
            named = mark.label.startswith(mark.node)
            yield mark.label if named else f"{mark.node}: {mark.label}"
    sent = Counter(a for a in map(_sending, run.arrows) if a is not None and a[0] == step)
    for (_, source, text, target), number in sent.items():
        yield f"{source} sends {times(text, number)} to {target}"


def _sending(arrow: Arrow) -> tuple[int, str, str, str] | None:
    """When and by whom a message was sent; a copy was not."""
    if arrow.copied_at is not None:
        return None
    return arrow.sent_at, arrow.source, arrow.text, arrow.target


def _story(arrow: Arrow) -> str:
    since = f"sent at {arrow.sent_at or 'the start'}"
    since += "" if arrow.copied_at is None else f", copied at {arrow.copied_at}"
    if arrow.fate == "received":
        return f"{arrow.target} receives {arrow.text} from {arrow.source} ({since})"
    return f"{arrow.what} is {arrow.fate} ({since})"
