"""One moment of a metadata service as rows, its step as a finer run, what scenario files show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from kit.masks import where
from kit.model.timeline import PassedStep
from kit.protocols.cms.commit import Commit, CommitState, Handling, Member
from kit.protocols.cms.rules.log import Entry, EntryTimes
from kit.search.zoom import FinerRun


class EntryRow(Struct, frozen=True):
    """An entry of the log: three columns, who has it or a later snapshot, who holds it back."""

    epoch: int
    event: str
    id: str
    known: tuple[str, ...]
    held: tuple[str, ...]


class RequestRow(Struct, frozen=True):
    """A submission: what its submitter knows, who is at work on it, how far that is."""

    id: str
    event: str
    node: str
    state: str
    handler: str
    work: str


class StoreRow(Struct, frozen=True):
    """The disk of a node: the log, its snapshots and archive, its part in Paxos."""

    name: str
    epoch: int
    entries: tuple[str, ...]
    held: tuple[str, ...]
    snapshots: tuple[int, ...]
    archive: tuple[str, ...]
    replays: int  # the entries after its newest snapshot
    promised: tuple[str, ...]  # for epochs that it has not applied, the highest one last
    accepted: tuple[str, ...]


def _ids(entries: Iterable[Entry]) -> tuple[str, ...]:
    return tuple(f"{each.epoch} {each.id}" for each in entries)


def log(m: Commit, s: CommitState) -> tuple[EntryRow, ...]:
    """A row for each epoch that some node has applied."""
    rows = []
    for each in m.history(s):
        known = m.named(where(node.log.has(each.epoch) for node in s.nodes))
        held = m.named(where(each in node.log.held for node in s.nodes))
        rows.append(EntryRow(each.epoch, each.event, each.id, known, held))
    return tuple(rows)


def work_of(m: Commit, work: Handling) -> str:
    """How far a member is: ``1A: 2 of 3 promised``; ``1B for r1: …`` while another is first."""
    if work.answer:
        return work.answer.outcome
    if not work.ballot:
        return "validates"
    did = "accepted" if work.value else "promised"
    first = f" for {work.value.id}" if work.value and work.value.id != m.id_of(work.request) else ""
    return f"{m.ballot_name(work.ballot)}{first}: {work.heard.bit_count()} of {m.size} {did}"


def requests(m: Commit, s: CommitState) -> tuple[RequestRow, ...]:
    """A row for each submission."""
    rows = []
    works = zip(m.names, (node.handles for node in s.nodes), strict=True)
    handlers = {work.request: (name, work_of(m, work)) for name, work in works}
    for request, (given, known) in enumerate(zip(m.submissions, s.requests, strict=True)):
        state = known.outcome if known.stage in ("committed", "rejected") else known.stage
        handler, far = handlers.get(request, ("", ""))
        rows.append(RequestRow(m.id_of(request), given.event, given.node, state, handler, far))
    return tuple(rows)


def stores(m: Commit, s: CommitState) -> tuple[StoreRow, ...]:
    """A row for each node."""

    def row(name: str, node: Member) -> StoreRow:
        kept, accepted = node.log, [each.accepted for each in node.slots if each.accepted]
        snapshots = tuple(each.epoch for each in kept.snapshots)
        entries = _ids(each for each in kept.entries if each.epoch > kept.cut)
        log = kept.epoch, entries, _ids(kept.held), snapshots, _ids(kept.archive)
        replays = kept.epoch - max(snapshots, default=0)
        ballots = tuple(m.ballot_name(each.promised) for each in node.slots)
        values = tuple(f"{each.entry.id} {m.ballot_name(each.ballot)}" for each in accepted)
        return StoreRow(name, *log, replays, ballots, values)

    return tuple(map(row, m.names, s.nodes))


def entry_times(m: Commit, way: Sequence[PassedStep]) -> tuple[EntryTimes, ...]:
    """The steps in which each entry of the log was begun, committed and applied, in a run."""
    begun, committed = dict[int, int](), dict[int, int]()
    applied: list[dict[int, int]] = [{} for _ in m.names]
    for number, step in enumerate(way, 1):
        for node, known in zip(step.after.nodes, applied, strict=True):
            epoch = node.log.epoch
            if node.handles.is_open:
                begun.setdefault(epoch + 1, number)
            for each in range(1, epoch + 1):
                committed.setdefault(each, number)
                known.setdefault(each, number)
    return tuple(
        EntryTimes(epoch, begun.get(epoch, number), number, tuple(x.get(epoch) for x in applied))
        for epoch, number in committed.items()
    )


def agreed_by(m: Commit, way: Sequence[PassedStep]) -> FinerRun | None:
    """A round for each epoch so far; the last one is that of the last step, if it commits.

    What a member settles is its own value there, be it one that it only finished.
    """
    logs = [(m.history(step.before), m.history(step.after)) for step in way]
    grown = [at for at, (before, after) in enumerate(logs) if len(after) > len(before)]
    if m.backend != "paxos" or not grown or grown[-1] != len(way) - 1:
        return None
    proposers = [way[at].action.node for at in grown]
    pairs = zip(logs[-1][1], proposers, strict=True)
    members, count = m.named(m.cms), len(grown)
    return FinerRun(
        "paxos",
        {
            "members": len(members),
            "given_names": members,
            "values": tuple(f"{each.event} ({each.id}) at {node}" for each, node in pairs),
            "epochs": count,
        },
        "append",
        count,
        f"ballot {proposers[-1]}",
        f"How {', '.join(members)} agree on epoch {count}, message by message",
    )


def log_line(row: EntryRow) -> str:
    """An entry in words."""
    held = f"; held back by {', '.join(row.held)}" if row.held else ""
    return f"epoch {row.epoch}: {row.event} ({row.id}), known to {', '.join(row.known)}{held}"


REQUEST = "{0.id} {0.event} from {0.node}: {0.state}"
OUTPUT = {
    "log": lambda m, s, _: "\n".join(map(log_line, log(m, s))) or "the log is empty",
    "requests": lambda m, s, _: "\n".join(map(REQUEST.format, requests(m, s))),
}
