"""The tablet grid: a column for each node, in it one for each shard, a tile for each replica.

A tile has the hue of its node. Solid: read and written; hatched: only written; dashed: planned. It
is as high as it is full, where sizes are known. A move is a stream from tile to tile, with the key
of its session. Of more tablets than an eye can follow a shard is a bar. Units: 13 are a letter's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import chain, groupby
from math import ceil
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import counted
from kit.model.flows import Flow
from kit.protocols.tablets.hosts import host_spot, replica_spot, shard_spot
from kit.protocols.tablets.rules.grid import (
    GridHost,
    HeldReplica,
    Part,
    PlacedTablet,
    TabletGrid,
    held_replicas,
)
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.views.busts import CROWNED, HEAD, bust
from kit.views.fragment import Frag, h
from kit.views.headlines import told_as, words_of
from kit.views.heat import Aspect, draw_heat, heat_lines
from kit.views.labels import LINE, Box, measured, shortened, tags
from kit.views.palette import hues
from kit.views.panel import Panel, Scene
from kit.views.parts import box, drawing, fresh, scroll, volume, word
from kit.views.replicas import SIGNS as SIGNS_OF_NODES
from kit.views.replicas import asked_words
from kit.views.replicas import key as session_key
from kit.views.stage import acting, halo
from kit.views.tiles import FILLS, Fill, draw_tile, fill_of
from kit.views.trails import Standing as Ends
from kit.views.trails import travelled

WIDTH, HEIGHT, HIGHER = 392.0, 330.0, 490.0
CARD, TOP, FOOT, LANE, ASKED = 30.0, 58.0, 18.0, 22.0, 34.0
"""How high a card above is, a head with its crown, shards' names, a stream, whom a client asks."""
ASIDE, GAP, AIR = 10.0, 8.0, 8.0
"""Between nodes, between shards, around what travels."""
LABELS, TWO_LINES = 120.0, 84.0
"""The room for the words of lines; the column of a node that has two lines of words."""
LEAST, MOST, THIN = 16.0, 150.0, 5.0
"""How high a tile with a number is at least, and at most of sizes unknown; how wide a bar is."""
MOST_TILES, MOST_LANES, MOST_SHARDS = 300, 2, 1024
"""Tablets that are drawn singly, streams, and shards; of more a mark stands for each node."""
MOST_LISTED = 2048  # tablets that the search box knows
BARS = 40.0
NEAR_MEAN = 0.05
"""How far from the mean a node's load may be, as a part of it, to be as large as the mean."""
SIGNS: dict[Part, str] = {"pending": "+", "leaving": "−", "stray": "?"}
PIPS = {"done": "●", "failed": "✗", "next": "◐", "later": "○"}
"""How a piece of a stage's work stands."""
SIDES = " left", " right"
MOVES = "migration", "intranode_migration"
"""Kinds in which what comes is copied from what goes."""
STORED = {0.0: "no rows", 0.5: "some rows", 1.0: "all rows"}
Above = Mapping[str, str]
"""What stands over a grid, by its key: where commands are committed, what is on its way."""
Lines = Sequence[tuple[str, int]]
"""What sizes are compared with: words, and bytes of a tablet."""
NOTHING: Above = {}


def grid_panel(
    grid_of: Callable[[Scene], TabletGrid],
    above: Callable[[Scene], Above] | None = None,
    lines: Callable[[Scene], Iterable[tuple[str, int]]] | None = None,
) -> Panel:
    """Make a grid's panel; ``above`` says what is over it, ``lines`` with what a size compares."""

    def draw(scene: Scene) -> Frag:
        former = scene.former()
        was = grid_of(former) if former else None
        over, before = (
            _written_on(above(each)) if above and each else NOTHING for each in (scene, former)
        )
        lit = {k for k, said in over.items() if former and before.get(k) != said}
        lit.update(_acts(scene, grid_of(scene), over))
        copies = [flow for flow in scene.flows() if flow.kind == "data"]
        copies = [flow for flow in copies if flow.to_key.startswith(replica_spot(""))]
        lit.update(flow.to_key for flow in copies)
        others = tuple(flow for flow in scene.flows() if flow not in copies)
        return draw_grid(
            *(grid_of(scene), over, was, lit),
            cast=scene.model.names,
            lines=tuple(lines(scene)) if lines else (),
            copies=copies,
            moved=partial(travelled, replace(scene, kept={"flows": others}), air=AIR),
        )

    return Panel(
        "grid", "Tablets by shard", draw, lambda scene: grid_text(grid_of(scene)), still=True
    )


