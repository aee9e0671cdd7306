"""The metadata log of a real cluster: its entries, its directory, one node's view of its service.

What ``nodetool cms dumplog``, ``dumpdirectory`` and ``describe`` print, or the rows of
``system_views.cluster_metadata_log`` and ``cluster_metadata_directory`` as the table that cqlsh
prints, JSON or CSV. A block of nodetool has its fields in any order. A text inside it may run over
several lines: a field begins only where its name stands padded as in the first block.

Source: published ``CMSAdmin``, ``CMSOperations`` and the transformations' own texts.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from email.utils import format_datetime, parsedate_to_datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from kit.edge.paths import source_name
from kit.edge.reading import read_text
from kit.errors import BadInput
from kit.operators.importers import dumps
from kit.operators.importers.cql import parse_map, parse_set
from kit.operators.importers.nodetool import HOST_ID, bad_line, node_name, token_of
from kit.operators.importers.ringfile import LARGEST_FILE, place_name

KINDS = (
    "PRE_INITIALIZE_CMS INITIALIZE_CMS FORCE_SNAPSHOT TRIGGER_SNAPSHOT SCHEMA_CHANGE REGISTER "
    "UNREGISTER UNSAFE_JOIN PREPARE_JOIN START_JOIN MID_JOIN FINISH_JOIN PREPARE_MOVE START_MOVE "
    "MID_MOVE FINISH_MOVE PREPARE_LEAVE START_LEAVE MID_LEAVE FINISH_LEAVE ASSASSINATE "
    "PREPARE_REPLACE START_REPLACE MID_REPLACE FINISH_REPLACE CANCEL_SEQUENCE START_ADD_TO_CMS "
    "FINISH_ADD_TO_CMS REMOVE_FROM_CMS STARTUP CUSTOM PREPARE_SIMPLE_CMS_RECONFIGURATION "
    "PREPARE_COMPLEX_CMS_RECONFIGURATION ADVANCE_CMS_RECONFIGURATION CANCEL_CMS_RECONFIGURATION "
    "ALTER_TOPOLOGY"
).split()
STATES = "REGISTERED BOOTSTRAPPING BOOT_REPLACING JOINED LEAVING MOVING LEFT".split()
LOG_FIELDS = ("kind", "transformation", "entry_id", "entry_time")
NODE_FIELDS = (
    "host_id state cassandra_version serialization_version rack dc broadcast_address "
    "broadcast_port local_address local_port native_address native_port"
).split()
MAYBE = ("tokens", "multi_step_operation")
LABELS = (
    "CMS Identifier,Members,Needs reconfiguration,Is Member,Service State,Is Migrating,Epoch,"
    "Local Pending Count,Commits Paused,Replication factor"
).split(",")
LATER = ("CMS Identifier",)
"""Labels and columns that older releases do not print."""
TITLE = "Cluster Metadata Service:"
MOST_ENTRIES = 1_000_000
LARGEST_EPOCH = 2**63 - 1
FORMS = (
    "what nodetool cms dumplog, dumpdirectory or describe prints, or rows of "
    "system_views.cluster_metadata_log or cluster_metadata_directory as cqlsh prints them, JSON or "
    "CSV"
)
_SAID: Mapping[str, str] = {
    **dict.fromkeys(
        ("Needs reconfiguration", "Is Member", "Is Migrating", "Commits Paused"), "true|false"
    ),
    "Service State": "LOCAL|REMOTE|GOSSIP|RESET",
    **dict.fromkeys(("Epoch", "Local Pending Count"), "[0-9]{1,18}"),
    "CMS Identifier": "-?[0-9]{1,18}",
}
"""What may be said of a label: these words, or a number."""
_UNTOLD = "?"
"""What our own tool prints for a label of which a model says nothing; never the epoch."""
_HEAD = re.compile(r"(Epoch|NodeId): ([0-9]{1,19})")
_FIELD = re.compile(r"  ([a-z_]+)( +)")
_DATE = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} "
    r"[A-Za-z0-9:+-]{1,12} [0-9]{4}"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?"
    r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_NODE = r"(?:NodeId\{id=)?([0-9]{1,9})\}?(?![\w-])"
_PARTS = {
    "node": re.compile(
        rf"(?:(?<!NodeId)[{{ ](?:id|nodeId|leaving|replacement|toReplace)=| current=\w+\(){_NODE}"
    ),
    "replaced": re.compile(rf"[{{ ]replaced={_NODE}"),
    "tokens": re.compile(r"[{ ]tokens=\[([-0-9, ]*)\]"),
    "force": re.compile(r"[{ ]force=(true|false)"),
    "address": re.compile(r"[{ ]broadcastAddress=([^,} ]+)"),
    "place": re.compile(r"[{ ]location=([^,}]+)/([^,/}]+)"),
}
ENTRY_ID = re.compile(r"-?[0-9]{1,19}")


class LogEntry(Struct, frozen=True):
    """One committed event, as the log keeps it.

    ``node`` is the number of the node that it is about, ``replaced`` of the one whose place that
    takes, ``tokens`` those that it will own, ``address``, ``dc`` and ``rack`` those of a
    registration, ``address`` also of a startup; None (and no token) where the text does not tell.
    ``text`` is the rendered transformation, which is not canonical: two renderings of one event may
    differ. ``where`` is its place in the file, in words.
    """

    epoch: int
    kind: str
    text: str
    entry_id: str
    time: str
    node: int | None = None
    replaced: int | None = None
    tokens: tuple[int, ...] = ()
    force: bool = False
    address: str | None = None
    dc: str | None = None
    rack: str | None = None
    where: str = ""


class DirectoryNode(Struct, frozen=True):
    """A node as the directory of the asked node has it; ``tokens`` None: the file has none.

    ``fields`` is all that the file tells of it, by field, addresses without the host name that only
    the node itself prints.
    """

    node: int
    host_id: str
    state: str
    dc: str
    rack: str
    address: str
    fields: tuple[tuple[str, str], ...]
    tokens: tuple[int, ...] | None = None
    operation: tuple[tuple[str, str], ...] = ()


class ServiceView(Struct, frozen=True):
    """The answer of ``nodetool cms describe``: one node's own view, by label."""

    values: tuple[tuple[str, str], ...]

    @property
    def epoch(self) -> int:
        """The last epoch that the asked node has applied."""
        return int(dict(self.values)["Epoch"])

    @property
    def members(self) -> tuple[str, ...]:
        """The addresses of the members of the CMS, with their ports; empty: none is told."""
        every = _members(dict(self.values)["Members"])
        return tuple(each for each in every if each not in ("", _UNTOLD))


