"""The model of the old procedure: an operator's steps in RECOVERY mode, then the Raft upgrade.

The operator may do any step at any time: what is refused is what a server refuses. Each node has
what it persists and the mode that it started in. Schema travels by pulls while group 0 does not
manage it. A change of ``group0_upgrade_state`` takes effect when its node restarts, which takes a
stop and a start. All members vote, in edition ``server`` at most five. Sources: manual on Raft,
"Raft manual recovery procedure"; Raft in Scylla, "Group 0 schema versioning"; published code of the
servers that still had RECOVERY mode, and of those that limit voters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from kit.engine.model import Model, Rule
from kit.engine.pairs import paired
from kit.engine.parameters import check_limits
from kit.protocols.recovery.old import actions as act
from kit.protocols.recovery.old import cluster, permits, schedule, steps, wording
from kit.protocols.recovery.old.parameters import OldParameters
from kit.protocols.recovery.old.properties import properties_of
from kit.protocols.recovery.old.state import MODES, OldNode, OldState, Value
from kit.protocols.recovery.old.symmetry import renumbered
from kit.protocols.recovery.parameters import check_dead, quorum_without
from kit.protocols.recovery.rules.placing import places_of
from kit.protocols.recovery.state import NO_GROUP, OLD


class RecoveryMode(Model[OldState, Any]):
    """A group 0 with ``parameters.commit_indexes``, of which ``parameters.dead`` are given up."""

    name = "recovery_mode"
    title = "A lost majority, by RECOVERY mode"
    State = OldState
    Action = act.OldAction
    rests_at_goals = True
    faults = ("crash", "die", "return")

    def __init__(self, parameters: OldParameters | None = None, off: tuple[str, ...] = ()) -> None:
        """A model; it has no safeguards to switch ``off``.

        Raises:
            BadInput: for a parameter out of its limits, unknown names, or a majority that lives.
        """
        self.parameters: OldParameters = parameters or OldParameters()
        check_limits(self.parameters)
        given = self.parameters
        server = given.edition == "server"
        few = given.stuck or server
        self.names, self.given_up = check_dead(given.commit_indexes, given.dead, few=few)
        self.places = places_of(len(self.names))
        self.begins = quorum_without(
            given.edition, self.names, self.given_up, self.places, given.stuck
        )
        self.rules = self._rules()
        self.properties = properties_of(self)
        self.symmetry = renumbered

    def number(self, name: str) -> int:
        """The number of a node."""
        return self.names.index(name)

    def names_of(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """The names of nodes."""
        return tuple(self.names[i] for i in numbers)

    def group_name(self, group: int) -> str:
        """What a group is called."""
        return "the old group" if group == OLD else f"group {group + 1}"

    def start(self) -> OldState:
        """The dead are dead; the others run in the old group, or are stuck in its upgrade."""
        given = self.parameters
        everybody = (1 << len(self.names)) - 1
        nodes = tuple(
            self._node(name in self.given_up, index, everybody)
            for name, index in zip(self.names, given.commit_indexes, strict=True)
        )
        entries = max(given.commit_indexes)
        return OldState(
            nodes=nodes,
            groups=(everybody,),
            voters=(self.begins.voters,) if given.edition == "server" else (),
            logs=(tuple((before, before + 1) for before in range(entries)),),
            entries=entries,
            crashes=given.crashes,
            deaths=given.deaths,
            returns=given.returns,
            changes=given.changes,
            mistypes=given.mistypes,
        )

    def _node(self, dead: bool, index: int, everybody: int) -> OldNode:
        value: Value = "synchronize" if self.parameters.stuck else "use_post_raft_procedures"
        return OldNode(
            standing="dead" if dead else "live",
            mode="down" if dead else MODES[value],
            value=value,
            group=NO_GROUP if dead else OLD,
            group_id=OLD,
            discovery=everybody,
            history=index,
            columns=(1 << index) - 1,
            version=index,
            applied=index,
        )

    def _rules(self) -> tuple[Rule[OldState, Any], ...]:
        def rule(action: Any, kind: str, candidates: Any, condition: Any, effect: Any) -> Any:
            """A rule whose condition and effect take the model, too."""
            return paired(
                action,
                kind,
                candidates,
                lambda s, a: condition(self, s, a),
                lambda s, a: steps.voting(self, steps.forgetting(effect(self, s, a))),
            )

        def written(**fields: Any) -> Any:
            """An effect: a query writes these fields of a node."""
            return lambda m, s, a: steps.changed(s, m.number(a.node), **fields)

        def noted(**fields: Any) -> Any:
            """An effect: the operator knows more."""
            return lambda m, s, a: replace(s, **fields)

        def mistyped(m: Any, s: OldState, a: act.MistypeValue) -> OldState:
            after = steps.changed(s, m.number(a.node), value="unknown")
            return replace(after, mistypes=s.mistypes - 1)

        def each(action: Any, holds: Callable[[OldState, OldNode], bool]) -> Any:
            """Candidates: the live nodes for which something holds."""
            return lambda s: (
                action(self.names[i]) for i in cluster.live(s) if holds(s, s.nodes[i])
            )

        def once(action: Any, holds: Callable[[OldState], bool]) -> Any:
            return lambda s: (action(),) if holds(s) else ()

        query, free = permits.query, permits.free
        return (
            rule(act.CutOffDead, "isolate",
                 once(act.CutOffDead, lambda s: not s.isolated and bool(cluster.given_up(s))),
                 free, noted(isolated=True)),
            rule(act.SetRecovery, "set", each(act.SetRecovery, lambda s, n: n.value != "recovery"),
                 query, written(value="recovery")),
            rule(act.StopServer, "restart", each(act.StopServer, lambda s, n: n.is_up),
                 free, steps.stop),
            rule(act.StartServer, "restart", each(act.StartServer, lambda s, n: not n.is_up),
                 free, steps.start),
            rule(act.ReadLogs, "check", once(act.ReadLogs, lambda s: not s.logs_read),
                 permits.read_logs, noted(logs_read=True)),
            rule(act.RemoveDead, "remove", self._remove, permits.remove, steps.remove),
            rule(act.TruncateDiscovery, "delete",
                 each(act.TruncateDiscovery, lambda s, n: n.discovery > 0),
                 query, written(discovery=0)),
            rule(act.TruncateHistory, "delete",
                 each(act.TruncateHistory, lambda s, n: n.history > 0), query, written(history=0)),
            rule(act.DropGroupId, "delete",
                 each(act.DropGroupId, lambda s, n: n.group_id != NO_GROUP),
                 query, written(group_id=NO_GROUP)),
            rule(act.CompareVersions, "check", once(act.CompareVersions, lambda s: not s.compared),
                 permits.compare, noted(compared=True)),
            rule(act.DeleteStateRow, "leave",
                 each(act.DeleteStateRow, lambda s, n: n.value in ("recovery", "unknown")),
                 query, written(value="")),
            rule(act.PullLegacySchema, "pull", self._pull, permits.pull, steps.pull),
            rule(act.EnterNewGroup, "upgrade",
                 each(act.EnterNewGroup, lambda s, n: n.waits_for_group),
                 permits.enter, steps.enter),
            rule(act.BeginSynchronize, "upgrade",
                 each(act.BeginSynchronize,
                      lambda s, n: n.mode == "upgrade" and n.group != NO_GROUP),
                 permits.synchronize, steps.synchronize),
            rule(act.FinishRaftUpgrade, "upgrade",
                 each(act.FinishRaftUpgrade,
                      lambda s, n: n.mode == "synchronize" and n.group != NO_GROUP),
                 permits.finish, steps.finish),
            rule(act.AddAColumn, "alter", self._alter, permits.alter, steps.alter),
            rule(act.MistypeValue, "mistype",
                 each(act.MistypeValue, lambda s, n: s.mistypes > 0 and n.value != "unknown"),
                 query, mistyped),
            rule(act.CrashServer, "crash",
                 each(act.CrashServer, lambda s, n: s.crashes > 0 and n.is_up), free, steps.crash),
            rule(act.LoseServer, "die", self._die, free, steps.lose),
            rule(act.ReviveDead, "return", self._return, free, steps.come_back),
        )  # fmt: skip

    def _remove(self, s: OldState) -> Iterable[Any]:
        return (act.RemoveDead(self.names[i]) for i in cluster.given_up(s))

    def _pull(self, s: OldState) -> Iterable[Any]:
        """Nodes that do not run by group 0 pull from every other version that brings them more."""
        for pair in cluster.pairs(s):
            for node, source in (pair, pair[::-1]):
                gains = s.nodes[node].mode != "group 0" and steps.merged(s, node, source) != s
                if gains:
                    yield act.PullLegacySchema(self.names[node], self.names[source])

    def _alter(self, s: OldState) -> Iterable[Any]:
        """At each node that is up, while changes are left."""
        up = (i for i, n in enumerate(s.nodes) if n.is_up)
        return (act.AddAColumn(self.names[i]) for i in up if s.changes)

    def _die(self, s: OldState) -> Iterable[Any]:
        """As long as another one is left."""
        live = cluster.live(s)
        some = live if s.deaths and len(live) > 1 else ()
        return (act.LoseServer(self.names[i]) for i in some)

    def _return(self, s: OldState) -> Iterable[Any]:
        dead = (i for i, n in enumerate(s.nodes) if n.standing == "dead")
        return (act.ReviveDead(self.names[i]) for i in dead if s.returns)

    def suggest(self, s: OldState) -> Any | None:
        """The operator's next step, or what servers do on their own."""
        return schedule.next_step(self, s)

    def verb(self, action: Any) -> str:
        """``set A``, ``stop A``, ``removenode C`` and so on."""
        return wording.verb(action)

    def milestone(self, before: OldState, action: Any, after: OldState) -> str | None:
        """All in RECOVERY mode, nobody dead, a new group, the end."""
        return wording.milestone(self, before, action, after)

    def describe(self, before: OldState, action: Any, after: OldState) -> str:
        """What the step did, and why."""
        return wording.describe(self, before, action, after)

    def readable(self, s: OldState) -> dict[str, str]:
        """The nodes in words."""
        return wording.readable(self, s)