# -- where the parts lie ---------------------------------------------------------------------------


class GridLayout(Struct, frozen=True):
    """Where cells begin, by node (left, ground), how wide and high they are, each tile's place by
    its key, units to a byte. A node has so many ``lines`` of words below its head; streams begin at
    ``lane``. Where there is no room for tiles there are ``bars``.
    """

    column: float
    cell: float
    high: float
    lines: int
    cells: Mapping[str, tuple[float, float]]
    lane: float
    height: float
    bars: bool
    tiles: Mapping[str, Box] = {}
    scale: float = 0.0

    @property
    def gap(self) -> float:
        """What is between shards."""
        return 1.0 if self.bars else GAP

    def left(self, place: TabletReplica) -> float:
        """Where the cell of a shard begins."""
        return self.cells[place.host][0] + place.shard * (self.cell + self.gap)


def _capacity(grid: TabletGrid) -> int:
    """The tablets that a shard shows one by one: no step changes it."""
    held = sum(len(tablet.replicas) for tablet in grid.tablets) / max(1, len(grid.places))
    return min(len(grid.tablets), ceil(held) + 1) or 1


def layout(grid: TabletGrid, lines: Lines = ()) -> GridLayout:
    """Place nodes in as few rows as there is room for, and their tiles from the ground up; beside
    ``lines`` the tiles of a shard stand side by side.
    """
    letters = (f"{grid.letter(t.table)}{t.number}" for t in grid.tablets)
    wide = max((measured(name, bold=True) for name in letters), default=0) + 6
    shards, nodes = max((host.shards for host in grid.hosts), default=1), len(grid.hosts) or 1
    left, top = LABELS * bool(lines), CARD * grid.asks
    lanes = min(MOST_LANES if grid.asks and not lines else 1, len(grid.tablets))
    below = ASKED * grid.asks + LANE * lanes + 4

    def laid(count: int, least: float, gap: float) -> GridLayout:
        """So many nodes in a row, cells at least so high."""
        rows, column = ceil(nodes / count), (WIDTH - left) / count
        whole = HEIGHT if rows == 1 else HIGHER
        said = 0 if gap < GAP else 1 + (column < TWO_LINES)
        each = TOP + LINE * said + FOOT
        high = least or (whole - top - below) / rows - each
        cell = (column - ASIDE - (shards - 1) * gap) / shards
        cells = {
            host.name: (
                left + i % count * column + ASIDE / 2,
                top + i // count * (each + high) + each - FOOT + high,
            )
            for i, host in enumerate(grid.hosts)
        }
        lane = top + rows * (each + high)
        return GridLayout(column, cell, high, said, cells, lane, lane + below, gap < GAP)

    for rows in (1, 2) if len(grid.tablets) <= MOST_TILES else ():
        lies = laid(ceil(nodes / rows), 0, GAP)
        if lies.high >= LEAST:
            abreast = ceil(_capacity(grid) / (lies.high // LEAST))
            if abreast * wide <= lies.cell:
                return _with_tiles(lies, grid, abreast, lines)
    names = (measured(name, bold=True) + 8 for name in _names(grid).values())
    across = int(WIDTH // max([44.0, shards * THIN + ASIDE, *names]))
    return laid(max(1, min(nodes, across)), BARS, 1.0)


def _with_tiles(lies: GridLayout, grid: TabletGrid, abreast: int, lines: Lines) -> GridLayout:
    most = max([1, *map(len, grid.held.values())])
    abreast = most if lines else abreast
    amount = {each.key: (each.bytes or 0 if grid.sizes else 1) for held in grid.held.values()
              for each in held}  # fmt: skip
    stacks: dict[tuple[TabletReplica, int], list[str]] = {}
    total: Counter[tuple[TabletReplica, int]] = Counter()
    for place, held in grid.held.items():
        for each in held if place.host in lies.cells else ():
            at = min(((place, i) for i in range(abreast)), key=lambda spot: (total[spot], spot[1]))
            stacks.setdefault(at, []).append(each.key)
            total[at] += max(1, amount[each.key])
    largest = max([1, *amount.values()])
    mean = sum(total.values()) / max(1, len(grid.places) * abreast)
    full = max([mean + largest, *total.values()]) if grid.sizes else 0
    if lines:  # only a power of two more is another scale
        full = 3 * max(size for _, size in lines)
        while full < largest:
            full *= 2
    if not grid.sizes:
        full = max([_capacity(grid) / abreast, *total.values(), lies.high / MOST])
    wide, tiles = lies.cell / abreast, {}
    for (place, i), stack in stacks.items():
        sizes = [max(8.0, lies.high * amount[key] / full) for key in stack]
        left, low = lies.left(place), lies.cells[place.host][1]
        shrunk = min(1, lies.high / sum(sizes))
        for key, size in zip(stack, (shrunk * each for each in sizes), strict=True):
            tiles[key] = Box(left + (i + 0.5) * wide, low - size / 2, wide - 4, size - 2)
            low -= size
    return replace(lies, tiles=tiles, scale=lies.high / full)


def _names(grid: TabletGrid) -> Mapping[str, str]:
    return tags(host.name for host in grid.hosts)


# -- what is new -----------------------------------------------------------------------------------


def _acts(scene: Scene, grid: TabletGrid, above: Above) -> Iterator[str]:
    cast = {host_spot(host.name): host.name for host in grid.hosts}
    acts = acting(scene, cast | {k: k for k in above})
    yield acts if acts in above else host_spot(acts)
    if scene.action is not None:  # whose step it is, even if another one asks first
        actor = scene.model.actor_of(scene.before, scene.action)
        yield host_spot(actor)
        tablets = (
            each for each in grid.tablets if _tablet_name(each) == actor and not scene.flows()
        )
        yield from (held.key for each in tablets for held in held_replicas(each))
        if not (acts or actor):
            yield from (host_spot(host.name) for host in grid.hosts if host.leads)


def _things(grid: TabletGrid) -> Iterator[tuple[str, Any]]:
    for each in chain.from_iterable(grid.held.values()):
        is_divided = (each.tablet.number, each.place) in grid.divided
        yield each.key, (each.place, _fill(each), each.tablet.arrived(each.place), is_divided)
    for tablet in grid.moving:
        yield f"work:{_thing(tablet)}", (tablet.ways[0].stage, tablet.ways[0].work)
    for host in grid.hosts:
        yield host_spot(host.name), host


def _thing(tablet: PlacedTablet) -> str:
    return f"{tablet.table}:{tablet.number}"


def _tablet_name(tablet: PlacedTablet) -> str:
    return f"tablet {tablet.table} {tablet.number}"


def _fill(held: HeldReplica) -> Fill:
    read, written = (held.tablet.is_used(held.place, write=write) for write in (False, True))
    return fill_of(read, written, planned=held.part == "pending")


# -- the picture -----------------------------------------------------------------------------------


def draw_grid(
    grid: TabletGrid,
    above: Above = NOTHING,
    was: TabletGrid | None = None,
    lit: Set[str] = frozenset(),
    *,
    cast: Sequence[str] = (),
    lines: Lines = (),
    copies: Sequence[Flow] = (),
    moved: Callable[[Ends], Frag | None] | None = None,
) -> Frag:
    """Draw the grid. What is otherwise than it ``was`` is outlined, and so is what is ``lit``, by
    its key; ``copies`` are streams of this step, ``moved`` draws what else travelled.
    """
    if len(grid.places) > MOST_SHARDS:
        return _draw_nodes(grid)
    lies, hue = layout(grid, lines), _hues(grid, cast)
    before = dict(_things(was)) if was else {}
    changed = {key for key, look in _things(grid) if before.get(key) != look}
    news = lit | changed if was else frozenset()
    every = [each for held in grid.held.values() for each in held if each.key in lies.tiles]
    inside = partial(_bar, grid, lies, full=max([1, *map(grid.count, grid.places)]))
    kids = (
        list(_over(above, grid.led_by, news)),
        [_node(host, grid, lies, hue, was, news, inside) for host in grid.hosts],
        list(_lines(lies, lines)),
        [_tile(each, grid, lies.tiles[each.key], hue, news, above=bool(lines)) for each in every],
        list(_streams(grid, lies, hue, news, copies)) if not lies.bars else None,
        list(_client(grid, lies, hue)) if not lies.bars else None,
    )
    notes = [f"{host.name}: {host.note}" for host in grid.hosts if host.note]
    said = f"tablets by shard: {'; '.join([*grid_lines(grid), *notes])}"
    trailed = moved(Ends(h("g", *kids), WIDTH, lies.height)) if moved and not lies.bars else None
    written = _written(h("g", *kids, trailed))
    said = "; ".join([said, *asked_lines(grid), *(each for each in written if each not in said)])
    picture = drawing(said, WIDTH, lies.height, *kids, trailed, fluid=lies.height < 2 * HEIGHT)
    shown = "; ".join(_legend(grid, every, lies.bars, bool(news)))
    legend = h("p", h("small", shown), class_="legend", title=shown)
    return h("div", picture, legend, _search(grid) if lies.bars else None)


def _hues(grid: TabletGrid, cast: Sequence[str]) -> Mapping[str, str]:
    """The hue of each node; of many that of its rack."""
    names = [host.name for host in grid.hosts]
    if own := hues(sorted({*cast, *names})):
        return own
    by_rack = hues(sorted({host.rack for host in grid.hosts if host.rack}))
    return {host.name: by_rack.get(host.rack, "") for host in grid.hosts}


def _over(above: Above, led_by: str, news: Set[str]) -> Iterator[Frag]:
    x = 2.0
    for k, words in above.items():
        room = 28 * (k == led_by)
        wide = measured(words) + 12 + room
        card = box(x, 2, wide, 22, "slip moved" if k in news else "slip", 4)
        at = f"translate({x + 17:.0f} 15)"
        crown = h("path", d=CROWNED, class_="crown", transform=at) if room else None
        text = h("text", words, x=x + 6 + room, y=18, class_="on soft")
        end = h("rect", x=x + wide / 2, y=24, width=0, height=0, class_="paper", data_end=True)
        yield h("g", card, text, crown, end, k=k, class_="aside", data_of=k)
        x += wide + 8


def _written_on(above: Above) -> Above:
    """What of each card is written: as much as there is room for, with a crown."""
    room = WIDTH - sum(measured(said) + 48 for said in above.values())
    return {
        k: _whole(said, measured(said) + min(0, room) / len(above)) for k, said in above.items()
    }


def _whole(said: str, width: float) -> str:
    while ", " in said and measured(said) > width:
        said = said.rpartition(", ")[0]
    return shortened(said, width)


def _node(
    host: GridHost,
    grid: TabletGrid,
    lies: GridLayout,
    hue: Mapping[str, str],
    was: TabletGrid | None,
    news: Set[str],
    inside: Callable[[TabletReplica, float, float], Frag],
) -> Frag:
    spot, (left, ground) = host_spot(host.name), lies.cells[host.name]
    wide = host.shards * lies.cell + (host.shards - 1) * lies.gap
    x, y, most = left + wide / 2, ground - lies.high - 2, lies.column - 4
    y -= LINE * lies.lines + HEAD + 13
    then = next((each for each in was.hosts if each.name == host.name), host) if was else host
    short = _names(grid)[host.name]
    note = " ".join(filter(None, (host.name * (short != host.name), host.note or host.rack)))
    parts = [(note, host.note != then.note), (host.tag, host.tag != then.tag)]
    both = " ".join(filter(None, (words for words, _ in parts)))
    if lies.lines == 1 or measured(both) <= most:
        parts = [(both, parts[0][1] or parts[1][1])]
    parts = [(shortened(words, most), is_new) for words, is_new in parts if words]
    head = max(HEAD, measured(short, bold=True) / 2)
    count = sum(len(grid.held.get(place, ())) for place in grid.places if place.host == host.name)
    version = host.tag.replace("v", "version ", 1) if host.tag[:1] == "v" else host.tag
    said = ("coordinator" * host.leads, host.rack, host.note, version,
            f"holds {counted(count, 'replica')}" if count else "holds no replica")  # fmt: skip
    return h(
        "g",
        h("title", f"{host.name}: {', '.join(filter(None, said))}"),
        halo("node", HEAD) if spot in news else None,
        h("g", bust(short, head, leads=host.leads), data_end=True),
        list(_signs(host)),
        [
            (fresh(0, HEAD + 13 + LINE * at, measured(words) + 8) if is_new else None,
             word(words, 0, HEAD + 18 + LINE * at, "soft"))
            for at, (words, is_new) in enumerate(parts if not lies.bars else ())
        ],
        [
            _cell(place, lies, x, y, many=host.shards > 1) if not lies.bars else inside(place, x, y)
            for place in grid.places if place.host == host.name
        ],
        h("path", d=f"M{-wide / 2:.0f} {ground - y + 1:.0f}h{wide:.0f}", class_="bars thin"),
        word(_span(grid, host), 0, ground - y + 14, "soft") if lies.bars else None,
        k=spot,
        class_=f"character {host.health} {hue.get(host.name, '')}".rstrip(),
        transform=f"translate({x:.0f} {y:.0f})",
        data_of=host.name,
    )  # fmt: skip


def _signs(host: GridHost) -> Iterator[Frag]:
    signs = ["ban"] * host.is_banned + [host.health] * (host.health in SIGNS_OF_NODES)
    for at, sign in enumerate(signs):
        place = f"translate({HEAD + 9:.0f} {16 * at:.0f})"
        yield h("path", d=SIGNS_OF_NODES[sign], class_=f"sign {sign}", transform=place)


def _cell(place: TabletReplica, lies: GridLayout, x: float, y: float, *, many: bool) -> Frag:
    ground, wide = lies.cells[place.host][1] - y, lies.cell
    name = f"shard {place.shard}"
    name = name if measured(name) < wide else str(place.shard)
    middle = lies.left(place) - x + wide / 2
    return h(
        "g",
        box(round(-wide / 2 - 2, 1), round(-lies.high), round(wide + 4, 1), lies.high, "wire", 4),
        h("rect", width=0, height=0, y=2 - lies.high, class_="paper", data_end=True),
        word(name, 0, 15, "soft") if many else None,
        k=shard_spot(str(place)),
        transform=f"translate({middle:.1f} {ground:.0f})",
    )


def _lines(lies: GridLayout, lines: Lines) -> Iterator[Frag]:
    ground = max((low for _, low in lies.cells.values()), default=0.0)
    for words, size in lines:
        y, wide = ground - size * lies.scale, measured(words) + 6
        yield h("path", d=f"M0 {y:.0f}H{WIDTH:.0f}", class_="inked thin", k=f"line:{words}")
        yield box(0, y - 16, wide, 15, "paper")
        yield word(words, 2, y - 4, "soft", None)


def _tile(
    held: HeldReplica,
    grid: TabletGrid,
    place: Box,
    hue: Mapping[str, str],
    news: Set[str],
    *,
    above: bool,
) -> Frag:
    fill, wide, high = _fill(held), place.width, place.height
    label = _label(held, grid) if held.part == "stray" else _label(held, grid).lstrip("+−")
    stored = held.tablet.ways and held.part in ("pending", "leaving")
    more = STORED[held.tablet.arrived(held.place)] if stored else ""
    more += " yet" * (held.part == "pending" and more == STORED[0.0])
    is_divided = (held.tablet.number, held.place) in grid.divided
    sides = SIDES if is_divided else ("",)
    return h(
        "g",
        h("title", tile_words(held)),
        fresh(0, 0, wide + 5, high + 5) if held.key in news else None,
        [*draw_tile(fill, wide, high, label, more, sides, above=above)],
        k=replica_spot(held.key),
        class_=f"{fill} {hue.get(held.place.host, '')}".rstrip(),
        transform=f"translate({place.x:.0f} {place.y:.0f})",
        data_of=_tablet_name(held.tablet),
    )


def stage_words(stage: str) -> str:
    """A stage in plain words, as the chapter that it begins; its exact name with spaces if none."""
    return told_as(words_of("tablets").chapters, f"tablet 0: {stage}") or stage.replace("_", " ")


def _streams(
    grid: TabletGrid,
    lies: GridLayout,
    hue: Mapping[str, str],
    news: Set[str],
    copies: Sequence[Flow],
) -> Iterator[Frag]:
    """The tablets in transition, those alike together: their stage, their work, the key of their
    session, and the way from tile to tile of what is copied, or was in this step.
    """

    def alike(tablet: PlacedTablet) -> tuple[Any, ...]:
        way = tablet.ways[0]
        return way.stage, way.work, way.session, way.sets.leaving, way.sets.pending

    groups = [list(each) for _, each in groupby(sorted(grid.moving, key=alike), alike)]
    groups.sort(key=lambda group: group[0].number)
    spots = _spots(grid, lies)
    is_flat = len({low for _, low in lies.cells.values()}) == 1  # else wires would cross nodes
    left = [flow for flow in copies if is_flat and {flow.from_key, flow.to_key} <= spots.keys()]
    for lane, group in enumerate(groups[:MOST_LANES]):
        way, y = group[0].ways[0], lies.lane + LANE * (lane + 0.5)
        wires: list[tuple[str, str, str]] = []
        for comes in (each for tablet in group for each in _comes(grid, tablet)):
            here, from_there = replica_spot(comes.key), f"{_thing(comes.tablet)}:{comes.slot}"
            done = [flow.from_key for flow in left if flow.to_key == here]
            begun = "inked" if way.session else "wire dashed"
            awaits = is_flat and way.kind in MOVES and comes.tablet.arrived(comes.place) < 1
            todo = [replica_spot(from_there)] * awaits
            wires += [(source, here, "inked" if done else begun) for source in done or todo]
        mine = tuple(f"{replica_spot(_thing(each))}:" for each in group)
        others = [flow for flow in left if flow.to_key.startswith(mine)]
        left = [flow for flow in left if flow not in others]
        known = {wire[:2] for wire in wires}
        ends = ((flow.from_key, flow.to_key) for flow in others)
        wires += [(*each, "inked") for each in ends if each not in known]
        rest = sum(map(len, groups[MOST_LANES:])) if lane == MOST_LANES - 1 else 0
        numbers = ", ".join(f"{grid.letter(each.table)}{each.number}" for each in group)
        work = f"{stage_words(way.stage)} {''.join(PIPS[each] for each in way.work)}".rstrip()
        words = f"{numbers}: {work}" if len(grid.moving) > 1 else work
        words = shortened(words + f" and {rest} more" * bool(rest), WIDTH - 40)
        is_new = not news.isdisjoint(f"work:{_thing(each)}" for each in group)
        yield from _lane(
            spots, wires, y, hue, (words, way.session), f"work:{_thing(group[0])}", is_new
        )
    words = ", ".join(dict.fromkeys(flow.label for flow in left))
    wires = [(flow.from_key, flow.to_key, "inked") for flow in left]
    y = lies.lane + LANE / 2
    if wires:
        yield from _lane(spots, wires, y, hue, (shortened(words, WIDTH - 40), 0), "moved", True)


def _lane(
    spots: Mapping[str, tuple[Box, str]],
    wires: Sequence[tuple[str, str, str]],
    y: float,
    hue: Mapping[str, str],
    said: tuple[str, int],
    key: str,
    is_new: bool,
) -> Iterator[Frag]:
    """Wires from tile to tile, beside each other tile, with their words on a card."""
    wires = [wire for wire in wires if wire[0] in spots]
    for source, target, kind in wires:
        (a, host), (b, _) = spots[source], spots[target]
        side = 1 if b.x > a.x else -1
        out, back = a.x + side * (a.width / 2 + 6), b.x - side * (b.width / 2 + 6)
        end, tip = b.x - side * (b.width / 2 - 3), b.x - side * (b.width / 2 + 4)
        is_free = source.startswith(shard_spot("")) and a.height > GAP
        start = a.x if is_free else a.x + side * a.width / 2
        if abs(back - out) < 2 * GAP:  # the two are neighbours
            out = back = (out + back) / 2
        way = f"V{y:.0f}H{back:.0f}" * (out != back)
        d = f"M{start:.0f} {a.y:.0f}H{out:.0f}{way}V{b.y:.0f}H{tip:.0f}"
        yield h(
            "g",
            h("path", d=d, class_="stream") if kind == "inked" else None,
            h("path", d=d, class_=kind),
            h("polygon", class_="crown",
              points=f"{end:.0f},{b.y:.0f} {tip:.0f},{b.y - 5:.0f} {tip:.0f},{b.y + 5:.0f}"),
            k=f"trail:{source}>{target}",
            class_=f"trail {hue.get(host, '')}".rstrip(),
        )  # fmt: skip
    (words, session), number = said, str(said[1])
    wide = measured(words) + 10 + (22 + measured(number)) * bool(session)
    ends = [spots[end][0].x for wire in wires for end in wire[:2]]
    x = sum(ends) / len(ends) if ends else WIDTH / 2
    x = max(wide / 2 + 1, min(WIDTH - 1 - wide / 2, x))
    yield h(
        "g",
        box(-wide / 2, -9, wide, 18, "slip moved" if is_new else "slip", 9),
        word(words, 5 - wide / 2, 4.5, "on soft", None),
        [session_key(wide / 2 - measured(number) - 16, 0),
         word(number, wide / 2 - 5, 4.5, "on soft", "end")] if session else None,
        k=key,
        transform=f"translate({x:.0f} {y:.0f})",
    )  # fmt: skip


def _spots(grid: TabletGrid, lies: GridLayout) -> dict[str, tuple[Box, str]]:
    """Where things come from and go to, by key: tiles, and the free room of each shard."""
    spots = {}
    for place in grid.places:
        inside = [each for each in grid.held.get(place, ()) if each.key in lies.tiles]
        for each in inside:
            spots[replica_spot(each.key)] = lies.tiles[each.key], place.host
        low = lies.cells[place.host][1]
        top = min((lies.tiles[each.key].edges[2] for each in inside), default=low)
        free = top - (low - lies.high)
        at = Box(lies.left(place) + lies.cell / 2, top - min(16, free / 2), lies.cell - 4, free)
        spots[shard_spot(str(place))] = at, place.host
    return spots


def _comes(grid: TabletGrid, tablet: PlacedTablet) -> Iterator[HeldReplica]:
    places = dict.fromkeys(place for way in tablet.ways for place in way.sets.pending)
    for each in chain.from_iterable(grid.held.get(place, ()) for place in places):
        if each.tablet is tablet and each.part == "pending":
            yield each


def _client(grid: TabletGrid, lies: GridLayout, hue: Mapping[str, str]) -> Iterator[Frag]:
    """Whom a client of a tablet asks, in one line."""
    if (tablet := asked_tablet(grid)) is None:
        return
    name, x, y = grid.called(tablet), 0.0, lies.height - ASKED / 2
    drawn: list[Frag] = []
    for does, write in (("reads", False), ("writes", True)):
        places = [each for each in held_replicas(tablet) if tablet.is_used(each.place, write=write)]
        drawn.append(word(does, x, 5, "strong", None))
        x += measured(does, bold=True) + 6
        for each in places:
            drawn.append(
                h(
                    "g",
                    bust(_names(grid).get(each.place.host, each.place.host), 13.0),
                    class_=f"character {hue.get(each.place.host, '')}".rstrip(),
                    transform=f"translate({x + 13:.0f} 0)",
                )
            )
            x += 29
        x += 14
    title = h("title", f"a client of {name}")
    wide = measured(name) + 8
    total = x + wide
    yield h(
        "g", title, word(name, 0, 5, "soft", None),
        h("g", drawn, transform=f"translate({wide:.0f} 0)"),
        k="client", transform=f"translate({(WIDTH - total) / 2:.0f} {y:.0f})", data_of="client",
    )  # fmt: skip


def _legend(
    grid: TabletGrid, every: Sequence[HeldReplica], bars: bool, is_new: bool
) -> Iterator[str]:
    kinds = dict.fromkeys(_fill(each) for each in every)
    if not bars:
        yield "number: tablet"
        yield from ("solid: read and written",) * grid.asks
        yield from (FILLS[kind] for kind in kinds if kind in FILLS)
        yield from ("height: size",) * bool(grid.sizes)
    else:
        moving = f"{counted(len(grid.moving), 'tablet')} in transition"
        yield f"a bar per shard; {summary(grid)}; {moving}" + " (outlined)" * bool(grid.moving)
    yield from ("below a column: shard",) * any(host.shards > 1 for host in grid.hosts)
    yield from ("0/1: tablet 0 of 1, in an older map",) * any(t.count for t in grid.tablets)
    leads = bool(grid.led_by) or any(host.leads for host in grid.hosts)
    yield from ("crown: coordinator",) * leads
    yield from ("v: version",) * any(host.tag[:1] == "v" for host in grid.hosts)
    yield from ("ban: excluded",) * any(host.is_banned for host in grid.hosts)
    yield from ("?: data but no replica",) * any(each.part == "stray" for each in every)
    yield from ("key: session",) * any(way.session for t in grid.moving for way in t.ways)
    work = {each for tablet in grid.moving for way in tablet.ways for each in way.work}
    yield from (f"{sign}: work is {name}" for name, sign in PIPS.items() if name in work)
    yield from ("two halves: its data are split",) * bool(grid.divided)
    yield from ("ink outline: new in this step",) * is_new


def asked_tablet(grid: TabletGrid) -> PlacedTablet | None:
    """The tablet whose client is shown: the first that moves, or the first."""
    if not grid.asks or any(each.count for each in grid.tablets) or layout(grid).bars:
        return None  # of several maps: by which one it asks depends on the node
    return next(iter((*grid.moving, *grid.tablets)), None)


def asked_lines(grid: TabletGrid) -> Iterator[str]:
    """Say whom the client asks now."""
    if tablet := asked_tablet(grid):
        held = [each.place for each in held_replicas(tablet)]
        for does, write in (("reads", False), ("writes", True)):
            names = [str(place) for place in held if tablet.is_used(place, write=write)]
            yield f"a client {does} {grid.called(tablet)} at {', '.join(names) or 'no shard'}"


def _written(picture: Frag) -> Iterator[str]:
    for part in picture.walk():
        if part.tag != "title":
            yield from (kid for kid in part.kids if isinstance(kid, str) and not kid.isdecimal())


def _label(held: HeldReplica, grid: TabletGrid) -> str:
    letter = grid.letter(held.tablet.table)
    of = f"/{held.tablet.count}" * bool(held.tablet.count)
    return f"{SIGNS.get(held.part, '')}{letter}{held.tablet.number}{of}"


def tile_words(held: HeldReplica) -> str:
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
    if layout(grid).bars:
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


def _bar(
    grid: TabletGrid, lies: GridLayout, place: TabletReplica, x: float, y: float, *, full: int
) -> Frag:
    left, ground = lies.cells[place.host]
    moves = sum(each.part in ("pending", "leaving") for each in grid.held.get(place, ()))
    high = lies.high * grid.count(place) / full
    words = f"{grid.count(place)}" + f", {counted(moves, 'tablet')} on the way" * bool(moves)
    at = left - x + place.shard * (lies.cell + 1)
    return h(
        "g",
        h("title", f"{place}: {words}"),
        box(0, -lies.high, round(lies.cell, 1), lies.high, "place-of"),
        box(0, round(-high, 1), round(lies.cell, 1), round(high, 1), "fill"),
        box(0, -lies.high, round(lies.cell, 1), lies.high, "inked") if moves else None,
        k=f"load:{place}",
        transform=f"translate({at:.1f} {ground - y:.0f})",
        data_of=place.host,
    )


def _span(grid: TabletGrid, host: GridHost) -> str:
    counts = [grid.count(place) for place in grid.places if place.host == host.name]
    few, many = min(counts), max(counts)
    return f"{few}–{many}" if few < many else f"{few}"


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
    if not (counts := sorted(map(grid.count, grid.places))):
        return "no shard"
    mean = sum(counts) / len(counts)
    shards = f"least {counts[0]:,}, mean {mean:,.1f}, most {counts[-1]:,}"
    return f"{counted(len(grid.tablets), 'tablet')}; replicas per shard: {shards}"
