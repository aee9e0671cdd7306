"""Nodes as rows of a picture: between these, group 0 and the network things of tablets travel."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TypeVar

from msgspec import Struct

from kit.model.declared import NodeModel, Travel, parameter

S = TypeVar("S", bound=Struct)


def host_spot(name: str) -> str:
    """The key of a node's row."""
    return f"host:{name}"


def replica_spot(key: str) -> str:
    """The key of the chip of a replica."""
    return f"tablet:{key}"


def shard_spot(place: str) -> str:
    """The key of the cell of a shard ``A:0``."""
    return f"shard:{place}"


LOG, NETWORK = host_spot("group0"), host_spot("network")
written, hidden = partial(parameter, written=True), partial(parameter, hidden=True)
"""How a parameter is set: by words that somebody writes, or in no form at all."""


class Hosts(NodeModel[S]):
    """A model of nodes, group 0 and a network, of which each has a row."""

    def spot(self, place: str) -> str:
        """The key of its row; the coordinator has that of group 0."""
        return LOG if place in ("group 0", "coordinator") else host_spot(place)


def barrier(names: Iterable[str], leader: str = LOG) -> Iterator[Travel]:
    """A barrier that every node answers: ``leader`` (a key) asks all at once, then all answer."""
    for name in (names := tuple(names)):
        spot, asks = host_spot(name), f"coordinator → {name}: barrier"
        yield Travel("request", leader, spot, "barrier", asks, leg=0, stays=True)
    for name in names:
        spot, answers = host_spot(name), f"{name} → coordinator: drained"
        yield Travel("answer", spot, leader, "done", answers, leg=1, stays=True)
