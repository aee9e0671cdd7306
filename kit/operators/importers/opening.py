"""Opening a cluster's own files: which form each has, and all of them as one ring.

Forms: ring files (``kit.operators.importers.ringfile``), the text of ``nodetool ring``, ``status``
and ``describering``, dumps of the system tables as JSON or CSV. What nodetool leaves out, the
replication of keyspaces, comes with the call.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field, structs

from kit.edge.paths import source_name
from kit.edge.reading import read_text
from kit.errors import BadInput
from kit.operators.importers import dumps, nodetool, ringfile
from kit.operators.importers.cql import parse_keyspace
from kit.operators.importers.nodetool import Listing, Seen, bad_line
from kit.ring.columns import np
from kit.ring.natural import replicas
from kit.ring.placements import same_sets
from kit.ring.replication import Keyspace, LocalStrategy
from kit.ring.tokens import MURMUR3
from kit.ring.topology import Codes, Node, Ring


def differences(
    ring: Ring, keyspaces: tuple[Keyspace, ...], listings: Iterable[Listing]
) -> tuple[str, ...]:
    """A line for each listing whose replicas are of no known keyspace, with the first such range.

    The output of ``nodetool describering`` does not name its keyspace: the one that fits best is
    compared. Groups count as sets, in the order of the ring.

    Raises BadInput when ranges name a replica that owns no token.
    """
    placed = [each for each in keyspaces if not isinstance(each.replication, LocalStrategy)]
    lines = (_difference(ring, placed, listing) for listing in listings if listing.ranges)
    return tuple(filter(None, lines))


def _difference(ring: Ring, placed: list[Keyspace], listing: Listing) -> str | None:
    ranges = sorted(listing.ranges)
    listed = _codes(ring, listing)
    rights = np.array([listed.right for listed in ranges], np.int64)
    best: tuple[int, str] | None = None
    for keyspace in placed:
        ours = replicas(ring, keyspace.replication, rights)
        odd = np.flatnonzero(~same_sets(listed, ours))
        if not len(odd):
            return None
        if best is None or len(odd) < best[0]:
            first = ranges[odd[0]]
            names = ", ".join(ring.names[code] for code in ours[odd[0]] if code >= 0)
            line = (
                f"{listing.source}: these replicas match none of the given keyspaces: "
                f"{len(odd)} of {len(ranges)} ranges differ from {keyspace.name} "
                f"({keyspace.replication.label}). In the first one, ({first.left}, {first.right}], "
                f"the tool lists {', '.join(first.replicas)}, but the replication gives "
                f"{names or 'no replica'}"
            )
            best = len(odd), line
    return best[1] if best else None


def _codes(ring: Ring, listing: Listing) -> Codes:
    """The listed replicas as node codes, by ascending range, padded with -1."""
    code_of = {name: code for code, name in enumerate(ring.names)}
    width = max(len(listed.replicas) for listed in listing.ranges)
    codes = np.full((len(listing.ranges), width), -1, np.int32)
    for at, listed in enumerate(sorted(listing.ranges)):
        for slot, name in enumerate(listed.replicas):
            if name not in code_of:
                raise BadInput(f"{listing.source}: replica", name, "nodes that own tokens")
            codes[at, slot] = code_of[name]
    return codes


SAME = "; are these outputs from one cluster at one moment?"
NO_TOKENS = (
    "files that say which tokens each node owns: nodetool ring or describering, or system.local "
    "with system.peers (nodetool status shows only how many there are)"
)


def merge(
    listings: Sequence[Listing], keyspaces: Iterable[Keyspace]
) -> tuple[tuple[Seen, ...], tuple[Keyspace, ...], list[str]]:
    """All nodes, keyspaces and warnings of one cluster, by name.

    Raises BadInput naming the first thing in which two files differ, a token, host id or keyspace
    that occurs twice, or that no file gives tokens.
    """
    named = [listing for listing in listings if listing.cluster is not None]
    for other in named[1:]:
        if other.cluster != named[0].cluster:
            allowed = f"{named[0].cluster!r} of {named[0].source}"
            raise BadInput(f"{other.source} cluster_name", other.cluster, allowed)
    _check_names(listings)
    warnings = [*(text for listing in listings for text in listing.warnings), *_unseen(listings)]
    nodes: dict[str, Seen] = {}
    said: dict[tuple[str, str], str] = {}
    for listing in listings:
        for node in listing.nodes:
            known = nodes.get(node.name, Seen(node.name))
            nodes[node.name] = _together(known, node, listing, said, warnings)
    nodes = _with_listed_tokens(nodes, listings)
    if not any(node.tokens and node.state != "joining" for node in nodes.values()):
        raise BadInput(", ".join(listing.source for listing in listings), "no tokens", NO_TOKENS)
    _check_counts(nodes, said)
    _once(nodes, "host id", lambda node: [node.host_id] if node.host_id else [])
    _once(nodes, "token", lambda node: node.tokens or ())
    return ringfile.by_name(nodes.values()), _keyspaces(listings, keyspaces), warnings


def _together(
    known: Seen, node: Seen, listing: Listing, said: dict[tuple[str, str], str], warnings: list[str]
) -> Seen:
    changes: dict[str, Any] = {}
    for name in ("dc", "rack", "tokens", "count", "health", "state", "load", "host_id"):
        old, new = getattr(known, name), getattr(node, name)
        if new is None:
            continue
        first = said.setdefault((node.name, name), listing.source)
        if name == "load" and old is not None and listing.form != "status":
            continue
        if name == "health" and {old, new} == {"down", "excluded"}:
            new = "excluded"  # only nodetool status tells the two apart
        elif old is not None and old != new:
            if name == "health":
                said_here = f"{listing.source}: {node.name} is {new} here"
                warnings.append(f"{said_here}, but {old} in {first}")
            elif name != "load":
                _refuse(node.name, name, (old, first), (new, listing.source))
        changes[name] = new
    return structs.replace(known, **changes)


def _refuse(name: str, field: str, first: tuple[Any, str], second: tuple[Any, str]) -> None:
    (old, before), (new, source) = first, second
    if field != "tokens":
        words = {"dc": "datacenter", "count": "number of tokens", "host_id": "host id"}
        what = f"{source}: {words.get(field, field)} of {name}"
        raise BadInput(what, new, f"{old} as in {before}{SAME}")
    if extra := sorted(set(new) - set(old)):
        raise BadInput(f"{source}: tokens of {name}", extra[0], f"those of {before}{SAME}")
    lacking = min(set(old) - set(new))
    raise BadInput(f"{before}: tokens of {name}", lacking, f"those of {source}{SAME}")


def _check_names(listings: Sequence[Listing]) -> None:
    dumps = [listing for listing in listings if listing.form == "dump" and listing.nodes]
    others = [listing for listing in listings if listing.form != "dump" and listing.complete]
    whole = [(listing.source, _names([listing])) for listing in others]
    if any(listing.complete for listing in dumps) and (
        len(dumps) > 1 or any(len(listing.nodes) > 1 for listing in dumps)
    ):
        whole.append((" and ".join(listing.source for listing in dumps), _names(dumps)))
    exempt = {
        node.name
        for listing in listings
        for node in listing.nodes
        if node.state == "joining"
        or node.count == 0
        or (listing.form == "dump" and node.tokens is None)
    }
    for listing in listings:
        for node in listing.nodes:
            for source, names in whole:
                if node.name not in names and node.name not in exempt:
                    allowed = f"a node that is also in {source}{SAME}"
                    raise BadInput(f"{listing.source}: node", node.name, allowed)


def _names(listings: Iterable[Listing]) -> set[str]:
    return {node.name for listing in listings for node in listing.nodes}


def _with_listed_tokens(nodes: dict[str, Seen], listings: Sequence[Listing]) -> dict[str, Seen]:
    """Tokens from listed ranges; where tokens are known already, they are only compared.

    Of several keyspaces the one whose ranges begin at the most nodes counts: it leaves the fewest
    datacenters out.
    """
    listed = [(each, nodetool.owned_tokens(each.ranges)) for each in listings if each.ranges]
    if not listed:
        return nodes
    chosen, owners = max(listed, key=lambda listing: len(set(listing[1].values())))
    members = [node for node in nodes.values() if node.state != "joining"]
    known = {token for node in members for token in node.tokens or ()}
    for listing, ends in listed:
        given = known or owners.keys()
        if given not in (ends.keys(), {listed.right for listed in listing.ranges}):
            odd = min(ends.keys() ^ given)
            field = f"{listing.source}: {'range up to' if odd in ends else 'no range up to'} token"
            raise BadInput(field, odd, f"ranges between the tokens of the ring{SAME}")
    if known:
        return nodes
    reached = {nodes[name].dc for each in chosen.ranges for name in each.replicas}
    for node in members:
        if node.count != 0 and node.dc not in (None, *reached):
            missing = f"no range with a replica in {node.dc}, where {node.name} is"
            allowed = "the output of nodetool ring, too, which says who owns each token"
            raise BadInput(chosen.source, missing, allowed)
    owned: dict[str, list[int]] = {}
    for token, name in sorted(owners.items()):
        owned.setdefault(name, []).append(token)
    owning = {n: structs.replace(nodes[n], tokens=tuple(own)) for n, own in owned.items()}
    return {**nodes, **owning}


def _check_counts(nodes: dict[str, Seen], said: dict[tuple[str, str], str]) -> None:
    for node in nodes.values():
        waits = node.state == "joining" and node.tokens is None
        if node.count and not waits and node.count != len(node.tokens or ()):
            known = f"{len(node.tokens)}, as the other files say" if node.tokens else ""
            allowed = known or "a node whose tokens are in the other files"
            what = f"{said[node.name, 'count']}: number of tokens of {node.name}"
            raise BadInput(what, node.count, allowed + SAME)


def _once(nodes: dict[str, Seen], what: str, values: Callable[[Seen], Iterable[str | int]]) -> None:
    owner: dict[str | int, str] = {}
    for node in nodes.values():
        for value in values(node):
            if value in owner:
                allowed = f"each {what} once, but {owner[value]} also has it"
                raise BadInput(f"{what} of {node.name}", value, allowed)
            owner[value] = node.name


def _keyspaces(listings: Sequence[Listing], typed: Iterable[Keyspace]) -> tuple[Keyspace, ...]:
    keyspaces: dict[str, tuple[str, Keyspace]] = {}
    given = [("--keyspace", keyspace) for keyspace in typed]
    given += [(listing.source, each) for listing in listings for each in listing.keyspaces]
    for source, keyspace in given:
        before, known = keyspaces.setdefault(keyspace.name, (source, keyspace))
        if known != keyspace:
            what = f"{keyspace.name} ({keyspace.replication.label})"
            raise BadInput(f"{source}: keyspace", what, f"{known.replication.label} as in {before}")
    return ringfile.by_name(keyspace for _, keyspace in keyspaces.values())


def _unseen(listings: Sequence[Listing]) -> Iterator[str]:
    if any(listing.complete and listing.form != "dump" for listing in listings):
        return
    dumps = [listing for listing in listings if listing.form == "dump" and listing.nodes]
    for listing in dumps:
        if not any(other.complete for other in dumps):
            what = "system.peers omits the node that was queried, so add system.local"
            yield f"{listing.source}: {what}"
        elif len(_names(dumps)) == 1:
            yield f"{listing.source}: system.local has only its own node, so add system.peers"
    if not dumps:
        for listing in listings:
            if listing.form == "describering":
                what = "it has only nodes with replicas of the described keyspace, and the first "
                what += "replica of a range is taken to own its token"
                yield f"{listing.source}: {what}"


FORMS = (
    "a ring file (JSON), the text of nodetool ring, status or describering from its first line, "
    "rows of system.local, system.peers or system_schema.keyspaces as JSON, or as CSV with a header"
)
FIRST_LINES = 40  # a file shows its form in these
MOST_LINES = 5_000_000
NODE_COLUMNS = {"peer", "broadcast_address", "data_center"}
KNOWN_COLUMNS = {*NODE_COLUMNS, "keyspace_name"}
COLUMN = re.compile(rf'"(?:{"|".join(sorted(KNOWN_COLUMNS))})"\s*:')
LISTED = re.compile(r'"nodes"\s*:\s*\[')
"""How the nodes of a ring file begin; elsewhere *nodes* is a number."""
NAME = re.compile(r'"(\w+)"\s*:')  # of a member of a JSON object


class InFlight(Struct, frozen=True):
    """An operation that the tools show in progress.

    ``tokens`` are those a joining node will own, where they are known; nodetool does not show where
    a moving node goes. A node that leaves and is down is taken to be removed by others.
    """

    kind: Literal["bootstrap", "decommission", "move", "removenode"]
    node: str
    health: nodetool.Health
    tokens: tuple[int, ...] = ()
    dc: str | None = None
    rack: str | None = None

    @property
    def complete(self) -> bool:
        """Whether the files tell all of it: not where its tokens are missing."""
        return self.kind not in ("bootstrap", "move") or bool(self.tokens)


class Imported(ringfile.RingFile, frozen=True):
    """A ring file with what else the tools told.

    The ring holds the nodes that own tokens now: a joining node is not in it, but in ``in_flight``
    with its tokens; leaving and moving nodes still own theirs. ``loads`` are bytes and ``host_ids``
    UUIDs by node; ``up`` are nodes that are known to be up, ``down`` those that are down or
    excluded; ``warnings`` are lines to show.
    """

    loads: dict[str, int] = field(default_factory=dict)
    host_ids: dict[str, str] = field(default_factory=dict)
    up: tuple[str, ...] = ()
    down: tuple[str, ...] = ()
    in_flight: tuple[InFlight, ...] = ()
    warnings: tuple[str, ...] = ()


def open_ring(
    paths: str | Path | Sequence[str | Path], keyspaces: Iterable[str | Keyspace] = ()
) -> Imported:
    """The ring that one file gives, or several files of one cluster together.

    ``keyspaces`` are texts such as ``ks={"class": "SimpleStrategy", "replication_factor": 3}``, or
    keyspaces; they come before those that the files hold.

    Raises BadInput for a file that cannot be read, is of no known form, is cut short or does not
    fit the others; for a keyspace that is not well formed.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    names = [source_name(path) for path in given]
    sources = names if len(set(names)) == len(names) else [str(path) for path in given]
    texts = [read_text(path, "ring file", ringfile.LARGEST_FILE) for path in given]
    return import_texts(zip(sources, texts, strict=True), keyspaces)


