"""One moment of Paxos as rows: acceptors, proposers, epochs; and what scenario files show."""

from msgspec import Struct

from kit.model.machines import MachineState
from kit.protocols.paxos.messages import Round
from kit.protocols.paxos.paxos import Paxos
from kit.protocols.paxos.rules import Accepted, Slot, chosen_value, to_propose

FREE, OPEN, MAJORITY, KNOWN = "free", "accepted by some", "chosen, not known yet", "chosen"


class AcceptorRow(Struct, frozen=True):
    """A node as an acceptor: promise and value of the epoch above its log, as it has them in
    memory, and as its disk has them; the log, whether it votes, is up, has something to write.
    """

    name: str
    promised: str
    accepted: str
    disk: str
    log: tuple[str, ...]
    votes: bool
    up: bool
    unsaved: bool


class ProposerRow(Struct, frozen=True):
    """A round: whose, for which epoch, its ballot; who promised and accepted.

    ``value`` is what it proposes, or what it has to propose as far as it has heard. It needs
    a majority of each of the ``groups`` of members, of which there are two while these change, or
    as many as are ``enough`` without that safeguard.
    """

    name: str
    epoch: int
    ballot: str
    promises: tuple[str, ...]
    value: str
    accepts: tuple[str, ...]
    why: str
    groups: tuple[tuple[str, ...], ...]
    enough: int | None
    proposed: bool


class EpochRow(Struct, frozen=True):
    """An epoch: its value, as far as there is one; who has it on disk, who knows it is chosen."""

    epoch: int
    value: str
    state: str
    stored: tuple[str, ...]
    known: tuple[str, ...]


def slot_words(promised: str, accepted: str) -> str:
    """``promise 1B, x 1A``."""
    return ", ".join(filter(None, (f"promise {promised}" if promised else "", accepted)))


def _slot(m: Paxos, slot: Slot[str]) -> tuple[str, str]:
    mark = slot.accepted
    return (
        m.ballot_name(slot.promised) if slot.promised else "",
        f"{mark.entry} {m.ballot_name(mark.ballot)}" if mark else "",
    )


def acceptors(m: Paxos, s: MachineState) -> tuple[AcceptorRow, ...]:
    """A row for each node."""
    rows = []
    for place, (name, node) in enumerate(zip(m.names, s.nodes, strict=True)):
        epoch, disk = len(node.log) + 1, m.on_disk(s, place)
        votes = bool(m.voters(node.phase) >> place & 1)
        kept = slot_words(*_slot(m, disk.slot(epoch)))
        mine, up = _slot(m, node.slot(epoch)), not s.down >> place & 1
        unsaved = disk != m.disk(node)
        rows.append(AcceptorRow(name, *mine, kept, node.log, votes, up, unsaved))
    return tuple(rows)


def why(mine: Round) -> str:
    """Why a proposer proposes what it does."""
    if mine.newest is None:
        return "its own" if mine.entry and not mine.repairs else "decided" if mine.entry else ""
    return "accepted before"


def proposers(m: Paxos, s: MachineState) -> tuple[ProposerRow, ...]:
    """A row for each round that is open."""
    rows = []
    for place, (name, node) in enumerate(zip(m.names, s.nodes, strict=True)):
        mine = node.round
        if mine.epoch:  # who is down has none
            own = None if mine.repairs else m.wanted(place, node)
            named = to_propose(mine.newest, own) or ""
            groups = m.electorates[node.phase] if m.majority else (m.voters(node.phase),)
            promises, accepts = m.named(mine.promises), m.named(mine.accepts)
            said = name, mine.epoch, m.ballot_name(mine.ballot), promises, mine.entry or named
            enough = None if m.majority else 1
            needed = tuple(map(m.named, groups)), enough, bool(mine.entry)
            rows.append(ProposerRow(*said, accepts, why(mine), *needed))
    return tuple(rows)


def epochs(m: Paxos, s: MachineState) -> tuple[EpochRow, ...]:
    """A row for each epoch that may be taken."""
    rows, electorate = [], m.electorates[s.nodes[0].phase][-1]
    log = m.history(s)
    for epoch in range(1, max(m.epochs, len(log)) + 1):
        disks = {place: m.on_disk(s, place) for place in range(len(m.names))}
        marks: dict[int, Accepted[str] | None] = {
            place: disk.slot(epoch).accepted for place, disk in disks.items()
        }
        value = log[epoch - 1] if epoch <= len(log) else chosen_value(marks, electorate)
        state = KNOWN if epoch <= len(log) else MAJORITY if value else OPEN
        some = dict.fromkeys(mark.entry for mark in marks.values() if mark)
        said = value or " or ".join(some)
        having = sum(
            1 << place
            for place, disk in disks.items()
            if (disk.holds(epoch, value) if value else marks[place])
        )
        known = sum(1 << place for place, node in enumerate(s.nodes) if node.known(epoch))
        rows.append(EpochRow(epoch, said, state if said else FREE, m.named(having), m.named(known)))
    return tuple(rows)


# -- what scenario files show ----------------------------------------------------------------------


def acceptor_line(row: AcceptorRow) -> str:
    """``B: promise 1B, x 1A; log x``."""
    above = f" for epoch {len(row.log) + 1}" if row.log else ""
    words = slot_words(row.promised, row.accepted) or f"nothing promised{above}"
    disk = f"; on disk: {row.disk or 'nothing'}" if row.unsaved else ""
    return f"{row.name}: {words}{disk}; log {', '.join(row.log) or 'empty'}"


def epoch_line(row: EpochRow) -> str:
    """``epoch 1: x, chosen; stored by A, B; known to A``."""
    if row.state == FREE:
        return f"epoch {row.epoch}: free"
    stored = f"; stored by {', '.join(row.stored)}" if row.stored else ""
    known = f"; known to {', '.join(row.known)}" if row.known else ""
    return f"epoch {row.epoch}: {row.value}, {row.state}{stored}{known}"


OUTPUT = {
    "acceptors": lambda m, s, _: "\n".join(map(acceptor_line, acceptors(m, s))),
    "epochs": lambda m, s, _: "\n".join(map(epoch_line, epochs(m, s))),
}
