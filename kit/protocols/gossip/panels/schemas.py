"""The schemas side by side, and what became of each change that a client was told is done."""

from __future__ import annotations

from kit.protocols.gossip.facts import moment as facts
from kit.protocols.gossip.facts.moment import ChangeRow, DefinitionRow
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import heads, moved, scroll

NONE = "–"


def draw_schemas(scene: Scene) -> Frag:
    """Draw what each node says of each thing, rows that differ marked, and then the changes."""
    names = [node.name for node in scene.state.nodes]
    before = () if scene.before is None else facts.schemas(scene.model, scene.before)
    return scroll(
        "schemas",
        h(
            "table",
            h("caption", "The schema on each node (≠: they differ)"),
            heads("same", "what", *names),
            h(
                "tbody",
                [
                    _definition(row, scene.before is not None and row not in before)
                    for row in facts.schemas(scene.model, scene.state)
                ],
            ),
        ),
        h(
            "table",
            h("caption", "What clients asked for"),
            heads("change", "timestamp", "makes", "known to", "state"),
            h("tbody", [_change(row) for row in facts.changes(scene.model, scene.state)]),
        ),
    )


def _definition(row: DefinitionRow, changed: bool) -> Frag:
    return h(
        "tr",
        h("td", "≠" if row.differs else "="),
        h("th", row.name, scope="row"),
        [h("td", value or NONE) for value in row.values],
        k=f"defined:{row.name}",
        class_=moved(changed),
    )


def _change(row: ChangeRow) -> Frag:
    return h(
        "tr",
        h("th", row.text, scope="row"),
        h("td", NONE if row.timestamp is None else str(row.timestamp)),
        h("td", ", ".join(row.defines) or NONE),
        h("td", ", ".join(row.known) or NONE),
        h("td", state_of(row), class_="witness" if row.overwritten else None),
        k=f"change:{row.text}",
    )


def state_of(row: ChangeRow) -> str:
    """What became of a change, in words."""
    if row.timestamp is None:
        return "not asked yet"
    if row.overwritten and not row.known:
        return "! lost: something newer took its place"
    if row.overwritten:
        return f"! overwritten on {', '.join(row.overwritten)}"
    return "done"


def schemas_text(scene: Scene) -> str:
    """Write both tables, a line per row."""
    names = [node.name for node in scene.state.nodes]
    lines = []
    for row in facts.schemas(scene.model, scene.state):
        values = ", ".join(f"{n} {v or NONE}" for n, v in zip(names, row.values, strict=True))
        lines.append(f"  {'≠' if row.differs else '='} {row.name}: {values}")
    for change in facts.changes(scene.model, scene.state):
        makes = f" ({', '.join(change.defines)})" if change.defines else ""
        lines.append(f"  {change.text}{makes}: {state_of(change)}")
    return "\n".join(lines)


SCHEMAS = Panel("schemas", "The schemas side by side", draw_schemas, schemas_text, tab="Schemas")
