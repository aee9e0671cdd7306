"""The model of failures: which nodes are up decides what group 0, and what data, can still do.

All that is up on a side learns of a schema change at once: what Raft does between nodes is the
matter of ``group0``. In edition ``documents`` every member votes, in ``server`` at most five do. A
node that starts boots from what it has stored. It then fetches the newest schema and serves; where
it reaches no majority it serves data all the same (Q-27). Sources: manual on Raft, "Handling
Failures" and "Safe schema changes"; published code, ``group0_voter_handler``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from kit.engine.model import Model, Property, Rule, goal, sometimes, step
from kit.engine.pairs import paired
from kit.engine.parameters import check_limits
from kit.engine.safeguards import switched_off
from kit.errors import Awaited, BadInput, Refusal
from kit.protocols.group0.rules.voters import majority, nodes_in
from kit.protocols.recovery.failures import state as act
from kit.protocols.recovery.failures import wording
from kit.protocols.recovery.failures.parameters import (
    MOST_NODES,
    SAFEGUARDS,
    FailuresParameters,
    FailuresSafeguards,
)
from kit.protocols.recovery.failures.sides import may_commit, newest, side_of, sides, voters_now
from kit.protocols.recovery.failures.state import FailuresAction, FailuresState
from kit.protocols.recovery.rules.layout import ClusterLayout
from kit.protocols.recovery.rules.quorum import after_deaths


class Failures(Model[FailuresState, Any]):
    """A cluster with ``parameters.datacenters`` whose nodes fail and come back."""

    name = "failures"
    title = "Nodes fail and come back"
    State = FailuresState
    Action = FailuresAction
    safeguards = SAFEGUARDS
    faults = ("stop", "stop together", "lose", "cut")

    def __init__(
        self, parameters: FailuresParameters | None = None, off: tuple[str, ...] = ()
    ) -> None:
        """A cluster with all nodes up.

        Raises:
            BadInput: for a parameter out of its limits, too many nodes, or names of others in
                ``together``.
        """
        self.parameters: FailuresParameters = parameters or FailuresParameters()
        self.off = off
        check_limits(self.parameters)
        self.guarded = switched_off(FailuresSafeguards, off)
        sizes = self.parameters.datacenters
        if sum(sizes) > MOST_NODES:
            raise BadInput("datacenters", sizes, f"{MOST_NODES} nodes at most in all")
        layout = ClusterLayout(sizes, self.parameters.racks)
        self.names, self.places = tuple(layout.names), layout.places
        self.datacenters = layout.datacenters
        self.together = self._together()
        self.rules = self._rules()
        self.properties = self._properties()

    def _together(self) -> tuple[str, ...]:
        """The nodes that may fail at once, by parameter ``together``."""
        given = self.parameters.together
        named = tuple(sorted({*given.split()}))
        if not {*named} <= {*self.names} or len(named) == 1:
            allowed = f"nothing, or two or more of {', '.join(self.names)}"
            raise BadInput("together", given, allowed)
        return named

    @property
    def everybody(self) -> int:
        """All nodes (a mask)."""
        return (1 << len(self.names)) - 1

    def members(self, datacenter: str) -> int:
        """The nodes of a datacenter (a mask)."""
        return sum(1 << i for i, (dc, _) in enumerate(self.places) if dc == datacenter)

    def number(self, name: str) -> int:
        """The number of a node."""
        return self.names.index(name)

    def named(self, mask: int) -> tuple[str, ...]:
        """The names of nodes."""
        return tuple(self.names[i] for i in nodes_in(mask))

    def mask(self, names: Iterable[str]) -> int:
        """Nodes by their names (a mask)."""
        return sum(1 << self.number(name) for name in names)

    def of_place(self, place: str) -> int:
        """The nodes that a node's or a datacenter's name means (a mask)."""
        return self.members(place) if place in self.datacenters else 1 << self.number(place)

    def start(self) -> FailuresState:
        """All nodes serve."""
        voters = after_deaths(self.parameters.edition, self.places, ()).voters
        return FailuresState(
            up=self.everybody,
            serving=self.everybody,
            voters=voters,
            schemas=(0,) * len(self.names),
            changes=self.parameters.changes,
        )

    def _rules(self) -> tuple[Rule[FailuresState, Any], ...]:
        return (
            paired(act.AlterTable, "alter", self._alters, self._may_alter, self._altered),
            paired(act.CatchUpSchema, "catch up",
                 self._behind, self._may_catch_up, self._caught_up),
            paired(act.ServeAlone, "serve", self._idle, self._may_serve, self._served),
            paired(act.EndCut, "rejoin", lambda s: (act.EndCut(),) if s.apart else (), _free,
                 lambda s, a: self._settled(replace(s, apart=0))),
            paired(act.StartFailed, "start", lambda s: self._each(act.StartFailed, ~s.up), _free,
                 lambda s, a: self._settled(replace(s, up=s.up | 1 << self.number(a.node)))),
            paired(act.StartDatacenter, "start all",
                 lambda s: self._whole(act.StartDatacenter, ~s.up), _free,
                 lambda s, a: self._settled(replace(s, up=s.up | self.members(a.datacenter)))),
            paired(act.StopNode, "stop", lambda s: self._each(act.StopNode, s.up), _free,
                 lambda s, a: self._without(s, 1 << self.number(a.node))),
            paired(act.LoseDatacenter, "lose",
                 lambda s: self._whole(act.LoseDatacenter, s.up), _free,
                 lambda s, a: self._without(s, self.members(a.datacenter))),
            paired(act.StopTogether, "stop together", self._togethers, _free,
                 lambda s, a: self._without(s, self.mask(a.nodes))),
            paired(act.CutPlace, "cut", self._cuts, self._may_cut,
                 lambda s, a: self._settled(replace(s, apart=s.apart | self.of_place(a.place)))),
        )  # fmt: skip

    def _each(self, action: Callable[[str], Any], mask: int) -> Iterable[Any]:
        return map(action, self.named(mask & self.everybody))

    def _whole(self, action: Callable[[str], Any], mask: int) -> Iterable[Any]:
        """One action for each of several datacenters that has such nodes."""
        several = len(self.datacenters) > 1
        return (action(dc) for dc in self.datacenters if several and mask & self.members(dc))

    def _alters(self, s: FailuresState) -> Iterable[Any]:
        """One for each side, at its first node that serves."""
        if s.changes:
            for side in sides(s):
                yield from map(act.AlterTable, self.named(side & s.serving)[:1])

    def _behind(self, s: FailuresState) -> Iterable[Any]:
        """Who does not serve yet, and who lacks entries that its side knows."""
        for side in sides(s):
            known = newest(s, side)
            lacking = sum(1 << i for i in nodes_in(side) if s.schemas[i] != known)
            yield from self._each(act.CatchUpSchema, side & ~s.serving | lacking)

    def _idle(self, s: FailuresState) -> Iterable[Any]:
        return self._each(act.ServeAlone, s.up & ~s.serving)

    def _togethers(self, s: FailuresState) -> Iterable[Any]:
        """Those that may fail at once, as long as all of them are up."""
        nodes = self.mask(self.together)
        return (act.StopTogether(self.together),) if nodes and not nodes & ~s.up else ()

    def _cuts(self, s: FailuresState) -> Iterable[Any]:
        """Between datacenters; in a cluster of one between nodes."""
        places = self.datacenters if len(self.datacenters) > 1 else self.names
        return (act.CutPlace(each) for each in places if self.of_place(each) & ~s.apart)

    def _may_cut(self, s: FailuresState, action: act.CutPlace) -> Refusal | None:
        if s.apart | self.of_place(action.place) == self.everybody:
            return Refusal("nobody would be left on the other side")
        return None

    def _may_alter(self, s: FailuresState, action: act.AlterTable) -> Refusal | None:
        side = side_of(s, self.number(action.node))
        if may_commit(s, side) or not self.guarded.majority:
            return None
        return self._no_majority(s, side, "a schema change needs a majority of the voters")

    def _may_catch_up(self, s: FailuresState, action: act.CatchUpSchema) -> Refusal | None:
        side = side_of(s, self.number(action.node))
        if may_commit(s, side):
            return None
        return self._no_majority(s, side, "the newest schema is fetched from a majority")

    def _may_serve(self, s: FailuresState, action: act.ServeAlone) -> Refusal | None:
        if may_commit(s, side_of(s, self.number(action.node))):
            return Refusal("a majority is there: the newest schema is fetched first")
        return None

    def _no_majority(self, s: FailuresState, side: int, reason: str) -> Refusal:
        reached, voters = self.named(side & s.voters), self.named(s.voters)
        said = f"{len(reached)} of {len(voters)} voters are reached"
        return Refusal(
            reason,
            evidence=(f"{said}, {majority(len(voters))} are needed",),
            missing=self.named(s.voters & ~side),
            awaited=(Awaited("the voters", majority(len(voters)), len(reached), voters),),
        )

    def _altered(self, s: FailuresState, action: act.AlterTable) -> FailuresState:
        side = side_of(s, self.number(action.node))
        schema = newest(s, side) | 1 << s.entries
        return replace(_knowing(s, side, schema), entries=s.entries + 1, changes=s.changes - 1)

    def _caught_up(self, s: FailuresState, action: act.CatchUpSchema) -> FailuresState:
        node = 1 << self.number(action.node)
        schema = newest(s, side_of(s, self.number(action.node)))
        return replace(_knowing(s, node, schema), serving=s.serving | node)

    def _served(self, s: FailuresState, action: act.ServeAlone) -> FailuresState:
        return replace(s, serving=s.serving | 1 << self.number(action.node))

    def _without(self, s: FailuresState, nodes: int) -> FailuresState:
        return self._settled(replace(s, up=s.up & ~nodes, serving=s.serving & ~nodes))

    def _settled(self, s: FailuresState) -> FailuresState:
        """Voters are chosen again; who takes part in that knows all that was committed before."""
        voters, side = voters_now(self.parameters.edition, self.places, s)
        return replace(_knowing(s, side, newest(s, side)), voters=voters)

    def _properties(self) -> tuple[Property, ...]:
        def sees_all(before: FailuresState, action: Any, after: FailuresState) -> str | None:
            schema = after.schemas[self.number(action.node)]
            missed = (1 << before.entries) - 1 & ~schema
            if not missed:
                return None
            column = next(nodes_in(missed)) + 1
            return f"the side of {action.node} does not see column {column}, added before"

        def serves_newest(before: FailuresState, action: Any, after: FailuresState) -> str | None:
            node = self.number(action.node)
            missed = (1 << before.entries) - 1 & ~after.schemas[node]
            return f"{action.node} serves without the newest schema" if missed else None

        return (
            step("sees-all", "A schema change sees all before it", sees_all, "INV-LIN",
                 (act.AlterTable,)),
            step("newest", "Who catches up serves with the newest schema", serves_newest,
                 "INV-SCHEMA", (act.CatchUpSchema,)),
            sometimes("no-majority", "Group 0 has no majority",
                      lambda s: not any(may_commit(s, side) for side in sides(s))),
            goal("whole", "Every node can serve again", self.is_whole, "INV-PROGRESS"),
        )  # fmt: skip

    def is_whole(self, s: FailuresState) -> bool:
        """Whether every node serves with the newest schema, on one side."""
        known = newest(s, s.up)
        return s.serving == self.everybody and not s.apart and set(s.schemas) == {known}

    def suggest(self, s: FailuresState) -> Any | None:
        """What repairs the cluster; a schema change where nothing is to be repaired."""
        enabled = [action for action in self.actions(s) if self._kind(action) not in self.faults]
        repairs = (each for each in enabled if not isinstance(each, act.AlterTable))
        return next(repairs, next(iter(enabled), None))

    def _kind(self, action: Any) -> str:
        rule = self.rule_of(action)
        return rule.kind if rule else ""

    def verb(self, action: Any) -> str:
        """``stop A``, ``lose dc1``, ``alter A`` and so on."""
        return wording.verb(action)

    def milestone(self, before: FailuresState, action: Any, after: FailuresState) -> str | None:
        """The majority is lost, or is there again."""
        return wording.milestone(before, after)

    def describe(self, before: FailuresState, action: Any, after: FailuresState) -> str:
        """What the step did, and what can be done now."""
        return wording.describe(self, before, action, after)

    def readable(self, s: FailuresState) -> dict[str, str]:
        """Voters and nodes in words."""
        return wording.readable(self, s)


def _knowing(s: FailuresState, nodes: int, schema: int) -> FailuresState:
    """The state in which these nodes have stored a schema."""
    schemas = tuple(schema if nodes >> i & 1 else has for i, has in enumerate(s.schemas))
    return replace(s, schemas=schemas)


def _free(s: FailuresState, action: Any) -> None:
    return None
