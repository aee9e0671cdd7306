"""Reading the text of ``nodetool describering KEYSPACE``: each range with its replicas.

A line per range, in no order: ``TokenRange(start_token:…, end_token:…, endpoints:[…], …)``. The
replicas are in the order of the walk from the range's last token, so the first one owns that token,
unless the keyspace has no replicas in the owner's datacenter: then the first replica stands for it,
and the keyspace's placements are the same. Datacenters and racks are given of replicas only.
"""

from __future__ import annotations

import re

from kit.errors import BadInput
from kit.operators.importers.listing import Listed, Listing, Seen, bad_line
from kit.operators.importers.nodetool import node_name, place_name, token_of
from kit.ring.tokens import INT64_HIGH, INT64_LOW

HEADINGS = ("Schema Version:", "TokenRange:")
SIGNS = ("Schema Version:", "TokenRange")
ROW = (
    "TokenRange(start_token:…, end_token:…, endpoints:[…], rpc_endpoints:[…], "
    "endpoint_details:[EndpointDetails(host:…, datacenter:…, rack:…)])"
)
_TOKENS = re.compile(r"TokenRange\(start_token:(-?[0-9]{1,19}), end_token:(-?[0-9]{1,19})")
_DETAIL = re.compile(r"host:([^,()]+), datacenter:([^()]+?), rack:([^()]+)")
Details = tuple[Seen, ...]


def parse_describering_text(text: str, source: str) -> Listing:
    """What ``nodetool describering`` says: ranges with replicas, and the replicas' places.

    Raises:
        BadInput: for a line of no known form, ranges that leave a part of the ring out or cover one
            twice, a node in two places.
    """
    line_of: dict[int, int] = {}
    ranges: dict[int, Listed] = {}
    seen: dict[str, Seen] = {}
    known: dict[str, tuple[str, ...]] = {}
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line or (not ranges and line.startswith(HEADINGS)):
            continue
        bounds, comma, rest = line.partition(", endpoints:[")
        tokens = _TOKENS.fullmatch(bounds)
        left, right = (token_of(tokens[1]), token_of(tokens[2])) if tokens else (None, None)
        if left is None or right is None or not comma:
            raise bad_line(source, number, line, ROW)
        if rest not in known:
            details = _details(rest, source, number, line)
            for node in details:
                if seen.setdefault(node.name, node) != node:
                    raise bad_line(source, number, line, f"{node.name} where other lines have it")
            known[rest] = tuple(node.name for node in details)
        if right in line_of:
            allowed = f"each range once; line {line_of[right]} ends there too"
            raise BadInput(f"{source} line {number}", right, allowed)
        line_of[right] = number
        ranges[right] = Listed(left, right, known[rest])
    if not ranges:
        raise BadInput(source, "no range", f"lines of nodetool describering: {ROW}")
    _check_cover(ranges, line_of, source)
    return Listing(
        source, "describering", tuple(seen.values()), False, ranges=tuple(ranges.values())
    )


def _details(rest: str, source: str, number: int, line: str) -> Details:
    """The replicas of a range in order, from what stands behind ``endpoints:[``."""
    endpoints, first, rest = rest.partition("], rpc_endpoints:[")
    _, second, details = rest.partition("], endpoint_details:[EndpointDetails(")
    field = f"{source} line {number}"
    if not first or not second or not details.endswith(")])"):
        raise bad_line(source, number, line, ROW)
    replicas = []
    for detail in details[:-3].split("), EndpointDetails("):
        fields = _DETAIL.fullmatch(detail)
        if fields is None:
            raise bad_line(source, number, line, ROW)
        dc, rack = (place_name(name, field) for name in (fields[2], fields[3]))
        replicas.append(Seen(node_name(fields[1], field), dc, rack))
    names = [node_name(name, field) for name in endpoints.split(", ")]
    if names != [node.name for node in replicas] or len(set(names)) != len(names):
        raise bad_line(source, number, line, "endpoints and their details alike, each node once")
    return tuple(replicas)


def _check_cover(ranges: dict[int, Listed], line_of: dict[int, int], source: str) -> None:
    """Each range begins where the one before it ends, the last before the first."""
    before = max(ranges)
    for right in sorted(ranges):
        left = ranges[right].left
        around = before == INT64_HIGH and left == INT64_LOW
        if left != before and not around:
            raise BadInput(
                f"{source} line {line_of[right]}",
                left,
                f"a range that begins at {before}, where the one before it ends; "
                "is a line missing, or are outputs mixed?",
            )
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
