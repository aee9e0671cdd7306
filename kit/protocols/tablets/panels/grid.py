"""The tablet grid: a row for each node, a cell for each shard, a chip for each replica.

A tablet in transition has chips in both cells and an arrow between them; when it has moved, its
chip travels. Of more tablets than an eye can follow each cell says how many it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from math import ceil

from msgspec import Struct

from kit.errors import counted
from kit.protocols.tablets.hosts import host_spot, replica_spot
from kit.protocols.tablets.rules.grid import GridHost, HeldReplica, Part, PlacedTablet, TabletGrid
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import scroll, volume
from kit.views.sizes import NAME_LETTER, SLOT

WIDTH, HEIGHT = SLOT, 288.0
"""What the picture's slot of the smallest board has room for."""
LEFT, TOP = 60.0, 34.0
"""Of nodes' names with *excluded* below, and of the line of group 0 with the shards' numbers."""
LEAST_CELL, CHIP, GAP = 44.0, 20.0, 4.0
LETTER = 7.5  # how wide a letter of a chip is at most
RACK_LETTER = 7.0  # and one of its rack's, below it
LEAST_CHIP = 6.0
MOST_ROW = 76.0


class ChipPlace(Struct, frozen=True):
    """A chip's middle and its width."""

    x: float
    y: float
    width: float


class GridLayout(Struct, frozen=True):
    """The picture's size, that of each cell, and the place of each chip by its key.

    ``left`` is the room for the nodes' names.
    """

    width: float
    height: float
    left: float
    cell: float
    row: float
    tops: Mapping[str, float]
    chips: Mapping[str, ChipPlace]

    @property
    def fits(self) -> bool:
        """Whether all is seen at once in the smallest board."""
        return self.width <= WIDTH and self.height <= HEIGHT


