"""What travelled in a step, drawn over a picture: a line that goes round all that stands there, an
open envelope at its end, or the head of an arrow where there is no room for it, and beside it what
it carries; labels of other things find room by the same rules.
"""

import re
from cmath import rect
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import ceil, hypot, tau
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.model.flows import Flow, FlowKind
from kit.views.fragment import Frag, h
from kit.views.labels import LINE, SIZE, Box, Sheet, measured, seated, wrapped
from kit.views.palette import NO_HUES
from kit.views.panel import Scene
from kit.views.replicas import envelope_path
from kit.views.wires import Body, Place, Way, ground, on, path, tip

MOST_TRAILS = 12
LONGEST, SHORT, LOW = 104.0, 56.0, 160.0
"""How wide a label may be, and one for which there is little room across, or down."""
AROUND = (
    *((1, 0), (-1, 0), (1, -0.5), (-1, -0.5), (1, 0.5), (-1, 0.5)),
    *((0, -1), (0, 1), (0.7, -1), (-0.7, -1), (0.7, 1), (-0.7, 1)),
)
"""Where a label may stand: so far to the right, and so far down."""
AT_ENVELOPE = (
    *((0, -1), (0, 1), (1, 0), (-1, 0), (0.7, -1), (-0.7, -1), (0.7, 1), (-0.7, 1)),
    *((1, -0.5), (-1, -0.5), (1, 0.5), (-1, 0.5)),
    *((0.35, -1), (-0.35, -1), (0.35, 1), (-0.35, 1)),
)
"""Where words touch an envelope: the parts of what both reach to the right and down."""
FURTHER = tuple(product((x / 4 for x in range(-12, 13)), (y / 2 for y in range(-14, 15))))
"""Where else, beginning with the nearest: see ``_offsets``."""
NEARER, SAME_LINE = 4.0, 6.0
"""How much nearer to another thing a label may be than to its own, where there is no other room;
and how near two points are that are on one line.
"""
AWAY, EDGE = 18.0, 12.0
"""How far from what they are about words have a line that leads there, and where it ends."""
CLOSE, FAR, LEFT = (0.0, 36.0), (36.0, 90.0), (0.0, 0.0)
"""From where to where words may stand away: in lines of either width rather close than far; and
those that are left over. Far words without a line seem to be about something else: they are left
out.
"""
ROUNDS = (
    *((LONGEST, None), (SHORT, None)),
    *((LONGEST, CLOSE), (SHORT, CLOSE), (LONGEST, FAR), (SHORT, FAR)),
    *((LONGEST, LEFT), (SHORT, LEFT)),
)
"""How wide a label may be, and how far away from ``AROUND`` its thing, in this order: at last where
it is ``NEARER`` to another thing, or no line leads to its own.
"""
PARKED = (0.4, 0.58, 0.24, 0.74, 0.5, 0.32, 0.66, 0.16, 0.84)
FINER = (0.45, 0.54, 0.36, 0.62, 0.28, 0.7, 0.2, 0.79)
ENDING = (0.85, 0.7, 0.55, 0.4, 0.78, 0.62, 0.47, 0.3, 0.2)
"""Where on its wire an envelope stands."""
SAID = (0.5, 0.7, 0.3, 0.6, 0.4, 0.8, 0.2)
"""Where beside a wire its words stand."""


MOST_FAR, ALIKE = 3, 6.0
"""Labels up to which words of what came stand away from it, if they must; and how near two places
are, of which one is tried.
"""
BACK: tuple[FlowKind, ...] = ("answer", "refusal")
"""What comes back in the step in which it was asked for."""
MOST_HIGH = 40.0
"""What is higher is no thing but a place for some."""
MOVED = re.compile(r"translate\((-?[\d.]+) (-?[\d.]+)\)(?: scale\(([\d.]+)\))?")
GLYPH = re.compile(r"M?(-?[\d.]+)[ ,]?(-?[\d.]+)")
BOW = re.compile(r"M(\S+) (\S+)Q(\S+) (\S+) (\S+) (\S+)$")
"""A curve with one bend."""
ARCS = 80
"""Pieces of a circle of which only the edge is looked at."""
BASE = 4.5
"""How far the middle of letters is above the line that they stand on."""


