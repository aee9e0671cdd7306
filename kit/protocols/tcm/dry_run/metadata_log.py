"""The metadata log of a real cluster as a history: who was a member, what was under way, when.

The log keeps accepted events only. A registration does not say which number its node got: that is
found in the directory, or counted where the log begins with the cluster. A text that is not
understood is kept as it is, and what follows from it is said to be not known.

Source: published ``Transformation`` kinds, ``InProgressSequences`` and ``CMSAdmin``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kit.edge.arguments import checked
from kit.edge.paths import source_name
from kit.errors import BadInput, counted
from kit.operators.importers import metadata_log
from kit.protocols.tcm.facts.tools import MEANWHILE, SEQUENCES
from kit.protocols.tcm.rules.operations import BRINGS, SENTENCES, Kind, usual_steps

COMING_IN = {"BOOTSTRAPPING", "BOOT_REPLACING"}
"""A replacement has had either state, by release."""
OWNING = ("JOINED", "LEAVING", "MOVING")
"""The states of those that own their tokens."""
STEPS = ("PREPARE", "START", "MID", "FINISH")
PLAIN = {
    "PRE_INITIALIZE_CMS": "the first CMS member is named",
    "INITIALIZE_CMS": "the log begins with the state that the cluster had",
    "FORCE_SNAPSHOT": "a state is forced on the cluster: earlier events no longer count",
    "TRIGGER_SNAPSHOT": "every node stores a snapshot",
    "SCHEMA_CHANGE": "the schema changes",
    "PREPARE_SIMPLE_CMS_RECONFIGURATION": "another node is to take the place of a CMS member",
    "PREPARE_COMPLEX_CMS_RECONFIGURATION": "a change of the CMS is prepared, if it needs one",
    "CANCEL_CMS_RECONFIGURATION": "the change of the CMS is given up",
}
T = TypeVar("T")
Standing = Literal["as expected", "out of order", "not known"]


class Member(Struct, frozen=True):
    """A node at an epoch; ``tokens`` are what it owns, None where nothing tells."""

    node: int
    name: str
    state: str
    dc: str | None = None
    rack: str | None = None
    tokens: tuple[int, ...] | None = None


Members: TypeAlias = tuple[Member, ...]


class Flight(Struct, frozen=True):
    """An operation under way: which steps are committed, and what it will end with."""

    kind: Kind
    node: int
    steps: tuple[str, ...]
    tokens: tuple[int, ...] | None = None
    replaced: int | None = None
    force: bool = False


Aftermath: TypeAlias = tuple[Members, tuple[Flight, ...], str]
"""Everybody, every operation under way, and a change of the CMS in words."""


class Epoch(Struct, frozen=True):
    """One epoch of the log in words.

    ``node`` is the name of the one that it is about; ``operation`` the one that it belongs to.
    """

    epoch: int
    time: str
    kind: str
    say: str
    standing: Standing = "as expected"
    node: str | None = None
    operation: Flight | None = None


class MetadataHistory:
    """A log with the directory of the same cluster, if there is one.

    ``entries`` ascend by epoch, ``addresses`` are each node's by its number, with the epoch from
    which on it has it, ``epochs`` are the entries in words, ``warnings`` what is missing or does
    not fit.
    """

    def __init__(
        self,
        entries: Sequence[metadata_log.LogEntry],
        directory: Sequence[metadata_log.DirectoryNode] = (),
    ) -> None:
        """One or more entries of a log in their order; ``directory`` is as its end left it."""
        self.directory = {node.node: node for node in directory}
        self.entries = tuple(_numbered(entries, directory))
        self.addresses: dict[int, list[tuple[int, str]]] = {}
        for entry in self.entries:
            if entry.node is not None and entry.address:
                self.addresses.setdefault(entry.node, []).append((entry.epoch, entry.address))
        for node in directory:
            self.addresses.setdefault(node.node, [(0, node.address)])
        self.changed: dict[int | None, int] = {}
        """The last epoch that gave a node other tokens: from then on the directory tells them."""
        self.base = self._base()
        fold = _Fold(self)
        taken = [(fold.take(entry), fold.standing()) for entry in self.entries]
        self.epochs = tuple(epoch for epoch, _ in taken)
        self._after = [standing for _, standing in taken]
        self.warnings = (*self._gaps(), *self._unlike(fold))

    def name(self, node: int | None, epoch: int) -> str:
        """A node's address at an epoch, or its number where none is known."""
        if node is None:
            return "a node"
        known = [address for since, address in self.addresses.get(node, ()) if since <= epoch]
        return known[-1] if known else f"node {node}"

    def title(self, flight: Flight, epoch: int) -> str:
        """The operation in words."""
        name = self.name(flight.node, epoch)
        if flight.kind == "replace":
            return f"replace {self.name(flight.replaced, epoch)} with {name}"
        where = "to" if flight.kind == "move" else "with"
        many = f" {where} {counted(len(flight.tokens), 'token')}" if flight.tokens else ""
        return f"{flight.kind} {name}{many}"

    def known(self, epoch: int) -> int:
        """The epoch. Raises BadInput for one that the log does not have."""
        known = [entry.epoch for entry in self.entries]
        if epoch not in known:
            raise BadInput("epoch", epoch, f"an epoch of the log: {known[0]} to {known[-1]}")
        return epoch

    def at(self, epoch: int) -> tuple[Members, tuple[Flight, ...]]:
        """Everybody and every operation under way when an epoch was committed."""
        return self._standing(epoch)[:2]

    def reconfiguration(self, epoch: int) -> str:
        """The change of the CMS that was under way when an epoch was committed; empty: none."""
        return self._standing(epoch)[2]

    def _standing(self, epoch: int) -> Aftermath:
        place = bisect_right(self.epochs, epoch, key=lambda each: each.epoch)
        return self._after[place - 1] if place else ((*self.base.values(),), (), "")

    def walk(self) -> Iterator[tuple[metadata_log.LogEntry, Members, tuple[Flight, ...]]]:
        """Each entry with everybody and every operation under way after it."""
        for entry, (members, flights, _) in zip(self.entries, self._after, strict=True):
            yield entry, members, flights

    def _base(self) -> dict[int, Member]:
        came = {entry.node for entry in self.entries if entry.kind == "REGISTER"}
        first: dict[int, metadata_log.LogEntry] = {}
        moved = {node for entry in self.entries for node, *_ in moved_racks(entry)}
        for entry in self.entries:
            for node in (entry.node, entry.replaced):
                if node is not None:
                    first.setdefault(node, entry)
            if entry.kind.startswith(("FINISH_", "UNSAFE_JOIN", "ASSASSINATE")):
                self.changed |= dict.fromkeys((entry.node, entry.replaced), entry.epoch)
        members = {}
        for node in sorted({*first, *self.directory} - came):
            known, begins = self.directory.get(node), first.get(node)
            state = "JOINED" if begins else self.directory[node].state
            if begins and begins.node == node and begins.kind.endswith(BRINGING):
                state = "REGISTERED"
            tokens = known.tokens if known and node not in self.changed else None
            member = Member(node, self.name(node, 0), state)
            members[node] = replace(member, tokens=() if state == "REGISTERED" else tokens)
            # Of a node that is moved to another rack nothing tells where it was before.
            if known and node not in moved:
                members[node] = replace(members[node], dc=known.dc, rack=known.rack)
        return members

    def _gaps(self) -> Iterator[str]:
        for entry, following in pairwise(self.entries):
            if following.epoch != entry.epoch + 1:
                yield f"epochs {entry.epoch + 1} to {following.epoch - 1} are missing"
        unknown = sorted({entry.kind for entry in self.entries} - {*metadata_log.KINDS})
        if unknown:
            yield f"kinds unknown to this kit, kept as text: {', '.join(unknown)}"
        for epoch in self.epochs:
            if epoch.standing == "out of order":
                yield f"epoch {epoch.epoch}: {epoch.say}"

    def _unlike(self, fold: _Fold) -> Iterator[str]:
        for node, known in self.directory.items():
            member = fold.members.get(node)
            if member and member.name not in (known.address, f"node {node}"):
                yield (
                    f"node {node} is at {known.address} in the directory but at "
                    f"{member.name} at the end of the log: are both files from the same moment?"
                )
            if member and {member.state, known.state} not in ({known.state}, COMING_IN):
                yield (
                    f"{known.address} is {known.state} in the directory but "
                    f"{member.state} at the end of the log: are both files from the same moment?"
                )


