"""What stands beside a table too long to read: a search box and a summary by node."""

from __future__ import annotations

from kit.protocols.tcm.facts.large import listed, look, served
from kit.protocols.tcm.facts.memo import memo
from kit.protocols.tcm.facts.moment import RangeRow
from kit.views.fragment import Frag, h
from kit.views.panel import Scene
from kit.views.parts import heads, scroll

MOST_LISTED = 4096
CHUNK = 32


def search(scene: Scene, keyspace: str, count: int) -> Frag:
    """Draw a box that finds ranges by token, bound or node, among all that are listed."""
    shown = min(count, MOST_LISTED)
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
            [_chunk(scene, keyspace, first) for first in range(0, shown, CHUNK)],
            searched=True,
        ),
        h("p", f"{rest} further ranges are not in this list.", class_="soft") if rest else None,
        k=f"search:{keyspace}",
        data_kept=True,
        data_sift=True,
    )


def _chunk(scene: Scene, keyspace: str, first: int) -> Frag:
    """Draw some rows of the list; most of them are the same after the next event."""
    model, state = scene.model, scene.state
    last = min(first + CHUNK, MOST_LISTED)

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
    """Draw how many ranges each node reads and writes, as a table that opens."""
    rows = served(scene.model, scene.state, keyspace)
    return h(
        "details",
        h("summary", f"ranges by node ({len(rows)} nodes)"),
        h(
            "table",
            h("caption", "Ranges each node serves"),
            heads("node", "reads", "writes"),
            h(
                "tbody",
                [
                    h(
                        "tr",
                        h("th", row.node, scope="row"),
                        h("td", row.reads),
                        h("td", row.writes),
                        k=f"serves:{keyspace}:{row.node}",
                    )
                    for row in rows
                ],
            ),
        ),
        k=f"summary:{keyspace}",
        data_kept=True,
        class_="rest",
    )
