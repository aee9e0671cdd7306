"""Reading the text of ``nodetool ring``: every token with its node, datacenter by datacenter.

A block per datacenter: heading, underline, names of the columns, one line that repeats the
datacenter's last token (empty when there is one row only), a row per token, an empty line. A rack
of twelve letters or more runs into the column behind it. Where nodes own several tokens, two
closing lines say so. Rows of a node differ in the token only: what stands before it is read once a
node.
"""

from __future__ import annotations

import re
from itertools import islice, pairwise, takewhile
from operator import itemgetter

from msgspec.structs import replace

from kit.errors import BadInput
from kit.operators.importers.listing import Listing, Seen, bad_line
from kit.operators.importers.nodetool import (
    HEALTH,
    LOAD,
    LONGEST_ROW,
    OWNS,
    STATES,
    bytes_of,
    node_name,
    place_name,
    token_of,
    tokens_of,
)

HEADING = "Datacenter:"
UNDERLINE = "=========="
COLUMNS = "Address Rack Status State Load Owns Token"
CLOSING = 'Warning: "nodetool ring" is used to output all the tokens of a node.'
TRAILERS = (CLOSING, "To view status related info of a node use", "Note: ")
ROW = f"a row of nodetool ring: {COLUMNS}, with Up, Down or ?, Normal, Joining, Leaving or Moving"
BESIDE = "beside the rows of each datacenter only empty lines, Note: and the closing Warning:"
_NODE = re.compile(
    r"(?P<address>\S+)\s+(?P<rack>\S.*?)\s*(?P<health>Up|Down|\?)\s+"
    r"(?P<state>Normal|Joining|Leaving|Moving)\s+"
    rf"(?P<load>{LOAD})\s+(?:{OWNS})"
)


def parse_ring_text(text: str, source: str) -> Listing:
    """What ``nodetool ring`` says: nodes with tokens, places, health, state and load.

    A datacenter that ends early is noticed by the token repeated above its rows.

    Raises:
        BadInput: for a line of no known form, output that is cut short, a token, node or
            datacenter twice.
    """
    lines = text.split("\n")
    headed = (at for at, line in enumerate(lines) if HEADING in line)  # few, and quick to see
    begins = [at for at in headed if lines[at].lstrip().startswith(HEADING)]
    _trailers(lines, 0, begins[0] if begins else len(lines), source)
    if not begins:
        raise BadInput(source, "no datacenter", "the text of nodetool ring, from its first line")
    line_of: dict[int, int] = {}
    seen: dict[str, Seen] = {}
    places: set[str] = set()
    warnings: list[str] = []
    for begin, end in pairwise([*begins, len(lines)]):
        dc = lines[begin].partition(":")[2].strip()
        if not dc or dc in places:
            allowed = "Datacenter: and a name, each once, of one output"
            raise bad_line(source, begin + 1, lines[begin], allowed)
        places.add(dc)
        nodes = _block(lines, begin, end, source, dc, line_of, warnings)
        for node in nodes:
            if node.name in seen:
                where = f"{node.name} in {dc}"
                raise BadInput(source, where, f"each node once; it is in {seen[node.name].dc} too")
            seen[node.name] = node
    several = any(len(node.tokens or ()) > 1 for node in seen.values())
    if several and not any(line.strip() == CLOSING for line in reversed(lines[begins[-1] :])):
        warnings.append(
            f"{source}: the closing lines of nodetool ring are missing; "
            "a datacenter may be missing with them"
        )
    return Listing(source, "ring", tuple(seen.values()), warnings=tuple(warnings))


def _block(
    lines: list[str],
    begin: int,
    end: int,
    source: str,
    dc: str,
    line_of: dict[int, int],
    warnings: list[str],
) -> list[Seen]:
    """The nodes of one datacenter; ``line_of`` gathers the line of each token of the file."""
    expected = (UNDERLINE, COLUMNS)
    for at, wanted in enumerate(expected, begin + 1):
        line = " ".join(lines[at].split()) if at < end else ""
        if line != wanted:
            raise bad_line(source, at + 1, line, f"{wanted!r}, the line that follows here")
    at = begin + 3
    last = token_of(lines[at].strip()) if at < end else None
    if last is not None or (at < end and not lines[at].strip()):
        at += 1
    stop, nodes, tail = _rows(lines, at, end, source, dc, line_of)
    count = sum(len(node.tokens or ()) for node in nodes)
    if not count:
        raise BadInput(f"{source} line {begin + 1}", dc, "a datacenter with rows; is it cut short?")
    if last is not None and tail != last:
        raise BadInput(
            f"{source} line {stop}",
            tail,
            f"{last} as the last token of {dc}, as above its rows; is it cut short or mixed up?",
        )
    if last is None and count > 1:
        warnings.append(
            f"{source}: no line above the rows of {dc} repeats its last token; "
            "whether rows are missing cannot be told"
        )
    _trailers(lines, stop, end, source)
    return nodes


