"""Comparing the replicas that a tool lists with those that the ring and a replication give."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kit.errors import BadInput
from kit.operators.importers.listing import Listing
from kit.ring.natural import replicas
from kit.ring.placements import same_sets
from kit.ring.replication import Keyspace, LocalStrategy
from kit.ring.topology import Codes, Ring


def differences(
    ring: Ring, keyspaces: tuple[Keyspace, ...], listings: Iterable[Listing]
) -> tuple[str, ...]:
    """A line for each listing whose replicas are of no known keyspace, with the first such range.

    The output of ``nodetool describering`` does not name its keyspace: the one that fits best is
    compared. Groups count as sets, in the order of the ring.

    Raises:
        BadInput: when ranges name a replica that owns no token.
    """
    placed = [
        keyspace for keyspace in keyspaces if not isinstance(keyspace.replication, LocalStrategy)
    ]
    lines = [_difference(ring, placed, listing) for listing in listings if listing.ranges]
    return tuple(line for line in lines if line is not None)


def _difference(ring: Ring, placed: list[Keyspace], listing: Listing) -> str | None:
    ranges = sorted(listing.ranges)
    listed = _codes(ring, listing)
    rights = np.array([listed.right for listed in ranges], np.int64)
    best: tuple[int, str] | None = None
    for keyspace in placed:
        ours = replicas(ring, keyspace.replication, rights)
        odd = np.flatnonzero(~same_sets(listed, ours))
        if not len(odd):
            return None
        if best is None or len(odd) < best[0]:
            first = ranges[odd[0]]
            names = ", ".join(ring.names[code] for code in ours[odd[0]] if code >= 0)
            line = (
                f"{listing.source}: these are the replicas of no given keyspace; {len(odd)} of "
                f"{len(ranges)} ranges differ from {keyspace.name} ({keyspace.replication.label}), "
                f"first ({first.left}, {first.right}]: the tool lists {', '.join(first.replicas)}, "
                f"the replication gives {names or 'nobody'}"
            )
            best = len(odd), line
    return best[1] if best else None


def _codes(ring: Ring, listing: Listing) -> Codes:
    """The listed replicas as node codes, by ascending range, padded with -1."""
    code_of = {name: code for code, name in enumerate(ring.names)}
    width = max(len(listed.replicas) for listed in listing.ranges)
    codes = np.full((len(listing.ranges), width), -1, np.int32)
    for at, listed in enumerate(sorted(listing.ranges)):
        for slot, name in enumerate(listed.replicas):
            if name not in code_of:
                raise BadInput(f"{listing.source}: replica", name, "nodes that own tokens")
            codes[at, slot] = code_of[name]
    return codes