def has_room(grid: TabletGrid) -> bool:
    """Whether the chips of shards that hold as many as the mean are all seen at once.

    No step changes the answer: what is on its way counts where it was. A single line for a node has
    room in any case.
    """
    _, _, cell = _columns(grid)
    longest = max((len(f"{grid.letter(t.table)}{t.number}") for t in grid.tablets), default=1)
    in_line = max(1, int((cell - GAP) // (_chip_width(longest + 1) + GAP)))
    held = sum(len(tablet.replicas) for tablet in grid.tablets)
    lines = ceil(held / max(1, len(grid.places)) / in_line)
    return lines <= 1 or TOP + _least_row(lines) * len(grid.hosts) <= HEIGHT


def room_of_names(grid: TabletGrid) -> float:
    """How wide the room left of the cells is, for the longest of the nodes' names."""
    longest = max((len(host.name) + host.leads for host in grid.hosts), default=0)
    return max(LEFT, NAME_LETTER * longest + 8)


def _columns(grid: TabletGrid) -> tuple[int, float, float]:
    """How many shards stand side by side, the room for the nodes' names, the width of a cell."""
    shards = max((host.shards for host in grid.hosts), default=1)
    rack = max((len(host.rack) for host in grid.hosts), default=0)
    left = max(room_of_names(grid), RACK_LETTER * rack + 4)
    return shards, left, max(LEAST_CELL, (WIDTH - left) / shards)


def _least_row(lines: int) -> float:
    return lines * (CHIP + GAP) + 2 * GAP


def _chip_width(letters: int) -> float:
    return max(CHIP + GAP, LETTER * (letters + 1) + 6)


def layout(grid: TabletGrid, label: Mapping[str, str], *, by_storage: bool) -> GridLayout:
    """Place the chips of every shard, line by line, in cells that are all as large.

    ``label`` gives each chip what is written on it. ``by_storage``: the chips' areas stand to each
    other as their bytes do, but for those that would be too small to be seen.
    """
    shards, left, cell = _columns(grid)
    wide = _widths(grid, cell) if by_storage else _equal(grid, label)
    packed = {place: _packed(held, wide, cell - 2 * GAP) for place, held in grid.held.items()}
    lines = max((lines for _, lines in packed.values()), default=1)
    least = _least_row(lines)
    spare = (HEIGHT - TOP) / max(1, len(grid.hosts))
    row = max(least, min(spare, MOST_ROW))
    tops = {host.name: TOP + row * i for i, host in enumerate(grid.hosts)}
    chips = {
        each.key: _place(tops, place, each, offset, (left, cell), wide)
        for place, (offsets, _) in packed.items()
        if place.host in tops
        for each, offset in zip(grid.held[place], offsets, strict=True)
    }
    return GridLayout(
        left + cell * shards + 2, TOP + row * len(grid.hosts) + 2, left, cell, row, tops, chips
    )


def _place(
    tops: Mapping[str, float],
    place: TabletReplica,
    held: HeldReplica,
    offset: tuple[float, int],
    cells: tuple[float, float],
    wide: Mapping[str, float],
) -> ChipPlace:
    (x, line), (left, cell) = offset, cells
    middle = left + cell * place.shard + GAP + x + wide[held.key] / 2
    below = GAP + line * (CHIP + GAP) + CHIP / 2
    return ChipPlace(middle, tops[place.host] + below, wide[held.key])


def _all(grid: TabletGrid) -> Iterable[HeldReplica]:
    return (each for held in grid.held.values() for each in held)


def _equal(grid: TabletGrid, label: Mapping[str, str]) -> Mapping[str, float]:
    """Chips of the same width, on which every label has room."""
    longest = max((len(text) for text in label.values()), default=1)
    return dict.fromkeys((each.key for each in _all(grid)), _chip_width(longest))


def _widths(grid: TabletGrid, cell: float) -> Mapping[str, float]:
    """Widths that stand to each other as bytes do; the fullest shard has at most some two lines."""
    fullest = max((grid.bytes(place) for place in grid.held), default=0) or 1
    largest = max((each.bytes or 0 for each in _all(grid)), default=0) or 1
    room = cell - 2 * GAP
    pixels = min(1.6 * room / fullest, room / largest)
    return {each.key: max(LEAST_CHIP, (each.bytes or 0) * pixels) for each in _all(grid)}


def _packed(
    held: Sequence[HeldReplica], wide: Mapping[str, float], room: float
) -> tuple[list[tuple[float, int]], int]:
    """Where each chip begins and on which line, and how many lines there are."""
    offsets, x, line = [], 0.0, 0
    for each in held:
        if x and x + wide[each.key] > room:
            x, line = 0.0, line + 1
        offsets.append((x, line))
        x += wide[each.key] + GAP
    return offsets, line + 1


CELLS = {False: 40.0, True: 72.0}
"""How wide a cell is at least; bytes take more room than counts."""
ROW = 24.0
MOST_LISTED = 2048
"""Tablets that the search box knows."""
MOST_SHARDS = 1024
"""Shards that are drawn singly; of more there is a cell for each node."""


def draw_density(grid: TabletGrid, *, by_storage: bool) -> Frag:
    """Draw a cell for each shard, filled as far as it holds of what the fullest one does.

    Of very many shards a cell is a node, and its bar the mean of its shards.
    """
    singly = len(grid.places) <= MOST_SHARDS
    left, least = room_of_names(grid), CELLS[by_storage]
    across = max(1, int((WIDTH - left) // least))
    rows = list(_by_shard(grid) if singly else _by_node(grid, across))
    amount = grid.bytes if by_storage else grid.count
    means = [[sum(map(amount, places)) / len(places) for _, _, places in row] for row in rows]
    fullest = max((mean for row in means for mean in row), default=0) or 1
    columns = max(map(len, rows), default=1)
    cell = max(least, (WIDTH - left) / columns)
    prefix = "storage:" if by_storage else ""
    drawn = [
        _cell(prefix, each, mean, fullest, (left + cell * x, ROW * y, cell), by_storage=by_storage)
        for y, (row, amounts) in enumerate(zip(rows, means, strict=True))
        for x, (each, mean) in enumerate(zip(row, amounts, strict=True))
    ]
    names = [
        h("text", row[0][1], x=2, y=ROW * y + 16, class_="strong") for y, row in enumerate(rows)
    ]
    width, height = left + cell * columns + 2, ROW * len(rows) + 2
    return h(
        "div",
        h(
            "svg",
            names,
            drawn,
            viewBox=f"0 0 {width:.0f} {height:.0f}",
            width=width,
            role="img",
            aria_label=f"load of {counted(len(grid.places), 'shard')}: {summary(grid)}",
        ),
        h("p", h("small", _legend(grid, singly=singly)), class_="legend"),
        None if by_storage else _search(grid),
    )


def _search(grid: TabletGrid) -> Frag:
    """A box that finds tablets by number, node or shard; those in transition are listed first."""
    moving = {id(tablet) for tablet in grid.moving}
    rest = (tablet for tablet in grid.tablets if id(tablet) not in moving)
    listed = tuple(islice(chain(grid.moving, rest), MOST_LISTED))
    more = len(grid.tablets) - len(listed)
    return h(
        "div",
        h(
            "label",
            "find a tablet, node or shard ",
            h("input", type="search", data_filter=True, autocomplete="off"),
        ),
        scroll(
            "tablets found",
            h("ul", [h("li", _where(grid, tablet)) for tablet in listed]),
            searched=True,
        ),
        h("p", f"{counted(more, 'further tablet')} not in this list.", class_="soft")
        if more
        else None,
        k="search:tablets",
        data_kept=True,
        data_sift=True,
    )


def _where(grid: TabletGrid, tablet: PlacedTablet) -> str:
    """Where a tablet is: its replicas, and where a transition brings it."""
    name = f"tablet {tablet.number}" + (f" of {tablet.table}" if len(grid.tables) > 1 else "")
    places = ", ".join(map(str, tablet.replicas))
    ways = "".join(
        f"; {way.kind} in {way.stage} to {', '.join(map(str, way.sets.new))}" for way in tablet.ways
    )
    return f"{name}: {places}{ways}"


Cell = tuple[str, str, tuple[TabletReplica, ...]]
"""What a cell is called, what its row is called, the shards that it stands for."""


def _by_shard(grid: TabletGrid) -> Iterator[list[Cell]]:
    for host in grid.hosts:
        yield [(str(place), host.name, (place,)) for place in _shards(host)]


def _by_node(grid: TabletGrid, across: int) -> Iterator[list[Cell]]:
    for first in range(0, len(grid.hosts), across):
        some = grid.hosts[first : first + across]
        yield [(host.name, some[0].name, _shards(host)) for host in some]


def _shards(host: GridHost) -> tuple[TabletReplica, ...]:
    return tuple(TabletReplica(host.name, shard) for shard in range(host.shards))


def _cell(
    prefix: str,
    each: Cell,
    mean: float,
    fullest: float,
    at: tuple[float, float, float],
    *,
    by_storage: bool,
) -> Frag:
    name, _, places = each
    x, y, wide = at
    full = (wide - 3) * mean / fullest
    words = volume(round(mean)) if by_storage else f"{mean:.0f}"
    return h(
        "g",
        h("title", f"{name}: {words}" + (" per shard" if len(places) > 1 else "")),
        h("rect", x=1, y=1, width=wide - 3, height=ROW - 3, class_="wire"),
        h("rect", x=1, y=1, width=full, height=ROW - 3, class_="band"),
        h("text", words, x=wide / 2, y=16, text_anchor="middle"),
        k=f"{prefix}load:{name}",
        transform=f"translate({x:.0f} {y:.0f})",
        data_of=places[0].host,
    )


def summary(grid: TabletGrid) -> str:
    """How many tablets there are, and the least, the mean and the most on a shard."""
    counts = sorted(map(grid.count, grid.places))
    if not counts:
        return "no shard"
    mean = sum(counts) / len(counts)
    return (
        f"{counted(len(grid.tablets), 'tablet')}; replicas of a shard: least {counts[0]:,}, "
        f"mean {mean:,.1f}, most {counts[-1]:,}"
    )


def _legend(grid: TabletGrid, *, singly: bool) -> str:
    what = "a cell per shard" if singly else "a cell per node, its bar the mean of its shards"
    moving = len(grid.moving)
    return f"{what}; {summary(grid)}; {counted(moving, 'tablet')} in transition"


MOST_CHIPS = 300
"""Tablets that are drawn singly, where they have room."""
BOW = 40.0  # how far the way of a move leads aside
SIGNS: dict[Part, str] = {"pending": "+", "leaving": "−", "stray": "?"}
LOOKS: dict[Part, tuple[str | None, str]] = {
    "": (None, "box"),
    "pending": ("letter pending added", "seat"),
    "leaving": ("letter removed", "seat"),
    "stray": (None, "box dashed"),
}
"""The classes of a chip and of its shape."""
PORT = 6
"""How far a node's place is from its cells."""
LEADS = "★"
LEGEND = "+ comes, − goes, ? data without being a replica; dashed: not read or not for long"
HALF = 163.0
GridOf = Callable[[Scene], TabletGrid]
Above = Mapping[str, str]
"""What stands over a grid, by its key: where commands are committed, what is on its way."""
NOTHING: Above = {}


def grid_panel(grid_of: GridOf, above: Callable[[Scene], Above] = lambda scene: {}) -> Panel:
    """Make the panel of a grid; ``above`` says what stands over it."""

    def draw(scene: Scene) -> Frag:
        return draw_grid(grid_of(scene), above(scene))

    return Panel("grid", "Tablets by shard", draw, lambda s: grid_text(grid_of(s)), still=True)


def storage_panel(grid_of: GridOf) -> Panel:
    """Make the panel of the same grid in which areas are storage; without sizes there is none."""

    def draw(scene: Scene) -> Frag:
        return draw_grid(grid_of(scene), by_storage=True)

    return Panel(
        "storage",
        "Tablets by storage",
        draw,
        lambda scene: storage_text(grid_of(scene)),
        shown=lambda scene: bool(grid_of(scene).sizes),
        optional=True,
        tab="Storage",
    )


def draws_chips(grid: TabletGrid) -> bool:
    """Whether an eye can follow single tablets."""
    return len(grid.tablets) <= MOST_CHIPS and has_room(grid)


def draw_grid(grid: TabletGrid, above: Above = NOTHING, *, by_storage: bool = False) -> Frag:
    """Draw the grid; ``by_storage``: with areas as bytes, else all chips are as large."""
    if not draws_chips(grid):
        return draw_density(grid, by_storage=by_storage)
    prefix = "storage:" if by_storage else ""
    labels = {each.key: _label(each, grid) for held in grid.held.values() for each in held}
    lies = layout(grid, labels, by_storage=by_storage)
    return h(
        "div",
        h(
            "svg",
            [
                h("text", text, x=lies.left + i * HALF, y=12, k=k)
                for i, (k, text) in enumerate(above.items())
            ],
            list(_shard_heads(lies, grid)),
            [_row(prefix, host, lies) for host in grid.hosts],
            [
                _arrow(prefix, tablet, each, lies)
                for tablet in grid.moving
                for each in _comes(grid, tablet)
            ],
            [
                _chip(prefix, each, labels[each.key], lies.chips[each.key])
                for held in grid.held.values()
                for each in held
                if each.key in lies.chips
            ],
            viewBox=f"0 0 {lies.width:.0f} {lies.height:.0f}",
            width=None if lies.fits and not by_storage else lies.width,
            role="img",
            aria_label=f"tablets by shard: {'; '.join([*grid_lines(grid), *_notes(grid)])}",
        ),
        h("p", h("small", LEGEND), class_="legend"),
    )


def _label(held: HeldReplica, grid: TabletGrid) -> str:
    """The tablet's number; of several tables, after the table's letter."""
    letter = grid.letter(held.tablet.table)
    return f"{SIGNS.get(held.part, '')}{letter}{held.tablet.number}"


def _shard_heads(lies: GridLayout, grid: TabletGrid) -> Iterator[Frag]:
    shards = max((host.shards for host in grid.hosts), default=1)
    for shard in range(shards) if shards > 1 else ():
        x = lies.left + lies.cell * (shard + 0.5)
        words = f"shard {shard}" if lies.cell > 7 * LETTER else str(shard)
        yield h("text", words, x=x, y=TOP - 6, text_anchor="middle", class_="soft")


def _row(prefix: str, host: GridHost, lies: GridLayout) -> Frag:
    """A node's name and the cells of its shards; its place is behind its name, where flows end."""
    note = host.note or host.rack
    full = ", ".join(filter(None, (host.name, host.rack, host.note)))
    kind = "wire dashed" if host.note else "wire"
    left, top = lies.left - PORT, lies.row / 2
    return h(
        "g",
        h("title", full),
        h(
            "text",
            f"{LEADS * host.leads}{host.name}",
            x=2 - left,
            y=0 if note else 5,
            class_="strong",
        ),
        h("text", note, x=2 - left, y=15, class_="soft") if note else None,
        [
            h(
                "rect",
                x=lies.left + lies.cell * shard + 1 - left,
                y=1 - top,
                width=lies.cell - 2,
                height=lies.row - 2,
                rx=4,
                class_=kind,
            )
            for shard in range(host.shards)
        ],
        k=f"{prefix}{host_spot(host.name)}",
        transform=f"translate({left:.0f} {lies.tops[host.name] + top:.0f})",
        data_of=host.name,
    )


def _chip(prefix: str, held: HeldReplica, label: str, place: ChipPlace) -> Frag:
    has_room = LETTER * len(label) + 2 <= place.width
    return h(
        "g",
        h("title", said(held)),
        h(
            "rect",
            x=-place.width / 2,
            y=-CHIP / 2,
            width=place.width,
            height=CHIP,
            rx=4,
            class_=LOOKS[held.part][1],
        ),
        h("text", label, y=4.5, text_anchor="middle", class_="on") if has_room else None,
        k=f"{prefix}{replica_spot(held.key)}",
        class_=LOOKS[held.part][0],
        transform=f"translate({place.x:.0f} {place.y:.0f})",
        data_of=f"tablet {held.tablet.table} {held.tablet.number}",
    )


def _comes(grid: TabletGrid, tablet: PlacedTablet) -> Iterator[HeldReplica]:
    """The halves of a tablet's moves that are on their way, with another half."""
    places = dict.fromkeys(place for way in tablet.ways for place in way.sets.pending)
    for place in places:
        for each in grid.held.get(place, ()):
            if each.tablet is tablet and each.part == "pending" and each.twin:
                yield each


def _arrow(prefix: str, tablet: PlacedTablet, held: HeldReplica, lies: GridLayout) -> Frag | None:
    """From the half that leaves to the half that comes, bent so that it passes beside others."""
    source = f"{tablet.table}:{tablet.number}:{held.slot}"
    if source not in lies.chips or held.key not in lies.chips:
        return None
    a, b = lies.chips[source], lies.chips[held.key]
    way = next(way for way in tablet.ways if held.place in way.sets.pending)
    return h(
        "g",
        h("title", f"tablet {tablet.number}: {way.kind}, {way.stage}"),
        list(_drawn_way(a, b)),
        k=f"{prefix}way:{held.key}",
        class_="taken",
    )


def _drawn_way(a: ChipPlace, b: ChipPlace) -> Iterator[Frag]:
    """From node to node a bow beside the chips between, within a row one over them."""
    if a.y == b.y:
        side, over = CHIP / 2, min(a.y, b.y) - CHIP - 8
        begin, bows = a.y - side, ((a.x + b.x) / 2, over)
        end, ahead = b.y - side, (0.5 if b.x > a.x else -0.5, 1.0)
    else:
        down = 1 if b.y > a.y else -1
        side = CHIP / 2 * down
        begin, bows = a.y + side, (max(a.x, b.x) + BOW, (a.y + b.y) / 2)
        end, ahead = b.y - side, (-0.4, float(down))
    yield h(
        "path",
        d=f"M{a.x:.0f} {begin:.0f}Q{bows[0]:.0f} {bows[1]:.0f} {b.x:.0f} {end:.0f}",
        class_="wire",
    )
    x, y = ahead
    back = (b.x - 9 * x, end - 9 * y)
    points = [(b.x, end), (back[0] - 4 * y, back[1] + 4 * x), (back[0] + 4 * y, back[1] - 4 * x)]
    yield h("polygon", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_="tip")


def said(held: HeldReplica) -> str:
    """What a shard has of a tablet, as a sentence."""
    what = f"tablet {held.tablet.number} of {held.tablet.table} at {held.place}"
    size = "" if held.bytes is None else f", {volume(held.bytes)}"
    twin = f" {'from' if held.part == 'pending' else 'to'} {held.twin}" if held.twin else ""
    how = {
        "": "",
        "pending": f": comes{twin}",
        "leaving": f": goes{twin}",
        "stray": ": data, but no replica",
    }[held.part]
    return f"{what}{size}{how}"


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


def _notes(grid: TabletGrid) -> list[str]:
    """What stands below the names of nodes."""
    return [f"{host.name}: {host.note}" for host in grid.hosts if host.note]


def grid_text(grid: TabletGrid) -> str:
    """Write the grid, a line for each shard that has tablets."""
    return "\n".join(f"  {line}" for line in [*grid_lines(grid), *_moves(grid)])


def storage_text(grid: TabletGrid) -> str:
    """Write the bytes of each shard."""
    return "\n".join(f"  {place}: {volume(grid.bytes(place))}" for place in grid.places)


def _moves(grid: TabletGrid) -> Iterator[str]:
    for tablet in grid.moving:
        for way in tablet.ways:
            ends = [" ".join(map(str, each)) for each in (way.sets.leaving, way.sets.pending)]
            places = " → ".join(filter(None, ends))
            yield f"tablet {tablet.number}: {way.kind} in {way.stage} {places}".rstrip()
