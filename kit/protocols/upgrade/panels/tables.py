"""Tabs of the Raft upgrade: the row of each node, schema versions, answers to a change."""

from __future__ import annotations

from kit.protocols.upgrade.facts import moment as facts
from kit.protocols.upgrade.facts import schema
from kit.protocols.upgrade.facts.moment import QueryAnswer
from kit.protocols.upgrade.facts.schema import ChangeAnswer
from kit.protocols.upgrade.rules.upgrade_state import KEY
from kit.views.actions import mark
from kit.views.fragment import Frag
from kit.views.panel import Panel, Scene
from kit.views.parts import act_button, bulb, table_part, table_row

QUERY_TEXT = f"SELECT * FROM system.scylla_local WHERE key = '{KEY}'"
NO_ROWS = "(0 rows)"
SILENT = "no answer"


def _returned(each: QueryAnswer) -> tuple[str, str]:
    if not each.is_answered:
        return SILENT, "the node is not up"
    return each.value or NO_ROWS, each.diagnosis


def draw_query(scene: Scene) -> Frag:
    """Draw what the query returns on each node, and what that tells."""
    rows = facts.queries(scene.model, scene.state)
    return table_part(
        "query",
        QUERY_TEXT,
        ("node", "value", "diagnosis"),
        (table_row(f"query:{each.node}", each.node, *_returned(each)) for each in rows),
    )


def query_text(scene: Scene) -> str:
    """Write the query, and a line for each node."""
    rows = facts.queries(scene.model, scene.state)
    lines = [f"  {each.node}: {': '.join(_returned(each))}" for each in rows]
    return "\n".join([f"  {QUERY_TEXT}", *lines])


def draw_versions(scene: Scene) -> Frag:
    """Draw the schema version of each node that is up, marked where it differs."""
    return table_part(
        "versions",
        "nodetool describecluster: schema versions",
        ("node", "version", "same", "version from", "columns added"),
        (
            table_row(
                f"version:{each.node}",
                each.node,
                each.version,
                bulb("!", "differs") if each.differs else bulb("✓", "as most"),
                each.source,
                ", ".join(each.columns) or "–",
            )
            for each in schema.versions(scene.model, scene.state)
        ),
    )


def versions_text(scene: Scene) -> str:
    """Write a line for each node that is up, then who differs."""
    rows = schema.versions(scene.model, scene.state)
    lines = [
        f"  {each.node}: {each.version} ({each.source}; {', '.join(each.columns) or 'no column'})"
        f"{' ! differs' if each.differs else ''}"
        for each in rows
    ]
    differing = [each.node for each in rows if each.differs]
    return "\n".join([*lines, f"  schema mismatches: {{{', '.join(differing)}}}"])


def draw_changes(scene: Scene) -> Frag:
    """Draw what each node answers to a schema change now; a button asks, while any may come."""
    return table_part(
        "changes",
        "ALTER TABLE, asked at each node",
        ("node", "asked", "answer"),
        (
            table_row(
                f"change:{each.node}",
                each.node,
                _ask_button(scene, each)
                if scene.state.changes
                else bulb("✓", "taken")
                if each.is_taken
                else bulb("!", "refused"),
                each.answer,
            )
            for each in schema.answers(scene.model, scene.state)
        ),
    )


def _ask_button(scene: Scene, each: ChangeAnswer) -> Frag:
    return act_button(
        f"ALTER at {each.node}",
        f"change:{each.node}:button",
        f"do:{mark(scene.model, each.action)}",
        scene.closed or (None if each.is_taken else each.answer),
    )


def changes_text(scene: Scene) -> str:
    """Write a line for each node."""
    return "\n".join(
        f"  {each.node}: {'taken' if each.is_taken else 'refused'}: {each.answer}"
        for each in schema.answers(scene.model, scene.state)
    )


QUERY = Panel("query", "group0_upgrade_state on each node", draw_query, query_text, tab="Query")
VERSIONS = Panel("versions", "Schema versions", draw_versions, versions_text, tab="Schema")
CHANGES = Panel("changes", "Schema changes", draw_changes, changes_text, tab="DDL")
