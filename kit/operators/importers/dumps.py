"""Dumps of ``system.local``, ``system.peers`` and ``system_schema.keyspaces``, as JSON or CSV.

JSON is a list of rows, or a row per line; what cqlsh prints for ``SELECT JSON`` (heading, rows,
their count) is read too. CSV is what ``COPY … TO … WITH HEADER = TRUE`` writes, or has ``;``
between its fields, as ``scylla-tablets snapshot`` writes it, or ``|`` or a tab: there the word null
is null, too. The header alone says which. A table is known by its columns; columns that are not
needed may stay in. Tokens are a list, or a set as CQL writes it.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from kit.edge.json_text import parse_json
from kit.edge.limits import check_room
from kit.errors import BadInput
from kit.operators.importers.cql import parse_map, parse_set
from kit.operators.importers.nodetool import HOST_ID, Listing, Seen, bad_line, node_name, token_of
from kit.operators.importers.ringfile import place_name
from kit.ring.replication import PACKAGE, Keyspace, parse_replication

Row = Mapping[str, object]
NODE_COLUMNS = ("data_center", "rack", "tokens")
ADDRESSES = ("broadcast_address", "peer")
KEYSPACE_COLUMNS = ("keyspace_name", "replication")
PARTITIONER = "Murmur3Partitioner"
MOST_VALUES = 2**21  # a row is a node or a keyspace: it has some twenty, and tokens
BYTES = 200  # of memory for a value
_FIRST = re.compile(r"\s*(.*)")
ESCAPED = re.compile(r'\\[\\",]')  # as COPY TO writes a quote and a backslash
META = "MetaStrategy"  # Cassandra's own: the log of metadata itself, placed by no ring
ALLOWED = (
    "rows of system.local or system.peers (broadcast_address or peer, data_center, rack, tokens, "
    "host_id) or of system_schema.keyspaces (keyspace_name, replication)"
)


MORE = "---MORE---"
"""What cqlsh asks after each page."""
ALL_PAGES = "all pages, down to the count of rows"


def is_json(text: str) -> bool:
    """Whether rows are JSON, and not CSV."""
    return text.lstrip()[:1] in ("[", "{")


def parse_rows(text: str, source: str) -> list[tuple[str, Row]]:
    """Rows of JSON or CSV, each with its name in messages. Raises BadInput as each of the two."""
    return parse_json_rows(text, source) if is_json(text) else parse_csv_rows(text, source)


def parse_json_rows(text: str, source: str) -> list[tuple[str, Row]]:
    """Rows of JSON, each with its name in messages. Raises BadInput for no JSON, a wrong count."""
    if text.lstrip()[:1] == "[" and not text.lstrip().startswith("[json]"):
        given = parse_json(text, source)
        assert isinstance(given, list)
        return [_row(row, f"{source} row {at}") for at, row in enumerate(given, 1)]
    rows: list[tuple[str, Row]] = []
    framed, page = False, ""
    for number, raw in enumerate(text.split("\n"), 1):
        line, where = raw.strip(), f"{source} line {number}"
        if line.startswith(MORE):
            line, page = line.removeprefix(MORE).strip(), where
        if count := re.fullmatch(r"\(([0-9]{1,9}) rows?\)", line):
            if int(count[1]) != len(rows):
                raise BadInput(where, line, f"the count of the rows above it, {len(rows)}")
            page = ""
        elif line.startswith("{"):
            # In its tables cqlsh shows each backslash of a text as two.
            shown = line.replace("\\\\", "\\") if framed else line
            rows.append(_row(parse_json(shown, where), where))
        elif line == "[json]":
            framed = True
        elif line and not re.fullmatch("-+", line):
            raise bad_line(source, number, line, "a row as one JSON object per line")
    if page:
        raise BadInput(page, MORE, ALL_PAGES)
    return rows


def _row(given: object, where: str) -> tuple[str, Row]:
    if not isinstance(given, dict):
        raise BadInput(where, given, "a row as a JSON object")
    return where, given


def parse_csv_rows(text: str, source: str) -> list[tuple[str, Row]]:
    """Rows of CSV under their header, each with the words that name it; an empty field is null.

    Raises BadInput for a header with a column twice, a row that is longer or shorter than it.
    """
    if (values := sum(map(text.count, {COPY, "\n", delimiter(text)}))) > MOST_VALUES:
        raise BadInput(source, f"{values} values", f"at most {MOST_VALUES} values in all rows")
    check_room(source, f"{values} values", values * BYTES + len(text))
    records = csv_records(text, source)
    _, header = next(records, ("", []))
    null = nulls(text)
    return [
        (where, {n: None if each in null else each for n, each in zip(header, fields, strict=True)})
        for where, fields in records
    ]


COPY, SNAPSHOT = ",", ";"
"""What separates the fields that COPY TO writes, and those of a snapshot's files."""
DELIMITERS = (SNAPSHOT, "\t", "|", COPY)
PRINTED = re.compile(r"\n*([^|\n]*\|.*)\n-+(?:\+-+)+ *(?:\n|$)")
"""The head of a table that cqlsh prints: its columns, and the rule below them."""


