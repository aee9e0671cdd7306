"""Nodes as boxes in a ring: lines of words in each, words in the middle, lines between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
from math import ceil, cos, pi, sin

from msgspec import Struct

from kit.views.fragment import Frag, Kid, h
from kit.views.labels import SLOT
from kit.views.panel import Panel, Scene, alternative

WIDTH, HEIGHT = 404.0, 344.0
WIDE = 112.0
LINE = 17.0
TILT = 2.2  # radians: no two of four nodes stand above one another

Places = Mapping[str, tuple[float, float]]
"""Where the middle of each node's box is."""


class NodeBox(Struct, frozen=True):
    """A node: its key and name, a line or more, all of it in words, whether its edge is dashed."""

    key: str
    name: str
    lines: tuple[str, ...]
    title: str
    dashed: bool = False


def draw_ring(
    boxes: Iterable[NodeBox],
    label: str,
    *,
    names: Sequence[str] = (),
    middle: str = "",
    between: Callable[[Places], Kid] | None = None,
    wide: float = WIDE,
) -> Frag:
    """Draw the boxes clockwise, all as wide and as high, so that no step moves one: in a ring, or
    in two columns where boxes would lie on others.

    ``names`` are those that have a place in the ring, if there are more than boxes; ``between``
    draws what lies behind the boxes.
    """
    drawn = tuple(boxes)
    high = LINE * max((len(box.lines) for box in drawn), default=1) + 12
    there = names or tuple(box.name for box in drawn)
    count = len(there)
    middles = [_in_ring(at, count, wide, high) for at in range(count)]
    pairs = combinations(middles, 2)
    if any(abs(a - c) < wide and abs(b - d) < high for (a, b), (c, d) in pairs):
        middles = [_in_columns(at, count, high) for at in range(count)]
    places = dict(zip(there, middles, strict=True))
    bottom = max((y + high / 2 + 2 for _, y in middles), default=HEIGHT)
    return h(
        "svg",
        between(places) if between else None,
        h("text", middle, x=WIDTH / 2, y=HEIGHT / 2, text_anchor="middle", class_="soft"),
        [node_box(box, *places[box.name], wide, high) for box in drawn],
        viewBox=f"0 0 {WIDTH:.0f} {max(HEIGHT, bottom):.0f}",
        width=SLOT,
        role="img",
        aria_label=label,
    )


def _in_columns(at: int, count: int, high: float) -> tuple[float, float]:
    """Clockwise, too: the first at the top left, those after it down the right, the rest up."""
    rows = ceil(count / 2)
    is_left = at == 0 or at > rows
    row = (count - at) % count if is_left else at - 1
    return WIDTH * (1 if is_left else 3) / 4, max(HEIGHT / rows, high + 3) * (row + 0.5)


def _in_ring(at: int, count: int, wide: float, high: float) -> tuple[float, float]:
    angle = 2 * pi * at / count - TILT
    x, y = (WIDTH - wide) / 2 - 2, (HEIGHT - high) / 2 - 2
    return WIDTH / 2 + x * cos(angle), HEIGHT / 2 + y * sin(angle)


def node_box(box: NodeBox, x: float, y: float, wide: float, high: float) -> Frag:
    """Draw one box around a point; its first line stands out."""
    kinds = ("on", *("on soft",) * len(box.lines))
    first = 5 - LINE * (len(box.lines) - 1) / 2
    return h(
        "g",
        h("title", box.title),
        h("rect", x=-wide / 2, y=-high / 2, width=wide, height=high, rx=6,
          class_="box dashed" if box.dashed else "box"),
        [
            h("text", line, y=first + LINE * at, text_anchor="middle", class_=kind)
            for at, (line, kind) in enumerate(zip(box.lines, kinds, strict=False))
        ],
        k=box.key,
        transform=f"translate({x:.0f} {y:.0f})",
        data_of=box.name,
    )  # fmt: skip


def ring_panel(
    name: str,
    title: str,
    boxes: Callable[[Scene], Iterable[NodeBox]],
    words: Callable[[Scene], Iterable[str]] | None = None,
    *,
    names: Callable[[Scene], Sequence[str]] = lambda scene: (),
    middle: Callable[[Scene], str] = lambda scene: "",
    between: Callable[[Scene, Places], Kid] | None = None,
    wide: float = WIDE,
) -> Panel:
    """Make the picture of boxes in a ring; its ``words`` are the boxes' titles, or these lines."""

    def text(scene: Scene) -> str:
        lines = words(scene) if words else (box.title for box in boxes(scene))
        return "\n".join(f"  {line}" for line in lines)

    def draw(scene: Scene) -> Frag:
        return draw_ring(
            boxes(scene),
            alternative(title, text(scene)),
            names=names(scene),
            middle=middle(scene),
            between=partial(between, scene) if between else None,
            wide=wide,
        )

    return Panel(name, title, draw, text, still=True)
