"""Nodes and groups as operators' tools name them: address, host id, rack, ids.

Host ids, group ids and schema versions are made of the numbers that a model has, so that the same
run prints the same. Nothing of it is in a state.
"""

from __future__ import annotations

from msgspec import Struct

from kit.protocols.recovery.rules.placing import usual_place

FIRST_ADDRESS = 11
REPLACING = 100
"""What is added to the number of a node that took another's place: it has an address of its own."""


class ServerHost(Struct, frozen=True):
    """A node as tools name it."""

    name: str
    address: str
    host_id: str
    dc: str
    rack: str


def server_host(
    name: str, number: int, racks: tuple[str, ...] = (), fresh: bool = False
) -> ServerHost:
    """The machine of a node; ``racks`` are those of all nodes, if any.

    ``fresh``: it is the one that took the place of a dead node.
    """
    at = number + REPLACING * fresh
    dc, rack = racks[number].partition("/")[::2] if racks else usual_place(number)
    host_id = f"{10 + at:08x}-0000-4000-8000-{10 + at:012x}"
    return ServerHost(name, f"10.0.0.{FIRST_ADDRESS + at}", host_id, dc, rack)


def group_uuid(group: int) -> str:
    """The id of a group 0, a UUID of version 1."""
    return f"{group + 1:08x}-fe88-11f0-8001-000000000001"


def schema_version(columns: int) -> str:
    """The version of a schema that holds these columns (a mask), as a UUID is written."""
    text = f"{columns:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
