"""What happened in a step, as data: who sent what to whom, and which epoch went with it.

What travels follows from it (``legs``), and space-time diagrams are drawn of it, a step after the
other. Epochs are absolute, ``None`` where messages carry none.
"""

from collections.abc import Iterator

from msgspec import Struct

from kit.model.declared import Travel
from kit.model.flows import FlowKind
from kit.protocols.storage.rules.exchange import Verdict


class QuotaRow(Struct, frozen=True):
    """``needed`` answers from ``replicas``; ``counted`` are those that were given and count."""

    replicas: tuple[str, ...]
    needed: int
    counted: tuple[str, ...]

    @property
    def met(self) -> bool:
        """Whether they are enough."""
        return len(self.counted) >= self.needed

    @property
    def count(self) -> str:
        """How many have answered, which may, and how many must: ``1 of A, B, C (2 needed)``."""
        return f"{len(self.counted)} of {', '.join(self.replicas)} ({self.needed} needed)"


class Sent(Struct, frozen=True):
    """A coordinator sends a request to its replicas; the epoch that it ``carries`` goes with it.

    ``back`` is the cell that a read has found and writes back, else empty.
    """

    request: int
    title: str
    coordinator: str
    carries: int | None
    targets: tuple[str, ...]
    back: str = ""


class Delivered(Struct, frozen=True):
    """A message reaches a replica, and the answer its coordinator.

    ``epoch`` is the message's, ``had`` what the replica knew before and ``knows`` afterwards, which
    goes with the answer. ``error`` is the reason of an answer that refuses, else empty; ``did``
    says what the replica did. ``late``: the client has its answer already. ``adopted`` is the epoch
    that the coordinator catches up to because of the answer, None when it learns nothing.
    """

    request: int
    title: str
    coordinator: str
    replica: str
    epoch: int | None
    had: int
    knows: int
    error: str
    did: str
    late: bool = False
    adopted: int | None = None

    @property
    def caught_up(self) -> bool:
        """Whether the message made the replica catch up first."""
        return self.knows > self.had

    @property
    def answers(self) -> int | None:
        """The epoch that goes with the answer."""
        return None if self.epoch is None else self.knows


class Completed(Struct, frozen=True):
    """A request is answered; ``result`` is what its client is told.

    ``plan`` is the replica plan that the answer rests on: what the level needs by the epoch at
    which the coordinator judges, and the answers that count. ``back`` is the cell that a read
    writes back in the same step, ``repaired`` are the replicas that had an older one.
    """

    request: int
    title: str
    coordinator: str
    epoch: int
    ok: bool
    result: str
    plan: tuple[QuotaRow, ...] = ()
    back: str = ""
    repaired: tuple[str, ...] = ()


class EpochCommitted(Struct, frozen=True):
    """An epoch is committed; ``unit`` is what people call it."""

    epoch: int
    title: str
    unit: str = "epoch"


class Applied(Struct, frozen=True):
    """A node applies an epoch by itself."""

    node: str
    epoch: int


class Copied(Struct, frozen=True):
    """A copy is read at its source, or arrives at its target; ``cell`` is what it brings.

    ``epoch`` is the one that its source has applied by then; None where messages carry none.
    ``session`` is its permit, 0 where there are none; one that comes ``late`` may be ``refused``.
    """

    source: str
    target: str
    cell: str
    landed: bool
    epoch: int | None = None
    session: int = 0
    late: bool = False
    refused: bool = False


class DiskEvent(Struct, frozen=True):
    """Something happened on a replica: ``what`` is *fails*, *cleans up*, *collects* or *begins*."""

    replica: str
    what: str


Happened = Sent | Delivered | Completed | EpochCommitted | Applied | Copied | DiskEvent
Happenings = tuple[Happened, ...]

ERRORS: dict[Verdict, str] = {
    "ok": "",
    "not-a-member": "no replica",
    "coordinator-behind": "coordinator is behind",
    "stale": "the request is stale",
}
"""What an answer that refuses says."""


def legs(event: Happened, unit: str) -> Iterator[Travel]:
    """The flows of a step, with the keys of a run in space and time.

    A request leaves its coordinator when it is sent and is then on its way (``away:``); it arrives,
    and is answered, in the step in which the replica gets it. A card of the request stands for its
    client. A commit is told of no sender; what is lost comes nowhere; what happens on one disk
    sends nothing.
    """
    match event:
        case Sent(request, title, coordinator):
            label = f"{event.back} back" if event.back else title
            does = f"writes {label}" if event.back else f"sends {title}"
            for name in event.targets:
                text = f"{coordinator} → {name}: {does}{_at(event.carries, unit)}"
                yield Travel("request", f"n:{coordinator}", f"away:{request}:{name}", label, text)
        case Delivered():
            yield from _exchange(event, unit)
        case Completed(request, title, coordinator):
            kind: FlowKind = "answer" if event.ok else "refusal"
            for name in event.repaired:
                text = f"{coordinator} → {name}: writes {event.back} back"
                yield Travel("request", f"n:{coordinator}", f"n:{name}", f"{event.back} back", text)
            text, leg = f"{coordinator} → client: {title} {event.result}", 1 * bool(event.repaired)
            yield Travel(kind, f"n:{coordinator}", f"request:{request}", event.result, text, leg)
        case Applied(name, epoch):
            label = f"{unit} {epoch}"
            yield Travel("entry", f"log:{epoch}", f"n:{name}", label, f"log → {name}: {label}")
        case Copied(source, target):
            yield _copy(event, source, target)


def seat_of(key: str) -> str:
    """The key of who sits there in a role play, from that in a run: its last word is a name."""
    what, _, name = key.rpartition(":")
    return "seat:" + {"request": "client", "log": "log"}.get(what, name)


def _exchange(event: Delivered, unit: str) -> Iterator[Travel]:
    asks, replica = f"n:{event.coordinator}", f"n:{event.replica}"
    there = f"{event.coordinator} → {event.replica}: "
    back = f"{event.replica} → {event.coordinator}: "
    sent = f"{event.title}{_at(event.epoch, unit)}"
    yield Travel("request", asks, replica, event.title, there + sent)
    if event.caught_up:
        first, last = event.had + 1, event.knows
        label = f"{unit} {last}" if first == last else f"{unit}s {first} to {last}"
        yield Travel("entry", asks, replica, label, there + label, 1)
    if event.late:
        return
    if event.error:
        yield Travel("refusal", replica, asks, "error", f"{back}error, {event.error}", 2)
    else:
        text = f"{back}{event.did}{_at(event.answers, unit)}"
        yield Travel("answer", replica, asks, event.did, text, 2)
    if event.adopted is not None:
        label = f"{unit} {event.adopted}"
        yield Travel("entry", replica, asks, label, back + label, 3)


def _copy(event: Copied, source: str, target: str) -> Travel:
    permit = f"frozen_topology_guard of session {event.session}"
    label = f"{event.cell}, session {event.session}" if event.session else event.cell
    kind: FlowKind = "refusal" if event.refused else "data"
    does = f"{event.cell} arrives" if event.landed else f"streams {event.cell}"
    if event.late:
        does = "turned away" if event.refused else f"{does} late"
    text = f"{source} → {target}: {does}" + f", {permit}" * bool(event.session or event.late)
    end = f"n:{target}" if event.landed else f"copy:{source}:{target}"
    return Travel(kind, f"n:{source}", end, label, text)


def _at(epoch: int | None, unit: str) -> str:
    return "" if epoch is None else f", {unit} {epoch}"
