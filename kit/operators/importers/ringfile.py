"""Ring files: a cluster's nodes, tokens and keyspaces as JSON, read strictly; and files of sizes.

``{"epoch": 0, "nodes": [{"name": "n1", "tokens": [100], "dc": "dc1", "rack": "r1"}, …],
"keyspaces": [{"name": "ks", "replication":
{"class": "SimpleStrategy", "replication_factor": 3}}]}``

Tokens are JSON integers or decimal texts; ``dc`` and ``rack`` default to ``dc1`` and ``r1``,
``epoch`` to 0. Optional ``"partitioner"``: ``"murmur3"`` (default) or ``{"low": 0, "high": 400}``.
Whatever else is there, or is wrong, raises ``BadInput`` with one line that names the field.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Struct

from kit.edge.json_text import located, parse_json
from kit.edge.reading import read_text
from kit.errors import BadInput, shorten
from kit.ring.replication import Keyspace, parse_replication
from kit.ring.sizes import Row as SizeRow
from kit.ring.sizes import Stored
from kit.ring.tokens import INT64_HIGH, INT64_LOW, MURMUR3, TokenSpace, small
from kit.ring.topology import Node, Ring

LARGEST_FILE = 256 * 2**20
LONGEST_NAME = 200
MOST_KEYSPACES = 1000
MOST_EPOCH = 2**62  # with room for the epochs of a rehearsal


class RingFile(Struct, frozen=True):
    """The content of a ring file; ``epoch`` is the cluster's present one."""

    epoch: int
    ring: Ring
    keyspaces: tuple[Keyspace, ...]


def read_ring(path: str | Path) -> RingFile:
    """Read a ring file; a missing or unreadable file is ``BadInput`` too."""
    return parse_ring(read_text(path, "ring file", LARGEST_FILE))


def parse_ring(text: str) -> RingFile:
    """Read the text of a ring file. Raises BadInput naming the field, its line and its column."""
    value = parse_json(text, "ring file")
    try:
        return _ring_file(value)
    except BadInput as error:
        raise located(error, text) from None


def _ring_file(value: object) -> RingFile:
    top = _fields(value, "ring file", ("nodes", "keyspaces"), ("epoch", "partitioner"))
    space = _space(top.get("partitioner", "murmur3"))
    epoch = _integer(top.get("epoch", 0), "epoch", 0, MOST_EPOCH)
    given = _list(top["nodes"], "nodes", 1)
    nodes = tuple(_node(node, space, f"nodes[{at}]") for at, node in enumerate(given))
    _once("nodes", nodes)
    _tokens_once(nodes)
    listed = enumerate(_list(top["keyspaces"], "keyspaces", 0))
    spaces = tuple(_keyspace(keyspace, f"keyspaces[{at}]") for at, keyspace in listed)
    _once("keyspaces", spaces)
    return RingFile(epoch, Ring.of(by_name(nodes), space), check_keyspaces(spaces))


def _fields(
    value: object, field: str, needed: tuple[str, ...], optional: tuple[str, ...]
) -> dict[str, object]:
    known = ", ".join((*needed, *optional))
    if not isinstance(value, dict):
        raise BadInput(field, value, f"an object with {known}")
    for key in value:
        if key not in needed and key not in optional:
            raise BadInput(f"{field}: unknown key", key, known)
    for key in needed:
        if key not in value:
            raise BadInput(f"{field}: missing key", key, f"an object with {known}")
    return value


def _list(value: object, field: str, least: int) -> list[object]:
    if not isinstance(value, list) or len(value) < least:
        raise BadInput(field, value, f"a list of at least {least}" if least else "a list")
    return value


def _integer(value: object, field: str, least: int, most: int) -> int:
    if type(value) is int and least <= value <= most:
        return value
    raise BadInput(field, value, f"an integer from {least} to {most}")


def place_name(value: object, field: str) -> str:
    """The name of a datacenter, rack, node or keyspace, which is shown and stored.

    Raises BadInput for an empty or endless name, or one that cannot be printed.
    """
    fits = isinstance(value, str) and len(value) <= LONGEST_NAME and value.isprintable()
    if not fits or not str(value).strip():
        raise BadInput(field, value, f"a string of 1 to {LONGEST_NAME} printable characters")
    return str(value)


