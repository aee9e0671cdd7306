"""Replication strategies as values, and the strict reading of CQL's replication map."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec import Struct

from kit.errors import BadInput, nearest

if TYPE_CHECKING:
    from kit.ring.topology import Ring

PACKAGE = "org.apache.cassandra.locator."
LARGEST_FACTOR = 2**31 - 1


class Strategy(Struct, frozen=True, forbid_unknown_fields=True, tag_field="class", tag=True):
    """The part that all of them have."""

    @property
    def label(self) -> str:
        """``LocalStrategy``, ``SimpleStrategy RF 3``."""
        return type(self).__name__


class SimpleStrategy(Strategy, frozen=True):
    """The next ``replication_factor`` distinct nodes clockwise, whatever their place."""

    replication_factor: int

    @property
    def label(self) -> str:
        """``SimpleStrategy RF 3``."""
        return f"SimpleStrategy RF {self.replication_factor}"


class NetworkTopologyStrategy(Strategy, frozen=True):
    """Replicas a datacenter, on different racks where there are enough.

    ``factors`` holds (datacenter, replication factor), sorted by datacenter.
    """

    factors: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        names = [dc for dc, _ in self.factors]
        if len(set(names)) != len(names):
            raise BadInput("replication", names, "each datacenter once")
        msgspec.structs.force_setattr(self, "factors", tuple(sorted(self.factors)))

    @property
    def label(self) -> str:
        """``NetworkTopologyStrategy dc1 3, dc2 2``."""
        return "NetworkTopologyStrategy " + ", ".join(f"{dc} {rf}" for dc, rf in self.factors)


class EverywhereStrategy(Strategy, frozen=True):
    """Every node of the ring replicates every range."""


class LocalStrategy(Strategy, frozen=True):
    """Each node keeps its own data; nothing is replicated."""


Replication: TypeAlias = (
    SimpleStrategy | NetworkTopologyStrategy | EverywhereStrategy | LocalStrategy
)
CLASSES = ("SimpleStrategy", "NetworkTopologyStrategy", "EverywhereStrategy", "LocalStrategy")


class Keyspace(Struct, frozen=True, order=False, forbid_unknown_fields=True):
    """A keyspace: its name and how it is replicated."""

    name: str
    replication: Replication


def total(replication: Replication, ring: Ring) -> int:
    """How many replicas the strategy asks for, not limited by the nodes there are."""
    match replication:
        case SimpleStrategy(replication_factor=factor):
            return factor
        case NetworkTopologyStrategy(factors=factors):
            return sum(factor for _, factor in factors)
        case EverywhereStrategy():
            return sum(1 for node in ring.nodes if node.tokens)
        case LocalStrategy():
            return 0


def by_datacenter(replication: Replication, ring: Ring) -> dict[str, int]:
    """The factor of each datacenter, or that of all of them together (``""``)."""
    match replication:
        case NetworkTopologyStrategy(factors=factors):
            return dict(factors)
        case LocalStrategy():
            return {}
        case _:
            return {"": total(replication, ring)}


def parse_replication(options: object, field: str = "replication") -> Replication:
    """Read a map with ``class`` and factors, as Cassandra writes it; BadInput names a field."""
    if not isinstance(options, Mapping):
        raise BadInput(field, options, "a map with a class, as in CQL")
    for key in (key for key in options if not isinstance(key, str)):
        raise BadInput(field, key, "strings as option names")
    given = options.get("class")
    name = given.removeprefix(PACKAGE) if isinstance(given, str) else ""
    if name not in CLASSES:
        raise BadInput(f"{field}.class", given, ", ".join(CLASSES) + nearest(name, CLASSES))
    rest = {key: value for key, value in options.items() if key != "class"}
    if name == "NetworkTopologyStrategy":
        return _network(rest, field)
    if name == "SimpleStrategy":
        _check_options(rest, ("replication_factor",), field)
        if "replication_factor" not in rest:
            raise BadInput(f"{field}.replication_factor", None, _allowed(1))
        return SimpleStrategy(_factor(rest["replication_factor"], f"{field}.replication_factor", 1))
    _check_options(rest, (), field)
    return EverywhereStrategy() if name == "EverywhereStrategy" else LocalStrategy()


def _check_options(rest: Mapping[str, object], known: tuple[str, ...], field: str) -> None:
    for key in (key for key in rest if key not in known):
        allowed = ", ".join(("class", *known)) + nearest(key, known)
        raise BadInput(f"{field} option", key, allowed)


def _network(rest: Mapping[str, object], field: str) -> NetworkTopologyStrategy:
    if "replication_factor" in rest:
        allowed = "class and one factor per datacenter, by name"
        raise BadInput(f"{field} option", "replication_factor", allowed)
    if not rest:
        raise BadInput(field, "no datacenter", "at least one datacenter with its factor")
    if "" in rest:
        raise BadInput(f"{field} option", "", "non-empty datacenter names")
    factors = ((dc, _factor(value, f"{field}.{dc}", 0)) for dc, value in rest.items())
    return NetworkTopologyStrategy(tuple(factors))


def _allowed(least: int) -> str:
    return f"an integer from {least} to {LARGEST_FACTOR}, or the same as decimal text"


def _factor(given: object, field: str, least: int) -> int:
    value = given
    if isinstance(given, str) and re.fullmatch(r"[0-9]{1,10}", given, re.ASCII):
        value = int(given)
    if type(value) is int and least <= value <= LARGEST_FACTOR:
        return value
    raise BadInput(field, given, _allowed(least) + not_modelled(given))


def not_modelled(factor: object) -> str:
    """A sentence on replicas of which some are transient, as in ``3/1``; empty of any others."""
    is_split = isinstance(factor, str) and re.fullmatch("[0-9]+/[0-9]+", factor)
    return "; transient replicas are not modelled" if is_split else ""
