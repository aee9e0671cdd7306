"""Every layout of small clusters within some bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from kit.engine.bounds import bounds_of
from kit.errors import BadInput
from kit.protocols.recovery.rules.layout import ClusterLayout

MOST_NODES = 12
Nodes = Annotated[int, Meta(ge=1, le=MOST_NODES)]


class LayoutBounds(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which clusters are looked at.

    ``least`` and ``most`` bound the nodes, ``datacenters`` is the most of these, ``largest`` the
    most nodes of one, ``racks`` the most racks of one. ``rf`` are the replication factors, each one
    that of every datacenter.
    """

    least: Nodes = 1
    most: Nodes = 6
    datacenters: Nodes = 3
    largest: Nodes = MOST_NODES
    racks: Nodes = 3
    rf: Annotated[tuple[Nodes, ...], Meta(min_length=1, max_length=MOST_NODES)] = (1, 2, 3)


def layout_bounds(given: Mapping[str, Any]) -> LayoutBounds:
    """The bounds from plain values.

    Raises:
        BadInput: for an unknown one, or one out of its limits.
    """
    bounds = bounds_of(LayoutBounds, "bounds", given, "numbers of nodes, datacenters, racks")
    if bounds.least > bounds.most:
        raise BadInput("least", bounds.least, f"at most {bounds.most}, the most")
    if len(set(bounds.rf)) < len(bounds.rf):
        raise BadInput("rf", list(bounds.rf), "each factor once")
    return bounds


def layouts(bounds: LayoutBounds) -> tuple[ClusterLayout, ...]:
    """Every layout within the bounds, but for the order of its datacenters: large ones first."""
    return tuple(
        ClusterLayout(nodes, bounds.racks)
        for count in range(bounds.least, bounds.most + 1)
        for nodes in _shares(count, bounds.datacenters, bounds.largest)
    )


def _shares(count: int, parts: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Every way to share ``count`` among at most so many parts, of which none grows."""
    if not count:
        yield ()
    if not count or not parts:
        return
    for first in range(min(count, largest), 0, -1):
        for others in _shares(count - first, parts - 1, first):
            yield first, *others