def _space(value: object) -> TokenSpace:
    if value == "murmur3":
        return MURMUR3
    if not isinstance(value, Mapping):
        raise BadInput("partitioner", value, '"murmur3" or {"low": 0, "high": 400}')
    ends = _fields(value, "partitioner", ("low", "high"), ())
    low = _integer(ends["low"], "partitioner.low", INT64_LOW, INT64_HIGH - 1)
    return small(_integer(ends["high"], "partitioner.high", low + 1, INT64_HIGH), low)


def _node(value: object, space: TokenSpace, field: str) -> Node:
    given = _fields(value, field, ("name", "tokens"), ("dc", "rack"))
    tokens = _list(given["tokens"], f"{field}.tokens", 1)
    return Node(
        place_name(given["name"], f"{field}.name"),
        tuple(token_in(token, space, f"{field}.tokens[{at}]") for at, token in enumerate(tokens)),
        place_name(given.get("dc", "dc1"), f"{field}.dc"),
        place_name(given.get("rack", "r1"), f"{field}.rack"),
    )


def token_in(value: object, space: TokenSpace, field: str) -> int:
    """A token as an integer or a decimal text. Raises BadInput for one that is not of the space."""
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,20}", value, re.ASCII):
        value = int(value)
    return space.check(value, field)


def _keyspace(value: object, field: str) -> Keyspace:
    given = _fields(value, field, ("name", "replication"), ())
    name = place_name(given["name"], f"{field}.name")
    replication = parse_replication(given["replication"], f"{field}.replication")
    for dc, _ in getattr(replication, "factors", ()):
        place_name(dc, f"{field}.replication: datacenter")
    return Keyspace(name, replication)


def check_keyspaces(keyspaces: tuple[Keyspace, ...]) -> tuple[Keyspace, ...]:
    """The keyspaces of a cluster by name. Raises BadInput when there are too many."""
    if len(keyspaces) > MOST_KEYSPACES:
        raise BadInput("keyspaces", len(keyspaces), f"at most {MOST_KEYSPACES}")
    return by_name(keyspaces)


class _Named(Protocol):
    @property
    def name(self) -> str:
        """The name that people read."""


Named = TypeVar("Named", bound=_Named)
_NUMBER = re.compile("([0-9]+)")


def by_name(several: Iterable[Named]) -> tuple[Named, ...]:
    """Nodes or keyspaces in one order, whatever that of their rows is: n2 before n10."""

    def key(item: Named) -> tuple[list[tuple[str, int]], str]:
        parts = [*_NUMBER.split(item.name), "0"]
        return [(text, int(n)) for text, n in zip(parts[::2], parts[1::2], strict=True)], item.name

    return tuple(sorted(several, key=key))


def _nowhere(ring: Ring, keyspaces: tuple[Keyspace, ...]) -> Iterator[str]:
    known = {node.dc for node in ring.nodes}
    near = {dc.casefold(): dc for dc in known}
    for keyspace in keyspaces:
        for dc, _ in getattr(keyspace.replication, "factors", ()):
            if dc not in known:
                meant = near.get(dc.casefold())
                hint = f"; did you mean {meant}?" if meant else ""
                yield f"keyspace {keyspace.name} names datacenter {dc}, which has no nodes{hint}"


def doubtful(ring: Ring, keyspaces: tuple[Keyspace, ...]) -> tuple[str, ...]:
    """Lines about names that are accepted, but may be mistakes.

    One for each datacenter that no node is in, and for names that differ in case alone.
    """
    kinds = {
        "nodes": ring.names,
        "datacenters": sorted({node.dc for node in ring.nodes}),
        "keyspaces": tuple(keyspace.name for keyspace in keyspaces),
    }
    warnings = [*_nowhere(ring, keyspaces)]
    for kind, names in kinds.items():
        known: dict[str, str] = {}
        pairs = [(known.setdefault(name.casefold(), name), name) for name in names]
        if unlike := [f"{first} and {name}" for first, name in pairs if first != name]:
            more = f" (and {len(unlike) - 1} more such pairs)" if unlike[1:] else ""
            alike = "names that differ only in case are different names"
            warnings.append(f"{unlike[0]} are two {kind}: {alike}{more}")
    return tuple(warnings)


