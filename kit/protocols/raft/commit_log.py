"""Two commit logs on one disk: that of the data, and that of the metadata with Raft's log.

A node has a data log on each shard. A write is answered once it is in the log's buffer, and a timer
syncs the buffer now and then: other replicas have the write, too. Metadata has a log of its own on
shard 0, where each entry is synced before it is answered. Its segments are larger, so that a large
table definition fits, and the disk does its work first.

A full segment is kept until a flush has stored what it holds in SSTables. A node that starts
replays the segments that it finds.
Source: blog post on 6.0, "Dedicated Metadata Commit Log on shard 0".
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeAlias

from kit.errors import Refusal
from kit.model import declared
from kit.model.declared import Travel, action, always, budget, parameter, purpose, refused
from kit.model.registry import Fuzzing, Scenario

METADATA, DISK = "M", "disk"
DEFINITION = 3
"""The size of a table definition; a write and a Raft entry have size 1."""
QUICK = 2
"""Pieces of work after which a metadata change is on disk: a flush of its log, then its sync."""
Work = Literal["sync", "flush"]
Piece = tuple[str, Work]
Records = tuple[str, ...]


class Log(declared.State, frozen=True, cache_hash=True):
    """A log: its records, how many of them are on disk, and the number of its oldest segment."""

    records: Records = ()
    synced: int = 0
    first: int = 1

    @property
    def on_disk(self) -> Records:
        """The records that survive a crash."""
        return self.records[: self.synced]

    @property
    def buffered(self) -> Records:
        """The records that are in memory only."""
        return self.records[self.synced :]

    def segments(self, room: int) -> list[Records]:
        """Its records by segments, each of which has room for so much."""
        segments: list[Records] = [()]
        for record in self.records:
            if sum(map(size, (*segments[-1], record))) > room:
                segments.append(())
            segments[-1] += (record,)
        return segments


class LogState(declared.State, frozen=True, cache_hash=True):
    """The logs, the disk's queue (a log and its work), what is answered and what is stored.

    A record is ``w1`` (a write), ``r1`` (a Raft entry) or ``t1`` (a table definition). ``change``
    is the metadata change that has no answer yet, ``waited`` counts what the disk has done since it
    was asked for. ``rejected`` is one that no segment has room for. ``sstables`` are the records
    that were flushed, or replayed.
    """

    logs: tuple[Log, ...]
    writes: int
    changes: int
    crashes: int
    disk: tuple[Piece, ...] = ()
    change: str = ""
    waited: int = 0
    rejected: str = ""
    answered: Records = ()
    sstables: Records = ()
    up: bool = True


Next: TypeAlias = LogState | Refusal
Shard = Annotated[int, declared.Each(lambda m: range(m.shards), "D{}".format)]
AnyLog = Annotated[int, declared.Each(lambda m: m.names[:-1], by_place=True)]
Change = Annotated[str, declared.Each(("entry", "definition"))]


def size(record: str) -> int:
    """How much room a record takes in a segment."""
    return DEFINITION if record[0] == "t" else 1


class CommitLog(declared.NodeModel[LogState]):
    """A node with ``shards`` data logs, and a metadata log on shard 0."""

    name, title, State = "commit_log", "The metadata commit log on shard 0", LogState
    premise = (
        "Schema changes and Raft entries must survive a crash, and they must not wait for data. "
        "They have their own commit log, which is synced after each write."
    )
    about = "How many shards there are, how large segments are, and what can happen."

    shards: int = parameter(2, "how many shards write to the disk", ge=1, le=8)
    data_segment: int = parameter(2, "how many writes fit in a segment of a data log", ge=1, le=9)
    metadata_segment: int = parameter(
        4, "the size of a metadata segment; a table definition takes 3", ge=DEFINITION, le=9
    )
    writes: int = budget(3, "how many writes clients send", le=12)
    changes: int = budget(2, "how many metadata changes there are", le=6)
    crashes: int = budget(1, "how many times the node crashes", le=3)

    # fmt: off
    sync_each: bool = declared.safeguard(
        "S-95", "A metadata change is answered only once it is synced", ("INV-DURABLE",),
        smallest={"shards": 1, "writes": 0, "changes": 1})
    own_priority: bool = declared.safeguard(
        "S-96", "The disk serves the metadata log first", ("INV-QUICK",),
        smallest={"shards": 2, "writes": 2, "changes": 1, "crashes": 0})
    own_log: bool = declared.safeguard(
        "S-97", "Metadata has its own log, with its own segment size",
        ("INV-FITS", "INV-QUICK"), wider={"INV-QUICK": {"shards": 3, "writes": 2}},
        smallest={"shards": 1, "writes": 0, "changes": 1, "crashes": 0})
    # fmt: on

    def set_up(self) -> None:
        """The logs, and the disk."""
        data = tuple(f"D{shard}" for shard in range(self.shards))
        self.names = (*data, METADATA, DISK)
        self.home = self.shards if self.own_log else 0
        """The log that metadata goes to: without one of its own, the data log of shard 0."""

    def start(self) -> LogState:
        """Empty logs, and an idle disk."""
        return LogState((Log(),) * (self.shards + 1), self.writes, self.changes, self.crashes)

    # -- what the logs hold ------------------------------------------------------------------------

    def room(self, log: int) -> int:
        """How large a segment of a log is."""
        return self.metadata_segment if log == self.shards else self.data_segment

    def queued(self, s: LogState, log: int, work: Work) -> LogState:
        """The disk has this to do, once."""
        piece = self.names[log], work
        return s if piece in s.disk else s.but(disk=(*s.disk, piece))

    def changed(self, s: LogState, place: int, log: Log) -> LogState:
        """The same with another log at a place."""
        return s.but(logs=(*s.logs[:place], log, *s.logs[place + 1 :]))

    def put(self, s: LogState, place: int, record: str) -> LogState:
        """A log with a record more in its buffer."""
        log = s.logs[place]
        return self.changed(s, place, log.but(records=(*log.records, record)))

    def is_durable(self, s: LogState, record: str) -> bool:
        """Whether a record survives a crash."""
        return record in s.sstables or any(record in log.on_disk for log in s.logs)

    def lost(self, s: LogState) -> Records:
        """The records that were answered, but are gone."""
        sent = (f"w{number + 1}" for number in range(self.writes - s.writes))
        here = {record for log in s.logs for record in log.records}.union(s.sstables)
        return tuple(each for each in (*sent, *s.answered) if each not in here)

    def in_turn(self, s: LogState) -> list[Piece]:
        """The work of the disk, in order: that of the metadata log."""
        return sorted(s.disk, key=lambda each: self.own_priority and each[0] != METADATA)

    # -- actions -----------------------------------------------------------------------------------

    @action(
        each=lambda m, s: (1 << m.shards) - 1 if s.up else 0,
        spends="writes",
        relied=True,
        travels=[Travel("request", "clients", "{shard}", "{written}")],
    )
    @purpose("A write is on several replicas, so it need not wait for one disk.")
    def write(self, s: LogState, shard: Shard) -> Next:
        """{shard} buffers {written} and answers before {written} is on disk."""
        return self.put(s, shard, f"w{self.writes - s.writes + 1}")

    @action(
        spends="changes",
        relied=True,
        says=lambda m, before, a, after: (
            "{change} is larger than a segment of {home}."
            if after.rejected
            else "{home} buffers {change}, which is not on disk yet."
        ),
        travels=[Travel("request", "clients", "{home}", "{change}")],
    )
    @purpose("Metadata seldom changes, but the whole cluster depends on it.")
    def change(self, s: LogState, what: Change) -> Next | None:
        """A table definition, or an entry of Raft's log, is written."""
        if not s.up or s.rejected:
            return None
        if s.change:
            return refused("the previous change has no answer yet")
        record = f"{'r' if what == 'entry' else 't'}{self.changes - s.changes + 1}"
        if size(record) > self.room(self.home):
            return s.but(rejected=record)
        after = self.put(s, self.home, record).but(change=record, waited=0)
        return self.queued(after, self.home, "sync") if self.sync_each else after

    @action(verb="timer {log}")
    @purpose("What waits in a buffer must reach the disk at some point.")
    def sync_timer(self, s: LogState, log: AnyLog) -> Next | None:
        """{log}'s timer runs out: the disk must sync the buffer of {log}."""
        after = self.queued(s, log, "sync")
        return None if after is s or not s.logs[log].buffered else after

    @action(each=lambda m, s: (1 << m.shards + 1) - 1 if s.up else 0, verb="flush {log}")
    @purpose("Once records are in SSTables, their segments are discarded, which frees space.")
    def flush(self, s: LogState, log: AnyLog) -> Next | None:
        """The disk must write the full segments of {log} to SSTables."""
        after = self.queued(s, log, "flush")
        return None if after is s or len(s.logs[log].segments(self.room(log))) < 2 else after

    @action(
        verb="disk",
        says=lambda m, before, a, after: (
            "The disk syncs {log}: {records} would now survive a crash."
            if m.in_turn(before)[0][1] == "sync"
            else "The disk flushes {records} from {log} to SSTables and discards the old segments."
        ),
        travels=[Travel("data", "{log}", DISK, "{work}")],
    )
    @purpose("All logs share one disk, so the order of its work decides which log waits.")
    def work_disk(self, s: LogState) -> Next | None:
        """The disk does one piece of work."""
        if not s.disk:
            return None
        name, work = piece = self.in_turn(s)[0]
        place, waits = self.number(name), s.change and not self.is_durable(s, s.change)
        log, disk = s.logs[place], tuple(each for each in s.disk if each != piece)
        after = s.but(disk=disk, waited=s.waited + bool(waits))
        if work == "sync":
            return self.changed(after, place, log.but(synced=len(log.records)))
        *full, last = log.segments(self.room(place))
        stored, synced = sum(full, ()), max(0, log.synced - len(log.records) + len(last))
        after = self.changed(after, place, Log(last, synced, log.first + len(full)))
        return after.but(sstables=(*s.sstables, *stored))

    @action(travels=[Travel("answer", "{home}", "clients", "{before.change}")])
    @purpose("A client that has its answer relies on the change, whatever happens next.")
    def answer(self, s: LogState) -> Next | None:
        """The client of {before.change} gets its answer: the change is {kept}."""
        if not (s.change and s.up):
            return None
        if self.sync_each and not self.is_durable(s, s.change):
            return refused("the change is not on disk yet", (DISK,))
        return s.but(answered=(*s.answered, s.change), change="", waited=0)

    @action(spends="crashes", fault=True, hand=lambda m, s, a: (m.spot(DISK), ""))
    @purpose("Memory is lost, and only data on disk counts.")
    def crash(self, s: LogState) -> Next | None:
        """The node crashes: its buffers and the disk's queue are gone. Lost: {lost}."""
        if not s.up:
            return None
        logs = tuple(log.but(records=log.on_disk) for log in s.logs)
        return s.but(logs=logs, disk=(), change="", waited=0, up=False)

    @action()
    @purpose("Synced records come back without any help from other nodes.")
    def replay(self, s: LogState) -> Next | None:
        """The node starts and replays its segments: {replayed}."""
        if s.up:
            return None
        logs = tuple(Log((), 0, log.first + 1) for log in s.logs)
        stored = (record for log in s.logs for record in log.on_disk)
        return s.but(logs=logs, sstables=(*s.sstables, *stored), up=True)

    # -- what must hold ----------------------------------------------------------------------------

    @always("INV-DURABLE")
    def durable(self, s: LogState) -> str | None:
        """A metadata change that was answered survives every crash."""
        gone = [each for each in self.lost(s) if each in s.answered]
        return f"{gone[0]} was answered, but is gone" if gone else None

    @always("INV-QUICK")
    def quick(self, s: LogState) -> str | None:
        """A metadata change is on disk after at most 2 pieces of disk work."""
        if s.change and s.waited >= QUICK and not self.is_durable(s, s.change):
            return f"{s.change} has waited for {s.waited} pieces of disk work, but is not on disk"
        return None

    @always("INV-FITS")
    def fits(self, s: LogState) -> str | None:
        """A table definition fits in a segment."""
        return f"{s.rejected} does not fit in any segment" if s.rejected else None

    @declared.sometimes(when=lambda m: m.changes and m.writes >= m.shards > 1)
    def overtakes(self, s: LogState) -> bool:
        """A change is answered while every data log waits for the disk."""
        return bool(s.answered) and len({name for name, _ in s.disk}) >= self.shards

    @declared.goal()
    def at_rest(self, s: LogState) -> bool:
        """The node can still come up and answer every change."""
        return s.up and not s.change

    # -- words -------------------------------------------------------------------------------------

    def words(self, before: Any, action: Any, after: Any) -> declared.Words:
        """The records of a step, the log of a piece of work, and what a crash takes."""
        name, work = next(iter(self.in_turn(before)), ("", ""))
        log = before.logs[self.number(name)] if name else Log()
        new = set(after.sstables) - set(before.sstables)
        change = after.change or after.rejected
        safe = before.change and self.is_durable(before, before.change)
        return {
            "written": f"w{self.writes - after.writes}",
            "change": change,
            "home": self.names[self.home],
            "log": name,
            "work": work,
            "records": text_of(log.buffered if work == "sync" else sorted(new)),
            "kept": "on disk" if safe else "only in memory",
            "lost": text_of(self.lost(after)),
            "replayed": text_of(sorted(new)),
        }

    def milestone(self, before: LogState, action: Any, after: LogState) -> str | None:
        """Answers, crashes and replays."""
        if isinstance(action, CommitLog.answer):
            return f"{before.change} answered"
        return self.verb(action) if before.up != after.up else None


def text_of(records: Iterable[str]) -> str:
    """Records in words."""
    return ", ".join(records) or "nothing"


ENTRY = declared.entry(
    CommitLog,
    scenarios=(
        Scenario(
            "crash-after-commit",
            (
"A crash right after a table was made. The node has answered, so the "
"table definition survives"
),
            script=("write D0", "change definition", "disk", "answer", "crash", "replay"),
        ),
        Scenario(
            "saturated",
            (
"A busy disk does not hold up a schema change. The data logs keep the "
"disk busy, but they are not in its way"
),
            {"shards": 3, "writes": 9, "crashes": 0},
            script=(*(f"write D{shard}" for shard in (0, 1, 2) * 3),
                    *(f"{what} D{shard}" for what in ("timer", "flush") for shard in range(3)),
                    *("change definition", "disk", "answer", "disk", "change entry", "disk",
                      "answer")),
        ),
    ),
    fuzzing=Fuzzing({"shards": 4, "writes": 12, "changes": 4, "crashes": 2},
                    {"crash": 0.1, "disk": 2}),
)  # fmt: skip
