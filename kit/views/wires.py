"""Wires: how they go round what stands in a picture, and where there is room beside them.

A wire is a curve between two bodies. It begins and ends at their edges, and it bends so far that it
crosses nobody else, if that can be done; where it cannot, it runs along a row of them. What stands
in a picture seldom moves, so each way is found once.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain, product

from msgspec import Struct

from kit.views.labels import CELL, Box, cells_of

Place = complex
Way = tuple[Place, Place, Place, Place]
"""A curve: its start, the two points that it bends to, its end."""
STEPS = 40
"""The points of a curve that are looked at."""
SHARES = [
    (back**3, 3 * back**2 * share, 3 * back * share**2, share**3)
    for share in (i / STEPS for i in range(STEPS + 1))
    for back in (1 - share,)
]
"""How much each of the four points of a curve counts there: ``on``, for all of them at once."""
MIDDLE = SHARES[12:29:2]
"""Some of them, where most curves that cross somebody do so."""
AIR, SHORTEST = 2.0, 24.0
"""How far a wire keeps from others, and how long it is at least, if it can be."""
BENDS = (
    *(22, -22, 50, -50, 80, -80, 115, -115, 155, -155, 200, -200, 260, -260),
    *(0, 10, -10, 36, -36, 65, -65, 100, -100),
)
"""How far a wire is bent, in this order: first to the right, as seen from its start (a short one:
towards the middle of the picture); then finer bends, and none, where these cross somebody.
"""
LANES = (22, -60, *BENDS[1:])
"""The same of one that is not short: where it has to bend to its left, the way back is there, too,
so it goes further out.
"""
STRAIGHT = tuple(sorted(BENDS, key=abs))
"""The same where both directions share a wire."""
TWO_LANES = 150.0
"""From how far apart each direction keeps to its right; nearer ones share a wire, and the room at
its outer side is for words.
"""
SHAPES = (
    *((0.33 + 1j, 0.67 + 1j), (1j, 1 + 1j), (1j, 0.5 + 1j), (0.5 + 1j, 1 + 1j)),
    *((1j, 0.8 - 1j), (0.2 + 1j, 1 - 1j), (0.2 + 1j, 0.8 + 0j), (0.2 + 0j, 0.8 + 1j)),
)
"""Where the two points are that it bends to: how far along; how far out, in parts of the bend."""
AISLES = (
    *((1 + 0.85j, 0.05 + 1j), (0.95 + 1j, 0.85j), (0.8 - 1j, 0.2 + 0.25j), (0.6 + 0.25j, 0.4 - 1j)),
    *((0.6 - 1j, 0.4 + 0.25j), (0.8 + 0.25j, 0.6 + 1j), (-1j, -0.5j), (-1j, 0.2 + 0.5j)),
)
"""The same of those that turn twice, through the aisle between two columns, or far out."""

BULGE, HEADLESS = 0.3, 4.0
"""How far out a way may go, in parts of its length, so as to end at heads; and what is no head."""
CLEAR, LEVELS = 8.0, 60
"""How far from a row a wire runs along it, and how many rows are tried, the nearest first."""


class Body(Struct, frozen=True):
    """What wires lead to and go round: a round head, and boxes at it."""

    at: Place
    reach: float
    boxes: tuple[Box, ...] = ()

    def covers(self, point: Place, air: float = AIR) -> bool:
        """Whether a point lies on it, or nearly so."""
        if abs(point - self.at) < self.reach + air:
            return True
        x, y = point.real, point.imag
        for box in self.boxes:  # a plain loop: no other line runs as often while a stage is drawn
            if abs(x - box.x) < box.width / 2 + air and abs(y - box.y) < box.height / 2 + air:
                return True
        return False

    def ends(self, point: Place) -> bool:
        """Whether a wire that ends at a point is seen to end at its head or its crown."""
        away = point - self.at
        is_crown = abs(away.real) < self.reach * 0.8 and 0 < -away.imag < 2 * self.reach + AIR
        return self.reach < HEADLESS or is_crown or abs(away) < self.reach + 2 * AIR

    @property
    def around(self) -> Box:
        """A box around all of it."""
        head = Box(self.at.real, self.at.imag, 2 * self.reach, 2 * self.reach)
        return bounds(
            Place(box.x + x * box.width / 2, box.y + y * box.height / 2)
            for box in (head, *self.boxes)
            for x, y in ((-1, -1), (1, 1))
        )


Bounded = tuple[Body, Box]
"""A body and the box around all of it."""


def bounds(points: Iterable[Place]) -> Box:
    """The smallest box around some points."""
    every = [*points]
    xs, ys = [each.real for each in every], [each.imag for each in every]
    left, right, top, bottom = min(xs), max(xs), min(ys), max(ys)
    return Box((left + right) / 2, (top + bottom) / 2, right - left, bottom - top)


class Ground:
    """What stands in a picture, and the ways between."""

    def __init__(
        self, bodies: tuple[Body, ...], inside: Box, bends: tuple[float, ...] = ()
    ) -> None:
        self.bodies: list[Bounded] = [(body, body.around) for body in bodies]
        self.inside, self.bends = inside, bends
        self.known: dict[tuple[Body, Body], tuple[float, Way]] = {}

    def taken(self) -> Iterator[Box]:
        """What all bodies cover."""
        for body, _ in self.bodies:
            if body.reach:
                x, y, reach = body.at.real, body.at.imag, body.reach
                yield Box(x, y, 2 * reach + 4, 2 * reach + 2)
            yield from body.boxes

    def way(self, start: Body, end: Body) -> Way:
        """The wire from one body to another: of those that cross nobody, the least bent one."""
        if (start, end) not in self.known:
            self.known[start, end] = min(self._ways(start, end), key=lambda each: each[0])
        return self.known[start, end][1]

    def is_free(self, start: Body, end: Body) -> bool:
        """Whether the wire from one body to another crosses nobody."""
        self.way(start, end)
        return not self.known[start, end][0]

    def _ways(self, start: Body, end: Body) -> Iterator[tuple[float, Way]]:
        """The ways to choose from, with how many points of each are crossed; the first free one is
        the last.
        """
        own = [body for body, _ in self.bodies if body in (start, end)]
        ends = (start, start.around.widened(AIR)), (end, end.around.widened(AIR))
        least = 3 * STEPS
        has_lanes = min(start.reach, end.reach) >= HEADLESS  # what comes from the log goes one way
        bends = self.bends or (LANES if has_lanes else BENDS)
        for curve in self._curves(start.at, end.at, bends):
            if not least and not _is_short(curve):
                continue
            most = max(least, 1)
            crossed, first, last = self._seen(curve, *ends, own, most)
            if crossed >= most:
                continue
            way = cut(curve, first, last)
            hidden = (not start.ends(way[0])) + (not end.ends(way[3]))
            yield crossed + hidden / 4, way
            if not crossed and not hidden:
                return
            least = min(least, crossed)
        if not least:
            return
        aside = self._along_rows(start.at, end.at), self._bent(start.at, end.at, AISLES)
        for curve in chain(*aside):  # only where it crosses nobody
            crossed, first, last = self._seen(curve, *ends, own, 1)
            if not crossed:
                yield crossed, cut(curve, first, last)
                return

    @cached_property
    def _cells(self) -> dict[tuple[float, float], list[Body]]:
        cells: dict[tuple[float, float], list[Body]] = defaultdict(list)
        for body, box in self.bodies:
            for cell in cells_of(box.widened(AIR)):
                cells[cell].append(body)
        return cells

    def _crossed(self, points: Iterable[Place], own: list[Body], least: int) -> int:
        crossed = 0
        for at in points:
            crossed += self._is_taken(at, own) + (not self.inside.covers(at))
            if crossed >= least:
                break
        return crossed

    def _is_taken(self, at: Place, own: list[Body]) -> bool:
        for body in self._cells.get((at.real // CELL, at.imag // CELL), ()):
            if body.covers(at) and body not in own:
                return True
        return False

    def _curves(self, start: Place, end: Place, bends: Sequence[float]) -> Iterator[Way]:
        yield from self._bent(start, end, SHAPES, bends)
        for corner in (Place(start.real, end.imag), Place(end.real, start.imag)):
            yield start, corner, corner, end

    def _bent(
        self,
        start: Place,
        end: Place,
        shapes: Iterable[tuple[Place, Place]],
        bends: Sequence[float] = BENDS,
    ) -> Iterator[Way]:
        across = end - start
        side = 1j * across / abs(across)
        to_middle = Place(self.inside.x, self.inside.y) - (start + end) / 2
        if abs(across) < TWO_LANES:
            bends = self.bends or BENDS
            side = -side if (to_middle * side.conjugate()).real < 0 else side
        for bend, shape in product(bends, shapes):
            out = bend * side * 2 / 3
            near_start, near_end = (start + p.real * across + p.imag * out for p in shape)
            yield start, near_start, near_end, end

    def _along_rows(self, start: Place, end: Place) -> Iterator[Way]:
        levels = {
            round(body.y + side * (body.height / 2 + CLEAR))
            for _, body in self.bodies
            for side in (-1, 1)
        }
        nearest = sorted(levels, key=lambda y: abs(y - start.imag) + abs(y - end.imag))
        for level in nearest[:LEVELS]:
            high = (8 * level - start.imag - end.imag) / 6  # so that its middle is there
            for near, far in ((0, 0), (1, 1), (0, 1), (0, 0.5), (0.5, 1)):
                first, last = (start.real + share * (end - start).real for share in (near, far))
                yield start, Place(first, high), Place(last, high), end

    def _seen(
        self, curve: Way, start: Bounded, end: Bounded, own: list[Body], least: int
    ) -> tuple[int, float, float]:
        """How many points of a curve between two bodies are crossed by others than its ``own``, and
        its shares at both.

        No more are counted than the ``least`` of other curves: this one is not taken then.
        """
        a, b, c, d = curve
        some = (p * a + q * b + r * c + s * d for p, q, r, s in MIDDLE)
        between = (at for at in some if not (start[1].covers(at) or end[1].covers(at)))
        if self._crossed(between, own, least) >= least:
            return least, 0, 1
        points = [p * a + q * b + r * c + s * d for p, q, r, s in SHARES]
        first = next(_covered(points, start, range(STEPS, 0, -1)), 0)
        last = next(_covered(points, end, range(first + 1, STEPS)), STEPS)
        seen = points[first + 1 : last]
        if not seen:
            return STEPS, first / STEPS, last / STEPS
        is_short = abs(seen[-1] - seen[0]) < min(SHORTEST, abs(points[-1] - points[0]) / 3)
        crossed = is_short + self._crossed(seen, own, least - is_short)
        if crossed >= least:
            return crossed, 0, 1
        begins = _edge(curve, start[0], first, first + 1)
        return crossed, begins, _edge(curve, end[0], last, last - 1)


def _covered(points: list[Place], by: Bounded, order: Iterable[int]) -> Iterator[int]:
    """Which of the points a body covers, asked in this order: most lie far outside of its box."""
    body, (left, right, top, bottom) = by[0], by[1].edges
    for i in order:
        at = points[i]
        if left < at.real < right and top < at.imag < bottom and body.covers(at):
            yield i


def _is_short(curve: Way) -> bool:
    a, b, c, d = curve
    across = d - a
    out = max(abs(b - a - across / 3), abs(d - c - across / 3))
    return out <= BULGE * abs(across)


def _edge(curve: Way, body: Body, within: float, beside: float) -> float:
    for _ in range(4):
        middle = (within + beside) / 2
        if body.covers(on(curve, middle / STEPS)):
            within = middle
        else:
            beside = middle
    return beside / STEPS


@lru_cache(64)
def ground(bodies: tuple[Body, ...], inside: Box, bends: tuple[float, ...] = ()) -> Ground:
    """The same ground for the same bodies, with the ways that were found on it."""
    return Ground(bodies, inside, bends)


def on(way: Way, share: float) -> Place:
    """The point at a share of a wire."""
    back = 1 - share
    a, b, c, d = way
    return back**3 * a + 3 * back * share * (back * b + share * c) + share**3 * d


def cut(way: Way, first: float, last: float) -> Way:
    """The part of a wire from one share of it to another."""
    return _until(_until(way, last)[::-1], 1 - first / (last or 1))[::-1]


def _until(way: Way, share: float) -> Way:
    a, b, c, d = way
    ab, bc, cd = (p + (q - p) * share for p, q in ((a, b), (b, c), (c, d)))
    abc, bcd = ab + (bc - ab) * share, bc + (cd - bc) * share
    return a, ab, abc, abc + (bcd - abc) * share


def tip(way: Way, share: float) -> str:
    """The head of an arrow at a share of a wire, as a path."""
    at, before = on(way, share), on(way, share - 0.05)
    out = 5 * (at - before) / (abs(at - before) or 1)
    left, right = at - out * (1 + 0.8j), at - out * (1 - 0.8j)
    return (
        f"M{left.real:.0f} {left.imag:.0f}L{at.real:.0f} {at.imag:.0f}"
        f"L{right.real:.0f} {right.imag:.0f}"
    )


def path(way: Way) -> str:
    """A wire as a path."""
    a, b, c, d = (f"{at.real:.0f} {at.imag:.0f}" for at in way)
    return f"M{a}C{b} {c} {d}"
