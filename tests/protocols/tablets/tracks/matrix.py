"""The fault matrix: a fault in each stage of each kind of transition, then schedules to the end."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.engine.model import verdicts
from kit.engine.registry import build
from kit.protocols.tablets.rules.stages import REPLACES, TransitionKind
from kit.protocols.tablets.tracks import actions as act
from kit.protocols.tablets.tracks.state import TracksState
from kit.protocols.tablets.tracks.working import pieces
from kit.protocols.topology import actions as cluster
from kit.protocols.topology.rules.machines import BOUNDARY, Edition, Machine
from kit.protocols.topology.state import FaultBudget

LONGEST = 600
COORDINATOR, SOURCE, TARGET, THIRD = "A", "B", "E", "C"
FAULTS = (
    "the source dies",
    "the target dies",
    "a third replica dies",
    "the coordinator dies",
    "an RPC is late",
    "an RPC fails",
)
KINDS: dict[TransitionKind, dict[str, Any]] = {
    "migration": {},
    "intranode_migration": {"kinds": ("intranode_migration",), "shards": 2},
    "rebuild": {"moves": 0, "operations": (f"remove {SOURCE}",), "rebuild": "rebuild"},
    "rebuild_v2": {"moves": 0, "operations": (f"remove {SOURCE}",)},
    "repair": {"kinds": ("repair",)},
}


class Point(Struct, frozen=True):
    """Where a fault is put in: a stage with what is done there, and the state then."""

    stage: str
    name: str
    state: TracksState


def built(edition: Edition, kind: TransitionKind) -> Any:
    """The model in which one tablet passes a transition of this kind."""
    given = {"edition": edition, "nodes": 5, "tablets": ("B C D",), **KINDS[kind]}
    return build("tablets", given)


def points(model: Any) -> Iterator[Point]:
    """The first state of each piece of work, decision and commit of each stage."""
    state, seen = model.start(), set[str]()
    while (action := next_step(model, state)) is not None:
        for row in state.tablets:
            for transition in row.transitions:
                name = f"{transition.stage}: {model.label(state, action)}"
                if name not in seen:
                    seen.add(name)
                    yield Point(transition.stage, name, state)
        state = model.apply(state, action)


def next_step(model: Any, state: TracksState) -> Any:
    """The default schedule's step; what begins goes to the target."""
    for action in model.actions(state):
        if isinstance(action, act.BeginTransition) and action.target.startswith(TARGET):
            return action
    return model.suggest(state)


def fault_action(model: Any, state: TracksState, fault: str) -> Any:
    """The action that is the fault in this state; None where there is none."""
    dies = {
        "the source dies": SOURCE,
        "the target dies": TARGET,
        "a third replica dies": THIRD,
        "the coordinator dies": COORDINATOR,
    }
    if fault in dies:
        return cluster.CrashMember(dies[fault])
    piece = next(pieces(model, state), None)
    if piece is None:
        return None
    if fault == "an RPC is late":
        return act.DelayRpc(piece.tablet)
    return act.FailBarrier() if piece.work.barrier else act.FailTablet(piece.tablet)


def injected(model: Any, point: Point, fault: str) -> TracksState | None:
    """The state after the fault, and no other to come but that the dead are excluded; or None."""
    one = FaultBudget(crashes=1)
    control = replace(point.state.control, faults=one)
    armed = replace(point.state, control=control, failures=1, lates=1)
    action = fault_action(model, armed, fault)
    if action is None or model.refusal(armed, action) is not None:
        return None
    after = model.apply(armed, action)
    spent = replace(after.control, faults=FaultBudget(exclusions=1, failures=1))
    return replace(after, control=spent, failures=0, lates=0)


def broken(model: Any, before: Any, action: Any, after: Any) -> list[str]:
    """What a step breaks."""
    return [f"{v.name}: {v.witness}" for v in verdicts(model, after, before, action) if not v.ok]


def walked(model: Any, state: TracksState, seed: int) -> tuple[TracksState, list[str]]:
    """A schedule until nothing is left to do, drawn by ``seed``, and what it broke on its way."""
    chance = Random(seed)
    for _ in range(LONGEST):
        enabled = list(model.actions(state))
        if not enabled:
            return state, []
        action = chance.choice(enabled)
        after = model.apply(state, action)
        wrong = broken(model, state, action, after)
        if wrong:
            return after, wrong
        state = after
    return state, ["it never came to its end"]


def ends(table: Machine, stage: str) -> set[str]:
    """Which replicas there may be in the end, by the table: the new ones, or the old ones."""
    reached, found = [stage], set[str]()
    for name in reached:  # grows while it is walked along
        for edge in table.edges:
            if edge.source != name:
                continue
            if edge.target == BOUNDARY:
                found.add("new" if REPLACES in edge.effects else "old")
            elif edge.target not in reached:
                reached.append(edge.target)
    return found
