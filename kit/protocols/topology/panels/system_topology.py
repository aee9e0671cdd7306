"""``system.topology`` as the table it is: the static columns once, a row per node, null cells too.

What the step changed is marked. Tokens, versions of software and shards are in no state of the
model: those columns are null here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict

from kit.protocols.topology.rules.columns import COLUMNS
from kit.protocols.topology.rules.loading import store
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import heads, scroll

NULL = "null"
STATIC = tuple(column.name for column in COLUMNS if column.scope == "static")
OF_ROWS = tuple(column.name for column in COLUMNS if column.scope in ("ck", "row"))
Cells = dict[tuple[str, str], str]


def cells(scene: Scene, state: Any) -> Cells:
    """Every cell by host ("" for static ones) and column."""
    table, _ = store(state.topology, scene.model.names)
    static = asdict(table)
    texts = {("", name): _text(static[name]) for name in STATIC}
    for row in table.rows:
        own = asdict(row)
        texts |= {(row.host_id, name): _text(own[name]) for name in OF_ROWS}
    return texts


def _text(value: object) -> str:
    """A cell as cqlsh prints it."""
    if value is None or value == ():
        return NULL
    if isinstance(value, tuple):
        parts = (
            ", ".join(filter(None, part)) if isinstance(part, tuple) else part for part in value
        )
        return "{" + ", ".join(map(str, parts)) + "}"
    return str(value)


def draw_table(scene: Scene) -> Frag:
    """Draw the static columns as a list of two columns, the rows below."""
    now = cells(scene, scene.state)
    was = now if scene.before is None else cells(scene, scene.before)
    hosts = list(dict.fromkeys(host for host, _ in now if host))
    shown = [name for name in OF_ROWS if any(now[host, name] != NULL for host in hosts)]
    nulls = [name for name in OF_ROWS if name not in shown]
    return scroll(
        "system.topology",
        h(
            "table",
            h("caption", "Static columns"),
            heads("column", "value"),
            h("tbody", [_static(name, now, was) for name in STATIC]),
        ),
        h(
            "table",
            h("caption", "A row for each node"),
            heads(*shown),
            h("tbody", [_row(host, shown, now, was) for host in hosts]),
        ),
        h("p", f"null in every row: {', '.join(nulls)}", class_="soft") if nulls else None,
    )


def _static(name: str, now: Cells, was: Cells) -> Frag:
    return h(
        "tr",
        h("th", name, scope="row"),
        _cell("", name, now, was),
        k=f"column:{name}",
    )


def _row(host: str, names: list[str], now: Cells, was: Cells) -> Frag:
    return h("tr", [_cell(host, name, now, was) for name in names], k=f"host:{host}", data_of=host)


def _cell(host: str, name: str, now: Cells, was: Mapping[tuple[str, str], str]) -> Frag:
    text = now[host, name]
    changed = was.get((host, name), NULL) != text
    kind = "changed" if changed else "soft" if text == NULL else None
    return h("td", text, class_=kind)


def table_text(scene: Scene) -> str:
    """Write every cell that is not null, a line each; ``*`` marks what the step changed."""
    now = cells(scene, scene.state)
    was = now if scene.before is None else cells(scene, scene.before)
    return "\n".join(
        f"{'*' if was.get(place, NULL) != text else ' '} {place[0] or 'static'}.{place[1]} = {text}"
        for place, text in now.items()
        if text != NULL or was.get(place, NULL) != NULL
    )


TABLE = Panel("table", "system.topology", draw_table, table_text, optional=True, tab="Table")
