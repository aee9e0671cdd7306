"""One tablet as a range's history: an epoch for each stage, read off the table of its kind.

- Each stage has a version of its own; its selectors say who reads and writes, and what its work
  waits for the edge out of it waits for: a barrier until every live node that is not excluded knows
  the version and no request of an older one is left, a stream or repair until its copies are done,
  a cleanup until the replica is empty.
- Who streams, repairs or cleans up knows the stage first: its permit is one of that stage.
- A way back waits for nothing but its condition, for any work may fail at any time. Where a failure
  leads on, the work is tried again without the nodes that are excluded: the way on is the same one.
- ``fence_version`` follows each barrier, which sets it to the version that it drained. Where more
  work comes after the barrier of a stage, setting it is an event of its own.
- A node that crashed is in ``ignore_nodes``; one that lives may get there by an event of its own.
- Within a node coordinators see no difference: the node is asked, and says by the stage that it
  knows which of its shards read and write. Writes that it began by an older stage are waited for,
  too.
- Who finds a replica of the tablet on itself: old and new ones throughout the transition, else the
  replicas (``tablet_map::has_replica``).

Deciding, working and committing are one step here. Source: Topology over Raft, "Tablet
transitions", "Topology guards", "Sharding with tablets"; Q-09, Q-21.
"""

from collections.abc import Iterator
from itertools import permutations, product
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput
from kit.masks import mask_of
from kit.protocols.storage.rules import conditions
from kit.protocols.storage.rules.history import (
    CopyTask,
    Edge,
    RangeEpoch,
    RangeHistory,
    ShardedReplica,
)
from kit.protocols.storage.rules.view import ShardChoice, View
from kit.protocols.tablets.rules import availability, replica_sets, stages
from kit.protocols.tablets.rules.maps import Tablet
from kit.protocols.tablets.rules.replica_sets import Replicas, ReplicaSets, TabletReplica
from kit.protocols.tablets.rules.stages import TransitionKind, onward
from kit.protocols.topology.rules.machines import BOUNDARY, EdgeRow, Edition, Machine, StateRow

FIRST, TARGET, OTHER_TARGET, OTHER_SHARD = "ABC", "D", "E", 1
WITHIN_NODE: TransitionKind = "intranode_migration"
Second = Literal["none", "again", "other"]
AT_REST = StateRow(BOUNDARY, ())
_CLEANUPS = (stages.CLEANUP_LEAVING, stages.CLEANUP_PENDING)
NO_TRANSITION = "no transition"


# -- what the coordinator plans -------------------------------------------------------------------


class TransitionPlan(Struct, frozen=True):
    """One transition: the replica in a ``place`` of the tablet's list gives way to ``target``."""

    kind: TransitionKind
    place: int
    target: TabletReplica

    def sets(self, replicas: Replicas) -> ReplicaSets:
        """The replicas before and after; a repair changes none."""
        if self.kind == "repair":
            return ReplicaSets(replicas, replicas)
        new = (*replicas[: self.place], self.target, *replicas[self.place + 1 :])
        return ReplicaSets(replicas, new)

    def fits(self, replicas: Replicas) -> bool:
        """Whether there is anything left to do."""
        return self.kind == "repair" or self.target not in replicas

    def title(self, sets: ReplicaSets) -> str:
        """The transition in a few words."""
        if self.kind == "repair":
            return "repair"
        if self.kind == WITHIN_NODE:
            return f"{self.kind} of {', '.join(map(str, sets.leaving))} to {self.target}"
        leaving = ", ".join(each.host for each in sets.leaving)
        return f"{self.kind} of {leaving} to {self.target.host}"


def first_replicas(rf: int) -> Replicas:
    """The replicas that the tablet begins with."""
    return tuple(TabletReplica(name) for name in FIRST[:rf])