def delimiter(text: str) -> str:
    """What separates the fields, as the header has it; never ``|`` in a table that cqlsh prints."""
    return COPY if PRINTED.match(text) else (*_delimiters(text), COPY)[0]


def _delimiters(text: str) -> list[str]:
    header = _header(text)
    return [each for each in DELIMITERS if each in header]


def nulls(text: str) -> tuple[str, ...]:
    """The fields that are null."""
    return ("",) if delimiter(text) == COPY else ("", "null")


def _header(text: str) -> str:
    first = _FIRST.match(text)
    assert first is not None  # any text has one
    return first[1].rstrip()


def header_names(text: str) -> set[str]:
    """The columns that the first line of CSV names, quoted or not; none where it is no CSV."""
    lines = csv.reader([_header(text)], strict=True, delimiter=delimiter(text))
    try:
        return {name.strip() for name in next(lines, [])}
    except csv.Error:
        return set()


def csv_records(text: str, source: str) -> Iterator[tuple[str, list[str]]]:
    """The records of CSV one by one, the header first, each with the words that name it.

    Empty lines are passed over.

    Raises BadInput for a header with a column twice or with two delimiters, a table as cqlsh
    prints it, a record that is longer or shorter than the header, a backslash before what COPY
    does not write one before.
    """
    wrong = ""
    if PRINTED.match(text):
        wrong = "CSV or JSON, but this is a table that cqlsh prints: use COPY … TO, or SELECT JSON"
    elif len(_delimiters(text)) > 1:
        wrong = "only one of , ; | and tab between the columns of a header"
    if wrong:
        header = _header(text)
        raise bad_line(source, text.count("\n", 0, text.find(header)) + 1, header, wrong)
    parts = delimiter(text)
    reader = csv.reader(_lines(text, source), escapechar="\\", strict=True, delimiter=parts)
    columns = 0
    while True:
        where = f"{source} line {reader.line_num + 1}"
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            reason = str(error).partition(" - ")[0]  # what follows speaks to programmers
            raise BadInput(where, "no CSV", f"CSV ({reason})") from None
        if not fields:
            continue
        if not columns:
            fields = [name.strip() for name in fields]
            columns = len(fields)
            if len(set(fields)) != columns:
                raise BadInput(where, ",".join(fields), "a header with each column once")
        elif len(fields) != columns:
            allowed = f"{columns} fields, as in the header (is the line cut short?)"
            raise BadInput(where, f"{len(fields)} fields", allowed)
        yield where, fields


def _lines(text: str, source: str) -> Iterator[str]:
    at = number = 0
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        line, number = text[at:end], number + 1
        if "\\" in line and "\\" in ESCAPED.sub("", line):
            allowed = 'CSV as COPY TO writes it: a backslash comes before " or another backslash'
            raise bad_line(source, number, line, allowed)
        yield line
        at = end