def import_texts(
    texts: Iterable[tuple[str, str]], keyspaces: Iterable[str | Keyspace] = ()
) -> Imported:
    """As ``open_ring``, from (name of the source, text) pairs."""
    named = [parse_keyspace(each) if isinstance(each, str) else each for each in keyspaces]
    listings = [listing_of(text, source) for source, text in texts]
    sources = [listing.source for listing in listings]
    if len(set(sources)) != len(sources) or not sources:
        raise BadInput("ring files", ", ".join(sources) or "none", "one or more, each once")
    everyone, known, warnings = merge(listings, named)
    ring = _ring(everyone, listings)
    ringfile.check_keyspaces(known)
    in_flight = tuple(filter(None, map(_in_flight, everyone)))
    bare = (node.name for node in everyone if not node.tokens and node.state != "joining")
    warnings += [f"{n} owns no tokens in these files, so it is not in the ring" for n in bare]
    warnings += _doubtful(in_flight)
    if not known and all(listing.form != "ring file" for listing in listings):
        warnings.append("no keyspace is known: give each with --keyspace 'ks={\"class\": …}'")
    warnings += [*ringfile.doubtful(ring, known), *differences(ring, known, listings)]
    return Imported(
        max((listing.epoch for listing in listings if listing.epoch is not None), default=0),
        ring,
        known,
        {node.name: node.load for node in everyone if node.load is not None},
        {node.name: node.host_id for node in everyone if node.host_id is not None},
        tuple(node.name for node in everyone if node.health == "up"),
        tuple(node.name for node in everyone if node.health in ("down", "excluded")),
        in_flight,
        tuple(warnings),
    )