def plans(
    kind: TransitionKind, rf: int, second: Second, repaired: bool = False
) -> tuple[TransitionPlan, ...]:
    """The transitions, in the order in which they are planned; ``repaired``: a repair is the last.
    BadInput when a dead replica is to be rebuilt and no other holds the data.
    """
    if kind.startswith("rebuild") and rf < 2:
        raise BadInput("rf", rf, "2 or more, or a dead replica cannot be rebuilt")
    beside = TabletReplica(FIRST[0], OTHER_SHARD)
    target = beside if kind == WITHIN_NODE else TabletReplica(TARGET)
    first = TransitionPlan(kind, 0, target)
    last = (TransitionPlan("repair", 0, target),) * repaired
    if second == "again":
        return first, first, *last
    if second == "other":
        other = TransitionPlan("migration", min(1, rf - 1), TabletReplica(OTHER_TARGET))
        return first, other, *last
    return first, *last


def next_plan(plans: tuple[TransitionPlan, ...], number: int, replicas: Replicas) -> int:
    """The first plan from a number on that has anything left to do; one past the last for none."""
    left = (i for i in range(number, len(plans)) if plans[i].fits(replicas))
    return next(left, len(plans))


# -- the table of stages --------------------------------------------------------------------------


class TabletSafeguards(Struct, frozen=True, kw_only=True):
    """One switch a safeguard; each has the name of its safeguard."""

    fencing: bool = True  # off, replicas admit requests of any version
    barrier_drains: bool = True  # off, a barrier waits for no older request, and sets no fence
    allow_stage: bool = True  # off, a transition begins with ``write_both_read_old``
    level_in_both_sets: bool = True  # off, answers of any old or new replicas make up the level
    sessions: bool = True  # off, a replica takes a stream, whichever stage it was begun in
    one_transition: bool = True  # off, a second transition may be written over the first
    stable_ownership: bool = True  # off, reads are served only by the selector of one's own stage
    stream_from_leaving: bool = True  # off, any other old replica is streamed from
    fallback_stage: bool = True  # off, ``server`` leaves ``write_both_read_new`` back in one step


def without(table: Machine, stage: str) -> Machine:
    """The table without one stage: whatever led there leads to the stage behind it."""
    if all(row.name != stage for row in table.states):
        return table
    behind = onward(table, stage)
    edges = tuple(
        edge
        if edge.target != stage
        else replace(edge, target=behind.target, session=edge.session or behind.session)
        for edge in table.edges
        if edge.source != stage
    )
    rows = tuple(row for row in table.states if row.name != stage)
    return replace(table, states=rows, edges=edges)


class TabletPlaces:
    """The nodes that coordinators ask, and the places of data: nodes of a tablet, shards of one of
    them.

    While a tablet moves within a node, that node is asked at every stage, and says by the stage
    that it knows which of its shards read and write. Source: Topology over Raft, "Sharding with
    tablets".
    """

    def __init__(self, replicas: Replicas, plans: tuple[TransitionPlan, ...]) -> None:
        targets = (plan.target for plan in plans if plan.kind != "repair")
        every = (*replicas, *targets)
        self.split = next((p.target.host for p in plans if p.kind == WITHIN_NODE), "")
        shards = dict.fromkeys(str(each) for each in every if each.host == self.split)
        hosts = dict.fromkeys(each.host for each in every)
        # The nodes, and behind the one that has shards these.
        self.names = tuple(n for h in hosts for n in (h, *(shards if h == self.split else ())))
        self.code = {name: i for i, name in enumerate(self.names)}
        self.shards = mask_of(self.code[str(r)] for r in every if r.host == self.split)

    @property
    def sharded(self) -> ShardedReplica | None:
        """The node that has the tablet on more than one shard."""
        return ShardedReplica(self.code[self.split], self.shards) if self.split else None

    def knowing(self, places: int) -> int:
        """The nodes on which some places are: shards know what their node knows."""
        if not places & self.shards:
            return places
        return places & ~self.shards | 1 << self.code[self.split]

    def node(self, host: str) -> int:
        """A node with its shards; nothing for who is no replica."""
        if host not in self.code:
            return 0
        return 1 << self.code[host] | (self.shards if host == self.split else 0)

    def nodes_of(self, replicas: Replicas) -> int:
        """The nodes, which coordinators ask."""
        return mask_of(self.code[each.host] for each in replicas)

    def at(self, replicas: Replicas) -> int:
        """The places where data of these replicas lie: of the node that has shards, on these."""
        return mask_of(self.number(each) for each in replicas)

    def number(self, replica: TabletReplica) -> int:
        """The place of one replica's data."""
        return self.code[str(replica) if replica.host == self.split else replica.host]

    def choice(self, sets: ReplicaSets, row: StateRow) -> ShardChoice | None:
        """The sharder's answers to requests in a stage, at the node that has shards."""
        if not (host := self.split):
            return None
        node = 1 << self.code[host]
        if all(each.host != host for each in sets.both):
            return ShardChoice(node, 0, 0)
        tablet = Tablet(0, sets.old, sets.new)
        reads = TabletReplica(host, availability.shard_for_reads(tablet, host, row.reads))
        writes = (
            TabletReplica(host, n) for n in availability.shard_for_writes(tablet, host, row.writes)
        )
        return ShardChoice(node, self.at((reads,)), self.at(tuple(writes)))


