"""What one file says of a cluster, before files are put together.

Every reader of a tool's output gives a ``Listing``; what the output leaves out stays None.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from kit.errors import BadInput
from kit.ring.replication import Keyspace
from kit.ring.topology import Ring

Health = Literal["up", "down", "excluded", "unknown"]
State = Literal["normal", "joining", "leaving", "moving"]
Form = Literal["ring", "status", "describering", "dump", "ring file"]


class Seen(Struct, frozen=True):
    """What one file says of one node.

    ``tokens`` are ascending; ``count`` is how many it owns, where only that is told; ``load`` is in
    bytes; ``host_id`` is a UUID in lower case.
    """

    name: str
    dc: str | None = None
    rack: str | None = None
    tokens: tuple[int, ...] | None = None
    count: int | None = None
    health: Health | None = None
    state: State | None = None
    load: int | None = None
    host_id: str | None = None


class Listed(Struct, frozen=True, order=True):
    """One range as a tool lists it, wrapping where the tool wraps: ``(left, right]``, replicas."""

    left: int
    right: int
    replicas: tuple[str, ...]


class Listing(Struct, frozen=True):
    """What one file says of a cluster.

    ``source`` names the file in messages. ``complete`` says that every node of the cluster is in
    it. ``ring`` is what a ring file holds, as it is.
    ``ranges`` are those of ``nodetool describering``, of one keyspace that the output does not
    name.
    """

    source: str
    form: Form
    nodes: tuple[Seen, ...]
    complete: bool = True
    keyspaces: tuple[Keyspace, ...] = ()
    ranges: tuple[Listed, ...] = ()
    warnings: tuple[str, ...] = ()
    ring: Ring | None = None
    epoch: int | None = None
    cluster: str | None = None


def bad_line(source: str, number: int, line: str, allowed: str) -> BadInput:
    """The error for a line of a file: its number (from 1) and its content, shortened."""
    return BadInput(f"{source} line {number}", " ".join(line[:500].split()), allowed)
