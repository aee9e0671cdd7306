"""What the outputs of nodetool have in common: addresses, loads, health and state of a node.

The same columns are printed by Apache Cassandra and by ScyllaDB; the latter writes KB for 1024
bytes, as older versions of the former do. A comma before the decimals comes from the locale.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from itertools import islice, pairwise, takewhile
from operator import itemgetter
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput
from kit.operators.importers.ringfile import place_name
from kit.ring.replication import Keyspace
from kit.ring.tokens import INT64_HIGH, INT64_LOW
from kit.ring.topology import Ring

Health = Literal["up", "down", "excluded", "unknown"]
State = Literal["normal", "joining", "leaving", "moving"]
Form = Literal["ring", "status", "describering", "dump", "ring file"]


class Seen(Struct, frozen=True):
    """The part of one file that is about one node.

    ``tokens`` are ascending; ``count`` is how many it owns, where only that is told; ``load`` is in
    bytes; ``host_id`` is a UUID in lower case.
    """

    name: str
    dc: str | None = None
    rack: str | None = None
    tokens: tuple[int, ...] | None = None
    count: int | None = None
    health: Health | None = None
    state: State | None = None
    load: int | None = None
    host_id: str | None = None


class Listed(Struct, frozen=True, order=True):
    """One range as a tool lists it, wrapping where the tool wraps: ``(left, right]``, replicas."""

    left: int
    right: int
    replicas: tuple[str, ...]


class Listing(Struct, frozen=True):
    """The part of one file that is about a cluster.

    ``source`` names the file in messages. ``complete`` says that every node of the cluster is in
    it. ``ring`` is what a ring file holds, as it is.
    ``ranges`` are those of ``nodetool describering``, of one keyspace that the output does not
    name.
    """

    source: str
    form: Form
    nodes: tuple[Seen, ...]
    complete: bool = True
    keyspaces: tuple[Keyspace, ...] = ()
    ranges: tuple[Listed, ...] = ()
    warnings: tuple[str, ...] = ()
    ring: Ring | None = None
    epoch: int | None = None
    cluster: str | None = None


def bad_line(source: str, number: int, line: str, allowed: str) -> BadInput:
    """The error for a line of a file: its number (from 1) and its content, shortened."""
    return BadInput(f"{source} line {number}", " ".join(line[:500].split()), allowed)


LONGEST_ROW = 2000  # characters; a longer line is no row of a table
LOAD = r"\?|[0-9]{1,20}(?:[.,][0-9]{1,9})?(?: (?:bytes|[KMGT]i?B))?"
OWNS = r"\?|\S{1,12}%"
HOST_ID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
ADDRESS = "an IPv4 or IPv6 address, with :port where the tool printed ports, or a host name"
_HOST = re.compile(
    r"(?=.{1,200}$)[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?"
    r"(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?"
)
_SCOPE = re.compile(r"[A-Za-z0-9._-]{1,32}")
_PORT = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:]*):(?P<port>[0-9]{1,5})")
_TOKEN = re.compile(r"-?[0-9]{1,19}")
_TOKENS = re.compile(r"-?[0-9]{1,19}(?:\n-?[0-9]{1,19})*+")
_UNITS = {"": 0, "bytes": 0, "K": 10, "M": 20, "G": 30, "T": 40}  # powers of two

# By the first letter, which nodetool status prints alone.
HEALTH: dict[str, Health] = {"U": "up", "D": "down", "X": "excluded", "?": "unknown"}
STATES: dict[str, State] = {"N": "normal", "J": "joining", "L": "leaving", "M": "moving"}


def node_name(text: str, field: str) -> str:
    """A node's name: its address in canonical form, a port kept. Raises BadInput for none."""
    if (with_port := _PORT.fullmatch(text)) is None:
        return _canonical(text, text, field)
    host, port = with_port["host"], int(with_port["port"])
    if port > 65535:
        raise BadInput(field, text, ADDRESS)
    if host.startswith("["):
        host = _canonical(host[1:-1], text, field)
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return f"{_canonical(host, text, field)}:{port}"


def _canonical(host: str, given: str, field: str) -> str:
    try:
        if ":" in host:
            address = IPv6Address(host)
            if not _SCOPE.fullmatch(address.scope_id or "0"):
                raise AddressValueError
            # Java shows a mapped address as the IPv4 one that it stands for.
            return str(address.ipv4_mapped or address)
        if re.fullmatch(r"[0-9.]+", host):
            return str(IPv4Address(host))
    except AddressValueError:
        raise BadInput(field, given, ADDRESS) from None
    if _HOST.fullmatch(host) is None:
        raise BadInput(field, given, ADDRESS)
    return host


