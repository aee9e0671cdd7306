"""Who owns a key, by one node's view: there is no other place where it is written down.

``walk`` are all nodes that have a token or will have one, clockwise from the key. A node in
``NORMAL`` owns its ranges; one in ``BOOT`` gets writes of those that it will own, and is not read.
A node in ``REMOVING`` owns its ranges until it is ``REMOVED``; those that will own them get writes.
Source: CEP-21, "Motivation" and "Token ownership"; published code of both databases,
``TokenMetadata`` and ``token_metadata``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from kit.protocols.gossip.rules.endpoints import STATUS, View, endpoint_of

NORMAL = "NORMAL"
BOOT = "BOOT"
REMOVING = "REMOVING"
REMOVED = "REMOVED"


def replicas(view: View, walk: tuple[str, ...], rf: int) -> tuple[str, ...]:
    """The nodes that a view reads a key from, and writes it to."""
    return tuple(islice(_in(view, walk, NORMAL, REMOVING), rf))


def pending(view: View, walk: tuple[str, ...], rf: int) -> tuple[str, ...]:
    """The nodes that a view writes a key to besides: those that join and would be replicas.

    Each is looked at as if it joined alone, as the published codes do. Besides them, who
    takes the place of a node that is being removed.
    """
    owning = tuple(_in(view, walk, NORMAL, REMOVING))
    joining = tuple(
        joiner
        for joiner in _in(view, walk, BOOT)
        if joiner in [name for name in walk if name in owning or name == joiner][:rf]
    )
    return (*joining, *takes_over(view, walk, rf))


def takes_over(view: View, walk: tuple[str, ...], rf: int) -> tuple[str, ...]:
    """The nodes that become replicas once those in ``REMOVING`` are removed."""
    now = replicas(view, walk, rf)
    return tuple(name for name in islice(_in(view, walk, NORMAL), rf) if name not in now)


def gives_up(view: View, walk: tuple[str, ...], rf: int, joiner: str) -> str:
    """The replica whose place a joining node takes by its own view; empty where it takes none."""
    now = replicas(view, walk, rf)
    later = [name for name in walk if name in now or name == joiner][:rf]
    if joiner not in later:
        return ""
    return next((name for name in now if name not in later), "")


def _in(view: View, walk: tuple[str, ...], *statuses: str) -> Iterator[str]:
    return (name for name in walk if endpoint_of(view, name).says(STATUS) in statuses)
