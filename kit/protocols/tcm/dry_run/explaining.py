"""A cluster's metadata log as observations: has the model a run with these events in this order?

Judged are the events of operations. What else the log has moves no replica by itself; where it
changes the ring at once a question of its own begins, and so where a node comes back or moves once
more. Nobody dies in it, and everybody applies and streams all that there is before the next event:
that only ever allows more.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

from msgspec import Struct

from kit.edge.paths import Readable, source_name
from kit.edge.reading import read_text
from kit.errors import BadInput, are, counted
from kit.model.log import Apply
from kit.operators.explain import Question, Seen, Sight, Values, reason_of
from kit.operators.importers.data_placements import PlacedRange, is_placements, parse_placements
from kit.operators.importers.metadata_log import LogEntry, is_metadata, parse_metadata
from kit.operators.importers.opening import Imported, is_ring, listing_of
from kit.operators.importers.ringfile import LARGEST_FILE
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.dry_run import metadata_log as logs
from kit.protocols.tcm.dry_run.history import model_for
from kit.protocols.tcm.dry_run.time_machine import operation_of, ring_of
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.tools import SEQUENCES, kind_of
from kit.protocols.tcm.parameters import parse_operation
from kit.protocols.tcm.rules.metadata import Advance, Begin, Cancel
from kit.protocols.tcm.rules.operations import BRINGS, Edition, Operation, usual_steps
from kit.protocols.tcm.tcm import Restart, Stream
from kit.ring.replication import Keyspace, SimpleStrategy

FILES = (
    "the output of nodetool cms dumplog and, with it, that of dumpdirectory --tokens, "
    "rows of system_schema.keyspaces or rows of system_views.data_placements"
)
AT_ONCE = ("UNSAFE_JOIN", "FORCE_SNAPSHOT", "ALTER_TOPOLOGY")
"""Entries that change the ring at once."""
JUDGED = {
    *(f"{step}_{what}" for step in logs.STEPS for what in SEQUENCES),
    *("CANCEL_SEQUENCE", "ASSASSINATE"),
}
"""Entries that are events of operations."""
LEAST = (Keyspace("least", SimpleStrategy(1)),)
"""What locks the least and needs the fewest nodes: what it forbids, every keyspace does."""
LEAST_KNOWN = "no file names them; assumed: each range has one copy, which needs the fewest locks"
ONE_EVENT_CANCEL = ("two-event-cancel",)
"""What the published server lacks: it undoes an operation at once, after the read switch too."""


class Event(Struct, frozen=True):
    """An event in a log: its kind, its node; of one that begins an operation, that as well."""

    kind: str
    node: str
    operation: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.node}"


def _event(kind: str, operation: Operation) -> Event:
    begins = kind.startswith(("PREPARE_", "ASSASSINATE"))
    return Event(kind, operation.node, operation.text if begins else "")


class Stretch(Struct):
    """Epochs that one model explains: what the ring was, what was under way, what came then."""

    members: logs.Members
    flights: tuple[logs.Flight, ...]
    entries: list[tuple[LogEntry, logs.Members, logs.Flight | None]]
    """The events of operations, with who was there before, and of what begins the operation."""


class Opened(Struct, frozen=True):
    """The cluster in the files."""

    history: logs.MetadataHistory
    keyspaces: tuple[Keyspace, ...]
    placed: tuple[PlacedRange, ...]


def of_log(
    files: Sequence[Readable], edition: Edition, anonymize: bool, release: str = ""
) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """Whether the events of a log follow one another by the rules, and lines to read first.

    Raises BadInput for a file that is none of a cluster's metadata, tokens that no file tells.
    """
    if anonymize:
        allowed = "snapshots only: a metadata log stays as it is"
        raise BadInput("anonymize", "a metadata log", allowed)
    if release:
        raise BadInput("release", release, "nothing: a metadata log is none of ScyllaDB's")
    opened = _opened(files)
    for before, entry in pairwise(opened.history.entries):
        if entry.epoch != before.epoch + 1:
            allowed = f"epoch {before.epoch + 1} (no epoch can be left out)"
            raise BadInput(entry.where, entry.epoch, allowed)
    stretches = [each for each in _stretches(opened) if each.entries]
    judged = sum(len(each.entries) for each in stretches)
    entries = opened.history.entries
    steps = [entry for entry in entries if _is_judged(entry)]
    if not judged:
        allowed = "operations on a ring that the files describe: also give dumpdirectory --tokens"
        raise BadInput("log", f"{counted(len(steps), 'event')} of operations", allowed)
    kinds = Counter(entry.kind for entry in entries if not _is_judged(entry))
    others = ", ".join(f"{number} {kind}" for kind, number in kinds.items())
    known = ", ".join(f"{each.name} ({each.replication.label})" for each in opened.keyspaces)
    lines = [
        (
            f"{counted(len(entries), 'epoch')}: {counted(judged, 'event')} of operations "
            f"{are(judged)} judged"
        ),
        *([f"not judged: {others}"] if others else []),
        *_left_out(opened.history, steps, stretches),
        f"keyspaces: {known or LEAST_KNOWN}",
        (
            "assumed, because a log does not say so: no node is down, and a leaving node "
            "drives its own decommission"
        ),
        "the model counts only the events that are judged, so its epochs differ from the log's",
        *opened.history.warnings,
    ]
    questions = tuple(
        _question(opened, each, edition, at == len(stretches) - 1)
        for at, each in enumerate(stretches)
    )
    return questions, tuple(lines)


def _opened(files: Sequence[Readable]) -> Opened:
    dumped, keyspaces, placed = [], list[Keyspace](), list[PlacedRange]()
    for each in files:
        text, source = read_text(each, "metadata", LARGEST_FILE), source_name(each)
        if is_metadata(text):
            dumped.append((source, parse_metadata(text, source)))
        elif is_placements(text):
            placed += parse_placements(text, source)
        elif is_ring(text) and (known := listing_of(text, source).keyspaces):
            keyspaces += known
        else:
            raise BadInput("files", source, FILES)
    return Opened(logs.history_of(dumped), tuple(keyspaces), tuple(placed))


def _is_judged(entry: LogEntry) -> bool:
    return entry.node is not None and entry.kind in JUDGED


def _stretches(opened: Opened) -> Iterator[Stretch]:
    history = opened.history
    older = _older(history)
    # None does so while an operation is under way. Source: published ``AlterSchema``.
    changes = [
        at
        for at, (entry, _, flights) in enumerate(history.walk())
        if entry.kind == "SCHEMA_CHANGE" and "keyspace" in entry.text.casefold() and not flights
    ]
    keyspaces = changes[-1] if changes and opened.keyspaces else None
    stretch: Stretch | None = None
    before: tuple[logs.Members, tuple[logs.Flight, ...]] = ((*history.base.values(),), ())
    for at, (entry, members, flights) in enumerate(history.walk()):
        begun = history.epochs[at].operation if entry.kind.startswith("PREPARE_") else None
        judged = _is_judged(entry)
        if stretch and _again(history, stretch, begun, entry.epoch):
            yield stretch
            stretch = None
        if stretch is None:
            there = (*before[1], *(flight for since, flight in older if since >= at))
            if _is_known(before[0], there):
                stretch = Stretch(before[0], there, [])
        if stretch and judged:
            stretch.entries.append((entry, before[0], begun))
        before = members, flights
        moves = entry.kind == "STARTUP" and entry.address  # a node is called otherwise from here on
        if stretch and (entry.kind in AT_ONCE or moves or at == keyspaces):
            yield stretch
            stretch = None
    if stretch:
        yield stretch


def _older(history: logs.MetadataHistory) -> list[tuple[int, logs.Flight]]:
    heard, older = set[int | None](), []
    whole = history.entries[0].epoch == 1
    for at, entry in enumerate(history.entries):
        step, _, what = entry.kind.partition("_")
        if _is_judged(entry) and not whole and entry.node not in heard:
            assert entry.node is not None  # it is judged
            if step in logs.STEPS[1:]:
                done = usual_steps(SEQUENCES[what], "server")[: logs.STEPS.index(step)]
                flight = logs.Flight(SEQUENCES[what], entry.node, done, None, entry.replaced)
                older.append((at, flight))
            elif entry.kind == "CANCEL_SEQUENCE":  # of what nobody knows
                older.append((at, logs.Flight("bootstrap", entry.node, ("prepare",))))
        heard |= {entry.node, entry.replaced}
    return older


def _again(
    history: logs.MetadataHistory, stretch: Stretch, begun: logs.Flight | None, epoch: int
) -> bool:
    if begun is None:
        return False
    owners = {m.name: m.tokens or () for m in stretch.members if m.state in logs.OWNING}
    taken = {token for own in owners.values() for token in own}
    is_taken = not taken.isdisjoint(begun.tokens or ())
    if begun.kind in BRINGS:
        return is_taken or history.name(begun.node, epoch) in owners
    moved = {each.node for _, _, each in stretch.entries if each and each.kind == "move"}
    return begun.kind == "move" and (is_taken or begun.node in moved)


def _is_known(members: logs.Members, flights: Sequence[logs.Flight]) -> bool:
    owners = [member for member in members if member.state in logs.OWNING]
    newcomers = {flight.node for flight in flights if flight.kind in BRINGS}
    placed = [*owners, *(member for member in members if member.node in newcomers)]
    return (
        bool(owners)
        and all(member.dc for member in placed)
        and all(member.tokens for member in owners)
        and all(flight.tokens for flight in flights if flight.kind in ("bootstrap", "move"))
    )


def _left_out(
    history: logs.MetadataHistory, steps: Sequence[LogEntry], stretches: Sequence[Stretch]
) -> Iterator[str]:
    judged = {entry.epoch for each in stretches for entry, _, _ in each.entries}
    if left := [entry.epoch for entry in steps if entry.epoch not in judged]:
        what = f"{counted(len(left), 'event')} from epoch {left[0]} to {left[-1]}"
        yield f"not judged: {what}, because the files do not describe the whole ring at that point"


def _question(opened: Opened, stretch: Stretch, edition: Edition, last: bool) -> Question:
    history = opened.history
    is_new = last and opened.keyspaces
    ring = ring_of(stretch.members, 0, opened.keyspaces if is_new else LEAST)
    first = stretch.entries[0][0]
    seen, operations = list[Seen](), list[Operation]()
    for flight in stretch.flights:
        operation = operation_of(flight, stretch.members)
        operations.append(operation)
        for step in flight.steps:
            event = _event(kind_of(flight.kind, step), operation)
            where = f"{first.where}, before it {event}"
            seen.append(Seen(where, {"event": event}, step=True))
    for entry, members, begun in stretch.entries:
        event = Event(entry.kind, history.name(entry.node, entry.epoch))
        if begun is not None or entry.kind == "ASSASSINATE":
            assert entry.node is not None  # it is judged
            flight = begun or logs.Flight("assassinate", entry.node, ())
            operations.append(operation_of(flight, members))
            event = _event(entry.kind, operations[-1])
        seen.append(Seen(entry.where, {"event": event}, step=True))
    cancels = sum(entry.kind == "CANCEL_SEQUENCE" for entry, _, _ in stretch.entries)
    events = len(seen)
    rows = opened.placed if is_new else ()
    names = {each.name for each in opened.keyspaces}
    rows = tuple(each for each in rows if each.keyspace in names)
    seen += [Seen(row.where, {_row(row): _groups(history, row)}) for row in rows]
    model, senseless = _model(ring, tuple(dict.fromkeys(operations)), edition, cancels)
    reads = _reading(rows, events)
    sight = Sight(
        reads, lambda old, new: old["commits"] == new["commits"],
        steps=_steps, refuses=partial(_refuses, reads, senseless),
    )  # fmt: skip
    ways = [model]
    if cancels:
        ways.append(TcmCluster(model.parameters, ONE_EVENT_CANCEL))
    name = f"epochs {first.epoch} to {stretch.entries[-1][0].epoch}"
    return Question(name, tuple(seen), tuple((way, sight) for way in ways))


def _model(
    ring: Imported, operations: tuple[Operation, ...], edition: Edition, cancels: int
) -> tuple[TcmCluster, Mapping[str, str]]:
    kept, senseless = operations, dict[str, str]()
    while True:
        try:
            return model_for(ring, kept, edition, begun=0, cancels=cancels), senseless
        except BadInput:
            for at, each in enumerate(kept):
                try:
                    model_for(ring, kept[: at + 1], edition, begun=0)
                except BadInput as error:
                    senseless[each.text] = str(error)
                    kept = (*kept[:at], *kept[at + 1 :])
                    break


def _row(row: PlacedRange) -> str:
    return f"{row.keyspace} ({row.left}, {row.right}]"


def _group_words(reads: Sequence[str], writes: Sequence[str]) -> str:
    return f"read by {', '.join(sorted(reads))} and written by {', '.join(sorted(writes))}"


def _groups(history: logs.MetadataHistory, row: PlacedRange) -> str:
    last = history.entries[-1].epoch
    groups = ([history.name(node, last) for node in group] for group in (row.reads, row.writes))
    return _group_words(*groups)


Reads: TypeAlias = Callable[[Any, Any], Values]


def _reading(rows: Sequence[PlacedRange], events: int) -> Reads:
    """The newest event; once all are committed, who reads and writes the ranges of rows."""
    known: dict[Any, Values] = {}

    def placements(m: TcmCluster, s: Any) -> Iterator[tuple[str, str]]:
        own = {name: facts.rows(m, s, name) for name in {row.keyspace for row in rows}}
        for row in rows:
            parts = [r for r in own[row.keyspace] if r.left < row.right and row.left < r.right]
            said = dict.fromkeys(_group_words(part.reads, part.writes) for part in parts)
            yield _row(row), " or ".join(said)

    def reads(m: TcmCluster, s: Any) -> Values:
        log = s.tcm.events
        if (m.off, log) not in known:
            values: dict[str, Any] = {"event": None, "commits": len(log)}
            if log:
                last = m.tcm.committed(log)
                values["event"] = _event(kind_of(last.operation.kind, last.step), last.operation)
            if len(log) >= events:
                values |= placements(m, s)
            known[m.off, log] = values
        return known[m.off, log]

    return reads


def _steps(m: TcmCluster, s: Any) -> Iterator[tuple[Any, Any]]:
    for place in (("tcm", Restart), ("log", Apply), ("tcm", Stream)):
        if ready := m.lifted[place].ready(s):
            yield ready[0]
            return
    for kind in (Begin, Advance, Cancel):
        yield from m.lifted["tcm", kind].ready(s)


def _refuses(
    reads: Reads, senseless: Mapping[str, str], m: TcmCluster, s: Any, wanted: Values
) -> tuple[Any | None, str]:
    """Why the event of an entry does not come next, or who reads and writes a range by the rules.

    ``senseless`` are operations that speak of a ring that there is not, each with the reason.
    """
    if (event := wanted.get("event")) is None:
        (name,) = wanted
        return None, f"by the rules, {name} is {reads(m, s)[name]}"
    if event.operation in senseless:
        return None, senseless[event.operation]
    sequence = m.tcm.sequence(s.tcm, event.node)
    action: Any = Advance(event.node)
    if event.operation:
        action = Begin(parse_operation(event.operation))
    elif sequence is None:
        return None, f"{event.node} has no operation under way"
    elif event.kind == "CANCEL_SEQUENCE":  # one that has begun always goes on
        action = Cancel(event.node)
    elif (following := kind_of(sequence.plan.operation.kind, sequence.next.name)) != event.kind:
        return None, f"{event.node} continues with {following}"
    action = m.wrap["tcm"](action)
    refusal = m.refusal(s, action)
    return action, reason_of(refusal) if refusal else ""