class Standing:
    """What stands in a drawing: the ground for wires, and where each keyed part has its end.

    That is all that the part names as its ends (``data_end``), or the first thing in it.
    """

    def __init__(self, drawing: Frag, width: float, height: float) -> None:
        bodies: list[Body] = []
        first: dict[str, Body] = {}
        named: dict[str, Body] = {}
        self.lines: list[Box] = []
        for part, at, size, keys, is_end in _parts(drawing, 0j, 1.0, (), is_end=False):
            if body := _body(part, at, size):
                bodies.append(body)
                for key in keys:
                    first.setdefault(key, body)
                if is_end and keys:
                    whole = named.setdefault(keys[-1], body)
                    if whole is not body:
                        named[keys[-1]] = replace(whole, boxes=(*whole.boxes, body.around))
            else:
                self.lines += _edges(part, at, size)
        self.ends = first | named
        self.ground = ground(tuple(bodies), Box(width / 2, height / 2, width, height))


def _parts(
    part: Frag, at: Place, size: float, keys: tuple[str, ...], *, is_end: bool
) -> Iterator[tuple[Frag, Place, float, tuple[str, ...], bool]]:
    if part.get("hidden") is not None:
        return
    if moved := MOVED.match(part.get("transform") or ""):
        right, down, by = moved.groups("1")
        at, size = at + size * Place(float(right), float(down)), size * float(by)
    keys = (*keys, part.key) if part.key else keys
    is_end = is_end or part.get("data-end") is not None
    yield part, at, size, keys, is_end
    for kid in part.kids:
        if isinstance(kid, Frag):
            yield from _parts(kid, at, size, keys, is_end=is_end)


def _numbers(part: Frag, size: float, *names: str) -> Iterator[float]:
    own = dict(part.attrs)
    return (size * float(own.get(name) or 0) for name in names)


def _body(part: Frag, at: Place, size: float) -> Body | None:
    if part.tag == "text" and (words := part.text()):
        x, y, dy = _numbers(part, size, "x", "y", "dy")
        wide = measured(words, SIZE * size, bold=True)
        aside = {"middle": 0.0, "end": -wide / 2}.get(part.get("text-anchor") or "", wide / 2)
        middle = at + Place(x + aside, y + dy - BASE * size)
        return Body(middle, 0, (Box(middle.real, middle.imag, wide, LINE * size),))
    if part.tag == "rect":
        x, y, wide, high = _numbers(part, size, "x", "y", "width", "height")
        if high < MOST_HIGH:
            middle = at + Place(x + wide / 2, y + high / 2)
            return Body(middle, 0, (Box(middle.real, middle.imag, wide, high),))
    if part.tag == "circle":
        x, y, r = _numbers(part, size, "cx", "cy", "r")
        if 2 * r < MOST_HIGH:
            return Body(at + Place(x, y), r)
    if pen := GLYPH.match(part.get("d") or part.get("points") or ""):
        wide, high = (2 * size * abs(float(place)) for place in pen.groups())
        reach = max(wide, high) / 2 if part.tag == "polygon" else 0
        if max(wide, high) < MOST_HIGH:
            return Body(at, reach, (Box(at.real, at.imag, wide, max(high, wide / 2)),))
    return None


def _edges(part: Frag, at: Place, size: float) -> Iterator[Box]:
    if part.tag == "rect":
        x, y, wide, high = _numbers(part, size, "x", "y", "width", "height")
        left = at + Place(x, y)
        for share in (0, 1):
            yield Box(left.real + wide / 2, left.imag + high * share, wide, 2)
            yield Box(left.real + wide * share, left.imag + high / 2, 2, high)
    elif bow := BOW.match(part.get("d") or ""):
        a, b, c = (
            at + size * Place(*map(float, pair))
            for pair in zip(*[iter(bow.groups())] * 2, strict=True)
        )
        yield from beads((a, a + (b - a) * 2 / 3, c + (b - c) * 2 / 3, c))
    elif part.tag == "circle":
        x, y, r = _numbers(part, size, "cx", "cy", "r")
        for turn in range(ARCS):
            edge = at + Place(x, y) + rect(r, turn * tau / ARCS)
            yield Box(edge.real, edge.imag, 8, 8)


