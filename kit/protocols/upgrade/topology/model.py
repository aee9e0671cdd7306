"""The model of the topology upgrade: a POST, a table built from gossip, then requests are served.

A command of group 0 is committed by its leader; other nodes apply it later. How long it may take
until gossip has told a node of all others is left out: the build reads what gossip tells of all.
Source: Topology over Raft, "Upgrade from legacy topology to raft-based topology"; the rows are
committed one by one here, which the documents leave open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from string import ascii_uppercase
from typing import Any

from msgspec.structs import replace

from kit.engine.model import Model, Rule
from kit.engine.pairs import paired
from kit.engine.parameters import check_limits
from kit.engine.safeguards import switched_off
from kit.errors import BadInput
from kit.protocols.upgrade.rules.topology_state import BUILDING, NOT_UPGRADED
from kit.protocols.upgrade.topology import permits, steps, wording
from kit.protocols.upgrade.topology import state as act
from kit.protocols.upgrade.topology.parameters import (
    SAFEGUARDS,
    TopologyUpgradeParameters,
    TopologyUpgradeSafeguards,
)
from kit.protocols.upgrade.topology.properties import properties_of
from kit.protocols.upgrade.topology.state import NOBODY, TopologyNode, TopologyUpgradeRun


class TopologyUpgrade(Model[TopologyUpgradeRun, Any]):
    """A cluster of ``parameters.nodes`` whose topology goes into group 0."""

    name = "topology_upgrade"
    title = "The topology upgrade"
    State = TopologyUpgradeRun
    Action = act.TopologyUpgradeAction
    safeguards = SAFEGUARDS
    rests_at_goals = True
    faults = ("crash",)

    def __init__(
        self, parameters: TopologyUpgradeParameters | None = None, off: tuple[str, ...] = ()
    ) -> None:
        """A model with the safeguards ``off`` switched off.

        Raises:
            BadInput: for a parameter out of its limits, more older nodes than there are, or
                unknown names.
        """
        self.parameters: TopologyUpgradeParameters = parameters or TopologyUpgradeParameters()
        self.off = off
        check_limits(self.parameters)
        self.guarded = switched_off(TopologyUpgradeSafeguards, off)
        given = self.parameters
        if given.older > given.nodes:
            raise BadInput("older", given.older, f"at most the {given.nodes} members")
        self.names = tuple(ascii_uppercase[: given.nodes + given.joiners])
        self.rules = self._rules()
        self.properties = properties_of(self)

    @property
    def under_way(self) -> str:
        """Whose topology goes into group 0, and who asks to join."""
        members = self.parameters.nodes
        joining = "".join(f"; {name} joins" for name in self.names[members:])
        return f"the topology of {', '.join(self.names[:members])} goes into group 0{joining}"

    def number(self, name: str) -> int:
        """The number of a node."""
        return self.names.index(name)

    def named(
        self, s: TopologyUpgradeRun, holds: Callable[[TopologyNode], bool]
    ) -> tuple[str, ...]:
        """The names of the nodes for which something holds."""
        return tuple(name for name, node in zip(self.names, s.nodes, strict=True) if holds(node))

    def start(self) -> TopologyUpgradeRun:
        """Gossip tells the topology; the first node leads group 0."""
        given = self.parameters
        inside = tuple(TopologyNode(is_new=i >= given.older) for i in range(given.nodes))
        outside = (TopologyNode(standing="outside"),) * given.joiners
        return TopologyUpgradeRun(
            nodes=(*inside, *outside), has_feature=given.older == 0, crashes=given.crashes
        )

    def _rules(self) -> tuple[Rule[TopologyUpgradeRun, Any], ...]:
        def rule(action: Any, kind: str, candidates: Any, effect: Any, may: Any) -> Any:
            """A rule whose condition and effect take the model, too."""
            return paired(
                action, kind, candidates, lambda s, a: may(self, s, a),
                lambda s, a: effect(self, s, a),
            )  # fmt: skip

        def of(action: Any, holds: Callable[[TopologyUpgradeRun, TopologyNode], bool]) -> Any:
            return lambda s: map(action, self.named(s, lambda node: holds(s, node)))

        def known(m: TopologyUpgrade, s: TopologyUpgradeRun, a: Any) -> TopologyUpgradeRun:
            return steps.knows(s, m.number(a.node))

        def led(m: TopologyUpgrade, s: TopologyUpgradeRun, a: Any) -> TopologyUpgradeRun:
            return steps.knows(replace(s, leader=m.number(a.node)), m.number(a.node))

        def sets(**fields: Any) -> Any:
            return lambda m, s, a: steps.changed(s, m.number(a.node), **fields)

        free, commit = permits.free, permits.commit
        return (
            rule(act.UpgradeMember, "upgrade",
                 of(act.UpgradeMember, lambda s, n: n.is_up and not n.is_new),
                 steps.upgrade, free),
            rule(act.PostUpgrade, "POST",
                 of(act.PostUpgrade,
                    lambda s, n: s.upgrade_state == NOT_UPGRADED and _is_member(n)),
                 steps.post, permits.post),
            rule(act.BuildRow, "build", self._build, steps.build, commit),
            rule(act.InsertGeneration, "build", self._generation,
                 lambda m, s, a: replace(s, has_generation=True), permits.generation),
            rule(act.EndUpgrade, "build", self._end, steps.end, permits.end),
            rule(act.ApplyUpgradeState, "apply",
                 of(act.ApplyUpgradeState,
                    lambda s, n: _is_member(n) and n.view != s.upgrade_state),
                 known, commit),
            rule(act.StartJoining, "join",
                 of(act.StartJoining, lambda s, n: n.standing == "outside"),
                 steps.start_joining, commit),
            rule(act.EndOldJoin, "join",
                 of(act.EndOldJoin, lambda s, n: n.standing == "joining"),
                 sets(standing="normal"), commit),
            rule(act.ServeJoin, "join",
                 of(act.ServeJoin, lambda s, n: n.standing == "queued"), steps.serve,
                 permits.serve),
            rule(act.ElectBuilder, "elect",
                 of(act.ElectBuilder, lambda s, n: s.leader == NOBODY and _is_member(n)),
                 led, permits.elect),
            rule(act.RestartMemberOfUpgrade, "restart",
                 of(act.RestartMemberOfUpgrade, lambda s, n: not n.is_up), sets(is_up=True), free),
            rule(act.CrashMemberOfUpgrade, "crash",
                 of(act.CrashMemberOfUpgrade,
                    lambda s, n: s.crashes > 0 and n.is_up and n.standing != "outside"),
                 steps.crash, free),
        )  # fmt: skip

    def _build(self, s: TopologyUpgradeRun) -> Iterable[Any]:
        if s.upgrade_state != BUILDING:
            return
        for number, node in enumerate(s.nodes):
            if node.standing == "normal" and not s.rows >> number & 1:
                yield act.BuildRow(self.names[number])

    def _generation(self, s: TopologyUpgradeRun) -> Iterable[Any]:
        building = s.upgrade_state == BUILDING and not s.has_generation
        return (act.InsertGeneration(),) if building else ()

    def _end(self, s: TopologyUpgradeRun) -> Iterable[Any]:
        return (act.EndUpgrade(),) if s.upgrade_state == BUILDING else ()

    def suggest(self, s: TopologyUpgradeRun) -> Any | None:
        """The next step when nothing goes wrong; nobody joins unasked."""
        unasked = ("crash",)
        return next(
            (
                action
                for action in self.actions(s)
                if self.kind(action) not in unasked and not isinstance(action, act.StartJoining)
            ),
            None,
        )

    def verb(self, action: Any) -> str:
        """``upgrade A``, ``post A``, ``build A``, ``done`` and so on."""
        return wording.verb(action)

    def milestone(
        self, before: TopologyUpgradeRun, action: Any, after: TopologyUpgradeRun
    ) -> str | None:
        """The feature, each state of the upgrade, a node that has joined."""
        return wording.milestone(self, before, after)

    def describe(self, before: TopologyUpgradeRun, action: Any, after: TopologyUpgradeRun) -> str:
        """What the step did, and why."""
        return wording.describe(self, before, action, after)

    def readable(self, s: TopologyUpgradeRun) -> dict[str, str]:
        """Group 0 and the nodes in words."""
        return wording.readable(self, s)


def _is_member(node: TopologyNode) -> bool:
    return node.is_up and node.standing == "normal"
