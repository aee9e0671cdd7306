"""The control model: one coordinator on the group 0 leader walks nodes through the tables.

Clients appear as one request that runs by some version, data not at all: what reads and writes see
while a range moves is another model's. Configuration changes of group 0 and what nodes ask of it
are one step each; the coordinator's own commands are decided and committed in two. Sources:
Topology over Raft; blog post on 6.0, "Driving Topology Changes from a Centralized Topology
Coordinator".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from kit.engine.model import Model, Rule
from kit.engine.pairs import paired
from kit.engine.parameters import check_limits
from kit.engine.safeguards import switched_off
from kit.errors import Refusal
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology import actions as act
from kit.protocols.topology import addresses, faults, leadership, outages, serving, track, wording
from kit.protocols.topology import coordinator as work
from kit.protocols.topology.parameters import TopologyParameters
from kit.protocols.topology.properties import properties_of
from kit.protocols.topology.rules.cluster import NOBODY, ClusterTopology, NodeEntry, with_node
from kit.protocols.topology.rules.decide import decide
from kit.protocols.topology.rules.fence import local_view
from kit.protocols.topology.rules.requests import going_away, refusal, requested
from kit.protocols.topology.rules.safeguards import Setting, TopologySafeguards
from kit.protocols.topology.rules.work import COMMANDS_OF_WORK
from kit.protocols.topology.safeguards import SAFEGUARDS
from kit.protocols.topology.state import (
    ControlState,
    FaultBudget,
    caught_up,
    majority_refusal,
    reconfigured,
    same_nodes,
    settled,
    with_topology,
)
from kit.protocols.topology.symmetry import ControlSymmetry
from kit.protocols.topology.words import plan_of, stored_words

NO_COORDINATOR = Refusal("there is no coordinator that the others hear")
UNASKED = (
    "fault",
    "late fault",
    "elect",
    "restart",
    "readdress",
    "client",
    "exclude",
    "tablets found",
)
"""Kinds of action that no default schedule takes."""
OTHERS = (serving, faults, leadership, outages, addresses)
"""The modules with rules beside those of the coordinator and its nodes."""
IN_HAND = Refusal("a command was decided and is not committed yet")


class Topology(Model[ControlState, Any]):
    """A cluster of ``parameters.nodes`` members that carries out ``parameters.operations``."""

    name = "topology"
    title = "Topology over group 0: the coordinator"
    State = ControlState
    Action = act.ControlAction
    safeguards = SAFEGUARDS
    rests_at_goals = True
    faults = ("fault", "late fault")

    def __init__(
        self, parameters: TopologyParameters | None = None, off: tuple[str, ...] = ()
    ) -> None:
        """A model with the safeguards ``off`` switched off.

        Raises:
            BadInput: for a parameter out of its limits, or words that are no request.
        """
        self.parameters: TopologyParameters = parameters or TopologyParameters()
        self.off = off
        check_limits(self.parameters)
        self.setting = Setting(
            edition=self.parameters.edition, safeguards=switched_off(TopologySafeguards, off)
        )
        self.plan = plan_of(self.parameters)
        self.names = self.plan.names
        self.number = {name: i for i, name in enumerate(self.names)}
        self.start_down = self._start_down()
        self.limited = self.parameters.edition == "server"
        others = (
            module.rules(self) for module in (serving, faults, leadership, outages, addresses)
        )
        self.rules = (*self._protocol(), *(rule for rules in others for rule in rules))
        self.properties = properties_of(self)
        self.symmetry = ControlSymmetry(self)

    def start(self) -> ControlState:
        """Every member is normal and knows all; the newcomers have no row yet."""
        topology = ClusterTopology(
            nodes=tuple(self._first_row(i) for i in range(len(self.names))),
            members=self.plan.members,
            ignored=self.plan.mask(self.parameters.ignored, "ignored"),
            tablets_on=self.plan.mask(self.parameters.on_tablets, "on_tablets"),
            rf=self.parameters.rf,
            keyspaces=self.plan.keyspaces,
        )
        up = (1 << len(self.names)) - 1 & ~self.start_down
        start = ControlState(
            topology=topology,
            state_id=1,
            views=(local_view(topology),),
            applied=(0,) * len(self.names),
            up=up,
            coordinator=next(nodes_in(up & self.plan.members), NOBODY),
            faults=FaultBudget(
                crashes=self.parameters.crashes,
                changes=self.parameters.changes,
                failures=self.parameters.failures,
                cuts=self.parameters.cuts,
                late=self.parameters.late,
                addresses=self.parameters.addresses,
                exclusions=self.parameters.exclusions,
                clients=self.parameters.clients,
                tablets=self.parameters.tablets,
            ),
        )
        return reconfigured(start) if self.limited else start

    def _start_down(self) -> int:
        """Who is down at first: as given, else who is to be removed or replaced (a mask)."""
        if self.parameters.down is not None:
            return self.plan.mask(self.parameters.down, "down")
        return sum(
            {
                1 << (request.node if request.kind == "remove" else request.replaced)
                for request in self.plan.requests
                if request.kind in ("remove", "replace")
            }
        )

    def _first_row(self, node: int) -> NodeEntry:
        rack = self.plan.racks[node]
        if self.plan.members >> node & 1:
            return NodeEntry(state="normal", tokens=True, rack=rack)
        return NodeEntry(rack=rack)

    def rule(
        self,
        action: type,
        kind: str,
        candidates: Callable[[ControlState], Any],
        condition: Callable[[ControlState, Any], Refusal | None],
        effect: Callable[[ControlState, Any], ControlState],
    ) -> Rule[ControlState, Any]:
        """A rule whose effect leaves no ghosts in the state."""

        def clean(before: ControlState, action: Any) -> ControlState:
            s = effect(before, action)
            if self.limited and not same_nodes(before, s):
                s = reconfigured(s)
            return settled(s if self.parameters.lag else caught_up(s, s.reachable))

        return paired(action, kind, candidates, condition, clean)

    def each(self, action: type, mask: int) -> Iterator[Any]:
        """The action for each node of a mask."""
        return (action(self.names[i]) for i in nodes_in(mask))

    def named(self, mask: int) -> tuple[str, ...]:
        """The names of the nodes in a mask."""
        return tuple(self.names[i] for i in nodes_in(mask))

    def _protocol(self) -> tuple[Rule[ControlState, Any], ...]:
        once = act.TakeDecision(), act.CommitDecision(), act.DoWork()
        decide, commit, do = ((action,) for action in once)
        publish = (act.PublishGeneration(),) * self.parameters.publishing
        return (
            self.rule(act.MakeRequest, "request", self._requests, self._may_request, self._request),
            self.rule(
                act.TakeDecision,
                "decide",
                lambda s: decide,
                self._may_decide,
                lambda s, a: work.decided(s, self.setting, self.names[s.coordinator]),
            ),
            self.rule(
                act.CommitDecision,
                "commit",
                lambda s: commit if s.attempted.command is not None else (),
                majority_refusal,
                lambda s, a: work.decision_committed(s, self.setting),
            ),
            self.rule(act.DoWork, "work", lambda s: do, self._may_work, self._work),
            self.rule(
                act.AnswerBarrier, "answer", self._asked_nodes, self._may_answer, self._answer
            ),
            track.rule(self),
            self.rule(act.ApplyTopology, "apply", self._lagging, lambda s, a: None, self._apply),
            self.rule(act.ReportClean, "clean", self._cleaning, self._may_report, self._report),
            self.rule(
                act.PublishGeneration,
                "publish",
                lambda s: publish if s.topology.unpublished else (),
                self._may_lead,
                lambda s, a: with_topology(
                    s, replace(s.topology, unpublished=s.topology.unpublished - 1)
                ),
            ),
            self.rule(
                act.UnlockTopology,
                "request",
                lambda s: (act.UnlockTopology(),) if s.topology.transition == "lock" else (),
                majority_refusal,
                lambda s, a: with_topology(s, replace(s.topology, transition="")),
            ),
        )

    def _requests(self, s: ControlState) -> tuple[act.MakeRequest, ...]:
        return (act.MakeRequest(s.made),) if s.made < len(self.plan.requests) else ()

    def _may_request(self, s: ControlState, action: act.MakeRequest) -> Refusal | None:
        blocked = majority_refusal(s, action)
        if blocked is not None:
            return blocked
        return refusal(s.topology, self.plan.requests[action.number], s.reachable, self.setting)

    def _request(self, s: ControlState, action: act.MakeRequest) -> ControlState:
        asks = self.plan.requests[action.number]
        topology = requested(s.topology, asks)
        if self.limited:
            topology = replace(topology, nonvoters=topology.nonvoters | going_away(topology, asks))
        s = replace(with_topology(s, topology), made=s.made + 1)
        # Who asks to join is up, also a node that has left and was shut down.
        return replace(s, up=s.up | 1 << asks.node) if asks.kind in ("join", "replace") else s

    def _may_lead(self, s: ControlState, action: Any) -> Refusal | None:
        """Whether there is a coordinator that the others hear, and a majority to commit."""
        if s.coordinator == NOBODY or not s.reachable >> s.coordinator & 1:
            return NO_COORDINATOR
        return majority_refusal(s, action)

    def _may_decide(self, s: ControlState, action: act.TakeDecision) -> Refusal | None:
        leads = self._may_lead(s, action)
        if leads is not None:
            return leads
        if s.attempted.command is not None:
            return IN_HAND
        if work.due(s, self.setting) is not None:
            return None
        decision = work.decision_of(s, self.setting)
        return Refusal(decision.reason, missing=self.named(decision.missing))

    def _may_work(self, s: ControlState, action: act.DoWork) -> Refusal | None:
        blocked = self.busy(s)
        if blocked is not None:
            return blocked
        task = work.task_of(s, self.setting)
        piece = task.work
        if piece is None or piece.barrier or piece.name in COMMANDS_OF_WORK:
            return Refusal("no such work comes next")
        if piece.name in work.TABLETS_WORK:
            return Refusal("tablets are still moving, or still on the node")
        missing = task.needs & ~s.reachable
        if missing:
            return Refusal(f"{piece.name} cannot reach a node", missing=self.named(missing))
        if piece.name == "check_drained" and self._has_tablets(s, task):
            return Refusal("the node still has tablets")
        racks = faults.racks_against(s, task, self)
        return Refusal(racks) if racks else None

    def _has_tablets(self, s: ControlState, task: work.CoordinatorTask) -> bool:
        operation = task.decision.operation
        return operation is not None and bool(s.topology.tablets_on >> operation.node & 1)

    def busy(self, s: ControlState) -> Refusal | None:
        """Why the coordinator works on nothing now: there is none, or a command comes first."""
        leads = self._may_lead(s, None)
        if leads is not None:
            return leads
        if s.attempted.command is not None or not s.started:
            return IN_HAND
        return Refusal("that work has failed") if s.attempted.failed else None

    def _work(self, s: ControlState, action: act.DoWork) -> ControlState:
        return work.advanced(work.worked(s, self.setting), self.setting)

    def _asked_nodes(self, s: ControlState) -> Iterable[act.AnswerBarrier]:
        if self.busy(s) is not None:
            return ()
        task = work.task_of(s, self.setting)
        if task.work is None or not task.work.barrier:
            return ()
        if s.attempted.commands and work.fence_is_due(s, task):
            return ()
        return self.each(act.AnswerBarrier, work.barrier_left(s, task))

    def _may_answer(self, s: ControlState, action: act.AnswerBarrier) -> Refusal | None:
        node = self.number[action.node]
        if not s.reachable >> node & 1:
            return Refusal("it does not hear the barrier", missing=(action.node,))
        drains = work.drains(s, work.task_of(s, self.setting))
        return serving.drain_refusal(s, node, self.setting) if drains else None

    def _answer(self, s: ControlState, action: act.AnswerBarrier) -> ControlState:
        bit = 1 << self.number[action.node]
        attempted = replace(s.attempted, answered=s.attempted.answered | bit)
        return work.advanced(replace(caught_up(s, bit), attempted=attempted), self.setting)

    def _lagging(self, s: ControlState) -> Iterator[act.ApplyTopology]:
        newest = len(s.views) - 1
        behind = (i for i in nodes_in(s.reachable) if s.applied[i] < newest)
        return (act.ApplyTopology(self.names[i]) for i in behind)

    def _apply(self, s: ControlState, action: act.ApplyTopology) -> ControlState:
        node = self.number[action.node]
        applied = (*s.applied[:node], s.applied[node] + 1, *s.applied[node + 1 :])
        return replace(s, applied=applied)

    def _cleaning(self, s: ControlState) -> tuple[act.ReportClean, ...]:
        cleaning = (i for i, entry in enumerate(s.topology.nodes) if entry.cleanup == "running")
        return tuple(act.ReportClean(self.names[i]) for i in cleaning)

    def _may_report(self, s: ControlState, action: act.ReportClean) -> Refusal | None:
        if not s.reachable >> self.number[action.node] & 1:
            return Refusal("it is not heard", missing=(action.node,))
        return majority_refusal(s, action)

    def _report(self, s: ControlState, action: act.ReportClean) -> ControlState:
        node = self.number[action.node]
        return with_topology(s, with_node(s.topology, node, cleanup="clean"))

    def suggest(self, s: ControlState) -> Any | None:
        """The next step when nothing goes wrong: the coordinator's work, then what nodes do."""
        helps = None
        for action in self.actions(s):
            kind = self.kind(action)
            if kind not in UNASKED:
                return action
            if kind in ("elect", "restart"):
                helps = helps or action
        if decide(s.topology, s.reachable, self.setting).kind == "rest":
            return None
        # Nothing else helps: work has to fail, or somebody has to lead, or to come back.
        return act.FailWork() if faults.racks_fail(s, self) else helps

    def find(self, s: ControlState, verb: str) -> tuple[Any, Refusal | None] | None:
        """The option that goes by a verb, in the tables' words or in an operator's."""
        return super().find(s, stored_words(verb))

    def verb(self, action: Any) -> str:
        """``join D``, ``decide``, ``answer B`` and so on."""
        return wording.verb(self, action)

    def label(self, s: ControlState, action: Any) -> str:
        """The verb, with what is decided or worked on."""
        return wording.label(self, s, action)

    def milestone(self, before: ControlState, action: Any, after: ControlState) -> str | None:
        """The transition state that is entered."""
        return wording.milestone(before, after)

    def describe(self, before: ControlState, action: Any, after: ControlState) -> str:
        """What the step did, and why."""
        return wording.describe(self, before, action, after)

    def readable(self, s: ControlState) -> dict[str, str]:
        """The tables, the coordinator and the nodes in words."""
        return wording.readable(self, s)
