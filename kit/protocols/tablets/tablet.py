"""Requests on one tablet while its replicas change: the storage model on a table of stages.

Who reads and writes at each stage, and what each waits for, is told by
``kit.protocols.tablets.rules.tablet_history``. Source: Topology over Raft, "Tablet transitions"
(the preconditions of stages, INV-TABL-1), "Shard assignment stability" (at most one stage apart),
"Tablet replica placement vs sharding".
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from kit.errors import BadInput
from kit.masks import holds, mask_of, members
from kit.model.declared import always, entry, parameter, safeguard, step
from kit.model.model import KeptAnyhow, switched_off
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.storage import storage
from kit.protocols.storage.fenced import FIRST_VERSION, Fenced, commit_rows
from kit.protocols.storage.learning import learning_waits
from kit.protocols.storage.rules.history import RangeHistory
from kit.protocols.storage.rules.levels import ReadRepair, enough, quotas
from kit.protocols.storage.rules.requests import AT_WORK, FAILED, NOTHING, Request
from kit.protocols.storage.rules.view import ShardChoice, View
from kit.protocols.storage.storage import StorageState
from kit.protocols.tablets.hosts import written
from kit.protocols.tablets.rules import tablet_history
from kit.protocols.tablets.rules.stages import PlayedKind
from kit.protocols.tablets.rules.tablet_history import NO_TRANSITION, WITHIN_NODE, Second, stage_of
from kit.protocols.topology.rules.machines import Edition

DELETED = ("K1 write QUORUM", "K2 delete QUORUM", "K3 read QUORUM")
ONE = {"rf": 1}
SERVER = {**ONE, "edition": "server"}
REPAIRED = {"rf": 2, "kind": "repair", "collecting": True, "late": 1, "requests": DELETED}
HARMS = {
    "available": {"allow-stage", "stable-ownership"},
    "found-there": {"allow-stage", "stable-ownership"},
    "streamed": {"stream-from-leaving", "barrier-drains", "one-transition"},
    "replicas-hold": {"fencing"},
    "stage-asks": {"barrier-drains"},
}
"""The safeguards whose harm a judge shows; of others the harm is a write or a deletion that is
lost.
"""
STAYING = ("B", "C")  # the replicas that stay while A moves
MASKS = ("in_flight", "acked", "invalidated", "holders", "begun")
"""What a request holds as sets of replicas."""


class Tablet(Fenced):
    """Clients, coordinators and the replicas of one tablet, while it is in transition."""

    name, title = "tablet", "Reads and writes of one tablet, stage by stage"
    premise = (
        "No acknowledged write may be lost while a tablet moves. Clients (K) write and read. Each "
        "node holds a replica and works with one version."
    )
    about = """
    One tablet, the transitions that the coordinator plans for it, and the requests of clients.

    ``edition`` chooses the table of stages and what acknowledges a write while a replica is
    pending: in ``documents``, the level in the old set and in the new set; in ``server``, the level
    plus one more for each pending replica, counted over both sets together.

    A replica that crashes is excluded afterwards. ``excluded`` is a node that is put into
    ``ignore_nodes`` during the transition although it is alive.
    """

    transition: PlayedKind = parameter(
        "migration",
        "A moves to D or to another shard of its node; A is dead and rebuilt on D; or all replicas "
        "are repaired",
        field="kind",
    )
    edition: Edition = parameter("documents", "the edition whose stages are played")
    rf: int = parameter(
        3, "replicas of the tablet: A, B, C", title="replication factor", ge=1, le=3
    )
    version: int = FIRST_VERSION
    second: Second = parameter(
        "none",
        "again: a failed transition is retried; other: another replica moves to E",
        title="a second transition",
    )
    repaired: bool = parameter(
        False, "whether the tablet is repaired at the end", title="a repair afterwards"
    )
    row_key: str = written(
        "the key",
        "the name of the one key that requests use",
        field="key",
        min_length=1,
        max_length=20,
    )
    excluded: str = parameter(
        "",
        "a replica or coordinator that barriers stop waiting for",
        title="excluded though alive",
        max_length=20,
    )
    requests: tuple[str, ...] = storage.REQUESTS
    together: bool = storage.TOGETHER
    timeouts: bool = storage.TIMEOUTS
    repair: ReadRepair = storage.REPAIR
    crashes: int = storage.CRASHES
    losses: int = storage.LOSSES
    late: int = storage.LATE
    slow: bool = storage.SLOW
    collecting: bool = storage.COLLECTING
    cleaning = True

    fencing: bool = safeguard(
        "S-20",
        "Replicas refuse requests from versions below fence_version",
        ("INV-FENCE", "INV-TABL-1", "INV-VISIBLE"),
        smallest={**SERVER, "timeouts": True},
        wider={"INV-VISIBLE": {"timeouts": False, "excluded": "K1"}},
    )
    barrier_drains: bool = safeguard(
        "S-21",
        "A barrier waits until all requests from older versions have ended",
        ("INV-STAGE", "INV-STREAM", "INV-VISIBLE"),
        # From node to node the fence alone is enough: what it bars no replica takes.
        smallest={**ONE, "kind": WITHIN_NODE, "slow": True},
    )
    allow_stage: bool = safeguard(
        "S-22",
        "New replicas know that they are replicas before any node writes to them",
        ("INV-STAGE", "INV-AVAIL"),
        smallest=ONE,
    )
    level_in_both_sets: bool = safeguard(
        "S-23",
        "A write is acknowledged in both the old and the new set",
        ("INV-STAGE", "INV-VISIBLE"),
        smallest=ONE,
    )
    sessions: bool = safeguard(
        "S-24",
        "Streaming works only while its session is open",
        ("INV-SESSION", "INV-TABL-2", "INV-NORES"),
        # A migration that is tried again shows the same in 46 steps.
        smallest=REPAIRED,
    )
    one_transition: bool = safeguard(
        "S-25",
        "A tablet has one transition at a time",
        ("INV-STREAM", "INV-VISIBLE"),
        smallest={**SERVER, "second": "other", "requests": storage.USUAL_REQUESTS[:1]},
        wider={"INV-VISIBLE": {"requests": storage.USUAL_REQUESTS}},
    )
    stable_ownership: bool = safeguard(
        "S-46",
        "Old and new replicas serve reads throughout the transition",
        ("INV-AVAIL",),
        smallest=ONE,
        kept=(
            KeptAnyhow(
                "INV-ONESTAGE",
                {"rf": 1},
                3236,
                "a node that does not own a shard answers with an error",
            ),
        ),
    )
    stream_from_leaving: bool = safeguard(
        "S-57",
        "Data comes from the replica that is replaced",
        ("INV-STREAM", "INV-VISIBLE"),
        # What one write can show; that a client misses it needs a read.
        smallest={"edition": "server", "losses": 1, "requests": storage.USUAL_REQUESTS[:1]},
        wider={"INV-VISIBLE": {"requests": storage.USUAL_REQUESTS}},
    )
    fallback_stage: bool = safeguard(
        "S-61", "On the way back, reads return first, then writes", ("INV-ONESTAGE", "INV-VISIBLE"),
        smallest={**SERVER, "excluded": "D"},
        kept=(
            KeptAnyhow(
                "INV-STAGE",
                {"rf": 1, "edition": "server", "excluded": "D"},
                28_400,
                "the stages' conditions are checked only on the way forward",
            ),
        ),
    )  # fmt: skip

    def placement_history(self) -> RangeHistory:
        """The stages of the planned transitions. BadInput when a dead replica is to be rebuilt and
        no other holds the data, or who is to be excluded takes no part.
        """
        self.plans = tablet_history.plans(self.transition, self.rf, self.second, self.repaired)
        self.first_replicas = replicas = tablet_history.first_replicas(self.rf)
        asking = [ask.coordinator for ask in self.workload]
        own = mask_of(number for number, name in enumerate(asking) if name == self.excluded)
        dead = (replicas[0].host,) if self.transition.startswith("rebuild") else ()
        safeguards = switched_off(tablet_history.TabletSafeguards, self.off)
        options = tablet_history.TabletOptions(
            self.edition, self.version, dead, self.excluded, own, safeguards
        )
        made = tablet_history.history(replicas, self.plans, options)
        if self.excluded:
            known = dict.fromkeys((*(n.partition(":")[0] for n in made.replicas), *asking))
            if self.excluded not in known:
                allowed = f"a replica or coordinator: {', '.join(known)}"
                raise BadInput("excluded", self.excluded, allowed)
        return made

    def set_up(self) -> None:
        """Which states go on alike, and which actions may wait."""
        super().set_up()
        if self.stay_alike():
            self.symmetry = StayingReplicas(*map(self.code.__getitem__, STAYING))
        elif self.crashes:
            self.symmetry = dead_forgotten
        if self.history.sharded is None:  # shards learn with their node
            self.partial_order = learning_waits(self)

    def is_sign(self, judge: str) -> bool:
        """Where a safeguard is off, whether a judge tells of something on the way to its harm."""
        return not {*self.off} <= HARMS.get(judge, set())

    # -- promises ---------------------------------------------------------------------------------

    @step(
        "INV-AVAIL",
        on=(Fenced.admit, Fenced.serve, Fenced.write_back),
        sign=lambda m: m.is_sign("found-there"),
    )
    def found_there(self, before: StorageState, action: Any, after: StorageState) -> str | None:
        """Every node that is asked has a replica of the tablet."""
        if action.replica == self.excluded or (
            self.answer(before, action).verdict != "not-a-member"
        ):
            return None
        i, request = self.code[action.replica], before.requests[action.request]
        return (
            f"{action.replica}, at {self.epoch_text(before, before.known[i])}, has no replica of "
            f"the tablet for {self.title_of(action.request)}, planned at "
            f"{self.epoch_text(before, request.epoch)}"
        )

    @step("INV-STAGE", on=(Fenced.commit,), sign=lambda m: m.is_sign("stage-asks"))
    def stage_asks(self, before: StorageState, action: Any, after: StorageState) -> str | None:
        """A stage is committed only when its condition holds.

        What ``write_both_read_new`` asks for is the promise of streaming (``INV-STREAM``).
        """
        reached = self.newest(after)
        stage = stage_of(reached)
        if reached.quiet or stage == stage_of(self.newest(before)) or stage not in _ASKS:
            return None
        lacking = _ASKS[stage](self, before, after)
        return f"{stage} is committed, but {lacking}" if lacking else None

    @step(
        "INV-ONESTAGE",
        on=(Fenced.admit, Fenced.serve, Fenced.write_back),
        sign=lambda m: m.is_sign("one-stage-apart"),
    )
    def one_stage_apart(self, before: StorageState, action: Any, after: StorageState) -> str | None:
        """Coordinator and replica are at most one stage apart; equal selectors count as one.

        Not every stage has a barrier, and where reads and writes are for the same replicas two
        nodes may be further apart; requests cannot tell such stages apart.
        """
        number, i = action.request, self.code[action.replica]
        outside = self.excluded in (action.replica, self.workload[number].coordinator)
        if outside or self.answer(before, action).verdict != "ok":
            return None
        views, planned, known = self.views(before), before.requests[number].epoch, before.known[i]
        ours, theirs = views[planned], views[known]
        if ours.read_at == theirs.read_at or ours.written_at == theirs.written_at:
            return None
        return (
            f"{action.replica}, at {self.epoch_text(before, known)}, serves "
            f"{self.title_of(number)}, planned at {self.epoch_text(before, planned)}: they are "
            "more than one stage apart"
        )

    @step("INV-TABL-2", on=(Fenced.land_late,), sign=lambda m: m.is_sign("over-is-over"))
    def over_is_over(self, before: StorageState, action: Any, after: StorageState) -> str | None:
        """Nothing that a transition began takes effect once the transition is over."""
        if before.cells == after.cells or stage_of(self.newest(before)) != NO_TRANSITION:
            return None
        return f"a copy from a finished transition changes what {action.target} holds"

    @always("INV-TABL-1", sign=lambda m: m.is_sign("replicas-hold"))
    def replicas_hold(self, s: StorageState) -> str | None:
        """Outside a transition, only replicas hold data."""
        view = self.views(s)[-1]
        kept = view.writes | view.written_at
        if view.stores != kept:
            return None
        outside = ", ".join(
            name
            for i, name in enumerate(self.history.replicas)
            if s.cells[i] != NOTHING and not holds(kept | s.down, i) and name != self.excluded
        )
        return f"{outside} holds data of a tablet that it has no replica of" if outside else None

    # -- what a stage asks for --------------------------------------------------------------------

    def unready(self, before: StorageState, after: StorageState) -> str | None:
        """All old and new replicas see the transition, and so have a replica to write to."""
        involved = (self.newest(after).view.stores or 0) & ~before.down
        for i, name in enumerate(self.history.replicas):
            known = self.views(before)[before.known[i]]
            if holds(involved, i) and name != self.excluded and not known.holds_it(i, write=True):
                return f"{name} has no replica of the tablet yet"
        return None

    def writes_old_set(self, before: StorageState, after: StorageState) -> str | None:
        """Every write of a successful request reaches its level in both sets."""
        wanted = self.newest(after).view
        for number, _ in self._under_way(before):
            if not self.writing(before, number) or before.requests[number].phase == FAILED:
                continue
            planned, title = before.requests[number].epoch, self.title_of(number)
            if (group := self.views(before)[planned].writes) != wanted.writes:
                return f"{title} goes only to {', '.join(self.history.names(group))}"
            shards = self.shards_at_work(before, number)
            if shards and wanted.written_at & ~shards & self.all_shards:
                return f"{title} runs only on {', '.join(self.history.names(shards))}"
        name, own = self._own_choice(before)
        if own is not None and wanted.written_at & ~own.writes & self.all_shards:
            return f"{name} writes only to {', '.join(self.history.names(own.writes))}"
        return self._short_of_a_set(wanted)

    def _short_of_a_set(self, view: View) -> str | None:
        for number, ask in enumerate(self.workload):
            if not self.mutations[number]:
                continue
            home, wanted = self.home(number), self._wanted(number, view, True)
            for group in (view.old_replicas, view.new_replicas):
                level = quotas(ask.level, group, self.dcs, home)
                for acked in range(1 << view.writes.bit_length()):
                    if acked & ~view.writes or not enough(wanted, acked) or enough(level, acked):
                        continue
                    said = f"{self.listing(acked)} is enough for {self.title_of(number)}"
                    return f"{said}, but does not reach {ask.level} in {self.listing(group)}"
        return None

    def reads_old_set(self, before: StorageState, after: StorageState) -> str | None:
        """Reads that start from now on use the new set."""
        views, reads = self.views(before), self.newest(after).view.read_at
        for number, _ in self._under_way(before):
            request = before.requests[number]
            if not self.mutations[number] and views[request.epoch].read_at != reads:
                return f"{self.title_of(number)} reads the old set"
        for name, known in zip(self.coordinators, after.known[self.replicas :], strict=True):
            if name != self.excluded and views[known].read_at != reads:
                return f"{name} may still read the old set"
        node, own = self._own_choice(before)
        if own is not None and reads & self.all_shards & ~own.reads:
            return f"{node} still reads {', '.join(self.history.names(own.reads))}"
        return None

    def reaches_others(self, before: StorageState, after: StorageState) -> str | None:
        """No write can reach a replica outside the new set."""
        view = self.newest(after).view
        newest = len(self.views(after)) - 1
        fence = 0 if view.fence is None or not self.fencing else newest - view.fence
        for number, reached in self._under_way(before):
            given_up = before.requests[number].phase == FAILED
            let_in = self._let_in(before, number, fence) if given_up else -1
            outside = reached & let_in & ~view.writes
            outside |= self.shards_at_work(before, number) & ~view.written_at
            if self.writing(before, number) and outside:
                names = ", ".join(self.history.names(outside))
                return f"{self.title_of(number)} is on its way to {names}"
        return None

    def _under_way(self, s: StorageState) -> Iterator[tuple[int, int]]:
        out = s.down | mask_of(
            i for i, name in enumerate(self.history.replicas) if name == self.excluded
        )
        for number, request in enumerate(s.requests):
            if self.workload[number].coordinator != self.excluded:
                reached = request.in_flight & ~out
                if reached or request.phase in AT_WORK:
                    yield number, reached

    def _let_in(self, s: StorageState, number: int, fence: int) -> int:
        """The replicas (a mask) at work on what a coordinator gave up, or that no fence bars it
        from: messages of epochs below ``fence`` are refused, once all know it.
        """
        request = s.requests[number]
        if request.epoch >= fence:
            return request.in_flight
        return mask_of(i for i in members(request.in_flight) if self.begun(s, number, i))

    def _own_choice(self, s: StorageState) -> tuple[str, ShardChoice | None]:
        if self.split < 0 or holds(s.down, self.split):
            return "", None
        name = self.history.replicas[self.split]
        choice = self.views(s)[s.known[self.split]].shards
        return name, choice if name != self.excluded else None

    # -- what goes on alike -----------------------------------------------------------------------

    def stay_alike(self) -> bool:
        """Whether the two replicas that stay are interchangeable.

        While A moves to D, or to another shard of its node, of three replicas B and C play the same
        part, as long as neither coordinates a request, nothing is copied from or to them, and no
        line names one: they are in the same sets at every stage, and who dies of them is counted
        alike.
        """
        copies = (copy for epoch in self.history.epochs for copy in epoch.copies)
        ends = (self.history.replicas[end] for copy in copies for end in (copy.source, copy.target))
        named = {self.excluded, *self.coordinators, *ends}
        moves_once = self.transition in ("migration", WITHIN_NODE) and self.second != "other"
        enough = self.rf == len(STAYING) + 1 and not self.late
        return enough and moves_once and named.isdisjoint(STAYING)


Asks = Callable[[Tablet, StorageState, StorageState], str | None]
_ASKS: dict[str, Asks] = {
    "write_both_read_old": Tablet.unready,
    "rebuild_repair": Tablet.writes_old_set,
    "streaming": Tablet.writes_old_set,
    "use_new": Tablet.reads_old_set,
    "cleanup": Tablet.reaches_others,
}
"""What the documents ask for as a stage is committed."""


def dead_forgotten(s: StorageState) -> tuple[StorageState, bool]:
    """The state in which no dead replica knows or has cleaned anything; no names are exchanged.

    What a replica knew when it crashed nobody asks: barriers pass it over, and it serves nothing.
    What is on its way to it matters: a request that nobody refused must be answered while a quorum
    lives.
    """
    if not s.down:
        return s, False
    known = (0 if s.down >> i & 1 else index for i, index in enumerate(s.known))
    return replace(s, known=tuple(known), cleaned=s.cleaned & ~s.down), False


class StayingReplicas(Struct, frozen=True):
    """The state that stands for those that differ in the names of two replicas only."""

    first: int
    second: int

    def __call__(self, s: StorageState) -> tuple[StorageState, bool]:
        """That state, and whether the names are exchanged in it."""
        s, _ = dead_forgotten(s)
        if _part(s, self.first) <= _part(s, self.second):
            return s, False
        changed = {
            "known": self._places(s.known),
            "cells": self._places(s.cells),
            "requests": tuple(map(self._request, s.requests)),
            "down": self._mask(s.down),
            "cleaned": self._mask(s.cleaned),
        }
        return replace(s, **changed), True

    def _request(self, request: Request) -> Request:
        return replace(request, **{name: self._mask(mask) for name, mask in _masks(request)})

    def _places(self, cells: tuple[int, ...]) -> tuple[int, ...]:
        both = list(cells)
        both[self.first], both[self.second] = both[self.second], both[self.first]
        return tuple(both)

    def _mask(self, mask: int) -> int:
        differ = (mask >> self.first ^ mask >> self.second) & 1
        return mask ^ (differ << self.first | differ << self.second)


def _masks(request: Request) -> list[tuple[str, int]]:
    masks = ((name, getattr(request, name)) for name in MASKS)
    return [(name, mask) for name, mask in masks if mask is not UNSET]


def _part(s: StorageState, place: int) -> tuple[int, ...]:
    bits = [s.down, s.cleaned, *(mask for r in s.requests for _, mask in _masks(r))]
    return (s.known[place], s.cells[place], *(mask >> place & 1 for mask in bits))


ENTRY = entry(
    Tablet,
    scenarios=(
        Scenario("tablet-moves", "A write before a tablet moves, a read after it"),
        Scenario(
            "small-tablet-moves",
            "The same story with one replica. It is small enough to search quickly",
            {"rf": 1},
        ),
        Scenario(
            "requests-within-a-node",
            "A move within a node. Only the node knows which shards serve reads and writes",
            {"kind": WITHIN_NODE, "rf": 2, "slow": True},
        ),
        Scenario(
            "tablet-rebuilt", "A dead replica is rebuilt on another node", {"kind": "rebuild_v2"}
        ),
        Scenario("tablet-repaired", "All replicas are made identical", {"kind": "repair"}),
        Scenario(
            "tablet-move-fails",
            (
                "A move is undone. The target is excluded after the read switch: the "
                "published server switches reads back first"
            ),
            {"edition": "server", "excluded": "D"},
        ),
    ),
    fuzzing=Fuzzing(
        parameters={"edition": "server", "rf": 2, "losses": 1, "late": 1},
        weights={"commit": 0.3, "request": 0.2},
    ),
    rows=partial(commit_rows, where=stage_of),
)
