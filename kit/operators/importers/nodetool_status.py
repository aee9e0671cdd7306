"""Reading the text of ``nodetool status``: health, state, load, host id and rack of every node.

It says how many tokens a node owns, not which; only where each node owns one does a column of
tokens take the place of their count. ScyllaDB separates columns by one space and knows nodes that
are excluded (X) and nodes without tokens.
"""

from __future__ import annotations

import re

from kit.errors import BadInput
from kit.operators.importers.listing import Listing, Seen, bad_line
from kit.operators.importers.nodetool import (
    HEALTH,
    HOST_ID,
    LOAD,
    LONGEST_ROW,
    OWNS,
    STATES,
    bytes_of,
    node_name,
    place_name,
    token_of,
)

HEADING = "Datacenter:"
LEGEND = re.compile(r"Status=Up/Down(/eXcluded)?")
LEGEND_BELOW = "|/ State=Normal/Leaving/Joining/Moving"
COLUMNS = re.compile(
    r"-- Address Load (?:Tokens Owns(?: \(effective\))? Host ID"
    r"|Owns(?: \(effective\))? Host ID (Token)) Rack"
)
ROW = "a row of nodetool status, such as UN 10.0.0.1 1.5 GiB 256 33.3% HOST-ID rack1"
BEFORE = "the lines of nodetool status, from Datacenter: on"
_START = rf"(?P<health>[UDX?])(?P<state>[NLJM])\s+(?P<address>\S+)\s+(?P<load>{LOAD})\s+"
_ID = rf"(?P<host_id>{HOST_ID}|\?|null)"
_COUNTED = re.compile(rf"{_START}(?P<count>[0-9]{{1,9}}|\?)\s+(?:{OWNS})\s+{_ID}\s+(?P<rack>\S.*)")
_SINGLE = re.compile(rf"{_START}(?:{OWNS})\s+{_ID}\s+(?P<token>\S+)\s+(?P<rack>\S.*)")


def parse_status_text(text: str, source: str) -> Listing:
    """What ``nodetool status`` says; nodes have tokens only in the form with a column of them.

    Raises:
        BadInput: for a line of no known form, output that is cut short, a node or a datacenter
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
                raise bad_line(source, at + 1, line, "each datacenter once, of one output")
            at += 5
            continue
        at += 1
        if not line or (line.startswith("Note: ") and (nodes or dc is None)):
            continue
        if dc is None:
            raise bad_line(source, at, line, BEFORE)
        node = _node(line, source, at, dc, single)
        if node.name in nodes:
            raise bad_line(source, at, line, f"each node once; {node.name} is there already")
        nodes[node.name] = node
        places.add(dc)
    if dc is None or dc not in places:
        where = "no datacenter" if dc is None else dc
        raise BadInput(source, where, "datacenters with rows of nodes; is it cut short?")
    return Listing(source, "status", tuple(nodes.values()))


def _head(lines: list[str], at: int, source: str) -> tuple[str, bool]:
    """A datacenter's name, and whether its rows have one token each instead of a count."""
    dc = lines[at].partition(":")[2].strip()
    head = [" ".join(line.split()) for line in lines[at + 1 : at + 5]]
    head += [""] * (4 - len(head))
    if not dc:
        raise bad_line(source, at + 1, lines[at], "Datacenter: and its name")
    columns = COLUMNS.fullmatch(head[3])
    for place, fits, wanted in (
        (0, re.fullmatch("=+", head[0]), "a line of ="),
        (1, LEGEND.fullmatch(head[1]), "Status=Up/Down"),
        (2, head[2] == LEGEND_BELOW, LEGEND_BELOW),
        (3, columns, "-- Address Load Tokens Owns Host ID Rack"),
    ):
        if not fits:
            raise bad_line(source, at + 2 + place, head[place], f"{wanted}, which follows here")
    return dc, bool(columns and columns[1])


def _node(line: str, source: str, number: int, dc: str, single: bool) -> Seen:
    pattern = _SINGLE if single else _COUNTED
    row = pattern.fullmatch(line) if len(line) <= LONGEST_ROW else None
    if row is None:
        raise bad_line(source, number, line, ROW)
    tokens: tuple[int, ...] | None = None
    count: int | None = None
    if single:
        token = token_of(row["token"])
        if token is None:
            raise bad_line(source, number, line, "a row with a token, a signed 64-bit integer")
        tokens = (token,)
    elif row["count"] != "?":
        count = int(row["count"])
    host_id = row["host_id"].lower()
    field = f"{source} line {number}"
    return Seen(
        node_name(row["address"], field),
        place_name(dc, field),
        place_name(row["rack"], field),
        tokens,
        count,
        HEALTH[row["health"]],
        STATES[row["state"]],
        bytes_of(row["load"]),
        None if host_id in ("?", "null") else host_id,
    )
