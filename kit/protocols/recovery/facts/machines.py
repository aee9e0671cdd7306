"""The machines of a recovery's nodes as operators' tools name them: address, host id, rack, ids.

Host ids, group ids and schema versions are made of the numbers that the model has, so that the same
run prints the same. Nothing of it is in the state.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from kit.engine.timeline import Moment
from kit.protocols.recovery.actions import ReplaceNode
from kit.protocols.recovery.model import Recovery
from kit.protocols.recovery.old.state import OldNode
from kit.protocols.recovery.rules.placing import usual_place

FIRST_ADDRESS = 11
REPLACING = 100
"""What is added to the number of a node that took another's place: it has an address of its own."""
HASHED = 1 << 100
"""What tells a schema version that is a hash from one that group 0 wrote."""


class ServerHost(Struct, frozen=True):
    """A node as tools name it."""

    name: str
    address: str
    host_id: str
    dc: str
    rack: str


def machines(m: Recovery, run: Iterable[Moment]) -> tuple[ServerHost, ...]:
    """Every machine, in the order of nodes; a new one where a dead node was replaced in the run."""
    fresh = {step.action.node for step in run if isinstance(step.action, ReplaceNode)}
    return tuple(machine(m, number, name in fresh) for number, name in enumerate(m.names))


def machine(m: Recovery, number: int, fresh: bool = False) -> ServerHost:
    """The machine of a node; ``fresh``: the one that replaced it."""
    return server_host(m.names[number], number, m.parameters.racks, fresh)


def server_host(
    name: str, number: int, given: tuple[str, ...] = (), fresh: bool = False
) -> ServerHost:
    """The same of a node by its name and number; ``given`` are the racks of all, if any."""
    at = number + REPLACING * fresh
    dc, rack = given[number].partition("/")[::2] if given else usual_place(number)
    host_id = f"{10 + at:08x}-0000-4000-8000-{10 + at:012x}"
    return ServerHost(name, f"10.0.0.{FIRST_ADDRESS + at}", host_id, dc, rack)


def group_uuid(group: int) -> str:
    """The id of a group 0, a UUID of version 1."""
    return f"{group + 1:08x}-fe88-11f0-8001-000000000001"


def version_text(node: OldNode) -> str:
    """What a node of the old procedure gossips as its schema version."""
    is_hash, version = node.schema_version
    return schema_version(version + HASHED if is_hash else version)


def schema_version(columns: int) -> str:
    """The version of a schema that holds these columns (a mask), as a UUID is written."""
    text = f"{columns:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
