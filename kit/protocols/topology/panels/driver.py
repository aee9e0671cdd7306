"""The tab of what a driver reads: the tables of nodes that drivers have always read, and CDC's."""

from __future__ import annotations

from collections.abc import Iterator

from kit.errors import counted
from kit.protocols.topology.facts.driver import DriverView, PeerRow, driver_view
from kit.views.alike import MOST_ROWS
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import heads, moved, scroll

COLUMNS = ("peer", "host_id", "data_center", "rack", "tokens")
NULL = "null"
NOBODY_ANSWERS = "No node takes the driver's connection."
STREAMS = "cdc_generation_timestamps"


def _seen(scene: Scene) -> DriverView:
    now: DriverView = scene.once(
        "driver", lambda: driver_view(scene.model, scene.state, scene.way())
    )
    return now


def draw_driver(scene: Scene) -> Frag:
    """Draw the rows of the nodes, then the generations; what the step changed is marked."""
    now = _seen(scene)
    if not now.contact:
        return h("p", NOBODY_ANSWERS, class_="soft")
    before = now
    if scene.before is not None:
        before = driver_view(scene.model, scene.before, scene.way()[:-1])
    rest = len(now.rows) - MOST_ROWS
    return scroll(
        "driver",
        h(
            "table",
            h("caption", f"system.local and system.peers, by a connection to {now.contact}"),
            heads("table", *COLUMNS),
            h("tbody", [_row(row, row not in before.rows) for row in now.rows[:MOST_ROWS]]),
        ),
        h("p", f"and {counted(rest, 'row')} more", class_="soft") if rest > 0 else None,
        h(
            "p",
            f"{STREAMS}: {'; '.join(now.generations) or 'none'}",
            k="driver:cdc",
            class_=moved(now.generations != before.generations),
        ),
    )


def _row(row: PeerRow, changed: bool) -> Frag:
    return h(
        "tr",
        h("th", f"system.{row.table}", scope="row"),
        [h("td", cell or NULL) for cell in _cells(row)],
        k=f"driver:{row.name}",
        class_=moved(changed),
        data_of=row.name,
    )


def _cells(row: PeerRow) -> tuple[str, ...]:
    return row.peer, row.host_id, row.data_center, row.rack, row.tokens


def driver_text(scene: Scene) -> str:
    """Write a line for each row, then the generations."""
    return "\n".join(f"  {line}" for line in _lines(_seen(scene)))


def _lines(now: DriverView) -> Iterator[str]:
    if not now.contact:
        yield NOBODY_ANSWERS
        return
    for row in now.rows[:MOST_ROWS]:
        named = zip(COLUMNS, _cells(row), strict=True)
        yield f"system.{row.table}: " + "; ".join(f"{name} {cell}" for name, cell in named if cell)
    if len(now.rows) > MOST_ROWS:
        yield f"and {counted(len(now.rows) - MOST_ROWS, 'row')} more"
    yield f"{STREAMS}: {'; '.join(now.generations) or 'none'}"


DRIVER = Panel(
    "driver", "What a driver reads", draw_driver, driver_text, optional=True, tab="Driver"
)
