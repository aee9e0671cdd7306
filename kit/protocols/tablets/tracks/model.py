"""The control model of tablets: the tracks of the topology coordinator, stage by stage.

The cluster is the model ``topology``, whose one piece of work for all tablets is played here in
full: transitions begin, their stages follow from the tables of ``rules.stages``, and commands under
the coordinator's guard commit them. A barrier of tablets is one step, and every node has applied
all by then; a stage raises no version of the cluster's, whose own barriers and fences are
unchanged. Data appear as who holds any, and who holds all.
Sources: Topology over Raft, "Load balancing", "Tablet transitions"; published coordinator.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import Any

from msgspec.structs import replace

from kit.engine.model import Model, Rule
from kit.engine.pairs import paired
from kit.engine.parameters import check_limits
from kit.engine.safeguards import switched_off
from kit.errors import BadInput, Refusal
from kit.protocols.group0.rules.safeguards import Group0Safeguards
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.tablets.rules.layout import last_token
from kit.protocols.tablets.rules.replica_sets import Replicas
from kit.protocols.tablets.rules.stages import TRANSITIONS, TransitionKind
from kit.protocols.tablets.tracks import actions as act
from kit.protocols.tablets.tracks import (
    answering,
    batches,
    colocated,
    coordinating,
    failing,
    rf_change,
    wording,
)
from kit.protocols.tablets.tracks.dump import TabletDump, holders
from kit.protocols.tablets.tracks.keyspaces import keyspaces_of
from kit.protocols.tablets.tracks.parameters import TracksParameters
from kit.protocols.tablets.tracks.planner import TrackPlanner
from kit.protocols.tablets.tracks.planning import excluded_nodes, replica_of
from kit.protocols.tablets.tracks.properties import SINGLE, properties_of
from kit.protocols.tablets.tracks.safeguards import SAFEGUARDS, TrackSafeguards
from kit.protocols.tablets.tracks.state import (
    TabletRow,
    TabletTransition,
    TracksState,
    forgotten,
)
from kit.protocols.topology.control import ControlState
from kit.protocols.topology.request_plan import plan_of, stored_words
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.rules.fence import local_view
from kit.protocols.topology.rules.machines import Machine, WorkRow
from kit.protocols.topology.rules.safeguards import TopologySafeguards
from kit.protocols.topology.topology import Topology, TopologyParameters

Effect = Callable[[TracksState, Any], TracksState]
UNASKED = {act.kind for act in Topology.acts.values() if act.said.unasked or act.said.fault}
"""Kinds of action that no default schedule takes."""


class Tracks(Model[TracksState, Any]):
    """A cluster with ``parameters.tablets`` while it evens out its load and its nodes change."""

    name = "tablets"
    title = "Tablets under the topology coordinator"
    State = TracksState
    Action = act.TracksAction
    safeguards = SAFEGUARDS
    rests_at_goals = True
    faults = ("fault", "late fault")

    def __init__(
        self, parameters: TracksParameters | None = None, off: tuple[str, ...] = ()
    ) -> None:
        """A model with the safeguards ``off`` switched off.

        Raises:
            BadInput: for a parameter out of its limits, or words that are no request or replica.
        """
        self.parameters: TracksParameters = parameters or TracksParameters()
        self.off = off
        check_limits(self.parameters)
        switches = switched_off(TrackSafeguards, off)
        self.one_transition = switches.one_transition
        self.drains_first = switches.drain_tablets_first
        self.guarded = switches.topology.group0.commit_with_guard
        self.paused = self.parameters.edition == "server"
        placed = tuple(map(replicas_in, self.parameters.tablets))
        cluster = cluster_of(self.parameters, placed, switches)
        plan = plan_of(cluster)
        self.dump = self.parameters.dump
        self.rows = tuple(self._rows(placed, plan.names[: self.parameters.nodes]))
        keyspaces = keyspaces_of(self.parameters, self._settled(), plan)
        cluster = replace(cluster, keyspaces=keyspaces)
        self.control = Topology(cluster, _of_the_cluster(off))
        self.names = self.control.names
        self.number = {name: place for place, name in enumerate(self.names)}
        self.setting = self.control.setting
        self.planner = None if self.dump is None else TrackPlanner(self, self.dump)
        self.hosts = lru_cache(1 << 12)(self._hosts)
        self.work = lru_cache(1 << 8)(self._work)
        self.rf_steps = lru_cache(1 << 14)(partial(rf_change.steps_of, self))
        self.tablets_of = lru_cache(1 << 8)(self._tablets_of)
        one_by_one = answering.rules(self) if self.parameters.answering else ()
        together = () if self.planner is None else batches.rules(self)
        coordinated = coordinating.rules(self, together)
        self.rules = (*coordinated, *one_by_one, *failing.rules(self), *colocated.rules(self))
        self.properties = properties_of(self)
        self.signs = () if self.one_transition else (SINGLE,)

    def _rows(self, placed: tuple[Replicas, ...], members: tuple[str, ...]) -> Iterator[TabletRow]:
        """The first row of each tablet.

        Raises:
            BadInput: for a host that is no member, a shard that it lacks, a dump that does not fit.
        """
        shards = dict.fromkeys(members, self.parameters.shards)
        if self.dump is not None:
            self.dump.check(len(members), len(placed))
            shards = dict(zip(members, self.dump.shards, strict=True))
        for tablet, replicas in enumerate(placed):
            text = self.parameters.tablets[tablet]
            for replica in replicas:
                if replica.host not in shards:
                    raise BadInput("tablets", text, "hosts among " + ", ".join(members))
                if replica.shard >= shards[replica.host]:
                    raise BadInput("tablets", text, f"shards below {shards[replica.host]}")
            yield TabletRow(replicas, (), tuple(sorted(replicas)), tuple(sorted(replicas)))

    def _settled(self) -> tuple[Replicas, ...]:
        """The replicas of each tablet once the transitions that a dump shows are over."""
        replicas = [row.replicas for row in self.rows]
        for given in () if self.dump is None else self.dump.transitions:
            replicas[given.tablet] = replicas_in(given.new)
        return tuple(replicas)

    def _in_transition(self, dump: TabletDump) -> tuple[TabletRow, ...]:
        """The rows with the transitions that a dump shows, as if their stages had just begun."""
        rows = list(self.rows)
        for given in dump.transitions:
            old, new = rows[given.tablet].replicas, replicas_in(given.new)
            way = TabletTransition(given.kind, given.stage, old, new, given.session)
            whole, some = holders(self.table(way), given.stage, way.sets)
            rows[given.tablet] = TabletRow(old, (way,), tuple(sorted(whole)), tuple(sorted(some)))
        return tuple(rows)

    def start(self) -> TracksState:
        """The cluster at its start, and no tablet in transition."""
        given = self.parameters
        dump = self.dump or TabletDump((), ())
        start = TracksState(
            control=self._on_track() if dump.transitions else self.control.start(),
            tablets=self._in_transition(dump) if dump.transitions else self.rows,
            moves=given.moves,
            lates=given.late,
            failures=given.failures,
        )
        return answering.begun(self, start) if given.answering else start

    def _on_track(self) -> ControlState:
        """The first state of the cluster where tablets are in transition: it is on their track."""
        start = self.control.start()
        topology = replace(start.topology, transition="tablet_migration", tablets="moving")
        return replace(start, topology=topology, views=(local_view(topology),))

    def place(self, tablet: int) -> tuple[str, int]:
        """The table of a tablet, and its number there; of co-located tables the base table."""
        if self.dump is None:
            return self.parameters.tables[0], tablet
        table = bisect_right(self.dump.firsts, tablet) - 1
        return self.dump.tables[table].name, tablet - self.dump.firsts[table]

    def _tablets_of(self, keyspace: str) -> range | tuple[int, ...]:
        """The tablets of a keyspace, of all its tables."""
        if self.dump is None:
            return range(len(self.rows))
        return self.dump.tablets_of(keyspace)

    def last_token(self, tablet: int) -> int:
        """The last token of a tablet."""
        table, number = self.place(tablet)
        if self.dump is None:
            return last_token(number, len(self.rows))
        return self.dump.named(table).last_token(number)

    def shards(self, host: str) -> int:
        """How many shards a node has; one that a dump does not show is like the first in it."""
        if self.dump is None:
            return self.parameters.shards
        node = self.number[host]
        return self.dump.shards[node if node < len(self.dump.shards) else 0]

    def tablet_words(self, tablet: int) -> str:
        """What a tablet is called: its number, and its table where there are several."""
        table, number = self.place(tablet)
        return f"tablet {number}" if self.dump is None else f"tablet {number} of {table}"

    def rule(
        self,
        action: type,
        kind: str,
        candidates: Callable[[TracksState], Iterable[Any]],
        condition: Callable[[TracksState, Any], Refusal | None],
        effect: Effect,
    ) -> Rule[TracksState, Any]:
        """A rule whose effect leaves nothing in the state that no longer matters."""
        return paired(
            action, kind, candidates, condition, lambda s, a: self.settled(s, effect(s, a))
        )

    def settled(self, before: TracksState, s: TracksState) -> TracksState:
        """The state after a step: a coordinator that is gone has forgotten, guards have failed."""
        if before.control.coordinator != s.control.coordinator:
            # Both halves of what is deposed are one coordinator's: a newer one's replaces both.
            empty_handed = s.command is None and before.control.attempted.command is None
            deposed = s.deposed if empty_handed else s.command
            rows = tuple(map(forgotten, s.tablets))
            s = replace(s, command=None, deposed=deposed, tablets=rows)
        if before.control.state_id != s.control.state_id or not _same_stored(before, s):
            s = replace(s, command=_stale(s.command), deposed=_stale(s.deposed))
        if s.deposed is not None and s.deposed.stale and self.guarded:
            s = replace(s, deposed=None)
        late = s.late
        if late is not None and self.mask(late.targets) & ~s.control.up:
            s = replace(s, late=None)
        return answering.followed(self, before, s) if self.parameters.answering else s

    def table(self, transition: TabletTransition) -> Machine:
        """The table of a transition's kind."""
        return TRANSITIONS[self.parameters.edition][transition.kind]

    def _work(self, kind: TransitionKind, stage: str) -> tuple[tuple[WorkRow, str], ...]:
        """The work of a stage in order; data work once for each co-located table."""
        rows = TRANSITIONS[self.parameters.edition][kind].state(stage).work
        return tuple(
            (row, table)
            for row in rows
            for table in (("",) if row.barrier else self.parameters.tables)
        )

    def mask(self, replicas: Replicas) -> int:
        """The nodes of replicas, as a mask."""
        mask = 0
        for replica in replicas:
            mask |= 1 << self.number[replica.host]
        return mask

    def _hosts(self, mask: int) -> frozenset[str]:
        return frozenset(self.names[i] for i in nodes_in(mask))

    def excluded(self, s: TracksState) -> frozenset[str]:
        """The hosts that barriers and work of tablets pass over."""
        return self.hosts(excluded_nodes(s.control.topology))

    def lost(self, s: TracksState) -> frozenset[str]:
        """The hosts that count as gone where a stage fails: the excluded; in ``documents``, the
        dead.
        """
        if self.paused:
            return self.excluded(s)
        return self.excluded(s) | self.hosts((1 << len(self.names)) - 1 & ~s.control.up)

    def rack(self, host: str) -> str:
        """The rack of a host."""
        return self.control.plan.racks[self.number[host]]

    def suggest(self, s: TracksState) -> Any | None:
        """The next step when nothing goes wrong; when nothing is left to do, uneven load."""
        helps: dict[str, Any] = {}
        for action in self.actions(s):
            kind = self.kind(action)
            if kind not in UNASKED:
                return action
            if kind != "elect" or s.control.coordinator == NOBODY:
                helps.setdefault(kind, action)
        for kind in ("elect", "restart", "tablets found"):
            if kind in helps and (kind != "restart" or not coordinating.at_rest(self, s)):
                return helps[kind]
        return None

    def find(self, s: TracksState, verb: str) -> tuple[Any, Refusal | None] | None:
        """The option that goes by a verb, in the tables' words or in an operator's."""
        return super().find(s, wording.commanded(self, stored_words(verb)))

    def verb(self, action: Any) -> str:
        """``decide``, ``migrate 0 A:0 D:0``, ``barrier`` and so on."""
        return wording.verb(self, action)

    def label(self, s: TracksState, action: Any) -> str:
        """The verb, with what is decided or worked on."""
        return wording.label(self, s, action)

    def milestone(self, before: TracksState, action: Any, after: TracksState) -> str | None:
        """The stage that a tablet enters, or the transition state that the cluster does."""
        return wording.milestone(self, before, action, after)

    def describe(self, before: TracksState, action: Any, after: TracksState) -> str:
        """What the step did, and why."""
        return wording.describe(self, before, action, after)

    def readable(self, s: TracksState) -> dict[str, str]:
        """The tablets and the cluster in words."""
        return wording.readable(self, s)


