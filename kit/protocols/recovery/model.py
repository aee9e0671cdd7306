"""The model of a recovery: an operator's steps on a group 0 that lost its majority.

Each node has what it persists: group id, schema, ``recovery_leader``, rows of Raft. All members
vote, in edition ``server`` at most five, chosen again whenever a majority of them is there. An
entry reaches all members that are up at once: what Raft does between them is the matter of
``group0``. The manual's first rolling restart changes nothing here and is no step. Sources:
Topology over Raft, "Raft topology recovery"; the published manual and code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from kit.engine.model import Model, Rule
from kit.engine.pairs import paired
from kit.engine.parameters import check_limits
from kit.engine.safeguards import switched_off
from kit.errors import BadInput
from kit.protocols.recovery import actions as act
from kit.protocols.recovery import groups, permits, steps, wording
from kit.protocols.recovery.parameters import (
    SAFEGUARDS,
    RecoveryParameters,
    RecoverySafeguards,
    check_dead,
    quorum_without,
)
from kit.protocols.recovery.properties import persists_in_order, properties_of
from kit.protocols.recovery.rules.placing import places_of
from kit.protocols.recovery.state import (
    NO_GROUP,
    NOBODY,
    OLD,
    RecoveryNode,
    RecoveryState,
)

ORDER: dict[str, tuple[type, ...]] = {
    "documents": (
        *(act.IsolateDead, act.DeleteGroupId, act.ReadIndexes, act.ChooseLeader, act.SetOption),
        *(act.RestartLiveNode, act.EndOperation, act.RemoveNode, act.CleanRows),
    ),
    "server": (
        *(act.IsolateDead, act.ReadIndexes, act.ChooseLeader, act.DeleteGroupId, act.SetOption),
        *(act.RestartLiveNode, act.EndOperation, act.RemoveNode, act.UnsetOption, act.CleanRows),
    ),
}
"""The steps of the procedure in the order of each edition."""


class Recovery(Model[RecoveryState, Any]):
    """A group 0 with ``parameters.commit_indexes``, of which ``parameters.dead`` are given up."""

    name = "recovery"
    title = "A group 0 that lost its majority"
    State = RecoveryState
    Action = act.RecoveryAction
    safeguards = SAFEGUARDS
    rests_at_goals = True
    faults = ("crash", "die", "return")

    def __init__(
        self, parameters: RecoveryParameters | None = None, off: tuple[str, ...] = ()
    ) -> None:
        """A model with the safeguards ``off`` switched off.

        Raises:
            BadInput: for a parameter out of its limits, unknown names, or a majority that lives.
        """
        self.parameters: RecoveryParameters = parameters or RecoveryParameters()
        self.off = off
        check_limits(self.parameters)
        self.guarded = switched_off(RecoverySafeguards, off)
        given = self.parameters
        server = given.edition == "server"
        self.names, self.given_up = check_dead(given.commit_indexes, given.dead, few=server)
        size = len(self.names)
        if len(given.racks) not in (0, size):
            raise BadInput("racks", given.racks, f"none, or one for each of {size} nodes")
        self.places = places_of(size, given.racks)
        self.begins = quorum_without(given.edition, self.names, self.given_up, self.places)
        self.rules = self._rules()
        at_once = (persists_in_order(self),)
        self.properties = properties_of(self) + (at_once if self.guarded.causality else ())
        self.signs = () if self.guarded.causality else at_once

    @property
    def under_way(self) -> str:
        """Who recovers without whom, and whether an operation was under way."""
        live = ", ".join(name for name in self.names if name not in self.given_up)
        operation = ", in the middle of an operation" if self.parameters.operation else ""
        return f"recovery of {live} without {', '.join(self.given_up)}{operation}"

    def number(self, name: str) -> int:
        """The number of a node."""
        return self.names.index(name)

    def named(self, s: RecoveryState, holds: Callable[[RecoveryNode], bool]) -> tuple[str, ...]:
        """The names of the nodes for which something holds."""
        return tuple(name for name, node in zip(self.names, s.nodes, strict=True) if holds(node))

    def group_name(self, group: int) -> str:
        """What a group is called."""
        return "the old group" if group == OLD else f"group {group + 1}"

    def start(self) -> RecoveryState:
        """The majority is dead; the others still run in the old group."""
        given = self.parameters
        nodes = tuple(
            RecoveryNode(
                "dead" if name in self.given_up else "up",
                NO_GROUP if name in self.given_up else OLD,
                OLD,
                NOBODY,
                (1 << index) - 1,
            )
            for name, index in zip(self.names, given.commit_indexes, strict=True)
        )
        return RecoveryState(
            nodes=nodes,
            groups=((1 << len(nodes)) - 1,),
            voters=(self.begins.voters,) if given.edition == "server" else (),
            acknowledged=(0,),
            entries=max(given.commit_indexes),
            operation="under way" if given.operation else "none",
            crashes=given.crashes,
            deaths=given.deaths,
            returns=given.returns,
            changes=given.changes,
            writes=given.writes,
        )

    def _rules(self) -> tuple[Rule[RecoveryState, Any], ...]:
        def free(m: Recovery, s: RecoveryState, action: Any) -> None:
            return None

        def rule(action: Any, kind: str, candidates: Any, condition: Any, effect: Any) -> Any:
            """A rule whose condition and effect take the model, too."""
            return paired(
                action,
                kind,
                candidates,
                lambda s, a: condition(self, s, a),
                lambda s, a: steps.voting(self, effect(self, s, a)),
            )

        by_edition: dict[type, Any] = {
            act.IsolateDead: rule(
                *(act.IsolateDead, "isolate", self._isolate, free),
                lambda m, s, a: replace(s, isolated=True),
            ),
            act.ReadIndexes: rule(
                *(act.ReadIndexes, "read", self._read, permits.read),
                lambda m, s, a: replace(s, indexes_read=True),
            ),
            act.ChooseLeader: rule(
                act.ChooseLeader, "choose", self._choose, permits.choose, steps.choose
            ),
            act.DeleteGroupId: rule(
                *(act.DeleteGroupId, "delete", self._delete, permits.delete),
                lambda m, s, a: steps.changed(s, m.number(a.node), group_id=NO_GROUP),
            ),
            act.SetOption: rule(
                *(act.SetOption, "set", self._set, free),
                lambda m, s, a: steps.changed(s, m.number(a.node), option=s.leader),
            ),
            act.RestartLiveNode: rule(
                act.RestartLiveNode, "restart", self._restart, permits.restart, steps.restart
            ),
            act.EndOperation: rule(
                *(act.EndOperation, "coordinate", self._end, permits.coordinate),
                steps.end_operation,
            ),
            act.RemoveNode: rule(
                act.RemoveNode, "remove", self._remove, permits.remove, steps.remove
            ),
            act.UnsetOption: rule(
                *(act.UnsetOption, "unset", self._unset, permits.together),
                lambda m, s, a: steps.changed(s, m.number(a.node), option=NOBODY),
            ),
            act.CleanRows: rule(
                *(act.CleanRows, "clean", self._clean, permits.clean),
                lambda m, s, a: steps.changed(s, m.number(a.node), old_rows=False),
            ),
        }
        return (
            *(by_edition[action] for action in ORDER[self.parameters.edition]),
            rule(act.ReplaceNode, "replace", self._replace, permits.replace, steps.replaced),
            rule(act.AddColumn, "alter", self._alter, permits.alter, steps.add_column),
            rule(act.StoreData, "write", self._store, permits.store, steps.store),
            rule(act.CrashLiveNode, "crash", self._crash, free, steps.crash),
            rule(act.LoseNode, "die", self._die, free, steps.lose),
            rule(act.ReturnNode, "return", self._return, free, steps.come_back),
        )

    def _each(
        self, s: RecoveryState, action: Any, holds: Callable[[RecoveryNode], bool]
    ) -> Iterable[Any]:
        return map(action, self.named(s, holds))

    def _isolate(self, s: RecoveryState) -> Iterable[Any]:
        return () if s.isolated else (act.IsolateDead(),)

    def _read(self, s: RecoveryState) -> Iterable[Any]:
        return () if s.indexes_read else (act.ReadIndexes(),)

    def _choose(self, s: RecoveryState) -> Iterable[Any]:
        needed = groups.needs_leader(s)
        again = self.parameters.choose_again and len(s.groups) - 1 == s.abandoned
        for number, name in enumerate(self.names):
            another = again and number != s.leader
            if s.nodes[number].takes_part and (needed or another):
                yield act.ChooseLeader(name)

    def _delete(self, s: RecoveryState) -> Iterable[Any]:
        return self._each(
            *(s, act.DeleteGroupId),
            lambda n: n.status == "up" and NO_GROUP < n.group_id <= s.abandoned,
        )

    def _set(self, s: RecoveryState) -> Iterable[Any]:
        if s.leader == NOBODY or not s.nodes[s.leader].takes_part:
            return ()
        return self._each(
            *(s, act.SetOption),
            lambda n: n.takes_part and n.option != s.leader and n.group_id <= s.abandoned,
        )

    def _restart(self, s: RecoveryState) -> Iterable[Any]:
        """The leader comes first."""
        able = self.named(
            s,
            lambda n: n.status == "down" or (n.status == "up" and n.group_id == NO_GROUP),
        )
        first = self.names[s.leader] if s.leader != NOBODY else ""
        return map(act.RestartLiveNode, sorted(able, key=lambda name: name != first))

    def _end(self, s: RecoveryState) -> Iterable[Any]:
        return (act.EndOperation(),) if s.operation == "under way" else ()

    def _remove(self, s: RecoveryState) -> Iterable[Any]:
        return (
            act.RemoveNode(self.names[i], ignoring)
            for i in groups.dead(s)
            for ignoring in (True, False)
        )

    def _replace(self, s: RecoveryState) -> Iterable[Any]:
        return (act.ReplaceNode(self.names[i]) for i in groups.dead(s))

    def _unset(self, s: RecoveryState) -> Iterable[Any]:
        return self._each(s, act.UnsetOption, lambda n: n.takes_part and n.option != NOBODY)

    def _clean(self, s: RecoveryState) -> Iterable[Any]:
        return self._each(s, act.CleanRows, lambda n: n.takes_part and n.old_rows)

    def _alter(self, s: RecoveryState) -> Iterable[Any]:
        """One for each group that has somebody up, on either side of the firewall."""
        first: dict[tuple[int, bool], str] = {}
        for name, node in zip(self.names, s.nodes, strict=True):
            if node.group != NO_GROUP:
                first.setdefault((node.group, groups.is_walled_off(s, node)), name)
        return map(act.AddColumn, first.values()) if s.changes else ()

    def _store(self, s: RecoveryState) -> Iterable[Any]:
        """Data in the newest column that a node knows, and in the newest of all."""
        for name, node in zip(self.names, s.nodes, strict=True):
            if s.writes and node.status == "up":
                for column in sorted({node.columns.bit_length(), s.entries} - {0}):
                    if not node.data >> column - 1 & 1:
                        yield act.StoreData(name, column)

    def _crash(self, s: RecoveryState) -> Iterable[Any]:
        return self._each(s, act.CrashLiveNode, lambda n: s.crashes > 0 and n.status == "up")

    def _die(self, s: RecoveryState) -> Iterable[Any]:
        others = groups.taking_part(s).bit_count() > 1
        return self._each(s, act.LoseNode, lambda n: s.deaths > 0 and others and n.takes_part)

    def _return(self, s: RecoveryState) -> Iterable[Any]:
        """Once the recovery has begun: before it, a node that is back needs none."""
        begun = any(n.takes_part and n.group_id != OLD for n in s.nodes)
        return self._each(
            *(s, act.ReturnNode),
            lambda n: begun and s.returns > 0 and n.status == "dead" and n.group_id != NO_GROUP,
        )

    def suggest(self, s: RecoveryState) -> Any | None:
        """The operator's next step; a leader that was chosen stays."""
        steps_in_order = ORDER[self.parameters.edition]
        chosen = () if groups.needs_leader(s) else (act.ChooseLeader,)
        wanted = (a for a in self.actions(s) if type(a) in steps_in_order)
        return next((a for a in wanted if type(a) not in chosen), None)

    def verb(self, action: Any) -> str:
        """``isolate``, ``delete A``, ``restart B`` and so on."""
        return wording.verb(action)

    def milestone(self, before: RecoveryState, action: Any, after: RecoveryState) -> str | None:
        """The dead cut off, a leader, a new group, all together, a removal, the end."""
        return wording.milestone(self, before, after)

    def describe(self, before: RecoveryState, action: Any, after: RecoveryState) -> str:
        """What the step did, and why."""
        return wording.describe(self, before, action, after)

    def readable(self, s: RecoveryState) -> dict[str, str]:
        """The recovery and the nodes in words."""
        return wording.readable(self, s)
