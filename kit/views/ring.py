"""The ring is the table: a band for each replica of each range, clockwise from the first token.

A lane is a rack where each datacenter has as many racks as copies; else a node keeps its lane from
range to range, and who comes has one outside until who goes is gone. A band is solid where its
range is read from that node and written to it, hatched where it is only written, dashed where that
is planned; ink outlines what the step changed. Of many ranges a strip shows where these lie, and a
lens the rows of some. One drawing serves all widths: in a wide slot the style makes letters
smaller, and shows the words for which there is room then.
"""

from __future__ import annotations

import cmath
import json
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate, count, groupby, islice, pairwise
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import counted
from kit.views.breaks import breaking
from kit.views.fragment import Frag, Kid, copied, h
from kit.views.labels import Box, Sheet, brief, measured, tags
from kit.views.palette import hues
from kit.views.panel import Panel, Scene, is_shown
from kit.views.parts import hatched_disc, word
from kit.views.replicas import envelope_path

WIDTH, HEIGHT = 360.0, 340.0
BESIDE, EDGE = 108.0, 12.0
"""How wide the column is at the right of the drawing, which only a wide slot has; and the edge that
it leaves at the left."""
FINE, BASE = 8.6, 4.6
"""The letters in a wide slot; how far the middle of letters is above their line."""
DISC, SMALL, TINY, SEAT = 14.0, 11.0, 8.6, 9.0
"""How large nodes are: at a ring, many of them, in rows; and the seat of a letter in a band."""
HOLE, THICK, THIN = 57.0, 22.0, 15.0
"""The radius of what the lanes leave for the log, at least; how wide a lane is, most and least."""
MOST_RANGES, LISTED, MOST_TOLD, MOST_ASIDE, MOST_CALLED, MOST_SAID = 24, 9, 8, 3, 40, 2
"""Ranges that are drawn as a ring; of more a lens has so many rows. Nodes that each say what they
know; of more those that differ. Nodes that stand aside; that the words for the picture name. Ranges
of which it is said below a ring who has them."""
LEAST_ARC, LEAST_TURN = 13.0, 0.03
"""How long an arc is that has a letter; how much of the turn a range has at least."""
HATCH = 5.5
"""From one line of a hatch to the next."""
HIGH, PILL, CARD = 18.0, 12.0, 19.0
"""How high a pill is, how much wider than its words; how high a card is."""
BOW, LOCK = "M-2.8 0v-2.2a2.8 2.8 0 0 1 5.6 0{}", "M-4-.6h8v5.4h-8z"
LINE, ROWS, ROW, NOW, WAS = 50.0, 112.0, 21.5, 126.0, 266.0
"""Where a strip is, from where its rows are, how high each is, and where its columns begin."""

State = Literal["works", "joins", "leaves", "down", "gone"]
Kind = Literal["read", "write", "bare", "plan", "left"]
"""A band is read and written, only written, only read, planned, or no more since this step."""
Replica: TypeAlias = tuple[int, int, str, bool, bool]
"""A range, a node, whether that is read there, and written; neither: that is planned."""
Bounds: TypeAlias = tuple[int, int]
Row: TypeAlias = dict[str, tuple[bool, bool]]
Spot: TypeAlias = tuple[complex, float]
"""The middle of a thing, and its radius."""


class Member(Struct, frozen=True):
    """A node: the tokens that it has or will have, how it is, and what it knows (``100``).

    ``words`` say all of it. ``coming`` are tokens of a member that it will own beside, ``has`` says
    how much of its data it has (``1/3 copied``). One without tokens stands aside.
    """

    name: str
    tokens: tuple[int, ...]
    state: State = "works"
    knows: str = ""
    dc: str = ""
    rack: str = ""
    words: str = ""
    coming: tuple[int, ...] = ()
    has: str = ""

    @property
    def places(self) -> tuple[int, ...]:
        """All tokens at which it stands."""
        return (*self.tokens, *self.coming)


class Card(Struct, frozen=True):
    """An entry of the log: its number, what it does in two words, and in some more."""

    number: str
    short: str
    long: str


class Probe(Struct, frozen=True):
    """What becomes of one key by somebody's table: a title, then who is asked for what."""

    token: int
    title: str
    written: Sequence[str] = ()
    read: Sequence[str] = ()


class Table(Struct, frozen=True):
    """Who has which range: replicas of one follow one another, first who had it, then who comes.

    ``copies`` are wanted in each datacenter, by name (``""``: wherever). ``held`` are ranges that
    operations hold. With too many ranges to tell, ``replicas`` has those that the lens shows; then
    ``ranges`` is how many there are, ``changed`` the parts of the line (from, to) that the step
    changed, and ``before`` what those ranges were.
    """

    name: str
    replicas: tuple[Replica, ...]
    copies: Mapping[str, int]
    held: tuple[Bounds, ...] = ()
    ranges: int = 0
    changed: tuple[tuple[float, float], ...] = ()
    before: tuple[Replica, ...] | None = None

    @property
    def rows(self) -> dict[Bounds, Row]:
        """Of each range, in their order, its nodes with whether they are read and written."""
        return _rows(self.replicas)

    def is_held(self, bounds: Bounds) -> bool:
        """Whether an operation holds a part of a range."""
        return any(lo < bounds[1] and bounds[0] < hi for lo, hi in self.held)

    def lanes(self, dc: str | None) -> int:
        """How many lanes stay, of all or of a datacenter."""
        return max(self.copies.get(dc or "", sum(self.copies.values())), 1)


class Ring(Struct, frozen=True):
    """The facts of a ring: one or several tables over the same nodes.

    ``key`` and ``spot`` give the things that a range and a node's token are, ``label`` and
    ``token`` their words. ``log`` has the newest card last; ``planned`` is the next one, behind a
    bar that is ``shut`` or not. Without a log, ``known`` are those who know these tables. They are
    of ``since`` (``state 5``), and who is ``behind`` goes by older ones. ``guilty`` are the names
    and range keys that a broken promise is about, ``movers`` those whom the story is about.
    ``notes`` are said below.
    """

    low: int
    high: int
    members: tuple[Member, ...]
    tables: tuple[Table, ...]
    label: Callable[[int, int], str]
    key: Callable[[int, int], str]
    spot: Callable[[str, int], str]
    token: Callable[[int], str] = str
    log: tuple[Card, ...] = ()
    planned: Card | None = None
    shut: bool = False
    probes: tuple[Probe, ...] = ()
    guilty: frozenset[str] = frozenset()
    movers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    center: str = "ring-log"
    known: tuple[str, ...] | None = None
    since: str = ""
    behind: tuple[str, ...] = ()

    @property
    def cuts(self) -> set[int]:
        """Where ranges end."""
        return {t for table in self.tables for bounds in table.rows for t in bounds}

    def there(self, dc: str | None) -> list[Member]:
        """The members, or those of a datacenter."""
        return [each for each in self.members if dc in (None, each.dc)]

    def share(self, token: int) -> float:
        """Where a token lies on the line, from 0 to 1."""
        return (token - self.low) / (self.high - self.low)

    def called(self, member: Member) -> str:
        """A node, its tokens and how it is, in words."""
        tokens = " and ".join(filter(None, map(self.token, member.places[:MOST_TOLD])))
        return f"{member.name}{tokens and f' at {tokens}'}: {member.words}"

    def says(self, table: Table, bounds: Bounds) -> str:
        """Who has a range, in a sentence."""
        row = table.rows[bounds]
        reads, writes = (
            ", ".join(node for node, use in row.items() if use[side]) or "nobody" for side in (0, 1)
        )
        locked = "; locked" * table.is_held(bounds)
        return f"{self.label(*bounds)}: read from {reads}; written to {writes}{locked}"


