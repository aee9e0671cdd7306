"""The fault matrix: a fault in each stage of each kind of transition, then schedules to the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.engine.registry import build
from kit.protocols.tablets.cluster import TabletsState
from kit.protocols.tablets.rules.stages import REPLACES, TransitionKind
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology import topology as cluster
from kit.protocols.topology.control import FaultBudget
from kit.protocols.topology.rules.machines import BOUNDARY, Edition, Machine

LONGEST = 600
COORDINATOR, SOURCE, THIRD = "A", "B", "C"
PREFERRED = "E"
"""The node that gets a replica, where the transition may choose."""
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
# fault | kinds | editions | why there is no such fault in which stages of the way forward
_EMPTY = """
an RPC is late  | migration intranode_migration | documents server | no RPC is sent: \
    allow_write_both_read_old write_both_read_old write_both_read_new use_new end_migration
an RPC is late  | rebuild rebuild_v2 | documents server | \
    and who leaves is dead, nothing is cleaned up: \
    allow_write_both_read_old write_both_read_old write_both_read_new use_new cleanup end_migration
an RPC is late  | repair | documents | no RPC is sent: end_repair
an RPC fails    | migration intranode_migration rebuild rebuild_v2 | documents | \
    it is tried again: \
    use_new cleanup end_migration
an RPC fails    | migration intranode_migration | server | \
    nobody is excluded, it is tried again: \
    allow_write_both_read_old write_both_read_old streaming write_both_read_new use_new cleanup \
    end_migration
an RPC fails    | rebuild rebuild_v2 | server | no new replica is excluded, it is tried again: \
    write_both_read_new use_new cleanup end_migration
an RPC fails    | repair | documents server | it is tried again: end_repair
the source dies | rebuild | documents server | it is dead from the start: \
    allow_write_both_read_old write_both_read_old streaming write_both_read_new use_new cleanup \
    end_migration
the source dies | rebuild_v2 | documents server | it is dead from the start: \
    allow_write_both_read_old write_both_read_old rebuild_repair streaming write_both_read_new \
    use_new cleanup end_migration
the target dies | repair | documents server | nobody gets a replica: repair end_repair
"""


def empty(edition: Edition, kind: TransitionKind, fault: str) -> set[str]:
    """The stages in which there is no such fault."""
    found = set[str]()
    for line in _EMPTY.replace("\\\n", "").strip().splitlines():
        name, kinds, editions, stages = (field.strip() for field in line.split("|"))
        if name == fault and kind in kinds.split() and edition in editions.split():
            found |= set(stages.partition(":")[2].split())
    return found


class Point(Struct, frozen=True):
    """Where a fault is put in: a stage with what is done there, and the state then."""

    stage: str
    name: str
    state: TabletsState


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


BACK = ("write_both_read_old_fallback_cleanup", "cleanup_target", "revert_migration")
"""The stages of the way back."""


def turned(model: Any, edition: Edition, kind: TransitionKind) -> Iterator[TabletsState]:
    """States in which a failure has just led, or is about to lead, back.

    Edition ``server`` goes back only where a replica is excluded: the one that leaves, or the new
    one; a rebuild has one that is. A repair has no way back.
    """
    if kind == "repair":
        return
    if edition == "documents" or kind.startswith("rebuild"):
        yield _failing(model, "streaming", ())
        return
    yield _failing(model, "streaming", (SOURCE,))
    if kind == "migration":
        yield _failing(model, "write_both_read_new", (PREFERRED,))


def _failing(model: Any, stage: str, excluded: tuple[str, ...]) -> TabletsState:
    """The state in which the work of a stage has failed, where these nodes are excluded."""
    state = next(point.state for point in points(model) if point.stage == stage)
    faults = FaultBudget(crashes=len(excluded), exclusions=len(excluded))
    state = replace(state, control=replace(state.control, faults=faults), failures=1)
    for host in excluded:
        for action in (cluster.CrashMember(host), cluster.ExcludeNode(host)):
            state = model.act(state, action)
    [piece] = model.pieces(state)
    fails = Tablets.fail_barrier() if piece.work.barrier else Tablets.fail_tablet(piece.tablet)
    return replace(model.act(state, fails), failures=0)


def points_back(model: Any, edition: Edition, kind: TransitionKind) -> Iterator[Point]:
    """The first state of each piece of work, decision and commit of the stages of the way back."""
    for first in turned(model, edition, kind):
        state, seen = first, set[str]()
        while state.tablets[0].transitions:
            action = next_step(model, state)
            [transition] = state.tablets[0].transitions
            name = f"{transition.stage}: {model.label(state, action)}"
            if transition.stage in BACK and name not in seen:
                seen.add(name)
                yield Point(transition.stage, name, state)
            state = model.apply(state, action)


def next_step(model: Any, state: TabletsState) -> Any:
    """The default schedule's step; what begins goes to the preferred node, if it may."""
    for action in model.actions(state):
        if isinstance(action, Tablets.begin_transition) and action.target.startswith(PREFERRED):
            return action
    return model.suggest(state)


def fault_action(model: Any, state: TabletsState, fault: str) -> Any:
    """The action that is the fault in this state; None where there is none."""
    [transition] = state.tablets[0].transitions
    dies = {
        "the source dies": SOURCE,
        "the target dies": next((each.host for each in transition.sets.pending), None),
        "a third replica dies": THIRD,
        "the coordinator dies": COORDINATOR,
    }
    if fault in dies:
        host = dies[fault]
        return host and cluster.CrashMember(host)
    piece = next(model.pieces(state), None)
    if piece is None:
        return None
    if fault == "an RPC is late":
        return Tablets.delay_rpc(piece.tablet)
    return Tablets.fail_barrier() if piece.work.barrier else Tablets.fail_tablet(piece.tablet)


def injected(model: Any, point: Point, fault: str) -> TabletsState | None:
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


def no_fault_back(edition: Edition, kind: TransitionKind) -> set[str]:
    """The faults that no stage of the way back has."""
    none = {"an RPC fails"}  # it is tried again
    if kind.startswith("rebuild"):
        return none | {"the source dies"}  # it is dead from the start
    if edition == "server" and kind == "intranode_migration":
        # The one node of both shards is dead and excluded: no RPC is sent to it.
        return none | {"the source dies", "the target dies", "an RPC is late"}
    return none
