"""What must hold of reads and writes while replicas change: properties of steps, and monitors.

A property looks at one step; what an earlier request was promised is remembered by a monitor.
Levels promise something only where every set of answers enough for the write meets every set
enough for the read; other pairs (ONE and ONE, say) are not judged. Source: CEP-21, "Consistency
Guarantees", "Read/Write Path Integration".
"""

from __future__ import annotations

from functools import partial
from typing import Any

from kit.engine.model import Monitor, Property, sometimes, step
from kit.protocols.storage.actions import (
    Commit,
    Finish,
    Serve,
    Start,
    StorageState,
    WriteBack,
)
from kit.protocols.storage.linearizability import NEVER, RegisterOperation, linearizable
from kit.protocols.storage.model import Storage
from kit.protocols.storage.range_model import put
from kit.protocols.storage.rules.cells import NOTHING, is_tombstone, timestamp, value
from kit.protocols.storage.rules.exchange import still_counted
from kit.protocols.storage.rules.levels import enough, promised, read_quotas
from kit.protocols.storage.rules.masks import holds, mask_of, members
from kit.protocols.storage.rules.requests import AT_WORK, DONE, REPAIRING
from kit.protocols.storage.rules.view import View

Memory = tuple[tuple[int, ...], str]
History = tuple[tuple[tuple[bool, int, int], ...], str]


def properties(model: Storage, *, streaming: bool = True) -> tuple[Property, ...]:
    """The properties of steps, and what must be reachable for them to mean anything.

    Without ``streaming``, what the new group holds is not judged at the switch: a search then goes
    on until a client misses something.
    """
    exchanged = model.history.admission == "epoch-exchange"
    return (
        step(
            "consistency-level",
            "An answer of success has enough replicas of the plan that is valid now",
            partial(level_kept, model),
            "INV-CL",
            on=(Finish,),
        ),
        *(_of_members(model) * exchanged),
        *((_of_streaming(model),) * streaming),
        sometimes("answered", "A request succeeds", _answered),
        sometimes("moved", "Reads have moved", partial(_moved, model)),
    )


def _of_members(model: Storage) -> tuple[Property, ...]:
    """Where epochs are exchanged, members alone serve; other rules admit by the epoch alone."""
    return (
        step(
            "owners-store",
            "Only a write replica stores a write",
            partial(_owner_stores, model),
            "INV-OWN",
            on=(Serve, WriteBack, Finish),
        ),
        step(
            "owners-serve",
            "Only a read replica serves a read",
            partial(_owner_serves, model),
            "INV-OWN",
            on=(Serve,),
        ),
    )


def _of_streaming(model: Storage) -> Property:
    return step(
        "streamed",
        "At the read switch the new group holds every acknowledged write",
        partial(_streamed, model),
        "INV-STREAM",
        on=(Commit,),
    )


def monitors(model: Storage) -> tuple[Monitor, ...]:
    """What every later read is promised; with clients side by side, one order for all of them.

    The one order is kept where no read goes back in time, which ``blocking`` read repair alone
    ensures: with any other kind a read may see a write that is not acknowledged, and a later one
    miss it. What was acknowledged is seen with every kind, and with none.
    """
    promises = _Promises(model)
    watching = [
        promises.monitor(
            "visible",
            "Every acknowledged write is seen by every later read",
            "INV-VISIBLE",
            deleted=False,
        )
    ]
    if any(ask.kind == "delete" for ask in model.workload):
        watching.append(
            promises.monitor(
                "no-resurrection", "What was deleted does not come back", "INV-NORES", deleted=True
            )
        )
    if model.request_options.together:
        watching.append(_Order(model).monitor())
    return tuple(watching)


# -- properties of steps --------------------------------------------------------------------------


def level_kept(
    model: Storage, before: StorageState, action: Any, after: StorageState
) -> str | None:
    """A request that succeeds has enough answers of replicas of the newest plan it knows.

    A read that writes back is judged twice: as a read before, as a write when its client is told.
    """
    if not isinstance(action, Finish):
        return None
    number = action.request
    request = before.requests[number]
    now = after.requests[number].phase
    if not (now == DONE or now == REPAIRING != request.phase):
        return None
    ask = model.workload[number]
    # Where replicas do not exchange epochs, a plan holds as long as they admit it.
    exchanged = model.history.admission == "epoch-exchange"
    index = request.coordinator_epoch if exchanged else request.epoch
    valid = still_counted(model.views(before), index, request.acked, model.writing(before, number))
    if enough(model.wanted(before, number, index), valid):
        return None
    counted_now = ", ".join(model.history.names(valid)) or "nobody"
    return (
        f"{model.title_of(number)} succeeds with {', '.join(model.history.names(request.acked))}, "
        f"but {ask.coordinator} knows {model.called(before, request.coordinator_epoch)}, "
        f"at which {counted_now} is not {ask.level}"
    )


