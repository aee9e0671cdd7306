"""The line of tokens cut into tablets, with a bracket over each pair that a merge makes one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kit.errors import counted
from kit.protocols.tablets.facts.sibling_pairs import SiblingPair, pairs
from kit.protocols.tablets.rules.maps import TabletMap
from kit.views.alike import draw_others, others_lines, told_apart
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import heads, scroll

WIDTH, EDGE = 380.0, 6.0
LINE, BRACKET, BOX = 62.0, 20.0, 24.0
"""How high a line of tablets is, where its brackets are, how high a tablet is."""
MOST_PAIRS = 64
"""Pairs that are drawn; the table below has what stands out of more."""
A_LINE = 8  # pairs
NO_PAIRS = "There are no pairs: tablets are paired from two on, and by powers of two."
MapOf = Callable[[Scene], TabletMap]


def siblings_panel(map_of: MapOf) -> Panel:
    """Make the panel of a table's siblings."""

    def draw(scene: Scene) -> Frag:
        return draw_pairs(map_of(scene))

    def text(scene: Scene) -> str:
        return "\n".join(f"  {line}" for line in pair_lines(map_of(scene)))

    return Panel("siblings", "Siblings along the tokens", draw, text, tab="Siblings")


def draw_pairs(given: TabletMap) -> Frag:
    """Draw the tablets in their order, brackets over siblings, and where the replicas are."""
    every = pairs(given)
    if not every:
        return h("p", NO_PAIRS, class_="soft")
    shown = every[:MOST_PAIRS]
    lines = [shown[at : at + A_LINE] for at in range(0, len(shown), A_LINE)]
    rows = told_apart(every, _look, lambda pair: bool(pair.moves))
    return scroll(
        "siblings",
        h(
            "svg",
            [list(_line(line, LINE * y)) for y, line in enumerate(lines)],
            viewBox=f"0 0 {WIDTH:.0f} {LINE * len(lines):.0f}",
            width=WIDTH,
            role="img",
            aria_label=f"{counted(given.count, 'tablet')} in {counted(len(every), 'pair')}",
        ),
        h(
            "table",
            h("caption", "what a merge makes one"),
            heads("siblings", "even", "odd", "stands"),
            h("tbody", [_row(given.table, pair) for pair in rows.listed]),
        ),
        draw_others(rows.others),
    )


def _line(line: tuple[SiblingPair, ...], top: float) -> Iterator[Frag]:
    wide = (WIDTH - 2 * EDGE) / (2 * len(line))
    for at, pair in enumerate(line):
        yield _pair(pair, EDGE + 2 * at * wide, top, wide)


def _pair(pair: SiblingPair, left: float, top: float, wide: float) -> Frag:
    """Two tablets and the bracket over them: closed with an equals sign once both are together."""
    sign = "≠" if pair.moves else "="
    over, apart = BRACKET, "" if not pair.moves else " dashed"
    return h(
        "g",
        h("title", _said(pair)),
        h(
            "path",
            d=f"M{wide / 2:.0f} {over + 8:.0f}V{over:.0f}H{1.5 * wide:.0f}V{over + 8:.0f}",
            class_=f"wire{apart}",
        ),
        h("text", sign, x=wide, y=over - 5, text_anchor="middle", class_="strong"),
        [
            h(
                "g",
                h(
                    "rect",
                    x=wide * side + 1,
                    y=over + 10,
                    width=wide - 2,
                    height=BOX,
                    class_="box",
                ),
                h(
                    "text",
                    str(number),
                    x=wide * (side + 0.5),
                    y=over + 10 + BOX / 2 + 4.5,
                    text_anchor="middle",
                    class_="on",
                ),
            )
            for side, number in enumerate((pair.even, pair.odd))
        ],
        k=f"pair:{pair.even}",
        class_=None if pair.moves else "taken",
        transform=f"translate({left:.0f} {top:.0f})",
    )


def _row(table: str, pair: SiblingPair) -> Frag:
    return h(
        "tr",
        h("th", f"{pair.even}, {pair.odd}", scope="row"),
        h("td", " ".join(map(str, pair.even_replicas))),
        h("td", " ".join(map(str, pair.odd_replicas))),
        h("td", _standing(pair)),
        k=f"siblings:{pair.even}",
        data_of=f"tablet {table} {pair.odd}",
    )


def _look(pair: SiblingPair) -> tuple[str, ...]:
    return ("together",) if not pair.moves else ("apart",)


def _standing(pair: SiblingPair) -> str:
    ways = ", ".join(f"{source} → {target}" for source, target in pair.moves)
    return f"apart: {ways}" if ways else "together"


def _said(pair: SiblingPair) -> str:
    return (
        f"tablets {pair.even} and {pair.odd}, tokens after {pair.first} up to {pair.last}: "
        f"{_standing(pair)}"
    )


def pair_lines(given: TabletMap) -> list[str]:
    """A line for each pair that stands out, the others counted."""
    every = pairs(given)
    rows = told_apart(every, _look, lambda pair: bool(pair.moves))
    return [*map(_said, rows.listed), *others_lines(rows.others)] if every else [NO_PAIRS]
