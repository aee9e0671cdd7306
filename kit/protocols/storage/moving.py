"""The range moves: events are committed, nodes learn of them, copies stream, replicas crash.

Any node may learn any committed epoch at any time. A copy reads at its source in one step and lands
in another, so that writes race with it. Source: CEP-21, "Consistency Guarantees" and "Bootstrap".

A step that fails is not told to who streams for it, so that a copy may come much later. It brings
along the session of its step as a permit, and its target lets it in only while that session is the
one that the target knows to be open. A tombstone outlives what may come under such a session, for
the next barrier ends it; without sessions nothing says how late a copy may come, and no tombstone
waits for it. Any of those that were under way may be the one that comes; a budget bounds how many
do. Source: Topology over Raft, "Topology guards".
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from kit.errors import Refusal, are, counted
from kit.masks import holds, mask_of
from kit.model.declared import action, purpose, refused
from kit.protocols.storage import ranges
from kit.protocols.storage.events import Applied, Copied, DiskEvent, EpochCommitted, Happenings
from kit.protocols.storage.ranges import COPIED, LateCopy, Next, Replica, StorageState, put, travels
from kit.protocols.storage.rules import conditions
from kit.protocols.storage.rules.history import CopyTask
from kit.protocols.storage.rules.requests import AT_WORK


class Moving(ranges.Range):
    """A data range on its way through its history.

    ``ring_delay`` is how many ticks an event waits after the one before it, where nothing but that
    wait guards it (0: no clock). ``crashes`` is a budget; ``cleaning``: replicas clean up what they
    do not own any more; so many copies of earlier steps may still arrive as ``late`` says.
    """

    ring_delay: int = 0
    crashes: int = 0
    cleaning: bool = False
    late: int = 0

    def set_up(self) -> None:
        """What a barrier says of who is missing is asked for again and again."""
        super().set_up()
        self._blocked = lru_cache(None)(self._waits_for)

    def happened(self, before: StorageState, action: Any, after: StorageState) -> Happenings:
        """The events of commits, learning and copies, also late, and of failures."""
        match action:
            case Commit():
                reached = self.newest(after)
                return (EpochCommitted(reached.epoch, reached.title, self.history.unit),)
            case ApplyEpoch(node):
                return (Applied(node, self.epoch(after, self._knows(after, node))),)
            case Fetch(source, target) | Land(source, target):
                landed = isinstance(action, Land)
                place = self._place(before, self.code[source], self.code[target])
                cell = self.cell_text(before, (before if landed else after).copies[place])
                exchanged = self.switches.safeguards.epoch_exchange
                known = self.epoch(before, self._knows(before, source)) if exchanged else None
                session = self.newest(before).session
                return (Copied(source, target, cell, landed, known, session),)
            case LandLate(source, target, session):  # it shows its permit
                late = self.late_copy(before, action)
                cell = self.cell_text(before, late.cell)
                rejected = self.rejects_late(before, action)
                return (Copied(source, target, cell, True, None, session, True, rejected),)
            case Crash(replica):
                return (DiskEvent(replica, "fails"),)
        return super().happened(before, action, after)

    def _knows(self, s: StorageState, node: str) -> int:
        i = self.code[node]
        at_work = i >= self.replicas
        return s.requests[self.serving(s, node)].coordinator_epoch if at_work else s.known[i]

    # -- metadata ---------------------------------------------------------------------------------

    def _committed(self, before: StorageState, action: Any, after: StorageState) -> str:
        reached, title = self.newest(after), self.edge(before, action).title
        unit = self.history.unit.capitalize()
        return f"{title}." if reached.quiet else f"{unit} {reached.epoch}: {title}."

    def _commit_label(self, s: StorageState, action: Any) -> str:
        edge, to = self.trails[s.trail].edge(action.verb)
        return f"{self.trails[to].newest.epoch}: {edge.title}"

    def why_here(self, before: StorageState, action: Any, after: StorageState) -> str:
        """A commit says who is asked from there on, where that is somebody else."""
        changes = []
        if self.kind(action) == "commit":
            old, new = self.newest(before).view, self.newest(after).view
            ways = ("written to", old.writes, new.writes), ("read from", old.reads, new.reads)
            for done, then, now in ways:
                for no_longer, mask in (("", now & ~then), (" no longer", then & ~now)):
                    if names := self.history.names(mask):
                        who = " and ".join(names)
                        changes.append(f"{who} {are(len(names))}{no_longer} {done}")
        return (
            f"By this entry of the log, {', and '.join(changes)}."
            if changes
            else super().why_here(before, action, after)
        )

    @action(
        each=lambda m, s: (edge.verb for edge in m.newest(s).edges),
        verb="{verb}",
        label=_commit_label,
        says=_committed,
    )
    @purpose("Replicas change in small steps, so that reads still find the writes.")
    def commit(self, s: StorageState, verb: str) -> Next:
        """The next event of the history is committed; ``verb`` names it."""
        trail = self.trails[s.trail]
        (edge, to), newest_of = trail.edge(verb), trail.newest
        if s.trail and s.waited < self.ring_delay:
            return refused(f"RING_DELAY: {s.waited} of {counted(self.ring_delay, 'tick')} passed")
        unmet = self.unmet(s, edge.conditions)
        if unmet is not None:
            return unmet
        if edge.streamed and any(copied != COPIED for copied in s.copies):
            missing = (self.history.replicas[c.target] for d, c in self._copies(s) if d != COPIED)
            done = f"{s.copies.count(COPIED)} of {len(s.copies)} done"
            return refused(f"streaming is not complete: {done}", tuple(missing))
        uncleaned = edge.regains & ~s.cleaned if self.cleaning else 0
        if uncleaned:
            names = self.history.names(uncleaned)
            return refused(f"{', '.join(names)} might hold data not owned", names)
        late = self._too_far_behind(s) if trail.full else None
        if late is not None:
            return late
        reached = self.trails[to].newest
        known, cleaned = self.known_after(s, edge.conditions), s.cleaned & ~(reached.cleans or 0)
        down = s.down | reached.dead
        after = s.but(cleaned=cleaned, trail=to, known=known, down=down, waited=0)
        if not goes_on(newest_of.copies, reached.copies):
            after = self._left_behind(
                s, after.but(copies=(ranges.NOT_COPIED,) * len(reached.copies))
            )
        return _one_epoch_less(after) if trail.full else after

    def _left_behind(self, before: StorageState, after: StorageState) -> StorageState:
        """What becomes of copies whose step is over: they are, too, unless some may come late."""
        if before.late_copies is UNSET:
            return after
        session, left = self.newest(before).session, {*before.late_copies}
        for copied, copy in self._copies(before):
            if ranges.is_under_way(copied):
                left.add(LateCopy(copy.source, copy.target, copied, session))
        return after.but(late_copies=tuple(sorted(left)) if before.late_left else ())

    def unmet(self, s: StorageState, awaited: tuple[conditions.Condition, ...]) -> Refusal | None:
        """The first of some conditions that does not hold, as a refusal."""
        newest = len(self._views[s.trail]) - 1
        for condition in awaited:
            if not condition.holds(s, newest):
                epoch = self.epoch(s, newest) - getattr(condition, "age", 0)
                return self._blocked(condition, epoch, condition.missing(s, newest))
        return None

    def _waits_for(
        self, condition: conditions.Condition, epoch: int, lacking: tuple[int, ...]
    ) -> Refusal:
        missing = tuple(self.history.replicas[i] for i in lacking)
        called = f"{self.history.unit} {epoch}"
        match condition:
            case conditions.NothingBelow():
                return refused(f"requests planned before {called} are still in flight")
            case conditions.NothingElsewhere() | conditions.NoWriteBegun():
                return refused(f"a write begun before {called} is still in progress")
            case conditions.SessionClosed():
                return refused("the session is open: a copy is on its way")
            case conditions.HaveCleaned():
                return refused(f"{', '.join(missing)} must clean up first", missing)
            case conditions.MoreLost():
                lost = mask_of(lacking)
                counts = (
                    f"{(group & lost).bit_count()} of {', '.join(self.history.names(group))}"
                    for group in (condition.these, condition.those)
                    if group
                )
                return refused(f"too few nodes are down or excluded: {', '.join(counts)}")
            case conditions.AllKnow() if not lacking:
                return refused(f"a coordinator with a request in progress does not know {called}")
        assert isinstance(condition, conditions.AllKnow | conditions.MajorityKnows)
        group = condition.replicas.bit_count()
        needed = condition.needed if isinstance(condition, conditions.MajorityKnows) else group
        return refused(
            f"waiting at the barrier: {needed} of {counted(group, 'replica')} must have applied "
            f"{called} (so far: {group - len(lacking)})",
            missing,
        )

    def _too_far_behind(self, s: StorageState) -> Refusal | None:
        """The oldest epoch of the trail is about to drop out: nobody may still work by it."""
        late = any(
            request.epoch == 0 or (request.phase in AT_WORK and request.coordinator_epoch == 0)
            for request in s.requests
            if request.phase in AT_WORK or request.in_flight & ~s.down
        )
        behind = tuple(i for i in range(self.replicas) if s.known[i] == 0 and not holds(s.down, i))
        if not (late or behind):
            return None
        said = f"no node may be more than {self.history.kept} {self.history.unit}s behind"
        return refused(said, tuple(self.history.replicas[i] for i in behind))

    def known_after(
        self, s: StorageState, awaited: tuple[conditions.Condition, ...]
    ) -> tuple[int, ...]:
        """Where all had to know an epoch, coordinators plan by no earlier one any more."""
        known = s.known
        for condition in awaited:
            if isinstance(condition, conditions.AllKnow):
                least = len(self._views[s.trail]) - 1 - condition.age
                planners = enumerate(self.planners)
                ignored = {node for number, node in planners if condition.ignored >> number & 1}
                known = tuple(
                    index if i < self.replicas or i in ignored else max(index, least)
                    for i, index in enumerate(known)
                )
        return known

    def _laggards(self, s: StorageState) -> list[int]:
        latest = len(self._views[s.trail]) - 1
        behind = [
            i for i in range(self.replicas) if s.known[i] < latest and not self.all_shards >> i & 1
        ]
        for number, request in enumerate(s.requests):
            if request.phase in AT_WORK and request.coordinator_epoch < latest:
                behind.append(self.planners[number])
        return behind

    def _applies(self, s: StorageState, action: Any) -> str:
        index = self._knows(s, action.node) + 1
        epoch = self.history.epochs[self.trails[s.trail].nodes[index]]
        what = f" ({epoch.title})" if epoch.quiet else ""
        return f"{action.node} applies {self.epoch_text(s, index)}{what}"

    @action(
        each=_laggards,
        tag="apply",
        label=_applies,
        says=lambda m, s, a, _: f"{m._applies(s, a)}.",
        travels=travels,
    )
    @purpose("Each node acts on what it has applied, whatever the log holds by then.")
    def apply_epoch(self, s: StorageState, node: ranges.Node) -> Next:
        """A node applies its next epoch."""
        if node < self.replicas:
            if s.down >> node & 1:
                return self.is_down[node]
            return self.applied(s, node, s.known[node] + 1)
        number = self.serving(s, self.everybody[node])
        now = s.requests[number].coordinator_epoch + 1
        return self.with_request(s, number, self.informed(s, number, now))

    # -- streaming --------------------------------------------------------------------------------

    def _copies(self, s: StorageState) -> Iterable[tuple[int, CopyTask]]:
        return zip(s.copies, self.newest(s).copies, strict=True) if s.copies else ()

    def copy(self, s: StorageState, action: Any) -> CopyTask:
        """The copy of the present epoch between two ends."""
        place = self._place(s, self.code[action.source], self.code[action.target])
        return self.newest(s).copies[place]

    def _place(self, s: StorageState, source: int, target: int) -> int:
        ends = (source, target)
        copies = self.newest(s).copies
        return next(i for i, copy in enumerate(copies) if (copy.source, copy.target) == ends)

    def _unread(self, s: StorageState) -> list[tuple[int, int]]:
        return [(c.source, c.target) for done, c in self._copies(s) if done == ranges.NOT_COPIED]

    def _read(self, before: StorageState, action: Any, after: StorageState) -> str:
        held = self.cell_text(before, before.cells[self.code[action.source]])
        return f"The copy to {action.target} reads from {action.source}, which holds {held}."

    @action(
        each=_unread, kind="stream", verb="copy {source} to {target}", says=_read, travels=travels
    )
    @purpose("New writes do not bring older data along, so it has to be copied.")
    def fetch(self, s: StorageState, source: Replica, target: Replica) -> Next:
        """A copy reads the range at its source."""
        for end in (source, target):
            if s.down >> end & 1:
                return self.is_down[end]
        place = self._place(s, source, target)
        awaited = self.newest(s).copies[place].conditions
        unmet = self.unmet(s, awaited)
        if unmet is not None:
            return unmet
        copies = put(s.copies, place, s.cells[source])
        return s.but(known=self.known_after(s, awaited), copies=copies)

    def _landed(self, before: StorageState, action: Any, after: StorageState) -> str:
        held = self.cell_text(after, after.cells[self.code[action.target]])
        return f"The copy arrives: {action.target} holds {held}."

    @action(
        each=lambda m, s: [
            (c.source, c.target) for done, c in m._copies(s) if ranges.is_under_way(done)
        ],
        kind="stream",
        verb="land {source} to {target}",
        says=_landed,
        travels=travels,
    )
    @purpose("Only a copy brings a replica the older writes it lacks.")
    def land(self, s: StorageState, source: Replica, target: Replica) -> Next:
        """The data that a copy read arrives at its target."""
        if s.down >> target & 1:
            return self.is_down[target]
        place = self._place(s, source, target)
        cell = max(s.cells[target], s.copies[place])
        return s.but(copies=put(s.copies, place, COPIED), cells=put(s.cells, target, cell))

    # -- time and failures ------------------------------------------------------------------------

    @action(
        each=lambda m, s: ((),) * (s.trail > 0 and s.waited < m.ring_delay),
        kind="time",
        when=lambda m: m.ring_delay > 0,
        says=lambda m, _, a, after: (
            f"Time passes: tick {after.waited} of {m.ring_delay} (RING_DELAY)."
        ),
    )
    @purpose("Gossip waits for a fixed time, not for answers.")
    def tick(self, s: StorageState) -> Next:
        """Some time passes."""
        return s.but(waited=s.waited + 1)

    @action(
        each=lambda m, s: ((1 << m.replicas) - 1) & ~(s.down | m.all_shards),
        when=lambda m: m.crashes > 0,
        fault=True,
        says="{replica} fails, and its data is out of reach.",
    )
    @purpose("A replica can stop at any time; the others have to be enough.")
    def crash(self, s: StorageState, replica: Replica) -> Next:
        """A replica and its shards stop for good. The data on its disk is out of reach."""
        if s.crashes >= self.crashes:
            return refused("the run's budget of crashes is used up")
        return s.but(down=s.down | self.with_shards[replica], crashes=s.crashes + 1)

    # -- what streaming leaves behind --------------------------------------------------------------

    def late_copy(self, s: StorageState, action: Any) -> LateCopy:
        """The copy that arrives."""
        ends = self.code[action.source], self.code[action.target]
        return self._late_copy(s, *ends, action.session)

    def rejects_late(self, s: StorageState, action: Any) -> bool:
        """Whether an action is a late copy that its target turns away."""
        if not isinstance(action, LandLate):
            return False
        return not self.lets_in(s, self.code[action.target], action.session)

    def _late_copy(self, s: StorageState, *ends: int) -> LateCopy:
        return next(x for x in self.late_copies(s) if (x.source, x.target, x.session) == ends)

    def lets_in(self, s: StorageState, target: int, session: int) -> bool:
        """Whether a replica takes work with the permit of that session."""
        known = self.history.epochs[self.trails[s.trail].nodes[s.known[target]]]
        return not self.history.sessions or known.session == session

    def still_open(self, s: StorageState) -> tuple[str, ...]:
        """Replicas that live and take the session of a late copy for open."""
        names = (
            self.history.replicas[late.target]
            for late in self.late_copies(s)
            if not s.down >> late.target & 1 and self.lets_in(s, late.target, late.session)
        )
        return tuple(dict.fromkeys(names)) if self.history.sessions else ()

    def _came_late(self, before: StorageState, action: Any, after: StorageState) -> str:
        copy: Any
        [copy] = self.happened(before, action, after)
        does = f"{action.target} takes it"
        if copy.refused:
            does = f"{action.target} rejects it, because that session is not open there"
        return f"A copy from session {action.session} arrives late with {copy.cell}: {does}."

    @action(
        each=lambda m, s: ((x.source, x.target, x.session) for x in m.late_copies(s)),
        when=lambda m: m.late > 0,
        kind="stream",
        verb="late copy of session {session}, {source} to {target}",
        says=_came_late,
        travels=travels,
    )
    @purpose("The network can deliver a copy long after its session has ended.")
    def land_late(self, s: StorageState, source: Replica, target: Replica, session: int) -> Next:
        """A copy that outlived its session arrives, with the permit of that session.

        The copy is written or turned away, and in both cases it is finished. If no more copies can
        arrive, all the others are finished too.
        """
        if s.down >> target & 1:
            return self.is_down[target]
        assert s.late_left is not UNSET
        late, left, cells = self._late_copy(s, source, target, session), s.late_left - 1, s.cells
        rest = tuple(x for x in self.late_copies(s) if x != late) if left else ()
        if self.lets_in(s, target, session):
            cells = put(cells, target, max(cells[target], late.cell))
        return s.but(late_copies=rest, late_left=left, cells=cells)


def goes_on(before: tuple[CopyTask, ...], after: tuple[CopyTask, ...]) -> bool:
    """Whether the copies of one epoch are those of the next, so that they go on."""
    ends = ([(copy.source, copy.target) for copy in copies] for copies in (before, after))
    return next(ends) == next(ends)


def _one_epoch_less(s: StorageState) -> StorageState:
    requests = tuple(
        replace(r, epoch=max(r.epoch - 1, 0), coordinator_epoch=max(r.coordinator_epoch - 1, 0))
        for r in s.requests
    )
    return s.but(known=tuple(max(index - 1, 0) for index in s.known), requests=requests)


Commit, ApplyEpoch, Fetch, Land, Tick, Crash, LandLate = Moving.acts