Facts: TypeAlias = Callable[[Scene, str], Ring]
"""The ring of a moment, by the newest entry or as the node of a name knows it."""


class Band(Struct, frozen=True):
    """A replica in its lane (from the outermost of those that stay; below 0: outside of these)."""

    lo: int
    hi: int
    node: str
    lane: int
    kind: Kind
    changed: bool = False


# -- which band is where, and what the step changed ------------------------------------------------


@lru_cache(32)
def _rows(replicas: tuple[Replica, ...]) -> dict[Bounds, Row]:
    rows: dict[Bounds, Row] = {}
    for lo, hi, node, reads, writes in sorted(replicas, key=lambda each: each[:2]):
        rows.setdefault((lo, hi), {})[node] = reads, writes
    return rows


def _covering(rows: Mapping[Bounds, Row], bounds: Bounds) -> Row:
    if bounds in rows:  # most, and looking is much quicker than searching
        return rows[bounds]
    return next((row for (lo, hi), row in rows.items() if lo < bounds[1] <= hi), {})


def kind_of(reads: bool, writes: bool) -> Kind:
    """How a replica is drawn."""
    return ("read" if writes else "bare") if reads else "write" if writes else "plan"


def is_by_rack(ring: Ring, table: Table) -> bool:
    """Whether each datacenter has as many racks as copies, so that a lane is a rack."""
    dcs = Counter(dc for dc, _ in {(each.dc, each.rack) for each in ring.members if each.tokens})
    wanted = {dc: table.copies.get(dc, table.copies.get("", 0)) for dc in dcs}
    return dcs == wanted and max(wanted.values(), default=0) > 1


def bands(
    ring: Ring, table: Table, then: Mapping[Bounds, Row] | None = None, dc: str | None = None
) -> Iterator[Band]:
    """The bands of a table, or of a datacenter in it, each with its lane and whether it changed.

    What only another datacenter cuts is one band.
    """
    racks = {each.name: each.rack for each in ring.there(dc)}
    lane_of = {rack: lane for lane, rack in enumerate(sorted({*racks.values()}))}
    by_rack, most = is_by_rack(ring, table), table.lanes(dc)
    lanes: dict[str, int] = {}

    def own(row: Row) -> Row:
        return {node: use for node, use in row.items() if node in racks}

    every = [
        (bounds, own(row), own(row if then is None else _covering(then, bounds)))
        for bounds, row in table.rows.items()
    ]
    for _, group in groupby(every, lambda each: each[1:] if dc else each):
        ((lo, hi), row, was), *others = group
        hi = others[-1][0][1] if others else hi
        stay = [node for node, use in row.items() if any(use)][:most]
        if by_rack:  # of two in a rack the first one stays
            lanes = {node: lane for lane, node in
                     {lane_of[racks[node]]: node for node in reversed(stay)}.items()}  # fmt: skip
        else:
            lanes = _kept(stay, lanes, most)
        outside = count(-1, -1)
        for node, use in row.items():
            lane = lanes[node] if node in lanes else next(outside)
            yield Band(lo, hi, node, lane, kind_of(*use), was.get(node, (False, False)) != use)
        for node, use in was.items():
            if node not in row and any(use):
                yield Band(lo, hi, node, next(outside), "left", changed=True)


def _kept(stay: Sequence[str], lanes: Mapping[str, int], most: int) -> dict[str, int]:
    """The lane of each node: the one that it had in the range before, or else a free one."""
    taken = {node: lanes[node] for node in stay if node in lanes}
    free = (lane for lane in range(most) if lane not in taken.values())
    return {node: taken[node] if node in taken else next(free) for node in stay}


# -- where that lies -------------------------------------------------------------------------------


class Place(Struct, frozen=True):
    """Where a ring lies, of all or of a datacenter: its middle, its outer edge, its lanes (one of
    them outside of the ``main`` ones), how large its nodes are.

    ``ends`` are the tokens in their order with the share of the turn at which each lies.
    """

    dc: str | None
    middle: complex
    outer: float
    thick: float
    main: int
    disc: float
    ends: tuple[tuple[int, float], ...]

    @property
    def nodes(self) -> float:
        """The radius at which nodes stand."""
        return self.outer + 4 + self.disc

    @property
    def inner(self) -> float:
        """The inner edge of the lanes."""
        return self.lane(self.main - 1)[0] - 1.5

    def turn(self, token: int) -> float:
        """The share of the turn at which a token lies; small ranges are widened."""
        at = min(max(bisect_right(self.ends, (token, 2.0)) - 1, 0), len(self.ends) - 2)
        (low, left), (high, right) = self.ends[at], self.ends[at + 1]
        return left + (right - left) * (token - low) / (high - low)

    def lane(self, lane: int) -> tuple[float, float]:
        """The inner and the outer edge of a lane; those outside stand a little off."""
        out = self.outer - (1 + lane) * self.thick - 4 * (lane >= 0)
        return out - self.thick + 1.5, out

    def at(self, turn: float, radius: float) -> complex:
        """A point, clockwise from the top."""
        return self.middle + cmath.rect(radius, math.tau * (turn - 0.25))


def xy(point: complex) -> str:
    """A point in a path."""
    return f"{round(point.real, 1):g} {round(point.imag, 1):g}"


def place_of(ring: Ring, middle: complex, radius: float, dc: str | None) -> Place:
    """The place of a ring, or of that of a datacenter, that is so large with its nodes."""
    own = {token for each in ring.there(dc) for token in each.places}
    ends = sorted({ring.low, ring.high, *own, *(ring.cuts if dc is None else ())})
    wide = [max(ring.share(b) - ring.share(a), LEAST_TURN) for a, b in pairwise(ends)]
    shares = (each / sum(wide) for each in accumulate(wide, initial=0.0))
    main = max(table.lanes(dc) for table in ring.tables)
    disc = DISC if dc is None and len(own) <= MOST_TOLD + 1 else SMALL
    outer = radius - 2 * disc - 4
    thick = (outer - (HOLE if dc is None else 15.0) - 4) / (main + 1)
    ends_at = tuple(zip(ends, shares, strict=True))
    return Place(dc, middle, outer, min(THICK, max(THIN, thick)), main, disc, ends_at)


