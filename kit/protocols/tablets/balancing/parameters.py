"""What the model of balancing takes: nodes with shards and room, tablets with tables and sizes."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from kit.errors import BadInput
from kit.protocols.tablets.rules.replica_sets import Replicas, TabletReplica
from kit.protocols.topology.parameter_types import AnyEdition

_WRITTEN = {"written": True}
TABLE = "ks.t"
MOST_PERCENT = 10_000


class BalanceParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A cluster whose tablets may move, one replica at a time."""

    edition: AnyEdition = "server"
    nodes: Annotated[int, Meta(description="how many nodes there are", ge=1, le=26)] = 3
    shards: Annotated[int, Meta(description="the shards of each node", ge=1, le=64)] = 1
    tablets: Annotated[
        tuple[str, ...],
        Meta(
            description="each tablet's replicas, and if need be its size in percent of the target "
            "size and its table: A:0 B:1, or A B 150 ks.users",
            extra_json_schema=_WRITTEN,
        ),
    ] = ("A", "A", "A")
    room: Annotated[
        tuple[str, ...],
        Meta(
            description="how many tablets of the target size each node's disk has room for; else "
            "all have room for four a shard",
            extra_json_schema=_WRITTEN,
        ),
    ] = ()
    racks: Annotated[
        tuple[str, ...],
        Meta(
            description="the rack of each node: dc1/r1 dc1/r2; else all are in one",
            extra_json_schema=_WRITTEN,
        ),
    ] = ()
    leaving: Annotated[
        tuple[str, ...],
        Meta(description="the nodes that are to be emptied", extra_json_schema=_WRITTEN),
    ] = ()
    excluded: Annotated[
        tuple[str, ...],
        Meta(
            description="the nodes that are down: they take no tablets and give none",
            extra_json_schema=_WRITTEN,
        ),
    ] = ()


class GivenTablet(Struct, frozen=True):
    """A tablet as it is written: its table, its size in percent of the target size, replicas."""

    table: str
    percent: int
    replicas: Replicas


def given_tablet(text: str) -> GivenTablet:
    """The tablet that ``A:0 B:1 150 ks.users`` describes.

    Raises:
        BadInput: for no replica, two on a host, or a word that is none of these.
    """
    table, percent, replicas = TABLE, 100, []
    for word in text.split():
        host, colon, shard = word.partition(":")
        if word.isascii() and word.isdecimal():
            percent = int(word)
        elif "." in word:
            table = word
        elif host.isalpha() and ((shard.isascii() and shard.isdecimal()) or not colon):
            replicas.append(TabletReplica(host, int(shard or 0)))
        else:
            raise BadInput("tablets", word, "replicas, a size in percent, a table: A:0 B:1 150")
    if not replicas or len({each.host for each in replicas}) < len(replicas):
        raise BadInput("tablets", text, "at least one replica, and one on a host")
    if not 1 <= percent <= MOST_PERCENT:
        raise BadInput("tablets", text, f"a size of 1 to {MOST_PERCENT} percent of the target")
    return GivenTablet(table, percent, tuple(replicas))


def whole_number(field: str, text: str) -> int:
    """A number from 1 on.

    Raises:
        BadInput: for anything else.
    """
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= MOST_PERCENT):
        raise BadInput(field, text, f"numbers from 1 to {MOST_PERCENT}")
    return int(text)
