"""The model of the Raft upgrade: an operator's rolling restart, then five phases on each node.

A comparison of schema versions with all peers is one step: where it counts nobody takes changes,
and schemas only grow. An entry of group 0 reaches all members in reach at once: what Raft does
between them is the matter of ``group0``. Changes that come by gossip add columns of different
names; which of two for one name wins is the matter of ``gossip``.
Sources: manual on Raft, "Enabling Raft", "Verifying"; published code, ``raft_group0``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from string import ascii_uppercase
from typing import Any

from msgspec.structs import replace

from kit.engine.model import Model, Rule
from kit.engine.pairs import paired
from kit.engine.parameters import check_limits
from kit.engine.safeguards import switched_off
from kit.errors import BadInput
from kit.protocols.upgrade.raft import peers, permits, steps, wording
from kit.protocols.upgrade.raft import state as act
from kit.protocols.upgrade.raft.parameters import (
    SAFEGUARDS,
    RaftUpgradeParameters,
    RaftUpgradeSafeguards,
)
from kit.protocols.upgrade.raft.properties import properties_of
from kit.protocols.upgrade.raft.state import NO_GROUP, PROBLEM, RaftUpgradeState, UpgradingNode
from kit.protocols.upgrade.rules.upgrade_state import POST, PRE, RECOVERY, SYNCHRONIZE

SLIP = "use_raft"
"""A value of the row that no node knows."""


class RaftUpgrade(Model[RaftUpgradeState, Any]):
    """A cluster of ``parameters.nodes`` on the way into Raft."""

    name = "raft_upgrade"
    title = "The Raft upgrade"
    State = RaftUpgradeState
    Action = act.RaftUpgradeAction
    safeguards = SAFEGUARDS
    rests_at_goals = True
    faults = ("crash", "die", "cut", "update")

    def __init__(
        self, parameters: RaftUpgradeParameters | None = None, off: tuple[str, ...] = ()
    ) -> None:
        """A model with the safeguards ``off`` switched off.

        Raises:
            BadInput: for a parameter out of its limits, a new cluster with an old problem, or
                unknown names.
        """
        self.parameters: RaftUpgradeParameters = parameters or RaftUpgradeParameters()
        self.off = off
        check_limits(self.parameters)
        if self.parameters.schema_problem and self.parameters.beginning == "new cluster":
            raise BadInput("schema_problem", True, "false: a new cluster has no older definitions")
        self.guarded = switched_off(RaftUpgradeSafeguards, off)
        self.names = tuple(ascii_uppercase[: self.parameters.nodes])
        self.rules = self._rules()
        self.properties = properties_of(self)

    @property
    def under_way(self) -> str:
        """Who goes into Raft, and from where."""
        return f"{', '.join(self.names)} go into Raft, {self.parameters.beginning} so far"

    def number(self, name: str) -> int:
        """The number of a node."""
        return self.names.index(name)

    def start(self) -> RaftUpgradeState:
        """Nodes without the option or of an older version; a new cluster has Raft at once."""
        given = self.parameters
        size, is_new = given.nodes, given.beginning == "new cluster"
        if is_new:
            plain = UpgradingNode(
                *("up", True, True, True, True, True),
                row=POST,
                state=POST,
                group=1,
            )
        else:
            has_new = given.beginning == "without Raft"
            plain = UpgradingNode(installed=has_new, runs_new=has_new)
        last = replace(plain, schema=PROBLEM) if given.schema_problem else plain
        return RaftUpgradeState(
            nodes=(*[plain] * (size - 1), last),
            entries=(0,) if is_new else (),
            changes=given.changes,
            crashes=given.crashes,
            deaths=given.deaths,
            cuts=given.cuts,
            turns=given.turns,
            restarts=given.restarts,
            edits=given.edits,
        )

    def _rules(self) -> tuple[Rule[RaftUpgradeState, Any], ...]:
        def rule(
            action: Any, kind: str, candidates: Any, effect: Any, may: Any = permits.free
        ) -> Any:
            """A rule whose condition and effect take the model, too."""
            return paired(
                action, kind, candidates, lambda s, a: may(self, s, a),
                lambda s, a: effect(self, s, a),
            )  # fmt: skip

        def sets(**fields: Any) -> Any:
            return lambda m, s, a: steps.changed(s, m.number(a.node), **fields)

        def linked(cut: bool) -> Any:
            def effect(m: RaftUpgrade, s: RaftUpgradeState, a: Any) -> RaftUpgradeState:
                pair = (m.number(a.first), m.number(a.second))
                left = tuple(each for each in s.cut if each != pair)
                pairs = tuple(sorted((*left, pair))) if cut else left
                return replace(s, cut=pairs, cuts=s.cuts - cut)

            return effect

        return (
            rule(act.InstallVersion, "install", self._install, sets(installed=True)),
            rule(act.TurnOptionOn, "configure", self._configure, sets(configured=True),
                 permits.configure),
            rule(act.RestartUpgrading, "restart", self._restart, steps.restart, permits.restart),
            rule(act.HealPair, "heal", self._heal, linked(cut=False)),
            rule(act.PullSchema, "gossip", self._pull, steps.pull),
            rule(act.JoinGroup, "phase", self._join, steps.join_group, permits.join_group),
            rule(act.CompareSchema, "phase", self._compare, sets(compared=True, tries=0),
                 permits.compare),
            rule(act.EnterSynchronize, "phase", self._enter, steps.enter),
            rule(act.FinishUpgrade, "phase", self._finish, steps.finish),
            rule(act.FetchNewestSchema, "catch up", self._catch_up, steps.catch_up),
            rule(act.AwaitPeers, "retry", self._retry,
                 lambda m, s, a: steps.changed(
                     s, m.number(a.node), tries=s.nodes[m.number(a.node)].tries + 1)),
            rule(act.ChangeSchema, "alter", self._alter, steps.alter, permits.alter),
            rule(act.TurnOptionOff, "turn off", self._turn_off,
                 lambda m, s, a: steps.changed(
                     replace(s, turns=s.turns - 1), m.number(a.node), configured=False)),
            rule(act.WriteRow, "update", self._update, steps.write_row),
            rule(act.CrashUpgrading, "crash", self._crash, steps.crash),
            rule(act.LoseUpgrading, "die", self._die, steps.lose),
            rule(act.CutPair, "cut", self._cut, linked(cut=True)),
        )  # fmt: skip

    def _each(
        self, s: RaftUpgradeState, action: Any, holds: Callable[[UpgradingNode], bool]
    ) -> Iterable[Any]:
        pairs = zip(self.names, s.nodes, strict=True)
        return (action(name) for name, node in pairs if holds(node))

    def _install(self, s: RaftUpgradeState) -> Iterable[Any]:
        return self._each(s, act.InstallVersion, lambda n: not n.installed and n.status != "lost")

    def _configure(self, s: RaftUpgradeState) -> Iterable[Any]:
        return self._each(s, act.TurnOptionOn, lambda n: not n.configured and n.status != "lost")

    def _restart(self, s: RaftUpgradeState) -> Iterable[Any]:
        def able(node: UpgradingNode) -> bool:
            if node.is_up:
                return s.restarts > 0 or steps.needs_restart(node)
            return node.status == "down"

        return self._each(s, act.RestartUpgrading, able)

    def _heal(self, s: RaftUpgradeState) -> Iterable[Any]:
        return (act.HealPair(self.names[i], self.names[j]) for i, j in s.cut)

    def _pull(self, s: RaftUpgradeState) -> Iterable[Any]:
        for node, source in combinations(range(len(s.nodes)), 2):
            for a, b in ((node, source), (source, node)):
                if peers.to_pull(s, a, b):
                    yield act.PullSchema(self.names[a], self.names[b])

    def _upgrading(
        self, s: RaftUpgradeState, action: Any, *positions: int, group: bool = True
    ) -> Iterable[Any]:
        def able(node: UpgradingNode) -> bool:
            running = node.is_up and node.has_feature and node.state in (PRE, SYNCHRONIZE)
            return running and node.position in positions and (node.group != NO_GROUP) == group

        return self._each(s, action, able)

    def _join(self, s: RaftUpgradeState) -> Iterable[Any]:
        return self._upgrading(s, act.JoinGroup, 0, group=False)

    def _compare(self, s: RaftUpgradeState) -> Iterable[Any]:
        return self._upgrading(s, act.CompareSchema, 1, 3)

    def _enter(self, s: RaftUpgradeState) -> Iterable[Any]:
        return self._upgrading(s, act.EnterSynchronize, 2)

    def _finish(self, s: RaftUpgradeState) -> Iterable[Any]:
        return self._upgrading(s, act.FinishUpgrade, 4)

    def _catch_up(self, s: RaftUpgradeState) -> Iterable[Any]:
        for i, node in enumerate(s.nodes):
            behind = steps.is_behind(s, node) and peers.has_majority(s, i)
            if node.is_up and node.state != RECOVERY and (not node.serves or behind):
                yield act.FetchNewestSchema(self.names[i])

    def _retry(self, s: RaftUpgradeState) -> Iterable[Any]:
        given = self.parameters
        equal, alive = self.guarded.schema_synchronization, self.guarded.all_alive
        for i, node in enumerate(s.nodes):
            if node.tries < given.retries and peers.awaited(s, i, alive, equal):
                yield act.AwaitPeers(self.names[i])

    def _alter(self, s: RaftUpgradeState) -> Iterable[Any]:
        return self._each(s, act.ChangeSchema, lambda n: s.changes > 0 and n.is_up)

    def _turn_off(self, s: RaftUpgradeState) -> Iterable[Any]:
        return self._each(
            s, act.TurnOptionOff, lambda n: s.turns > 0 and n.configured and n.status != "lost"
        )

    def _update(self, s: RaftUpgradeState) -> Iterable[Any]:
        for name, node in zip(self.names, s.nodes, strict=True):
            if s.edits > 0 and node.is_up:
                for value in (RECOVERY, SLIP):
                    if node.row != value:
                        yield act.WriteRow(name, value)

    def _crash(self, s: RaftUpgradeState) -> Iterable[Any]:
        return self._each(s, act.CrashUpgrading, lambda n: s.crashes > 0 and n.is_up)

    def _die(self, s: RaftUpgradeState) -> Iterable[Any]:
        others = sum(n.status != "lost" for n in s.nodes) > 1
        return self._each(
            s, act.LoseUpgrading, lambda n: s.deaths > 0 and others and n.status != "lost"
        )

    def _cut(self, s: RaftUpgradeState) -> Iterable[Any]:
        for i, j in combinations(range(len(s.nodes)), 2):
            if s.cuts > 0 and (i, j) not in s.cut:
                yield act.CutPair(self.names[i], self.names[j])

    def suggest(self, s: RaftUpgradeState) -> Any | None:
        """The operator goes from node to node; then the nodes go on by themselves."""
        enabled = list(self.actions(s))
        rolling = (act.InstallVersion, act.TurnOptionOn, act.RestartUpgrading)
        kinds = ("heal", "gossip", "phase", "catch up", "retry")
        for name in self.names:
            needed = [a for a in enabled if type(a) in rolling and a.node == name]
            node = s.nodes[self.number(name)]
            for action in needed:
                free = isinstance(action, act.RestartUpgrading) and node.is_up
                if not free or steps.needs_restart(node):
                    return action
        return next((a for kind in kinds for a in enabled if self.kind(a) == kind), None)

    def verb(self, action: Any) -> str:
        """``configure A``, ``restart A``, ``join-group A`` and so on."""
        return wording.verb(action)

    def milestone(
        self, before: RaftUpgradeState, action: Any, after: RaftUpgradeState
    ) -> str | None:
        """The feature, a phase that all have reached, the end."""
        return wording.milestone(self, before, after)

    def describe(self, before: RaftUpgradeState, action: Any, after: RaftUpgradeState) -> str:
        """What the step did, and why."""
        return wording.describe(self, before, action, after)

    def readable(self, s: RaftUpgradeState) -> dict[str, str]:
        """The nodes in words."""
        return wording.readable(self, s)
