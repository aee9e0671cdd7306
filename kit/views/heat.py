"""Large is a heat map with a lens: of many nodes a mark each, block by block for what matters.

A node has the same place in every block. Its mark is hollow for what most of them share, and has a
shape of its own for each other value; what the step changed has a heavy line. Who moves is an arc
between two cells, as thick as much moves. Hover or focus shows a node's line below.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import ceil

from msgspec import Struct

from kit.errors import counted
from kit.views.fragment import Frag, h
from kit.views.labels import shortened
from kit.views.parts import soft, word

MOST_NODES = 24
"""Nodes that a picture of characters has room for; of more there is a heat map."""
MOST_SINGLE = 128
"""Marks of a block that can be chosen one by one; of more those of an uncommon value."""
MOST_ARCS, THICK = 12, 4
WIDTH, HEIGHT, TITLE, LENS, GAP, LARGEST = 380.0, 310.0, 36.0, 40.0, 8.0, 22.0
LOOKS = ("□", "■", "●", "▲", "✚")
"""The marks of values, from the commonest; all others share the last one."""


class Aspect(Struct, frozen=True):
    """What matters of nodes: a value for each that has one, and those for whom it changed.

    ``so_far`` stands beside the title: how many have come.
    """

    title: str
    values: Mapping[str, str]
    changed: frozenset[str] = frozenset()
    so_far: str = ""

    @property
    def head(self) -> str:
        """What stands over it."""
        return f"{self.title}: {self.so_far}" if self.so_far else self.title


class Block(Struct, frozen=True):
    """Where an aspect stands, how many marks are in a row of it, and how large one is."""

    x: float
    y: float
    across: int
    size: float

    def at(self, place: int) -> tuple[float, float]:
        """The middle of a node's mark."""
        row, column = divmod(place, self.across)
        return self.x + (column + 0.5) * self.size, self.y + TITLE + (row + 0.5) * self.size


def blocks(count: int, aspects: int) -> list[Block]:
    """Where so many aspects of so many nodes stand: two side by side where there are several."""
    columns = 1 if aspects < 2 else 2
    rows = ceil(aspects / columns)
    wide, high = WIDTH / columns - GAP, (HEIGHT - LENS) / rows - TITLE - GAP
    across = next(n for n in range(1, count + 1) if ceil(count / n) * wide / n <= high)
    size = min(wide / across, LARGEST)
    return [
        Block(column * (wide + GAP), row * (high + TITLE + GAP), across, size)
        for row in range(rows)
        for column in range(columns)
    ][:aspects]


def ranked(aspect: Aspect) -> list[tuple[str, int]]:
    """Each value and how many have it, the commonest first."""
    return Counter(aspect.values.values()).most_common()


def looks(aspect: Aspect) -> dict[str, int]:
    """The number of the mark of each value, the commonest first."""
    return {value: min(at, len(LOOKS) - 1) for at, (value, _) in enumerate(ranked(aspect))}


def shares(aspect: Aspect) -> str:
    """Say how many have each value: ``□ 2 ×68, ■ 3 ×32``."""
    values = ranked(aspect)
    common = zip(LOOKS, values[:3], strict=False)
    parts = [f"{mark} {value} ×{count}" for mark, (value, count) in common]
    rest = len(values) - 3
    return ", ".join(parts) + (f" and {rest} more" if rest > 0 else "")


def heat_lines(aspects: Sequence[Aspect]) -> Iterator[str]:
    """Write it: how many have each value, then each node for which something changed."""
    yield from (f"{each.head}: {shares(each)}" for each in aspects)
    changed = dict.fromkeys(
        name for each in aspects for name in each.values if name in each.changed
    )
    yield from (node_line(name, aspects) for name in islice(changed, MOST_ARCS))