@lru_cache(1 << 12)
def sector(place: Place, left: float, right: float, inner: float, outer: float) -> str:
    """The outline of a part of a lane, a little apart from its neighbours."""
    right = min(right, left + 0.9999)
    (a, b), (c, d) = (
        [xy(place.at(turn, radius)) for turn in (left + off, right - off)]
        for radius in (outer, inner)
        for off in [0.7 / (math.tau * radius)]
    )
    large = int(right - left > 0.5)
    around = f"A{outer:.1f} {outer:.1f} 0 {large} 1 {b}"
    return f"M{a}{around}L{d}A{inner:.1f} {inner:.1f} 0 {large} 0 {c}Z"


@lru_cache(1 << 12)
def hatch(place: Place, left: float, right: float, inner: float, outer: float) -> str:
    """Slanting lines across a part of a lane."""
    around = math.pi * (inner + outer)
    lean, step, lines = (outer - inner) / around, HATCH / around, ""
    for i in range(math.ceil((right - left + lean) / step)):
        begin = left - lean + (i + 0.5) * step
        low, high = max(0.0, (left - begin) / lean), min(1.0, (right - begin) / lean)
        if high > low:
            a, b = (place.at(begin + lean * part, inner + (outer - inner) * part)
                    for part in (low, high))  # fmt: skip
            lines += f"M{xy(a)}L{xy(b)}"
    return lines


# -- the parts of the picture ----------------------------------------------------------------------


class Look(Struct, frozen=True):
    """All that the parts of a picture are drawn from; ``who`` is the node whose view it is.

    ``then`` is what the ring is compared with: before the step, or by the log. Where a promise
    breaks, ``guilty`` are the names and range keys that it is about.
    """

    scene: Scene
    ring: Ring
    then: Ring | None
    hue: Mapping[str, str]
    short: Mapping[str, str]
    guilty: frozenset[str]
    who: str = ""

    def blames(self, node: str, bounds: Bounds) -> bool:
        """Whether a promise that breaks is about a node in a range."""
        named = self.guilty - {each.name for each in self.ring.members}
        return node in self.guilty and (not named or self.ring.key(*bounds) in named)

    def before(self, at: int) -> Mapping[Bounds, Row] | None:
        """The ranges of a table as they were."""
        own = self.ring.tables[at].before
        if self.then is None:
            return None
        return self.then.tables[at].rows if own is None else _rows(own)

    def news(self, member: Member, *parts: str) -> bool:
        """Whether the step changed something of a node."""
        then = () if self.then is None or self.who else self.then.members
        was = next((each for each in then if each.name == member.name), member)
        return any(getattr(was, part) != getattr(member, part) for part in parts)


def look_of(scene: Scene, facts: Facts, who: str = "") -> Look:
    """What a picture of a moment is drawn from."""
    ring, former = facts(scene, who), scene.former()
    then = facts(scene, "") if who else facts(former, "") if former and former != scene else None
    guilty = ring.guilty if not who and breaking(scene) else frozenset[str]()
    short = tags(dict.fromkeys((*(each.name for each in ring.members), *(ring.known or ()))))
    return Look(scene, ring, then, hues_of(scene, ring), short, guilty, who)


def hues_of(scene: Scene, ring: Ring) -> Mapping[str, str]:
    """The hue of each node: its own, or of many nodes that of its rack, or of who moves."""
    racks = {each.name: f"{each.dc} {each.rack}" for each in ring.members}
    by_rack = hues(sorted({*racks.values()}))
    of_racks = {name: by_rack[rack] for name, rack in racks.items()} if len(by_rack) > 1 else {}
    return hues(scene.model.names) or of_racks or hues(ring.movers)


def _classes(*names: str) -> str | None:
    return " ".join(filter(None, names)) or None


def _rect(box: Box, rx: float, kind: str = "") -> Frag:
    left, _, top, _ = box.edges
    return h("rect", x=f"{left:.1f}", y=f"{top:.1f}", width=f"{box.width:.1f}",
             height=f"{box.height:.1f}", rx=f"{rx:.1f}", class_=kind or None)  # fmt: skip


def _word(text: str, x: float, y: float, kind: str = "", anchor: str | None = "middle") -> Frag:
    return word(text, round(x, 1), round(y + BASE, 1), kind or None, anchor)


def _moved(at: complex) -> str:
    return f"translate({xy(at)})"


def choosable(thing: str, words: str = "", *, first: bool = False) -> dict[str, Any]:
    """The attributes of a button that chooses a thing; arrow keys reach all but the first."""
    return {
        "role": "button",
        "tabindex": "0" if first else "-1",
        "aria_label": words or None,
        "aria_pressed": "false",
        "data_roving": True,
        "data_spot": thing,
        "data_of": thing,
    }


def half_of(name: str, radius: float) -> float:
    """Half of how wide a node of a name is: a long one has a longer shape."""
    half = measured(name, bold=True) / 2 + 1
    return radius if half <= radius + 4 else half


def draw_disc(
    look: Look, name: str, at: complex, radius: float, kind: str = "", ring: str = "", of: str = ""
) -> Frag:
    """Draw a node's letter on its hue; hatched, hollow, dashed or crossed, as its ``kind`` says,
    and in a ``ring``.
    """
    short, q = look.short.get(name, name), radius * 0.72
    half = half_of(short, radius)
    return h(
        "g",
        _rect(Box(0, 0, 2 * half + 5, 2 * radius + 5), radius + 2.5, f"inked {ring}")
        if ring else None,
        _rect(Box(0, 0, 2 * half, 2 * radius), radius, "disc"),
        (h("path", d=hatched_disc(radius), class_="hatch"),
         h("circle", r=radius * 0.64, class_="paper")) if kind == "write" else None,
        _word(short, 0, 0, "let"),
        h("path", d=f"M{q - 4:.1f}{-q - 4:.1f}l8 8m0-8l-8 8", class_="cross")
        if kind == "gone" else None,
        class_=_classes("node", kind, look.hue.get(name, "")),
        transform=_moved(at),
        data_of=of or None,
    )  # fmt: skip


