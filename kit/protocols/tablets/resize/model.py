"""The model of one table that is resized: split and merged by decision, readiness, finalization.

A migration is one step, and the coordinator is nobody's node: what it decides it reads from group
0, the sizes and the numbers that replicas have copied. Nodes apply what group 0 says in steps of
their own. Data appear as the parts of the line of tokens that each replica finds.
Sources: Topology over Raft, "Tablet resize", "Tablet splitting", "Tablet merging".
"""

from __future__ import annotations

from collections.abc import Iterable
from string import ascii_uppercase
from typing import Any

from msgspec.structs import replace

from kit.engine.model import Model, Rule
from kit.engine.pairs import paired
from kit.engine.parameters import check_limits
from kit.engine.safeguards import switched_off
from kit.errors import BadInput, Refusal
from kit.protocols.tablets.resize import actions as act
from kit.protocols.tablets.resize import steps, wording
from kit.protocols.tablets.resize.parameters import ResizeParameters
from kit.protocols.tablets.resize.properties import properties_of
from kit.protocols.tablets.resize.safeguards import SAFEGUARDS, ResizeSafeguards
from kit.protocols.tablets.resize.state import (
    RepairRun,
    ResizeState,
    Store,
    TableView,
    with_stores,
    with_view,
)
from kit.protocols.tablets.rules.layout import is_power_of_two, last_tokens
from kit.protocols.tablets.rules.maps import Tablet, TabletMap
from kit.protocols.tablets.rules.resize import decided
from kit.protocols.tablets.tracks.model import replicas_in

GROWTH = 4
"""How much a table grows, or shrinks, in one step."""
BUSY = Refusal("a resize is being finalized")


