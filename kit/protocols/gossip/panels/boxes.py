"""Nodes as boxes in a circle: the picture of both models."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin

from msgspec import Struct

from kit.views.fragment import Frag, h

WIDTH, HEIGHT = 420.0, 230.0
BOX_WIDE, BOX_HIGH = 112.0, 46.0
TILT = 2.2  # radians: no two of four nodes stand above one another


class NodeBox(Struct, frozen=True):
    """A node: its key and name, two lines, all of it in words, and whether its edge is dashed."""

    key: str
    name: str
    lines: tuple[str, str]
    title: str
    dashed: bool


def draw_boxes(boxes: Sequence[NodeBox], middle: str, label: str) -> Frag:
    """Draw the boxes clockwise, with some words in the middle."""
    return h(
        "svg",
        h("text", middle, x=WIDTH / 2, y=HEIGHT / 2, text_anchor="middle", class_="soft"),
        [_box(box, *_place(at, len(boxes))) for at, box in enumerate(boxes)],
        viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
        width=WIDTH,
        role="img",
        aria_label=label,
    )


def _place(at: int, count: int) -> tuple[float, float]:
    angle = 2 * pi * at / count - TILT
    x, y = (WIDTH - BOX_WIDE) / 2 - 2, (HEIGHT - BOX_HIGH) / 2 - 2
    return WIDTH / 2 + x * cos(angle), HEIGHT / 2 + y * sin(angle)


def _box(box: NodeBox, x: float, y: float) -> Frag:
    return h(
        "g",
        h("title", box.title),
        h(
            "rect",
            x=-BOX_WIDE / 2,
            y=-BOX_HIGH / 2,
            width=BOX_WIDE,
            height=BOX_HIGH,
            rx=6,
            class_="box dashed" if box.dashed else "box",
        ),
        [
            h("text", line, y=y_of, text_anchor="middle", class_="on")
            for line, y_of in zip(box.lines, (-4, 14), strict=True)
        ],
        k=box.key,
        transform=f"translate({x:.0f} {y:.0f})",
        data_of=box.name,
    )
