"""The schema on each node, and the rows that carry its versions."""

from __future__ import annotations

from collections.abc import Iterator

from kit.protocols.group0.facts import moment as facts
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import heads, moved, scroll


def draw_schema(scene: Scene) -> Frag:
    """Draw ``scylla_local`` and ``scylla_tables`` of every node."""
    names = scene.model.setup.names
    return scroll(
        "schema",
        h(
            "table",
            h("caption", "system.scylla_local, key group0_schema_version"),
            heads("node", "value", "keyspaces"),
            h(
                "tbody",
                [
                    h(
                        "tr",
                        h("th", name, scope="row", data_of=name),
                        h("td", value),
                        h("td", keyspaces),
                        k=f"schema:{name}",
                        class_=moved(changed),
                    )
                    for name, value, keyspaces, changed in _local(scene)
                ],
            ),
        ),
        h(
            "table",
            h("caption", "system_schema.scylla_tables"),
            heads("node", "table", "columns", "version", "committed_by_group0", "made"),
            h(
                "tbody",
                [
                    h(
                        "tr",
                        h("th", name, scope="row", data_of=name),
                        [h("td", cell) for cell in cells],
                        k=f"table:{name}:{cells[0]}",
                    )
                    for name in names
                    for cells in _rows(scene, name)
                ],
            ),
        ),
        _requests(scene),
    )


def _requests(scene: Scene) -> Frag | None:
    rows = facts.requests(scene.model, scene.state)
    if not rows:
        return None
    return h(
        "ul",
        [
            h("li", f"{row.text}: ", h("b", _tag(row)), f" {row.stage}", k=f"request:{row.number}")
            for row in rows
        ],
        class_="asked",
    )


def _tag(row: facts.RequestVersion) -> str:
    return f"version {row.version}" if row.version else "no version yet"


def _local(scene: Scene) -> Iterator[tuple[str, str, str, bool]]:
    """Node, value, keyspaces, and whether the step changed the value."""
    for name in scene.model.setup.names:
        version = facts.schema_version(scene.model, scene.state, name)
        keyspaces = ", ".join(facts.keyspaces(scene.model, scene.state, name)) or "none"
        before = version
        if scene.before is not None:
            before = facts.schema_version(scene.model, scene.before, name)
        yield name, str(version) if version else "no row", keyspaces, before != version


def _rows(scene: Scene, name: str) -> Iterator[tuple[str, ...]]:
    for table in facts.schema_tables(scene.model, scene.state, name):
        columns = ", ".join(table.columns)
        maker = facts.computed_by(scene.state, table.version)
        made = "✓ computed here" if maker == name else f"given by {maker}"
        yield f"{table.keyspace}.{table.name}", columns, str(table.version), "true", made


def schema_text(scene: Scene) -> str:
    """Write the same, a line per row."""
    lines = []
    for name, value, keyspaces, _ in _local(scene):
        lines.append(f"  {name}: group0_schema_version {value}; keyspaces {keyspaces}")
        lines += [
            f"    {table} ({columns}) version {version}, committed_by_group0 {by}, {made}"
            for table, columns, version, by, made in _rows(scene, name)
        ]
    lines += [
        f"  {row.text}: {_tag(row)}, {row.stage}"
        for row in facts.requests(scene.model, scene.state)
    ]
    return "\n".join(lines)


SCHEMA = Panel("schema", "Schema", draw_schema, schema_text, tab="Schema")