def _owner_stores(
    model: Storage, before: StorageState, action: Any, after: StorageState
) -> str | None:
    """Whoever stores a write is a write replica at its own epoch, or at a later one."""
    if not isinstance(action, Serve | WriteBack | Finish) or before.cells == after.cells:
        return None
    for i, name in enumerate(model.history.replicas):
        if before.cells[i] == after.cells[i]:
            continue
        if not any(holds(view.writes, i) for view in model.views(before)[after.known[i] :]):
            return (
                f"{name}, at {model.called(after, after.known[i])}, stores what "
                f"{model.title_of(action.request)} brings but is no write replica any more"
            )
    return None


def _owner_serves(
    model: Storage, before: StorageState, action: Any, after: StorageState
) -> str | None:
    """Whoever serves a read is a read replica at its own epoch, or at a later one."""
    if not isinstance(action, Serve) or model.workload[action.request].writes:
        return None
    i, number = model.code[action.replica], action.request
    if not holds(after.requests[number].acked & ~before.requests[number].acked, i):
        return None
    if any(holds(view.reads, i) for view in model.views(before)[after.known[i] :]):
        return None
    return (
        f"{action.replica}, at {model.called(after, after.known[i])}, serves "
        f"{model.title_of(number)} but is no read replica any more"
    )


def _streamed(model: Storage, before: StorageState, action: Any, after: StorageState) -> str | None:
    """No read set of the new group can miss what a client was promised."""
    if not isinstance(action, Commit) or not model.edge(before, action).switches:
        return None
    view = model.views(after)[-1]
    for number, ask in enumerate(model.workload):
        request = before.requests[number]
        if not ask.writes or request.phase != DONE or not _promises_quorum(model, number):
            continue
        collected = _deleted_since(model, before, request.timestamp)
        lacking = mask_of(
            i
            for i, cell in enumerate(_on_read_shards(view, before.cells))
            if timestamp(cell) < request.timestamp and not (collected and cell == NOTHING)
        )
        if enough(read_quotas("QUORUM", view, model.dcs, 0), lacking):
            names = ", ".join(model.history.names(lacking & view.reads))
            return f"reads go to replicas without {model.title_of(number)}: {names}"
    return None


def _on_read_shards(view: View, cells: tuple[int, ...]) -> tuple[int, ...]:
    """What reads find on each replica: on one with shards what is on the shard that it reads."""
    if view.shards is None:
        return cells
    shards = members(view.shards.reads)
    cell = max((cells[i] for i in shards), default=NOTHING)
    return put(cells, view.shards.node.bit_length() - 1, cell)


def _promises_quorum(model: Storage, number: int) -> bool:
    return promised(model.workload[number].level, "QUORUM", True, model.factors)


def _deleted_since(model: Storage, s: StorageState, mark: int) -> bool:
    """Whether nothing may be what is left of a mutation: it deletes, or is deleted later."""
    return any(
        ask.kind == "delete" and request.timestamp >= mark
        for ask, request in zip(model.workload, s.requests, strict=True)
    )


def _answered(s: StorageState) -> bool:
    return any(request.phase == DONE for request in s.requests)


def _moved(model: Storage, s: StorageState) -> bool:
    views = model.views(s)
    return views[-1].read_at != model.history.epochs[0].view.read_at


# -- monitors -------------------------------------------------------------------------------------


def _no_names(memory: Any, _exchanged: Any) -> Any:
    """What is remembered is of requests, whatever replicas are called."""
    return memory


