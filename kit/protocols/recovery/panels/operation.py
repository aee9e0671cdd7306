"""The topology operation that was under way when the majority died: how it ends, as a machine."""

from __future__ import annotations

from collections.abc import Iterator

from kit.views.diagrams import START, Standing, StateDiagram, state_panel
from kit.views.panel import Scene

FAILS = "a barrier fails"
OPERATION = StateDiagram(
    "state-recovery-operation",
    "states of an operation that was under way when the majority died",
    (
        (START, "", "under way"),
        ("under way", "no barrier is left", "done"),
        ("under way", FAILS, "rolled back"),
    ),
    frozenset({FAILS}),
)


def diagrams() -> Iterator[StateDiagram]:
    """The machine, for the committed pictures."""
    yield OPERATION


def standing(scene: Scene) -> Standing | None:
    """Where the operation stands; None where there was none."""
    now = scene.state.operation
    if now == "none":
        return None
    path = (START, "under way")
    return Standing(OPERATION, path if now == "under way" else (*path, now))


PANEL = state_panel(
    "operation",
    "The operation that was under way",
    standing,
    "No operation was under way when they died.",
    tab="Operation",
)
