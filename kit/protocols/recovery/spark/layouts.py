"""The layouts of small clusters: how many nodes stand in each datacenter, in how many racks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from string import ascii_uppercase
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from kit.engine.registry import one_of
from kit.errors import BadInput, misfit
from kit.protocols.recovery.rules.availability import Factors
from kit.protocols.recovery.rules.quorum import Place

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


class ClusterLayout(Struct, frozen=True, dict=True):
    """So many nodes in each datacenter, dealt to its racks in turn."""

    nodes: tuple[int, ...]
    racks: int

    @property
    def text(self) -> str:
        """Such as 3+3+2."""
        return "+".join(map(str, self.nodes))

    @cached_property
    def datacenters(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(f"dc{at + 1}" for at in range(len(self.nodes)))

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The datacenter and the rack of each node; A is the first of the first datacenter."""
        return tuple(
            (dc, f"r{at % self.racks + 1}")
            for dc, nodes in zip(self.datacenters, self.nodes, strict=True)
            for at in range(nodes)
        )

    @cached_property
    def names(self) -> str:
        """The names of the nodes, a letter each."""
        return ascii_uppercase[: sum(self.nodes)]

    def factors(self, rf: int) -> Factors:
        """So many replicas in each datacenter."""
        return dict.fromkeys(self.datacenters, rf)


def bounds_of(given: Mapping[str, Any]) -> LayoutBounds:
    """The bounds from plain values.

    Raises:
        BadInput: for an unknown one, or one out of its limits.
    """
    known = LayoutBounds.__struct_fields__
    for name in given:
        if name not in known:
            raise BadInput("bounds", name, one_of(name, list(known)))
    try:
        bounds = msgspec.convert(dict(given), LayoutBounds)
    except msgspec.ValidationError as error:
        raise misfit("bounds", dict(given), error, "numbers of nodes, datacenters, racks") from None
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
