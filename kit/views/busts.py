"""The bust of a character: its head by its kind, its letter, its crown; the same in any picture."""

from typing import Literal

from kit.views.fragment import Frag, Kid, h
from kit.views.labels import SIZE, measured, shortened

HEAD, LETTER, LARGE = 15.0, 15.0, 17.0
"""The radius of a head, its letter, and that of one that stands at a gate; in pixels."""
Kind = Literal["node", "client", "operator", "part"]
"""A part is one of several of the same node, such as its disk, or what all share: group 0."""
Health = Literal["up", "down", "gone", "joining"]
CROWNED = "M-12-3l6 4l6-7l6 7l6-4l-2 9h-20z"
"""A crown around its own middle, so that what keeps clear of things sees all of it."""


def head_of(kind: Kind, reach: float = HEAD, look: str = "head") -> Frag:
    """Draw the head alone: a disc, a square, a diamond or a box; or what is around it."""
    if kind == "node":
        return h("circle", r=reach, class_=look)
    if kind == "part":
        return h("rect", x=-reach, y=-reach * 0.7, width=2 * reach, height=reach * 1.4,
                 class_=look)  # fmt: skip
    rx = 5 if kind == "client" else 0
    turn = "rotate(45)" if kind == "operator" else None
    size = reach * (0.85 if kind == "client" else 0.66)
    return h("rect", x=-size, y=-size, width=2 * size, height=2 * size, rx=rx,
             transform=turn, class_=look)  # fmt: skip


def letter_of(letter: str, head: float) -> Frag:
    """Write a character's letter or two, as large as its head has room for."""
    small = measured(letter, LARGE, bold=True) > 2 * head
    if measured(letter, SIZE, bold=True) > 2 * head + 2:  # what differs is often at the end
        letter = letter[0] + letter[-1]
    shown = shortened(letter, 2 * head + 2, SIZE if small else LETTER, bold=True)
    kind = "letter-of small" if small else "letter-of"
    return h("text", shown, y=5, text_anchor="middle", class_=kind)


def bust(letter: str, head: float, kind: Kind = "node", *, leads: bool = False) -> list[Kid]:
    """Draw a character without what it holds, for the cast of any picture: crown, head, letter."""
    at = f"translate(0 {-6 - head:.0f})"
    crown = h("path", d=CROWNED, class_="crown", transform=at) if leads else None
    return [crown, head_of(kind, head), letter_of(letter, head)]
