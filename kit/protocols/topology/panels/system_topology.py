"""``system.topology`` as the table it is: the static columns once, a row per node, null cells too.

What the step changed is marked. A request's id is that of the group 0 state that it made, and the
time of a CDC generation is that of the command that committed it (a server adds twice the ring
delay). Versions of software and shards are in no state of the model: those columns are null here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import asdict, replace

from kit.protocols.topology.facts.commands import RunIds, run_ids
from kit.protocols.topology.rules.cluster import ClusterTopology
from kit.protocols.topology.rules.columns import COLUMNS, Generation, SystemTopology
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
    names, ids = scene.model.names, run_ids(scene.way())
    now = texts(scene.state.topology, names, ids)
    return now, now if scene.before is None else texts(scene.before.topology, names, ids)


@lru_cache(MOST_KEPT)
def texts(topology: ClusterTopology, names: tuple[str, ...], ids: RunIds) -> TableTexts:
    """Every cell of a topology; a few are kept, since most steps leave the tables as they are."""
    table = _named(store(topology, names)[0], ids)
    static = asdict(table)
    cells = {("", name): _text(static[name]) for name in STATIC}
    looks = {}
    for row in table.rows:
        own = {name: _text(cell) for name, cell in asdict(row).items()}
        cells |= {(row.host_id, name): own[name] for name in OF_ROWS}
        set_cells = (name for name in OF_ROWS if name not in OWN and own[name] != NULL)
        looks[row.host_id] = tuple(f"{name} = {own[name]}" for name in set_cells)
    return TableTexts(cells, looks)


def _named(table: SystemTopology, ids: RunIds) -> SystemTopology:
    """The table with the ids and times that the run gave, in place of numbers."""
    of_state = {str(number): str(state) for number, state in ids.requests}
    time_of = {str(number): f"t{state}" for number, state in ids.generations}

    def timed(generations: tuple[Generation, ...]) -> tuple[Generation, ...]:
        return tuple((time_of.get(number, time), number) for time, number in generations)

    running = table.global_topology_request_id
    return replace(
        table,
        rows=tuple(
            replace(row, request_id=of_state.get(row.request_id or "", row.request_id))
            for row in table.rows
        ),
        global_topology_request_id=of_state.get(running or "", running),
        global_requests=tuple(of_state.get(number, number) for number in table.global_requests),
        committed_cdc_generations=timed(table.committed_cdc_generations),
        unpublished_cdc_generations=timed(table.unpublished_cdc_generations),
    )


def _text(value: object) -> str:
    """A cell as cqlsh prints it."""
    if value is None or value == ():
        return NULL
    if isinstance(value, tuple):
        return "{" + ", ".join(map(_part, value)) + "}"
    return str(value)


def _part(value: object) -> str:
    """A part of a set; of a generation its time, if it is known, and its number."""
    if not isinstance(value, tuple):
        return str(value)
    time, number = value
    return f"({time}, {number})" if time else str(number)


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