def _once(list_name: str, named: Iterable[Node | Keyspace]) -> None:
    first: dict[str, int] = {}
    for at, each in enumerate(named):
        if first.setdefault(each.name, at) != at:
            allowed = f"a name other than that of {list_name}[{first[each.name]}]"
            raise BadInput(f"{list_name}[{at}].name", each.name, allowed)


def _tokens_once(nodes: tuple[Node, ...]) -> None:
    owner: dict[int, str] = {}
    for at, node in enumerate(nodes):
        for place, token in enumerate(node.tokens):
            if token in owner:
                allowed = f"tokens with one owner; {shorten(owner[token])} already owns this one"
                raise BadInput(f"nodes[{at}].tokens[{place}]", token, allowed)
            owner[token] = node.name


LARGEST_SIZES = 64 * 2**20
MOST_BYTES = 2**63 - 1


class SizesFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The file as it is written; bounds and bytes are checked one by one."""

    nodes: dict[str, Any] = {}
    ranges: dict[str, list[tuple[Any, Any, Any]]] = {}


def read_stored(path: str | Path, ring_file: RingFile) -> Stored:
    """The sizes in a file, for one ring. Raises BadInput for what is not read, or not of it."""
    text = read_text(path, "sizes file", LARGEST_SIZES)
    content = parse_json(text, "sizes file")
    try:
        given = msgspec.convert(content, SizesFile, strict=True)
    except (msgspec.ValidationError, UnicodeError) as error:
        allowed = '{"nodes": {"n1": bytes, …}, "ranges": {"ks": [[left, right, bytes], …]}}'
        raise BadInput("sizes file", str(path), f"{allowed} ({error})") from None
    try:
        nodes = checked_nodes(given.nodes, ring_file)
        rows = ((name, _size_rows(rows, name, ring_file)) for name, rows in given.ranges.items())
        return Stored(nodes, tuple(rows))
    except BadInput as error:
        raise located(error, text) from None


def _size_rows(
    given: list[tuple[Any, Any, Any]], keyspace: str, ring_file: RingFile
) -> tuple[SizeRow, ...]:
    names = [known.name for known in ring_file.keyspaces]
    if keyspace not in names:
        raise BadInput("ranges", keyspace, "keyspaces of the ring: " + ", ".join(names))
    space = ring_file.ring.space
    rows: list[SizeRow] = []
    for place, (left, right, size) in enumerate(given):
        field = f"ranges.{keyspace}[{place}]"
        low = space.low if left is None else token_in(left, space, field)
        high = space.high if right is None else token_in(right, space, field)
        if low >= high:
            raise BadInput(field, (left, right), "a left bound below the right one")
        rows.append((low, high, _bytes(size, field)))
    rows.sort()
    for row, other in pairwise(rows):
        if other[0] < row[1]:
            raise BadInput(f"ranges.{keyspace}", other[:2], "ranges that do not overlap")
    return tuple(rows)


def _bytes(given: Any, field: str) -> int:
    if type(given) is int and 0 <= given <= MOST_BYTES:
        return given
    raise BadInput(field, given, f"bytes, an integer from 0 to {MOST_BYTES}")


def checked_nodes(given: Mapping[str, Any], ring_file: RingFile) -> tuple[tuple[str, int], ...]:
    """Bytes by node. Raises BadInput for a name of no node, or what is no number of bytes."""
    names = ring_file.ring.names
    known = frozenset(names)
    for name in given:
        if name not in known:
            more = " …" if len(names) > 12 else ""
            raise BadInput("nodes", name, "one of " + ", ".join(names[:12]) + more)
    return tuple((name, _bytes(size, f"nodes.{name}")) for name, size in given.items())