def travelled(scene: Scene, there: Standing, known: str = "", air: float = 0) -> Frag | None:
    """Draw what travelled between the parts of a drawing, round all others, with its words (but
    those that are ``known``), which keep so much ``air`` to things where there is room.
    """
    labels = Labels(there.ground.inside, there.ground.taken())
    if air:
        labels.wires.cover(*(box.widened(air) for box in there.ground.taken()))
    labels.lines.cover(*there.lines)

    def route(flow: Flow) -> Way | None:
        start, end = there.ends.get(flow.from_key), there.ends.get(flow.to_key)
        return there.ground.way(start, end) if start and end and start.at != end.at else None

    flows = scene.flows()[:MOST_TRAILS]
    announced = {flow.to_key for flow in flows if flow.label == known}
    drawn = [*trails(flows, route, labels, announced=announced)]
    return h("g", drawn, [*labels.draw()], k="trails") if drawn else None


class _Label(Struct, frozen=True):
    """Words, the points beside which they may stand, how far from these, and the line of what they
    are about, which others keep clear of.
    """

    words: str
    points: tuple[Place, ...]
    gap: float
    about: tuple[Place, ...]

    @property
    def place(self) -> tuple[Place, ...]:
        return self.points if len(self.points) == 1 else ()


class Labels:
    """The words that stand beside things, the more important first, and what else needs room.

    All are ``inside`` of a picture; ``pinned`` is what is covered in it, words keep clear of the
    ``lines``, too, and of ``wires`` where there is room. ``placed`` are those that stand already at
    their envelopes; ``ways`` is what travels.
    """

    def __init__(self, inside: Box, pinned: Iterable[Box]) -> None:
        self.inside = inside
        self.pinned, self.lines, self.wires = Sheet(pinned), Sheet(), Sheet()
        self.asked: dict[str, _Label] = {}
        self.placed: dict[str, tuple[Box, tuple[str, ...]]] = {}
        self.ways: list[Way] = []
        self.trails: list[_Label] = []

    def pass_by(self, way: Way) -> None:
        """Keep words clear of the way of something that travels."""
        if way not in self.ways:
            self.ways.append(way)
            self.lines.cover(*beads(way))

    def ask(
        self,
        key: str,
        words: str,
        around: Iterable[Place],
        gap: float = 12,
        about: Iterable[Place] = (),
    ) -> None:
        """Ask for a place beside one of these points, over it or below it; the same words are
        said once of all trails that carry them.
        """
        points = tuple(around)
        label = _Label(words, points, gap, (*points, *about))
        is_trail = key.startswith("trail:")
        alike = [k for k, each in self.asked.items() if k[:6] == "trail:" and each.words == words]
        if is_trail and alike:
            own = self.asked[alike[0]]
            both = replace(own, points=own.points + points, about=own.about + label.about)
            self.asked[alike[0]] = both
        elif words:
            self.asked[key] = label
        self.trails += [label] * is_trail

    def free(
        self, way: Way, shares: Sequence[float], beside: Sequence[float] = (0.0,)
    ) -> Place | None:
        """The first of these places on a wire, or beside it, that nothing covers; it is covered
        from then on.
        """
        for place, box, _ in self._open(way, shares, beside):
            self.pinned.cover(box)
            return place
        return None

    def _open(
        self, way: Way, shares: Sequence[float], beside: Sequence[float]
    ) -> Iterator[tuple[Place, Box, bool]]:
        """The places on a wire, or beside it, at which an envelope covers nothing, and that; last
        those astray: on another wire, so that it seems to come from somebody else.
        """
        astray = list[tuple[Place, Box, bool]]()
        out = 1j * (way[3] - way[0]) / (abs(way[3] - way[0]) or 1)
        for far, share in product(beside, shares):
            place = on(way, share) + far * out
            box = envelope_box(place)
            if self.inside.holds(box) and self.pinned.is_free(box):
                if far and not (self.wires.is_free(box) and self.lines.is_free(box)):
                    astray.append((place, box, True))
                else:
                    yield place, box, False
        yield from astray

    def with_words(
        self,
        key: str,
        words: str,
        way: Way,
        shares: Sequence[float],
        beside: Sequence[float] = (0.0,),
    ) -> Place | None:
        """The first of these places at which there is room for an envelope and its words at it, on
        no wire or, where there is no such, on none of what travels; None: there is no room.
        """
        best = None
        for place, box, text, seat, astray in self._with_seats(words, way, shares, beside):
            if best and astray:
                break
            is_off = self.wires.is_free(seat)
            if (is_off or best is None) and self._belongs(words, seat, place, way):
                best = place, box, text, seat
                if is_off:
                    break
        if best is None:
            return None
        place, box, text, seat = best
        self.pinned.cover(box, seat)
        self.placed[key] = seat, text
        self.ask(key, words, (place,), about=[on(way, share) for share in PARKED])
        return place

    def _with_seats(
        self, words: str, way: Way, shares: Sequence[float], beside: Sequence[float]
    ) -> Iterator[tuple[Place, Box, tuple[str, ...], Box, bool]]:
        """Free places of an envelope, what it covers there, words in lines, what these cover, and
        whether it is astray.
        """
        texts = dict.fromkeys(_in_lines(words, longest) for longest in (LONGEST, SHORT, LOW))
        for place, box, astray in self._open(way, shares, beside):
            for text in texts:
                for seat in _touching(box, text):
                    is_free = self.pinned.is_free(seat) and self.lines.is_free(seat)
                    if self.inside.holds(seat) and is_free:
                        yield place, box, text, seat, astray

    def _belongs(self, said: str, seat: Box, place: Place, way: Way) -> bool:
        """Whether words are nearer to their own envelope than to others, whose words stay nearer to
        theirs, and whether no other line is much nearer than their own.
        """
        own = _reach(seat, place)
        for key, (words, _) in self.placed.items():
            at = self.asked[key].points[0]
            if self.asked[key].words != said and (
                _reach(seat, at) < own or _reach(words, place) < _reach(words, at)
            ):
                return False
        line = min(_reach(seat, on(way, i / 20)) for i in range(21)) - NEARER
        others = (other for other in self.ways if other != way)
        return all(_reach(seat, on(other, i / 20)) >= line for other in others for i in range(21))

    def draw(self) -> Iterator[Frag]:
        """Draw each as a whole where there is room for it, in lines where it is long; where all
        around is full, as near as there is room, with a line from there to what it is about.
        """
        left = {key: each for key, each in self.asked.items() if key not in self.placed}
        perhaps = defaultdict[Any, list[Box]](list)
        placed = {**self.placed}
        for longest, within in ROUNDS:
            texts = {key: _in_lines(each.words, longest) for key, each in left.items()}
            is_near = within is None or len(self.asked) <= MOST_FAR
            if not is_near:  # the step's sentence says what came
                texts = {key: lines for key, lines in texts.items() if key[:6] != "trail:"}
            if longest == SHORT:  # what is in the same lines had no room in the round before
                longer = {key: _in_lines(left[key].words, LONGEST) for key in texts}
                texts = {key: lines for key, lines in texts.items() if lines != longer[key]}
            if not texts:
                continue
            wishes = [
                (key, perhaps[key, lines] if within is LEFT
                 else self._led(key, lines, within, perhaps[key, lines]))
                for key, lines in texts.items()
            ]  # fmt: skip
            wires = self.wires.boxes if within is None else ()
            seats = seated(wishes, [*self.pinned.boxes, *self.lines.boxes, *wires])
            self.pinned.cover(*seats.values())
            left = {key: each for key, each in left.items() if key not in seats}
            placed |= {key: (seat, texts[key]) for key, seat in seats.items()}
        for key, (seat, text) in placed.items():  # lines keep clear of all words, so they are last
            top = seat.y + 4 - LINE * (len(text) - 1) / 2
            lines = [
                h("text", line, x=round(seat.x), y=round(top + LINE * i), text_anchor="middle",
                  class_="said")
                for i, line in enumerate(text)
            ]  # fmt: skip
            lead = self._lead(seat, self.asked[key].points)
            shape = h("path", d=lead, class_="lead") if lead else None
            yield h("g", shape, lines, k=f"label:{key}")

    def _lead(self, seat: Box, points: Iterable[Place]) -> str:
        """A line from words that stand away to the nearest thing that they are about, as a path;
        empty where they stand beside it, or something is between.
        """
        x, y, out, up = seat.x, seat.y, seat.width / 2, seat.height / 2
        ends = (
            (Place(min(max(at.real, x - out), x + out), min(max(at.imag, y - up), y + up)), at)
            for at in points
        )
        start, at = min(ends, key=lambda ends: abs(ends[1] - ends[0]))
        far = abs(at - start)
        if far <= AWAY:
            return ""
        end = at + EDGE * (start - at) / far
        dots = (start + (end - start) * i / 20 for i in range(1, 21))
        own = seat, envelope_box(at)
        if not all(self.pinned.is_free(Box(dot.real, dot.imag, 2, 2), *own) for dot in dots):
            return ""
        return f"M{start.real:.0f} {start.imag:.0f}L{end.real:.0f} {end.imag:.0f}"

    def _led(
        self, key: str, lines: Sequence[str], within: tuple[float, float] | None, perhaps: list[Box]
    ) -> Iterator[Box]:
        """Where a label stands nearer to what it is for than to others, and has a line to it if it
        is away; ``perhaps`` learns where it is a little nearer to these, or has none.
        """
        points = self.asked[key].points
        for seat, reach, is_nearest in self._seats(key, lines, within):
            if not self.pinned.is_free(seat):
                continue
            if is_nearest and (reach <= AWAY or self._lead(seat, points)):
                yield seat
            elif reach <= CLOSE[1]:
                perhaps.append(seat)

    def _seats(
        self, key: str, lines: Sequence[str], within: tuple[float, float] | None
    ) -> Iterator[tuple[Box, float, bool]]:
        """Where a label may stand, how far that is from what it is for, and whether it is nearer to
        this than to others.

        Thousands of places are tried for a label: so this is plain numbers, and who was in the way
        last is asked first.
        """
        own, near = self.asked[key], within is None
        theirs = [
            (at.real, at.imag)
            for at in {
                at
                for each in (*self.asked.values(), *self.trails)
                if each.words != own.words or (own in self.trails and each not in self.trails)
                for at in (each.about if near else each.points)
                if at in each.place or all(abs(at - mine) >= SAME_LINE for mine in own.about)
            }
        ]
        (first, second), *more = [(at.real, at.imag) for at in own.points]
        wide, high = max(map(measured, lines)) + 4, LINE * len(lines)
        out, up = wide / 2, high / 2
        aside, below = own.gap + 1 + out, own.gap + 1 + (high - LINE) / 2
        left, right, top, bottom = self.inside.edges
        offsets = _offsets(within, aside, below, out, up)
        tried = set[tuple[int, int]]()
        for at, (right_by, down_by) in product(own.points, offsets):
            x, y = at.real + right_by, at.imag + down_by
            if not near:  # around the points of a wire are many places that are hardly others
                if (cell := (int(x / ALIKE), int(y / ALIKE))) in tried:
                    continue
                tried.add(cell)
            if x - out < left or x + out > right or y - up < top or y + up > bottom:
                inner = min(max(y, top + up), bottom - up)  # at the edge there may be room
                if near or x - out < left or x + out > right or abs(inner - y) > LINE / 2:
                    continue
                y = inner
            reach = max(abs(first - x) - out, abs(second - y) - up, 0.0)
            for p, q in more:
                reach = min(reach, max(abs(p - x) - out, abs(q - y) - up, 0.0))
            if reach > FAR[1]:
                continue
            is_beside = reach <= own.gap + 2
            least = reach * 0.8 if is_beside else reach
            across, along = out + least, up + least
            for who, (p, q) in enumerate(theirs if least > 0 else ()):
                if abs(p - x) < across and abs(q - y) < along:
                    theirs.insert(0, theirs.pop(who))
                    break
            else:
                yield Box(x, y, wide, high), reach, True
                continue
            if near or is_beside or reach > CLOSE[1]:
                continue
            across, along = across - NEARER, along - NEARER
            if not any(abs(p - x) < across and abs(q - y) < along for p, q in theirs):
                yield Box(x, y, wide, high), reach, False


