"""What becomes of coordinators and nodes: a change of the leader, a crash, a node cut off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.engine.model import Rule
from kit.errors import Refusal
from kit.protocols.topology import actions as act
from kit.protocols.topology import coordinator as work
from kit.protocols.topology.rules.cluster import NO_ROW, NOBODY, mask_of
from kit.protocols.topology.rules.work import under_way
from kit.protocols.topology.state import ControlState, caught_up, has_majority, voting

if TYPE_CHECKING:
    from kit.protocols.topology.model import Topology

NO_MAJORITY = Refusal("group 0 has no majority")


def rules(model: Topology) -> tuple[Rule[ControlState, Any], ...]:
    """Changes of the coordinator, outages of nodes, and how the cluster recovers from them."""
    number, first_down = model.number, model.start_down
    deposed = (act.CommitDeposed(),)

    def commit_deposed(s: ControlState, action: act.CommitDeposed) -> ControlState:
        assert s.deposed is not None
        s = work.committed(replace(s, deposed=None), s.deposed, model.setting)
        # It may be the fence of the very barrier that the new coordinator has the answers to.
        return s if s.coordinator == NOBODY else work.advanced(s, model.setting)

    def leads(s: ControlState) -> bool:
        return s.coordinator != NOBODY and bool(s.reachable >> s.coordinator & 1)

    def candidates(s: ControlState) -> Iterable[Any]:
        if leads(s) and not s.faults.changes:
            return ()
        others = voting(s) & s.reachable
        if s.coordinator != NOBODY:
            others &= ~(1 << s.coordinator)
        return model.each(act.ElectCoordinator, others)

    def elect(s: ControlState, action: act.ElectCoordinator) -> ControlState:
        if leads(s):
            s = replace(s, faults=replace(s.faults, changes=s.faults.changes - 1))
        return work.elected(s, number[action.node], model.setting)

    def mortal(s: ControlState) -> Iterable[Any]:
        rows = s.up & ~mask_of(s.topology, NO_ROW, "left")
        return model.each(act.CrashMember, rows if s.faults.crashes else 0)

    def crash(s: ControlState, action: act.CrashMember) -> ControlState:
        s = replace(s, faults=replace(s.faults, crashes=s.faults.crashes - 1))
        node = number[action.node]
        streams = s.attempted.streaming and work.task_of(s, model.setting).needs >> node & 1
        if streams:
            s = replace(s, attempted=replace(s.attempted, streaming=False))
        return work.shut_down(s, node)

    def dead(s: ControlState) -> Iterable[Any]:
        gone = mask_of(s.topology, NO_ROW, "left", "removing") | first_down | s.up
        gone |= sum(1 << e.replaced for e in s.topology.nodes if e.state == "replacing")
        operation = under_way(s.topology)
        if operation is not None and operation.state == "left_token_ring":
            gone |= 1 << operation.node  # it was told to shut down, or will be found to be down
        return model.each(act.RestartMember, (1 << len(model.names)) - 1 & ~gone)

    def restart(s: ControlState, action: act.RestartMember) -> ControlState:
        bit = 1 << number[action.node]
        s = replace(s, up=s.up | bit)
        return caught_up(s, bit) if has_majority(s) and not s.cut & bit else s

    def cut(s: ControlState, action: act.CutOff) -> ControlState:
        left = replace(s.faults, cuts=s.faults.cuts - 1)
        return replace(s, cut=s.cut | 1 << number[action.node], faults=left)

    def majority(s: ControlState, action: Any) -> Refusal | None:
        return None if has_majority(s) else NO_MAJORITY

    def always(s: ControlState, action: Any) -> None:
        return None

    def isolated(s: ControlState) -> int:
        return s.cut & ~mask_of(s.topology, "left")

    return (
        model.rule(
            act.CommitDeposed,
            "deposed",
            lambda s: deposed if s.deposed is not None else (),
            majority,
            commit_deposed,
        ),
        model.rule(act.ElectCoordinator, "elect", candidates, majority, elect),
        model.rule(act.RestartMember, "restart", dead, always, restart),
        model.rule(
            act.Reconnect,
            "restart",
            lambda s: model.each(act.Reconnect, isolated(s)),
            always,
            lambda s, a: replace(s, cut=s.cut & ~(1 << number[a.node])),
        ),
        model.rule(act.CrashMember, "fault", mortal, always, crash),
        model.rule(
            act.CutOff,
            "fault",
            lambda s: model.each(
                act.CutOff, s.topology.members & s.reachable if s.faults.cuts else 0
            ),
            always,
            cut,
        ),
    )
