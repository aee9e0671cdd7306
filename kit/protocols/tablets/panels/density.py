"""The grid of very many tablets: each shard with how much it has, against the fullest one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from kit.errors import counted
from kit.protocols.tablets.panels.grid_layout import WIDTH, room_of_names
from kit.protocols.tablets.rules.grid import GridHost, PlacedTablet, TabletGrid
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.views.fragment import Frag, h
from kit.views.parts import scroll, volume

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
            h("ul", [h("li", _place(grid, tablet)) for tablet in listed]),
            searched=True,
        ),
        h("p", f"{counted(more, 'further tablet')} not in this list.", class_="soft")
        if more
        else None,
        k="search:tablets",
        data_kept=True,
        data_sift=True,
    )


def _place(grid: TabletGrid, tablet: PlacedTablet) -> str:
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
