"""Sizes: how many bytes a range or a node holds, to say what a rehearsal would copy.

``{"nodes": {"n1": 5000, …}, "ranges": {"ks": [[left, right, bytes], …]}}``, either part or both.
Bounds are integers, decimal texts or null at the ends of the line. A range counts before its
nodes do; what covers a part of a range counts by its share of the tokens.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from kit.errors import BadInput
from kit.importers.ringfile import RingFile
from kit.ring.placements import at_rest
from kit.ring.replication import LocalStrategy

LARGEST_FILE = 64 * 2**20
Bytes = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Bound = int | str | None


class SizesFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The file as it is written."""

    nodes: dict[str, Bytes] = {}
    ranges: dict[str, list[tuple[Bound, Bound, Bytes]]] = {}


class Sizes(Struct, frozen=True):
    """Known sizes: (left, right, bytes) rows a keyspace, bytes a token a node and its ranges."""

    ranges: dict[str, tuple[tuple[int, int, int], ...]]
    densities: dict[str, float]

    def of(self, keyspace: str, left: int, right: int, sources: tuple[str, ...]) -> int | None:
        """The bytes of a range; None when nothing is known of it."""
        found = _share(self.ranges.get(keyspace, ()), left, right)
        if found is not None:
            return found
        known = [self.densities[name] for name in sources if name in self.densities]
        return round(max(known) * (right - left)) if known else None


def _share(rows: tuple[tuple[int, int, int], ...], left: int, right: int) -> int | None:
    """What the rows give for ``(left, right]``; None unless they cover it."""
    total, covered = 0.0, 0
    for low, high, size in rows:
        inside = min(high, right) - max(low, left)
        if inside > 0:
            covered += inside
            total += size * inside / (high - low)
    return round(total) if covered == right - left else None


def read_sizes(path: str | Path, ring_file: RingFile) -> Sizes:
    """The sizes in a file, for one ring.

    Raises:
        BadInput: when the file cannot be read, or names an unknown node, keyspace or bound.
    """
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise BadInput("sizes file", str(path), f"a readable file ({error.strerror})") from None
    if len(text) > LARGEST_FILE:
        raise BadInput("sizes file", f"{len(text)} bytes", f"at most {LARGEST_FILE} bytes")
    try:
        given = msgspec.json.decode(text, type=SizesFile, strict=True)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput("sizes file", str(path), f"nodes and ranges with bytes ({error})") from None
    return Sizes(_ranges(given, ring_file), _densities(given, ring_file))


def _ranges(given: SizesFile, ring_file: RingFile) -> dict[str, tuple[tuple[int, int, int], ...]]:
    names = [keyspace.name for keyspace in ring_file.keyspaces]
    space = ring_file.ring.space
    found = {}
    for keyspace, rows in given.ranges.items():
        if keyspace not in names:
            raise BadInput("ranges", keyspace, "one of " + ", ".join(names))
        checked = []
        for place, (left, right, size) in enumerate(rows):
            field = f"ranges.{keyspace}[{place}]"
            low = space.low if left is None else _token(left, ring_file, field)
            high = space.high if right is None else _token(right, ring_file, field)
            if low >= high:
                raise BadInput(field, (left, right), "a left bound below the right one")
            if checked and low < checked[-1][1]:
                raise BadInput(field, (left, right), "sorted ranges that do not overlap")
            checked.append((low, high, size))
        found[keyspace] = tuple(checked)
    return found


def _token(given: Any, ring_file: RingFile, field: str) -> int:
    if isinstance(given, str):
        try:
            given = int(given, 10)
        except ValueError:
            raise BadInput(field, given, "a token as an integer or decimal text") from None
    ring_file.ring.space.check(given, field)
    return int(given)


def _densities(given: SizesFile, ring_file: RingFile) -> dict[str, float]:
    """Bytes a token and keyspace of each sized node, spread evenly over all it replicates."""
    ring = ring_file.ring
    widths = dict.fromkeys(ring.names, 0)
    for keyspace in ring_file.keyspaces:
        if isinstance(keyspace.replication, LocalStrategy):
            continue
        for row in at_rest(ring, keyspace.replication).reads.rows(ring.names):
            for name in row.replicas:
                widths[name] += row.right - row.left
    for name in given.nodes:
        if name not in widths:
            raise BadInput("nodes", name, "one of " + ", ".join(ring.names[:12]))
    return {name: size / widths[name] for name, size in given.nodes.items() if widths[name]}