def rows_listing(rows: list[tuple[str, Row]], source: str) -> Listing:
    """The listing that the rows of a dump make of nodes and keyspaces.

    A file with rows of ``system.peers`` alone leaves out the node it was read on.

    Raises BadInput for rows of another table, wrong values, a node or keyspace twice.
    """
    nodes: dict[str, Seen] = {}
    keyspaces: dict[str, Keyspace] = {}
    warnings: list[str] = []
    clusters: set[str] = set()
    for where, row in rows:
        if all(column in row for column in KEYSPACE_COLUMNS):
            keyspace = _keyspace(row, where, warnings)
            if keyspace is not None and keyspaces.setdefault(keyspace.name, keyspace) != keyspace:
                raise BadInput(where, keyspace.name, "each keyspace once")
        elif all(column in row for column in NODE_COLUMNS):
            node = _node(row, where, warnings)
            if node.name in nodes:
                raise BadInput(where, node.name, "each node once")
            nodes[node.name] = node
            clusters |= {name_in(row, "cluster_name", where)} if row.get("cluster_name") else set()
        else:
            raise BadInput(where, ", ".join(map(str, row)) or "no column", ALLOWED)
    if not rows:
        raise BadInput(source, "no row", ALLOWED)
    if len(clusters) > 1:
        allowed = f"rows of one cluster only, such as {min(clusters)!r}"
        raise BadInput(source, sorted(clusters)[1], allowed)
    local = any(row.get("broadcast_address") is not None for _, row in rows)
    parts = tuple(nodes.values()), local, tuple(keyspaces.values())
    cluster = clusters.pop() if clusters else None
    return Listing(source, "dump", *parts, warnings=tuple(warnings), cluster=cluster)


def _node(row: Row, where: str, warnings: list[str]) -> Seen:
    given = next((row[key] for key in ADDRESSES if row.get(key) is not None), None)
    if not isinstance(given, str):
        raise BadInput(f"{where} address", given, "broadcast_address or peer, an address")
    partitioner = row.get("partitioner")
    if partitioner is not None and str(partitioner).rpartition(".")[2] != PARTITIONER:
        raise BadInput(f"{where} partitioner", partitioner, PARTITIONER)
    name = node_name(given, f"{where} address")
    tokens = _tokens(row["tokens"], f"{where} tokens")
    if (host_id := row.get("host_id")) is not None:
        if not (isinstance(host_id, str) and re.fullmatch(HOST_ID, host_id)):
            raise BadInput(f"{where} host_id", host_id, "a UUID")
        host_id = host_id.lower()
    elif "host_id" in row:
        # Half a row: servers write a peer's columns one after another.
        warnings.append(f"{where}: the host_id of {name} is null, so only its address names it")
    if not tokens:
        warnings.append(f"{where}: {name} has no tokens, so it is left out of the ring")
        return Seen(name, host_id=host_id)
    dc, rack = (name_in(row, column, where) for column in ("data_center", "rack"))
    return Seen(name, dc, rack, tokens, host_id=host_id)


def name_in(row: Row, column: str, where: str, allowed: str = "a string") -> str:
    """A name in a row. Raises BadInput for what is none, with what is ``allowed``."""
    value = row.get(column)
    if not isinstance(value, str):
        raise BadInput(f"{where} {column}", value, allowed)
    return place_name(value, f"{where} {column}")


def _tokens(given: object, field: str) -> tuple[int, ...]:
    members = parse_set(given, field) if isinstance(given, str) else given
    if members is None:
        return ()
    if not isinstance(members, list):
        raise BadInput(field, given, "a list of tokens, or a set as in CQL")
    return ascending_tokens(members, field)


def ascending_tokens(members: Iterable[object], field: str) -> tuple[int, ...]:
    """Tokens in their order. Raises BadInput for what is none, or is there twice."""
    tokens = []
    for member in members:
        token = token_of(str(member)) if type(member) in (int, str) else None
        if token is None:
            raise BadInput(field, member, "signed 64-bit integers")
        tokens.append(token)
    tokens.sort()
    for token, other in pairwise(tokens):
        if token == other:
            raise BadInput(field, token, "each token once")
    return tuple(tokens)


def _keyspace(row: Row, where: str, warnings: list[str]) -> Keyspace | None:
    name = name_in(row, "keyspace_name", where)
    given = row["replication"]
    field = f"{where} keyspace {name}"
    options = parse_map(given, field) if isinstance(given, str) else given
    if isinstance(options, dict) and str(options.get("class")).removeprefix(PACKAGE) == META:
        warnings.append(f"{where}: {name} is not placed by a ring ({META}), so it is left out")
        return None
    return Keyspace(name, parse_replication(options, field))