class Log(Struct, frozen=True):
    """The entries of a log, by epoch."""

    rows: tuple[LogEntry, ...]


class Directory(Struct, frozen=True):
    """The nodes of a directory, by number."""

    rows: tuple[DirectoryNode, ...]


DumpedMetadata: TypeAlias = Log | Directory | ServiceView


def is_metadata(text: str) -> bool:
    """Whether a text, or its beginning, looks like one of the forms."""
    return _form(text) is not None


def parse_metadata(text: str, source: str) -> DumpedMetadata:
    """Entries by epoch, nodes by number, or one node's view.

    Raises BadInput for no known form, one that is cut short, an entry or a field that is missing,
    wrong or twice.
    """
    text = text.replace("\r\n", "\n")
    if (form := _form(text)) is None:
        first = next((line for line in text.split("\n") if line.strip()), "")
        raise bad_line(source, 1, first, FORMS)
    if form == "describe":
        return _view(text, source)
    if form == "blocks":
        title, rows = _blocks(text, source)
    else:
        title, rows = _rows(text, source, form)
    if len(rows) > MOST_ENTRIES:
        raise BadInput(source, f"{len(rows)} blocks", f"at most {MOST_ENTRIES}")
    if title == "Epoch":
        return Log(tuple(_entry(epoch, row, where) for epoch, row, where in rows))
    if form == "blocks":
        # Nodetool prints an operation only while one runs; older tables have no column of it.
        rows = [(at, {"multi_step_operation": None, **row}, where) for at, row, where in rows]
    nodes, owners = list[DirectoryNode](), dict[int, int]()
    for number, row, where in rows:
        nodes.append(node := _node(number, row, where))
        for token in node.tokens or ():
            if owners.setdefault(token, number) != number:
                allowed = f"a token of its own; NodeId {owners[token]} owns this one"
                raise BadInput(f"{where} tokens", token, allowed)
    return Directory(tuple(nodes))