class Resize(Model[ResizeState, Any]):
    """One table of ``parameters.tablets`` while its size changes."""

    name = "resize"
    title = "A table's tablets are split and merged"
    State = ResizeState
    Action = act.ResizeAction
    safeguards = SAFEGUARDS
    rests_at_goals = True

    def __init__(
        self, parameters: ResizeParameters | None = None, off: tuple[str, ...] = ()
    ) -> None:
        """A model with the safeguards ``off`` switched off.

        Raises:
            BadInput: for a parameter out of its limits, replicas that cannot be, a tablet count
                that is no power of two, or a node to ignore that is not there.
        """
        self.parameters: ResizeParameters = parameters or ResizeParameters()
        self.off = off
        given = self.parameters
        check_limits(given)
        self.switches = switched_off(ResizeSafeguards, off)
        self.names = tuple(ascii_uppercase[: given.nodes])
        replicas = [replicas_in(text) for text in given.tablets]
        if not is_power_of_two(len(replicas)):
            raise BadInput("tablets", len(replicas), "a power of two: they are merged in pairs")
        unknown = [r.host for each in replicas for r in each if r.host not in self.names]
        if unknown:
            raise BadInput("tablets", unknown[0], "nodes among " + ", ".join(self.names))
        strange = [name for name in given.ignored if name not in self.names]
        if strange:
            raise BadInput("ignored", strange[0], "nodes among " + ", ".join(self.names))
        self.asked = tuple(name for name in self.names if name not in given.ignored)
        self.finest: int = len(replicas) * GROWTH**given.grows
        lasts = last_tokens(len(replicas))
        rows = zip(lasts, replicas, strict=True)
        self.first = TabletMap("ks.t", tuple(Tablet(last, each) for last, each in rows))
        self.rules = self._rules()
        self.properties = properties_of(self)

    def start(self) -> ResizeState:
        """No resize is decided, and every node goes by the one map."""
        given, count = self.parameters, self.first.count
        return ResizeState(
            map=self.first,
            stores=tuple(
                tuple(Store(r, steps.parts_of(self, i, count)) for r in tablet.replicas)
                for i, tablet in enumerate(self.first.tablets)
            ),
            views=(TableView(count),) * given.nodes,
            size=given.size * count,
            grows=given.grows,
            shrinks=given.shrinks,
            moves=given.moves,
            repairs=given.repairs,
        )

    def _rules(self) -> tuple[Rule[ResizeState, Any], ...]:
        def always(s: ResizeState, action: Any) -> None:
            return None

        return (
            paired(act.PassFinalBarrier, "work", self._waits, self._may_pass, self._pass),
            paired(
                act.CommitMap,
                "commit",
                lambda s: (act.CommitMap(),) if s.phase == "commit" else (),
                always,
                self._commit,
            ),
            paired(act.ApplyView, "apply", self._behind, always, self._apply),
            paired(
                act.DecideResize,
                "decide",
                lambda s: (act.DecideResize(),) if steps.is_due(self, s) else (),
                lambda s, a: BUSY if s.phase else None,
                lambda s, a: replace(s, map=decided(s.map, steps.decision(self, s))),
            ),
            paired(act.DivideStorage, "divide", self._undivided, self._may_divide, self._divide),
            paired(
                act.BeginFinalization,
                "decide",
                lambda s: (act.BeginFinalization(),) if s.map.resize_type != "none" else (),
                lambda s, a: BUSY if s.phase else steps.blocked(self, s),
                self._begin,
            ),
            paired(
                act.MoveReplica,
                "move",
                lambda s: dict.fromkeys(steps.moves(self, s)),
                lambda s, a: BUSY if s.phase else None,
                steps.moved,
            ),
            paired(act.EndRepair, "repair", self._repairing, always, self._end_repair),
            paired(act.BeginRepair, "client", self._repairable, self._may_repair, self._repair),
            paired(
                act.GrowTable,
                "size",
                lambda s: (act.GrowTable(),) if s.grows else (),
                always,
                lambda s, a: replace(s, size=s.size * GROWTH, grows=s.grows - 1),
            ),
            paired(
                act.ShrinkTable,
                "size",
                lambda s: (act.ShrinkTable(),) if s.shrinks else (),
                always,
                lambda s, a: replace(s, size=s.size // GROWTH, shrinks=s.shrinks - 1),
            ),
        )

    def node(self, name: str) -> int:
        """The number of a node."""
        return self.names.index(name)

    def _behind(self, s: ResizeState) -> Iterable[act.ApplyView]:
        return map(act.ApplyView, self.behind(s))

    def behind(self, s: ResizeState) -> tuple[str, ...]:
        """The nodes, but those that are ignored, that do not go by what group 0 says."""
        return tuple(name for name in self.asked if s.views[self.node(name)] != s.view)

    def _apply(self, s: ResizeState, action: act.ApplyView) -> ResizeState:
        return with_view(s, self.node(action.node), s.view)

    def _undivided(self, s: ResizeState) -> Iterable[act.DivideStorage]:
        return (act.DivideStorage(i, str(replica)) for i, replica in steps.unready_places(self, s))

    def _may_divide(self, s: ResizeState, action: act.DivideStorage) -> Refusal | None:
        view = s.views[self.node(steps.replica_of(action.replica).host)]
        if view.resize_type == "split" and view.number == s.map.resize_seq_number:
            return None
        return Refusal("its node does not know of the split yet")

    def _divide(self, s: ResizeState, action: act.DivideStorage) -> ResizeState:
        stores = tuple(
            replace(each, divided=True, number=s.map.resize_seq_number)
            if each.replica == steps.replica_of(action.replica)
            else each
            for each in s.stores[action.tablet]
        )
        return with_stores(s, action.tablet, stores)

    def _begin(self, s: ResizeState, action: act.BeginFinalization) -> ResizeState:
        return replace(s, phase="barrier" if self.switches.barrier_before_map else "commit")

    def _waits(self, s: ResizeState) -> tuple[act.PassFinalBarrier, ...]:
        return (act.PassFinalBarrier(),) if s.phase in ("barrier", "after") else ()

    def _may_pass(self, s: ResizeState, action: act.PassFinalBarrier) -> Refusal | None:
        behind = self.behind(s)
        if behind:
            return Refusal("nodes have not applied all", missing=behind)
        held = s.repair is not None
        return Refusal("a repair holds a map") if held else None

    def _pass(self, s: ResizeState, action: act.PassFinalBarrier) -> ResizeState:
        return replace(s, phase="commit" if s.phase == "barrier" else "")

    def _commit(self, s: ResizeState, action: act.CommitMap) -> ResizeState:
        """The new map, if the sizes still ask for it; else the map stays as it is."""
        same = steps.decision(self, s).resize_type == s.map.resize_type
        return replace(steps.resized(self, s) if same else s, phase="after")

    def _repairable(self, s: ResizeState) -> Iterable[act.BeginRepair]:
        if not s.repairs or s.repair is not None:
            return ()
        return (
            act.BeginRepair(name, tablet)
            for name in self.asked
            for tablet in range(s.views[self.node(name)].count)
        )

    def _may_repair(self, s: ResizeState, action: act.BeginRepair) -> Refusal | None:
        return BUSY if s.views[self.node(action.node)].finalizing else None

    def _repair(self, s: ResizeState, action: act.BeginRepair) -> ResizeState:
        node = self.node(action.node)
        run = RepairRun(node, action.tablet, s.views[node].count)
        return replace(s, repair=run, repairs=s.repairs - 1)

    def _repairing(self, s: ResizeState) -> tuple[act.EndRepair, ...]:
        return (act.EndRepair(),) if s.repair is not None else ()

    def _end_repair(self, s: ResizeState, action: act.EndRepair) -> ResizeState:
        return replace(s, repair=None)

    def suggest(self, s: ResizeState) -> Any | None:
        """The coordinator's and the nodes' next step; when they rest, the size changes."""
        late = None
        for action in self.actions(s):
            if self.kind(action) == "size":
                late = late or action
            elif not (isinstance(action, act.BeginRepair) or _balances(s, action)):
                return action
        return late

    def verb(self, action: Any) -> str:
        """``grow``, ``resize``, ``divide 0 A:0`` and so on."""
        return wording.verb(action)

    def milestone(self, before: ResizeState, action: Any, after: ResizeState) -> str | None:
        """A decision, a new phase of finalization, or a new map."""
        return wording.milestone(before, after)

    def describe(self, before: ResizeState, action: Any, after: ResizeState) -> str:
        """What the step did, and why."""
        return wording.describe(self, before, action, after)

    def readable(self, s: ResizeState) -> dict[str, str]:
        """The table, its replicas and the nodes in words."""
        return wording.readable(self, s)


def _balances(s: ResizeState, action: Any) -> bool:
    return isinstance(action, act.MoveReplica) and not steps.prepares(s, action)