BRINGING = ("_JOIN", "_REPLACE")


_MOVED = re.compile(r"NodeId\{id=([0-9]{1,9})\}=([^/,{}]+)/([^/,{}]+)")


def moved_racks(entry: metadata_log.LogEntry) -> tuple[tuple[int, str, str], ...]:
    """The nodes that an entry moves to another datacenter or rack, with both of these."""
    if entry.kind != "ALTER_TOPOLOGY":
        return ()
    return tuple((int(node), dc, rack) for node, dc, rack in _MOVED.findall(entry.text))


_CMS_STEP = re.compile(
    r" current=(\w+)\(.* diff=Diff\{additions=\[([^]]*)\], removals=\[([^]]*)\]\}"
)
_OF_CMS = [kind for kind in metadata_log.KINDS if kind.endswith("_CMS_RECONFIGURATION")]
PREPARED = "prepared; which members change, if any, the log tells only at the next step"
"""Where no member has to change, nothing is under way then (``PrepareCMSReconfiguration``)."""
_NOT_KNOWN_WHERE = "where it stands is not known"
CMS_STEPS = {
    "StartAddToCMS": "{} joins the CMS: it is written to, and copies the log",
    "FinishCMSReconfiguration": "{} is a member of the CMS",
    "RemoveFromCMS": "{} leaves the CMS",
    "FinishReconfiguration": "the change of the CMS is complete",
}


