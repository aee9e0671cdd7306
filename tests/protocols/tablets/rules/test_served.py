"""What requests of a tablet can have while it is in transition and hosts are down."""

from __future__ import annotations

from itertools import combinations

import pytest

from kit.protocols.tablets.rules.availability import ServedTablet, served
from kit.protocols.tablets.rules.maps import Tablet
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.stages import KINDS, TRANSITIONS, TransitionKind, ends_well
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.ring.tokens import INT64_HIGH

PLACES = {"A": "dc1", "B": "dc1", "C": "dc1", "D": "dc1", "X": "dc2"}
BACK = ("write_both_read_old_fallback_cleanup", "cleanup_target", "revert_migration")


def tablet(old: str, new: str, kind: TransitionKind, stage: str) -> Tablet:
    """A tablet in transition, on the first shard of each host."""
    places = (tuple(map(TabletReplica, hosts)) for hosts in (old, new))
    return Tablet(INT64_HIGH, *places, stage, kind)


def most(group: set[str], up: set[str]) -> bool:
    """Whether more than half of a group are up."""
    return 2 * len(group & up) > len(group)


def counted(row: Tablet, edition: Edition, up: set[str]) -> tuple[bool, bool]:
    """Whether reads and writes have a QUORUM, counted from the words of the documents."""
    state = TRANSITIONS[edition][row.transition or "repair"].state(row.stage)
    old, new = ({place.host for place in places} for places in (row.replicas, row.new_replicas))
    sets = {"old": old, "new": new}
    reads = most(sets[state.reads], up)
    if state.writes != "both":
        return reads, most(sets[state.writes], up)
    if edition == "documents":
        return reads, most(old, up) and most(new, up)
    return reads, len((old | new) & up) >= len(old) // 2 + 1 + len(new - old)


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


def test_who_leaves_is_missed_by_nobody_in_the_end() -> None:
    """With C gone in ``use_new`` all is as before; in ``streaming`` of two hosts one is missed."""
    row = tablet("AC", "AD", "migration", "use_new")
    assert served(row, "server", "C", PLACES) == ServedTablet(("A", "D"), ("A", "D"), (), ())
    row = tablet("AC", "AD", "migration", "streaming")
    both = ("reads", "writes")
    assert served(row, "server", "C", PLACES) == ServedTablet(
        ("A", "C", "D"), ("A", "D"), both, ("dc1",)
    )
    assert served(row, "documents", "D", PLACES).without_quorum == ("writes",)


@pytest.mark.parametrize("edition", EDITIONS)
def test_where_a_transition_leads(edition: Edition) -> None:
    """To the new replicas, but on the way back, and in a repair, which changes none."""
    for kind in KINDS:
        table = TRANSITIONS[edition][kind]
        for state in table.states:
            expected = kind != "repair" and state.name not in BACK
            assert ends_well(table, state.name) == expected


def test_datacenters_without_a_quorum_are_told_in_order() -> None:
    """Whichever replica comes first."""
    for hosts in ("XA", "AX"):
        row = tablet(hosts, hosts, "migration", "use_new")
        assert served(row, "server", (*hosts,), PLACES).datacenters == ("dc1", "dc2")
        assert served(row, "server", ("A",), PLACES).datacenters == ("dc1",)