class TabletOptions(Struct, frozen=True):
    """How the stages are read: whose table, the first version, who is excluded, which safeguards.

    ``dead`` are the hosts that are gone when it begins, ``excluded`` is a node that may be excluded
    though it lives (empty: none), ``excluded_requests`` its requests (a mask), where it is a
    coordinator.
    """

    edition: Edition = "documents"
    version: int = 1
    dead: tuple[str, ...] = ()
    excluded: str = ""
    excluded_requests: int = 0
    safeguards: TabletSafeguards = TabletSafeguards()


class _TransitionPlace(Struct, frozen=True):
    """The stage of the tablet, and how it came here.

    ``number`` is that of the plan that is under way or was the last, ``at`` counts the events so
    far, ``since`` and ``fence`` are those of the events that gave it its version and the version
    that is the fence. ``session`` is the open one's number (0: none), ``opened`` how many there
    were. ``quiet``: no version was raised to come here. ``fenced``: the barrier of this stage is
    met, though more work is left.
    """

    stage: StateRow
    sets: ReplicaSets
    version: int
    number: int = -1
    at: int = 0
    since: int = 0
    fence: int = 0
    session: int = 0
    opened: int = 0
    excluding: bool = False
    quiet: bool = False
    fenced: bool = False

    @property
    def moving(self) -> bool:
        return self.stage.name != BOUNDARY

    @property
    def has_barrier(self) -> bool:
        return not self.fenced and any(work.barrier for work in self.stage.work)

    @property
    def to_fence(self) -> bool:
        return self.has_barrier and any(work.name in _CLEANUPS for work in self.stage.work)


def history(
    replicas: Replicas, plans: tuple[TransitionPlan, ...], options: TabletOptions
) -> RangeHistory:
    """The history of a tablet with these replicas while these plans are carried out."""
    made = _TabletHistory(replicas, plans, options)
    made.add(_TransitionPlace(AT_REST, ReplicaSets(replicas, replicas), options.version))
    joint = options.safeguards.level_in_both_sets
    names = made.places.names
    return RangeHistory(
        *("tablet 0", 0, 1, names, ("dc1",) * len(names), tuple(made.epochs)),
        unit="version",
        sessions=options.safeguards.sessions,
        admission="fence" if options.safeguards.fencing else "all",
        acknowledgement=availability.ACKNOWLEDGEMENT[options.edition] if joint else "either",
        sharded=made.places.sharded,
    )