def listing_of(text: str, source: str) -> Listing:
    """What one file says. Raises BadInput for no known form, or one that is not well formed."""
    if text.count("\n") > MOST_LINES:
        raise BadInput(source, "more lines", f"at most {MOST_LINES} lines")
    if (parse := _parser_of(text)) is None:
        number, first = _first_line(_head(text))
        raise bad_line(source, number, first, FORMS)
    return parse(text, source)


def is_ring(text: str) -> bool:
    """Whether a text, or its beginning, looks like one of the forms that tell of a ring."""
    if dumps.is_json(text):
        return is_rows(text) or LISTED.search(text) is not None
    names = dumps.header_names(text)
    return _of_a_ring(names) if names & KNOWN_COLUMNS else _parser_of(text) is not None


def is_rows(text: str) -> bool:
    """Whether a JSON text, or its beginning, looks like rows of the tables that tell of a ring."""
    return _of_a_ring(set(NAME.findall(text)))


def _of_a_ring(names: Set[str]) -> bool:
    return bool(names & NODE_COLUMNS) or set(dumps.KEYSPACE_COLUMNS) <= names


def _head(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n", FIRST_LINES)[:FIRST_LINES]]


def _first_line(lines: Sequence[str]) -> tuple[int, str]:
    return next(((at, line) for at, line in enumerate(lines, 1) if line), (1, ""))


def _parser_of(text: str) -> Callable[[str, str], Listing] | None:
    lines = _head(text)
    _, first = _first_line(lines)
    if first.startswith("[") or (first.startswith("{") and COLUMN.search(first)):
        return _rows
    if first.startswith("{"):
        return _ring_file
    for at, line in enumerate(lines):
        if line.startswith(nodetool.SIGNS):
            return nodetool.parse_describering_text
        if line.startswith(nodetool.HEADING):
            if any(nodetool.LEGEND.fullmatch(below) for below in lines[at + 1 : at + 3]):
                return nodetool.parse_status_text
            return nodetool.parse_ring_text
    return _rows if KNOWN_COLUMNS & dumps.header_names(text) else None


def _rows(text: str, source: str) -> Listing:
    return dumps.rows_listing(dumps.parse_rows(text, source), source)


def _ring_file(text: str, source: str) -> Listing:
    of = ringfile.parse_ring(text)
    nodes = tuple(Seen(n.name, n.dc, n.rack, tuple(sorted(n.tokens))) for n in of.ring.nodes)
    return Listing(source, "ring file", nodes, True, of.keyspaces, ring=of.ring, epoch=of.epoch)


def _ring(nodes: Iterable[Seen], listings: Sequence[Listing]) -> Ring:
    members = [node for node in nodes if node.tokens and node.state != "joining"]
    given = next((listing.ring for listing in listings if listing.ring is not None), None)
    if given is not None and len(given.nodes) == len(members):
        return given
    members.sort(key=lambda node: (node.dc or "", nodetool.name_order(node.name)))
    placed = []
    for node in members:
        if node.dc is None or node.rack is None:
            raise BadInput(f"datacenter and rack of {node.name}", None, "a file that has them")
        placed.append(Node(node.name, node.tokens or (), node.dc, node.rack))
    return Ring.of(placed, MURMUR3 if given is None else given.space)


def _in_flight(node: Seen) -> InFlight | None:
    health = node.health or "unknown"
    if node.state == "joining":
        return InFlight("bootstrap", node.name, health, node.tokens or (), node.dc, node.rack)
    if node.state == "leaving":
        dead = health in ("down", "excluded")
        return InFlight("removenode" if dead else "decommission", node.name, health)
    return InFlight("move", node.name, health) if node.state == "moving" else None


def _doubtful(in_flight: Iterable[InFlight]) -> Iterator[str]:
    for operation in in_flight:
        if not operation.complete:
            what = "joining with tokens" if operation.kind == "bootstrap" else "moving to tokens"
            lacks = f"{what} that the files do not give, so this operation cannot be rehearsed"
            yield f"{operation.node} is {lacks}"
        elif operation.kind == "removenode":
            yield f"{operation.node} is leaving and down, so the others are taken to remove it"
