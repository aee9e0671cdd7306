"""Operations under way: state diagram, steps, streams and locks."""

from __future__ import annotations

from typing import cast

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.awaited import StreamRow
from kit.protocols.tcm.facts.moment import OperationRow
from kit.protocols.tcm.panels.steps import draw_steps, steps_lines
from kit.protocols.tcm.rules.operations import Kind
from kit.protocols.tcm.rules.steps import Edition, transitions
from kit.views.diagrams import Standing, StateDiagram, diagram_text, draw_diagram
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import bulb, volume

MOST = 40


def diagram(kind: Kind, edition: Edition) -> StateDiagram:
    """The state diagram of an operation; cancelling leads back."""
    table = transitions(kind, edition)
    rollbacks = frozenset(event for _, event, _ in table if event.startswith("cancel"))
    return StateDiagram(f"state-{kind}-{edition}", f"states of {kind}", table, rollbacks)


def draw_operations(scene: Scene) -> Frag:
    """Draw each operation: its diagram with the current state lit, and its steps."""
    operations = facts.operations(scene.model, scene.state)
    if not operations:
        return h("p", "No operation is under way.", k="no-operation", class_="soft")
    return h("div", [_operation(scene, operation) for operation in operations])


def _operation(scene: Scene, operation: OperationRow) -> Frag:
    note = " (cancelling)" if operation.cancelling else ""
    return h(
        "div",
        h("p", h("b", operation.title), note),
        draw_diagram(_standing(scene, operation), f"op:{operation.node}:"),
        draw_steps(scene, operation),
        k=f"op:{operation.node}",
        class_="under-way",
    )


def _standing(scene: Scene, operation: OperationRow) -> Standing:
    """Where an operation stands in its diagram; a cancelled one is on its way back."""
    machine = diagram(cast(Kind, operation.kind), scene.model.parameters.edition)
    forwards = [way for way in machine.transitions if way[1] not in machine.rollbacks]
    usual = (forwards[0][0], *(after for _, _, after in forwards))
    if operation.state in usual:
        return Standing(machine, usual[: usual.index(operation.state) + 1])
    source = next(before for before, _, after in machine.transitions if after == operation.state)
    return Standing(machine, (*usual[: usual.index(source) + 1], operation.state))


def operations_text(scene: Scene) -> str:
    """Write the operations, their steps, and their diagrams as text."""
    parts = []
    for operation in facts.operations(scene.model, scene.state):
        parts.append(f"  {operation.title}{' (cancelling)' if operation.cancelling else ''}")
        parts += steps_lines(scene, operation)
        lines = diagram_text(_standing(scene, operation)).splitlines()
        parts += [f"    {line}" for line in lines]
    return "\n".join(parts) or "  no operation is under way"


def all_streams(scene: Scene) -> list[tuple[OperationRow, StreamRow]]:
    """Return every stream of the operations under way, with its operation."""
    return [
        (operation, row)
        for operation in facts.operations(scene.model, scene.state)
        for row in operation.streams
    ]


def draw_streams(scene: Scene) -> Frag:
    """Draw what is copied, from whom to whom, with the progress of the whole."""
    rows = all_streams(scene)
    if not rows:
        return h("p", "Nothing is to be streamed.", k="no-streams", class_="soft")
    done = sum(row.done for _, row in rows)
    waiting = [(operation, row) for operation, row in rows if not row.done]
    shown = rows if len(rows) <= MOST else waiting[:MOST]
    return h(
        "div",
        h("label", f"{done} of {len(rows)} ranges ", h("progress", max=len(rows), value=done)),
        h(
            "ul",
            [
                h(
                    "li",
                    bulb("✓", "done") if row.done else bulb("…", "waits"),
                    h("b", f"{', '.join(row.sources) or 'nobody'} → {row.target}"),
                    h("span", row.label),
                    h("small", row.keyspace),
                    None if row.bytes is None else h("small", volume(row.bytes)),
                    k=f"stream:{operation.node}:{row.keyspace}:{row.left}:{row.right}:{row.target}",
                    class_="lamp",
                )
                for operation, row in shown
            ],
        ),
        h("p", f"Not listed: {len(rows) - len(shown)} more.", class_="soft")
        if len(shown) < len(rows)
        else None,
    )


def streams_text(scene: Scene) -> str:
    """Write the streams, a line each."""
    return "\n".join(
        f"  [{'x' if row.done else ' '}] {row.keyspace} {row.label} "
        f"{', '.join(row.sources) or 'nobody'} -> {row.target}"
        for _, row in all_streams(scene)
    ) or ("  nothing is to be streamed")


def draw_locks(scene: Scene) -> Frag:
    """Draw the locked ranges, by operation."""
    operations = facts.operations(scene.model, scene.state)
    if not any(operation.locks for operation in operations):
        return h("p", "No range is locked.", k="no-locks", class_="soft")
    return h(
        "ul",
        [
            h(
                "li",
                h("b", lock.label),
                h("span", lock.keyspace),
                h("small", operation.title),
                k=f"held:{operation.node}:{lock.keyspace}:{lock.left}:{lock.right}",
                class_="lamp",
            )
            for operation in operations
            for lock in operation.locks[:MOST]
        ],
        [
            h("li", f"{len(operation.locks) - MOST} more of {operation.title}", class_="soft")
            for operation in operations
            if len(operation.locks) > MOST
        ],
    )


def locks_text(scene: Scene) -> str:
    """Write the locked ranges, a line each."""
    return "\n".join(
        f"  {lock.keyspace} {lock.label}: {operation.title}"
        for operation in facts.operations(scene.model, scene.state)
        for lock in operation.locks
    ) or ("  no range is locked")


OPERATION = Panel("operation", "Operations", draw_operations, operations_text)
STREAMS = Panel("streams", "Streams", draw_streams, streams_text, optional=True)
LOCKS = Panel("locks", "Range locks", draw_locks, locks_text, optional=True, tab="Locks")