def draw_heat(
    keys: Mapping[str, str],
    aspects: Sequence[Aspect],
    said: str,
    movers: Mapping[tuple[str, str], int] | None = None,
) -> Frag:
    """Draw the heat map of nodes; ``keys`` name them for good, where what travels ends.

    Those without a value of the first aspect stand below. ``movers`` are pairs of nodes with how
    much moves between them.
    """
    names = [name for name in keys if name in aspects[0].values]
    laid = blocks(len(names), len(aspects))
    number = {name: at for at, name in enumerate(names)}
    lines = {name: node_line(name, aspects) for name in names}
    room = laid[1].x - GAP if len(laid) > 1 else WIDTH
    drawn = [
        h(
            "g",
            h("title", f"{aspect.head}: {shares(aspect)}"),
            word(shortened(aspect.head, room, bold=True), block.x, block.y + 13, "strong", None),
            word(shortened(shares(aspect), room), block.x, block.y + 29, None, None),
            list(_marks(aspect, block, names, lines, keys if at == 0 else {})),
            k=f"heat:{aspect.title}",
        )
        for at, (aspect, block) in enumerate(zip(aspects, laid, strict=True))
    ]
    thickest = sorted((movers or {}).items(), key=lambda each: (-each[1], each[0]))
    arcs = [
        _arc(laid[0].at(number[source]), laid[0].at(number[target]), f"{source}:{target}", many)
        for (source, target), many in thickest[:MOST_ARCS]
        if source in number and target in number
    ]
    rest = len(thickest) - MOST_ARCS
    more = f"and {counted(rest, 'more pair')}" if rest > 0 else ""
    return h(
        "div",
        h(
            "svg",
            drawn,
            arcs,
            [
                h(
                    "g",
                    word(name, 0, 0, "soft", None),
                    k=key,
                    transform=f"translate({2 + 130 * at} {HEIGHT - 24:.0f})",
                )
                for at, (name, key) in enumerate((k, v) for k, v in keys.items() if k not in number)
            ],
            word("", 2, HEIGHT - 6, "lens", None),
            viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
            role="group",
            aria_label=said,
            class_="heat",
            data_rove=True,
        ),
        soft(more),
    )


def node_line(name: str, aspects: Sequence[Aspect]) -> str:
    """What the lens shows of a node."""
    parts = (f"{each.title} {each.values[name]}" for each in aspects if each.values.get(name))
    return f"{name}: {', '.join(parts)}"


def _marks(
    aspect: Aspect,
    block: Block,
    names: Sequence[str],
    lines: Mapping[str, str],
    keys: Mapping[str, str],
) -> Iterator[Frag]:
    marks, size = looks(aspect), block.size * 0.76
    known = [(at, name) for at, name in enumerate(names) if name in aspect.values]
    apart = {name for _, name in known}
    if len(names) > MOST_SINGLE:
        uncommon = (name for _, name in known if marks[aspect.values[name]])
        apart = {*aspect.changed, *islice(uncommon, MOST_SINGLE)} & apart
        together: dict[int, list[str]] = {}
        for at, name in known:
            if name not in apart:
                x, y = block.at(at)
                mark = marks[aspect.values[name]]
                together.setdefault(mark, []).append(_shape(mark, x, y, size))
        for mark, shapes in together.items():
            yield h("path", d="".join(shapes), class_=_look(mark), k=f"heat:{aspect.title}:{mark}")
    for at, name in known:
        if name in apart:
            mark, (x, y) = marks[aspect.values[name]], block.at(at)
            kind = _look(mark) + " moved" * (name in aspect.changed)
            yield h(
                "g",
                h("title", lines[name]),
                h("path", d=_shape(mark, 0, 0, size), class_=kind),
                k=keys.get(name, f"heat:{aspect.title}:{name}"),
                transform=f"translate({x:.1f} {y:.1f})",
                data_of=name,
                data_lens=True,
                data_roving=True if keys else None,
                tabindex=("0" if at == 0 else "-1") if keys else None,
                role="img" if keys else None,
                aria_label=lines[name] if keys else None,
            )


def _look(mark: int) -> str:
    return "mark" if mark else "mark common"


def _shape(mark: int, x: float, y: float, size: float) -> str:
    half = size / 2
    if mark == 2:
        arc = f"a{half:.1f} {half:.1f} 0 1 0"
        return f"M{x - half:.1f} {y:.1f}{arc} {size:.1f} 0{arc} {-size:.1f} 0z"
    if mark == 3:
        return f"M{x:.1f} {y - half:.1f}l{half:.1f} {size:.1f}h{-size:.1f}z"
    if mark == 4:
        return f"M{x - half:.1f} {y:.1f}h{size:.1f}m{-half:.1f} {-half:.1f}v{size:.1f}"
    return f"M{x - half:.1f} {y - half:.1f}h{size:.1f}v{size:.1f}h{-size:.1f}z"


def _arc(begin: tuple[float, float], end: tuple[float, float], key: str, many: int) -> Frag:
    (x1, y1), (x2, y2) = begin, end
    bend = (x1 + x2) / 2 + (y2 - y1) / 3, (y1 + y2) / 2 - (x2 - x1) / 3
    path = f"M{x1:.0f} {y1:.0f}Q{bend[0]:.0f} {bend[1]:.0f} {x2:.0f} {y2:.0f}"
    source, target = key.split(":", 1)
    return h(
        "g",
        h("title", f"{source} → {target}: {many:,}"),
        h("path", d=path, class_="wire thick" if many >= THICK else "wire"),
        h("circle", cx=round(x2), cy=round(y2), r=3 + min(4, many.bit_length()), class_="dot"),
        k=f"mover:{key}",
    )
