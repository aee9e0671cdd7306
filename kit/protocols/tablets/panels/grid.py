"""The tablet grid: a row for each node, a cell for each shard, a chip for each replica.

A tablet in transition has chips in both cells and an arrow between them; when it has moved, its
chip travels. Few chips are large, many small; of more tablets than an eye can follow each cell says
how many it has. One unit is a pixel in the smallest board.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import chain
from math import ceil, hypot
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import counted
from kit.protocols.tablets.hosts import host_spot, replica_spot, shard_spot
from kit.protocols.tablets.rules.grid import (
    DECIDED,
    SIZED,
    GridHost,
    HeldReplica,
    Part,
    PlacedTablet,
    TabletGrid,
    held_replicas,
)
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.views.busts import CROWNED, HEAD, bust
from kit.views.diagrams import Standing
from kit.views.fragment import Frag, h
from kit.views.heat import Aspect, draw_heat, heat_lines
from kit.views.labels import LINE, NAME_LETTER, SLOT, Box, Sheet, measured, shortened
from kit.views.palette import hues
from kit.views.panel import Panel, Scene
from kit.views.parts import BULBS, box, drawing, fresh, scroll, volume, word
from kit.views.replicas import MARK, asked_words, disk, envelope_path, eye, legend, pencil
from kit.views.replicas import SIGNS as SIGNS_OF_NODES
from kit.views.replicas import key as session_key
from kit.views.stage import STRIP, WIDTH, acting, ring
from kit.views.strip import draw_strip
from kit.views.trails import Standing as Ends
from kit.views.trails import travelled

LEFT, TOP, SHARDS = 66.0, 30.0, 16.0
"""Of nodes' names with *excluded* below, of the line of group 0, of that with shards' numbers."""
LANE, LEAST_BESIDE = 74.0, 140.0
"""Between heads and cells, of what travels between heads; how wide a cell is at least beside it."""
LEAST_CELL, CHIP, GAP = 44.0, 20.0, 4.0
LETTER = 7.5  # how wide a letter of a chip is at most
RACK_LETTER = 7.0  # and one of its rack's, below it
LEAST_CHIP, MOST_ROW = 6.0, 150.0
SCALES = (1.8, 1.6, 1.4, 1.2, 1.0)
"""How large chips are; the first for which there is room."""
MOST_CHIPS = 300  # tablets that are drawn singly, where they have room
BOW = 40.0  # how far the way of a move leads aside
SIGNS: dict[Part, str] = {"pending": "+", "leaving": "−", "stray": "?"}
LOOKS: dict[Part, tuple[str | None, str]] = {
    "": (None, "box"),
    "pending": ("letter pending added", "seat"),
    "leaving": ("letter leaving", "seat"),
    "stray": (None, "box"),
}
"""The classes of a chip and of its shape."""
VERSION = "v"
NEWS = "ink outline: acts or is new in this step"
CROWN = 28  # how wide a crown is on a card
CORNER = 24.0
BESIDE = 2.0  # how far a card is from the edge
PORT = 6  # how far a node's place is from its cells
BEFORE = 6.0  # how far words below a node are from there, where lines of a client are
ENTRY = 0.85  # which part of a cell is left of where flows go, so that few chips are there
LEADS, LOAD, LOADED = "★", "100", 2 * HEAD + 60
"""A node's crown, the longest load, and the room of its head and the disk beside it."""
LEAST_OF_HEADS, MOST_LETTERS = 42.0, 3
"""The least row that has room for a node's head, and letters of a name that fit into it."""
AIR = 12.0
"""How far words of what travels keep from chips, where there is room."""
WORK = 23.0
"""The room for the stage of a tablet below its chip."""
SETTLED = "", "ignored", "excluded", "down", "left"
"""Notes of nodes of which nothing is still to come: it is drawn with dashes for all others."""
FEW = 6
"""Tablets of which each replica has an eye, a pencil and a disk; of more those in transition do."""
ASKED, DISK, SMALL = MARK + 4.0, 26.0, 0.55
"""How wide an eye over a pencil is, left of a chip, and the disk right of it; how small that is."""
LARGEST, RAISED = 1.2, 9.0
"""How large an eye and a pencil are at most, and how far they are above and below the middle."""
MARKS, CLEAR = ASKED + DISK, 4.0
"""How wide all that is, and how far from a chip a client's lines run beside it."""
PIPS = {"done": "●", "failed": "✗", "next": "◐", "later": "○"}
"""How a piece of a stage's work stands."""
CLIENT, LEAST_OF_CLIENT = 14, 60.0
"""How far from the top, or the bottom, the client is; the least row that has room for it there."""
Above = Mapping[str, str]
"""What stands over a grid, by its key: where commands are committed, what is on its way."""
NOTHING: Above = {}
GridOf = Callable[[Scene], TabletGrid]


class Room(Struct, frozen=True):
    """A grid's width, its height without the strip of stages, the lane between heads and cells."""

    width: float
    height: float
    lane: float = 0.0
    strip: float = 0.0


PICTURE, TAB = Room(WIDTH - 12, 330.0), Room(SLOT, 288.0)
"""Of the picture's slot of the smallest board, a little narrower so that its letters can be read
on a phone, and of a tab.
"""


def grid_panel(
    grid_of: GridOf,
    above: Callable[[Scene], Above] | None = None,
    standing: Callable[[Scene], Standing] | None = None,
    room: Room = PICTURE,
) -> Panel:
    """Make a grid's panel; ``above`` says what is over it, ``standing`` what its strip shows."""
    room = replace(room, lane=LANE * (above is not None), strip=STRIP * (standing is not None))

    def draw(scene: Scene) -> Frag:
        former = scene.former()
        was = grid_of(former) if former else None
        over, before = (above(each) if above and each else NOTHING for each in (scene, former))
        lit = {k for k, said in over.items() if former and before.get(k) != said}
        lit.update(_acts(scene, grid_of(scene), over))
        strip = draw_strip(standing(scene), room.width) if standing else None
        lit.update(flow.to_key for flow in scene.flows() if flow.kind == "data")
        moved = partial(travelled, scene, air=AIR)
        return draw_grid(grid_of(scene), over, was, lit, room=room, strip=strip, moved=moved)

    return Panel(
        "grid", "Tablets by shard", draw, lambda scene: grid_text(grid_of(scene)), still=True
    )