def _form(text: str) -> str | None:
    if (first := text.lstrip("\n").split("\n", 1)[0].strip()) == TITLE:
        return "describe"
    if _HEAD.fullmatch(first):
        return "blocks"
    if first[:1] in ("[", "{"):
        head = text[:20_000]
        named = '"transformation"' in head or '"serialization_version"' in head
        return "json" if named else None
    table = dumps.PRINTED.match(text)
    columns = {*map(str.strip, table[1].split("|"))} if table else dumps.header_names(text)
    named = {"epoch", "transformation"} <= columns or {"node_id", "host_id"} <= columns
    return ("table" if table else "csv") if named else None


Row: TypeAlias = tuple[int, Mapping[str, Any], str]
"""An epoch or a node's number, its fields, and the words that name them in messages."""


def _blocks(text: str, source: str) -> tuple[str, list[Row]]:
    lines = text.rstrip("\n").split("\n")
    title = str(_HEAD.fullmatch(lines[0].strip()) and lines[0].partition(":")[0])
    names = {*(LOG_FIELDS if title == "Epoch" else (*NODE_FIELDS, *MAYBE))}
    padded = (field for field in map(_FIELD.match, lines[1:]) if field and field[1] in names)
    width = next((field.end() for field in padded), 0)
    rows: list[Row] = []
    fields: dict[str, str] = {}
    last = ""
    for number, line in enumerate(lines, 1):
        head = _HEAD.fullmatch(line)
        name = _field(line, width)
        if name not in names and last == "transformation":
            name = ""
        ahead = _field(lines[number], width) if number < len(lines) else "the end"
        if head and head[1] == title and (ahead or not rows):
            key = int(head[2])
            if rows and key <= rows[-1][0]:
                allowed = f"a number above {rows[-1][0]}, in ascending order"
                raise bad_line(source, number, line, allowed)
            fields, last = {}, ""
            rows.append((key, fields, f"{source} line {number} {title} {key}"))
        elif name in names:
            if name in fields:
                raise bad_line(source, number, line, f"each field once in {title} {rows[-1][0]}")
            fields[name], last = line[width:], name
        elif last and not name:
            fields[last] += "\n" + line
        else:
            raise bad_line(source, number, line, f"a field of {title}: {', '.join(sorted(names))}")
    return title, rows


def _field(line: str, width: int) -> str:
    field = _FIELD.match(line)
    return field[1] if field and field.end() == width else ""


def _rows(text: str, source: str, form: str) -> tuple[str, list[Row]]:
    if not (given := READERS[form](text, source)):
        raise BadInput(source, "no row", FORMS)
    is_log = "transformation" in given[0][1]
    key = "epoch" if is_log else "node_id"
    rows: list[Row] = []
    for where, row in given:
        value = row.get(key)
        number = value if type(value) is int else token_of(value) if type(value) is str else None
        if number is None or number < 0:
            raise BadInput(f"{where} {key}", value, "a number from 0")
        rows.append((number, row, where))
    rows.sort(key=lambda row: row[0])
    for (before, _, _), (number, _, where) in pairwise(rows):
        if before == number:
            raise BadInput(f"{where} {key}", number, "each once")
    return "Epoch" if is_log else "NodeId", rows