def draw_band(look: Look, place: Place, band: Band, name: str) -> Frag:
    """Draw a replica's band, with its letter in the longest part between tokens, if it has room."""
    inner, outer = place.lane(band.lane)
    left, right = place.turn(band.lo), place.turn(band.hi)
    shape, middle = partial(sector, place, left, right), (inner + outer) / 2
    cuts = (left, *(turn for _, turn in place.ends if left < turn < right), right)
    begin, end = max(pairwise(cuts), key=lambda part: round(part[1] - part[0], 3))
    solid = band.kind == "read"
    guilty = "guilty" * (band.kind == "bare" and look.blames(band.node, (band.lo, band.hi)))
    at = place.at((begin + end) / 2, middle)
    has_letter = math.tau * middle * (end - begin) > (LEAST_ARC if solid else 2 * SEAT)
    seat = min(SEAT, (outer - inner) / 2 - 0.5)
    return h(
        "g",
        h("path", d=shape(inner, outer), class_="fill"),
        h("path", d=hatch(place, left, right, inner, outer), class_="hatch")
        if band.kind == "write" else None,
        h("circle", r=seat, transform=_moved(at), class_="paper")
        if has_letter and not solid else None,
        _word(look.short.get(band.node, band.node), at.real, at.imag, "let")
        if has_letter else None,
        h("path", d=shape(inner, outer), class_="inked") if band.changed or guilty else None,
        k=f"band:{name}:{band.lo}:{band.hi}:{band.node}",
        class_=_classes("band", band.kind, look.hue.get(band.node, ""), guilty),
        data_of=band.node,
    )  # fmt: skip


def draw_range(look: Look, place: Place, table: Table, bounds: Bounds, name: str) -> Frag:
    """Draw what can be pressed of a range: all of its bands; a line lies where it is held."""
    thing, inner = look.ring.key(*bounds), place.inner
    part = partial(sector, place, *map(place.turn, bounds))
    guilty = thing in look.guilty
    is_bare = any(reads and not writes for reads, writes in table.rows[bounds].values())
    return h(
        "g",
        h("title", look.ring.says(table, bounds)),
        h("path", d=part(inner, place.outer), class_="reach"),
        h("path", d=part(inner - 1.5, inner), class_="held") if table.is_held(bounds) else None,
        h("path", d=part(inner, place.outer), class_="inked") if guilty and not is_bare else None,
        k=f"arc:{name}:{thing}",
        class_="arc guilty" if guilty else "arc",
        **choosable(thing),
    )


class Labels:
    """What stands around rings, each where there is room: the rings and their nodes are taken."""

    def __init__(self, ring: Ring, places: Sequence[Place], within: Box) -> None:
        self.places, self.within, self.sheet = places, within, Sheet()
        for at, reach in (spot for each in places for _, _, spot in seats_of(ring, each)):
            self.sheet.cover(Box(at.real, at.imag, 2 * reach + 4, 2 * reach + 4))

    def free(self, box: Box) -> bool:
        """Whether a box lies within, off the lanes and off all that stands there already."""
        for place in self.places:
            out, up = abs(box.x - place.middle.real), abs(box.y - place.middle.imag)
            near = math.hypot(max(out - box.width / 2, 0), max(up - box.height / 2, 0))
            if near <= place.outer + 1:
                return False
        return self.within.widened(0.1).holds(box) and self.sheet.is_free(box)

    def is_clear(self, start: complex, end: complex) -> bool:
        """Whether a line strikes nothing that stands there."""
        way = [start + (end - start) * i / 40 for i in range(41)]
        return not any(box.covers(point) for box in self.sheet.boxes for point in way)

    def first(self, boxes: Iterable[Box]) -> Box | None:
        """Cover the first of some boxes that is free."""
        box = next(filter(self.free, boxes), None)
        self.sheet.cover(*filter(None, [box]))
        return box

    def seat(self, place: Place, spot: Spot, width: float, height: float) -> Box | None:
        """Cover the first free place around a thing: below, above, beside, at a corner."""
        (at, gap), (left, right, top, bottom) = spot, self.within.edges
        out, up = gap + 2.5 + width / 2, gap + 2.5 + height / 2
        side = out if at.real >= place.middle.real else -out
        tries = (
            *((0, up), (0, -up), (side * 0.25, up), (side * 0.25, -up), (side, 0)),
            *((side, up / 2), (side, -up / 2)),
            *((side * 0.7, up * 0.9), (side * 0.7, -up * 0.9), (-side, 0)),
            *((-side, up / 2), (-side, -up / 2), (-side * 0.7, up * 0.9)),
        )
        boxes = (
            Box(min(max(at.real + x, left + width / 2), right - width / 2),
                min(max(at.imag + y, top + height / 2), bottom - height / 2), width, height)
            for x, y in tries
        )  # fmt: skip
        return self.first(boxes)


def draw_pill(look: Look, member: Member, box: Box, near: float | None = None) -> Frag:
    """Draw what a node knows; in ink if the step changed it. In a wide slot it says so, and grows
    away from its node, if that is ``near`` (where across).
    """

    def pill(text: str, there: Box, kind: str = "") -> Frag:
        rect = _rect(there, HIGH / 2, "slip")
        return h("g", rect, _word(text, there.x, there.y, "strong"), class_=kind or None)

    words, parts = f"knows {member.knows}", [pill(member.knows, box)]
    if near is not None:
        wide = measured(words, FINE, bold=True) + 6
        side = (box.x > near + 8) - (box.x < near - 8)
        x = box.x + side * (wide - box.width) / 2
        x = min(max(x, wide / 2 - EDGE + 1), WIDTH + EDGE - wide / 2)
        there = Box(x, box.y, wide, HIGH)
        parts = [pill(member.knows, box, "narrow"), pill(words, there, "wide")]
    kind = "pill news" if look.news(member, "knows") else "pill"
    return h("g", parts, k=f"knows:{member.name}", class_=kind)


def draw_members(look: Look, place: Place, labels: Labels) -> Iterator[Frag]:
    """Draw the nodes at their tokens, and around each what it knows and where it is."""
    ring, seats = look.ring, seats_of(look.ring, place)
    some = ring.there(place.dc) if ring.known is None else []
    there = [each for each in some if each.knows and look.who in ("", each.name)]
    usual = Counter(each.knows for each in there).most_common(1) if len(there) > MOST_TOLD else []
    if place == labels.places[0]:
        yield from _aside(look, labels, knowing(there) if usual else [])
    words, top = ring.token(ring.low), (place.at(0, place.outer), 1.0)
    has_top = any(token in (ring.low, ring.high) for _, token, _ in seats)
    if words and not has_top and (box := labels.seat(place, top, measured(words), 15)):
        yield _word(words, box.x, box.y, "soft")
    cuts = [(turn, place.outer) for _, turn in place.ends[1:-1]] + [(0.0, place.outer + 3)]
    cuts += [(place.turn(token), place.nodes - place.disc) for _, token, _ in seats]
    lines = (
        f"M{xy(place.at(turn, place.inner - 5))}L{xy(place.at(turn, out))}" for turn, out in cuts
    )
    yield h("path", d="".join(lines), k=f"spokes:{place.dc or ''}", class_="rim")
    for i, (member, token, spot) in enumerate(seats):
        parts = list[Kid]()
        is_told = member in there and member.knows not in (known for known, _ in usual)
        if token == min(member.places) and is_told:
            wide = measured(member.knows, bold=True) + PILL
            if box := labels.seat(place, spot, wide, HIGH):
                near = spot[0].real if place.dc is None else None
                parts.append(draw_pill(look, member, box, near))
        words = ring.token(token)
        if 0 < len(words) <= 6 and (box := labels.seat(place, spot, measured(words), 14)):
            parts.append(_word(words, box.x, box.y, "soft"))
        key, state = (
            ring.spot(member.name, token),
            "joins" if token in member.coming else member.state,
        )
        yield draw_spot(look, member, spot, parts, key, state, first=not i)