@lru_cache(1 << 10)
def _in_lines(words: str, width: float) -> tuple[str, ...]:
    """All of some words, in as many lines as they need, which are no longer than these need."""
    least = max(map(measured, words.split()), default=0)
    lines = wrapped(words, max(width, least), len(words))
    narrower = (wrapped(words, least + 4 * i, len(words)) for i in range(ceil(width / 4)))
    return next((each for each in narrower if len(each) == len(lines)), lines)


@lru_cache(1 << 9)
def _offsets(
    within: tuple[float, float] | None, aside: float, below: float, out: float, up: float
) -> list[tuple[float, float]]:
    """Where words may stand, as pixels to the right and down, if they reach so far ``out`` and
    ``up`` from their middle: ``AROUND``, or ``FURTHER`` where their edge is ``within`` a distance.
    """
    if within is None:
        return [(x * aside, y * below) for x, y in AROUND]
    places = ((x * aside, y * below) for x, y in FURTHER)
    far = {(x, y): hypot(max(abs(x) - out, 0), max(abs(y) - up, 0)) for x, y in places}
    least, most = within
    seen = (at for at, edge in far.items() if least <= edge < most)
    return sorted(seen, key=lambda at: (far[at], abs(at[0]) + abs(at[1])))


def _touching(box: Box, text: Sequence[str]) -> Iterator[Box]:
    wide, high = max(map(measured, text)) + 4, LINE * len(text)
    across, down = (box.width + wide) / 2, (box.height + high) / 2
    for i, j in AT_ENVELOPE:
        yield Box(box.x + i * across, box.y + j * down, wide, high)


