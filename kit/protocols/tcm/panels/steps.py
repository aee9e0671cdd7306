"""The steps of an operation as numbered buttons, with what the next one waits for below it."""

from __future__ import annotations

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.awaited import BarrierRow
from kit.protocols.tcm.facts.large import length
from kit.protocols.tcm.facts.moment import OperationRow, StepRow
from kit.protocols.tcm.facts.neighbours import Neighbours, neighbours
from kit.protocols.tcm.rules.metadata import Advance
from kit.views.actions import mark, refusal_text
from kit.views.fragment import Frag, h
from kit.views.panel import Scene
from kit.views.parts import act_button

MOST_BARRIERS = 8
MOST_ROWS = 64
"""In a table with more rows the pairs of neighbours are not listed."""
MARKS = {"done": "✓", "next": "→", "pending": "·"}
BOXES = {"done": "x", "next": ">", "pending": " "}


def draw_steps(scene: Scene, operation: OperationRow) -> Frag:
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


def steps_lines(scene: Scene, operation: OperationRow) -> list[str]:
    """Write the steps with their numbers, and below them what is waited for and merged."""
    lines = []
    for i, step in enumerate(operation.steps):
        lines.append(f"    [{BOXES[step.status]}] {i + 1} {step.text}")
        lines += [f"          {_acknowledged(row)}" for row in _waits(operation, step)]
        lines += [f"          {_merged(pair)}" for pair in _pairs(scene, operation, step)]
    return lines
