"""Predictions on requests: what will the coordinator tell its client; who catches up?"""

from __future__ import annotations

from kit.errors import counted
from kit.protocols.storage.events import Completed, Delivered, EpochCommitted
from kit.protocols.storage.facts import moment as facts
from kit.views.panel import Scene
from kit.views.question import Question


def question(scene: Scene) -> Question | None:
    """Ask what a client is told, and which groups a committed epoch changes."""
    if scene.action is None:
        return None
    [*_, event] = scene.model.happened(scene.before, scene.action, scene.state) or (None,)
    if isinstance(event, Completed):
        return _answer(scene, event)
    if isinstance(event, Delivered) and event.epoch not in (None, event.had):
        return meeting(event, scene.say)
    return _groups(scene, event) if isinstance(event, EpochCommitted) else None


def meeting(met: Delivered, because: str) -> Question:
    """What a replica makes of a message of another epoch than its own."""
    choices = ("it catches up first", "it does what it is asked", "it answers an error")
    does = choices[2] if met.error else choices[1]
    by = "without an epoch" if met.epoch is None else f"planned at epoch {met.epoch}"
    return Question(
        f"{met.replica} knows epoch {met.had} and gets a {met.title.split()[0]} {by}. "
        "What does it do?",
        choices,
        (choices[0], does) if met.caught_up else (does,),
        because,
    )


def _answer(scene: Scene, event: Completed) -> Question:
    """What the client is told; every value that anybody holds is offered."""
    model, before = scene.model, scene.before
    offered = ["done", "failed"]
    if not model.workload[event.request].writes:
        held = sorted({row.cell for row in facts.replicas(model, before)} | {"nothing"})
        offered = [*(f"returned {cell}" for cell in held), "failed"]
    if event.result not in offered:
        offered.append(event.result)
    row = facts.requests(model, before)[event.request]
    group = sorted({name for quota in row.plan for name in quota.replicas})
    return Question(
        f"{event.coordinator} knows {model.history.unit} {event.epoch} and has answers of "
        f"{', '.join(row.answered) or 'nobody'} to {event.title}, which was sent to "
        f"{counted(len(group), 'replica')}, {', '.join(group)}, and wants {row.level}. "
        "What does it tell its client?",
        tuple(offered),
        (event.result,),
        scene.say,
    )


def _groups(scene: Scene, event: EpochCommitted) -> Question:
    """Whether the event changes the range's read group, its write group, or neither."""
    *_, before, now = facts.epochs(scene.model, scene.state)
    changed = [
        words
        for words, same in (
            ("the read group", now.reads == before.reads),
            ("the write group", now.writes == before.writes),
        )
        if not same
    ]
    return Question(
        f"Next: {event.unit} {event.epoch}, {event.title}. Which groups of the range change?",
        ("the read group", "the write group"),
        tuple(changed),
        f"{event.unit.capitalize()} {event.epoch}: reads go to {', '.join(now.reads)}; "
        f"writes go to {', '.join(now.writes)}.",
    )