def name_order(name: str) -> tuple[int, int, str]:
    """A sort key that puts addresses in the order of their numbers, host names last."""
    host = name.partition(":")[0] if name.count(":") == 1 else name
    bare = name.rpartition("]")[0].lstrip("[") or host
    try:
        if ":" in bare:
            return 1, int(IPv6Address(bare.partition("%")[0])), name
        return 0, int(IPv4Address(bare)), name
    except AddressValueError:
        return 2, 0, name


def bytes_of(load: str) -> int | None:
    """The bytes of a load that matches ``LOAD``: ``1.5 GiB``, ``306,77 KB``; None for ``?``."""
    if load == "?":
        return None
    number, _, unit = load.partition(" ")
    power = _UNITS["bytes" if unit == "bytes" else unit[:1]]
    return round(Fraction(number.replace(",", ".")) * (1 << power))


def token_of(text: str) -> int | None:
    """A decimal token within signed 64 bits, or None for anything else."""
    if _TOKEN.fullmatch(text) is None:
        return None
    token = int(text)
    return token if INT64_LOW <= token <= INT64_HIGH else None


def tokens_of(texts: Sequence[str]) -> list[int | None]:
    """The results of ``token_of`` for each text, without a line break in any.

    A ring may have a million of them, which are tokens as a rule: so they are looked at as one.
    """
    if _TOKENS.fullmatch("\n".join(texts)):
        tokens = list(map(int, texts))
        if min(tokens) >= INT64_LOW and max(tokens) <= INT64_HIGH:
            return [*tokens]
    return list(map(token_of, texts))


LEGEND = re.compile(r"Status=Up/Down(/eXcluded)?")
LEGEND_BELOW = "|/ State=Normal/Leaving/Joining/Moving"
STATUS_COLUMNS = re.compile(
    r"-- Address Load (?:Tokens Owns(?: \(effective\))? Host ID"
    r"|Owns(?: \(effective\))? Host ID (Token)) Rack"
)
STATUS_ROW = "a row of nodetool status, such as UN 10.0.0.1 1.5 GiB 256 33.3% HOST-ID rack1"
BEFORE = "the lines of nodetool status, starting with Datacenter:"
_START = rf"(?P<health>[UDX?])(?P<state>[NLJM])\s+(?P<address>\S+)\s+(?P<load>{LOAD})\s+"
_ID = rf"(?P<host_id>{HOST_ID}|\?|null)"
_COUNTED = re.compile(rf"{_START}(?P<count>[0-9]{{1,9}}|\?)\s+(?:{OWNS})\s+{_ID}\s+(?P<rack>\S.*)")
_SINGLE = re.compile(rf"{_START}(?:{OWNS})\s+{_ID}\s+(?P<token>\S+)\s+(?P<rack>\S.*)")


def parse_status_text(text: str, source: str) -> Listing:
    """The listing of ``nodetool status``: of tokens their count, only of single ones which they
    are.

    ScyllaDB separates columns by one space and knows nodes that are excluded (X).

    Raises BadInput for a line of no known form, output that is cut short, a node or a datacenter
    twice.
    """
    lines = [line.strip() for line in text.split("\n")]
    nodes: dict[str, Seen] = {}
    places: set[str] = set()
    dc: str | None = None
    at = 0
    single = False
    while at < len(lines):
        line = lines[at]
        if line.startswith(HEADING):
            if dc is not None and dc not in places:
                raise BadInput(f"{source} line {at}", dc, "a datacenter with rows")
            dc, single = _head(lines, at, source)
            if dc in places:
                raise bad_line(source, at + 1, line, "each datacenter once, from one output")
            at += 5
            continue
        at += 1
        if not line or (line.startswith("Note: ") and (nodes or dc is None)):
            continue
        if dc is None:
            raise bad_line(source, at, line, BEFORE)
        node = _status_node(line, source, at, dc, single)
        if node.name in nodes:
            raise bad_line(source, at, line, f"each node once, but {node.name} is already listed")
        nodes[node.name] = node
        places.add(dc)
    if dc is None or dc not in places:
        where = "no datacenter" if dc is None else dc
        raise BadInput(source, where, "datacenters with node rows (is the output cut short?)")
    return Listing(source, "status", tuple(nodes.values()))


