"""A tile: what a node holds, in the node's hue. How it is filled says how it is used."""

from collections.abc import Iterator
from typing import Literal

from kit.views.fragment import Frag, h
from kit.views.labels import LINE, measured
from kit.views.parts import box, hatched, word

Fill = Literal["read", "write", "plan", "bare", "left"]
"""Read and written, only written, planned, only read, neither any more."""
FILLS: dict[Fill, str] = {
    "write": "hatched: written, not read",
    "plan": "dashed: planned",
    "bare": "hollow: not written",
    "left": "hollow: neither read nor written",
}
"""What the marks mean of all that are not solid."""
LEAST = 13.0
"""How high a tile is at least that has a name."""


def fill_of(read: bool, written: bool, *, planned: bool) -> Fill:
    """How a tile is filled; one that is not used yet may be ``planned``."""
    if read:
        return "read" if written else "bare"
    return "write" if written else "plan" if planned else "left"


def draw_tile(
    fill: Fill,
    wide: float,
    high: float,
    name: str,
    more: str = "",
    sides: tuple[str, ...] = ("",),
    *,
    above: bool = False,
) -> Iterator[Frag]:
    """Draw a tile around a point, in the class ``fill``: with its name, ``more`` below it where
    there is room, cut into ``sides`` that have names of their own. There may be room ``above``.
    """
    part = wide / len(sides) - 2 * (len(sides) - 1)
    middles = [round(wide * ((i + 0.5) / len(sides) - 0.5), 1) for i in range(len(sides))]
    has_room = all(measured(f"{name}{side}", bold=True) <= part for side in sides)
    names = [f"{name}{side}" if has_room else name for side in sides]
    is_named = measured(name, bold=True) <= part and high >= LEAST
    is_told = more and high > 3 * LINE and measured(more) + 4 < wide
    up = 10 * bool(is_told)
    for x in middles:
        yield box(x - part / 2, -high / 2, round(part, 1), high, "fill", 4)
    if fill == "write":
        yield h("path", d=hatched(-wide / 2, -high / 2, wide, high, 8), class_="hatch")
        seat = max(16.0, measured(name, bold=True) + 8)
        yield box(-seat / 2, -9 - up, seat, 18, "clear", 9)
    if is_named:
        yield from (word(each, x, 4.5 - up, "let") for each, x in zip(names, middles, strict=True))
    elif above:
        yield word(name, 0, -high / 2 - 4, "soft")
    if is_told:
        seat = measured(more) + 6
        yield box(-seat / 2, up - 7, seat, 16, "clear", 4)
        yield word(more, 0, up + 5, "soft")
