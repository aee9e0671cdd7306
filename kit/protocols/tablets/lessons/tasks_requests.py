"""Exercises on the requests of one tablet: a row that comes back, a stream that is turned away."""

from __future__ import annotations

from typing import Any

from kit.engine.timeline import Timeline
from kit.lessons.replays import Ground, after_its_steps
from kit.lessons.replays import judged as replayed
from kit.lessons.tasks import Task
from kit.protocols.storage.storage import LandLate

DELETED: dict[str, Any] = {
    "rf": 1,
    "second": "again",
    "collecting": True,
    "requests": ("K1 write QUORUM", "K2 delete QUORUM", "K3 read QUORUM"),
    "late": 1,
}
"""A key is written, deleted and read while a migration fails and is tried again."""


def broken(timeline: Timeline) -> set[str]:
    """The promises that the run has broken."""
    return {verdict.name for verdict in timeline.verdicts() if not verdict.ok}


def comes_back(timeline: Timeline) -> str | None:
    """The goal that a read finds what had been deleted."""
    if "no-resurrection" in broken(timeline):
        return None
    return f"{after_its_steps(timeline)} no read has found what was deleted."


def turned_away(timeline: Timeline) -> str | None:
    """The goal that a late stream is turned away by its target, and that no promise is broken."""
    model: Any = timeline.model
    if broken(timeline):
        return "Your run breaks a promise."
    for moment in timeline.path()[1:]:
        passed = timeline.moments[moment]
        if isinstance(passed.action, LandLate):
            before = timeline.moments[passed.parent].state
            late = model.late_copy(before, passed.action)
            if not model.lets_in(before, late.target, late.session):
                return None
    return "No late stream of your run was turned away."


TASKS = (
    Task(
        "row-that-came-back",
        "the row that came back",
        "Sessions (S-24) are off. A migration may fail and be tried again, one stream may be late. "
        "Give a run, as verbs or as a Player, in which a deletion succeeds and a later read finds "
        "what was deleted.",
        "verbs",
        "write; let the first attempt fail while its stream is on the way; delete; let the second "
        "attempt stream the deletion and D collect it; then let the first stream land, and read "
        "at D.",
        replayed(Ground("tablet", DELETED, ("sessions",)), (comes_back,)),
    ),
    Task(
        "turned-away",
        "the stream that was turned away",
        "The same with every safeguard on. Give a run, as verbs or as a Player, in which a late "
        "stream is turned away by the node that it was for, and every promise is kept.",
        "verbs",
        "roll back while a copy is on its way; the node must know that the stage is over before "
        "the late copy arrives.",
        replayed(Ground("tablet", DELETED), (turned_away,)),
    ),
)
