"""The tablet grid: a row for each node, a cell for each shard, a chip for each replica.

A tablet in transition has chips in both cells and an arrow between them; when it has moved, its
chip travels. Of more tablets than an eye can follow each cell says how many it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kit.errors import counted
from kit.protocols.tablets.hosts import host_spot, replica_spot
from kit.protocols.tablets.panels.density import draw_density, summary
from kit.protocols.tablets.panels.grid_layout import (
    CHIP,
    LETTER,
    TOP,
    ChipPlace,
    GridLayout,
    has_room,
    layout,
)
from kit.protocols.tablets.rules.grid import GridHost, HeldReplica, Part, PlacedTablet, TabletGrid
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import volume

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
