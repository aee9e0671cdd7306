"""What stands beside a table too long to read: a search box and a summary by node."""

from __future__ import annotations

from collections.abc import Sequence

from kit.errors import counted
from kit.protocols.tcm.facts.large import Served, listed, look, served
from kit.protocols.tcm.facts.memo import memo
from kit.protocols.tcm.facts.moment import RangeRow
from kit.views.declared import Column, Table
from kit.views.fragment import Frag, h
from kit.views.panel import Scene
from kit.views.parts import scroll

MOST_LISTED, LISTED_OF_MORE = 4096, 1024
"""Ranges that a list to search has in full; of more, so many: every page has to hold them."""
CHUNK = 32
MOST_NODES, MOST_ENDS = 200, 24
"""Nodes whose ranges are all counted in a table; of more, so many at either end."""


def search(scene: Scene, keyspace: str, count: int) -> Frag:
    """Draw a box that finds ranges by token, bound or node, among all that are listed."""
    shown = count if count <= MOST_LISTED else LISTED_OF_MORE
    rest = count - shown
    return h(
        "div",
        h(
            "label",
            "find a token, range or node ",
            h("input", type="search", data_filter=True, autocomplete="off"),
        ),
        scroll(
            "ranges found",
            [_chunk(scene, keyspace, first, shown) for first in range(0, shown, CHUNK)],
            searched=True,
        ),
        h("p", f"{rest} further ranges are not in this list.", class_="soft") if rest else None,
        k=f"search:{keyspace}",
        data_kept=True,
        data_sift=True,
    )


def _chunk(scene: Scene, keyspace: str, first: int, shown: int) -> Frag:
    """Draw some rows of the list; most of them are the same after the next event."""
    model, state = scene.model, scene.state
    last = min(first + CHUNK, shown)

    def draw() -> Frag:
        rows = listed(model, state, keyspace, first, last)
        return h(
            "ul",
            [h("li", _plain(row)) for row in rows],
            k=f"chunk:{keyspace}:{rows[0].right}",
            data_kept=True,
        )

    return memo(model, ("chunk", keyspace, look(model, state, keyspace, first, last)), draw)


def _plain(row: RangeRow) -> str:
    same = row.reads == row.writes
    groups = (
        f"{{{', '.join(row.reads)}}}"
        if same
        else f"reads {{{', '.join(row.reads)}}} writes {{{', '.join(row.writes)}}}"
    )
    return f"{row.label} {groups}"


def summary(scene: Scene, keyspace: str) -> Frag:
    """Draw how many ranges each node reads and writes, as a table that opens.

    Of many nodes those that serve the most and the fewest; the others are counted.
    """
    rows = served(scene.model, scene.state, keyspace)
    shown, rest = ends(rows)
    return h(
        "details",
        h("summary", f"ranges by node ({len(rows)} nodes)"),
        Table(
            lambda scene: shown,
            f"serves:{keyspace}:{{0.node}}",
            (Column("node", "node"), Column("reads", "reads"), Column("writes", "writes")),
            caption="Ranges each node serves",
            marked=False,
        ).draw(scene),
        h("p", f"{counted(rest, 'node')} between these are not listed.", class_="soft")
        if rest
        else None,
        k=f"summary:{keyspace}",
        data_kept=True,
        class_="rest",
    )


def ends(rows: Sequence[Served]) -> tuple[Sequence[Served], int]:
    """All rows, where they are few; else those that serve the most, then the fewest; and how many
    there are between them.
    """
    if len(rows) <= MOST_NODES:
        return rows, 0
    order = sorted(rows, key=lambda row: (-row.reads - row.writes, row.node))
    return [*order[:MOST_ENDS], *order[-MOST_ENDS:]], len(rows) - 2 * MOST_ENDS
