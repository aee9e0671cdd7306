"""The exercise on leases."""

from __future__ import annotations

from kit.lessons.tasks import Case, Marks, Task
from kit.model.registry import build
from kit.model.timeline import Timeline


def refused_by_the_fence(verbs: list[str]) -> Marks:
    """A run after which some client's write is refused."""
    timeline = Timeline(build("lease"), tuple(verbs))
    while timeline.forward() is not None and len(timeline.moments) <= len(verbs):
        pass
    refused = any(
        timeline.model.verb(action).startswith("write")
        for action, _ in timeline.model.waiting(timeline.state)
    )
    return Marks((Case(refused, "" if refused else "Every client's write is let through."),))


TASKS = (
    Task(
        "refused-by-the-fence",
        "refused by the fence",
        "Give a run of verbs after which one client's write is refused.",
        "verbs",
        "a newer number must have been written.",
        refused_by_the_fence,
    ),
)