def replicas_in(text: str) -> Replicas:
    """The replicas of one tablet: ``A B C`` or ``A:0 B:1 C:0``.

    Raises:
        BadInput: for none, a host twice, or a shard that is no number.
    """
    words = text.split()
    for word in words:
        _, colon, shard = word.partition(":")
        if colon and not shard.isdecimal():
            raise BadInput("tablets", text, "hosts and shards, as in A:0 B:1")
    replicas = tuple(map(replica_of, words))
    if not replicas or len({each.host for each in replicas}) < len(replicas):
        raise BadInput("tablets", text, "at least one replica, and one on a host")
    return replicas


def cluster_of(
    given: TracksParameters, placed: tuple[Replicas, ...], switches: TrackSafeguards
) -> TopologyParameters:
    """The cluster's parameters: where tablets are after a move is open there.

    S-27: with the safeguard off the coordinator knows of no tablets that it would have to drain.
    """
    hosts = {each.host for replicas in placed for each in replicas}
    replaces = sum(text.startswith("replace") for text in given.operations)
    truncates = any(text.startswith("truncate_table") for text in given.operations)
    return TopologyParameters(
        edition=given.edition,
        nodes=given.nodes,
        names=given.names,
        operations=given.operations,
        down=given.down,
        ignored=given.ignored,
        racks=given.racks,
        crashes=given.crashes,
        changes=given.changes,
        exclusions=given.exclusions,
        failures=given.undone,
        late=given.late * truncates,
        tablets=given.moves + replaces,
        on_tablets=tuple(sorted(hosts)) if switches.drain_tablets_first else (),
        placing=True,
        lag=False,
    )


def _of_the_cluster(off: tuple[str, ...]) -> tuple[str, ...]:
    """The safeguards of these that are the cluster's own."""
    own = {*TopologySafeguards.__struct_fields__, *Group0Safeguards.__struct_fields__}
    return tuple(name for name in off if name.replace("-", "_") in own)


def stored(s: TracksState) -> tuple[Any, ...]:
    """What group 0 holds of the tablets."""
    return tuple(
        (row.replicas, tuple((t.kind, t.stage, t.old, t.new, t.session) for t in row.transitions))
        for row in s.tablets
    )


def _same_stored(before: TracksState, s: TracksState) -> bool:
    return before.tablets is s.tablets or stored(before) == stored(s)


def _stale(command: Any) -> Any:
    return command if command is None or command.stale else replace(command, stale=True)
