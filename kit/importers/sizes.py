"""Sizes: how many bytes a range or a node holds, to say what a rehearsal would copy.

`{"nodes": {"n1": 5000, …}, "ranges": {"ks": [[left, right, bytes], …]}}`, either part or both.
Bounds are integers, decimal texts or null at the ends of the line. What is known of a range counts
before what is known of its nodes; what covers a part of a range counts by its share of the tokens.
Whatever else is there, or is wrong, raises `BadInput` with one line that names the field.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from kit.errors import BadInput
from kit.importers.jsonfile import parse_json, read_text
from kit.importers.ringfile import RingFile
from kit.ring.placements import at_rest
from kit.ring.replication import LocalStrategy

LARGEST_FILE = 64 * 2**20
MOST_BYTES = 2**63 - 1
Row = tuple[int, int, int]


class SizesFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The file as it is written; bounds and bytes are checked one by one."""

    nodes: dict[str, Any] = {}
    ranges: dict[str, list[tuple[Any, Any, Any]]] = {}


class Sizes(Struct, frozen=True):
    """Known sizes: sorted (left, right, bytes) rows a keyspace; bytes a token for each node.

    A node's bytes are spread evenly over all the ranges that it replicates.
    """

    ranges: dict[str, tuple[Row, ...]]
    densities: dict[str, Fraction]

    def of(self, keyspace: str, left: int, right: int, sources: tuple[str, ...]) -> int | None:
        """The bytes of a range; None when nothing is known of it, or of a part of it."""
        found = _share(self.ranges.get(keyspace, ()), left, right)
        if found is not None:
            return found
        known = [self.densities[name] for name in sources if name in self.densities]
        return round(max(known) * (right - left)) if known else None


def _share(rows: tuple[Row, ...], left: int, right: int) -> int | None:
    """What the rows give for `(left, right]`; None unless they cover it."""
    total, covered = Fraction(), 0
    for low, high, size in rows[bisect_right(rows, left, key=itemgetter(1)) :]:
        inside = min(high, right) - max(low, left)
        if inside <= 0:
            break
        covered += inside
        total += Fraction(size * inside, high - low)
    return round(total) if covered == right - left else None


def read_sizes(path: str | Path, ring_file: RingFile) -> Sizes:
    """The sizes in a file, for one ring.

    Raises:
        BadInput: when the file cannot be read, or names an unknown node, keyspace or bound.
    """
    content = parse_json(read_text(path, "sizes file", LARGEST_FILE), "sizes file")
    try:
        given = msgspec.convert(content, SizesFile, strict=True)
    except msgspec.ValidationError as error:
        allowed = '{"nodes": {"n1": bytes, …}, "ranges": {"ks": [[left, right, bytes], …]}}'
        raise BadInput("sizes file", str(path), f"{allowed} ({error})") from None
    ranges = {keyspace: _rows(rows, keyspace, ring_file) for keyspace, rows in given.ranges.items()}
    return Sizes(ranges, _densities(given.nodes, ring_file))


def sizes_of_nodes(loads: Mapping[str, int], ring_file: RingFile) -> Sizes:
    """Sizes from what each node holds in all, in bytes.

    Raises:
        BadInput: for a node that is not in the ring, or a load that is no number of bytes.
    """
    return Sizes({}, _densities(loads, ring_file))


def _rows(given: list[tuple[Any, Any, Any]], keyspace: str, ring_file: RingFile) -> tuple[Row, ...]:
    names = [known.name for known in ring_file.keyspaces]
    if keyspace not in names:
        raise BadInput("ranges", keyspace, "keyspaces of the ring: " + ", ".join(names))
    space = ring_file.ring.space
    found: list[Row] = []
    for place, (left, right, size) in enumerate(given):
        field = f"ranges.{keyspace}[{place}]"
        low = space.low if left is None else _token(left, ring_file, field)
        high = space.high if right is None else _token(right, ring_file, field)
        if low >= high:
            raise BadInput(field, (left, right), "a left bound below the right one")
        found.append((low, high, _bytes(size, field)))
    found.sort()
    for one, other in pairwise(found):
        if other[0] < one[1]:
            raise BadInput(f"ranges.{keyspace}", other[:2], "ranges that do not overlap")
    return tuple(found)


def _token(given: Any, ring_file: RingFile, field: str) -> int:
    if isinstance(given, str) and re.fullmatch(r"-?[0-9]{1,20}", given, re.ASCII):
        given = int(given)
    return ring_file.ring.space.check(given, field)


def _bytes(given: Any, field: str) -> int:
    if type(given) is int and 0 <= given <= MOST_BYTES:
        return given
    raise BadInput(field, given, f"bytes, an integer from 0 to {MOST_BYTES}")


def _densities(given: Mapping[str, Any], ring_file: RingFile) -> dict[str, Fraction]:
    """Bytes a token and keyspace of each sized node."""
    ring = ring_file.ring
    for name in given:
        if name not in ring.names:
            more = " …" if len(ring.names) > 12 else ""
            raise BadInput("nodes", name, "one of " + ", ".join(ring.names[:12]) + more)
    sizes = {name: _bytes(size, f"nodes.{name}") for name, size in given.items()}
    widths = dict.fromkeys(ring.names, 0)
    for keyspace in ring_file.keyspaces if given else ():
        if isinstance(keyspace.replication, LocalStrategy):
            continue
        for row in at_rest(ring, keyspace.replication).reads.rows(ring.names):
            for name in row.replicas:
                widths[name] += row.right - row.left
    return {name: Fraction(size, widths[name]) for name, size in sizes.items() if widths[name]}