def draw_spot(
    look: Look, member: Member, spot: Spot, parts: Kid, key: str, state: str, *, first: bool = False
) -> Frag:
    """Draw a node that can be pressed, with what stands around it."""
    guilty, ring = member.name in look.guilty, look.ring
    ranges = {ring.key(*bounds) for table in ring.tables for bounds in table.rows}
    news, is_alone = look.news(member, "state", "knows"), guilty and not look.guilty & ranges
    around = "broken" if is_alone else "news" if news else "own" * (look.who == member.name)
    faded = "faded" * (look.who not in ("", member.name))
    return h(
        "g",
        h("title", ring.called(member)),
        draw_disc(look, member.name, *spot, state, around),
        parts,
        k=key,
        class_=_classes("spot", "guilty" * guilty, faded),
        **choosable(member.name, first=first),
    )


def draw_apart(look: Look, member: Member, at: complex, tell: bool = True) -> Frag:
    """Draw a node that does not stand at a ring, and beside it what it knows."""
    wide = measured(member.knows, bold=True) + PILL
    x = at.real + half_of(look.short[member.name], SMALL) + 3 + wide / 2
    pill = draw_pill(look, member, Box(x, at.imag, wide, HIGH)) if tell and member.knows else None
    keys = [look.ring.spot(member.name, token) for token in member.places]
    key = keys[0] if keys else f"outside:{member.name}"
    return draw_spot(look, member, (at, SMALL), pill, key, member.state)


def seats_of(ring: Ring, place: Place) -> list[tuple[Member, int, Spot]]:
    """Where each node stands at each of its tokens: those with the same token side by side."""
    members = ring.there(place.dc)
    owners = sorted(
        (token, each.state != "gone", at) for at, each in enumerate(members)
        for token in each.places
    )  # fmt: skip
    seats = []
    for token, own in groupby(owners, key=lambda each: each[0]):
        some = [members[at] for *_, at in own]
        for i, member in enumerate(some):
            aside = (i - (len(some) - 1) / 2) * 2.3 * place.disc / (math.tau * place.nodes)
            at = place.at(place.turn(token) + aside, place.nodes)
            seats.append((member, token, (at, place.disc)))
    return seats


def knowing(members: Iterable[Member]) -> list[str]:
    """How many nodes know what, in few words: what is newest first."""
    counts = Counter(each.knows for each in members if each.knows)
    if len(counts) == 1:
        return [f"all know {next(iter(counts))}"]
    newest = sorted(counts, key=lambda known: (len(known), known), reverse=True)[:MOST_ASIDE]
    return [f"{counts[known]} know{'s' * (counts[known] == 1)} {known}" for known in newest]


def _aside(look: Look, labels: Labels, notes: Sequence[str]) -> Iterator[Frag]:
    """Draw the nodes without a token in the upper left corner; what is noted in others."""
    left, right, top, bottom = labels.within.edges
    out = [each for each in look.ring.members if not each.places]
    for i, member in enumerate(out if len(out) <= MOST_ASIDE else ()):
        at = complex(left + SMALL + 1, top + SMALL + 1 + 25 * i)
        labels.sheet.cover(Box(at.real + 30, at.imag, 90, 2 * SMALL))
        yield draw_apart(look, member, at)
    for words in (*notes, *(f"{each.name}: {each.has}" for each in look.ring.members if each.has)):
        wide, ys = measured(words), (bottom - 8, bottom - 24, bottom - 40)
        boxes = (Box(x, y, wide) for x in (left + wide / 2, right - wide / 2) for y in ys)
        if box := labels.first(boxes):
            yield _word(words, box.edges[0], box.y, "soft", None)


# -- the log, keys, what travels -------------------------------------------------------------------


def cards_of(ring: Ring) -> list[tuple[Card, str]]:
    """The cards that there may be room for: the planned one first, then the newest ones."""
    newest = [*zip(ring.log[::-1], ("now", "past"), strict=False)]
    return ([(ring.planned, "plan")] if ring.planned else []) + newest


def draw_cards(look: Look, shown: Mapping[Box, tuple[Card, str]], bar: Frag | None) -> Frag:
    """Draw entries of the log, with long words if a wide slot has room for all of these, and the
    bar between the newest one and the planned one.
    """
    is_long = all(
        measured(f"{card.number} ", FINE, bold=True) + measured(card.long, FINE) <= box.width - 4
        for box, (card, _) in shown.items()
    )
    parts = []
    for box, (card, kind) in shown.items():
        words: list[Kid] = [card.short]
        if is_long:
            words = [h("tspan", card.short, class_="narrow"), h("tspan", card.long, class_="wide")]
        parts.append(h(
            "g",
            h("title", f"{card.number}: {card.long}"),
            _rect(box, 4, "slip"),
            h("text", h("tspan", card.number, class_="strong"), " ", words,
              x=f"{box.x:.1f}", y=f"{box.y + BASE:.1f}", text_anchor="middle"),
            k=f"card:{card.number}",
            class_=f"card {kind}",
        ))  # fmt: skip
    return h("g", parts, bar, k=look.ring.center, data_of=look.ring.center)


def draw_bar(look: Look, at: complex, lines: str) -> Frag | None:
    """Draw the bar before the planned entry, if there is one: with a lock, shut or open; or say
    that a node stands there.
    """
    ring = look.ring
    if look.who and ring.planned:
        return h("g", _word(f"{look.who} stands here", 0, 0, "strong"), transform=_moved(at))
    return None if ring.planned is None else h(
        "g",
        h("title", f"the next event {'has to wait' if ring.shut else 'may follow'}"),
        h("path", d=lines, class_="bars"),
        h("circle", r=8.5, class_="box"),
        h("path", d=BOW.format("v2" if ring.shut else "v-.6"), class_="rim"),
        h("path", d=LOCK, class_="full"),
        k="bar",
        transform=_moved(at),
    )  # fmt: skip


