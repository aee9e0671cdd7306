"""Opening a cluster's own files: which form each has, and all of them as one ring.

Forms: ring files (``kit.operators.importers.ringfile``), the text of ``nodetool ring``, ``status``
and ``describering``, dumps of the system tables as JSON or CSV. What nodetool leaves out, the
replication of keyspaces, comes with the call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from kit.edge.reading import read_text
from kit.errors import BadInput
from kit.operators.importers import nodetool_describering, nodetool_ring, nodetool_status
from kit.operators.importers.cql import parse_keyspace
from kit.operators.importers.dumps import (
    KEYSPACE_COLUMNS,
    parse_csv_rows,
    parse_json_rows,
    rows_listing,
)
from kit.operators.importers.listing import Health, Listing, Seen, bad_line
from kit.operators.importers.merging import merge
from kit.operators.importers.nodetool import name_order
from kit.operators.importers.replicas import differences
from kit.operators.importers.ringfile import (
    LARGEST_FILE,
    RingFile,
    check_keyspaces,
    doubtful,
    parse_ring,
)
from kit.ring.replication import Keyspace
from kit.ring.tokens import MURMUR3
from kit.ring.topology import Node, Ring

FORMS = (
    "a ring file (JSON), the text of nodetool ring, status or describering from its first line, "
    "rows of system.local, system.peers or system_schema.keyspaces as JSON, or as CSV with a header"
)
FIRST_LINES = 40  # a file shows its form in these
MOST_LINES = 5_000_000
NODE_COLUMNS = {"peer", "broadcast_address", "data_center"}
KNOWN_COLUMNS = {*NODE_COLUMNS, "keyspace_name"}
COLUMN = re.compile(rf'"(?:{"|".join(sorted(KNOWN_COLUMNS))})"\s*:')
NAME = re.compile(r'"(\w+)"\s*:')  # of a member of a JSON object


class InFlight(Struct, frozen=True):
    """An operation that the tools show in progress.

    ``tokens`` are those a joining node will own, where they are known; nodetool does not show where
    a moving node goes. A node that leaves and is down is taken to be removed by others.
    """

    kind: Literal["bootstrap", "decommission", "move", "removenode"]
    node: str
    health: Health
    tokens: tuple[int, ...] = ()
    dc: str | None = None
    rack: str | None = None

    @property
    def complete(self) -> bool:
        """Whether the files tell all of it: not where its tokens are missing."""
        return self.kind not in ("bootstrap", "move") or bool(self.tokens)


class Imported(RingFile, frozen=True):
    """A ring file with what else the tools told.

    The ring holds the nodes that own tokens now: a joining node is not in it, but in ``in_flight``
    with its tokens; leaving and moving nodes still own theirs. ``loads`` are bytes and ``host_ids``
    UUIDs by node; ``down`` are nodes that are down or excluded; ``warnings`` are lines to show.
    """

    loads: dict[str, int] = field(default_factory=dict)
    host_ids: dict[str, str] = field(default_factory=dict)
    down: tuple[str, ...] = ()
    in_flight: tuple[InFlight, ...] = ()
    warnings: tuple[str, ...] = ()


def open_ring(
    paths: str | Path | Sequence[str | Path], keyspaces: Iterable[str | Keyspace] = ()
) -> Imported:
    """The ring that one file gives, or several files of one cluster together.

    ``keyspaces`` are texts such as ``ks={"class": "SimpleStrategy", "replication_factor": 3}``, or
    keyspaces; they come before those that the files hold.

    Raises:
        BadInput: for a file that cannot be read, is of no known form, is cut short or does not fit
            the others; for a keyspace that is not well formed.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    names = [Path(path).name for path in given]
    sources = names if len(set(names)) == len(names) else [str(path) for path in given]
    texts = [read_text(path, "ring file", LARGEST_FILE) for path in given]
    return import_texts(zip(sources, texts, strict=True), keyspaces)


def import_texts(
    texts: Iterable[tuple[str, str]], keyspaces: Iterable[str | Keyspace] = ()
) -> Imported:
    """As ``open_ring``, from (name of the source, text) pairs."""
    named = tuple(
        parse_keyspace(keyspace) if isinstance(keyspace, str) else keyspace
        for keyspace in keyspaces
    )
    listings = [listing_of(text, source) for source, text in texts]
    sources = [listing.source for listing in listings]
    if len(set(sources)) != len(sources) or not sources:
        raise BadInput("ring files", ", ".join(sources) or "none", "one or more, each once")
    merged = merge(listings, named)
    ring = _ring(merged.nodes.values(), listings)
    check_keyspaces(merged.keyspaces)
    everyone = tuple(merged.nodes.values())
    in_flight = tuple(
        unfinished for node in everyone if (unfinished := _in_flight(node)) is not None
    )
    warnings = (*merged.warnings, *_left_out(everyone), *_doubtful(in_flight))
    if not merged.keyspaces and all(listing.form != "ring file" for listing in listings):
        warnings += ("no keyspace is known: name each with --keyspace 'ks={\"class\": …}'",)
    warnings += doubtful(ring, merged.keyspaces)
    warnings += differences(ring, merged.keyspaces, listings)
    return Imported(
        max((listing.epoch for listing in listings if listing.epoch is not None), default=0),
        ring,
        merged.keyspaces,
        {node.name: node.load for node in everyone if node.load is not None},
        {node.name: node.host_id for node in everyone if node.host_id is not None},
        tuple(node.name for node in everyone if node.health in ("down", "excluded")),
        in_flight,
        warnings,
    )