def _rows(
    lines: list[str], at: int, end: int, source: str, dc: str, line_of: dict[int, int]
) -> tuple[int, list[Seen], int | None]:
    """Rows up to the next empty line: where that is, the nodes, and the token of the last row.

    A ring may have a million rows, so that they are looked at together, and a node's words only
    where it comes first.
    """
    rows = list(takewhile(bool, map(str.strip, islice(lines, at, end))))
    heads, words = _columns(rows)
    first = dict(zip(reversed(heads), reversed(range(len(heads))), strict=True))
    in_order = sorted(first.items(), key=itemgetter(1))
    stop = next((i for _, i in in_order if rows[i].startswith(TRAILERS)), len(rows))
    nodes = _nodes({head: i for head, i in in_order if i < stop}, rows, at, source, dc)
    tokens = _tokens(words[:stop], rows, at, source, line_of)
    owned: dict[str, list[int]] = {head: [] for head in nodes}
    for head, token in zip(heads, tokens, strict=False):
        owned[head].append(token)
    both = zip(nodes.values(), owned.values(), strict=True)
    made = [replace(node, tokens=tuple(sorted(own))) for node, own in both]
    return at + stop, made, tokens[-1] if tokens else None


def _tokens(
    words: list[str], rows: list[str], at: int, source: str, line_of: dict[int, int]
) -> list[int]:
    """The tokens of the rows, whose lines are gathered.

    Raises:
        BadInput: for the first row without a token, or with one that an earlier row has.
    """
    read = tokens_of(words)
    tokens = [token for token in read if token is not None]
    if len(set(tokens)) == len(read) and line_of.keys().isdisjoint(tokens):
        line_of.update(zip(tokens, range(at + 1, at + 1 + len(tokens)), strict=True))
        return tokens
    for number, token in enumerate(read, at + 1):
        if token is None:
            wanted = "a row that ends in a token, a signed 64-bit integer"
            raise bad_line(source, number, rows[number - at - 1], wanted)
        if token in line_of:
            allowed = f"each token once; line {line_of[token]} has this one too"
            raise BadInput(f"{source} line {number}", token, allowed)
        line_of[token] = number
    raise AssertionError


def _columns(rows: list[str]) -> tuple[list[str], list[str]]:
    """What stands before the last word of each row, and that word."""
    split = [line.rpartition(" ") for line in rows]
    return [head for head, _, _ in split], [word for _, _, word in split]


def _nodes(
    first: dict[str, int], rows: list[str], at: int, source: str, dc: str
) -> dict[str, Seen]:
    """What the first row of each node says of it, by what stands before the token."""
    nodes: dict[str, Seen] = {}
    names: set[str] = set()
    for head, place in first.items():
        line, number = rows[place], at + place + 1
        node = _node(head, line, source, number, dc)
        if node.name in names:
            raise bad_line(source, number, line, f"what other rows say of {node.name}")
        names.add(node.name)
        nodes[head] = node
    return nodes


def _node(head: str, line: str, source: str, number: int, dc: str) -> Seen:
    """What stands before the token of a row."""
    row = _NODE.fullmatch(head.rstrip()) if len(line) <= LONGEST_ROW else None
    if row is None:
        raise bad_line(source, number, line, ROW)
    field = f"{source} line {number}"
    return Seen(
        node_name(row["address"], field),
        place_name(dc, field),
        place_name(row["rack"], field),
        health=HEALTH[row["health"]],
        state=STATES[row["state"]],
        load=bytes_of(row["load"]),
    )


def _trailers(lines: list[str], at: int, end: int, source: str) -> None:
    """Refuse lines outside the tables that nodetool does not print there."""
    for place in range(at, end):
        line = lines[place].strip()
        if line and not line.startswith(TRAILERS):
            raise bad_line(source, place + 1, line, BESIDE)
