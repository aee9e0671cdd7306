"""``system.topology`` as the table it is: the static columns once, a row per node, null cells too.

What the step changed is marked. Tokens, versions of software and shards are in no state of the
model: those columns are null here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import asdict

from kit.protocols.topology.rules.cluster import ClusterTopology
from kit.protocols.topology.rules.columns import COLUMNS
from kit.protocols.topology.rules.loading import store
from kit.views.alike import ToldApart, draw_others, others_lines, told_apart
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import heads, scroll

NULL = "null"
STATIC = tuple(column.name for column in COLUMNS if column.scope == "static")
OF_ROWS = tuple(column.name for column in COLUMNS if column.scope in ("ck", "row"))
OWN = ("host_id", "tokens", "request_id")
"""Columns in which no two rows are alike."""
MOST_KEPT = 4


class TableTexts(Struct, frozen=True):
    """A table as texts: cells by host ("" for static ones) and column; what rows look like."""

    cells: Mapping[tuple[str, str], str]
    looks: Mapping[str, tuple[str, ...]]


def _of_step(scene: Scene) -> tuple[TableTexts, TableTexts]:
    """The table as it is and as it was."""
    names = scene.model.names
    now = texts(scene.state.topology, names)
    return now, now if scene.before is None else texts(scene.before.topology, names)


@lru_cache(MOST_KEPT)
def texts(topology: ClusterTopology, names: tuple[str, ...]) -> TableTexts:
    """Every cell of a topology; a few are kept, since most steps leave the tables as they are."""
    table, _ = store(topology, names)
    static = asdict(table)
    cells = {("", name): _text(static[name]) for name in STATIC}
    looks = {}
    for row in table.rows:
        own = {name: _text(cell) for name, cell in asdict(row).items()}
        cells |= {(row.host_id, name): own[name] for name in OF_ROWS}
        set_cells = (name for name in OF_ROWS if name not in OWN and own[name] != NULL)
        looks[row.host_id] = tuple(f"{name} = {own[name]}" for name in set_cells)
    return TableTexts(cells, looks)


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
    now, was = _of_step(scene)
    rows = _told_apart(now, was)
    hosts = now.looks
    shown = [name for name in OF_ROWS if any(now.cells[host, name] != NULL for host in hosts)]
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
            h("tbody", [_row(host, shown, now, was) for host in rows.listed]),
        ),
        draw_others(rows.others),
        h("p", f"null in every row: {', '.join(nulls)}", class_="soft") if nulls else None,
    )


def _told_apart(now: TableTexts, was: TableTexts) -> ToldApart[str, tuple[str, ...]]:
    """Of very many hosts those whose rows the step changed, and those unlike most."""

    def keep(host: str) -> bool:
        columns = OF_ROWS if was is not now else ()
        return any(_changed(host, name, now, was) for name in columns)

    return told_apart(tuple(now.looks), now.looks.__getitem__, keep)


def _changed(host: str, name: str, now: TableTexts, was: TableTexts) -> bool:
    return was.cells.get((host, name), NULL) != now.cells[host, name]


def _static(name: str, now: TableTexts, was: TableTexts) -> Frag:
    return h(
        "tr",
        h("th", name, scope="row"),
        _cell("", name, now, was),
        k=f"column:{name}",
    )


def _row(host: str, names: list[str], now: TableTexts, was: TableTexts) -> Frag:
    return h("tr", [_cell(host, name, now, was) for name in names], k=f"host:{host}", data_of=host)


def _cell(host: str, name: str, now: TableTexts, was: TableTexts) -> Frag:
    text = now.cells[host, name]
    changed = _changed(host, name, now, was)
    kind = "changed" if changed else "soft" if text == NULL else None
    return h("td", text, class_=kind)


def table_text(scene: Scene) -> str:
    """Write every cell that is not null, a line each; ``*`` marks what the step changed."""
    now, was = _of_step(scene)
    rows = _told_apart(now, was)
    listed = {"", *rows.listed}
    lines = []
    for (host, name), text in now.cells.items():
        changed = host in listed and _changed(host, name, now, was)
        if changed or (host in listed and text != NULL):
            lines.append(f"{'*' if changed else ' '} {host or 'static'}.{name} = {text}")
    return "\n".join([*lines, *(f"  {line}" for line in others_lines(rows.others))])


TABLE = Panel("table", "system.topology", draw_table, table_text, optional=True, tab="Table")
