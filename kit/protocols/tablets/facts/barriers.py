"""What travels in a barrier that every node answers: the coordinator asks each, each answers."""

from __future__ import annotations

from collections.abc import Iterable

from kit.engine.flows import Flow
from kit.protocols.tablets.facts.spots import LOG, host_spot


def barrier_flows(names: Iterable[str], leader: str = LOG) -> tuple[Flow, ...]:
    """A request to each node at once, and then their answers; ``leader`` is who asks (a part)."""
    hosts = [(name, host_spot(name)) for name in names]
    asks = (
        Flow("request", leader, spot, "barrier", f"coordinator → {name}: barrier")
        for name, spot in hosts
    )
    answers = (
        Flow("answer", spot, leader, "done", f"{name} → coordinator: drained", 1)
        for name, spot in hosts
    )
    return (*asks, *answers)