def _reach(box: Box, at: Place) -> float:
    return max(abs(at.real - box.x) - box.width / 2, abs(at.imag - box.y) - box.height / 2, 0.0)


def envelope_box(place: Place) -> Box:
    """What an envelope covers."""
    return Box(place.real, place.imag, 24, 20)


def trails(
    flows: Iterable[Flow],
    route: Callable[[Flow], Way | None],
    labels: Labels,
    unheard: Iterable[str] = (),
    announced: Container[str] = (),
    senders: Mapping[str, str] = NO_HUES,
) -> Iterator[Frag]:
    """Draw what travelled in a step, each pair of ends once; lost is what went to the ``unheard``,
    and who is ``announced`` needs no words beside it. What is asked and what comes back are one.
    ``senders`` are the classes of hues by the keys of nodes.

    ``route`` is the wire of a flow; None: one of its ends is not there.
    """
    ways: dict[tuple[str, str], tuple[Flow, Way]] = {}
    backs: dict[tuple[str, str], Flow] = {}
    for flow in flows:
        there, back = (flow.from_key, flow.to_key), (flow.to_key, flow.from_key)
        is_back = back in ways and flow.kind in BACK and flow.from_key not in unheard
        if is_back and not any(end in announced for end in back):
            backs.setdefault(back, flow)
        elif way := route(flow):
            ways.setdefault(there, (flow, way))
            labels.pass_by(way)
    said_on = {
        ends: f"{flow.label}, {backs[ends].label}" if ends in backs else flow.label
        for ends, (flow, _) in ways.items()
    }
    alike = Counter(said_on.values())
    for ends, (flow, way) in ways.items():
        key, answer = f"trail:{flow.from_key}>{flow.to_key}", backs.get(ends)
        said = said_on[ends] * (flow.to_key not in announced)
        is_alone = said and alike[said] == 1  # words of several are said once, beside any of them
        place = labels.with_words(key, said, way, ENDING) if is_alone else None
        if place is None:
            place = labels.free(way, ENDING)
            points = [place] if place else [on(way, share) for share in SAID]
            labels.ask(key, said, points, about=[on(way, share) for share in PARKED])
        is_lost = flow.to_key in unheard
        opened, look = ("unread", "torn") if is_lost else ("opened", "")
        shape = h("path", d=envelope_path(8, opened=not is_lost), class_=opened)
        at = f"translate({place.real:.0f} {place.imag:.0f})" if place else None
        heads = "" if place and not answer else tip(way, 1)
        heads += tip(way[::-1], 1) if answer else ""
        text = f"{flow.text}; {answer.text}" if answer else flow.text
        kind = answer.kind if answer and answer.kind == "refusal" else flow.kind
        yield h(
            "g",
            h("title", fate(text, look)),
            h("path", d=path(way) + heads, class_="way"),
            h("g", shape, rift() if is_lost else None, transform=at) if place else None,
            k=key,
            class_=f"trail {kind} {senders.get(flow.from_key, '')}".rstrip(),
        )


def beads(way: Way) -> Iterator[Box]:
    """What a wire covers."""
    return (Box(at.real, at.imag, 2, 2) for at in (on(way, i / 40) for i in range(41)))


def fate(title: str, look: str) -> str:
    """What became of something that was sent, by its look."""
    if look == "held":
        return f"{title} (held)"
    if look == "waits":
        return f"{title} (not sent yet: its sender still has to write)"
    return f"{title} (lost)" if look == "torn" else title


def rift() -> Frag:
    """Draw what makes an envelope a torn one."""
    return h("path", d="M-3-10l5 6l-5 4l5 8", class_="rift")