class _Promises:
    """Which mutations were acknowledged before each open read began."""

    def __init__(self, model: Storage) -> None:
        self.model = model
        self.kept = tuple(
            tuple(self._kept(write, read) for write in range(len(model.workload)))
            for read in range(len(model.workload))
        )

    def _kept(self, write: int, read: int) -> bool:
        """Whether the levels of the two requests promise that the read sees the write."""
        ours, theirs = self.model.workload[write], self.model.workload[read]
        if not ours.writes or theirs.writes:
            return False
        same = self.model.home(write) == self.model.home(read)
        return promised(ours.level, theirs.level, same, self.model.factors)

    def monitor(self, name: str, title: str, invariant: str, *, deleted: bool) -> Monitor:
        """The monitor for writes, or for deletions."""
        return Monitor(
            name,
            title,
            self.begin,
            partial(self.step, deleted),
            lambda memory: memory[1] or None,
            rename=_no_names,
            invariant=invariant,
            on=(Start, Finish),
        )

    def begin(self) -> Memory:
        """Nothing is promised yet."""
        return (0,) * len(self.model.workload), ""

    def step(
        self, deleted: bool, memory: Memory, before: StorageState, action: Any, after: StorageState
    ) -> Memory:
        """A read that starts is promised what is acknowledged by now; one that ends is judged."""
        if not isinstance(action, Start | Finish) or self.model.workload[action.request].writes:
            return memory
        number, (masks, witness) = action.request, memory
        if isinstance(action, Start):
            mask = mask_of(i for i, r in enumerate(before.requests) if r.phase == DONE)
        else:
            if after.requests[number].phase in AT_WORK:
                return memory
            mask = 0
            if after.requests[number].phase == DONE:
                witness = witness or self._missed(deleted, masks[number], before, number)
        return (*masks[:number], mask, *masks[number + 1 :]), witness

    def _missed(self, deleted: bool, mask: int, before: StorageState, read: int) -> str:
        """What the read should have seen and did not, in words; empty when all is well."""
        model, requests = self.model, before.requests
        owed = [n for n in range(len(requests)) if holds(mask, n) and self.kept[read][n]]
        if not owed:
            return ""
        newest = max(owed, key=lambda n: requests[n].timestamp)
        seen, mark = requests[read].newest_seen, requests[newest].timestamp
        if (model.workload[newest].kind == "delete") != deleted:
            return ""
        if deleted:
            bad = value(seen) != NOTHING and timestamp(seen) < mark
        else:
            since_deleted = seen == NOTHING and _deleted_since(model, before, mark)
            bad = timestamp(seen) < mark and not since_deleted
        if not bad:
            return ""
        answerers = ", ".join(model.history.names(requests[read].acked))
        judged = model.called(before, requests[read].coordinator_epoch)
        harm = "still finds what" if deleted else "misses"
        return (
            f"{model.title_of(read)}, answered by {answerers} and judged at {judged}, {harm} "
            f"{model.title_of(newest)}{' deleted' if deleted else ', which had succeeded'}"
        )


class _Order:
    """What clients saw of the requests on the one key, in time."""

    def __init__(self, model: Storage) -> None:
        self.model = model
        self.judged = len({ask.level for ask in model.workload} - {"QUORUM", "ALL"}) == 0

    def monitor(self) -> Monitor:
        """The monitor for one order of all requests."""
        return Monitor(
            "linearizable",
            "All requests fit into one order that every client could have seen",
            lambda: ((), ""),
            self.step,
            lambda memory: memory[1] or None,
            rename=_no_names,
            invariant="INV-VISIBLE",
            on=(Start, Finish),
        )

    def step(
        self, memory: History, before: StorageState, action: Any, after: StorageState
    ) -> History:
        """Notes starts and ends; judges whenever a read ends."""
        if not self.judged or not isinstance(action, Start | Finish):
            return memory
        number, (events, witness) = action.request, memory
        if isinstance(action, Start):
            return (*events, (True, number, 0)), witness
        request = after.requests[number]
        if request.phase in AT_WORK:
            return memory
        if request.phase != DONE:  # a read that failed promises nothing, a write may still happen
            return events, witness
        mutation = self.model.workload[number].writes
        events = (*events, (False, number, 0 if mutation else value(request.newest_seen)))
        if not mutation and not linearizable(self._operations(events, after)):
            witness = f"{self.model.title_of(number)} fits into no order with what others saw"
        return events, witness

    def _operations(
        self, events: tuple[tuple[bool, int, int], ...], s: StorageState
    ) -> tuple[RegisterOperation, ...]:
        began = {number: at for at, (starts, number, _) in enumerate(events) if starts}
        ended = {
            number: (at, seen) for at, (starts, number, seen) in enumerate(events) if not starts
        }
        operations = []
        for number, at in began.items():
            ask = self.model.workload[number]
            end, seen = ended.get(number, (NEVER, 0))
            if ask.writes:
                cell = self.model.mutation(s, number)
                left = 0 if is_tombstone(cell) else timestamp(cell)
                operations.append(RegisterOperation(at, end, True, left))
            elif end != NEVER:
                operations.append(RegisterOperation(at, end, False, seen))
        return tuple(operations)