def _table_rows(text: str, source: str) -> list[tuple[str, Mapping[str, Any]]]:
    rows: list[tuple[str, Mapping[str, Any]]] = []
    first, pages = 1, re.split(f"^{dumps.MORE}", text, flags=re.MULTILINE)
    if len(pages) > 1 and not re.search(r"^ *\([0-9]+ rows?\)", pages[-1], re.MULTILINE):
        where = f"{source} line {text[: text.rindex(dumps.MORE)].count(chr(10)) + 1}"
        raise BadInput(where, dumps.MORE, dumps.ALL_PAGES)
    for page in pages:
        rows += _page_rows(page, source, first, len(rows))
        first += page.count("\n")
    return rows


def _page_rows(
    text: str, source: str, first: int, before: int
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    head, rule, *lines = [*text.strip("\n").split("\n"), "", ""]
    first += len(text) - len(text.lstrip("\n"))
    if not re.fullmatch(r"-+(\+-+)+ *", rule):  # a page without rows has no header
        lines, head, rule = [head, rule, *lines], "", ""
        first -= 2
    bars = [-1, *(at for at, each in enumerate(rule) if each == "+")]
    cuts = [slice(a + 1, b) for a, b in zip(bars, (*bars[1:], None), strict=True)]
    names = [head[cut].strip() for cut in cuts]
    for number, line in enumerate(lines, first + 2):
        count = re.fullmatch(r"\(([0-9]{1,9}) rows?\)", line.strip())
        if not line.strip() or (count and int(count[1]) == before):
            continue
        if count or not head or any(line[bar : bar + 1] != "|" for bar in bars[1:]):
            raise bad_line(source, number, line, "a row below its columns, then the count of rows")
        cells = [re.sub(r"\\(.)", _unescaped, line[cut].strip()) for cut in cuts]
        row = {n: None if cell == "null" else cell for n, cell in zip(names, cells, strict=True)}
        before += 1
        yield f"{source} line {number}", row


READERS: Mapping[str, Callable[[str, str], list[tuple[str, Mapping[str, Any]]]]] = {
    "json": dumps.parse_json_rows,
    "csv": dumps.parse_csv_rows,
    "table": _table_rows,
}


def _unescaped(match: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t", "r": "\r"}.get(match[1], match[1])


def _entry(epoch: int, row: Mapping[str, Any], where: str) -> LogEntry:
    kind, text, entry_id, time = (_text(row, name, where) for name in LOG_FIELDS)
    if not 1 <= epoch <= LARGEST_EPOCH:
        raise BadInput(f"{where} epoch", epoch, f"a number from 1 to {LARGEST_EPOCH}")
    if not re.fullmatch(r"[A-Z][A-Z0-9_]{0,79}", kind):
        raise BadInput(f"{where} kind", kind, "a kind in capitals, such as PREPARE_JOIN")
    if not ENTRY_ID.fullmatch(entry_id):
        raise BadInput(f"{where} entry_id", entry_id, "a number")
    if not _DATE.fullmatch(time) or not _exists(time):
        allowed = "a time as Java or CQL writes it, such as Mon Nov 23 10:00:00 UTC 2026"
        raise BadInput(f"{where} entry_time", time, allowed)
    return LogEntry(epoch, kind, text, entry_id, time, **_parts(kind, text, where), where=where)


def _exists(time: str) -> bool:
    try:
        if time[0].isdigit():
            datetime.fromisoformat(f"{time[:10]}T{time[11:19]}")
            return True
        name, month, day, clock, _, year = time.split()
        moment = parsedate_to_datetime(f"{day} {month} {year} {clock}")
    except ValueError:
        return False
    return format_datetime(moment)[:3] == name


def _parts(kind: str, text: str, where: str) -> dict[str, Any]:
    if kind in ("PRE_INITIALIZE_CMS", "INITIALIZE_CMS", "FORCE_SNAPSHOT", "SCHEMA_CHANGE"):
        return {}
    matches = {name: part.search(text) for name, part in _PARTS.items()}
    parts: dict[str, Any] = {}
    for name in ("node", "replaced"):
        if match := matches[name]:
            parts[name] = int(match[1])
    if match := matches["tokens"]:
        parts["tokens"] = _tokens(match[1].split(","), f"{where} tokens")
    if match := matches["force"]:
        parts["force"] = match[1] == "true"
    if kind in ("REGISTER", "STARTUP") and (match := matches["address"]):
        parts["address"] = _address(match[1], f"{where} broadcastAddress")
    if kind == "REGISTER" and (match := matches["place"]):
        parts["dc"], parts["rack"] = (place_name(part.strip(), where) for part in match.groups())
    return parts


def _node(number: int, row: Mapping[str, Any], where: str) -> DirectoryNode:
    given = {name: _text(row, name, where) for name in NODE_FIELDS}
    if given["state"] not in STATES:
        raise BadInput(f"{where} state", given["state"], ", ".join(STATES))
    if not re.fullmatch(HOST_ID, given["host_id"]):
        raise BadInput(f"{where} host_id", given["host_id"], "a UUID")
    tokens, operation = row.get("tokens"), row.get("multi_step_operation")
    if isinstance(tokens, str):
        inner = tokens.strip()
        bare = inner[1:-1].replace("'", "").split(",")
        tokens = bare if inner[:1] == "[" else parse_set(inner, f"{where} tokens")
    if isinstance(operation, str):
        operation = _operation(operation, f"{where} multi_step_operation")
    owned = None if tokens is None else _tokens(tokens, f"{where} tokens")
    steps = tuple(sorted((str(k), str(v)) for k, v in (operation or {}).items()))
    fields = {name: given[name].rpartition("/")[2] for name in NODE_FIELDS}
    fields |= {"host_id": given["host_id"].lower()}
    for name in ("dc", "rack"):
        fields[name] = place_name(given[name], f"{where} {name}")
    fields |= {} if owned is None else {"tokens": ", ".join(map(str, owned))}
    if "multi_step_operation" in row:
        fields["multi_step_operation"] = ", ".join(map(" ".join, steps)) or "none"
    address = _address(f"{fields['broadcast_address']}:{fields['broadcast_port']}", where)
    host_id, state, dc, rack = (fields[name] for name in ("host_id", "state", "dc", "rack"))
    every = tuple(fields.items())
    return DirectoryNode(number, host_id, state, dc, rack, address, every, owned, steps)


def _operation(text: str, field: str) -> Mapping[str, Any]:
    """A map as Java prints it, ``{kind=…, nextStep=…}``, or as CQL does."""
    if not re.search(r"^\{\s*\w+=", text):
        return parse_map(text, field)
    pairs = (part.partition("=") for part in text.strip()[1:-1].split(","))
    return {key.strip(): value.strip() for key, _, value in pairs}


def _text(row: Mapping[str, Any], name: str, where: str) -> str:
    if (value := row.get(name)) is None:
        raise BadInput(f"{where} {name}", None, "a value (is the file cut short?)")
    if not isinstance(value, str | int):
        raise BadInput(f"{where} {name}", value, "a string")
    return str(value).strip()


def _tokens(given: Any, field: str) -> tuple[int, ...]:
    if not isinstance(given, list):
        raise BadInput(field, given, "a list of tokens")
    texts = (str(token).strip() for token in given)
    return dumps.ascending_tokens(filter(None, texts), field)


def _address(text: str, field: str) -> str:
    """An address without the host name that the node itself prints before it, and without port."""
    bare = text.strip().rpartition("/")[2]
    name = node_name(bare, field)
    return name.rpartition(":")[0] if re.fullmatch(r"[^:]+:[0-9]+|\[.*\]:[0-9]+", name) else name


def _view(text: str, source: str) -> ServiceView:
    values: dict[str, str] = {}
    for number, line in enumerate(text.strip().split("\n")[1:], 2):
        label, colon, value = line.strip().partition(":")
        if not colon or label not in LABELS or label in values:
            raise bad_line(source, number, line, f"each of these once: {', '.join(LABELS)}")
        values[label] = value.strip()
    for label in LABELS:
        if label not in values and label not in LATER:
            raise BadInput(f"{source} {label}", None, "a line (is the file cut short?)")
    for label, words in _SAID.items():
        is_told = values.get(label, _UNTOLD) != _UNTOLD or label == "Epoch"
        if is_told and not re.fullmatch(words, values[label]):
            allowed = "a number" if "[" in words else words.replace("|", ", ")
            raise BadInput(f"{source} {label}", values[label], allowed)
    view = ServiceView(tuple(values.items()))
    for address in view.members:
        node_name(address, f"{source} Members")
    return view


def read_metadata(path: str | Path) -> DumpedMetadata:
    """As ``parse_metadata``, from a file. Raises BadInput also for one that cannot be read."""
    return parse_metadata(read_text(path, "log", LARGEST_FILE), source_name(path))


def differences(first: DumpedMetadata, second: DumpedMetadata) -> Iterator[tuple[str, str, str]]:
    """How two of a kind differ: what, as the first has it, as the other has it.

    Of two logs it is the first epoch that differs: a log that ends earlier is an older one. What
    only one of two views or directories tells is no difference, nor is what says no more than which
    node was asked, or in which release.
    """
    if isinstance(first, ServiceView) and isinstance(second, ServiceView):
        values = dict(second.values)
        for label, value in first.values:
            if label in values and _known(label, value) != _known(label, values[label]):
                yield label, value, values[label]
    elif isinstance(first, Log) and isinstance(second, Log):
        yield from _first_difference(first.rows, second.rows)
    elif isinstance(first, Directory) and isinstance(second, Directory):
        ours, theirs = ({node.node: node for node in each.rows} for each in (first, second))
        for number in sorted({*ours, *theirs}):
            if number not in ours or number not in theirs:
                both = (each.get(number) for each in (ours, theirs))
                here, there = (each.state if each else "not there" for each in both)
                yield f"node {number}", here, there
                continue
            others = dict(theirs[number].fields)
            for field, was in ours[number].fields:
                if (now := others.get(field, was)) != was:
                    yield f"{field} of node {number}", was, now


def _members(value: str) -> list[str]:
    """The addresses of members. Newer releases put the node's number before each."""
    addresses = re.sub(r"\(nodeid=[0-9]+,address=|\)", "", value).split(",")
    return [each.strip().rpartition("/")[2] for each in addresses]


def _known(label: str, value: str) -> object:
    """The value of a label that is the same whichever node is asked."""
    if label == "Members":
        return sorted(_members(value))
    if label == "Service State" and value in ("LOCAL", "REMOTE"):
        return "by the log"
    return None if label == "Is Member" else value


def _first_difference(
    log: tuple[LogEntry, ...], another: tuple[LogEntry, ...]
) -> Iterator[tuple[str, str, str]]:
    ours, theirs = (
        {entry.epoch: f"{entry.kind}, entry {entry.entry_id}" for entry in each}
        for each in (log, another)
    )
    first, last = max(min(ours), min(theirs)), min(max(ours), max(theirs))
    if first > last:
        yield "epochs", f"{min(ours)} to {max(ours)}", f"{min(theirs)} to {max(theirs)}"
    for epoch in range(first, last + 1):
        was, now = ours.get(epoch, "not there"), theirs.get(epoch, "not there")
        if was != now:
            yield f"epoch {epoch}", was, now
            return
