"""What the model of a recovery takes: the old group, who is lost, what may still go wrong."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase
from typing import Annotated

from msgspec import Meta, Struct

from kit.engine.safeguards import Safeguard
from kit.errors import BadInput
from kit.protocols.group0.rules.voters import majority
from kit.protocols.recovery.rules.quorum import Place, Quorum, after_deaths
from kit.protocols.topology.parameter_types import AnyEdition, faults
from kit.protocols.topology.rules.machines import Edition

MOST_FAULTS = 9
MOST_CRASHES = 99  # whoever drills may stop nodes as often as a person will


CommitIndexes = Annotated[
    tuple[Annotated[int, Meta(ge=0, le=60)], ...],
    Meta(
        description="the commit index of each member, A first; each entry adds a column",
        min_length=2,
        max_length=9,
        extra_json_schema={"written": True},
    ),
]
Dead = Annotated[
    str,
    Meta(
        description="the members that are given up: a majority, or half of them; in edition server "
        "so many that no majority of the voters lives",
        extra_json_schema={"written": True},
    ),
]


def times(title: str, meaning: str) -> Meta:
    """How often something may happen in a recovery."""
    return faults(title, meaning, MOST_FAULTS)


def quorum_without(
    edition: Edition,
    names: Sequence[str],
    given_up: Sequence[str],
    places: Sequence[Place],
    stuck: bool = False,
) -> Quorum:
    """Who votes of the members, and who of them lives, once those given up died at once.

    Raises:
        BadInput: where a majority of the voters of edition ``server`` lives (but for ``stuck``).
    """
    dead = sum(1 << names.index(name) for name in given_up)
    quorum = after_deaths(edition, places, [dead] if dead else ())
    if edition == "server" and not stuck and quorum.holds:
        allowed = "so many at once that no majority of voters lives"
        raise BadInput("dead", " ".join(given_up), allowed)
    return quorum


def check_dead(
    commit_indexes: tuple[int, ...], dead: str, few: bool = False
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the members, and of those that are given up; ``few`` of them may be dead.

    Raises:
        BadInput: for unknown names, and where a majority lives (but for ``few``), or nobody.
    """
    names = tuple(ascii_uppercase[: len(commit_indexes)])
    given_up = tuple(dict.fromkeys(dead.split()))
    live = len(names) - len(given_up)
    most = len(names) if few else majority(len(names))
    if not {*given_up} <= {*names} or not 0 < live < most:
        said = "not all of them are" if few else "the others are no majority"
        allowed = f"so many of {', '.join(names)} that {said}"
        raise BadInput("dead", dead, allowed)
    return names, given_up


class RecoveryParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A group 0 that lost its majority, and what may happen while an operator recovers it."""

    edition: AnyEdition = "documents"
    commit_indexes: CommitIndexes = (1, 2, 2, 2)
    dead: Dead = "C D"
    rf: Annotated[int, Meta(description="replicas of each range of data", ge=1, le=9)] = 3
    operation: Annotated[
        bool, Meta(description="whether a topology operation was under way when they died")
    ] = False
    past_barriers: Annotated[
        bool,
        Meta(description="whether that operation had passed its last barrier: it can succeed"),
    ] = False
    choose_again: Annotated[
        bool,
        Meta(description="whether another leader may be chosen while there is no new group"),
    ] = False
    racks: Annotated[
        tuple[Annotated[str, Meta(pattern=r"^[\w-]{1,40}/[\w-]{1,40}$")], ...],
        Meta(
            description="datacenter/rack of each member, A first; none: dc1, and three racks",
            max_length=9,
            extra_json_schema={"written": True},
        ),
    ] = ()
    crashes: Annotated[int, faults("crashes", "how often a node may crash", MOST_CRASHES)] = 0
    deaths: Annotated[int, times("deaths", "how many more nodes may die for good")] = 0
    returns: Annotated[int, times("returns", "how many of those given up may come back")] = 0
    changes: Annotated[int, times("schema changes", "how many columns may be added")] = 0
    writes: Annotated[int, times("writes", "how often a node may store data in a column")] = 0


class RecoverySafeguards(Struct, frozen=True, kw_only=True):
    """One switch a safeguard."""

    latest_index: bool = True
    """Off, any live node may lead."""
    causality: bool = True
    """Off, a node may store data in a column whose entry it has not persisted."""
    leader_first: bool = True
    """Off, a node may restart before the recovery leader has created its group."""
    isolation: bool = True
    """Off, nodes that were given up need not be cut off."""


SAFEGUARDS = (
    Safeguard(
        "latest-index",
        "S-47",
        "The recovery leader is a node with the latest commit index",
        ("INV-CAUSAL",),
        {"commit_indexes": (1, 2, 2, 2), "dead": "C D", "writes": 1},
    ),
    Safeguard(
        "causality",
        "S-48",
        "Data are stored only under schema that is persisted there",
        ("INV-CAUSAL",),
        {"commit_indexes": (1, 2, 2), "dead": "B C", "writes": 1},
    ),
    Safeguard(
        "leader-first",
        "S-49",
        "The recovery leader restarts first",
        ("INV-ONEGROUP", "INV-PROGRESS"),
        {"commit_indexes": (1, 1, 1, 1), "dead": "C D"},
    ),
    Safeguard(
        "isolation",
        "S-50",
        "Nodes that are given up are cut off",
        ("INV-ONEGROUP", "INV-LIN"),
        {"commit_indexes": (1, 1, 1, 1, 1), "dead": "C D E", "returns": 3, "changes": 2},
    ),
)