def listing_of(text: str, source: str) -> Listing:
    """What one file says, whichever form it has.

    Raises:
        BadInput: for a text of no known form, or one that is not well formed.
    """
    if text.count("\n") > MOST_LINES:
        raise BadInput(source, "more lines", f"at most {MOST_LINES} lines")
    parse = _parser_of(text)
    if parse is None:
        number, first = _first_line(_head(text))
        raise bad_line(source, number, first, FORMS)
    return parse(text, source)


def is_ring(text: str) -> bool:
    """Whether a text, or its beginning, looks like one of the forms that tell of a ring."""
    if text.lstrip().startswith(("[", "{")):
        names = set(NAME.findall(text))
        return "nodes" in names or _of_a_ring(names)
    _, first = _first_line(_head(text))
    names = {name.strip() for name in first.split(",")}
    return _of_a_ring(names) if names & KNOWN_COLUMNS else _parser_of(text) is not None


def _of_a_ring(names: Set[str]) -> bool:
    """Whether columns are those of nodes, or of keyspaces; many a table names its keyspace."""
    return bool(names & NODE_COLUMNS) or set(KEYSPACE_COLUMNS) <= names


def _head(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n", FIRST_LINES)[:FIRST_LINES]]


def _first_line(lines: Sequence[str]) -> tuple[int, str]:
    """The first line that is not empty, and its number from 1 on."""
    return next(((at, line) for at, line in enumerate(lines, 1) if line), (1, ""))


def _parser_of(text: str) -> Callable[[str, str], Listing] | None:
    """What reads a text of this form; None where its first lines show no form."""
    lines = _head(text)
    _, first = _first_line(lines)
    if first.startswith("[") or (first.startswith("{") and COLUMN.search(first)):
        return lambda text, source: rows_listing(parse_json_rows(text, source), source)
    if first.startswith("{"):
        return _ring_file
    for at, line in enumerate(lines):
        if line.startswith(nodetool_describering.SIGNS):
            return nodetool_describering.parse_describering_text
        if line.startswith(nodetool_ring.HEADING):
            if any(nodetool_status.LEGEND.fullmatch(below) for below in lines[at + 1 : at + 3]):
                return nodetool_status.parse_status_text
            return nodetool_ring.parse_ring_text
    if KNOWN_COLUMNS & {name.strip() for name in first.split(",")}:
        return lambda text, source: rows_listing(parse_csv_rows(text, source), source)
    return None


def _ring_file(text: str, source: str) -> Listing:
    given = parse_ring(text)
    nodes = tuple(
        Seen(node.name, node.dc, node.rack, tuple(sorted(node.tokens))) for node in given.ring.nodes
    )
    return Listing(
        source, "ring file", nodes, keyspaces=given.keyspaces, ring=given.ring, epoch=given.epoch
    )


def _ring(nodes: Iterable[Seen], listings: Sequence[Listing]) -> Ring:
    """The nodes that own tokens now, by datacenter and address, or as a ring file has them."""
    members = [node for node in nodes if node.tokens and node.state != "joining"]
    given = next((listing.ring for listing in listings if listing.ring is not None), None)
    if given is not None and len(given.nodes) == len(members):
        return given
    members.sort(key=lambda node: (node.dc or "", name_order(node.name)))
    placed = []
    for node in members:
        if node.dc is None or node.rack is None:
            raise BadInput(f"datacenter and rack of {node.name}", None, "one file that has them")
        placed.append(Node(node.name, node.tokens or (), node.dc, node.rack))
    return Ring.of(placed, MURMUR3 if given is None else given.space)


def _in_flight(node: Seen) -> InFlight | None:
    health = node.health or "unknown"
    match node.state:
        case "joining":
            return InFlight("bootstrap", node.name, health, node.tokens or (), node.dc, node.rack)
        case "leaving":
            dead = health in ("down", "excluded")
            return InFlight("removenode" if dead else "decommission", node.name, health)
        case "moving":
            return InFlight("move", node.name, health)
        case _:
            return None


def _doubtful(in_flight: Iterable[InFlight]) -> Iterator[str]:
    """What of the operations in flight nodetool does not show."""
    for operation in in_flight:
        if not operation.complete:
            what = "joining with tokens" if operation.kind == "bootstrap" else "moving to tokens"
            yield (
                f"{operation.node} is {what} that the files do not give; "
                "it cannot be rehearsed as such"
            )
        elif operation.kind == "removenode":
            yield f"{operation.node} is leaving and down: taken as being removed by the others"


def _left_out(nodes: Iterable[Seen]) -> Iterator[str]:
    for node in nodes:
        if not node.tokens and node.state != "joining":
            yield f"{node.name} owns no tokens as far as the files tell; it is not in the ring"
