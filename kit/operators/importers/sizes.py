"""Sizes: how many bytes a range or a node holds, to say what a dry run would copy.

``{"nodes": {"n1": 5000, …}, "ranges": {"ks": [[left, right, bytes], …]}}``, either part or both.
Bounds are integers, decimal texts or null at the ends of the line; ``kit.ring.sizes`` says what
counts. Whatever else is there, or is wrong, raises ``BadInput`` with one line that names the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from kit.edge.json_text import located, parse_json
from kit.edge.reading import read_text
from kit.errors import BadInput
from kit.operators.importers.ringfile import RingFile, token_in
from kit.ring.sizes import Row, Sizes, Stored, sizes_of

LARGEST_FILE = 64 * 2**20
MOST_BYTES = 2**63 - 1


class SizesFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The file as it is written; bounds and bytes are checked one by one."""

    nodes: dict[str, Any] = {}
    ranges: dict[str, list[tuple[Any, Any, Any]]] = {}


def read_sizes(path: str | Path, ring_file: RingFile) -> Sizes:
    """The sizes in a file, ready to be asked; raises BadInput as ``read_stored`` does."""
    return sizes_of(read_stored(path, ring_file), ring_file.ring, ring_file.keyspaces)


def read_stored(path: str | Path, ring_file: RingFile) -> Stored:
    """The sizes in a file, for one ring.

    Raises:
        BadInput: when the file cannot be read, or names an unknown node, keyspace or bound.
    """
    text = read_text(path, "sizes file", LARGEST_FILE)
    content = parse_json(text, "sizes file")
    try:
        given = msgspec.convert(content, SizesFile, strict=True)
    except (msgspec.ValidationError, UnicodeError) as error:
        allowed = '{"nodes": {"n1": bytes, …}, "ranges": {"ks": [[left, right, bytes], …]}}'
        raise BadInput("sizes file", str(path), f"{allowed} ({error})") from None
    try:
        nodes = checked_nodes(given.nodes, ring_file)
        rows = ((name, _rows(rows, name, ring_file)) for name, rows in given.ranges.items())
        return Stored(nodes, tuple(rows))
    except BadInput as error:
        raise located(error, text) from None


def sizes_of_nodes(loads: Mapping[str, int], ring_file: RingFile) -> Sizes:
    """Sizes from what each node holds in all, in bytes.

    Raises:
        BadInput: for a node that is not in the ring, or a load that is no number of bytes.
    """
    stored = Stored(checked_nodes(loads, ring_file))
    return sizes_of(stored, ring_file.ring, ring_file.keyspaces)


def _rows(given: list[tuple[Any, Any, Any]], keyspace: str, ring_file: RingFile) -> tuple[Row, ...]:
    names = [known.name for known in ring_file.keyspaces]
    if keyspace not in names:
        raise BadInput("ranges", keyspace, "keyspaces of the ring: " + ", ".join(names))
    space = ring_file.ring.space
    rows: list[Row] = []
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
    """Bytes by node.

    Raises:
        BadInput: for a name that is no node of the ring, or a size that is no number of bytes.
    """
    names = ring_file.ring.names
    known = frozenset(names)
    for name in given:
        if name not in known:
            more = " …" if len(names) > 12 else ""
            raise BadInput("nodes", name, "one of " + ", ".join(names[:12]) + more)
    return tuple((name, _bytes(size, f"nodes.{name}")) for name, size in given.items())