class _TabletHistory:
    """The epochs found so far; a tree, for the past of an epoch decides what its fence bars."""

    def __init__(
        self, replicas: Replicas, plans: tuple[TransitionPlan, ...], options: TabletOptions
    ) -> None:
        self.plans, self.options, self.epochs = plans, options, list[RangeEpoch]()
        self.places = TabletPlaces(replicas, plans)
        self.dead = mask_of(map(self.places.code.__getitem__, options.dead))

    def add(self, place: _TransitionPlace) -> int:
        """Append the epoch of a place, then those behind it; its number."""
        number, view = len(self.epochs), self._view(place)
        cleans = self._cleans(place)
        epoch = RangeEpoch(
            place.version,
            self._title(place),
            view,
            copies=tuple(self._copies(place)),
            dead=self.dead,
            quiet=place.quiet,
            session=place.session,
            cleans_after=(*self._all_know(cleans), conditions.NoWriteBegun(cleans)),
            cleans=cleans,
            ignored=self.options.excluded_requests * place.excluding,
        )
        self.epochs.append(epoch)
        self.epochs[number] = replace(epoch, edges=tuple(self._behind(place, view)))
        return number

    # -- what an epoch says -----------------------------------------------------------------------

    def _title(self, place: _TransitionPlace) -> str:
        about = (
            self.plans[place.number].title(place.sets) if place.moving else "",
            f"{self.options.excluded} is excluded" if place.excluding else "",
            f"fence_version is {place.version}" if place.fenced else "",
        )
        said = ", ".join(filter(None, about))
        name = place.stage.name if place.moving else NO_TRANSITION
        return f"{name} ({said})" if said else name

    def _excluded(self, place: _TransitionPlace) -> int:
        return self.places.node(self.options.excluded) if place.excluding else 0

    def _view(self, place: _TransitionPlace) -> View:
        row, sets = place.stage, place.sets
        reads, writes = (
            self.places.nodes_of(sets.chosen(each)) for each in (row.reads, row.writes)
        )
        old, new = self.places.nodes_of(sets.old), self.places.nodes_of(sets.new)
        owners = (reads, reads) if row.reads == row.writes else (old, new)
        both = old | new | self.places.at(sets.both)
        serves = both if self.options.safeguards.stable_ownership else reads
        fence, shards = place.at - place.fence, self.places.choice(place.sets, place.stage)
        return View(reads, writes, *owners, fence=fence, serves=serves, stores=both, shards=shards)

    def _copies(self, place: _TransitionPlace) -> Iterator[CopyTask]:
        names = {work.name for work in place.stage.work}
        out = (*self.options.dead, *((self.options.excluded,) * place.excluding))
        if stages.REPAIR in names:
            pairs = list(permutations(replica_sets.repairing(place.sets, out).sources, 2))
        elif stages.STREAM in names:
            task = replica_sets.streaming(self.plans[place.number].kind, place.sets, out)
            sources = task.sources
            if not self.options.safeguards.stream_from_leaving:
                sources = tuple(r for r in place.sets.old if r not in sources)[:1] or sources
            pairs = list(product(sources, task.targets))
        else:
            return
        for source, target in pairs:
            pair = self.places.at((source, target))
            ends = self.places.number(source), self.places.number(target)
            yield CopyTask(*ends, self._all_know(pair))

    def _cleans(self, place: _TransitionPlace) -> int:
        names = {work.name for work in place.stage.work if not place.to_fence}
        leaving = place.sets.leaving if stages.CLEANUP_LEAVING in names else ()
        pending = place.sets.pending if stages.CLEANUP_PENDING in names else ()
        return self.places.at(leaving + pending) & ~(self._excluded(place) | self.dead)

    # -- what may come next -----------------------------------------------------------------------

    def _behind(self, place: _TransitionPlace, now: View) -> Iterator[Edge]:
        yield from self._begins(place, now)
        if not place.moving:
            return
        quiet = replace(place, at=place.at + 1, quiet=True)
        if place.to_fence:
            fenced = replace(quiet, fence=place.since, fenced=True)
            yield self._event(now, self._barrier(place), fenced, "commit fence_version")
        else:
            table = self._table(place.number)
            for row in table.edges:
                is_retry = row.kind == "proceed" and any(w.barrier for w in place.stage.work)
                if row.source == place.stage.name and not is_retry:
                    yield from self._along(place, table, row, now)
        if not place.excluding and self.options.excluded:
            excluding = replace(quiet, excluding=True)
            yield self._event(now, (), excluding, f"exclude {self.options.excluded}", aside=True)

    def _table(self, number: int) -> Machine:
        table = stages.TRANSITIONS[self.options.edition][self.plans[number].kind]
        if not self.options.safeguards.allow_stage:
            table = without(table, "allow_write_both_read_old")
        if not self.options.safeguards.fallback_stage:
            table = without(table, "write_both_read_old_fallback_cleanup")
        return table

    def _begins(self, place: _TransitionPlace, now: View) -> Iterator[Edge]:
        replicas = place.sets.old
        number = next_plan(self.plans, place.number + 1, replicas)
        if number == len(self.plans):
            return
        if place.moving and self.options.safeguards.one_transition:
            return
        plan, table = self.plans[number], self._table(number)
        sets = plan.sets(replicas)
        after = self._after(replace(place, number=number, sets=sets), table, table.begins)
        yield self._event(now, (), after, f"plan {plan.title(sets)}")

    def _along(
        self, place: _TransitionPlace, table: Machine, row: EdgeRow, now: View
    ) -> Iterator[Edge]:
        after, target = self._after(place, table, row), row.target
        target = target if target != BOUNDARY else NO_TRANSITION
        work = table.state(row.source).work
        moves_data = any(each.name in (stages.STREAM, stages.REPAIR) for each in work)
        if row.kind == "rollback":
            # An edge that leads back may ask for some who crashed or are excluded.
            old, new = self.places.at(place.sets.old), self.places.at(place.sets.new)
            more, than = (old | new, 0) if row.when == "excluded" else (new, old)
            waits = (conditions.MoreLost(more, than, self._excluded(place)),) if row.when else ()
            yield self._event(now, waits, after, f"roll back to {target}", aside=True)
            return
        # A copy may go to, or come from, a node that is excluded.
        out = self._excluded(place) if moves_data else 0
        cut_off = any((1 << c.source | 1 << c.target) & out for c in self._copies(place))
        if row.kind == "happy" and not cut_off:
            # The barrier is met, then what is to be cleaned is.
            cleans = self._cleans(place)
            waits = (*self._barrier(place), *((conditions.HaveCleaned(cleans),) if cleans else ()))
            yield self._event(now, waits, after, f"commit {target}", streamed=moves_data)
        # Failed work may be followed by the same stage though no edge says so.
        passed_over = any(each.on_failure == "proceed" for each in work)
        if row.kind == "proceed" or (passed_over and table.edge(row.source, "proceed") is None):
            yield self._event(now, (), after, f"give up to {target}", aside=True)

    def _after(self, place: _TransitionPlace, table: Machine, row: EdgeRow) -> _TransitionPlace:
        ends, opens = row.target == BOUNDARY, row.session == "opens"
        sets = place.sets
        if ends:
            final = sets.new if stages.REPLACES in row.effects else sets.old
            sets = ReplicaSets(final, final)
        met = row.kind == "happy" and place.has_barrier
        return replace(
            place,
            stage=AT_REST if ends else table.state(row.target),
            sets=sets,
            version=place.version + 1,
            at=place.at + 1,
            since=place.at + 1,
            fence=place.since if met else place.fence,
            session=place.opened + 1 if opens else 0 if row.session else place.session,
            opened=place.opened + opens,
            quiet=False,
            fenced=False,
        )

    def _event(
        self,
        now: View,
        waits: tuple[conditions.Condition, ...],
        after: _TransitionPlace,
        verb: str,
        *,
        streamed: bool = False,
        aside: bool = False,
    ) -> Edge:
        switches = self._view(after).read_at != now.read_at and not aside
        return Edge(
            verb, self._title(after), self.add(after), waits, streamed, switches, aside=aside
        )

    # -- what is waited for -----------------------------------------------------------------------

    def _barrier(self, place: _TransitionPlace) -> tuple[conditions.Condition, ...]:
        if not place.has_barrier:
            return ()
        every = (1 << len(self.places.names)) - 1
        kept = every & ~(self.dead | self._excluded(place))
        requests = self.options.excluded_requests * place.excluding
        know = conditions.AllKnow(self.places.knowing(kept), but_down=True, ignored=requests)
        if not self.options.safeguards.barrier_drains:
            return (know,)
        below = conditions.NothingBelow(ignored=requests, replicas=kept)
        choice = self.places.choice(place.sets, place.stage)
        if choice is None or not choice.writes:
            return know, below
        shards = conditions.NothingElsewhere(self.places.shards & kept, choice.writes & kept)
        return know, below, shards

    def _all_know(self, places: int) -> tuple[conditions.Condition, ...]:
        nodes = self.places.knowing(places)
        return (conditions.MajorityKnows(nodes, nodes.bit_count()),) if nodes else ()


def stage_of(epoch: RangeEpoch) -> str:
    """The stage that an epoch of such a history stands for; ``NO_TRANSITION`` for none."""
    return epoch.title.partition(" (")[0]
