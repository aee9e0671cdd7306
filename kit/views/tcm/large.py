"""What stands beside a table too long to read: a search box and a summary by node."""

from __future__ import annotations

from collections.abc import Sequence

from kit.tcm.facts import RangeRow
from kit.views.fragment import Frag, h

MOST_LISTED = 4096
CHUNK = 32


def search(keyspace: str, rows: Sequence[RangeRow]) -> Frag:
    """Draw a box that finds ranges by token, bound or node, among all that are listed."""
    listed = rows[:MOST_LISTED]
    rest = len(rows) - len(listed)
    chunks = [listed[i : i + CHUNK] for i in range(0, len(listed), CHUNK)]
    return h(
        "div",
        h(
            "label",
            "find a token, range or node ",
            h("input", type="search", data_filter=True, autocomplete="off"),
        ),
        h(
            "div",
            [
                h(
                    "ul",
                    [h("li", _plain(one)) for one in chunk],
                    k=f"chunk:{keyspace}:{chunk[0].right}",
                )
                for chunk in chunks
            ],
            data_find=True,
            class_="scroll found",
            tabindex=0,
            role="region",
            aria_label="ranges found",
        ),
        h("p", f"{rest} further ranges are not in this list.", class_="soft") if rest else None,
        k=f"search:{keyspace}",
        data_sift=True,
    )


def _plain(row: RangeRow) -> str:
    same = row.reads == row.writes
    groups = (
        f"{{{', '.join(row.reads)}}}"
        if same
        else f"reads {{{', '.join(row.reads)}}} writes {{{', '.join(row.writes)}}}"
    )
    return f"{row.label} {groups}"


def summary(keyspace: str, rows: Sequence[RangeRow]) -> Frag:
    """Draw how many ranges each node reads and writes, as a table that opens."""
    counts: dict[str, list[int]] = {}
    for one in rows:
        for i, group in enumerate((one.reads, one.writes)):
            for name in group:
                counts.setdefault(name, [0, 0])[i] += 1
    return h(
        "details",
        h("summary", f"ranges by node ({len(counts)} nodes)"),
        h(
            "table",
            h("caption", "Ranges each node serves"),
            h(
                "thead",
                h("tr", [h("th", word, scope="col") for word in ("node", "reads", "writes")]),
            ),
            h(
                "tbody",
                [
                    h(
                        "tr",
                        h("th", name, scope="row"),
                        h("td", reads),
                        h("td", writes),
                        k=f"serves:{keyspace}:{name}",
                    )
                    for name, (reads, writes) in sorted(counts.items())
                ],
            ),
        ),
        k=f"summary:{keyspace}",
        class_="rest",
    )
