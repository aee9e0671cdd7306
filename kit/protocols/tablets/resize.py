"""One table whose tablets are split and merged: decision, readiness, finalization, a new map.

The coordinator is nobody's node: what it decides it reads from group 0, the sizes and the numbers
that it polls of replicas. The topology's state is that of the machine ``tablets``, whose stages are
left out: a migration begins, and ends. Nodes apply what group 0 says in steps of their own; each
then remaps the compaction groups of its own replicas. Data appear as the parts of the line of
tokens that each compaction group has.
Sources: Topology over Raft, "Tablet resize", "Tablet splitting", "Tablet merging"; published
coordinator, its ``tablet_resize_finalization``, and its load statistics, which have the lowest
``split_ready_seq_number`` of all replicas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from string import ascii_uppercase
from typing import Any, Literal, TypeAlias

from msgspec.structs import replace

from kit.errors import BadInput, Refusal, counted
from kit.model import declared
from kit.model.declared import State, Travel, action, always, budget, parameter, purpose, refused
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.tablets.hosts import LOG, Hosts, barrier, replica_spot, shard_spot, written
from kit.protocols.tablets.rules import maps, resize
from kit.protocols.tablets.rules.replica_sets import TabletReplica, replica_of, replicas_in
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import BOUNDARY, Edition

TARGET = 100  # the target size: sizes are in hundredths of it
GROWTH = 4  # how much a table grows, or shrinks, in one step
BUSY = refused("a resize is being finalized")
NOT_POLLED = refused("the coordinator has not polled the replicas since they became ready")
NOT_DUE = refused("a resize is ready: only its finalization can end the track")
MOVING = refused("tablets are in transition")
STRANDED = "a node is down, and nobody was told to do anything about it: the merge waits"
OVERDUE = "The resize is no longer due, so the map stays"
COMMITTED = "The new map is committed"
TRACK, FINALIZATION = "tablet_migration", "tablet_resize_finalization"
STAGE = "streaming"  # the stage that stands for all of a migration

Phase = Literal["", "barrier", "commit", "after"]
"""Where a finalization is: before its barrier, before the new map is committed, both in
``tablet_resize_finalization``; in edition ``server``, before the second barrier; empty: nowhere."""


class Store(State, frozen=True, cache_hash=True):
    """The data of a replica of a tablet; ``tablet`` is its number in the map that its node goes by.

    ``groups`` are its compaction groups, each with the parts of the line of tokens (a mask) whose
    data it has: one, or two once it is divided, left and right. ``number`` is the
    ``resize_seq_number`` that it has copied.
    """

    tablet: int
    replica: TabletReplica
    groups: tuple[int, ...]
    number: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its compaction groups: by the tablet, and the side of it."""
        sides = (" left", " right") if len(self.groups) > 1 else ("",)
        return tuple(f"{self.tablet}{side}" for side in sides)


Stores = tuple[Store, ...]  # the stores of all replicas, ascending by tablet, then by replica


class TableView(State, frozen=True, cache_hash=True):
    """The view of a node: count and decision of the map, and whether a resize is finalized now."""

    count: int
    resize_type: str = "none"
    number: int = 0
    finalizing: bool = False


class RepairRun(State, frozen=True, cache_hash=True):
    """A repair at work: on which node, on which tablet of a map with ``count`` tablets."""

    node: int
    tablet: int
    count: int


