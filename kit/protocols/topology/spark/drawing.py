"""Whole clusters drawn from seeds: how many nodes, what is asked of them, how much may go wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import ascii_uppercase
from typing import Annotated, Any

from msgspec import Meta, Struct

from kit.engine.bounds import bounds_of
from kit.engine.chance import Chance
from kit.errors import BadInput
from kit.protocols.topology.parameter_types import MOST_FAULTS
from kit.protocols.topology.rules.machines import Edition
from kit.protocols.topology.topology import TopologyParameters

LARGEST = 20
"""The most nodes of a walk."""
CLUSTER_KINDS = ("cleanup", "new_cdc_generation")
OF_THE_CLUSTER = 0.2
"""How many of the requests are of the whole cluster."""
LEAST_LEFT = 3
"""Members that nobody asks to leave, so that group 0 keeps a majority."""


class ClusterSize(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Between which bounds clusters are drawn.

    ``least`` bounds the members at first, ``most`` all nodes, those who join included; ``requests``
    and ``faults`` are the most that there are, faults of each kind. Edition ``server`` goes on
    where a drain failed, and breaks promises then: walks are of the documents, unless one says
    otherwise.
    """

    least: Annotated[int, Meta(ge=4, le=LARGEST)] = 5
    most: Annotated[int, Meta(ge=4, le=LARGEST)] = LARGEST
    requests: Annotated[int, Meta(ge=1, le=12)] = 5
    faults: Annotated[int, Meta(ge=0, le=MOST_FAULTS)] = 2
    edition: Edition = "documents"


def size_of(given: Mapping[str, Any]) -> ClusterSize:
    """The bounds from plain values.

    Raises:
        BadInput: for an unknown one, or one out of its limits.
    """
    size = bounds_of(ClusterSize, "size", given, "numbers of nodes, requests and faults")
    if size.least > size.most:
        raise BadInput("least", size.least, f"at most {size.most}, the most")
    return size


def drawn_cluster(seed: int, size: ClusterSize) -> TopologyParameters:
    """The cluster of a seed: the same one on every machine."""
    chance = Chance(seed)
    count = 1 + chance.below(size.requests)
    joining = chance.below(min(count, size.most - size.least) + 1)
    nodes = size.least + chance.below(size.most - joining - size.least + 1)

    def up_to(most: int) -> int:
        return chance.below(most + 1)

    requests = tuple(_requests(chance, nodes, joining, count))
    dead = tuple(words.split()[-1] for words in requests if words.split()[0] in DEAD)
    return TopologyParameters(
        edition=size.edition,
        nodes=nodes,
        operations=requests,
        ignored=dead if chance.under(0.5) else (),
        crashes=up_to(size.faults),
        changes=up_to(size.faults),
        failures=up_to(size.faults),
        cuts=up_to(size.faults),
        late=up_to(size.faults),
        clients=up_to(size.faults),
        tablets=up_to(size.faults),
        addresses=up_to(size.faults),
    )


DEAD = ("remove", "replace")
"""Requests whose last word is a node that is down."""


def _requests(chance: Chance, nodes: int, joining: int, count: int) -> Iterator[str]:
    """So many requests; each node is asked for once, and few enough go or are dead."""
    members = list(ascii_uppercase[:nodes])
    newcomers = list(ascii_uppercase[nodes : nodes + joining])
    dead = (nodes - 1) // 3
    for _ in range(count):
        kinds = _possible(len(newcomers), len(members) - LEAST_LEFT, dead)
        if not kinds or chance.under(OF_THE_CLUSTER):
            yield chance.pick(CLUSTER_KINDS)
            continue
        kind = chance.pick(kinds)
        dead -= kind in DEAD
        names = [newcomers.pop(0)] if kind in ("join", "replace") else []
        if kind != "join":
            names.append(members.pop(chance.below(len(members))))
        yield " ".join([kind, *names])


def _possible(newcomers: int, members: int, dead: int) -> tuple[str, ...]:
    """What may be asked for, where so many may still come, may be asked for, may be dead."""
    kinds = ["join"] if newcomers > 0 else []
    kinds += ["leave", "rebuild"] if members > 0 else []
    kinds += ["remove"] if members > 0 < dead else []
    return (*kinds, *(["replace"] if newcomers > 0 and members > 0 < dead else []))
