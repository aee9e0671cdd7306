"""Operations under way: state diagram, steps, streams and locks.

A merge joins neighbouring ranges that are equal; the others stay apart. Source: CEP-21,
"Decommission" (leaving that out is harmless).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, cast

from msgspec import Struct

from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.awaited import BarrierRow, StreamRow
from kit.protocols.tcm.facts.large import length
from kit.protocols.tcm.facts.moment import OperationRow, RangeRow, StepRow, rows
from kit.protocols.tcm.rules.metadata import Advance
from kit.protocols.tcm.rules.operations import Kind
from kit.protocols.tcm.rules.steps import Edition, transitions
from kit.views.actions import mark, refusal_text
from kit.views.diagrams import Standing, StateDiagram, diagram_text, draw_diagram
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import act_button, bulb, volume


class Neighbours(Struct, frozen=True):
    """Two ranges side by side, ``left`` before ``right``; ``apart`` says why they are not merged.

    ``apart`` is empty where the merge joins them.
    """

    left: RangeRow
    right: RangeRow
    apart: str


def neighbours(
    m: TcmCluster, s: Any, operation: OperationRow, keyspace: str | None = None
) -> tuple[Neighbours, ...]:
    """Every pair of neighbours that the operation has locked, as the merge would treat it now.

    Empty when the operation has no merge. ``merges`` of the plan are the bounds that it gives up.
    """
    sequence = m.tcm.sequence(s.tcm, operation.node)
    group = m.snapshot(s).metadata.group_of(keyspace or m.tcm.cluster.keyspaces[0].name)
    if sequence is None or group is None:
        return ()
    given_up = {
        bound
        for step in sequence.steps
        if step.name == "merge"
        for bound in step.deltas[group].merges
    }
    held = [row for row in rows(m, s, keyspace) if row.locked_by == operation.title]
    pairs = [(row, next_) for row, next_ in pairwise(held) if row.right == next_.left]
    if not given_up:
        return ()
    return tuple(Neighbours(row, other, _apart(row, other, given_up)) for row, other in pairs)


def _apart(row: RangeRow, other: RangeRow, given_up: set[int]) -> str:
    if (row.reads, row.writes) != (other.reads, other.writes):
        return "their replicas differ"
    return "" if row.right in given_up else "a token lies between them"


MOST = 40
MOST_BARRIERS = 8
MOST_ROWS = 64
"""In a table with more rows the pairs of neighbours are not listed."""
MARKS = {"done": "✓", "next": "→", "pending": "·"}
BOXES = {"done": "x", "next": ">", "pending": " "}


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
        _draw_steps(scene, operation),
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
        parts += _steps_lines(scene, operation)
        lines = diagram_text(_standing(scene, operation)).splitlines()
        parts += [f"    {line}" for line in lines]
    return "\n".join(parts) or "  no operation is under way"


# -- the steps as numbered buttons, with what the next one waits for below it ----------------------


def _draw_steps(scene: Scene, operation: OperationRow) -> Frag:
    """Draw a numbered button per step; only the next one can be pressed, once nothing holds it."""
    return h(
        "ol", [_step(scene, operation, i) for i in range(len(operation.steps))], class_="steps"
    )


def _step(scene: Scene, operation: OperationRow, i: int) -> Frag:
    step = operation.steps[i]
    key = f"op:{operation.node}:step:{i}:{step.name}"
    return h(
        "li",
        h(
            "span",
            MARKS[step.status],
            class_=f"mark {step.status}",
            role="img",
            aria_label=step.status,
        ),
        _button(scene, operation, i, key),
        [_meter(row, key) for row in _waits(operation, step)],
        [_pair(pair, key) for pair in _pairs(scene, operation, step)],
        k=key,
        class_=step.status,
    )


def _button(scene: Scene, operation: OperationRow, i: int, key: str) -> Frag:
    """A step's button; the next one's does the same as its button among the actions."""
    action = scene.model.wrap["tcm"](Advance(operation.node))
    why = _held_back(scene, operation, i, action)
    words = f"{i + 1} {operation.steps[i].text}"
    return act_button(words, f"{key}:button", f"do:{mark(scene.model, action)}", why)


def _held_back(scene: Scene, operation: OperationRow, i: int, action: object) -> str | None:
    """Why a step cannot be committed now; None when it can."""
    if operation.steps[i].status == "done":
        return "This event is committed already."
    if operation.steps[i].status == "pending":
        return f"Event {i} comes first: {operation.steps[i - 1].text}."
    refusal = scene.refusal(action)
    return refusal_text(refusal) if refusal else scene.closed


def _waits(operation: OperationRow, step: StepRow) -> tuple[BarrierRow, ...]:
    """The barriers before a step, unmet ones first; only the next step has any."""
    if step.status != "next":
        return ()
    return tuple(sorted(operation.barriers, key=lambda row: row.met))[:MOST_BARRIERS]


def _meter(row: BarrierRow, key: str) -> Frag:
    return h(
        "label",
        h("progress", max=row.needed, value=min(len(row.acked), row.needed)),
        h("small", f" {_acknowledged(row)}"),
        k=f"{key}:ack:{row.keyspace}:{row.left}:{row.right}:{row.dc or ''}",
        class_="wait",
    )


def _acknowledged(row: BarrierRow) -> str:
    """How many of a range's replicas have acknowledged, and how many it takes."""
    where = f"{row.label} {row.dc}" if row.dc else row.label
    return f"{where}: {len(row.acked)} of {len(row.replicas)} acknowledged, {row.needed} needed"


def _pairs(scene: Scene, operation: OperationRow, step: StepRow) -> tuple[Neighbours, ...]:
    """The neighbours that a merge still to come will join or not, where they can be listed."""
    name = facts.keyspaces(scene.model)[0]
    if step.name != "merge" or step.status == "done":
        return ()
    if (length(scene.model, scene.state, name) or 0) > MOST_ROWS:
        return ()
    return neighbours(scene.model, scene.state, operation, name)


def _pair(pair: Neighbours, key: str) -> Frag:
    return h(
        "div",
        h("small", _merged(pair)),
        k=f"{key}:pair:{pair.right.left}",
        class_="soft" if pair.apart else None,
        aria_disabled="true" if pair.apart else None,
    )


def _merged(pair: Neighbours) -> str:
    both = f"{pair.left.label} and {pair.right.label}"
    return f"{both} stay apart: {pair.apart}" if pair.apart else f"{both} become one range"


def _steps_lines(scene: Scene, operation: OperationRow) -> list[str]:
    """Write the steps with their numbers, and below them what is waited for and merged."""
    lines = []
    for i, step in enumerate(operation.steps):
        lines.append(f"    [{BOXES[step.status]}] {i + 1} {step.text}")
        lines += [f"          {_acknowledged(row)}" for row in _waits(operation, step)]
        lines += [f"          {_merged(pair)}" for pair in _pairs(scene, operation, step)]
    return lines


# -- streams and locks -----------------------------------------------------------------------------


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