def _head(lines: list[str], at: int, source: str) -> tuple[str, bool]:
    """A datacenter's name, and whether its rows have one token each instead of a count."""
    dc = lines[at].partition(":")[2].strip()
    head = [" ".join(line.split()) for line in lines[at + 1 : at + 5]]
    head += [""] * (4 - len(head))
    if not dc:
        raise bad_line(source, at + 1, lines[at], "Datacenter: and its name")
    columns = STATUS_COLUMNS.fullmatch(head[3])
    for place, fits, wanted in (
        (0, re.fullmatch("=+", head[0]), "a line of ="),
        (1, LEGEND.fullmatch(head[1]), "Status=Up/Down"),
        (2, head[2] == LEGEND_BELOW, LEGEND_BELOW),
        (3, columns, "-- Address Load Tokens Owns Host ID Rack"),
    ):
        if not fits:
            raise bad_line(source, at + 2 + place, head[place], f"{wanted} as this line")
    return dc, bool(columns and columns[1])


def _status_node(line: str, source: str, number: int, dc: str, single: bool) -> Seen:
    pattern = _SINGLE if single else _COUNTED
    row = pattern.fullmatch(line) if len(line) <= LONGEST_ROW else None
    if row is None:
        raise bad_line(source, number, line, STATUS_ROW)
    seen = _seen_row(row, dc, f"{source} line {number}")
    if row["host_id"] not in ("?", "null"):
        seen = replace(seen, host_id=row["host_id"].lower())
    if not single:
        return seen if row["count"] == "?" else replace(seen, count=int(row["count"]))
    if (token := token_of(row["token"])) is None:
        raise bad_line(source, number, line, "a row with a token, a signed 64-bit integer")
    return replace(seen, tokens=(token,))


def _seen_row(row: re.Match[str], dc: str, field: str) -> Seen:
    return Seen(
        node_name(row["address"], field),
        place_name(dc, field),
        place_name(row["rack"], field),
        health=HEALTH[row["health"][0]],
        state=STATES[row["state"][0]],
        load=bytes_of(row["load"]),
    )


HEADING = "Datacenter:"
UNDERLINE = "=========="
RING_COLUMNS = "Address Rack Status State Load Owns Token"
CLOSING = 'Warning: "nodetool ring" is used to output all the tokens of a node.'
TRAILERS = (CLOSING, "To view status related info of a node use", "Note: ")
RING_ROW = f"a row of nodetool ring: {RING_COLUMNS}, with Up, Down or ?, "
RING_ROW += "Normal, Joining, Leaving or Moving"
BESIDE = "besides the rows of each datacenter, only empty lines, Note: and the closing Warning:"
_RING_ROW = re.compile(
    r"(?P<address>\S+)\s+(?P<rack>\S.*?)\s*(?P<health>Up|Down|\?)\s+"
    r"(?P<state>Normal|Joining|Leaving|Moving)\s+"
    rf"(?P<load>{LOAD})\s+(?:{OWNS})"
)


def parse_ring_text(text: str, source: str) -> Listing:
    """The listing of ``nodetool ring``: nodes with tokens, places, health, state and load.

    A block per datacenter: heading, underline, names of the columns, a line that repeats the last
    token (empty when there is one row only), a row per token. A rack of twelve letters or more runs
    into the column behind it. Where nodes own several tokens, two closing lines say so.

    Raises BadInput for a line of no known form, output that is cut short, a token, node or
    datacenter twice.
    """
    return _RingText(text, source).listing()


