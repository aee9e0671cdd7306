"""The layout of a cluster: how many nodes stand in each datacenter, in how many racks."""

from __future__ import annotations

from functools import cached_property
from string import ascii_uppercase

from msgspec import Struct

from kit.protocols.recovery.rules.availability import Factors
from kit.protocols.recovery.rules.quorum import Place


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
