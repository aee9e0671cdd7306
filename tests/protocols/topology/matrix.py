"""The fault matrix: a fault at each step of an operation, then schedules that bring it to rest."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.model.model import verdicts
from kit.model.registry import build
from kit.protocols.topology import topology as act
from kit.protocols.topology.control import ControlState, FaultBudget
from kit.protocols.topology.coordinator import task_of
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.rules.decide import decide

OPERATIONS = {
    "join": "join D",
    "replace": "replace D C",
    "decommission": "leave C",
    "removenode": "remove C",
    "rebuild": "rebuild C",
}
"""What is played, in operators' words; the node that it is about stands behind the verb."""
LONGEST = 400
FAULTS = (
    "work fails",
    "coordinator dies",
    "the node dies",
    "a bystander dies",
    "the node is cut off",
    "the node has another address",
    "a stream is left behind",
)
ONE_OF_EACH = FaultBudget(crashes=1, changes=1, failures=1, cuts=1, late=1, addresses=1)


class Point(Struct, frozen=True):
    """A step of the operation when nothing goes wrong: its name, and the state at its beginning."""

    name: str
    state: ControlState


def points(model: Any) -> Iterator[Point]:
    """The first state of each step: of each piece of work, and of each decision and commit."""
    state, seen = model.start(), set[str]()
    while (action := model.suggest(state)) is not None:
        name = point_name(model, state)
        if name not in seen:
            seen.add(name)
            yield Point(name, state)
        state = model.apply(state, action)


def point_name(model: Any, state: ControlState) -> str:
    """``write_both_read_old: stream``: the transition state, and what the coordinator is at."""
    where = state.topology.transition or "null"
    if state.attempted.command is not None:
        return f"{where}: commit"
    task = task_of(state, model.setting)
    if task.work is None:
        return f"{where}: {task.decision.kind}"
    begun = " under way" if state.attempted.streaming or state.attempted.answered else ""
    return f"{where}: {task.work.name}{begun}"


def subject(model: Any) -> str:
    """The node that the operation is about."""
    name: str = model.names[model.plan.requests[0].node]
    return name


def fault_action(model: Any, state: ControlState, fault: str) -> Any:
    """The action that is the fault in this state."""
    leader = state.coordinator
    name = subject(model)
    bystander = next(
        n for i, n in enumerate(model.names) if n != name and i != leader and state.up >> i & 1
    )
    return {
        "work fails": act.FailWork(),
        "coordinator changes": act.ElectCoordinator(bystander),
        "coordinator dies": act.CrashMember(model.names[leader] if leader != NOBODY else name),
        "the node dies": act.CrashMember(name),
        "a bystander dies": act.CrashMember(bystander),
        "the node is cut off": act.CutOff(name),
        "the node has another address": act.RestartElsewhere(name),
        "a stream is left behind": act.LeaveBehind(),
    }[fault]


def injected(model: Any, point: Point, fault: str) -> tuple[ControlState | None, str]:
    """The state after the fault at that point and no other one to come; or why it cannot be."""
    armed = replace(point.state, faults=ONE_OF_EACH)
    action = fault_action(model, armed, fault)
    if all(action != candidate for candidate, _ in model.options(armed)):
        return None, not_offered(model, armed, fault)
    refusal = model.refusal(armed, action)
    if refusal is not None:
        return None, refusal.reason
    return replace(model.apply(armed, action), faults=FaultBudget()), ""


def not_offered(model: Any, state: ControlState, fault: str) -> str:
    """Why there is no such fault here: what the state says of the node, or of its streams."""
    node = model.number(subject(model))
    if fault == "a stream is left behind":
        assert not state.attempted.streaming, "what streams can be left behind"
        return "nothing streams"
    if not state.reachable >> node & 1:
        return "the node is not up"
    if fault == "the node has another address" and state.topology.transition == "left_token_ring":
        return "it is told to shut down"
    standing = state.topology.nodes[node].state
    assert not state.topology.members >> node & 1, f"{fault}: {standing}, a member that is up"
    return f"the node is no member of group 0: its state is {standing or 'no row'}"


def broken(model: Any, before: Any, action: Any, after: Any) -> list[str]:
    """What a step breaks."""
    return [f"{v.name}: {v.witness}" for v in verdicts(model, after, before, action) if not v.ok]


def walked(model: Any, state: Any, seed: int, longest: int = LONGEST) -> tuple[Any, list[str]]:
    """A schedule until nothing is left to do, drawn by ``seed``, and what it broke on its way."""
    chance = Random(seed)
    for _ in range(longest):
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


def is_over(model: Any, state: ControlState) -> bool:
    """Whether nothing is under way, and nothing waits."""
    return decide(state.topology, state.reachable, model.setting).kind == "rest"


def built(edition: str, words: str) -> Any:
    """The model of one operation without faults of its own; of two nodes both vote."""
    return build("topology", {"edition": edition, "operations": (words,), "release": "2025.3"})