class _RingText:
    """The text of ``nodetool ring`` while it is read; the line of each token is gathered."""

    def __init__(self, text: str, source: str) -> None:
        self.lines, self.source = text.split("\n"), source
        self.line_of: dict[int, int] = {}
        self.warnings: list[str] = []

    def listing(self) -> Listing:
        source, lines = self.source, self.lines
        headed = (at for at, line in enumerate(lines) if HEADING in line)  # few, and quick to see
        begins = [at for at in headed if lines[at].lstrip().startswith(HEADING)]
        self._trailers(0, begins[0] if begins else len(lines))
        if not begins:
            wanted = "the text of nodetool ring, from its first line"
            raise BadInput(source, "no datacenter", wanted)
        seen: dict[str, Seen] = {}
        places: set[str] = set()
        for begin, end in pairwise([*begins, len(lines)]):
            if not (dc := lines[begin].partition(":")[2].strip()) or dc in places:
                allowed = "Datacenter: and a name, each once, from one output"
                raise bad_line(source, begin + 1, lines[begin], allowed)
            places.add(dc)
            for node in self._block(begin, end, dc):
                if node.name in seen:
                    allowed = f"each node once, but it is also in {seen[node.name].dc}"
                    raise BadInput(source, f"{node.name} in {dc}", allowed)
                seen[node.name] = node
        several = any(len(node.tokens or ()) > 1 for node in seen.values())
        if several and not any(line.strip() == CLOSING for line in reversed(lines[begins[-1] :])):
            lacks = "the closing lines of nodetool ring are missing"
            self.warnings.append(f"{source}: {lacks}, so a datacenter might also be missing")
        return Listing(source, "ring", tuple(seen.values()), warnings=tuple(self.warnings))

    def _block(self, begin: int, end: int, dc: str) -> list[Seen]:
        source, lines = self.source, self.lines
        for at, wanted in enumerate((UNDERLINE, RING_COLUMNS), begin + 1):
            line = " ".join(lines[at].split()) if at < end else ""
            if line != wanted:
                raise bad_line(source, at + 1, line, f"{wanted!r} as this line")
        at = begin + 3
        last = token_of(lines[at].strip()) if at < end else None
        if last is not None or (at < end and not lines[at].strip()):
            at += 1
        stop, nodes, tail = self._rows(at, end, dc)
        if not (count := sum(len(node.tokens or ()) for node in nodes)):
            allowed = "a datacenter with rows (is the output cut short?)"
            raise BadInput(f"{source} line {begin + 1}", dc, allowed)
        if last is not None and tail != last:
            allowed = f"{last} as the last token of {dc}, as above its rows"
            allowed += " (is the output cut short or mixed up?)"
            raise BadInput(f"{source} line {stop}", tail, allowed)
        if last is None and count > 1:
            lacks = f"no line above the rows of {dc} repeats its last token"
            self.warnings.append(f"{source}: {lacks}, so rows might be missing")
        self._trailers(stop, end)
        return nodes

    def _rows(self, at: int, end: int, dc: str) -> tuple[int, list[Seen], int | None]:
        """Rows up to the next empty line: where that is, the nodes, and the token of the last row.

        A ring may have a million rows, so that they are looked at together, and a node's words only
        where it comes first.
        """
        rows = list(takewhile(bool, map(str.strip, islice(self.lines, at, end))))
        split = [line.rpartition(" ") for line in rows]
        heads, words = [head for head, _, _ in split], [word for _, _, word in split]
        first = dict(zip(reversed(heads), reversed(range(len(heads))), strict=True))
        in_order = sorted(first.items(), key=itemgetter(1))
        stop = next((i for _, i in in_order if rows[i].startswith(TRAILERS)), len(rows))
        nodes: dict[str, Seen] = {}
        names: set[str] = set()
        for head, place in in_order:
            if place < stop:
                nodes[head] = node = self._node(head, rows[place], at + place + 1, dc)
                if node.name in names:
                    allowed = f"what other rows say about {node.name}"
                    raise bad_line(self.source, at + place + 1, rows[place], allowed)
                names.add(node.name)
        tokens = self._tokens(words[:stop], rows, at)
        owned: dict[str, list[int]] = {head: [] for head in nodes}
        for head, token in zip(heads, tokens, strict=False):
            owned[head].append(token)
        both = zip(nodes.values(), owned.values(), strict=True)
        made = [replace(node, tokens=tuple(sorted(own))) for node, own in both]
        return at + stop, made, tokens[-1] if tokens else None

    def _node(self, head: str, line: str, number: int, dc: str) -> Seen:
        row = _RING_ROW.fullmatch(head.rstrip()) if len(line) <= LONGEST_ROW else None
        if row is None:
            raise bad_line(self.source, number, line, RING_ROW)
        return _seen_row(row, dc, f"{self.source} line {number}")

    def _tokens(self, words: list[str], rows: list[str], at: int) -> list[int]:
        read, line_of = tokens_of(words), self.line_of
        tokens = [token for token in read if token is not None]
        if len(set(tokens)) == len(read) and line_of.keys().isdisjoint(tokens):
            line_of.update(zip(tokens, range(at + 1, at + 1 + len(tokens)), strict=True))
            return tokens
        for number, token in enumerate(read, at + 1):
            if token is None:
                wanted = "a row that ends in a token, a signed 64-bit integer"
                raise bad_line(self.source, number, rows[number - at - 1], wanted)
            if token in line_of:
                allowed = f"each token once, but line {line_of[token]} also has this one"
                raise BadInput(f"{self.source} line {number}", token, allowed)
            line_of[token] = number
        raise AssertionError

    def _trailers(self, at: int, end: int) -> None:
        for place in range(at, end):
            if (line := self.lines[place].strip()) and not line.startswith(TRAILERS):
                raise bad_line(self.source, place + 1, line, BESIDE)