def _without(rows: dict[int, T], node: int) -> dict[int, T]:
    return {at: row for at, row in rows.items() if at != node}


class _Fold:
    """The members and the operations under way, as entries are taken one after the other."""

    def __init__(self, history: MetadataHistory) -> None:
        self.history = history
        self.members = dict(history.base)
        self.flights: dict[int, Flight] = {}
        self.cms = ""
        """What is under way of a change of the CMS, in words."""
        self.last = 0
        self.unseen: set[int] = set()
        """Those whose operation may have gone on in epochs that are missing."""
        self._known: tuple[Any, ...] = ()
        self._apart = {
            "REGISTER": self._registered,
            "ALTER_TOPOLOGY": self._altered,
            **dict.fromkeys(_OF_CMS, self._reconfigured),
        }

    def standing(self) -> Aftermath:
        """The members and what is under way; what has not changed is the same tuple again."""
        now = (self.members, self.flights, self.cms)
        if not self._known or any(a is not b for a, b in zip(now, self._known[0], strict=True)):
            self._known = now, ((*self.members.values(),), (*self.flights.values(),), self.cms)
        after: Aftermath = self._known[1]
        return after

    def take(self, entry: metadata_log.LogEntry) -> Epoch:
        if self.last and entry.epoch != self.last + 1:
            self.unseen |= {*self.flights}
            self.cms = self.cms and _NOT_KNOWN_WHERE
        self.last = entry.epoch
        step, _, what = entry.kind.partition("_")
        plain = PLAIN.get(entry.kind, entry.kind.replace("_", " ").lower())
        if entry.kind in self._apart:
            return self._apart[entry.kind](entry, plain)
        if entry.kind == "FORCE_SNAPSHOT":
            self.flights = {}
            self.cms = ""
            self.members = {n: replace(m, tokens=None) for n, m in self.members.items()}
            return self._epoch(entry, plain, "not known")
        if entry.kind not in metadata_log.KINDS:
            return self._epoch(entry, f"{entry.kind}: not known to this kit", "not known")
        if step in STEPS and what in SEQUENCES and entry.node is not None:
            return self._stepped(entry, step, SEQUENCES[what])
        if entry.node is None:
            return self._epoch(entry, plain)
        name = self.name(entry.node)
        if entry.address:  # of a startup: registrations are taken above
            was = self.members.get(entry.node)
            self._become(entry.node, was.state if was else "JOINED")
            since = f" (before: {was.name})" if was and was.name != name else ""
            return self._epoch(entry, f"{plain}: node {entry.node} is at {name}{since}")
        if entry.kind == "CANCEL_SEQUENCE":
            return self._cancelled(entry, name)
        if entry.kind == "UNSAFE_JOIN":
            self._become(entry.node, "JOINED", entry.tokens)
            return self._epoch(entry, f"{name} joins at once, without a plan")
        if entry.kind == "ASSASSINATE":
            self.flights = _without(self.flights, entry.node)
            self._become(entry.node, "LEFT", ())
            return self._epoch(entry, f"assassinate {name}: {SENTENCES['assassinate']}")
        if entry.kind == "UNREGISTER":
            self.members = _without(self.members, entry.node)
        return self._epoch(entry, f"{plain}: {name}")

    def _altered(self, entry: metadata_log.LogEntry, plain: str) -> Epoch:
        """Nodes are moved to other racks, in words only (published ``AlterTopology``)."""
        moves = []
        for node, dc, rack in moved_racks(entry):
            moves.append(f"{self.name(node)} to {dc}, {rack}")
            if node in self.members:
                moved = replace(self.members[node], dc=dc, rack=rack)
                self.members = {**self.members, node: moved}
        return self._epoch(entry, f"{plain}: {'; '.join(moves)}" if moves else plain)

    def _reconfigured(self, entry: metadata_log.LogEntry, plain: str) -> Epoch:
        """A step of a change of the CMS; its text has what is left to do before it is taken.

        Source: published ``ReconfigureCMS`` and ``AdvanceCMSReconfiguration``.
        """
        name = self.name(entry.node)
        if not entry.kind.startswith("ADVANCE"):
            self.cms = "" if entry.kind.startswith("CANCEL") else PREPARED
            return self._epoch(entry, plain if entry.node is None else f"{plain}: {name}")
        if (parts := _CMS_STEP.search(entry.text)) is None or parts[1] not in CMS_STEPS:
            self.cms = _NOT_KNOWN_WHERE
            return self._epoch(entry, "the change of the CMS goes on", "not known")
        step = parts[1]
        left = {"to add": parts[2], "to remove": parts[3]}
        nodes = {what: [*map(int, re.findall("[0-9]+", text))] for what, text in left.items()}
        if step == "StartAddToCMS":
            nodes = {"adding": nodes["to add"][:1], **nodes, "to add": nodes["to add"][1:]}
        elif step == "RemoveFromCMS":
            nodes["to remove"] = nodes["to remove"][1:]
        said = [f"{w} {', '.join(map(self.name, those))}" for w, those in nodes.items() if those]
        ended = step == "FinishReconfiguration"
        self.cms = "" if ended else "; ".join(said) or "nothing is left to do but to end it"
        return self._epoch(entry, CMS_STEPS[step].format(name))

    def name(self, node: int | None) -> str:
        return self.history.name(node, self.last)

    def _epoch(
        self,
        entry: metadata_log.LogEntry,
        say: str,
        standing: Standing = "as expected",
        operation: Flight | None = None,
    ) -> Epoch:
        name = None if entry.node is None else self.name(entry.node)
        return Epoch(entry.epoch, entry.time, entry.kind, say, standing, name, operation)

    def _become(self, node: int, state: str, *owns: tuple[int, ...] | None) -> None:
        name = self.name(node)
        member = self.members.get(node) or Member(node, name, state)
        tokens = [member.tokens, *owns][-1]
        news = replace(member, name=name, state=state, tokens=tokens)
        self.members = {**self.members, node: news}

    def _registered(self, entry: metadata_log.LogEntry, _plain: str) -> Epoch:
        where = f" in {entry.dc}, {entry.rack}" if entry.dc else ""
        if entry.node is None:
            what = f"{entry.address or 'a node'} registers{where}; the log does not give its number"
            return self._epoch(entry, what, "not known")
        name = self.name(entry.node)
        member = Member(entry.node, name, "REGISTERED", entry.dc, entry.rack, ())
        self.members = {**self.members, entry.node: member}
        return self._epoch(entry, f"{name} registers{where} as node {entry.node}")

    def _cancelled(self, entry: metadata_log.LogEntry, name: str) -> Epoch:
        assert entry.node is not None
        flight = self.flights.get(entry.node)
        self.flights = _without(self.flights, entry.node)
        if flight is None:
            say = f"cancel of {name}, which has no operation under way"
            return self._epoch(entry, say, "not known")
        self._become(entry.node, "REGISTERED" if flight.kind in BRINGS else "JOINED")
        return self._epoch(entry, f"cancel: {flight.kind} {name} is undone", operation=flight)

    def _stepped(self, entry: metadata_log.LogEntry, word: str, kind: Kind) -> Epoch:
        node, step = entry.node, word.lower()
        assert node is not None
        usual = usual_steps(kind, "server")
        flight = self.flights.get(node)
        before = flight.steps if flight else ()
        due = f"{usual[len(before)]} was due next"
        # A log that begins in the middle of an operation does not have its first steps.
        fits = flight is None or (step == usual[len(before)] and flight.kind == kind)
        if flight and flight.kind != kind:
            due = f"{usual[len(before)]} of its {flight.kind} was due next"
            flight = None
        if node in self.unseen:
            self.unseen.discard(node)
            fits = flight is None or usual.index(step) >= len(before) or step == "prepare"
        if flight is None or step == "prepare":
            flight = Flight(kind, node, (), entry.tokens or None, entry.replaced, entry.force)
        flight = replace(flight, steps=usual[: usual.index(step) + 1])
        flights = {**self.flights, node: flight}
        self.flights = _without(flights, node) if step == "finish" else flights
        self._moved_on(flight, step)
        say = f"{self.history.title(flight, entry.epoch)}, {SENTENCES[step]}"
        if not fits:
            say = f"{say}; {due}"
        return self._epoch(entry, say, "as expected" if fits else "out of order", flight)

    def _moved_on(self, flight: Flight, step: str) -> None:
        node, kind = flight.node, flight.kind
        if step == "start" and kind in MEANWHILE:
            self._become(node, MEANWHILE[kind])
        if step == "prepare" and kind == "move":
            self._become(node, "MOVING")
        if step != "finish":
            return
        tokens = flight.tokens
        if flight.replaced is not None:
            gone = self.members.get(flight.replaced)
            self.members = _without(self.members, flight.replaced)
            tokens = gone.tokens if gone else None
        if kind == "decommission":
            self._become(node, "LEFT", ())
        else:
            known = self.history.directory.get(node)
            if known and self.history.changed[node] == self.last:
                tokens = tokens or known.tokens
            self._become(node, "JOINED", tokens)


