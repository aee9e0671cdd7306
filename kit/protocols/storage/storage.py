"""Requests on one data range: plan, send, answer, validate the plan again, answer the client.

Grain: a message reaches a replica and its answer the coordinator in one step; what was sent stays
on its way until it arrives, also after the client has its answer. Where the range's history comes
from is the matter of a family on top (``placement_history``). Source: CEP-21, "Read/Write Path
Integration"; ``kit.protocols.storage.rules.levels``.
"""

from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import product
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from kit.errors import BadInput, Refusal
from kit.masks import holds, mask_of, members
from kit.model.declared import action, always, budget, parameter, purpose, refused, sometimes, step
from kit.protocols.storage import ranges
from kit.protocols.storage.coordinating import Coordinating, Finish, Start, TimeOut
from kit.protocols.storage.events import ERRORS, Delivered, DiskEvent, Happenings
from kit.protocols.storage.monitors import deleted_since, monitors
from kit.protocols.storage.moving import (
    ApplyEpoch,
    Commit,
    Crash,
    Fetch,
    Land,
    LandLate,
    Moving,
    Tick,
)
from kit.protocols.storage.ranges import Next, Number, Replica, StorageState, put
from kit.protocols.storage.rules import requests as rules
from kit.protocols.storage.rules.exchange import Answer, admits, receive, sent
from kit.protocols.storage.rules.levels import ReadRepair, enough, majority, promised
from kit.protocols.storage.rules.requests import AT_WORK, DONE, NOTHING, timestamp
from kit.protocols.storage.rules.view import View

# What clients ask for and what may fail, as parameters: a model takes those that it has.
USUAL_REQUESTS = ("K1 write QUORUM", "K2 read QUORUM")
REQUESTS = parameter(
    USUAL_REQUESTS,
    "lines such as `K2@dc2 read LOCAL_QUORUM`; each request begins once those before it are "
    "answered",
    title="requests (; between)",
    written=True,
)
TOGETHER = parameter(
    False,
    "a request waits only for earlier ones of its own coordinator",
    title="clients side by side",
)
TIMEOUTS = parameter(
    False, "a request can time out even if it is not stuck", title="timeouts at any moment"
)
REPAIR: ReadRepair = parameter(
    "none", "what a read writes back before it answers", title="read repair"
)
RETRY = parameter(
    False, "a request whose plan went stale is sent again", title="retry a stale plan"
)
CRASHES = budget(0, "how many replicas can crash", le=8, own=False)
LOSSES = budget(0, "how many messages can be lost", le=8, own=False, title="lost messages")
LATE = budget(
    0,
    "how many copies can arrive after the step in which they began",
    le=4,
    own=False,
    title="streams left behind",
)
SLOW = parameter(
    False,
    "a replica handles a request in two steps, begin and end; its fence is checked twice",
    title="slow replicas",
)
COLLECTING = parameter(False, "replicas can forget deletions", title="collect tombstones")

SESSION_OPEN = (
    "the target still considers a late copy's session open: a tombstone must outlive that copy"
)
NOT_REPAIRED = "no repair has brought the tombstone to every replica"


