"""Lanes over epochs: columns are epochs (or versions), a row is a node with what it is in each.

A cell is solid where its node is read from and written to, hatched where it is only written to,
hollow where it is only read; a thin line is nothing. Beyond an ink edge it is pale: the node has
not heard of that epoch. Dashed is planned. A request is a needle in the column of the epoch that it
was planned by, with a mark at each node that it asked; a card below says who counted. Ink outlines
what the step changed. Where there are many epochs equal neighbours fold, and older needles are
counted.

One drawing serves all widths: a wide slot makes letters smaller, and has room for what is ``wide``.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal

from msgspec import Struct

from kit.errors import counted
from kit.views.breaks import breaking
from kit.views.busts import letter_of
from kit.views.fragment import Frag, h
from kit.views.labels import SIZE, measured, tags, wrapped
from kit.views.palette import hues
from kit.views.panel import Panel, Scene, alternative
from kit.views.parts import box, hatched, word
from kit.views.promises import Named, nothing
from kit.views.replicas import disk, envelope_path

Fill = Literal["", "both", "write", "read"]
"""What a node is in an epoch: nothing, read and written, only written to, only read from."""
FILLS: Mapping[Fill, str] = {
    "": "nothing",
    "both": "read and written",
    "write": "only written to",
    "read": "only read from",
}
Health = Literal["works", "joining", "down"]
TOOK, WAY, WORK, LOST, REFUSED, NOTHING = "took", "way", "work", "lost", "refused", "–"
"""Marks of a request at a node; any other one is the value that it answered (``w1``)."""

WIDTH, FINE = 360.0, 8.8
"""How wide the drawing is, and the letters in a wide slot."""
BEFORE, STORED, GAP = 76.0, 44.0, 4.0
"""The room of names, of stored rows, and between two columns."""
TOP, LINE, ROW, LOW = 33.0, 24.0, 42.0, 44.0
"""The height of the log, of the line of clients, of a row, and of a row of cards."""
CELL, DISC, MARK, SEAT = 22.0, 11.0, 9.5, 9.5
"""How high a cell is, and the radii of discs."""
FEW, CARDS = 6, 3
"""How many columns stand without a fold, and cards beside one another."""
APART = 21.0
"""From one needle to the next."""


class Epoch(Struct, frozen=True):
    """A column: its number as people say it, the key of its card, what was done (``split``)."""

    name: str
    key: str
    title: str = ""
    planned: bool = False


class Node(Struct, frozen=True):
    """A row: its fill in each column, the last column that it has heard of (None: nobody asks).

    ``stored`` is its newest row, in two letters; empty: none, None: it is not said.
    """

    name: str
    fills: tuple[Fill, ...]
    knows: int | None = None
    stored: str | None = None
    health: Health = "works"
    words: str = ""


class Request(Struct, frozen=True):
    """A needle and its card: who asks what, planned by which column (None: not sent yet).

    ``marks`` gives what became of it at each node; ``counted`` did it, ``awaited`` may still,
    ``barred`` cannot. ``needs`` says what is missing, or the result; the shortest words are last.
    """

    number: int
    client: str
    title: str
    at: int | None = None
    marks: tuple[tuple[str, str], ...] = ()
    counted: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()
    barred: tuple[str, ...] = ()
    needs: tuple[str, ...] = ("",)
    ended: bool = False

    @property
    def key(self) -> str:
        """The key of its card."""
        return f"request:{self.number}"

    def key_at(self, node: str) -> str:
        """The key of its mark at a node; a message on its way has its own."""
        what = "away" if dict(self.marks)[node] in (WAY, WORK) else "met"
        return f"{what}:{self.number}:{node}"


class Copy(Struct, frozen=True):
    """Rows that a node gets from another one: planned, on their way or there; since which column.

    A ``late`` one was left behind by an earlier operation.
    """

    source: str
    target: str
    at: int
    how: Literal["planned", "way", "there"]
    late: int = 0

    @property
    def key(self) -> str:
        """The key of what is carried."""
        return f"copy:{self.source}:{self.target}" + f":{self.late}" * bool(self.late)


class Lanes(Struct, frozen=True):
    """The facts of a picture: epochs, oldest first, then planned ones; nodes, requests, copies.

    ``cast`` are all who have a hue in this story, if there are more than these nodes; a part of a
    node (``A:0``) has the hue of its node.
    """

    epochs: tuple[Epoch, ...]
    nodes: tuple[Node, ...]
    requests: tuple[Request, ...] = ()
    copies: tuple[Copy, ...] = ()
    note: str = ""
    cast: tuple[str, ...] = ()

    @property
    def newest(self) -> int:
        """The last column that is committed."""
        return sum(not each.planned for each in self.epochs) - 1

    def sayings(self) -> dict[str, Any]:
        """What the picture says of each thing, by key: the step changed what differs."""
        newest = self.newest
        said: dict[str, Any] = {each.key: each.planned for each in self.epochs}
        for node in self.nodes:
            said[f"n:{node.name}"] = node.knows, node.health
            said[f"fill:{node.name}"] = node.fills[newest]
            said[f"stored:{node.name}"] = node.stored
        for each in self.requests:
            said[each.key] = each.at, each.counted, each.awaited, each.barred, each.needs
            said |= {each.key_at(name): mark for name, mark in each.marks}
        return said | {copy.key: copy.how for copy in self.copies}


class Group(Struct, frozen=True):
    """Columns that stand as one, from ``first`` to ``last``, and where."""

    first: int
    last: int
    left: float
    right: float

    def edges(self, at: int) -> tuple[float, float]:
        """Left and right of one of its columns."""
        wide = (self.right - self.left) / (self.last - self.first + 1)
        return self.left + wide * (at - self.first), self.left + wide * (at - self.first + 1)


def grouped(lanes: Lanes, right: float) -> list[Group]:
    """The columns with their places. Of many, equal neighbours are one; if that is not enough, the
    oldest ones are.
    """
    number = len(lanes.epochs)
    looks = [[node.fills[at] for node in lanes.nodes] for at in range(number)]
    alike = groupby(range(number), lambda at: looks[at] if number > FEW else at)
    runs = [(min(run), max(run)) for run in ([*same] for _, same in alike)]
    while len(runs) > 2 and sum(least(lanes, *run) for run in runs) > right - BEFORE:
        runs[:2] = [(runs[0][0], runs[1][1])]
    share = (right - BEFORE) / len(runs)
    wants = [least(lanes, *run) for run in runs]
    if max(wants) <= share:  # no needle moves a column
        wants = [share] * len(runs)
    more = (right - BEFORE - sum(wants)) / len(runs)
    places, left = list[Group](), BEFORE
    for run, want in zip(runs, wants, strict=True):
        places.append(Group(*run, left, left + want + more - GAP))
        left += want + more
    return places


def least(lanes: Lanes, first: int, last: int) -> float:
    """The room that columns need which are one: for their name, and for what must be seen."""
    name = max(name_of(lanes, first, last), key=measured)
    return max(measured(name) + 6, APART * seats(lanes, first, last)) + GAP


def name_of(lanes: Lanes, first: int, last: int) -> tuple[str, ...]:
    """What columns are called that are one, in parts: ``14–``, ``17``."""
    begin, end = lanes.epochs[first].name, lanes.epochs[last].name
    return (begin,) if begin == end else (f"{begin}–", end)


def seats(lanes: Lanes, first: int, last: int) -> int:
    """The needles there that must be seen: those under way, and a count of others."""
    there = [r for r in lanes.requests if r.at is not None and first <= r.at <= last]
    under_way = sum(map(is_open, there))
    return under_way + (len(there) > under_way)


def is_open(request: Request) -> bool:
    """Whether it was sent and is not over, or a message of it is still on its way."""
    return request.at is not None and (
        not request.ended or any(mark in (WAY, WORK) for _, mark in request.marks)
    )


class Needle(Struct, frozen=True):
    """A request in its place; without one it stands for so many ``older`` ones."""

    x: float
    request: Request | None
    older: int = 0


def needles(lanes: Lanes, groups: Sequence[Group], about: Container[str]) -> list[Needle]:
    """The needles of each group, next to one another: those under way and those that the step is
    about, then the newest; older ones are counted.
    """
    placed = list[Needle]()
    for group in groups:
        there = [each for each in lanes.requests
                 if each.at is not None and group.first <= each.at <= group.last]  # fmt: skip
        room = int((group.right - group.left) / APART)
        most = max(room, seats(lanes, group.first, group.last))
        ranked = sorted(there, key=lambda r: (not is_open(r), r.key not in about, -r.number))
        older = len(there) - most + 1 if len(there) > most else 0
        kept = sorted(ranked[: len(there) - older], key=lambda each: (each.at, each.number))
        wanted = [sum(group.edges(each.at or 0)) / 2 for each in kept]
        wanted[:0] = [group.left] * bool(older)
        spots = spread(wanted, group.left + APART / 2 - 1, group.right - APART / 2 + 1)
        placed += [Needle(spots.pop(0), None, older)] if older else []
        placed += map(Needle, spots, kept)
    return placed


def spread(wanted: Sequence[float], low: float, high: float) -> list[float]:
    """Places as near to those wanted as there is room for, from left to right."""
    spots = list[float]()
    for at, x in enumerate(wanted):
        rest = APART * (len(wanted) - 1 - at)
        spots.append(max(spots[-1] + APART if spots else low, min(x, high - rest)))
    return spots


# -- drawing ---------------------------------------------------------------------------------------


class Look(Struct, frozen=True):
    """What all parts of a picture ask: where things are (``rows`` has the middle of each), what the
    step changed, what a broken promise is about.
    """

    lanes: Lanes
    groups: Sequence[Group]
    rows: Mapping[str, float]
    needles: Sequence[Needle]
    news: frozenset[str]
    guilty: frozenset[str]
    hue: Mapping[str, str | None]
    short: Mapping[str, str]

    def kind(self, key: str, *kinds: str | None, is_new: bool = True) -> str | None:
        """The classes of a part: what it is, whether the step changed it, whether it fades."""
        names = [*filter(None, kinds)]
        names += ["news"] * (is_new and key in self.news)
        names += ["faded"] * bool(self.guilty and key not in self.guilty)
        return " ".join(names) or None

    @property
    def bottom(self) -> float:
        """Where the rows end."""
        return TOP + LINE + ROW * len(self.rows)

    @property
    def last(self) -> int:
        """The request that breaks the promise, or broke it last."""
        return max((r.number for r in self.lanes.requests if r.key in self.guilty), default=-1)

    def group_at(self, at: int) -> Group:
        """The place of a column."""
        return next(each for each in self.groups if each.first <= at <= each.last)


def draw_lanes(lanes: Lanes, former: Lanes | None, guilty: frozenset[str] = frozenset()) -> Frag:
    """Draw the picture. ``guilty`` are the keys of what breaks a promise here: all else fades."""
    said, then = lanes.sayings(), former.sayings() if former else {}
    news = frozenset(k for k, v in said.items() if former and then.get(k, nothing) != v)
    is_stored = any(node.stored is not None for node in lanes.nodes)
    groups = grouped(lanes, WIDTH - STORED * is_stored)
    owner = {node.name: node.name.partition(":")[0] for node in lanes.nodes}
    kinds = hues([*{*owner.values(), *lanes.cast}])
    above = TOP + LINE + CELL / 2 + 2
    look = Look(
        lanes,
        groups,
        rows={node.name: above + ROW * at for at, node in enumerate(lanes.nodes)},
        needles=needles(lanes, groups, guilty | news),
        news=news,
        guilty=_facts(lanes, guilty),
        hue={name: kinds.get(of) for name, of in owner.items()},
        short=tags(owner),
    )
    cards, height = _cards(look)
    return h(
        "svg",
        h(
            "g",
            word(lanes.note, 2, 18, "soft", "start") if lanes.note else None,
            [_log(look, group) for group in groups],
            word("stored", WIDTH - STORED / 2, 18, "soft wide") if is_stored else None,
            [_row(look, node) for node in lanes.nodes],
            _copies(look),
            [_needle(look, needle) for needle in look.needles],
            _joined(look),
            cards,
            class_="lanes broke" if guilty else "lanes",
        ),
        viewBox=f"0 0 {WIDTH:.0f} {height:.0f}",
        role="img",
        aria_label=alternative("lanes over epochs", "\n".join(lines_of(lanes))),
    )


def _facts(lanes: Lanes, guilty: frozenset[str]) -> frozenset[str]:
    """What does not fade: what is named, who counted for it, and what reached those late."""
    names = {name for each in lanes.requests if each.key in guilty for name in each.counted}
    names |= {node.name for node in lanes.nodes if f"n:{node.name}" in guilty}
    more = {f"{what}:{name}" for name in names for what in ("n", "fill", "stored")}
    more |= {lanes.epochs[each.at].key for each in lanes.requests
             if each.key in guilty and each.at is not None}  # fmt: skip
    more |= {copy.key for copy in lanes.copies if copy.late and copy.target in names}
    more.add(lanes.epochs[lanes.newest].key)
    return frozenset(guilty | more) if guilty else guilty


def _log(look: Look, group: Group) -> Frag:
    lanes, first, last = look.lanes, group.first, group.last
    keys = [lanes.epochs[at].key for at in range(first, last + 1)]
    done = min(last, lanes.newest) if first <= lanes.newest else last  # once begun, to the newest
    key = next((each for each in keys if each in look.guilty), keys[done - first])
    kind = "past" if last < lanes.newest else "plan" if first > lanes.newest else "now"
    middle, room = (group.left + group.right) / 2, group.right - group.left - 4
    parts = name_of(lanes, first, done)
    name = "".join(parts)
    lines = (name,) if measured(name, bold=True) <= room else parts
    does = wrapped(_done(lanes, group), room * SIZE / FINE)
    full = (name, *does) if not any(line.endswith("…") for line in does) else (name,)
    others = [
        h("rect", x=f"{middle:.1f}", y=14, width=0, height=0, class_="paper", k=k)
        for k in keys
        if k != key
    ]
    return h(
        "g",
        h("title", "; ".join(f"{e.name}: {e.title}" for e in lanes.epochs[first : last + 1])),
        others,  # what comes from the log begins there
        box(group.left, 1.5, group.right - group.left, TOP - 4, "box", 5),
        [word(line, middle, 27 - 7 * len(lines) + 13 * at, "strong narrow")
         for at, line in enumerate(lines)],
        [word(line, middle, 22.5 - 4.2 * len(full) + 8.4 * at, "wide" if at else "strong wide")
         for at, line in enumerate(full)],
        k=key,
        class_=look.kind(key, "card", kind),
    )  # fmt: skip


def _done(lanes: Lanes, group: Group) -> str:
    """What an epoch does to the nodes, in few words; else the beginning of its title."""
    title = lanes.epochs[group.first].title
    if not group.first:
        return title
    for here, verb in (("both", "answers"), ("read", "answers"), ("write", "gets writes")):
        for node in lanes.nodes:
            before, now = node.fills[group.first - 1 : group.first + 1]
            if now == here and before not in (now, "both"):
                return f"{node.name} {verb}"
    gone = [n.name for n in lanes.nodes if n.fills[group.first - 1] and not n.fills[group.first]]
    return f"{gone[0]} lets go" if gone else title


def _row(look: Look, node: Node) -> Frag:
    y, key, x = look.rows[node.name], f"n:{node.name}", BEFORE / 2 - 1
    is_alone = key in look.guilty and look.last < 0  # no request is to blame
    ink = h("circle", r=DISC + 3, class_="ink wrong" if is_alone else "ink")
    disc = h(
        "g",
        h("title", node_line(look.lanes, node)),
        ink if is_alone or key in look.news else None,
        h("circle", r=DISC, class_="disc"),
        letter_of(look.short[node.name], DISC),
        h("path", d="M6-13l7 7m0-7l-7 7", class_="cross") if node.health == "down" else None,
        k=key,
        class_=look.kind(key, "node character", node.health),
        transform=f"translate({x:.0f} {y:.1f})",
        data_of=node.name,
    )
    return h(
        "g",
        disc,
        [_cells(look, node, group) for group in look.groups],
        _knows(look, node),
        None if node.stored is None else _stored(look, node),
        k=f"row:{node.name}",
        class_=look.hue[node.name],
    )


def _knows(look: Look, node: Node) -> list[Frag]:
    """The edge of what a node has heard of, and the newest of it."""
    if node.knows is None:
        return []
    y, key, group = look.rows[node.name], f"n:{node.name}", look.group_at(node.knows)
    at = group.edges(node.knows)[1] + GAP / 2 * (node.knows == group.last)
    words = f"knows {look.lanes.epochs[node.knows].name}"
    line = f"M{at:.1f} {y - CELL / 2 - 3}V{y + CELL / 2 + 3}"
    return [
        word(words, BEFORE / 2 - 1, y + 24, look.kind(key, "soft")),
        h("path", d=line, class_=look.kind(key, "edge")),
    ]


def _cells(look: Look, node: Node, group: Group) -> Iterator[Frag]:
    newest, key, y = look.lanes.newest, f"fill:{node.name}", look.rows[node.name]
    heard = newest if node.knows is None else node.knows

    def look_at(at: int) -> tuple[Fill, str]:
        return node.fills[at], "plan" if at > newest else "pale" if at > heard else ""

    for (fill, how), run in groupby(range(group.first, group.last + 1), look_at):
        ats = [*run]
        left, right = group.edges(ats[0])[0], group.edges(ats[-1])[1]
        place = left, y - CELL / 2, right - left, CELL
        is_new = key in look.news and newest in ats
        if not fill:
            kind = "none news" if is_new else "none"
            yield h("path", d=f"M{left:.1f} {y}H{right:.1f}", class_=kind)
            continue
        yield h(
            "g",
            box(*place, "fill", 4),
            h("path", d=hatched(*place, 5), class_="hatch") if fill == "write" else None,
            box(*place, "ink", 4) if is_new else None,
            class_=look.kind(key, "cell", fill, how, is_new=is_new),
        )


def _stored(look: Look, node: Node) -> Frag:
    key, held = f"stored:{node.name}", node.stored or ""
    return h(
        "g",
        h("title", f"{node.name} has stored {held or 'nothing'}"),
        disk(WIDTH - STORED / 2 + 2, look.rows[node.name], bool(held), (held or NOTHING,), 32),
        k=key,
        class_=look.kind(key, "stored", "" if held else "empty"),
    )


def _copies(look: Look) -> Iterator[Frag]:
    """Each stands at the right of its column, as far from needles and other copies as it can."""
    taken = [each.x for each in look.needles]
    for copy in look.lanes.copies:
        if copy.source != copy.target and {copy.source, copy.target} <= {*look.rows}:
            group = look.group_at(copy.at)
            room = int((group.right - group.left) / 6)
            seats = [group.right - 6 * at for at in range(1, room)]
            free = (x for x in seats if all(abs(x - other) > 14 for other in taken))
            taken.append(x := next(free, seats[0]))
            yield _copy(look, copy, x)


def _copy(look: Look, copy: Copy, x: float) -> Frag:
    begin, end = look.rows[copy.source], look.rows[copy.target]
    way = 1 if end > begin else -1
    y1, y2 = begin + way * CELL / 2, end - way * CELL / 2
    line = f"M{x:.1f} {y1:.1f}V{y2:.1f}"
    tip = f"M{x - 4:.1f} {y2 - 5 * way:.1f}l4 {5 * way}l4 {-5 * way}"
    sent = h("g", h("path", d=envelope_path(6.5), class_="box"), class_="envelope",
             transform=f"translate({x:.1f} {y1 + way * 8.5:.1f})")  # fmt: skip
    return h(
        "g",
        h("title", copy_line(copy)),
        h("path", d=line, class_="halo"),
        h("path", d=line, class_="wire plan" if copy.how == "planned" else "wire"),
        h("path", d=tip, class_="wire"),
        sent if copy.how == "way" else None,
        k=copy.key,
        class_=look.kind(copy.key, "copies", look.hue.get(copy.source)),
    )


def _needle(look: Look, needle: Needle) -> Frag:
    request, x, y = needle.request, needle.x, TOP + LINE / 2 - 1
    if request is None:
        count = h("title", counted(needle.older, "earlier request"))
        said = f"+{needle.older}" if needle.older < 10 else "…"
        return h("g", count, word(said, x, y + 4.5, "soft"))
    low = max((look.rows[name] for name, _ in request.marks), default=y)
    others = [each for each in look.needles if each.x > x]
    room = min([each.x - 12 for each in others], default=WIDTH) - x - 13
    wants = measured(request.title, bold=True)
    kind = "strong wide" if wants > room else "strong"
    title = word(request.title, round(x + 13, 1), y + 4.5, kind, "start")
    is_last = not any(each.request and each.request.client == request.client for each in others)
    client = h(
        "g",
        box(-10, -10, 20, 20, "client", 4),
        word(request.client[-2:], 0, 4.5, "let"),
        transform=f"translate({x:.1f} {y})",
        k=f"n:{request.client}" if is_last else None,  # its newest needle stands for a client
    )
    return h(
        "g",
        h("title", request_line(request)),
        [h("path", d=f"M{x:.1f} {y}V{low:.1f}", class_=kind) for kind in ("halo", "needle")],
        client,
        title if wants * FINE / SIZE <= room else None,
        [_mark(look, request, name, mark, x) for name, mark in request.marks],
        k=f"needle:{request.number}",
        class_="faded" if look.guilty and request.key not in look.guilty else None,
        data_of=request.key,
    )


SHAPES = {
    TOOK: ("M-4.5 0l3 3.2l6-6.4", "tick", "did it"),
    WAY: (envelope_path(7), "box", "not reached yet"),
    WORK: (envelope_path(7, opened=True), "box", "at work on it"),
    LOST: ("M-4-4l8 8m0-8l-8 8", "cross", "never reached"),
    REFUSED: ("M-4-4l8 8m0-8l-8 8", "cross", "refused"),
}
"""How a mark is drawn, and what it says."""


def _mark(look: Look, request: Request, name: str, mark: str, x: float) -> Frag:
    key, thing = request.key_at(name), f"message:{request.number}:{name}"
    path, what, says = SHAPES.get(mark, ("", "", f"found {mark}"))
    bad = thing in look.guilty and request.number == look.last and mark not in (WAY, WORK)
    kinds = ["met", mark if path else "value"] + ["wrong"] * bad + ["news"] * (key in look.news)
    return h(
        "g",
        h("title", f"{request.title}, {name}: {says}"),
        h("circle", r=MARK + 3, class_="ink") if key in look.news else None,
        h("circle", r=MARK, class_="seat-of"),
        h("path", d=path, class_=what) if path else word(mark, 0, 4.5, "let"),
        k=key,
        class_=" ".join(kinds),
        data_of=thing,
        transform=f"translate({x:.1f} {look.rows[name]:.1f})",
    )


def _joined(look: Look) -> Frag | None:
    """Join the two requests that a broken promise is about: no row, or a wrong one, is in both."""
    pair = [each for each in look.needles if each.request and each.request.key in look.guilty]
    if len(pair) < 2:
        return None
    left, right, y = pair[0], pair[-1], look.bottom - 1
    lows = [
        max((look.rows[name] + MARK for name, _ in request.marks), default=y)
        for needle in (left, right)
        if (request := needle.request)
    ]
    path = f"M{left.x:.1f} {lows[0]:.1f}V{y}H{right.x:.1f}V{lows[1]:.1f}"
    return h("path", d=path, k="break-of", class_="joined")


def _cards(look: Look) -> tuple[list[Frag], float]:
    """The cards of requests, first of those under way, and where they end."""
    every, about = look.lanes.requests, look.guilty | look.news
    ranked = sorted(
        every, key=lambda r: (not is_open(r), r.key not in about, r.at is None, -r.number)
    )
    rows = max(bool(every), -(-sum(map(is_open, every)) // CARDS))
    shown = sorted(ranked[: rows * CARDS], key=lambda each: each.number)
    older = len(every) - len(shown)
    wide = (WIDTH + 4 - 34 * bool(older)) / max(1, min(CARDS, len(shown)))
    drawn = [_card(look, each, wide * (at % CARDS), look.bottom + 6 + LOW * (at // CARDS), wide - 4)
             for at, each in enumerate(shown)]  # fmt: skip
    if older:
        drawn.append(word(f"+{older}", WIDTH - 14, look.bottom + 30, "soft"))
    return drawn, look.bottom + 8 + LOW * rows


def _card(look: Look, request: Request, x: float, y: float, wide: float) -> Frag:
    key = request.key
    used = measured(request.title, bold=True) + 18
    needs = next((each for each in request.needs if used + measured(each) <= wide), "")
    sitting = [(name, "") for name in request.counted]
    sitting += [(name, "seat") for name in request.awaited]
    sitting += [(name, "barred") for name in request.barred]
    widest = max((measured(look.short.get(n, n)[:2], bold=True) for n, _ in sitting), default=0)
    step = min(max(2 * SEAT, widest) + 2, (wide - 2 * SEAT - 14) / max(len(sitting), 1))
    kind = "plan" if request.at is None else "wrong" if request.number == look.last else ""
    return h(
        "g",
        h("title", request_line(request)),
        box(x + 1, y, wide - 2, LOW - 4, "box", 6),
        word(request.title, round(x + 7, 1), y + 14, "strong", "start"),
        word(needs, round(x + wide - 7, 1), y + 14, None, "end") if needs else None,
        [_seat(look, name, how, x + 7 + SEAT + step * at, y + 28) for at, (name, how)
         in enumerate(sitting)],
        k=key,
        class_=look.kind(key, "card", kind),
        data_of=key,
    )  # fmt: skip


def _seat(look: Look, name: str, how: str, x: float, y: float) -> Frag:
    return h(
        "g",
        h("circle", r=SEAT, class_="disc"),
        word(look.short.get(name, name)[:2], 0, 4.5, "let"),
        h("path", d="M3-10l6 6m0-6l-6 6", class_="cross") if how == "barred" else None,
        class_=" ".join(filter(None, ("node small", how, look.hue.get(name)))),
        transform=f"translate({x:.1f} {y:.1f})",
    )


# -- in words, and as a panel ----------------------------------------------------------------------


def node_line(lanes: Lanes, node: Node) -> str:
    """A node in words: ``A: read and written, knows 102, holds w1``."""
    parts = [FILLS[node.fills[lanes.newest]]]
    parts += ["joining"] * (node.health == "joining") + ["down"] * (node.health == "down")
    parts += [] if node.knows is None else [f"knows {lanes.epochs[node.knows].name}"]
    parts += [] if node.stored is None else [f"holds {node.stored or 'nothing'}"]
    return f"{node.name}: {', '.join([*parts, *filter(None, [node.words])])}"


def request_line(request: Request) -> str:
    """A request in words: who counted, who is awaited, what is missing."""
    parts = [f"counted {', '.join(request.counted)}"] if request.counted else []
    parts += [f"awaits {', '.join(request.awaited)}"] if request.awaited else []
    parts += [f"cannot come: {', '.join(request.barred)}"] if request.barred else []
    return f"{request.client}, {request.title}: {'; '.join([*parts, request.needs[0]])}"


def copy_line(copy: Copy) -> str:
    """A copy in words: whether it has arrived, and who left it behind."""
    what = {"planned": "planned", "way": "on its way", "there": "arrived"}[copy.how]
    late = f", left behind by session {copy.late}" * bool(copy.late)
    return f"copy from {copy.source} to {copy.target}: {what}{late}"


def lines_of(lanes: Lanes) -> Iterator[str]:
    """The picture in words, a line each."""
    yield f"newest: {lanes.epochs[lanes.newest].name}, {lanes.epochs[lanes.newest].title}"
    yield from (node_line(lanes, node) for node in lanes.nodes)
    yield from (request_line(each) for each in lanes.requests)
    yield from map(copy_line, lanes.copies)


LEGEND = (
    ("both", "solid: read and written"),
    ("write", "hatched: written, not read"),
    ("read", "hollow: read, not written"),
    ("pale", "pale: it has not heard of this"),
    ("plan", "dashed: planned"),
    ("edge", "ink edge: as far as it knows"),
    ("needle", "needle: a request, in the column that it was planned by"),
    ("way", "envelope: on its way"),
    ("stored", "cylinder: stored"),
    ("news", "ink outline: new in this step"),
)


def lanes_panel(
    name: str, title: str, declared: Callable[[Scene], Lanes], named: Named = nothing
) -> Panel:
    """Make the picture of what a family declares; ``named`` says what a broken promise is about."""

    def at(scene: Scene) -> Lanes:
        return scene.once(declared, lambda: declared(scene))

    def draw(scene: Scene) -> Frag:
        former = scene.former()
        guilty = {key for each in breaking(scene)[:1] for key in named(scene, each.witness)}
        guilty |= {f"n:{key}" for key in guilty if ":" not in key}
        return draw_lanes(at(scene), at(former) if former else None, frozenset(guilty))

    def legend(scene: Scene) -> str:
        there = {kind for part in draw(scene).walk() for kind in (part.get("class") or "").split()}
        return " · ".join(words for kind, words in LEGEND if kind in there)

    def wording(scene: Scene) -> str:
        return "\n".join(f"  {line}" for line in lines_of(at(scene)))

    return Panel(name, title, draw, wording, still=True, legend=legend)