def _numbered(
    entries: Sequence[metadata_log.LogEntry], directory: Sequence[metadata_log.DirectoryNode]
) -> Iterator[metadata_log.LogEntry]:
    """The entries, registrations with the number of their node where that is known.

    Of two registrations of one address the directory can only know the later one.
    """
    last = {e.address: e.epoch for e in entries if e.kind == "REGISTER"}
    numbers: dict[str | None, int] = {node.address: node.node for node in directory}
    # Numbers are given in turn; only a log that begins with an empty cluster has all of them.
    whole = entries[0].epoch == 1 and not any(
        "NodeId{" in e.text for e in entries if e.kind in ("INITIALIZE_CMS", "FORCE_SNAPSHOT")
    )
    given = 0
    for entry in entries:
        if entry.kind != "REGISTER":
            yield entry
            continue
        given += 1
        known = numbers.get(entry.address) if last[entry.address] == entry.epoch else None
        yield replace(entry, node=given if whole else known)


@checked
def metadata_history(files: str | Path | Sequence[str | Path]) -> MetadataHistory:
    """Read the history in a dumped metadata log, with the directory of the same cluster.

    ``files`` are what ``nodetool cms dumplog`` printed, and if there is one what ``dumpdirectory
    --tokens`` did, or rows of the same virtual tables as JSON or CSV.

    Raises BadInput for a file that cannot be read or is neither, no log, or two of a kind.
    """
    paths = [files] if isinstance(files, str | Path) else list(files)
    return history_of([(source_name(path), metadata_log.read_metadata(path)) for path in paths])


def history_of(files: Sequence[tuple[str, metadata_log.DumpedMetadata]]) -> MetadataHistory:
    """As ``metadata_history``, from what was read, with the names of the files."""
    by_kind: dict[type, Any] = {}
    for name, dumped in files:
        if isinstance(dumped, metadata_log.ServiceView) or type(dumped) in by_kind:
            raise BadInput("log", name, "one log and at most one directory")
        by_kind[type(dumped)] = dumped
    if metadata_log.Log not in by_kind:
        names = ", ".join(name for name, _ in files)
        raise BadInput("log", names, "at least one log among the files")
    directory = by_kind.get(metadata_log.Directory, metadata_log.Directory(()))
    return MetadataHistory(by_kind[metadata_log.Log].rows, directory.rows)
