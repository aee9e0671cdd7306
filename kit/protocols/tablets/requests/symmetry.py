"""Which states of one tablet's requests go on alike: two replicas that stay, what the dead knew.

While A moves to D, or to another shard of its node, of three replicas B and C play the same part,
as long as neither coordinates a request, nothing is copied from or to them, and no line names one:
they are in the same sets at every stage, and who dies of them is counted alike.

What a replica knew when it crashed nobody asks: barriers pass it over, and it serves nothing.
What is on its way to it matters: a request that nobody refused must be answered while a quorum
lives.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET
from msgspec.structs import replace

from kit.protocols.storage.actions import StorageState
from kit.protocols.storage.rules.history import RangeHistory
from kit.protocols.storage.rules.requests import ClientRequest, Request
from kit.protocols.tablets.requests.moves import WITHIN_NODE
from kit.protocols.tablets.requests.parameters import TabletParameters

STAYING = ("B", "C")
MASKS = ("in_flight", "acked", "invalidated", "holders", "begun")
"""What a request holds as sets of replicas."""


def are_alike(
    given: TabletParameters, workload: tuple[ClientRequest, ...], made: RangeHistory
) -> bool:
    """Whether the two replicas that stay are interchangeable in a history."""
    named = {given.excluded, *(each.coordinator for each in workload)}
    copies = (copy for epoch in made.epochs for copy in epoch.copies)
    copied = {made.replicas[end] for copy in copies for end in (copy.source, copy.target)}
    moves = given.kind in ("migration", WITHIN_NODE)
    moved_once = moves and given.second != "other" and not given.late
    stays = (named | copied).isdisjoint(STAYING)
    return given.rf == len(STAYING) + 1 and moved_once and stays


Symmetry = Callable[[StorageState], tuple[StorageState, bool]]


def symmetry_of(
    given: TabletParameters, workload: tuple[ClientRequest, ...], made: RangeHistory
) -> Symmetry | None:
    """What joins states of this history; None where nothing does."""
    if are_alike(given, workload, made):
        return StayingReplicas(*map(made.replicas.index, STAYING))
    return dead_forgotten if given.crashes else None


def dead_forgotten(s: StorageState) -> tuple[StorageState, bool]:
    """The state in which no dead replica knows or has cleaned anything; no names are exchanged."""
    if not s.down:
        return s, False
    known = (0 if s.down >> i & 1 else index for i, index in enumerate(s.known))
    return replace(s, known=tuple(known), cleaned=s.cleaned & ~s.down), False


class StayingReplicas:
    """The state that stands for those that differ in the names of two replicas only."""

    def __init__(self, first: int, second: int) -> None:
        """The places of the two replicas."""
        self.first, self.second = first, second

    def __call__(self, s: StorageState) -> tuple[StorageState, bool]:
        """That state, and whether the names are exchanged in it."""
        s, _ = dead_forgotten(s)
        if _part(s, self.first) <= _part(s, self.second):
            return s, False
        return self._exchanged(s), True

    def _exchanged(self, s: StorageState) -> StorageState:
        return replace(
            s,
            known=self._places(s.known),
            cells=self._places(s.cells),
            requests=tuple(map(self._request, s.requests)),
            down=self._mask(s.down),
            cleaned=self._mask(s.cleaned),
        )

    def _request(self, request: Request) -> Request:
        masks = {name: getattr(request, name) for name in MASKS}
        return replace(
            request, **{name: self._mask(m) for name, m in masks.items() if m is not UNSET}
        )

    def _places(self, cells: tuple[int, ...]) -> tuple[int, ...]:
        both = list(cells)
        both[self.first], both[self.second] = both[self.second], both[self.first]
        return tuple(both)

    def _mask(self, mask: int) -> int:
        differ = (mask >> self.first ^ mask >> self.second) & 1
        return mask ^ (differ << self.first | differ << self.second)


def _part(s: StorageState, place: int) -> tuple[int, ...]:
    """What a replica is and has in a state."""
    bits = [s.down, s.cleaned]
    for request in s.requests:
        masks = (getattr(request, name) for name in MASKS)
        bits += [mask for mask in masks if mask is not UNSET]
    return (s.known[place], s.cells[place], *(mask >> place & 1 for mask in bits))
