"""The tab of the keyspaces with tablets: an RF change alters them in the command that begins it."""

from __future__ import annotations

from kit.protocols.topology.facts.keyspaces import KeyspaceRow, has_keyspaces, keyspace_rows
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import heads, moved, scroll

UNTOLD = "not told"
NOTHING = "nothing"
NO_KEYSPACE = "No keyspace is named."


def draw_schema(scene: Scene) -> Frag:
    """Draw a row for each keyspace; what the step changed is marked."""
    rows = keyspace_rows(scene.state)
    if not rows:
        return h("p", NO_KEYSPACE, class_="soft")
    before = rows if scene.before is None else keyspace_rows(scene.before)
    return scroll(
        "schema",
        h(
            "table",
            h("caption", "Keyspaces with tablets"),
            heads("keyspace", "replicas", "asked for"),
            h("tbody", [_row(row, row not in before) for row in rows]),
        ),
    )


def _row(row: KeyspaceRow, changed: bool) -> Frag:
    return h(
        "tr",
        h("th", row.name, scope="row"),
        h("td", row.replicas or UNTOLD),
        h("td", row.wanted or NOTHING),
        k=f"keyspace:{row.name}",
        class_=moved(changed),
    )


def schema_text(scene: Scene) -> str:
    """Write a line for each keyspace."""
    lines = (
        f"{row.name}: replicas {row.replicas or UNTOLD}; asked for: {row.wanted or NOTHING}"
        for row in keyspace_rows(scene.state)
    )
    return "\n".join(f"  {line}" for line in lines) or f"  {NO_KEYSPACE}"


SCHEMA = Panel(
    "schema",
    "Schema",
    draw_schema,
    schema_text,
    optional=True,
    shown=lambda scene: has_keyspaces(scene.model),
    tab="Schema",
)