HEADINGS = ("Schema Version:", "TokenRange:")
SIGNS = ("Schema Version:", "TokenRange")
RANGE_ROW = (
    "TokenRange(start_token:…, end_token:…, endpoints:[…], rpc_endpoints:[…], "
    "endpoint_details:[EndpointDetails(host:…, datacenter:…, rack:…)])"
)
_BOUNDS = re.compile(r"TokenRange\(start_token:(-?[0-9]{1,19}), end_token:(-?[0-9]{1,19})")
_DETAIL = re.compile(r"host:([^,()]+), datacenter:([^()]+?), rack:([^()]+)")
Details = tuple[Seen, ...]


def parse_describering_text(text: str, source: str) -> Listing:
    """The listing of ``nodetool describering``: ranges with replicas, and the replicas' places.

    The replicas are in the order of the walk from the range's last token, so the first one owns
    that token, unless the keyspace has no replicas in the owner's datacenter: then the first
    replica stands for it, and the keyspace's placements are the same.

    Raises BadInput for a line of no known form, ranges that leave a part of the ring out or cover
    one twice, a node in two places.
    """
    line_of: dict[int, int] = {}
    ranges: dict[int, Listed] = {}
    seen: dict[str, Seen] = {}
    known: dict[str, tuple[str, ...]] = {}
    for number, raw in enumerate(text.split("\n"), 1):
        if not (line := raw.strip()) or (not ranges and line.startswith(HEADINGS)):
            continue
        bounds, comma, rest = line.partition(", endpoints:[")
        tokens = _BOUNDS.fullmatch(bounds)
        left, right = (token_of(tokens[1]), token_of(tokens[2])) if tokens else (None, None)
        if left is None or right is None or not comma:
            raise bad_line(source, number, line, RANGE_ROW)
        if rest not in known:
            details = _details(rest, source, number, line)
            for node in details:
                if seen.setdefault(node.name, node) != node:
                    raise bad_line(source, number, line, f"{node.name} where other lines have it")
            known[rest] = tuple(node.name for node in details)
        if right in line_of:
            allowed = f"each range once, but line {line_of[right]} also ends there"
            raise BadInput(f"{source} line {number}", right, allowed)
        line_of[right] = number
        ranges[right] = Listed(left, right, known[rest])
    if not ranges:
        raise BadInput(source, "no range", f"lines of nodetool describering: {RANGE_ROW}")
    _check_cover(ranges, line_of, source)
    listed = tuple(ranges.values())
    return Listing(source, "describering", tuple(seen.values()), False, ranges=listed)


def _details(rest: str, source: str, number: int, line: str) -> Details:
    endpoints, first, rest = rest.partition("], rpc_endpoints:[")
    _, second, details = rest.partition("], endpoint_details:[EndpointDetails(")
    field = f"{source} line {number}"
    if not first or not second or not details.endswith(")])"):
        raise bad_line(source, number, line, RANGE_ROW)
    replicas = []
    for detail in details[:-3].split("), EndpointDetails("):
        if (fields := _DETAIL.fullmatch(detail)) is None:
            raise bad_line(source, number, line, RANGE_ROW)
        dc, rack = (place_name(name, field) for name in (fields[2], fields[3]))
        replicas.append(Seen(node_name(fields[1], field), dc, rack))
    names = [node_name(name, field) for name in endpoints.split(", ")]
    if names != [node.name for node in replicas] or len(set(names)) != len(names):
        raise bad_line(source, number, line, "matching endpoints and details, each node once")
    return tuple(replicas)


def _check_cover(ranges: dict[int, Listed], line_of: dict[int, int], source: str) -> None:
    before = max(ranges)
    for right in sorted(ranges):
        left = ranges[right].left
        around = before == INT64_HIGH and left == INT64_LOW
        if left != before and not around:
            allowed = f"a range that starts at {before}, where the one before it ends"
            allowed += "; is a line missing, or are outputs mixed?"
            raise BadInput(f"{source} line {line_of[right]}", left, allowed)
        before = right


def owned_tokens(ranges: tuple[Listed, ...]) -> dict[int, str]:
    """The tokens of the ring and their owners, as far as ranges tell: their ends.

    Where the range that goes around is cut in two at the ends of the line, with the same replicas
    on both sides, the cut is no token (CEP-21, "Data placements": ranges do not wrap).
    """
    owners = {listed.right: listed.replicas[0] for listed in ranges}
    after = {listed.left: listed.replicas for listed in ranges}
    for listed in ranges:
        low = listed.right == INT64_LOW and len(ranges) > 1
        if low and after[INT64_LOW] == listed.replicas:
            del owners[INT64_LOW]
    return owners
