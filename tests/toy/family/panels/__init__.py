"""How a lease is drawn: its state diagram is the picture, the fields of the state explain it."""

from __future__ import annotations

from kit.protocols.toy.model import LeaseState
from kit.views.default import STATE
from kit.views.diagrams import Standing, StateDiagram, state_panel
from kit.views.panel import Scene
from kit.views.promises import LAMPS
from kit.views.registry import Views

LEASE = StateDiagram(
    "state-lease",
    "states of a lease",
    (("never given", "take", "given"), ("given", "lapse", "lapsed"), ("lapsed", "take", "given")),
    frozenset({"lapse"}),
)


def _called(state: LeaseState) -> str:
    if state.running:
        return "given"
    return "lapsed" if state.newest else "never given"


def _standing(scene: Scene) -> Standing:
    """The states that the lease was in, one after another."""
    names = ["never given", *(_called(step.after) for step in scene.way())]
    changes = [name for i, name in enumerate(names) if i == 0 or name != names[i - 1]]
    return Standing(LEASE, tuple(changes))


VIEWS = Views(
    (state_panel("states", "The lease", _standing), STATE, LAMPS), picture="states", table="state"
)