def draw_log(look: Look, place: Place) -> Frag:
    """Draw the newest entries in the hole of the ring, one below the other: as many as fit."""
    every, step, bar = cards_of(look.ring), CARD + 3, None
    shown, tall, wide = every, 0.0, 0.0
    for shown in (every, every[:2], every[1:2]):
        tall = len(shown) * step + 14 * any(kind == "plan" for _, kind in shown)
        wide = 2 * math.sqrt(max((place.inner - 2.5) ** 2 - (tall / 2) ** 2, 0))
        needed = (measured(x.number, bold=True) + measured(f" {x.short}") for x, _ in shown)
        if wide >= max(needed, default=0) + 6:
            break
    x, y, wide, boxes = place.middle.real, place.middle.imag - tall / 2 + 1.5, min(wide, 112), []
    for _, kind in shown:
        boxes.append(Box(x, y + CARD / 2, wide, CARD))
        y += step
        if kind == "plan":
            lines = f"M{-wide / 2:.1f} 0H-8.5M8.5 0H{wide / 2:.1f}"
            bar, y = draw_bar(look, complex(x, y + 5.5), lines), y + 14
    return draw_cards(look, dict(zip(boxes, shown, strict=True)), bar)


def draw_known(look: Look, place: Place) -> Frag:
    """Draw in the hole of the ring who knows its tables, or whose these are."""
    every, then = (ring.known or () if ring else () for ring in (look.ring, look.then))
    names = every if len(every) <= MOST_TOLD and not look.who else ()
    rows = [*filter(None, (names[: MOST_TOLD // 2], names[MOST_TOLD // 2 :]))]
    step = 2 * max((half_of(look.short[name], SMALL) for name in names), default=0.0) + 5
    words = "known to" if names else f"known to {counted(len(every), 'node')}"
    x, y = place.middle.real, place.middle.imag - 13 * len(rows)
    discs = [
        draw_disc(look, name, complex(x + step * (i - (len(row) - 1) / 2), y + 26 * (at + 0.9)),
                  SMALL, "", "news" * (look.then is not None and name not in then), name)
        for at, row in enumerate(rows) for i, name in enumerate(row)
    ]  # fmt: skip
    said = _word(f"{look.who} stands here" if look.who else words, x, y, "soft")
    return h("g", said, discs, k=look.ring.center, data_of=look.ring.center)


def draw_log_line(look: Look) -> Frag:
    """Draw the newest entries in a row above the picture."""
    shown = cards_of(look.ring)[::-1]
    lock = 28.0 * bool(look.ring.planned)
    wide = (WIDTH - lock + 6) / max(len(shown), 3)
    xs = [wide * i + lock * (kind == "plan") for i, (_, kind) in enumerate(shown)]
    boxes = [Box(x + wide / 2 - 3, 12, wide - 8, 22) for x in xs]
    bar = draw_bar(look, complex(xs[-1] - 17, 12) if xs else 0, "M0-13V-8.5M0 8.5V13")
    return draw_cards(look, dict(zip(boxes, shown, strict=True)), bar)


def draw_probes(look: Look, labels: Labels | None = None) -> list[Kid]:
    """Draw at the right, in a wide slot, who is asked for keys; a line leads from each to where its
    key is on the ring, if nothing stands in the way.
    """
    y, x, parts = 4.0, WIDTH + EDGE, list[Kid]()
    for probe in look.ring.probes:
        sides = ("written", probe.written), ("read", probe.read)
        rows = [(words, names) for words, names in sides if names]
        lines = list[Kid]()
        for row, (words, names) in enumerate(rows):
            at = complex(x + 50, y + 32 + 21 * row)
            step = min(16.5, 46 / max(len(names) - 1, 1))
            lines.append(_word(words, x + 8, at.imag, "soft", None))
            lines += [
                draw_disc(look, name, at + step * i, 8, "write" * (name not in rows[-1][1]))
                for i, name in enumerate(names)
            ]
        high = 22.0 + 21 * len(rows)
        box = _rect(Box(x + BESIDE / 2, y + high / 2, BESIDE, high), 4, "slip")
        title = _word(probe.title, x + 8, y + 12, "strong", None)
        parts.append(h("g", box, title, lines, k=f"probe:{probe.title}", class_="wide probe"))
        if labels and len(labels.places) == 1:
            [place] = labels.places
            a = place.at(place.turn(probe.token), place.lane(0)[1] - place.thick / 2)
            b = complex(x - 8, y + 16)
            if a.real > place.middle.real and labels.is_clear(a, b):
                dot = h("circle", r=2.6, class_="dot", transform=_moved(a))
                line = h("path", d=f"M{xy(a)}L{xy(b)}h8", class_="rim")
                parts.append(h("g", line, dot, k=f"lead:{probe.title}", class_="wide"))
        y += high + 6
    return parts


def draw_ways(look: Look, ends: Mapping[str, Spot]) -> Frag:
    """Draw what travelled in the step: a line, and an open envelope at its end."""
    drawn = {}
    for flow in look.scene.flows()[:8] if not look.who else ():
        if flow.from_key in ends and flow.to_key in ends:
            drawn[flow.from_key, flow.to_key] = h(
                "g", h("title", flow.text), _way(ends[flow.from_key], ends[flow.to_key]),
                k=f"trail:{flow.from_key}>{flow.to_key}", class_=f"trail {flow.kind}",
            )  # fmt: skip
    return h("g", [*drawn.values()], k="trails")


def _way(start: Spot, end: Spot) -> list[Frag]:
    (source, gone), (target, come) = start, end
    between = (source + target) / 2
    if max(gone, come) < HOLE / 2:  # from node to node: through the middle of the ring
        between = (between + complex(WIDTH, HEIGHT) / 2) / 2

    def edge(middle: complex, reach: float) -> complex:
        far = between - middle
        return middle + reach * far / (abs(far) or 1)

    line = f"M{xy(edge(source, gone))}Q{xy(between)} {xy(edge(target, come))}"
    opened = h("path", d=envelope_path(7, opened=True), class_="envelope",
               transform=_moved(edge(target, come + 11)))  # fmt: skip
    return [*(h("path", d=line, class_=kind) for kind in ("halo", "message")), opened]


# -- the whole picture -----------------------------------------------------------------------------


def datacenters(ring: Ring) -> list[str]:
    """The datacenters that have copies of their own, where they are two."""
    dcs = [dc for dc, wanted in sorted(ring.tables[0].copies.items()) if dc and wanted]
    return dcs if len(dcs) == 2 else []


def is_many(ring: Ring) -> bool:
    """Whether there are too many ranges for a ring."""
    tokens = (token for each in ring.members for token in each.places)
    return any(table.ranges for table in ring.tables) or len(ring.cuts.union(tokens)) > MOST_RANGES


def _layers(look: Look, name: str, draw: Callable[[Table, int, str], Kid]) -> Iterator[Frag]:
    """What is of each of several tables; a choice shows one of them."""
    tables = look.ring.tables
    for at, table in enumerate(tables):
        choice = json.dumps(["keyspace", table.name]) if len(tables) > 1 else None
        key = table.name + name
        yield h("g", draw(table, at, key), k=f"layer:{key}", data_choice=choice, hidden=at > 0)


def whole_place(ring: Ring) -> Place:
    """Where a ring lies that has the picture for itself."""
    return place_of(ring, complex(WIDTH / 2, HEIGHT / 2 + 1), 164, None)


def draw_rings(look: Look) -> list[Kid]:
    """Draw one ring with the log inside; or one for each of two datacenters below the log, at the
    ends of a diagonal.
    """
    ring, dcs = look.ring, datacenters(look.ring)
    middles = complex(100, 128), complex(WIDTH - 100, HEIGHT - 99)
    places = [place_of(ring, at, 98, dc) for at, dc in zip(middles, dcs, strict=False)]
    top, places = 28.0 * bool(dcs), places or [whole_place(ring)]
    labels = Labels(ring, places, Box(WIDTH / 2, (HEIGHT + top) / 2, WIDTH, HEIGHT - top))
    ends = {
        ring.spot(each.name, token): spot
        for place in places for each, token, spot in seats_of(ring, place)
    }  # fmt: skip
    at = complex(WIDTH / 2, HEIGHT / 2)  # what is streamed goes round it
    if not dcs:
        at, log = places[0].middle, draw_log if ring.known is None else draw_known
        ends[ring.center] = at, places[0].inner
    return [
        h("circle", r=0, transform=_moved(at), class_="paper", k="ring"),
        [_placed(look, place, labels) for place in places],
        draw_log_line(look) if dcs else log(look, places[0]),
        draw_ways(look, ends),
        draw_probes(look, labels),
    ]


def _placed(look: Look, place: Place, labels: Labels) -> list[Kid]:
    ring, dc = look.ring, place.dc or ""

    def draw(table: Table, at: int, name: str) -> Kid:
        drawn = sorted(bands(ring, table, look.before(at), place.dc), key=lambda band: band.changed)
        pressed = () if look.who else table.rows
        over = (draw_range(look, place, table, bounds, name) for bounds in pressed)
        return [[draw_band(look, place, band, name) for band in drawn], *over]

    return [
        [*_layers(look, dc and f":{dc}", draw)],
        h("g", draw_members(look, place, labels), k=f"nodes:{dc}"),
        _word(dc, place.middle.real, place.middle.imag, "strong") if dc else None,
    ]


def draw_strip(look: Look) -> list[Kid]:
    """Draw the line of many ranges, and below it the rows of those that the step changed."""
    layers = _layers(look, "", lambda table, at, _: _strip(look, table, look.before(at)))
    nodes = h("g", _knowing(look), k="ring-nodes")
    hub = h("circle", r=0, transform=_moved(WIDTH / 2 + 0j), class_="paper", k="ring")
    return [hub, draw_log_line(look), [*layers], nodes, draw_probes(look)]


def _strip(look: Look, table: Table, then: Mapping[Bounds, Row] | None) -> list[Kid]:
    ring, every = look.ring, dict[Bounds, list[Band]]()
    for band in bands(ring, table, then):
        every.setdefault((band.lo, band.hi), []).append(band)
    order = [*every]
    changed = [b for b in order if any(x.changed and x.kind != "plan" for x in every[b])]
    moving = [b for b in order if any(band.kind != "read" for band in every[b])]
    first = order.index((changed or moving or order)[0]) if order else 0
    shown = order[max(0, min(first, len(order) - LISTED)) :][:LISTED]

    def x(share: float) -> float:
        return 2 + (WIDTH - 4) * share

    def parts(shares: Iterable[tuple[float, float]], kind: str) -> Frag:
        path = ""
        for left, right in shares:
            path += f"M{x(left) + 0.6:.1f} {LINE - 7:.0f}"
            path += f"H{max(x(right) - 0.6, x(left) + 1.8):.1f}v14H{x(left) + 0.6:.1f}Z"
        return h("path", d=path, class_=kind)

    def shares(some: Iterable[Bounds]) -> Iterator[tuple[float, float]]:
        return ((ring.share(lo), ring.share(hi)) for lo, hi in some)

    news, held = table.changed, list[Bounds]()
    said = f"{counted(table.ranges or len(order), 'range')}, "
    said += brief(f"{ring.token(ring.low)} to {ring.token(ring.high)}")
    if not table.ranges:
        news = tuple(shares(changed))
        held = [bounds for bounds in order if table.is_held(bounds) and bounds not in changed]
        said += f": {len(changed)} changed" * bool(changed)
    members = ring.members if len(ring.members) <= MOST_TOLD else ()
    said += "".join(f", {each.name}: {each.has}" for each in members if each.has)
    left, right = x(ring.share(shown[0][0])), x(ring.share(shown[-1][1]))
    right, low = max(right, left + 4), LINE + 11
    fan = f"M{left - 2:.1f} {low}L2 {ROWS - 22}M{right + 2:.1f} {low}L{WIDTH - 2} {ROWS - 22}"
    step = max(24.0, 8 + max(measured(short, bold=True) for short in look.short.values()))
    rows = []
    for at, bounds in enumerate(shown):
        was = _covering(then, bounds) if then and bounds in changed else {}
        rows.append(_row(look, table, at, bounds, every[bounds], step, was))
    has_was = any((part.key or "").startswith("was:") for row in rows for part in row.walk())
    return [
        _word(said, 2, 31, "soft", None),
        h("path", d=f"M2 {LINE}H{WIDTH - 2}{fan}M2 {ROWS - 2}H{WIDTH - 2}", class_="wire"),
        parts(shares(held), "box"),
        parts(news, "full"),
        _rect(Box((left + right) / 2, LINE, right - left + 4, 22), 4, "inked"),
        _word("range", 4, ROWS - 13, "soft", None),
        _word("now", NOW + 2, ROWS - 13, "soft", None),
        _word("was read by", WAS + 2, ROWS - 13, "soft", None) if has_was else None,
        rows,
    ]


def _row(
    look: Look, table: Table, at: int, bounds: Bounds, drawn: list[Band], step: float, was: Row
) -> Frag:
    """Draw who has a range, lane by lane, and who was read from there before."""
    ring, y = look.ring, ROWS + ROW * (at + 0.5) + 1
    thing, first = ring.key(*bounds), complex(step / 2, y)
    drawn = sorted(drawn, key=lambda band: (band.lane < 0, abs(band.lane)))[: int(222 / step)]
    discs = [
        draw_disc(look, band.node, NOW + first + step * i, TINY, band.kind, "news" * band.changed,
                  band.node)
        for i, band in enumerate(drawn)
    ]  # fmt: skip
    read = [node for node, use in was.items() if use[0]]
    if read and NOW + step * len(drawn) <= WAS and WAS + step * len(read) <= WIDTH + 4:
        former = [draw_disc(look, x, WAS + first + step * i, TINY) for i, x in enumerate(read)]
        discs.append(h("g", former, k=f"was:{table.name}:{thing}"))
    return h(
        "g",
        h("title", ring.says(table, bounds)),
        _rect(Box(WIDTH / 2, y, WIDTH, ROW), 0, "reach"),
        _word(brief(ring.label(*bounds)), 4, y, "", None),
        discs,
        k=f"arc:{table.name}:{thing}",
        class_="arc",
        **choosable(thing, first=not at),
    )


def _knowing(look: Look) -> Iterator[Kid]:
    """What nodes know, below a strip: each, or of many how many know what."""
    there = [each for each in look.ring.members if each.knows]
    tell, step = len(there) <= MOST_TOLD, WIDTH / max(len(there), 1)
    halves = [half_of(look.short[each.name], SMALL) for each in there]
    if not tell:
        yield _word(", ".join(knowing(there)), WIDTH - 2, 31, "soft", "end")
    if tell or 2 * max(halves) + 2 <= step:
        for i, (member, half) in enumerate(zip(there, halves, strict=True)):
            yield draw_apart(look, member, complex(step * i + half + 1, HEIGHT - 13), tell)


def draw_ring(scene: Scene, facts: Facts, who: str = "") -> Frag:
    """Draw a ring: whole, one for each of two datacenters, or as a strip with a lens; ``who``: as
    that node knows it, and where that differs from the log.
    """
    look = look_of(scene, facts, who)
    known, members = f" as {who} knows it" * bool(who), look.ring.members
    said = f"{counted(len(members), 'node')}: "
    said += "; ".join(map(look.ring.called, members[:MOST_CALLED]))
    said += f" and {len(members) - MOST_CALLED} more" * (len(members) > MOST_CALLED)
    parts = draw_strip(look) if is_many(look.ring) else draw_rings(look)
    return h(
        "svg",
        h("g", parts, k="ring-parts", data_rove=True),
        viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
        role="group",
        aria_label=f"token ring{known}, {said}",
        class_="ring-drawing whole",
    )


def with_ring(panel: Panel, ring: Panel, facts: Facts) -> Panel:
    """The panel of a picture with a ring beside it, where that is not for a tab: the ``ring`` of
    too many ranges. A slot that is too narrow for both shows first what the step is about.
    """

    def parts(scene: Scene) -> tuple[Panel, ...]:
        return (panel,) if scene.half or is_shown(ring, scene) else (panel, ring)

    def draw(scene: Scene) -> Frag:
        drawn, now, former = panel.draw(scene), facts(scene, ""), scene.former()
        if ring not in parts(scene):
            return drawn
        [table, *_] = now.tables
        moving = (each for each, row in table.rows.items() if {*row.values()} != {(True, True)})
        said = [h("p", now.says(table, bounds)) for bounds in islice(moving, MOST_SAID)]
        title = h("p", f"who holds what, by {now.since}")
        is_new = former is not None and facts(former, "").tables != now.tables
        kind = "kp-pair turned" if is_new else "kp-pair"
        return h("div", drawn, h("figure", title, ring.draw(scene), said), class_=kind)

    return replace(
        panel,
        draw=draw,
        wording=lambda scene: "\n".join(each.text(scene) for each in parts(scene)),
        legend=lambda s: " · ".join(each.legend(s) for each in parts(s) if each.legend),
        known=known_by(facts),
    )


def known_by(facts: Facts) -> Callable[[Scene], Iterator[Panel]]:
    """The ring of few nodes as each that is behind knows it, and how that differs from the log."""

    def draw(scene: Scene, who: str) -> Frag:
        mine, log = facts(scene, who), facts(scene, "")
        differ = [h("li", h("b", label), said) for pair in zip(mine.tables, log.tables, strict=True)
                  for label, said in _differences(log, who, *pair)]  # fmt: skip
        said = f"{who} goes by {mine.since}; the log is at {log.since}."
        same = "" if differ else " Every range has the same replicas in both."
        hue = hues_of(scene, log).get(who, "")
        banner = h("b", f"the ring as {who} knows it", class_=f"chip {hue}")
        words = h("div", h("p", banner), h("p", said, same), h("ul", differ))
        return h("div", copied(draw_ring(scene, facts, who), who), words, class_="kp-pair")

    def views(scene: Scene) -> Iterator[Panel]:
        ring = facts(scene, "")
        for who in () if is_many(ring) or len(ring.members) > MOST_TOLD else ring.behind:
            if not ring.log and facts(scene, who).cuts != ring.cuts:
                continue  # tokens without numbers are an order, which changes with their number
            yield Panel(f"as-{who}", f"the ring as {who} knows it", partial(draw, who=who), tab=who)

    return views


def _differences(log: Ring, who: str, mine: Table, theirs: Table) -> Iterator[tuple[str, str]]:
    cuts = sorted({end for table in (mine, theirs) for bounds in table.rows for end in bounds})
    for bounds in pairwise(cuts):
        rows = [_covering(table.rows, bounds) for table in (mine, theirs)]
        for side, verb in enumerate(("reads from", "writes to")):
            own, other = (sorted(name for name, use in row.items() if use[side]) for row in rows)
            if own != other:
                names, others = (", ".join(each) or "nobody" for each in (own, other))
                yield log.label(*bounds), f" {who} {verb} {names}; by the log: {others}"


def marks(ring: Ring) -> str:
    """What is noted, and what the marks of a picture mean: its legend."""
    out = sum(not each.places for each in ring.members)
    by_rack = is_by_rack(ring, ring.tables[0])
    lane = "a lane is a rack" if by_rack else "a node keeps its lane where it can"
    said = [*ring.notes, *[f"{out} nodes outside"] * (out > MOST_ASIDE)]
    rows = (row for table in ring.tables for row in table.rows.values())
    kinds = {kind_of(*use) for row in rows for use in row.values()}
    said += ["solid: read and written"] + ["hatched: only written"] * ("write" in kinds)
    said += ["dashed: planned"] * ("plan" in kinds or bool(ring.planned))
    said += ["ink outline: changed in this step", lane]
    said += ["small number: what a node knows"] * (ring.known is None)
    return " · ".join(said)
