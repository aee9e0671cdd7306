"""Where the parts of the tablet grid lie, one unit a pixel in the smallest board."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil

from msgspec import Struct

from kit.protocols.tablets.rules.grid import HeldReplica, TabletGrid
from kit.protocols.tablets.rules.replica_sets import TabletReplica
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
