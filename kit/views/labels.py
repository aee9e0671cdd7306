"""The sizes that drawings share, in pixels; which labels of a drawing there is room for, and where:
the more important first, none over another. The slots themselves are in ``css/board.css``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import compress, takewhile

from msgspec import Struct

from kit.views.typeface import ELSE, advances

SLOT = 338.0
"""How wide a drawing may be that is whole in the smallest pane."""
LINE = 15.0
"""How high a line is at 13 pixels."""
SIZE = 13
CELL = 32
"""The side of a cell of the grid by which covered boxes are found, in pixels."""


class Box(Struct, frozen=True):
    """What a label covers: its middle, its width and its height."""

    x: float
    y: float
    width: float
    height: float = LINE

    @property
    def edges(self) -> tuple[float, float, float, float]:
        """Left and right, top and bottom."""
        out, up = self.width / 2, self.height / 2
        return self.x - out, self.x + out, self.y - up, self.y + up

    def widened(self, air: float) -> Box:
        """The box with so much air at each side."""
        return Box(self.x, self.y, self.width + 2 * air, self.height + 2 * air)

    def covers(self, point: complex) -> bool:
        """Whether a point lies in it or at its edge."""
        out, up = abs(point.real - self.x) * 2, abs(point.imag - self.y) * 2
        return out <= self.width and up <= self.height

    def holds(self, other: Box) -> bool:
        """Whether all of another is inside."""
        left, right, top, bottom = self.edges
        start, end, high, low = other.edges
        return left <= start and end <= right and top <= high and low <= bottom

    def meets(self, other: Box) -> bool:
        """Whether the two cover a common point."""
        return (
            abs(self.x - other.x) * 2 < self.width + other.width
            and abs(self.y - other.y) * 2 < self.height + other.height
        )


def wide(text: str, size: int = SIZE) -> float:
    """How wide a text of any weight is in letters of so many pixels, with a little air."""
    return measured(text, size, bold=True) + 2


@lru_cache(1 << 13)
def measured(text: str, size: float = SIZE, *, bold: bool = False) -> float:
    """How wide a text is in the kit's typeface, in pixels: without kerning, which adds little.

    A text of a weight between is less wide than a ``bold`` one.
    """
    widths = advances("bold" if bold else "plain")
    return sum(widths.get(letter, ELSE) for letter in text) * size / 1000


@lru_cache(1 << 13)
def shortened(text: str, width: float, size: float = SIZE, *, bold: bool = False) -> str:
    """A text as far as there is room for it, with an ellipsis where it is cut: between words, if
    these fill half of the room.
    """
    if measured(text, size, bold=bold) <= width:
        return text
    words = text.split()
    while words and measured(f"{' '.join(words)} …", size, bold=bold) > width:
        words.pop()
    if words and 2 * measured(" ".join(words), size, bold=bold) >= width:
        return f"{' '.join(words)} …"
    kept = text
    while kept and measured(f"{kept}…", size, bold=bold) > width:
        kept = kept[:-1]
    return f"{kept.rstrip()}…" if kept else ""


_CLAUSES = (
    re.compile(r"[.;!?](?= )|,(?= (?:[a-z]{2}|\w+ (?:is|has) ))|(?<!,) and(?= [a-z]+s )"),
    re.compile(r":(?= )"),
)
"""Where a clause may end, and where else if none before has room."""
_BRACKETS = re.compile(r"\([^()]*\)")


def clause(text: str, width: float, size: float = SIZE, *, bold: bool = False) -> str:
    """A text as far as there is room for whole clauses of it, without the sign that ends the last;
    all of it where there is room for none.
    """
    plain = _BRACKETS.sub(lambda part: "_" * len(part[0]), text)
    for joint in _CLAUSES:
        ends = (*(joint_at.start() for joint_at in joint.finditer(plain)), len(text))
        fit = [end for end in ends if measured(text[:end], size, bold=bold) <= width]
        if fit:
            return text[: fit[-1]]
    return text


@lru_cache(1 << 12)
def wrapped(text: str, width: float, lines: int = 2, *, bold: bool = False) -> tuple[str, ...]:
    """A text in so many lines at most, broken between words; the last one is cut if it must be."""
    done: list[str] = []
    words = text.split()
    while words and len(done) < lines - 1:
        count = len(words)
        while count > 1 and measured(" ".join(words[:count]), bold=bold) > width:
            count -= 1
        done.append(shortened(" ".join(words[:count]), width, bold=bold))
        words = words[count:]
    return (*done, shortened(" ".join(words), width, bold=bold)) if words else tuple(done)


def lines_of(text: str, width: float, lines: int = 2) -> tuple[str, ...]:
    """A bold text as it is where there is room for it, else in so many lines at most."""
    is_whole = measured(text, bold=True) <= width
    return (text,) if is_whole else wrapped(text, width, lines, bold=True)


class Sheet:
    """Boxes that are covered, found by the cells of a grid."""

    def __init__(self, boxes: Iterable[Box] = ()) -> None:
        self.boxes: list[Box] = []
        self.cells: dict[tuple[int, int], list[Box]] = defaultdict(list)
        self.cover(*boxes)

    def is_free(self, box: Box, *but: Box) -> bool:
        """Whether a box meets none of these, ``but`` perhaps some that do not count."""
        for at in cells_of(box):  # plain loops: thousands of places are tried for a label
            for other in self.cells.get(at, ()):
                if box.meets(other) and other not in but:
                    return False
        return True

    def cover(self, *boxes: Box) -> None:
        """Cover these, too."""
        self.boxes += boxes
        for box in boxes:
            for at in cells_of(box):
                self.cells[at].append(box)


def fitting(labels: Iterable[tuple[str, tuple[Box, ...]]]) -> frozenset[str]:
    """The keys of the labels that are drawn; each is there as a whole or not at all."""
    sheet = Sheet()
    kept = set()
    for key, parts in labels:
        if all(map(sheet.is_free, parts)):
            kept.add(key)
            sheet.cover(*parts)
    return frozenset(kept)


def seated(
    labels: Iterable[tuple[str, Iterable[Box]]], taken: Iterable[Box] = ()
) -> Mapping[str, Box]:
    """The place of each label: the first of its places that is free; none where none is.

    A label's place depends on those before it only. ``taken`` is covered from the beginning.
    """
    sheet = Sheet(taken)
    seats = {}
    for key, places in labels:
        seat = next(filter(sheet.is_free, places), None)
        if seat is not None:
            seats[key] = seat
            sheet.cover(seat)
    return seats


def cells_of(box: Box) -> list[tuple[int, int]]:
    """The cells of a grid that a box covers, by their numbers."""
    out, up = box.width / 2, box.height / 2
    left, right = int((box.x - out) // CELL), int((box.x + out) // CELL)
    top, bottom = int((box.y - up) // CELL), int((box.y + up) // CELL)
    if left == right and top == bottom:  # most boxes are small
        return [(left, top)]
    return [(x, y) for x in range(left, right + 1) for y in range(top, bottom + 1)]


_JOINT = re.compile(r"[.:_/-]")
_LONG_NUMBER = re.compile(r"(-?\d{3})\d{3,}(\d{3})")


def apart(names: Sequence[str]) -> Mapping[str, str]:
    """Each name without what all of them begin with, up to a joint: ``10.20.0.7`` is ``.7``.

    No two are alike, since the same beginning is left out of all. A name is never cut within a
    word, and none becomes empty: where only that is in common, all stay whole.
    """
    return _apart(tuple(names))


@lru_cache(16)
def _apart(names: tuple[str, ...]) -> Mapping[str, str]:
    ends = (min(names), max(names)) if len(set(names)) > 1 else ("", "")
    same = takewhile(lambda pair: pair[0] == pair[1], zip(*ends, strict=False))
    shared = "".join(letter for letter, _ in same)
    joints = [joint.start() for joint in _JOINT.finditer(shared)]
    cut = next((at for at in reversed(joints) if all(len(name) > at + 1 for name in names)), 0)
    return {name: name[cut:] for name in names}


def beginning(names: Sequence[str]) -> str:
    """What ``apart`` leaves out; empty where nothing is."""
    return next((name.removesuffix(short) for name, short in apart(names).items()), "")


def tags(names: Iterable[str]) -> Mapping[str, str]:
    """A short name for each node: its beginning; of addresses, the end, or where they differ."""
    return _tags(tuple(names))


@lru_cache(64)
def _tags(nodes: tuple[str, ...]) -> Mapping[str, str]:
    if len({name[:3] for name in nodes}) == len(nodes):
        # A word of four letters is told whole; figures are wider, and then names of many nodes.
        return {name: name if len(name) == 4 and name.isalpha() else name[:3] for name in nodes}
    parts = {name: re.split(r"[.:]", name) for name in nodes}
    ends = {name: parts[name][-1][-3:] or name[-3:] for name in nodes}
    if len({*ends.values()}) == len(nodes) or len({*map(len, parts.values())}) > 1:
        return ends
    differs = [len({*column}) > 1 for column in zip(*parts.values(), strict=True)]
    return {name: ".".join(compress(parts[name], differs)) for name in nodes}


def brief(text: str) -> str:
    """The text with long numbers (tokens of 64 bits) by first and last digits: ``-840…670``."""
    return _LONG_NUMBER.sub(r"\1…\2", text)
