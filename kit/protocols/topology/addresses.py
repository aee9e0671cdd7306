"""A node that is restarted with another address: its host id, and so its place, stays.

Group 0 knows nodes by their host ids, and no table of it holds an address. The others look for a
host id at the address that they know; until they have heard of the new one, it is as if it were cut
off. Who has left is not heard at any address. Source: blog post on 6.0, "Additional updates" (host
id in every handshake; a quick restart with another address).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.engine.model import Rule
from kit.errors import Refusal
from kit.protocols.topology import actions as act
from kit.protocols.topology.outages import died, has_a_place, restarted
from kit.protocols.topology.rules.cluster import mask_of
from kit.protocols.topology.state import ControlState, settled

if TYPE_CHECKING:
    from kit.protocols.topology.model import Topology


def address_of(s: ControlState, node: int) -> str:
    """Where a node is: an address, whose second part counts the changes."""
    changes = s.addresses[node] if s.addresses else 0
    return f"10.{changes}.{node >> 8}.{(node & 255) + 1}"


def rules(model: Topology) -> tuple[Rule[ControlState, Any], ...]:
    """The restart of a node at another address, and the others' hearing of it."""

    def movable(s: ControlState) -> int:
        return has_a_place(s, model) if s.faults.addresses else 0

    def still_cut(s: ControlState, action: act.HearAddress) -> Refusal | None:
        cut = s.cut >> model.number[action.node] & 1
        return Refusal("it is cut off from the others") if cut else None

    return (
        model.rule(
            act.RestartElsewhere,
            "readdress",
            lambda s: model.each(act.RestartElsewhere, movable(s)),
            lambda s, a: None,
            lambda s, a: _restart_elsewhere(s, model.number[a.node], model),
        ),
        model.rule(
            act.HearAddress,
            "gossip",
            lambda s: model.each(act.HearAddress, s.up & s.unheard & ~mask_of(s.topology, "left")),
            still_cut,
            lambda s, a: restarted(
                replace(s, unheard=s.unheard & ~(1 << model.number[a.node])), model.number[a.node]
            ),
        ),
    )


def _restart_elsewhere(s: ControlState, node: int, model: Topology) -> ControlState:
    """The state once a node has stopped, if it ran, and started at an address of its own."""
    if s.up >> node & 1:
        s = settled(died(s, node, model))
    changes = list(s.addresses or (0,) * len(s.applied))
    changes[node] += 1
    s = replace(s, addresses=tuple(changes), unheard=s.unheard | 1 << node)
    s = replace(s, faults=replace(s.faults, addresses=s.faults.addresses - 1))
    return restarted(s, node)