class Storage(Moving, Coordinating):
    """Clients, coordinators and the replicas of one data range on its way through its history.

    ``losses`` is a budget of messages that may be lost; ``collecting``: replicas may forget
    deletions.
    """

    losses: int = 0
    collecting: bool = False
    first = (
        *("begin", "serve", "finish", "time_out", "commit", "apply_epoch", "fetch", "land"),
        *("admit", "write_back", "lose", "tick", "crash", "land_late"),
        *("cleanup", "collect_tombstones"),
    )

    def set_up(self) -> None:
        """Coordinators are no replicas, in datacenters that the range has; else BadInput."""
        super().set_up()
        names, known = self.history.replicas, sorted(self.history.datacenters)
        for ask in self.workload:
            if ask.coordinator in names:
                allowed = f"a coordinator that is not one of the replicas {', '.join(names)}"
                raise BadInput("requests", ask.coordinator, allowed)
            if ask.dc is not None and ask.dc not in known:
                allowed = f"a datacenter of the range: {', '.join(known)}"
                raise BadInput("requests", ask.dc, allowed)
        self.monitors = monitors(self)
        self._apart = lru_cache(None)(self._missed)
        self._promises = tuple(
            (read, write)
            for read, write in product(range(len(self.workload)), repeat=2)
            if self.promises(write, read)
        )

    def start(self) -> StorageState:
        """The range stable, nothing stored, nothing asked."""
        everywhere = (1 << self.replicas) - 1
        stable: StorageState = super().start()
        return stable.but(
            cleaned=~self.history.epochs[0].view.writes & everywhere if self.cleaning else 0,
            lost=0 if self.losses else UNSET,
            late_copies=() if self.late else UNSET,
            late_left=self.late or UNSET,
        )

    def happened(self, before: StorageState, action: Any, after: StorageState) -> Happenings:
        """The events of replicas that get a message, and of their disks."""
        match action:
            case Admit() | Serve() | WriteBack():
                return (self._delivered_or_disk(before, action, after),)
            case Lose(number, replica):
                return (DiskEvent(replica, f"never gets {self.title_of(number)}"),)
            case Cleanup(replica):
                return (DiskEvent(replica, "cleans up"),)
            case CollectTombstones(replica):
                return (DiskEvent(replica, "collects the tombstone"),)
        return super().happened(before, action, after)

    def _delivered_or_disk(
        self, before: StorageState, action: Any, after: StorageState
    ) -> Delivered | DiskEvent:
        number, replica, i = action.request, action.replica, self.code[action.replica]
        request, title = before.requests[number], self.title_of(number)
        answer, writes = self.answer(before, action), self.writing(before, number)
        if isinstance(action, Admit) and answer.verdict == "ok":
            return DiskEvent(replica, f"begins {title}")
        error = ERRORS[answer.verdict]
        if answer.verdict == "not-a-member":
            error = f"no {'write' if writes else 'read'} replica"
        brought, held = self.mutation(before, number), self.returned(before, i, number)
        on = ranges.named_shards(self.on_shards(before, i, number, write=writes))
        if error:
            did = "answers with an error"
        elif not writes:
            did = f"returns {self.cell_text(before, held)}{on}"
        elif held < brought:
            did = f"takes {self.cell_text(before, brought)}{on}"
        else:
            newer = f"keeps {self.cell_text(before, held)}, which is newer"
            did = f"already has {self.cell_text(before, held)}" if held == brought else newer
        if isinstance(action, WriteBack):
            title = f"{self.cell_text(before, brought)} back"
        had, knows = self.epoch(before, before.known[i]), self.epoch(before, answer.known)
        late, now = request.phase not in AT_WORK, after.requests[number].coordinator_epoch
        adopted = self.epoch(after, now) if now > request.coordinator_epoch else None
        who = number, title, self.workload[number].coordinator, replica
        return Delivered(*who, self.carried(before, number), had, knows, error, did, late, adopted)

    # -- messages ---------------------------------------------------------------------------------

    def _beside(self, masks: list[int]) -> int:
        return sum(mask << number * self.replicas for number, mask in enumerate(masks))

    def _new(self, s: StorageState) -> int:
        return self._beside(
            [r.in_flight if r.begun is UNSET else r.in_flight & ~r.begun for r in s.requests]
        )

    def _asking(self, s: StorageState, *, back: bool = False) -> int:
        return self._beside(
            [
                (r.in_flight if r.begun is UNSET else r.in_flight & r.begun)
                if back is not (mutates or r.phase == rules.OPEN)
                else 0
                for r, mutates in zip(s.requests, self.mutations, strict=True)
            ]
        )

    def begun(self, s: StorageState, number: int, i: int) -> bool:
        """Whether replica ``i`` is at work on a message, where that takes time."""
        begun = s.requests[number].begun
        return begun is not UNSET and holds(begun, i)

    def answer(self, s: StorageState, action: Any) -> Answer:
        """The answer of the replica to the message of such an action."""
        return self._answer(s, action.request, self.code[action.replica])

    def _answer(self, s: StorageState, number: int, i: int) -> Answer:
        views, request = self._views[s.trail], s.requests[number]
        if not self.exchanged:
            ok = admits(self.history.admission, views, s.known[i], request.epoch)
            if ok and not views[s.known[i]].holds_it(i, self.writing(s, number)):
                return Answer("not-a-member", s.known[i])
            return Answer("ok" if ok else "stale", s.known[i])
        epoch, write = sent(views, request.epoch, self.switches), self.writing(s, number)
        return receive(views, i, s.known[i], epoch, write, self.switches)

    def _does(self, before: StorageState, action: Any, after: StorageState) -> str:
        met, number, i = (
            self._delivered_or_disk(before, action, after),
            action.request,
            self.code[action.replica],
        )
        at = f"{action.replica}, at {self.epoch_text(before, before.known[i])},"
        if isinstance(met, DiskEvent):
            return f"{at} {met.what}."
        message = self.epoch_text(before, before.requests[number].epoch)
        if met.caught_up:
            at += f" gets a message planned at {message}, catches up and"
        verdict, did = self.answer(before, action).verdict, met.did
        if verdict == "not-a-member":
            kind = "write" if self.writing(before, action.request) else "read"
            did = f"is not a {kind} replica of the range: it answers with an error"
        elif verdict == "stale":
            stored = before.cells != after.cells
            did = f"has stored {self.title_of(number)}, but now " if stored else ""
            did += f"does not admit a request planned at {message}: it answers with an error"
        elif verdict == "coordinator-behind":
            did = (
                f"knows newer replicas of the range than those of {message}: it answers with an "
                "error"
            )
        elif did.startswith("keeps"):
            brought = self.cell_text(before, self.mutation(before, number))
            on = ranges.named_shards(self.on_shards(before, i, number, write=True))
            did = f"takes {brought} but holds something newer{on}"
        if met.late:
            return f"{at} {did}; the client already has its answer."
        if met.adopted is not None:
            hears = f"hears of {self.history.unit} {met.adopted}"
            did += f"; {met.coordinator} {hears} and catches up"
        return f"{at} {did}."

    @action(
        each=_new,
        kind="message",
        when=lambda m: m.slow,
        verb=lambda m, a: f"{m.title_of(a.request)} begins at {a.replica}",
        says=_does,
    )
    @purpose("Serving takes time, and the cluster can change in the meantime.")
    def admit(self, s: StorageState, request: Number, replica: Replica) -> Next:
        """A replica gets a message and begins what it asks, or refuses it at once."""
        if s.down >> replica & 1:
            return self.is_down[replica]
        answer, sent = self._answer(s, request, replica), s.requests[request]
        if answer.verdict != "ok":
            refusing = self.answered(s, request, replica, answer, NOTHING)
            return self.with_request(s, request, refusing)
        assert sent.begun is not UNSET
        begun = sent.begun | 1 << replica
        if self.split >= 0 and begun >> self.split & 1:
            begun |= self.chosen(s, request, write=self.writing(s, request))
        return self.with_request(s, request, replace(sent, begun=begun))

    @action(
        each=_asking,
        kind="message",
        verb=lambda m, a: f"{m.title_of(a.request)} reaches {a.replica}",
        says=_does,
        travels=ranges.travels,
    )
    @purpose("Each replica answers from what it knows and holds.")
    def serve(self, s: StorageState, request: Number, replica: Replica) -> Next:
        """A replica gets the message of a request and answers."""
        return self._served(s, request, replica)

    def _served(self, s: StorageState, request: int, replica: int) -> StorageState | Refusal:
        if s.down >> replica & 1:
            return self.is_down[replica]
        answer = self._answer(s, request, replica)
        cells, writing, ok = s.cells, self.writing(s, request), answer.verdict == "ok"
        # What became stale while it ran is on the disk, but its answer is an error.
        if writing and (ok or s.requests[request].begun is not UNSET):
            cells = self.stored(s, replica, self.mutation(s, request), request)
        seen = self.returned(s, replica, request) if ok and not writing else NOTHING
        answered = self.answered(s, request, replica, answer, seen)
        after = s.but(cells=cells, requests=put(s.requests, request, answered))
        if answer.known == s.known[replica]:
            return after
        return self.applied(after, replica, answer.known)

    @action(
        each=partial(_asking, back=True),
        kind="message",
        when=lambda m: m.waits_for_repair,
        verb=lambda m, a: f"{m.title_of(a.request)} writes back to {a.replica}",
        says=_does,
        travels=ranges.travels,
    )
    @purpose("A later read should find whatever an earlier read found.")
    def write_back(self, s: StorageState, request: Number, replica: Replica) -> Next:
        """A replica gets the value that a read writes back, and answers."""
        return self._served(s, request, replica)

    @action(
        each=_new,
        when=lambda m: m.losses > 0,
        verb=lambda m, a: f"lose {m.title_of(a.request)} to {a.replica}",
        says=lambda m, s, a, _: f"The message of {m.title_of(a.request)} to {a.replica} is lost.",
    )
    @purpose("Networks lose messages; a quorum does not need every answer.")
    def lose(self, s: StorageState, request: Number, replica: Replica) -> Next:
        """A request's message to a replica is lost. Its answer is no longer awaited."""
        assert s.lost is not UNSET
        if s.lost >= self.losses:
            return refused("the run's budget of lost messages is used up")
        sent = s.requests[request]
        left = replace(sent, in_flight=sent.in_flight & ~(1 << replica))
        return self.with_request(s.but(lost=s.lost + 1), request, left)

    # -- cleaning and collection ------------------------------------------------------------------

    def _left_over(self, s: StorageState) -> int:
        cleaners, done = self.newest(s).cleans, s.cleaned | s.down
        if cleaners is not None:
            return cleaners & ~done
        views, everywhere = self._views[s.trail], range(self.replicas)
        return mask_of(i for i in everywhere if not (views[s.known[i]].writes | done) >> i & 1)

    @action(
        each=_left_over,
        kind="clean",
        when=lambda m: m.cleaning,
        says="{replica} cleans up: nothing of the range is left on its disk.",
    )
    @purpose("The replica no longer owns the range, and old data must not come back.")
    def cleanup(self, s: StorageState, replica: Replica) -> Next:
        """A replica that lost the range removes what is left of it on its disk.

        The cleanup must come before the replica gets the range back (``commit``), and no write may
        follow it.
        """
        conditions = self.newest(s).cleans_after
        unmet = self.unmet(s, conditions)
        if unmet is not None:
            return unmet
        known, cells = self.known_after(s, conditions), put(s.cells, replica, NOTHING)
        return s.but(known=known, cells=cells, cleaned=s.cleaned | 1 << replica)

    @action(
        each=lambda m, s: mask_of(i for i, cell in enumerate(s.cells) if rules.is_tombstone(cell)),
        kind="clean",
        when=lambda m: m.collecting,
        says="{replica} collects the tombstone: it no longer knows of the deletion.",
    )
    @purpose("A deletion is remembered as long as an older value could come back.")
    def collect_tombstones(self, s: StorageState, replica: Replica) -> Next:
        """A replica forgets a tombstone whose grace period is over.

        The tombstone outlives every message, and the repair that brings it to all replicas. The
        model assumes that the grace period is longer than the barrier that ends a session.
        """
        still_open = self.still_open(s)
        if still_open:
            return refused(SESSION_OPEN, still_open)
        if any(request.phase in AT_WORK or request.in_flight for request in s.requests):
            return refused("messages are still on their way: a tombstone must outlive them")
        if any(map(ranges.is_under_way, s.copies)):
            return refused("a copy is still on its way: a tombstone must outlive it")
        mark, owners = timestamp(s.cells[replica]), members(self.views(s)[-1].written_at)
        older = mask_of(i for i in owners if NOTHING < timestamp(s.cells[i]) < mark)
        if older:
            return refused(NOT_REPAIRED, self.history.names(older))
        return s.but(cells=put(s.cells, replica, NOTHING))

    # -- what comes next --------------------------------------------------------------------------

    def suggest(self, s: StorageState) -> Any | None:
        """Ask, then carry the operation out, then ask again: each request is answered first."""
        last = all(edge.aside for edge in self.newest(s).edges)
        best: tuple[int, Any] | None = None
        for each in self.actions(s):
            match each:
                case Commit() if self.edge(s, each).aside:
                    continue
                case Cleanup() if not self.newest(s).cleans:
                    continue  # nobody is told to: an operator may
                case Start(request) if request and not last:
                    continue
            rank = _ORDER.get(type(each), len(_ORDER))
            # Starts are listed before all else: of these the last one, by the newest epoch.
            if best is None or rank < best[0] or isinstance(each, Start):
                best = rank, each
        return best[1] if best and best[0] < len(_ORDER) else None

    def milestone(self, before: StorageState, action: Any, after: StorageState) -> str | None:
        """Each committed epoch, each answered request."""
        if isinstance(action, Commit):
            return f"{self.history.unit} {self.newest(after).epoch}"
        if isinstance(action, Finish) and after.requests[action.request].phase not in AT_WORK:
            return f"{self.title_of(action.request)} is answered"
        return None

    # -- promises ---------------------------------------------------------------------------------

    def is_sign(self, judge: str) -> bool:
        """Whether a promise breaks on the way to the harm that is to be shown."""
        return False

    def judges_streaming(self) -> bool:
        """Whether it is judged at the switch what the new group holds, not by clients alone."""
        return True

    def judges_quorums(self) -> bool:
        """Whether quorums of epochs that are in use have to meet."""
        return False

    @always("INV-QI", when=lambda m: m.judges_quorums(), sign=lambda m: m.is_sign("quorums-in-use"))
    def quorums_in_use(self, s: StorageState) -> str | None:
        """Every read quorum in use meets every write quorum in use."""
        return self._apart(s.trail, s.known, s.down)

    def _missed(self, trail: int, known: tuple[int, ...], down: int) -> str | None:
        views = self._views[trail]
        able = tuple(self._answering(views, known, index) & ~down for index in range(len(views)))
        for read, write in self._promises:
            for at, into in product(
                self.plannable(trail, known, read), self.plannable(trail, known, write)
            ):
                reads, writes = views[at].reads & able[at], views[into].writes & able[into]
                wanted = self._wanted(read, views[at], False)
                stored = self._wanted(write, views[into], True)
                for readers in range(1 << reads.bit_length()):
                    if readers & ~reads or not enough(wanted, readers):
                        continue
                    if enough(stored, writes & ~readers):
                        numbers, unit = self.trails[trail].numbers, self.history.unit
                        return (
                            f"a read at {unit} {numbers[at]} from {self.listing(readers)} misses a "
                            f"write at {unit} {numbers[into]} to {self.listing(writes & ~readers)}"
                        )
        return None

    def _answering(self, views: tuple[View, ...], known: tuple[int, ...], index: int) -> int:
        """The nodes whose answers count for a plan of an epoch (a mask).

        Whoever knows a newer epoch says so, and the plan is validated again; or it refuses what is
        below its fence.
        """
        if not self.switches.safeguards.epoch_exchange:
            return -1
        return mask_of(
            i
            for i, at in enumerate(known[: self.replicas])
            if (at <= index if self.exchanged else admits(self.history.admission, views, at, index))
        )

    def plannable(self, trail: int, known: tuple[int, ...], number: int) -> Iterator[int]:
        """The epochs by which a request may still be planned, by index."""
        least = known[self.planners[number]]
        if self.history.lag is not None:
            least = max(least, len(self._views[trail]) - 1 - self.history.lag)
        return (index for index in self._plans[trail] if index >= least)

    @step("INV-OWN", on=(serve, write_back, Coordinating.finish), when=lambda m: m.exchanged)
    def owners_store(self, before: StorageState, action: Any, after: StorageState) -> str | None:
        """Only a write replica stores a write.

        It must be a write replica at its own epoch or at a later one. Without the exchange of
        epochs, a replica admits a write by its epoch alone.
        """
        if before.cells == after.cells:
            return None
        for i, name in enumerate(self.history.replicas):
            views = self.views(before)[after.known[i] :]
            if before.cells[i] != after.cells[i] and not any(holds(v.writes, i) for v in views):
                return (
                    f"{name}, at {self.epoch_text(after, after.known[i])}, stores what "
                    f"{self.title_of(action.request)} brings but is no longer a write replica"
                )
        return None

    @step("INV-OWN", on=(serve,), when=lambda m: m.exchanged)
    def owners_serve(self, before: StorageState, action: Any, after: StorageState) -> str | None:
        """Only a read replica serves a read.

        It must be a read replica at its own epoch or at a later one.
        """
        i, number = self.code[action.replica], action.request
        served = after.requests[number].acked & ~before.requests[number].acked
        if self.mutations[number] or not holds(served, i):
            return None
        if any(holds(view.reads, i) for view in self.views(before)[after.known[i] :]):
            return None
        return (
            f"{action.replica}, at {self.epoch_text(after, after.known[i])}, serves "
            f"{self.title_of(number)} but is no longer a read replica"
        )

    @step(
        "INV-STREAM",
        on=(Moving.commit,),
        when=lambda m: m.judges_streaming(),
        sign=lambda m: m.is_sign("streamed"),
    )
    def streamed(self, before: StorageState, action: Any, after: StorageState) -> str | None:
        """At the read switch, the new group holds every acknowledged write.

        No read set of the new group can miss what a client was promised.
        """
        if not self.edge(before, action).switches:
            return None
        view = self.views(after)[-1]
        for number, ask in enumerate(self.workload):
            request = before.requests[number]
            if request.phase != DONE or not promised(ask.level, "QUORUM", True, self.factors):
                continue
            collected = deleted_since(self, before, request.timestamp)
            lacking = mask_of(
                i
                for i, cell in enumerate(_on_read_shards(view, before.cells))
                if timestamp(cell) < request.timestamp and not (collected and cell == NOTHING)
            )
            if (view.reads & lacking).bit_count() >= majority(view.reads):
                names = ", ".join(self.history.names(lacking & view.reads))
                return f"reads go to replicas without {self.title_of(number)}: {names}"
        return None

    @sometimes(name="answered")
    def some_succeed(self, s: StorageState) -> bool:
        """A request succeeds."""
        return any(request.phase == DONE for request in s.requests)

    @sometimes()
    def moved(self, s: StorageState) -> bool:
        """Reads have moved to the new replicas."""
        return self.views(s)[-1].read_at != self.history.epochs[0].view.read_at


def _on_read_shards(view: View, cells: tuple[int, ...]) -> tuple[int, ...]:
    if view.shards is None:
        return cells
    cell = next((cells[i] for i in members(view.shards.reads)), NOTHING)  # of one shard, if any
    return put(cells, view.shards.node.bit_length() - 1, cell)


Serve, Admit, WriteBack, Lose = (
    each.struct for each in (Storage.serve, Storage.admit, Storage.write_back, Storage.lose)
)
Cleanup, CollectTombstones = Storage.cleanup.struct, Storage.collect_tombstones.struct
_NEXT = (Admit, Serve, WriteBack, Finish, Start, ApplyEpoch, Land, Fetch, Cleanup, Commit, Tick)
_ORDER = {kind: rank for rank, kind in enumerate(_NEXT)}
__all__ = ["Admit", "ApplyEpoch", "Cleanup", "CollectTombstones", "Commit", "Crash", "Fetch"]
__all__ += ["Finish", "Land", "LandLate", "Lose", "Serve", "Start", "Storage", "StorageState"]
__all__ += ["Tick", "TimeOut", "WriteBack"]
