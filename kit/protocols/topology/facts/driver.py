"""What a driver reads of a cluster: the rows of its nodes as ever, and the CDC generations.

Both are kept beside the tables of group 0, so that drivers which know nothing of those go on
working. Source: blog post on 6.0, "Move to Raft", "CDC on Raft".
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from kit.engine.breaches import PassedStep
from kit.protocols.topology.addresses import address_of
from kit.protocols.topology.facts.commands import run_ids
from kit.protocols.topology.model import Topology
from kit.protocols.topology.rules.cluster import mask_of
from kit.protocols.topology.rules.loading import store
from kit.protocols.topology.serving import SERVING_STATES
from kit.protocols.topology.state import ControlState


class PeerRow(Struct, frozen=True):
    """A node as drivers know it; empty where nothing is said.

    ``table`` is *local* for the node that the driver is connected to, *peers* for all others.
    """

    name: str
    table: str
    peer: str
    host_id: str
    data_center: str
    rack: str
    tokens: str


class DriverView(Struct, frozen=True):
    """What a driver reads by its connection to ``contact`` (empty: no node takes it).

    ``generations`` are the CDC generations in the description tables, by their times.
    """

    contact: str
    rows: tuple[PeerRow, ...] = ()
    generations: tuple[str, ...] = ()


def driver_view(m: Topology, s: ControlState, steps: Sequence[PassedStep]) -> DriverView:
    """What a driver reads now, by the first node that it reaches."""
    serving = mask_of(s.topology, *SERVING_STATES)
    contact = next((i for i in range(len(m.names)) if serving & s.up >> i & 1), None)
    if contact is None:
        return DriverView("")
    rows = {row.host_id: row for row in store(s.topology, m.names)[0].rows}
    return DriverView(
        m.names[contact],
        tuple(
            PeerRow(
                name,
                "local" if i == contact else "peers",
                _address(s, i, contact),
                name,
                rows[name].datacenter or "",
                rows[name].rack or "",
                ", ".join(rows[name].tokens),
            )
            for i, name in enumerate(m.names)
            if serving >> i & 1
        ),
        _generations(m, s, steps),
    )


def _address(s: ControlState, node: int, contact: int) -> str:
    """The address that the contact knows of a node: that of before, as long as it has not heard."""
    if node == contact or not s.unheard >> node & 1:
        return address_of(s, node)
    before = (*s.addresses[:node], s.addresses[node] - 1, *s.addresses[node + 1 :])
    return address_of(replace(s, addresses=before), node)


def _generations(m: Topology, s: ControlState, steps: Sequence[PassedStep]) -> tuple[str, ...]:
    """Those that are published; where that is no step of its own, all that are committed."""
    hidden = s.topology.unpublished if m.parameters.publishing else 0
    times = {number: f"t{state}" for number, state in run_ids(steps).generations}
    numbers = range(1, s.topology.generations - hidden + 1)
    return tuple(f"{number} from {times.get(number, 'the start')}" for number in numbers)
