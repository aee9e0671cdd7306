"""What becomes of nodes: they die and come back, are cut off and heard again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.engine.model import Rule
from kit.protocols.topology import actions as act
from kit.protocols.topology import coordinator as work
from kit.protocols.topology.rules.cluster import NO_ROW, NOBODY, mask_of
from kit.protocols.topology.rules.work import under_way
from kit.protocols.topology.state import (
    ControlState,
    caught_up,
    has_majority,
    majority_refusal,
    with_topology,
)

if TYPE_CHECKING:
    from kit.protocols.topology.model import Topology


def rules(model: Topology) -> tuple[Rule[ControlState, Any], ...]:
    """Outages of nodes, and how they come back."""
    number = model.number

    def always(s: ControlState, action: Any) -> None:
        return None

    return (
        model.rule(
            act.RestartMember,
            "restart",
            lambda s: model.each(act.RestartMember, has_a_place(s, model) & ~s.up),
            always,
            lambda s, a: restarted(s, number[a.node]),
        ),
        model.rule(
            act.Reconnect,
            "restart",
            lambda s: model.each(act.Reconnect, s.cut & ~mask_of(s.topology, "left")),
            always,
            lambda s, a: replace(s, cut=s.cut & ~(1 << number[a.node])),
        ),
        model.rule(
            act.CrashMember,
            "fault",
            lambda s: _mortal_first(s, model),
            always,
            lambda s, a: _crash(s, number[a.node], model),
        ),
        model.rule(
            act.ExcludeNode,
            "exclude",
            lambda s: model.each(act.ExcludeNode, _excludable(s)),
            majority_refusal,
            lambda s, a: _excluded(s, number[a.node], model),
        ),
        model.rule(
            act.CutOff,
            "fault",
            lambda s: model.each(act.CutOff, _connected(s)),
            always,
            lambda s, a: _cut(s, number[a.node]),
        ),
    )


def has_a_place(s: ControlState, model: Topology) -> int:
    """The nodes that would be taken in again after a restart (a mask): not those on their way out.

    Nor those that the model has dead from the start: they are to be removed or replaced. Who is
    ignored counts as dead for good.
    """
    absent = mask_of(s.topology, NO_ROW, "left", "removing") | model.start_down | s.topology.ignored
    absent |= sum(1 << e.replaced for e in s.topology.nodes if e.state == "replacing")
    operation = under_way(s.topology)
    if operation is not None and operation.state == "left_token_ring":
        absent |= 1 << operation.node  # it was told to shut down, or will be found to be down
    return (1 << len(model.names)) - 1 & ~absent


def restarted(s: ControlState, node: int) -> ControlState:
    """The state once a node is up again: with a majority that it hears, it catches up at once."""
    bit = 1 << node
    s = replace(s, up=s.up | bit)
    return caught_up(s, bit) if has_majority(s) and s.reachable & bit else s


def died(s: ControlState, node: int, model: Topology) -> ControlState:
    """The state once a node is dead; a stream that it takes part in is interrupted."""
    streams = s.attempted.streaming and work.task_of(s, model.setting).needs >> node & 1
    if streams:
        s = replace(s, attempted=replace(s.attempted, streaming=False))
    return work.shut_down(s, node)


def _mortal(s: ControlState) -> int:
    return s.up & ~mask_of(s.topology, NO_ROW, "left") if s.faults.crashes else 0


def _mortal_first(s: ControlState, model: Topology) -> Iterator[act.CrashMember]:
    """Who may die, the coordinator first: that is the one worth killing."""
    mortal = _mortal(s)
    leader = mortal & (1 << s.coordinator) if s.coordinator != NOBODY else 0
    yield from model.each(act.CrashMember, leader)
    yield from model.each(act.CrashMember, mortal & ~leader)


def _crash(s: ControlState, node: int, model: Topology) -> ControlState:
    left = replace(s.faults, crashes=s.faults.crashes - 1)
    return died(replace(s, faults=left), node, model)


def _excludable(s: ControlState) -> int:
    """Who may be excluded: a normal node that is dead."""
    dead = mask_of(s.topology, "normal") & ~s.up & ~s.topology.ignored
    return dead if s.faults.exclusions else 0


def _excluded(s: ControlState, node: int, model: Topology) -> ControlState:
    left = replace(s.faults, exclusions=s.faults.exclusions - 1)
    topology = replace(s.topology, ignored=s.topology.ignored | 1 << node)
    s = with_topology(replace(s, faults=left), topology)
    # It may be the last one that a barrier waits for.
    return s if s.coordinator == NOBODY else work.advanced(s, model.setting)


def _connected(s: ControlState) -> int:
    return s.topology.members & s.reachable if s.faults.cuts else 0


def _cut(s: ControlState, node: int) -> ControlState:
    left = replace(s.faults, cuts=s.faults.cuts - 1)
    return replace(s, cut=s.cut | 1 << node, faults=left)
