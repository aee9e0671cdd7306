"""When it matters who knows an epoch: what a node learns may wait until something looks at it.

A replica's knowledge is looked at as it gets a message or a late copy, as it crashes (it learns
nothing more), as a tombstone is collected, and by the conditions of commits, copies and cleanups; a
coordinator's by those of commits, and as its request ends. Of a condition, no more than what it
asks for need be known: whatever is learned beyond may as well be learned afterwards.
"""

from collections.abc import Iterator
from itertools import chain, product
from typing import Any

from kit.masks import holds
from kit.model.model import PartialOrder
from kit.protocols.storage import storage
from kit.protocols.storage.rules.conditions import AllKnow, Condition, MajorityKnows
from kit.protocols.storage.rules.requests import AT_WORK

Lead = tuple[storage.ApplyEpoch, ...]


def learning_waits(model: storage.Storage) -> PartialOrder:
    """The partial order of a model whose messages carry no epochs."""
    return PartialOrder((storage.ApplyEpoch,), _Leads(model))


class _Leads:
    """The news that a node learns right before an action."""

    def __init__(self, model: storage.Storage) -> None:
        self.model = model
        names = [each.coordinator for each in model.workload]
        repairs = model.repair != "none"
        self.ends = tuple(
            repairs or name in names[number + 1 :] for number, name in enumerate(names)
        )

    def __call__(self, s: storage.StorageState, action: Any) -> Iterator[Lead]:
        match action:
            case storage.Admit() | storage.Serve() | storage.WriteBack() | storage.Crash():
                return self._replica(s, action.replica)
            case storage.LandLate():
                return self._replica(s, action.target)
            case storage.CollectTombstones():
                return self._permits(s)
            case storage.Finish() | storage.TimeOut() if self.ends[action.request]:
                request = s.requests[action.request]
                name = self.model.workload[action.request].coordinator
                return self._up_to_now(s, name, request.coordinator_epoch)
            case storage.Commit():
                return self._needed(s, self.model.edge(s, action).conditions)
            case storage.Fetch():
                return self._needed(s, self.model.copy(s, action).conditions)
            case storage.Cleanup():
                return self._needed(s, self.model.newest(s).cleans_after)
        return iter(((),))

    def _replica(self, s: storage.StorageState, name: str) -> Iterator[Lead]:
        return self._up_to_now(s, name, s.known[self.model.code[name]])

    def _permits(self, s: storage.StorageState) -> Iterator[Lead]:
        copies = self.model.late_copies(s)
        targets = dict.fromkeys(each.target for each in copies if not holds(s.down, each.target))
        each = (self._replica(s, self.model.everybody[i]) for i in targets)
        return (tuple(chain.from_iterable(leads)) for leads in product(*each))

    def _up_to_now(self, s: storage.StorageState, node: str, known: int) -> Iterator[Lead]:
        newest = len(self.model.views(s)) - 1
        return ((storage.ApplyEpoch(node),) * number for number in range(newest - known + 1))

    def _needed(self, s: storage.StorageState, conditions: tuple[Condition, ...]) -> Iterator[Lead]:
        newest = len(self.model.views(s)) - 1
        lead: dict[str, int] = {}
        for condition in conditions:
            if isinstance(condition, AllKnow | MajorityKnows):
                least = newest - condition.age
                for name, known in self._lacking(s, condition, newest):
                    lead[name] = max(lead.get(name, 0), least - known)
        yield tuple(storage.ApplyEpoch(name) for name, times in lead.items() for _ in range(times))

    def _lacking(
        self, s: storage.StorageState, condition: AllKnow | MajorityKnows, newest: int
    ) -> Iterator[tuple[str, int]]:
        for i in condition.missing(s, newest):
            if not holds(s.down, i):
                yield self.model.everybody[i], s.known[i]
        if isinstance(condition, AllKnow):
            for number, request in enumerate(s.requests):
                if request.phase in AT_WORK and not holds(condition.ignored, number):
                    yield self.model.workload[number].coordinator, request.coordinator_epoch
