"""What requests of a tablet can have while it is in transition and hosts are down."""

from __future__ import annotations

from itertools import combinations

import pytest

from kit.protocols.tablets.rules.availability import ServedTablet, served
from kit.protocols.tablets.rules.maps import Tablet
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.stages import KINDS, TRANSITIONS, TransitionKind
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.ring.tokens import INT64_HIGH

PLACES = {"A": "dc1", "B": "dc1", "C": "dc1", "D": "dc1", "X": "dc2"}


def tablet(old: str, new: str, kind: TransitionKind, stage: str) -> Tablet:
    """A tablet in transition, on the first shard of each host."""
    places = (tuple(map(TabletReplica, hosts)) for hosts in (old, new))
    return Tablet(INT64_HIGH, *places, stage, kind)


def counted(
    row: Tablet, edition: Edition, up: set[str], factor: int | None = None, inside: str = "ABCDX"
) -> tuple[bool, bool]:
    """Whether reads and writes have a quorum among some hosts, counted from the words of the
    documents; of a ``factor``, or (None) of the replicas that there are.
    """
    state = TRANSITIONS[edition][row.transition or "repair"].state(row.stage)
    every = (row.replicas, row.new_replicas)
    old, new = ({place.host for place in places if place.host in inside} for places in every)
    sets = {"old": old, "new": new}

    def needed(group: set[str]) -> int:
        size = len(group) if factor is None else factor
        return size // 2 + 1 if size else 0

    def most(group: set[str]) -> bool:
        return len(group & up) >= needed(group)

    reads = most(sets[state.reads])
    if state.writes != "both":
        return reads, most(sets[state.writes])
    if edition == "documents":
        return reads, most(old) and (new < old or most(new))  # nobody new: the old ones suffice
    return reads, len((old | new) & up) >= needed(old) + len(new - old)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_stage_counts_who_it_selects(edition: Edition, kind: TransitionKind) -> None:
    """Every set of hosts that may be down, at every stage of a kind."""
    new = "ABCX" if kind == "repair" else "ABDX"
    for state in TRANSITIONS[edition][kind].states:
        row = tablet("ABCX", new, kind, state.name)
        for size in range(5):
            for down in combinations("ABCDX", size):
                left = served(row, edition, down, PLACES)
                fine = tuple(kind not in left.without_quorum for kind in ("reads", "writes"))
                assert fine == counted(row, edition, set("ABCDX") - {*down}), (state.name, down)
                assert ("dc2" in left.datacenters) == ("X" in down)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("ABCX", "ABDX", "migration"),
        ("ABX", "ABDX", "rebuild"),  # a replica more
        ("ABCX", "ABX", "rebuild"),  # one less
        ("A", "AB", "rebuild_v2"),
    ],
)
def test_a_quorum_is_of_the_keyspaces_replicas(
    edition: Edition, old: str, new: str, kind: TransitionKind
) -> None:
    """Of those that it asks for, however many the tablet has: everywhere, and in a datacenter.

    While a replica comes or goes the keyspace asks for as many as there will be, at most.
    """
    everybody = set("ABCDX")
    factors = range(5 if kind == "migration" else len({*new} - {"X"}) + 1)
    for state in TRANSITIONS[edition][kind].states:
        row = tablet(old, new, kind, state.name)
        sizes = range(len(old) + 1)
        for size, first, second in ((s, f, g) for s in sizes for f in factors for g in range(2)):
            for down in map(set, combinations(sorted({*old, *new}), size)):
                left = served(row, edition, down, PLACES, {"dc1": first, "dc2": second})
                fine = tuple(kind not in left.without_quorum for kind in ("reads", "writes"))
                up = everybody - down
                assert fine == counted(row, edition, up, first + second), (state.name, down)
                local = all(counted(row, edition, up, first, "ABCD"))
                assert ("dc1" in left.datacenters) == (not local), (state.name, down, first)


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_datacenter_that_a_keyspace_has_no_replicas_in_wants_no_answers(edition: Edition) -> None:
    """X has one all the same: in a datacenter that is not named, as in one with the factor 0."""
    row = tablet("ABX", "ABX", "migration", "use_new")
    for factors in ({"dc1": 2}, {"dc1": 2, "dc2": 0}):
        left = served(row, edition, ("X",), PLACES, factors)
        assert left == ServedTablet(("A", "B", "X"), ("A", "B"), (), ())
    left = served(row, edition, ("X",), PLACES, {"dc1": 2, "dc2": 1})
    assert left == ServedTablet(("A", "B", "X"), ("A", "B"), (), ("dc2",))
