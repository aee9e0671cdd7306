"""The guards that are held: which of the eight steps is done, and what it found."""

from __future__ import annotations

from kit.protocols.group0.facts import moment as facts
from kit.protocols.group0.facts.moment import GuardRow, GuardStepRow
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import scroll

MARKS = {"done": "✓", "next": "▸", "pending": "·"}


def draw_guards(scene: Scene) -> Frag:
    """Draw the eight steps of each guard."""
    rows = facts.guards(scene.model, scene.state)
    if not rows:
        return h("p", "No node holds a guard.", class_="soft")
    return scroll("guards", [_guard(row) for row in rows])


def _guard(row: GuardRow) -> Frag:
    done = sum(step.status == "done" for step in row.steps)
    return h(
        "div",
        h("p", h("b", row.node), f" 🔒 {row.change}: step {done} of {len(row.steps)} is done"),
        h("ol", [_step(row, step) for step in row.steps], class_="guard-steps"),
        k=f"guard:{row.node}",
    )


def _step(row: GuardRow, step: GuardStepRow) -> Frag:
    return h(
        "li",
        f"{MARKS[step.status]} {step.name}",
        h("b", f": {step.result}") if step.result else None,
        k=f"guard:{row.node}:{step.number}",
        class_=step.status,
        aria_label=f"step {step.number}, {step.status}: {step.name} {step.result}".rstrip(),
    )


def guards_text(scene: Scene) -> str:
    """Write the steps of each guard on a line each."""
    lines = []
    for row in facts.guards(scene.model, scene.state):
        lines.append(f"  {row.node}: {row.change}")
        lines += [
            f"    {MARKS[step.status]} {step.number} {step.name}"
            + (f": {step.result}" if step.result else "")
            for step in row.steps
        ]
    return "\n".join(lines or ["  no node holds a guard"])


GUARDS = Panel("guards", "Guards", draw_guards, guards_text, tab="Guards")
