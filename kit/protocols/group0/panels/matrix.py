"""The log matrix: a lane a node, a column per entry; who stores, knows and applied it."""

from __future__ import annotations

from kit.protocols.group0.facts import moment as facts
from kit.protocols.group0.facts.moment import EntryRow, MemberRow
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import scroll

SIGNS = {"applied": "✓", "committed": "●", "stored": "○", "": ""}
LAST = 8
LEGEND = "✓ applied, ● known to be committed, ○ stored"


def draw_matrix(scene: Scene) -> Frag:
    """Draw what clients ask for, the log as a matrix, and what is on its way."""
    model, state = scene.model, scene.state
    columns = facts.entries(model, state)[-LAST:]
    return scroll(
        "group 0",
        _clients(scene),
        h(
            "table",
            h("caption", f"The log: {LEGEND}"),
            h("thead", h("tr", h("th", "node", scope="col"), [_head(row) for row in columns])),
            h("tbody", [_lane(row, columns) for row in scene.of(facts.nodes)]),
            class_="log-matrix",
        ),
        _earlier(len(state.log) - len(columns)),
        _on_the_way(scene),
    )


def _clients(scene: Scene) -> Frag:
    return h(
        "ul",
        [
            h("li", f"client: {row.text} ", h("b", row.answer), k=f"op:{row.number}")
            for row in facts.operations(scene.model, scene.state)
        ],
        class_="asked",
    )


def _head(row: EntryRow) -> Frag:
    words = f"{row.text} of {row.creator}" + ("" if row.effective else " (no-op)")
    return h(
        "th",
        h("b", str(row.index), k=f"log:{row.index}"),
        h("br"),
        h("small", words),
        scope="col",
        class_="entry-head" if row.effective else "entry-head soft",
    )


def role(row: MemberRow) -> str:
    """What a node is in the group: ``leader``, ``voter, down``, ``takes itself for the leader``."""
    words = ["leader" if row.leads else "voter" if row.votes else "no vote"]
    if row.deposed:
        words = ["takes itself for the leader"]
    return ", ".join([*words, *(["down"] if not row.up else [])])


def _lane(row: MemberRow, columns: tuple[EntryRow, ...]) -> Frag:
    return h(
        "tr",
        h(
            "th",
            row.name,
            " ",
            h("small", role(row)),
            k=f"n:{row.name}",
            scope="row",
            data_of=row.name,
        ),
        [_cell(row, column.index) for column in columns],
        k=f"lane:{row.name}",
    )


def _cell(row: MemberRow, index: int) -> Frag:
    reach = row.reach(index)
    label = reach or "not stored"
    return h(
        "td",
        h(
            "span",
            SIGNS[reach],
            k=f"at:{row.name}:{index}",
            class_=f"reach {reach}".rstrip(),
            role="img",
            aria_label=label,
        ),
    )


def _earlier(count: int) -> Frag | None:
    return h("p", f"and {count} earlier entries", class_="soft") if count > 0 else None


def _on_the_way(scene: Scene) -> Frag:
    rows = facts.sent(scene.state)
    if not rows:
        return h("p", "No command is on its way.", k="sent", class_="soft")
    return h(
        "div",
        h("p", "On their way to the leader:", class_="soft"),
        h("ul", [h("li", row.text, k=row.key) for row in rows], class_="asked"),
        k="sent",
    )


def matrix_text(scene: Scene) -> str:
    """Write clients, entries, how far each node is, and what is on its way."""
    model, state = scene.model, scene.state
    lines = [f"  {row.text}: {row.answer}" for row in facts.operations(model, state)]
    for entry in facts.entries(model, state):
        effect = "" if entry.effective else " (no-op)"
        lines.append(f"  {entry.index}  {entry.text} of {entry.creator}{effect}")
    lines += [
        f"  {row.name} ({role(row)}): stores {row.stored}, knows {row.commit} committed, "
        f"applied {row.applied}"
        for row in scene.of(facts.nodes)
    ]
    lines += [f"  on its way: {row.text}" for row in facts.sent(state)]
    return "\n".join(lines)


MATRIX = Panel("matrix", "Log of group 0", draw_matrix, matrix_text, still=True)