class ResizeState(State, frozen=True, cache_hash=True, kw_only=True):
    """A table while it is resized.

    ``map`` is group 0's, with the tablets in transition; ``transition`` is the topology's state.
    ``views[i]`` is what node ``i`` goes by. ``polled`` is the number that the coordinator has seen
    of every replica. ``size`` is that of one copy of the table, in hundredths of the target size.
    ``growing``: it was not split yet beyond the count that it began with (in edition ``documents``
    for good). ``grows`` and the like count what may still happen.
    """

    map: maps.TabletMap
    stores: Stores
    views: tuple[TableView, ...]
    size: int
    transition: str = ""
    phase: Phase = ""
    polled: int = 0
    growing: bool = False
    repair: RepairRun | None = None
    grows: int
    shrinks: int
    moves: int
    repairs: int

    @property
    def view(self) -> TableView:
        """The view of group 0 now."""
        now = self.map
        finalizing = self.transition == FINALIZATION
        return TableView(now.count, now.resize_type, now.resize_seq_number, finalizing)

    @property
    def average(self) -> int:
        """The average tablet, in percent of the target size."""
        return self.size // self.map.count

    def sibling_of(self, tablet: int) -> int | None:
        """The sibling that moves along with a tablet: they are co-located for a merge."""
        other, rows = tablet ^ 1, self.map.tablets
        merges = self.map.resize_type == "merge"  # of which there are two tablets or more
        return other if merges and not maps.colocating(rows[tablet], rows[other]) else None

    def joins_siblings(self, tablet: int, source: str, target: str) -> bool:
        """Whether a move brings siblings together, as a merge asks for."""
        move = replica_of(source), replica_of(target)
        merges = self.map.resize_type == "merge"
        return merges and any(p.odd == tablet and move in p.moves for p in maps.apart(self.map))

    @property
    def moving(self) -> tuple[int, ...]:
        """The tablets that are in transition."""
        return tuple(i for i, tablet in enumerate(self.map.tablets) if tablet.transition)

    def leaving(self, tablet: int, source: TabletReplica, target: TabletReplica) -> ResizeState:
        """The state once a tablet is in transition from one place to another."""
        row = self.map.tablets[tablet]
        new = tuple(target if each == source else each for each in row.replicas)
        kind = "intranode_migration" if source.host == target.host else "migration"
        return self.with_row(tablet, replace(row, new_replicas=new, transition=kind, stage=STAGE))

    def arrived(self, tablet: int) -> ResizeState:
        """The state once what leaves a tablet's place, with all that it holds, is at the other."""
        row = self.map.tablets[tablet]
        [source], [target] = row.sets.leaving, row.sets.pending
        stores = (
            each.but(replica=target, groups=(sum(each.groups),), number=0)
            if (each.tablet, each.replica) == (tablet, source)
            else each
            for each in self.stores
        )
        after = self.with_row(tablet, maps.Tablet(row.last_token, row.new_replicas))
        return after.but(stores=in_order(stores))

    def with_row(self, tablet: int, row: maps.Tablet) -> ResizeState:
        """The state with another row of a tablet."""
        rows = [*self.map.tablets]
        rows[tablet] = row
        return self.but(map=replace(self.map, tablets=tuple(rows)))


Next: TypeAlias = ResizeState | Refusal | None


def in_order(stores: Iterable[Store]) -> Stores:
    """Stores by tablet, then by replica."""
    return tuple(sorted(stores, key=lambda each: (each.tablet, each.replica)))


