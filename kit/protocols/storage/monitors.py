"""What clients are promised of reads and writes while replicas change, whatever moves them.

What an earlier request was promised is remembered by a monitor. Levels promise something only where
every set of answers enough for the write meets every set enough for the read; other pairs (ONE and
ONE, say) are not judged. Source: CEP-21, "Consistency Guarantees", "Read/Write Path Integration".
"""

from functools import lru_cache, partial
from typing import Any

from msgspec import Struct

from kit.masks import holds, mask_of
from kit.model.model import Monitor
from kit.protocols.storage.coordinating import Coordinating, Finish, Start
from kit.protocols.storage.ranges import StorageState
from kit.protocols.storage.rules.requests import AT_WORK, DONE, NOTHING, timestamp, value

NEVER = 1 << 30


class RegisterOperation(Struct, frozen=True):
    """One request as its client saw it.

    ``began`` and ``ended`` are places in the history (``NEVER``: no answer that says success).
    ``writes`` says that it is a mutation; ``outcome`` is the number that it leaves, or that a read
    returned. A deletion leaves 0.
    """

    began: int
    ended: int
    writes: bool
    outcome: int


@lru_cache(1 << 14)
def linearizable(operations: tuple[RegisterOperation, ...], value: int = 0) -> bool:
    """Whether one order of all that promise something exists; ``value`` is held before."""
    must = [operation for operation in operations if operation.ended != NEVER]
    if not must:
        return True
    first_end = min(operation.ended for operation in must)
    for i, operation in enumerate(operations):
        if operation.began > first_end:
            continue  # something had ended before this one began
        rest = (*operations[:i], *operations[i + 1 :])
        fits = operation.writes or operation.outcome == value
        if fits and linearizable(rest, operation.outcome):
            return True
    return False


Memory = tuple[tuple[int, ...], str]
Events = tuple[tuple[bool, int, int], ...]
History = tuple[Events, str]


def monitors(model: Coordinating) -> tuple[Monitor, ...]:
    """The promises of every later read; with clients side by side, one order for all of them.

    The one order is kept where no read goes back in time, which ``blocking`` read repair alone
    ensures: with any other kind a read may see a write that is not acknowledged, and a later one
    miss it. What was acknowledged is seen with every kind, and with none.
    """
    promises, order = _Promises(model), _Order(model)
    visible = "Every acknowledged write is seen by every later read"
    watching: list[tuple[str, str, str, Any, Any]] = [
        ("visible", visible, "INV-VISIBLE", promises.begin, partial(promises.step, False))
    ]
    if any(ask.kind == "delete" for ask in model.workload):
        title, step = "Deleted data does not come back", partial(promises.step, True)
        watching.append(("no-resurrection", title, "INV-NORES", promises.begin, step))
    if model.together:
        title = "All requests fit into a single order that every client could have seen"
        watching.append(("linearizable", title, "INV-VISIBLE", lambda: ((), ""), order.step))
    return tuple(
        Monitor(
            name,
            title,
            begin,
            step,
            lambda memory: memory[1] or None,
            rename=lambda memory, _: memory,  # it is of requests, whatever replicas are called
            invariant=invariant,
            on=(Start, Finish),
        )
        for name, title, invariant, begin, step in watching
    )


def deleted_since(model: Coordinating, s: StorageState, mark: int) -> bool:
    """Whether nothing may be what is left of a mutation: it deletes, or is deleted later."""
    return any(
        ask.kind == "delete" and request.timestamp >= mark
        for ask, request in zip(model.workload, s.requests, strict=True)
    )


class _Promises:
    """Which mutations were acknowledged before each open read began."""

    def __init__(self, model: Coordinating) -> None:
        self.model = model
        self.kept = tuple(
            tuple(model.promises(write, read) for write in range(len(model.workload)))
            for read in range(len(model.workload))
        )

    def begin(self) -> Memory:
        return (0,) * len(self.model.workload), ""

    def step(
        self, deleted: bool, memory: Memory, before: StorageState, action: Any, after: StorageState
    ) -> Memory:
        """A read that starts is promised what is acknowledged by now; one that ends is judged."""
        if self.model.workload[action.request].writes:
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
            since_deleted = seen == NOTHING and deleted_since(model, before, mark)
            bad = timestamp(seen) < mark and not since_deleted
        if not bad:
            return ""
        answerers = ", ".join(model.history.names(requests[read].acked))
        judged = model.epoch_text(before, requests[read].coordinator_epoch)
        harm = "still finds what" if deleted else "misses"
        return (
            f"{model.title_of(read)}, answered by {answerers} and completed at {judged}, {harm} "
            f"{model.title_of(newest)}{' deleted' if deleted else ', which had succeeded'}"
        )


class _Order:
    """The clients' views of the requests on the one key, in time."""

    def __init__(self, model: Coordinating) -> None:
        self.model = model
        self.judged = len({ask.level for ask in model.workload} - {"QUORUM", "ALL"}) == 0

    def step(
        self, memory: History, before: StorageState, action: Any, after: StorageState
    ) -> History:
        if not self.judged:
            return memory
        number, (events, witness) = action.request, memory
        if isinstance(action, Start):
            return (*events, (True, number, 0)), witness
        request = after.requests[number]
        if request.phase != DONE:  # a read that failed promises nothing, a write may still happen
            return memory
        mutation = self.model.workload[number].writes
        events = (*events, (False, number, 0 if mutation else value(request.newest_seen)))
        if not mutation and not linearizable(self._operations(events, after)):
            title = self.model.title_of(number)
            witness = f"{title} fits into no order that explains what other requests saw"
        return events, witness

    def _operations(self, events: Events, s: StorageState) -> tuple[RegisterOperation, ...]:
        places = enumerate(events)
        ended = {number: (at, seen) for at, (starts, number, seen) in places if not starts}
        operations = []
        for at, (starts, number, _) in enumerate(events):
            end, seen = ended.get(number, (NEVER, NOTHING))
            writes = self.model.workload[number].writes
            if starts and (writes or end != NEVER):
                outcome = value(self.model.mutation(s, number)) if writes else seen
                operations.append(RegisterOperation(at, end, writes, outcome))
        return tuple(operations)