def storage_panel(grid_of: GridOf) -> Panel:
    """Make the panel of the same grid in which areas are storage; without sizes there is none."""

    def text(scene: Scene) -> str:
        grid = grid_of(scene)
        return "\n".join(f"  {place}: {volume(grid.bytes(place))}" for place in grid.places)

    return Panel(
        "storage",
        "Tablets by storage",
        lambda scene: draw_grid(grid_of(scene), room=TAB, by_storage=True),
        text,
        shown=lambda scene: bool(grid_of(scene).sizes),
        optional=True,
        tab="Storage",
    )


# -- where the parts lie ---------------------------------------------------------------------------


class GridLayout(Struct, frozen=True):
    """The picture's size, the room for names, a cell's size, each chip's place by its key.

    ``top`` is where the first row begins. Chips are ``scale`` times as large as the smallest are.
    """

    width: float
    height: float
    left: float
    top: float
    cell: float
    row: float
    scale: float
    tops: Mapping[str, float]
    chips: Mapping[str, Box]


def draws_chips(grid: TabletGrid) -> bool:
    """Whether an eye can follow single tablets: there are few, and those of shards that hold as
    many as the mean are all seen at once.

    No step changes the answer: what is on its way counts where it was. A single line for a node has
    room in any case.
    """
    if len(grid.tablets) > MOST_CHIPS:
        return False
    _, cell = _columns(grid, PICTURE)
    in_line = max(1, int((cell - GAP) // (_chip_width(_longest(grid) + 1) + GAP)))
    lines = ceil(_mean_held(grid) / in_line)
    return lines <= 1 or _least_row(lines) <= _rows(grid, PICTURE)[1]


def room_of_names(grid: TabletGrid) -> float:
    """How wide the room left of the cells is, for the longest of the nodes' names."""
    longest = max((len(host.name) + host.leads for host in grid.hosts), default=0)
    return max(LEFT, NAME_LETTER * longest + 8)


def _columns(grid: TabletGrid, room: Room) -> tuple[float, float]:
    shards = max((host.shards for host in grid.hosts), default=1)
    rack = max((len(host.rack) for host in grid.hosts), default=0)
    left = max(room_of_names(grid), RACK_LETTER * rack + 4)
    loaded = (f"{host.note} {LOAD}" for host in grid.hosts if host.fill is not None)
    left = max([left, *(max(measured(line) + PORT + 6, LOADED) for line in loaded)])
    left += room.lane * ((room.width - left - room.lane) / shards >= LEAST_BESIDE)
    return left, max(LEAST_CELL, (room.width - left - 2) / shards)


def _rows(grid: TabletGrid, room: Room) -> tuple[float, float]:
    top = room.strip + TOP * (grid.asks or room.lane > 0)
    top += SHARDS * any(host.shards > 1 for host in grid.hosts)
    return top, min((room.height - top - 2) / max(1, len(grid.hosts)), MOST_ROW)


def _least_row(lines: int, scale: float = 1.0) -> float:
    return lines * (CHIP * scale + GAP) + GAP


def _chip_width(letters: int) -> float:
    return max(CHIP + GAP, LETTER * (letters + 1) + 6)


def layout(
    grid: TabletGrid, label: Mapping[str, str], room: Room = PICTURE, *, by_storage: bool
) -> GridLayout:
    """Place the chips of every shard, with what is written on each (``label``), line by line in
    cells that are all as large. ``by_storage``: areas stand to each other as bytes do, but for
    those that would be too small to be seen.
    """
    left, cell = _columns(grid, room)
    inside = cell - 2 * GAP
    wide = _widths(grid, inside) if by_storage else None
    bare = (len(words.strip("".join(SIGNS.values()))) for words in label.values())
    longest = max(bare, default=1) + grid.asks  # a sign comes and goes, and nothing moves for it
    marks = marked(grid, room) if not by_storage else frozenset()
    scale = 1.0 if by_storage else _scale(grid, room, longest, with_marks=bool(marks))
    equal = _chip_width(longest) * scale
    packed: list[tuple[TabletReplica, HeldReplica, float, float, int]] = []
    for place, held in grid.held.items():
        x, line = 0.0, 0
        for each in held:
            width = wide[each.key] if wide else equal
            lead, tail = _beside(scale) if each.key in marks else (0.0, 0.0)
            if x and x + lead + width + tail > inside:
                x, line = 0.0, line + 1
            packed.append((place, each, width, x + lead, line))
            x += lead + width + tail + GAP
    lines = 1 + max((line for *_, line in packed), default=0)
    top, spare = _rows(grid, room)
    least = _least_row(lines, scale)
    row = max(least, spare)
    # The stage of a tablet stands below its chip: the two are in the middle together.
    over = max(0.0, (row - least - WORK * bool(marks)) / 2)
    high = CHIP * scale + GAP
    tops = {host.name: top + row * i for i, host in enumerate(grid.hosts)}
    chips = {
        each.key: Box(
            left + cell * place.shard + GAP + x + width / 2,
            tops[place.host] + over + GAP + line * high + CHIP * scale / 2,
            width,
        )
        for place, each, width, x, line in packed
        if place.host in tops
    }
    shards = max((host.shards for host in grid.hosts), default=1)
    size = left + cell * shards + 2, top + row * len(grid.hosts) + 2
    return GridLayout(*size, left, top, cell, row, scale, tops, chips)


def _beside(scale: float) -> tuple[float, float]:
    return ASKED * min(scale, LARGEST), DISK * scale


def _scale(grid: TabletGrid, room: Room, longest: int, *, with_marks: bool) -> float:
    (_, cell), (_, row), most = _columns(grid, room), _rows(grid, room), _most_held(grid)

    def has_room(scale: float) -> bool:
        wide = _chip_width(longest) * scale + sum(_beside(scale)) * with_marks + GAP
        in_line = int((cell - GAP - BOW * with_marks) // wide)
        lines = ceil(most / max(1, in_line))
        high = _least_row(lines, scale) + (WORK + CLEAR) * with_marks
        return in_line > 0 and high <= row

    return next(filter(has_room, SCALES), 1.0)


def _longest(grid: TabletGrid) -> int:
    return max((len(f"{grid.letter(t.table)}{t.number}") for t in grid.tablets), default=1)


def _mean_held(grid: TabletGrid) -> float:
    return sum(len(tablet.replicas) for tablet in grid.tablets) / max(1, len(grid.places))


def _most_held(grid: TabletGrid) -> int:
    return max([ceil(_mean_held(grid)), *map(len, grid.held.values())])


def marked(grid: TabletGrid, room: Room = PICTURE) -> frozenset[str]:
    """The replicas, by key, that show whether they are read and written, where there is room."""
    _, cell = _columns(grid, room)
    if not grid.asks or cell < MARKS + 2 * CHIP + 2 * GAP:
        return frozenset()
    wide = _chip_width(_longest(grid) + 1)
    in_line = max(1, int((cell - GAP) // (wide + MARKS + 2 * GAP)))
    lines = ceil(_most_held(grid) / in_line)
    few = len(grid.tablets) <= FEW and _least_row(lines) <= _rows(grid, room)[1]
    every = (each for held in grid.held.values() for each in held)
    return frozenset(each.key for each in every if few or each.tablet.ways)


def _widths(grid: TabletGrid, room: float) -> Mapping[str, float]:
    every = [each for held in grid.held.values() for each in held]
    fullest = max(map(grid.bytes, grid.held), default=0) or 1
    largest = max((each.bytes or 0 for each in every), default=0) or 1
    pixels = min(1.6 * room / fullest, room / largest)
    return {each.key: max(LEAST_CHIP, (each.bytes or 0) * pixels) for each in every}


# -- chips -----------------------------------------------------------------------------------------


def _acts(scene: Scene, grid: TabletGrid, above: Above) -> Iterator[str]:
    cast = {host_spot(host.name): host.name for host in grid.hosts}
    acts = acting(scene, cast | {k: k for k in above})
    yield acts if acts in above else host_spot(acts)
    if scene.action is not None:  # whose step it is, even if another one asks first
        yield host_spot(scene.model.actor_of(scene.before, scene.action))


def _over(
    above: Above, lies: GridLayout, y: float, led_by: str, news: Container[str]
) -> Iterator[Frag]:
    x = BESIDE
    for k, said in above.items():
        room = CROWN * (k == led_by)
        words = _whole(said, lies.width - x - 12 - room)
        wide = measured(words) + 12 + room
        card = box(x, y + 2, wide, 22, "log-card moved" if k in news else "log-card", 4)
        at = f"translate({x + CROWN / 2 + 3:.0f} {y + 15:.0f})"
        crown = h("path", d=CROWNED, class_="crown", transform=at) if room else None
        text = h("text", words, x=x + 6 + room, y=y + 18, class_="on soft")
        title = h("title", said) if words != said else None
        edge = max(x, min(lies.left - CORNER, x + wide))
        end = h("rect", x=edge, y=y + 24, width=0, height=0, class_="paper", data_end=True)
        yield h("g", title, card, text, crown, end, k=k, class_="aside", data_of=k)
        x += wide + 8


def _whole(said: str, width: float) -> str:
    while ", " in said and measured(said) > width:
        said = said.rpartition(", ")[0]
    return shortened(said, width)


def _news(grid: TabletGrid, was: TabletGrid | None) -> frozenset[str]:
    if was is None:
        return frozenset()
    things, marks = dict(_things(was)), dict(_details(was))
    return frozenset(
        [key for key, look in _things(grid) if things.get(key) != look]
        + [key for key, look in _details(grid) if marks.get(key, look) != look]
    )


def _things(grid: TabletGrid) -> Iterator[tuple[str, Any]]:
    for chip in chain.from_iterable(grid.held.values()):
        is_divided = (chip.tablet.number, chip.place) in grid.divided
        yield chip.key, (chip.place, chip.part, is_divided)
    for tablet in grid.moving:
        yield _work_key(tablet), (tablet.ways[0].stage, tablet.ways[0].work)
    for host in grid.hosts:
        yield host_spot(host.name), replace(host, barrier="", fill=None)


def _details(grid: TabletGrid) -> Iterator[tuple[str, Any]]:
    for each in chain.from_iterable(grid.held.values()):
        reads, writes = (each.tablet.is_used(each.place, write=write) for write in (False, True))
        yield f"eye:{each.key}", reads
        yield f"pencil:{each.key}", writes
        yield f"disk:{each.key}", each.tablet.arrived(each.place)
    for host in grid.hosts:
        spot = host_spot(host.name)
        yield from ((f"barrier:{spot}", host.barrier),) * bool(host.barrier)
        yield from ((f"note:{spot}", host.note), (f"tag:{spot}", host.tag))
        yield f"hand:{spot}", host.hand


def _left(
    grid: TabletGrid, was: TabletGrid | None, labels: Mapping[str, str]
) -> dict[TabletReplica, str]:
    before = {each.key: place for place, held in was.held.items() for each in held} if was else {}
    return {
        before[each.key]: labels[each.key]
        for place, held in grid.held.items()
        for each in held
        if before.get(each.key, place) != place
    }


def _work_key(tablet: PlacedTablet) -> str:
    return f"work:{tablet.table}:{tablet.number}"


def draw_grid(
    grid: TabletGrid,
    above: Above = NOTHING,
    was: TabletGrid | None = None,
    lit: Set[str] = frozenset(),
    *,
    room: Room = PICTURE,
    strip: Frag | None = None,
    by_storage: bool = False,
    moved: Callable[[Ends], Frag | None] | None = None,
) -> Frag:
    """Draw the grid; ``by_storage``: with areas as bytes, else all chips are as large.

    What is otherwise than it ``was`` is marked, and so is what is ``lit``, by its key; ``moved``
    draws what travelled over it. To a chip that is lit that is the way, and no arrow leads there.
    """
    if not draws_chips(grid):
        return draw_density(grid, TAB if by_storage else room, by_storage=by_storage)
    prefix = "storage:" if by_storage else ""
    every = [each for held in grid.held.values() for each in held]
    labels = {each.key: _label(each, grid) for each in every}
    lies = layout(grid, labels, room, by_storage=by_storage)
    notes = [f"{host.name}: {host.note}" for host in grid.hosts if host.note]
    held = Counter(place.host for place, inside in grid.held.items() for _ in inside)
    marks = frozenset() if by_storage else marked(grid, room)
    news = _news(grid, was).union(lit) if was else frozenset()
    tablet = None if by_storage else asked_tablet(grid, room)
    left = {} if by_storage else _left(grid, was, labels)
    colours = hues([host.name for host in grid.hosts])
    kids = (
        strip,
        list(_over(above, lies, room.strip, grid.led_by, news)),
        list(_shard_heads(lies, grid)),
        [
            _row(prefix, host, colours.get(host.name, ""), lies, held[host.name], left, news)
            for host in grid.hosts
        ],
        list(_client(grid, tablet, lies, room.strip + CLIENT, above=above)) if tablet else None,
        [
            _arrow(prefix, grid.called(tablet), each, lies, each.key in marks)
            for tablet in grid.moving
            for each in _comes(grid, tablet)
            if replica_spot(each.key) not in lit
        ],
        [
            _chip(
                prefix,
                each,
                labels[each.key],
                lies.chips[each.key],
                lies.scale,
                each.key in marks,
                (each.tablet.number, each.place) in grid.divided,
                news,
            )
            for each in every
            if each.key in lies.chips
        ],
        list(_works(grid, lies, news)) if not by_storage else None,
    )
    said = f"tablets by shard: {'; '.join([*grid_lines(grid), *notes])}"
    trailed = moved(Ends(h("g", *kids), lies.width, lies.height)) if moved else None
    written = _written(h("g", *kids, trailed))
    said = "; ".join([said, *asked_lines(grid), *(each for each in written if each not in said)])
    is_fluid = lies.width <= room.width and lies.height <= room.height and not by_storage
    picture = drawing(said, lies.width, lies.height, *kids, trailed, fluid=is_fluid)
    shown = "; ".join([*_legend(grid, every, marks), *[NEWS] * bool(news)])
    return h("div", picture, h("p", h("small", shown), class_="legend", title=shown))


def _legend(grid: TabletGrid, every: Sequence[HeldReplica], marks: frozenset[str]) -> Iterator[str]:
    parts, ways = {each.part for each in every}, [way for t in grid.moving for way in t.ways]
    yield "number: tablet"
    yield from ("0/1: tablet 0 of 1, in an older map",) * any(t.count for t in grid.tablets)
    leads = bool(grid.led_by) or any(host.leads for host in grid.hosts)
    yield from ("crown: coordinator",) * leads
    tags = {host.tag[:1] for host in grid.hosts}
    yield from ("below a node: the version it works with",) * (VERSION in tags)
    sized = any(host.tag.startswith(SIZED) for host in grid.hosts)
    yield from ("below a node: size of a tablet in its map, in % of the target",) * sized
    loads = any(host.fill is not None for host in grid.hosts)
    yield from ("below a node: its load; disk: load, full as the highest at the start",) * loads
    yield from ("hollow: down",) * any(host.health == "down" for host in grid.hosts)
    yield from ("ban: excluded",) * any(host.is_banned for host in grid.hosts)
    yield from ("+ at a node: joins",) * any(host.health == "joining" for host in grid.hosts)
    yield from ("✗: has left",) * any(host.health == "gone" for host in grid.hosts)
    if marks:
        yield f"{legend()}; disk: what has arrived"
    if asked_tablet(grid):
        yield "square: client; grey lines: reads, black: writes"
    yield from ("+ comes, − goes",) * bool({"pending", "leaving"} & parts)
    yield from ("?: data but no replica",) * ("stray" in parts)
    yield from ("key: session",) * any(way.session for way in ways)
    work = {each for way in ways for each in way.work}
    yield from (f"{sign}: work is {name}" for name, sign in PIPS.items() if name in work)
    stands = {host.barrier for host in grid.hosts}
    yield from (f"{sign}: {name}" for name, sign in BARRIER_SIGNS.items() if name in stands)
    hands = {host.hand for host in grid.hosts}
    yield from ("envelope: a command that is not committed yet",) * (DECIDED in hands)
    yield from ("cut above and below: its data are split",) * bool(grid.divided)


def asked_tablet(grid: TabletGrid, room: Room = PICTURE) -> PlacedTablet | None:
    """The tablet whose client is shown: the first that moves, or the first; None without marks."""
    if any(each.count for each in grid.tablets):
        return None  # by which map it asks depends on the node
    tablet = next(iter((*grid.moving, *grid.tablets)), None)
    marks = marked(grid, room)
    return tablet if tablet and all(each.key in marks for each in held_replicas(tablet)) else None


def asked_lines(grid: TabletGrid) -> Iterator[str]:
    """Say whom the client asks now."""
    if tablet := asked_tablet(grid):
        held = [each.place for each in held_replicas(tablet)]
        for does, write in (("reads", False), ("writes", True)):
            names = [str(place) for place in held if tablet.is_used(place, write=write)]
            yield f"a client {does} {grid.called(tablet)} at {', '.join(names) or 'no shard'}"


def _client(
    grid: TabletGrid, tablet: PlacedTablet, lies: GridLayout, high: float, *, above: Above
) -> Iterator[Frag]:
    if above and lies.row >= LEAST_OF_CLIENT:
        high = lies.height - CLIENT
    half, size = CHIP * lies.scale / 2, min(lies.scale, LARGEST)
    for does, write, aside in (("reads", False, 8), ("writes", True, 4)):
        ways = []
        down = 1 if write else -1
        for each in held_replicas(tablet):
            if each.key in lies.chips and tablet.is_used(each.place, write=write):
                place = lies.chips[each.key]
                bar, y = f"M{lies.left - aside:.0f} {high:.0f}V", place.y + down * RAISED * size
                x = place.x - place.width / 2 - ASKED * size
                cell = lies.left + lies.cell * each.place.shard
                if each.place.shard or x > cell + 2 * GAP:
                    x, y = x + ASKED * size / 2, y + down * 7 * size
                    bar += f"{place.y + down * (half + CLEAR):.0f}H{x:.0f}V"
                    ways.append(f"{bar}{y:.0f}")
                else:
                    ways.append(f"{bar}{y:.0f}H{x + 2:.0f}")
        if ways:
            yield h("g", h("path", d="".join(ways), class_="asks"), k=f"asks:{does}", class_=does)
    x = lies.left - 6
    yield h(
        "g",
        h("title", f"a client of {grid.called(tablet)}"),
        box(-11, -11, 22, 22, "head", 5),
        h("text", "cl", y=5, text_anchor="middle", class_="letter-of small"),
        k="client",
        class_="character up",
        transform=f"translate({x:.0f} {high:.0f})",
        data_of="client",
    )


def _written(picture: Frag) -> Iterator[str]:
    for part in picture.walk():
        if part.tag != "title":
            yield from (kid for kid in part.kids if isinstance(kid, str) and not kid.isdecimal())


def _label(held: HeldReplica, grid: TabletGrid) -> str:
    letter = grid.letter(held.tablet.table)
    of = f"/{held.tablet.count}" * bool(held.tablet.count)
    return f"{SIGNS.get(held.part, '')}{letter}{held.tablet.number}{of}"


def _shard_heads(lies: GridLayout, grid: TabletGrid) -> Iterator[Frag]:
    shards = max((host.shards for host in grid.hosts), default=1)
    for shard in range(shards) if shards > 1 else ():
        words = f"shard {shard}" if lies.cell > 7 * LETTER else str(shard)
        yield word(words, lies.left + lies.cell * (shard + 0.5), lies.top - 5, "soft")


def _exit(lies: GridLayout, gone: str) -> list[Frag]:
    if not gone:
        return [h("rect", width=0, height=0, class_="paper", data_end=True)]
    wide, high = _chip_width(len(gone)) * lies.scale, CHIP * lies.scale
    x = min(0.0, lies.cell * (1 - ENTRY) - wide / 2 - GAP)
    return [
        h("title", f"{gone} was here"),
        h("g", box(x - wide / 2, -high / 2, wide, high, "wire dashed", 4), data_end=True),
        h("text", gone, x=round(x), y=4.5, text_anchor="middle", class_="soft"),
    ]


def _row(
    prefix: str,
    host: GridHost,
    hue: str,
    lies: GridLayout,
    count: int,
    gone: Mapping[TabletReplica, str],
    news: Set[str],
) -> Frag:
    note, spot = host.note or host.rack, host_spot(host.name)
    is_lit = not news.isdisjoint((spot, f"barrier:{spot}"))
    is_new, note_is_new = host.tag and f"tag:{spot}" in news, note and f"note:{spot}" in news
    kind = "wire" if host.note in SETTLED else "wire dashed"
    left, top = lies.left - PORT, lies.row / 2
    has_head = len(host.name) <= MOST_LETTERS and lies.row >= LEAST_OF_HEADS
    name = f"{LEADS * host.leads}{host.name}"
    wide = measured(name, bold=True)
    plate = fresh(2 - left + wide / 2, (0 if note else 5) - 5, wide + 4) if is_lit else None
    named = h("g", plate, word(name, 2 - left, 0 if note else 5, "strong", None), data_end=True)
    under, both = 15 if note else 5, f"{note} {host.tag}".strip()
    lines = [(note, note_is_new), (host.tag, is_new)]
    if has_head:
        head = min(HEAD, (lies.row - 18) / 2)
        cast = bust(host.name, head, leads=host.leads)
        under = int(min(head + 9, top - 2))
        is_low = bool(note) and under + 14 > top - 2  # there is one line
        if is_low:
            most = left - BEFORE - measured(host.tag) - 6
            both = f"{shortened(note, most)} {host.tag}".strip()
        if is_low or measured(both) < left - BEFORE:
            lines = [(both, note_is_new or is_new)]
        at, rim = f"translate({head + 6 - left:.0f} -6)", ring(head) if is_lit else None
        named = h("g", rim, h("g", cast, data_end=True), list(_signs(host)), transform=at)
    holds = f"holds {counted(count, 'replica')}" if count else "holds no replica"
    version = host.tag.replace(VERSION, "version ") if host.fill is None else f"load {host.tag}"
    said = "coordinator" * host.leads, host.rack, host.note, version, holds
    return h(
        "g",
        h("title", f"{host.name}: {', '.join(filter(None, said))}"),
        named,
        [
            (
                fresh(2 - left + measured(line) / 2, under + 14 * at - 5, measured(line) + 8)
                if is_other
                else None,
                word(line, 2 - left, under + 14 * at, "soft", None),
            )
            for at, (line, is_other) in enumerate(each for each in lines if each[0])
        ],
        list(_at_node(host, news)),
        list(_load(host, left)) if has_head else None,
        [
            h(
                "g",
                box(1 - ENTRY * lies.cell, 1 - top, lies.cell - 2, lies.row - 2, kind, 4),
                _exit(lies, gone.get(TabletReplica(host.name, at), "")),
                k=f"{prefix}{shard_spot(f'{host.name}:{at}')}",
                transform=f"translate({PORT + lies.cell * (at + ENTRY):.1f} 0)",
            )
            for at in range(host.shards)
        ],
        k=f"{prefix}{spot}",
        class_=f"character {host.health} {hue}".rstrip(),
        transform=f"translate({left:.0f} {lies.tops[host.name] + top:.0f})",
        data_of=host.name,
    )


def _load(host: GridHost, left: float) -> Iterator[Frag]:
    if host.fill is not None:
        place = f"translate({2 * HEAD + 37 - left:.0f} -6) scale({SMALL})"
        yield h("g", disk(0, 0, host.fill), transform=place)


def _signs(host: GridHost) -> Iterator[Frag]:
    signs = ["ban"] * host.is_banned + [host.health] * (host.health in SIGNS_OF_NODES)
    for at, sign in enumerate(signs):
        place = f"translate({HEAD + 9:.0f} {16 * at - 6:.0f})"
        yield h("path", d=SIGNS_OF_NODES[sign], class_=f"sign {sign}", transform=place)


def _at_node(host: GridHost, news: Set[str]) -> Iterator[Frag]:
    spot = host_spot(host.name)
    if host.barrier:
        sign, is_lit = BARRIER_SIGNS[host.barrier], f"barrier:{spot}" in news
        is_filled = sign in BULBS or is_lit  # then its letter is a dark one in the dark, too
        yield h(
            "g",
            h("title", f"barrier: {host.barrier}"),
            ring(REACH) if is_lit else None,
            h("circle", r=REACH, class_="done" if sign in BULBS else "wire"),
            h("text", sign, y=4, text_anchor="middle", class_="on" if is_filled else None),
            transform="translate(-11 0)",
        )
    if host.hand:
        is_command, is_new = host.hand == DECIDED, f"hand:{spot}" in news
        said = "decided" if is_command else f"work {host.hand}"
        end = -REACH if host.barrier else REACH + 2  # beside the sign of the barrier
        yield h(
            "g",
            h("title", f"in hand: {host.hand}"),
            fresh(0, 0, 2 * REACH + 10, 2 * REACH + 2) if is_command and is_new else None,
            h("path", d=envelope_path(REACH), class_="envelope") if is_command else None,
            fresh(end - measured(said) / 2, 17, measured(said) + 8) if is_new else None,
            h("text", said, text_anchor="end", x=end, y=22, class_="soft"),
            transform=ABOVE_IT,
        )


REACH, ABOVE_IT = 7, "translate(-17 -17)"
"""How large that is, and where the command is."""
BARRIER_SIGNS = {"answered": "✓", "asked": "…", "unheard": "!", "passed over": "–"}


def _shown(tablet: PlacedTablet, lies: GridLayout) -> list[HeldReplica]:
    return [each for each in held_replicas(tablet) if each.key in lies.chips]


def _seats(
    at: Box, chips: Iterable[Box], beside: Sequence[Box], low: float, wide: float,
    right: float,
) -> Iterator[Box]:  # fmt: skip
    """Under the chips, those near ``at`` first, or there ``beside`` the words of another."""
    for chip in sorted(chips, key=lambda each: abs(each.y - at.y)):
        left = max(0.0, min(chip.x - chip.width / 2, right - wide))
        yield (under := Box(left + wide / 2, chip.y + low, wide))
        for other in beside:
            yield Box(other.x + (other.width + wide) / 2 + GAP, under.y, wide)


def _works(grid: TabletGrid, lies: GridLayout, news: Set[str]) -> Iterator[Frag]:
    low = CHIP * lies.scale / 2 + WORK - CHIP / 2 + 2
    if lies.row < _least_row(1, lies.scale) + WORK:
        return
    taken, alike = Sheet(), dict[tuple[TabletReplica, str, int], list[HeldReplica]]()
    for tablet in grid.moving:
        if chips := _shown(tablet, lies):
            at = next((each for each in chips if each.part == "pending"), chips[0])
            way = tablet.ways[0]
            work = f"{way.stage} {''.join(PIPS[each] for each in way.work)}".rstrip()
            alike.setdefault((at.place, work, way.session), []).append(at)
    for (_, work, session), group in alike.items():
        tablets = [each.tablet for each in group]
        numbers = ", ".join(f"{grid.letter(each.table)}{each.number}" for each in tablets)
        words = f"{numbers}: {work}" if len(grid.moving) > 1 else work
        wide = measured(words) + (30 if session else 0)
        first = lies.chips[group[0].key]
        places = [lies.chips[each.key] for each in _shown(tablets[0], lies)]
        seats = [*_seats(first, places, taken.boxes, low, wide, lies.width)]
        fits = (each for each in seats if each.x + wide / 2 <= lies.width)
        covers = next(filter(taken.is_free, fits), seats[0])
        while not taken.is_free(covers):
            covers = replace(covers, y=covers.y + LINE)
        taken.cover(covers)
        yield h(
            "g",
            fresh(measured(words) / 2, -4, measured(words) + 8, 18)
            if not news.isdisjoint(map(_work_key, tablets))
            else None,
            word(words, 0, 0, "soft", None),
            session_key(wide - 14, -4) if session else None,
            k=_work_key(tablets[0]),
            transform=f"translate({covers.x - wide / 2:.0f} {covers.y + 3:.0f})",
        )


def _marks(held: HeldReplica, news: Set[str]) -> Iterator[Frag | None]:
    tablet, at = held.tablet, held.place
    for what, y in (("eye", -RAISED), ("pencil", RAISED)):
        yield fresh(0, y, MARK, 16) if f"{what}:{held.key}" in news else None
    yield eye(0, -RAISED, filled=tablet.is_used(at, write=False))
    yield pencil(0, RAISED, filled=tablet.is_used(at, write=True))


def _stored(held: HeldReplica, place: Box, scale: float, news: Set[str]) -> Frag:
    right = _disk_at(place, scale) - place.x
    moved = f"translate({right:.0f} 0) scale({SMALL * scale:.2f})"
    drawn = disk(0, 0, held.tablet.arrived(held.place), refilled=f"disk:{held.key}" in news)
    return h("g", drawn, transform=moved, data_end=True)


def _chip(
    prefix: str,
    held: HeldReplica,
    label: str,
    place: Box,
    scale: float,
    with_marks: bool,
    is_divided: bool,
    news: Set[str],
) -> Frag:
    has_room, high = LETTER * len(label) * scale + 2 <= place.width, CHIP * scale
    look, shape = LOOKS[held.part]
    larger = f"translate(0 0) scale({scale})" if scale > 1 else None
    cut = f"M0 {-high / 2:.0f}v{high / 4:.0f}M0 {high / 2:.0f}v{-high / 4:.0f}"
    size = min(scale, LARGEST)
    marks = f"translate({-place.width / 2 - ASKED * size / 2 - 1:.0f} 0) scale({size})"
    return h(
        "g",
        h("title", chip_words(held)),
        fresh(0, 0, place.width + 6, high + 6) if held.key in news else None,
        box(-place.width / 2, -high / 2, place.width, high, shape, 4),
        h("text", label, y=4.5, text_anchor="middle", class_="on", transform=larger)
        if has_room
        else None,
        h("path", d=cut, class_="cut") if is_divided else None,
        h("g", list(_marks(held, news)), transform=marks) if with_marks else None,
        _stored(held, place, scale, news) if with_marks else None,
        k=f"{prefix}{replica_spot(held.key)}",
        class_=look,
        transform=f"translate({place.x:.0f} {place.y:.0f})",
        data_of=f"tablet {held.tablet.table} {held.tablet.number}",
    )


def _comes(grid: TabletGrid, tablet: PlacedTablet) -> Iterator[HeldReplica]:
    for place in dict.fromkeys(place for way in tablet.ways for place in way.sets.pending):
        for each in grid.held.get(place, ()):
            if each.tablet is tablet and each.part == "pending" and each.twin:
                yield each


def _arrow(prefix: str, name: str, held: HeldReplica, lies: GridLayout, marks: bool) -> Frag | None:
    tablet = held.tablet
    source = f"{tablet.table}:{tablet.number}:{held.slot}"
    if source not in lies.chips or held.key not in lies.chips:
        return None
    way = next(way for way in tablet.ways if held.place in way.sets.pending)
    share = tablet.arrived(held.place)
    if marks and share == 1.0:  # nothing travels on it any more
        return None
    return h(
        "g",
        h("title", f"{name}: {way.kind}, {way.stage}"),
        list(_drawn_way(lies, lies.chips[source], lies.chips[held.key], marks, bool(share))),
        k=f"{prefix}way:{held.key}",
        class_="taken" if share or not marks else "planned",
    )


def _drawn_way(lies: GridLayout, a: Box, b: Box, marks: bool, begun: bool) -> Iterator[Frag]:
    """A bow beside the chips between; where chips have disks, a line from disk to disk."""
    half, kind = CHIP * lies.scale / 2, "wire" if begun or not marks else "wire dashed"
    if marks and a.y != b.y:
        down = half if b.y > a.y else -half
        start, end_at = (complex(_disk_at(each, lies.scale), each.y) for each in (a, b))
        start, end_at = start + 1j * down, end_at - 1j * down
        between = [start + (end_at - start) * i / BEADS for i in range(BEADS + 1)]
        others = [_whole_chip(each, lies.scale) for each in lies.chips.values()]
        if not any(box.meets(Box(p.real, p.imag, 1, 1)) for box in others for p in between[1:-1]):
            d = f"M{start.real:.0f} {start.imag:.0f}L{end_at.real:.0f} {end_at.imag:.0f}"
            yield h("path", d=d, class_=kind)
            back = start - end_at
            yield _tip(end_at.real, end_at.imag, back.real, back.imag)
            return
    (x, y), (end, low), over = (a.x, a.y), (b.x, b.y), (a.y + b.y) / 2
    if a.y == b.y:
        y = low = a.y - half
        bow, over = (x + end) / 2, y - half - 8
        right, down = (-0.5 if end > x else 0.5), -1.0
    elif marks:
        x, end = (each.x + each.width / 2 + DISK * lies.scale + 4 for each in (a, b))
        bow = max(x, end) + 2 * BOW
        right, down = bow - end, over - low
    else:
        right, down, bow = 0.4, -1.0 if low > y else 1.0, max(x, end) + BOW
        y, low = y - half * down, low + half * down
    d = f"M{x:.0f} {y:.0f}Q{bow:.0f} {over:.0f} {end:.0f} {low:.0f}"
    yield h("path", d=d, class_=kind)
    yield _tip(end, low, right, down)


BEADS = 20
"""Points of a straight way that are looked at."""


def _disk_at(chip: Box, scale: float) -> float:
    return chip.x + chip.width / 2 + DISK * scale / 2 + 2


def _whole_chip(chip: Box, scale: float) -> Box:
    left, right = _beside(scale)
    wide = left + chip.width + right
    return Box(chip.x + (right - left) / 2, chip.y, wide, CHIP * scale - 1)


def _tip(x: float, y: float, right: float, down: float) -> Frag:
    far = hypot(right, down)
    right, down = right / far, down / far
    back = (x + 9 * right, y + 9 * down)
    corners = [(x, y), (back[0] - 4 * down, back[1] + 4 * right)]
    corners.append((back[0] + 4 * down, back[1] - 4 * right))
    return h("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in corners), class_="tip")


def chip_words(held: HeldReplica) -> str:
    """The sentence on a tablet in a shard."""
    size = "" if held.bytes is None else f", {volume(held.bytes)}"
    twin = f" {'from' if held.part == 'pending' else 'to'} {held.twin}" if held.twin else ""
    how: dict[Part, str] = {
        "": "",
        "pending": f": comes{twin}",
        "leaving": f": goes{twin}",
        "stray": ": data but no replica",
    }
    of = f" of {held.tablet.count}, in an older map," * bool(held.tablet.count)
    what = f"tablet {held.tablet.number}{of} of {held.tablet.table} at {held.place}"
    used = (held.tablet.is_used(held.place, write=write) for write in (False, True))
    return f"{what}{size}{how[held.part]}; {asked_words(*used)}"


def grid_lines(grid: TabletGrid) -> list[str]:
    """A line for each shard that holds anything: what it has, the signs as on the chips."""
    if not draws_chips(grid):
        return [f"{counted(len(grid.places), 'shard')}; {summary(grid)}"]
    many = any(host.shards > 1 for host in grid.hosts)
    return [
        f"{place if many else place.host}: {', '.join(_label(each, grid) for each in held)}"
        for place in grid.places
        if (held := grid.held.get(place))
    ]


def grid_text(grid: TabletGrid) -> str:
    """Write the grid: a line for each shard that has tablets, then one for each transition."""
    lines = grid_lines(grid)
    for tablet in grid.moving:
        name = grid.called(tablet)
        for way in tablet.ways:
            ends = [" ".join(map(str, each)) for each in (way.sets.leaving, way.sets.pending)]
            places = " → ".join(filter(None, ends))
            lines.append(f"{name}: {way.kind} in {way.stage} {places}".rstrip())
            used = (" ".join(map(str, each)) for each in (way.reads, way.writes))
            if way.reads != way.writes:
                lines.append("{}: reads {}; writes {}".format(name, *used))
    lines += asked_lines(grid)
    return "\n".join(f"  {line}" for line in lines)


# -- very many tablets: each shard with how much it has, against the fullest one -------------------

LEAST_CELLS = {False: 40.0, True: 72.0}
"""How wide a cell is at least; bytes take more room than counts."""
ROW = 24.0
MOST_LISTED = 2048  # tablets that the search box knows
MOST_SHARDS = 1024  # shards that are drawn singly; of more there is a cell for each node
Cell = tuple[str, tuple[TabletReplica, ...]]
"""What a cell is called, and the shards that it stands for."""


def draw_density(grid: TabletGrid, room: Room = PICTURE, *, by_storage: bool) -> Frag:
    """Draw a cell for each shard, filled as far as it holds of what the fullest one does. Of very
    many shards a cell is a node, its bar the mean of its shards; their replicas are a heat map.
    """
    if len(grid.places) > MOST_SHARDS and not by_storage:
        return _draw_nodes(grid)
    left, least = room_of_names(grid), LEAST_CELLS[by_storage]
    amount = grid.bytes if by_storage else grid.count
    rows, what = _cells(grid, max(1, int((room.width - left) // least)))
    means = [[sum(map(amount, places)) / len(places) for _, places in row] for _, row in rows]
    fullest = max((mean for row in means for mean in row), default=0) or 1
    columns = max((len(row) for _, row in rows), default=1)
    wide = max(least, (room.width - left) / columns)

    on_their_way = Counter(place for tablet in grid.moving for place in _ends(tablet))

    def cell(each: Cell, mean: float, x: float, y: float) -> Frag:
        name, places = each
        moves = sum(on_their_way[place] for place in places)
        words = volume(round(mean)) if by_storage else f"{mean:.0f}{f'⇄{moves}' * (moves > 0)}"
        return h(
            "g",
            h("title", f"{name}: {words}" + (" per shard" if len(places) > 1 else "")),
            box(1, 1, wide - 3, ROW - 3, "wire"),
            box(1, 1, (wide - 3) * mean / fullest, ROW - 3, "band"),
            box(1, 1, wide - 3, ROW - 3, "inked") if moves else None,
            word(words, wide / 2, 16),
            k=f"{'storage:' if by_storage else ''}load:{name}",
            transform=f"translate({x:.0f} {y:.0f})",
            data_of=places[0].host,
        )

    picture = drawing(
        f"load of {counted(len(grid.places), 'shard')}: {summary(grid)}",
        left + wide * columns + 2,
        ROW * len(rows) + 2,
        [word(name, 2, ROW * y + 16, "strong", None) for y, (name, _) in enumerate(rows)],
        [
            cell(each, mean, left + wide * x, ROW * y)
            for y, ((_, row), amounts) in enumerate(zip(rows, means, strict=True))
            for x, (each, mean) in enumerate(zip(row, amounts, strict=True))
        ],
    )
    moving = f"{counted(len(grid.moving), 'tablet')} in transition" + " (⇄)" * bool(grid.moving)
    legend = f"{what}; {summary(grid)}; {moving}"
    search = None if by_storage else _search(grid)
    return h("div", picture, h("p", h("small", legend), class_="legend"), search)


NEAR_MEAN = 0.05
"""How far from the mean a node's load may be, as a part of it, to be as large as the mean."""


def _draw_nodes(grid: TabletGrid) -> Frag:
    loads = {host.name: 0.0 for host in grid.hosts}
    for place in grid.places:
        loads[place.host] += grid.count(place)
    loads = {host.name: loads[host.name] / max(1, host.shards) for host in grid.hosts}
    mean = sum(loads.values()) / max(1, len(loads))

    def stands(load: float) -> str:
        if load == 0 or abs(load - mean) <= NEAR_MEAN * mean:
            return "mean" if load else "empty"
        return "more" if load > mean else "less"

    moves = Counter(place.host for tablet in grid.moving for place in _ends(tablet))
    ways = Counter(
        (source.host, target.host)
        for tablet in grid.moving
        for way in tablet.ways
        for source, target in zip(way.sets.leaving, way.sets.pending, strict=False)
        if source.host != target.host
    )
    aspects = [
        Aspect("replicas per shard", {name: stands(load) for name, load in loads.items()}),
        Aspect(
            "tablets in transition",
            {name: str(moves[name] or "none") for name in loads},
            so_far=str(len(grid.moving)),
        ),
    ]
    said = f"load of {counted(len(grid.hosts), 'node')}: {summary(grid)}; "
    picture = draw_heat(
        {name: host_spot(name) for name in loads},
        aspects,
        said + "; ".join(heat_lines(aspects)),
        ways,
    )
    legend = f"a mark per node; arcs: tablets that move; {summary(grid)}"
    return h("div", picture.kids, h("p", h("small", legend), class_="legend"), _search(grid))


def _ends(tablet: PlacedTablet) -> Iterator[TabletReplica]:
    for way in tablet.ways:
        yield from (*way.sets.leaving, *way.sets.pending)


def _cells(grid: TabletGrid, across: int) -> tuple[Sequence[tuple[str, Sequence[Cell]]], str]:
    shards = {
        host.name: tuple(TabletReplica(host.name, shard) for shard in range(host.shards))
        for host in grid.hosts
    }
    if len(grid.places) <= MOST_SHARDS:
        single = [(name, [(str(at), (at,)) for at in places]) for name, places in shards.items()]
        return single, "a cell per shard"
    nodes = list(shards.items())
    some = [nodes[first : first + across] for first in range(0, len(nodes), across)]
    return [
        (row[0][0], row) for row in some
    ], "a cell per node; the bar shows the mean of its shards"


def _search(grid: TabletGrid) -> Frag:
    moving = {id(tablet) for tablet in grid.moving}
    rest = (tablet for tablet in grid.tablets if id(tablet) not in moving)
    listed = list(chain(grid.moving, rest))[:MOST_LISTED]
    more = len(grid.tablets) - len(listed)
    field = h("input", type="search", data_filter=True, autocomplete="off")
    places = h("ul", [h("li", _where(grid, tablet)) for tablet in listed])
    return h(
        "div",
        h("label", "find a tablet, node or shard ", field),
        scroll("tablets found", places, searched=True),
        h("p", f"{counted(more, 'more tablet')} not in this list.", class_="soft")
        if more
        else None,
        k="search:tablets",
        data_kept=True,
        data_sift=True,
    )


def _where(grid: TabletGrid, tablet: PlacedTablet) -> str:
    ways = "".join(
        f"; {way.kind} in {way.stage} to {', '.join(map(str, way.sets.new))}" for way in tablet.ways
    )
    return f"{grid.called(tablet)}: {', '.join(map(str, tablet.replicas))}{ways}"


def summary(grid: TabletGrid) -> str:
    """How many tablets there are, and the least, the mean and the most on a shard."""
    counts = sorted(map(grid.count, grid.places))
    if not counts:
        return "no shard"
    mean = sum(counts) / len(counts)
    shards = f"least {counts[0]:,}, mean {mean:,.1f}, most {counts[-1]:,}"
    return f"{counted(len(grid.tablets), 'tablet')}; replicas per shard: {shards}"