class Resize(Hosts[ResizeState]):
    """One table of ``tablets`` while its size changes."""

    revision = 3
    name, title, State = "resize", "A table's tablets are split and merged", ResizeState
    premise = (
        "A table that grows or shrinks gets more or fewer tablets. First the replicas get ready, "
        "then all nodes adopt the new map. Each tile is a tablet."
    )
    about = "A table with a few tablets, and what can happen to its size and its replicas."
    rests_at_goals = True

    edition: Edition = parameter("documents", "the documents, or the published server")
    tablets: tuple[str, ...] = written(
        ("A B", "A B"),
        "the replicas of each tablet (the number of tablets is a power of two): A B, or A:0 B:1",
    )
    nodes: int = parameter(3, "how many nodes there are", ge=1, le=26)
    size: int = parameter(
        75, "the average tablet size, as a percentage of the target size", ge=1, le=10_000
    )
    initial: int = parameter(
        0,
        "the tablet count that the schema asks for (0: none; in the documents, that of the start)",
        ge=0,
        le=1024,
    )
    grows: int = budget(
        1, "how many times the table can grow to four times its size", title="growth", le=9
    )
    shrinks: int = budget(
        0, "how many times the table can shrink to a quarter", title="shrinking", le=9
    )
    moves: int = budget(0, "how many replicas the balancer can move to even out the load", le=9)
    repairs: int = budget(0, "how many repairs of a tablet can begin", le=9)
    ignored: tuple[str, ...] = written(
        (), "the nodes that are dead and ignored: nothing waits for them or moves to or from them"
    )

    split_readiness: bool = declared.safeguard(
        "S-43",
        "A split waits until every replica reports the split's number",
        ("INV-VISIBLE",),
        smallest={"tablets": ("A B",), "nodes": 2, "grows": 1},
    )
    barrier_before_map: bool = declared.safeguard(
        "S-44",
        "A new map waits until no node holds the previous one",
        ("INV-MAP",),
        smallest={"tablets": ("A",), "nodes": 1, "grows": 1, "repairs": 1},
    )
    colocation_test: bool = declared.safeguard(
        "S-45",
        "Siblings are merged only when they have the same replicas",
        ("INV-COLOC", "INV-VISIBLE"),
        smallest={"tablets": ("A B", "A C"), "nodes": 3, "initial": 1, "grows": 0, "shrinks": 1},
    )

    def set_up(self) -> None:
        """The first map, and who is asked. BadInput for replicas that cannot be, a tablet count
        that is no power of two, or a node to ignore that is not there.
        """
        self.names = tuple(ascii_uppercase[: self.nodes])
        replicas = [replicas_in(text) for text in self.tablets]
        if not maps.is_power_of_two(len(replicas)):
            allowed = "a power of two, because tablets are merged in pairs"
            raise BadInput("tablets", len(replicas), allowed)
        if len({*map(len, replicas)}) > 1:
            raise BadInput("tablets", ", ".join(self.tablets), "as many replicas of each tablet")
        hosts = (replica.host for each in replicas for replica in each)
        for field, names in (("tablets", hosts), ("ignored", self.ignored)):
            for name in names:
                if name not in self.names:
                    raise BadInput(field, name, "nodes among " + ", ".join(self.names))
        self.asked = tuple(name for name in self.names if name not in self.ignored)
        # A split is finalized only while an average tablet would not be merged again at once.
        largest = self.size * len(replicas) * GROWTH**self.grows // self.limits.split_ends_below
        self.finest: int = max(len(replicas), 1 << largest.bit_length())
        # A table whose schema asks for no count began, in the documents, with those it has.
        self.began: int = self.initial or len(replicas) * (self.edition == "documents")
        self.ways = {
            (edge.source.replace(BOUNDARY, ""), edge.target.replace(BOUNDARY, ""))
            for edge in MACHINES[self.edition]["tablets"].edges
        }
        rows = zip(maps.last_tokens(len(replicas)), replicas, strict=True)
        self.first_map = maps.TabletMap(
            "ks.t", tuple(maps.Tablet(last, each) for last, each in rows)
        )
        # Many states have the same map.
        self.fault_of = lru_cache(1 << 12)(lambda given: next(maps.faults(given), None))
        self.apart = lru_cache(1 << 12)(lambda given: tuple(maps.apart(given)))

    def newest_epoch(self, s: ResizeState) -> int:
        """The number of the newest decision."""
        return s.map.resize_seq_number

    def start(self) -> ResizeState:
        """No resize is decided, and every node goes by the one map."""
        first = self.first_map
        stores = in_order(
            Store(i, each, (self.parts_of(i, first.count),))
            for i, tablet in enumerate(first.tablets)
            for each in tablet.replicas
        )
        views, size = (TableView(first.count),) * self.nodes, self.size * first.count
        return ResizeState(
            map=first,
            stores=stores,
            views=views,
            size=size,
            growing=resize.is_growing(first.count, self.began),
            grows=self.grows,
            shrinks=self.shrinks,
            moves=self.moves,
            repairs=self.repairs,
        )

    def parts_of(self, tablet: int, count: int) -> int:
        """The parts of the line of tokens that one of so many tablets covers (a mask)."""
        width = self.finest // count
        return ((1 << width) - 1) << (tablet * width)

    # What group 0 decides, by the sizes and by what replicas show

    def size_of(self, s: ResizeState) -> resize.TableSize:
        """The size of the table as the balancer knows it, in hundredths of the target size."""
        replicas = len(s.map.tablets[0].replicas)
        count, number, total = s.map.count, s.map.resize_seq_number, s.size * replicas
        given = s.map.table, count, replicas, total, s.map.resize_type, number
        return resize.TableSize(*given, self.began, s.growing)

    @cached_property
    def limits(self) -> resize.Thresholds:
        """When the average asks for a resize, in hundredths of the target size."""
        return replace(resize.THRESHOLDS[self.edition], target=TARGET)

    def decision(self, s: ResizeState) -> resize.ResizeDecision:
        """The balancer's decision on the table by its size."""
        return resize.decide(self.size_of(s), self.limits)

    def local_numbers(self, s: ResizeState) -> dict[tuple[int, TabletReplica], int]:
        """The number of each replica as the coordinator counts: it waits for no node that is
        ignored. A node with an older map has none.

        Source: Topology over Raft, table ``system.topology``, column ``ignore_nodes``.
        """
        now, own = s.map.resize_seq_number, {(each.tablet, each.replica): each for each in s.stores}
        numbers = dict[tuple[int, TabletReplica], int]()
        for tablet, row in enumerate(s.map.tablets):
            for replica in row.replicas:
                store, host = own.get((tablet, replica)), replica.host
                has_map = s.views[self.number(host)].count == s.map.count
                number = store.number if store and has_map else 0
                numbers[tablet, replica] = number if host in self.asked else now
        return numbers

    def unready(self, s: ResizeState) -> tuple[tuple[int, TabletReplica], ...]:
        """The replicas that have not copied the number of the split that is decided."""
        return resize.unready(s.map, self.local_numbers(s)) if s.map.resize_type == "split" else ()

    def stranded(self, s: ResizeState) -> tuple[str, ...]:
        """The ignored nodes from or to which a merge would have to move: it waits for operators."""
        pairs = self.apart(s.map) if s.map.resize_type == "merge" and self.colocation_test else ()
        hosts = (each.host for pair in pairs for move in pair.moves for each in move)
        return tuple(sorted({*hosts} & {*self.ignored}))

    def blocked(self, s: ResizeState) -> Refusal | None:
        """Why the resize may not be finalized now (S-43, S-45)."""
        if dead := self.stranded(s):
            return refused(STRANDED, dead)
        kind = s.map.resize_type
        waits = {"split": self.split_readiness, "merge": self.colocation_test}.get(kind, True)
        if not waits:
            return MOVING if s.moving else None
        unseen = NOT_POLLED if kind == "split" and s.polled != s.map.resize_seq_number else None
        return resize.not_final(s.map, self.local_numbers(s)) or unseen

    # Finalization

    def behind(self, s: ResizeState) -> int:
        """The nodes, but those that are ignored, that do not go by what group 0 says (a mask)."""
        now = s.view
        pairs = enumerate(zip(self.names, s.views, strict=True))
        return sum(1 << i for i, (name, v) in pairs if v != now and name in self.asked)

    @action(tag="barrier", kind="work", travels=lambda m, before, action, after: barrier(m.asked))
    @purpose("No node may still use the old map when the next step begins.")
    def pass_barrier(self, s: ResizeState) -> Next:
        """Every node has applied everything, and none holds an older map."""
        if s.phase not in ("barrier", "after"):
            return None
        if behind := self.behind(s):
            return refused("nodes have not applied everything", self.named(behind))
        if s.repair is not None:
            return refused("a repair holds a map")
        return s.but(phase="commit" if s.phase == "barrier" else "")

    def drained(self, s: ResizeState) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The nodes that a barrier asks: those that may answer it, and those that may not yet."""
        held = -1 if s.repair is None else s.repair.node
        behind = self.behind(s) | (1 << held if held >= 0 else 0)
        missing = tuple(name for name in self.named(behind) if name in self.asked)
        return tuple(name for name in self.asked if name not in missing), missing

    @action(
        verb="commit map",
        kind="commit",
        says=lambda m, before, a, after: (
            f"{OVERDUE if after.map.count == before.map.count else COMMITTED} ({{count}})."
        ),
    )
    @purpose("The log makes sure that every node gets the same map.")
    def commit_map(self, s: ResizeState) -> Next:
        """The coordinator commits the new map, if the sizes still ask for it."""
        if s.phase != "commit":
            return None
        same = self.decision(s).resize_type == s.map.resize_type
        phase: Phase = "after" if self.edition == "server" else ""
        return (self.with_new_map(s) if same else s).but(transition="", phase=phase)

    def with_new_map(self, s: ResizeState) -> ResizeState:
        """The state with the new map, which no node has applied."""
        given, splits = s.map, s.map.resize_type == "split"
        if not splits and not self.colocation_test:
            # As if odd siblings had the even ones' replicas.
            rows = [*given.tablets]
            for even, odd in maps.siblings(given.count):
                rows[odd] = replace(rows[odd], replicas=rows[even].replicas)
            given = replace(given, tablets=tuple(rows))
        after = resize.finalized(given, self.edition)
        # The documents know no way back into growing mode; the server goes by the count alone.
        growing = resize.is_growing(after.count, self.began)
        return s.but(map=after, growing=growing and (s.growing or self.edition == "server"))

    def remapped(self, s: ResizeState, node: int) -> Stores:
        """The stores once a node has remapped the compaction groups of its own replicas."""
        own = {e for e in s.stores if e.replica.host == self.names[node]}
        rest, count = [e for e in s.stores if e not in own], s.views[node].count
        while count < s.map.count:
            own, count = {*halves(own)}, 2 * count
        while count > s.map.count:
            own, count = {*together(own)}, count // 2
        return in_order([*rest, *own])

    # What nodes, replicas and the balancer do meanwhile

    @action(
        tag="apply",
        each=behind,
        travels=[
            Travel(
                "entry",
                LOG,
                "host:{node}",
                "{count}",
                "group 0 → {node}: {count}, resize {after.map.resize_type}",
            )
        ],
    )
    @purpose("A node routes by the map that it has applied.")
    def apply_map(self, s: ResizeState, node: declared.Node) -> Next:
        """{node} applies a map of {count} with resize_type {after.map.resize_type}{remaps}."""
        views = (*s.views[:node], s.view, *s.views[node + 1 :])
        same = s.views[node].count == s.map.count
        return s.but(views=views, stores=s.stores if same else self.remapped(s, node))

    @action(
        tag="resize",
        verb="resize",
        kind="decide",
        says=lambda m, before, a, after: (
            "Decision {after.map.resize_seq_number} is {after.map.resize_type}: "
            f"{resize.resize_said(m.decision(before).reason)}."
        ),
    )
    @purpose("Tablets that are too large are split, and small ones are merged.")
    def decide(self, s: ResizeState) -> Next:
        """The balancer looks at the sizes, and group 0 stores another decision."""
        decision = self.decision(s)
        if decision.resize_seq_number == s.map.resize_seq_number:
            return None
        return BUSY if s.phase else s.but(map=resize.decided(s.map, decision))

    @action(
        kind="decide",
        each=lambda m, s: ((),) * (s.polled != s.map.resize_seq_number),
        travels=lambda m, before, a, after: [
            Travel("answer", name, "coordinator", f"number {after.polled}") for name in m.asked
        ],
    )
    @purpose("The map can change only when every replica has split its tablet.")
    def poll(self, s: ResizeState) -> Next:
        """The coordinator polls the replicas: each one reports number {after.polled}."""
        if s.map.resize_type != "split" or not self.split_readiness:
            return None
        still = tuple(maps.Tablet(each.last_token, each.replicas) for each in s.map.tablets)
        waits = resize.not_final(replace(s.map, tablets=still), self.local_numbers(s))
        return waits or s.but(polled=s.map.resize_seq_number)

    @action(each=lambda m, s: ((tablet, str(replica)) for tablet, replica in m.unready(s)))
    @purpose("Each replica splits its own data at its own pace.")
    def divide(self, s: ResizeState, tablet: int, replica: str) -> Next:
        """{replica} has split tablet {tablet} for decision {after.map.resize_seq_number}."""
        place, number = replica_of(replica), s.map.resize_seq_number
        view = s.views[self.number(place.host)]
        if view.number != number:
            return refused("its node does not know about the split yet")
        left, right = (self.parts_of(2 * tablet + side, 2 * s.map.count) for side in (0, 1))
        stores = tuple(
            each.but(groups=(sum(each.groups) & left, sum(each.groups) & right), number=number)
            if (each.tablet, each.replica) == (tablet, place)
            else each
            for each in s.stores
        )
        return s.but(stores=stores)

    # The topology's state

    @action(verb="begin track", kind="decide", when=lambda m: ("", FINALIZATION) not in m.ways)
    @purpose("Tablets change only while the topology is on this track.")
    def begin_track(self, s: ResizeState) -> Next:
        """The balancer plans to finalize a resize, so the topology enters tablet_migration."""
        if s.map.resize_type == "none" or s.transition:
            return None
        return self.blocked(s) or s.but(transition=TRACK)

    @action(kind="decide")
    @purpose("The number of tablets changes in one step, so none may be moving.")
    def finalize(self, s: ResizeState) -> Next:
        """The topology enters tablet_resize_finalization; no tablet is in transition."""
        if s.map.resize_type == "none":
            return None
        if s.phase:
            return BUSY
        if (s.transition, FINALIZATION) not in self.ways:
            left = "the migration track must end first"
            return self.blocked(s) or refused(
                left if s.transition else "the track must begin first"
            )
        phase: Phase = "barrier" if self.barrier_before_map else "commit"
        return self.blocked(s) or s.but(transition=FINALIZATION, phase=phase)

    def movable(self, s: ResizeState) -> Iterator[tuple[int, str, str]]:
        """The moves that prepare a merge, and the balancer's; who is ignored takes no part."""
        if s.map.resize_type == "merge":
            for pair in self.apart(s.map):
                for source, target in pair.moves if not {pair.even, pair.odd} & {*s.moving} else ():
                    if {source.host, target.host} <= {*self.asked}:
                        yield pair.odd, str(source), str(target)
        for tablet, row in enumerate(s.map.tablets) if s.moves else ():
            if row.transition or (tablet % 2 and s.sibling_of(tablet) is not None):
                continue
            if s.map.resize_type == "merge" and tablet ^ 1 in s.moving:
                continue
            hosts = {each.host for each in row.replicas}
            for source in (each for each in row.replicas if each.host in self.asked):
                for host in self.asked:
                    if host not in hosts:
                        yield tablet, str(source), f"{host}:0"

    def move_flows(self, before: ResizeState, action: Any, after: ResizeState) -> Iterator[Travel]:
        """What a replica holds goes from disk to disk."""
        source, _ = self.hand_of(before, action)
        text = "{source} → {target}: {moved}"
        target = f"{source}:to:{action.target}"
        yield Travel("data", source, target, "{moved}", text, stays=True)

    def hand_of(self, s: ResizeState, move: Any) -> tuple[str, str]:
        """The thing that the hand takes for a move, and its target."""
        slot = s.map.tablets[move.tablet].replicas.index(replica_of(move.source))
        return replica_spot(f"{s.map.table}:{move.tablet}:{slot}"), shard_spot(move.target)

    @action(
        each=lambda m, s: dict.fromkeys(m.movable(s)),
        says="A replica of {moved} begins to move from {source} to {target}.",
        travels=move_flows,
        hand=hand_of,
    )
    @purpose("Replicas can move until the number of tablets changes.")
    def move(self, s: ResizeState, tablet: int, source: str, target: str) -> Next:
        """A replica begins to move on the track; co-located siblings move together."""
        if s.phase:
            return BUSY
        sibling = s.sibling_of(tablet)
        left = s.moves - (not s.joins_siblings(tablet, source, target))
        after = s.but(transition=TRACK, moves=left)
        for each in (tablet,) if sibling is None else (tablet, sibling):
            after = after.leaving(each, replica_of(source), replica_of(target))
        return after

    @action(
        verb="end move {tablet}",
        each=lambda m, s: s.moving,
        says="The migration of tablet {tablet} has ended.",
    )
    @purpose("All stages are done: only the new replica is in use.")
    def end_move(self, s: ResizeState, tablet: int) -> Next:
        """A replica has moved, after the barriers of its stages."""
        behind = self.behind(s)
        late = refused("nodes have not applied everything", self.named(behind)) if behind else None
        return late or s.arrived(tablet)

    @action(verb="end track", kind="decide")
    @purpose("Nothing moves now, so the topology is free for other work.")
    def end_track(self, s: ResizeState) -> Next:
        """No tablet is in transition, so the topology leaves tablet_migration."""
        if s.transition != TRACK:
            return None
        if s.moving:
            return MOVING
        due = (TRACK, FINALIZATION) in self.ways and s.map.resize_type != "none"
        return NOT_DUE if due and self.blocked(s) is None else s.but(transition="")

    @action(verb="end repair", kind="repair")
    @purpose("The replicas of this range now hold the same data.")
    def end_repair(self, s: ResizeState) -> Next:
        """The repair of tablet {before.repair.tablet} of {before.repair.count} ends; its range is
        marked repaired.
        """
        return None if s.repair is None else s.but(repair=None)

    def repairable(self, s: ResizeState) -> Iterator[tuple[int, int]]:
        """The tablets that a node can begin to repair, by the map that it goes by."""
        for name in self.asked if s.repair is None else ():
            node = self.number(name)
            yield from ((node, tablet) for tablet in range(s.views[node].count))

    @action(tag="repair", kind="client", spends="repairs", each=repairable, unasked=True)
    @purpose("A replica that missed writes gets them from the others.")
    def begin_repair(self, s: ResizeState, node: declared.Node, tablet: int) -> Next:
        """{node} begins to repair tablet {tablet}."""
        view = s.views[node]
        return BUSY if view.finalizing else s.but(repair=RepairRun(node, tablet, view.count))

    @action(kind="size", spends="grows")
    @purpose("Data can arrive at any time, and the balancer must keep up.")
    def grow(self, s: ResizeState) -> Next:
        """The average tablet is now at {after.average} % of the target size."""
        return s.but(size=s.size * GROWTH)

    @action(kind="size", spends="shrinks")
    @purpose("Data can be deleted at any time, and the balancer must keep up.")
    def shrink(self, s: ResizeState) -> Next:
        """The average tablet is now at {after.average} % of the target size."""
        return s.but(size=s.size // GROWTH)

    # What must hold

    @always("INV-MAP")
    def whole_map(self, s: ResizeState) -> str | None:
        """Each token is in one tablet."""
        if (fault := self.fault_of(s.map)) is not None:
            return f"tablet {fault.tablet}: {fault.column} {fault.value}"
        return None if maps.is_power_of_two(s.map.count) else f"there are {s.map.count} tablets"

    @always("INV-VISIBLE")
    def finds_all(self, s: ResizeState) -> str | None:
        """Replicas find their tablets' data."""
        for store in s.stores:
            host = store.replica.host
            own = self.parts_of(store.tablet, s.views[self.number(host)].count)
            if sum(store.groups) & own != own and host in self.asked:
                return f"{store.replica} does not find all the data of tablet {store.tablet}"
        return None

    @always("INV-EXCL")
    def nothing_moves(self, s: ResizeState) -> str | None:
        """No tablet moves while a resize is finalized."""
        if s.transition != FINALIZATION or not s.moving:
            return None
        return f"tablet {s.moving[0]} is in transition in {FINALIZATION}"

    @declared.step("INV-COLOC", on=(commit_map,))
    def co_located(self, before: ResizeState, action: Any, after: ResizeState) -> str | None:
        """Siblings are merged in one place."""
        if after.map.count >= before.map.count:
            return None
        apart = [f"tablets {pair.even} and {pair.odd}" for pair in self.apart(before.map)]
        return f"{apart[0]} are merged, but their replicas differ" if apart else None

    @declared.step("INV-MAP", on=(end_repair,))
    def repair_map(self, before: ResizeState, action: Any, after: ResizeState) -> str | None:
        """A repair marks the range that it repaired."""
        run, count = before.repair, before.map.count
        if run is None or run.count == count:
            return None
        return f"tablet {run.tablet} of {run.count} is marked repaired in a map of {count} tablets"

    @declared.step()
    def numbers(self, before: ResizeState, action: Any, after: ResizeState) -> str | None:
        """Each decision takes the next number."""
        old, new = before.map, after.map
        if (rose := new.resize_seq_number - old.resize_seq_number) not in (0, 1):
            return f"resize_seq_number went from {old.resize_seq_number} to {new.resize_seq_number}"
        changed = new.resize_type != old.resize_type and old.count == new.count
        return "another decision has the same number" if changed and not rose else None

    @declared.sometimes()
    def resized(self, s: ResizeState) -> bool:
        """The number of tablets changes."""
        return not (self.grows or self.shrinks) or s.map.count != self.first_map.count

    @declared.goal("INV-PROGRESS")
    def ends(self, s: ResizeState) -> bool:
        """Every resize can end, unless a merge waits for an operator to give up a dead node."""
        if s.phase == s.transition == "" and self.stranded(s):
            return True
        rests = s.phase == s.transition == "" and s.map.resize_type == "none"
        return rests and self.decision(s).resize_seq_number == s.map.resize_seq_number

    # How it is told

    def suggest(self, s: ResizeState) -> Any | None:
        """The coordinator's and the nodes' next step; when they rest, the size changes."""
        late = None
        for each in self.actions(s):
            is_move = isinstance(each, Resize.move)
            if self.kind(each) == "size":
                late = late or each
            elif is_move and not s.joins_siblings(each.tablet, each.source, each.target):
                continue
            elif not isinstance(each, Resize.begin_repair):
                return each
        return late

    def words(self, before: ResizeState, action: Any, after: ResizeState) -> dict[str, str]:
        """How many tablets there are after a step, and which a move takes along."""
        words = {"count": counted(after.map.count, "tablet"), "remaps": ""}
        if before.stores != after.stores:
            words["remaps"] = " and remaps its compaction groups"
        if isinstance(action, Resize.move):
            tablet, sibling = action.tablet, before.sibling_of(action.tablet)
            alone = f"tablet {tablet}"
            words["moved"] = alone if sibling is None else f"tablets {tablet} and {sibling}"
        return words

    def milestone(self, before: ResizeState, action: Any, after: ResizeState) -> str | None:
        """A new map, or another decision."""
        if before.map.count != after.map.count:
            return counted(after.map.count, "tablet")
        if before.transition != after.transition:
            return after.transition or "no transition"
        kind = after.map.resize_type
        return f"resize {kind}" if before.map.resize_type != kind else None

    def readable(self, s: ResizeState) -> dict[str, str]:
        """The table, every tablet, every node."""
        return {
            "average tablet": f"{s.average} % of the target size",
            "resize_type": s.map.resize_type,
            "resize_seq_number": str(s.map.resize_seq_number),
            "transition state": s.transition or "null",
            "finalization": s.phase or "no",
            "polled": str(s.polled),
            **{
                f"tablet {each.tablet} at {each.replica}": (
                    f"groups {', '.join(each.names)} (number {each.number})"
                )
                for each in s.stores
            },
            **{n: counted(v.count, "tablet") for n, v in zip(self.names, s.views, strict=True)},
        }


def halves(stores: Iterable[Store]) -> Iterator[Store]:
    """Each divided storage as two; where it was not divided, all lies in the left one's group."""
    for each in stores:
        for side, group in enumerate((*each.groups, 0)[:2]):
            yield Store(2 * each.tablet + side, each.replica, (group,))


def together(stores: Iterable[Store]) -> Iterator[Store]:
    """The compaction groups of siblings in the same place as one; what is beside none is left."""
    held = {(each.tablet, each.replica): sum(each.groups) for each in stores}
    for (tablet, replica), group in held.items():
        if tablet % 2 == 0:
            yield Store(tablet // 2, replica, (group | held.get((tablet + 1, replica), 0),))


ENTRY = declared.entry(
    Resize,
    scenarios=(
        Scenario(
            "table-splits",
            (
                "A table grows, and its tablets split. Its replicas split their storage, "
                "then each tablet becomes two"
            ),
            {"tablets": ("A B",), "nodes": 2},
        ),
        Scenario(
            "table-merges",
            (
                "A table shrinks, and its tablets merge. It began with one tablet: the "
                "odd sibling joins the even one, then both become one"
            ),
            {"tablets": ("A B", "A C"), "initial": 1, "grows": 0, "shrinks": 1},
        ),
        Scenario(
            "split-is-revoked",
            "A split is revoked. A table grows and then shrinks before it is split",
            {"tablets": ("A B",), "nodes": 2, "shrinks": 1},
            script=("grow", "resize", "shrink", "resize"),
        ),
    ),
    fuzzing=Fuzzing(
        {"tablets": ("A B", "B C"), "grows": 1, "shrinks": 2, "moves": 1, "repairs": 1}
    ),
)
