"""Tablet maps: tokens covered once, splits and merges, co-located tables."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.tablets.rules.maps import (
    Tablet,
    TabletMap,
    apart,
    complete,
    faults,
    first_token,
    group,
    keyspace_of,
    last_token,
    last_tokens,
    merged,
    siblings,
    split,
    split_tokens,
    tablet_of,
)
from kit.protocols.tablets.rules.replica_sets import Replicas, TabletReplica
from kit.protocols.tablets.rules.stages import TransitionKind
from kit.ring.tokens import INT64_HIGH, INT64_LOW
from tests.protocols.tablets.rules.drawn_maps import maps, moved

A, B = map(TabletReplica, "AB")
tokens = st.integers(INT64_LOW, INT64_HIGH)


def four(*replicas: Replicas) -> TabletMap:
    """A table of four tablets with these replicas; the last ones given are those of the rest."""
    sets = [*replicas, *[replicas[-1]] * (4 - len(replicas))]
    lasts = last_tokens(4)
    return TabletMap("ks.t", tuple(Tablet(*pair) for pair in zip(lasts, sets, strict=True)))


@given(st.integers(1, 300), tokens)
def test_each_token_is_in_exactly_one_tablet(count: int, token: int) -> None:
    """Up to 300 tablets cover the line to its end."""
    lasts = last_tokens(count)
    assert lasts[-1] == INT64_HIGH
    index = tablet_of(token, lasts)
    assert first_token(index, lasts) < token <= lasts[index] or token == INT64_LOW


@given(st.integers(0, 20), tokens)
def test_of_2_to_the_k_tablets_a_tokens_first_k_bits_give_its_tablet(
    power: int, token: int
) -> None:
    """These are the published formulas."""
    count = 2**power
    assert tablet_of(token, last_tokens(min(count, 1024))) == (token - INT64_LOW) >> (
        64 - min(power, 10)
    )
    index = (token - INT64_LOW) >> (64 - power)
    assert last_token(index, count) == (index + 1) * 2 ** (64 - power) - 1 + INT64_LOW


@given(st.integers(0, 10))
def test_a_split_of_equal_tablets_gives_twice_as_many_equal_tablets(power: int) -> None:
    """Up to 1,024 tablets are split."""
    assert tuple(split_tokens(last_tokens(2**power))) == last_tokens(2 ** (power + 1))


@pytest.mark.spec("E-050")
def test_siblings_are_tablets_of_an_even_and_the_next_odd_number() -> None:
    """A table of one tablet has none."""
    assert siblings(4) == ((0, 1), (2, 3))
    for count in (0, 1):
        with pytest.raises(BadInput, match="a number from 2 up"):
            siblings(count)


@pytest.mark.parametrize(
    ("count", "isolated", "pairs"),
    [
        (6, None, ((0, 1), (2, 3), (4, 5))),
        (3, 0, ((1, 2),)),
        (3, 2, ((0, 1),)),
        (5, 2, ((0, 1), (3, 4))),
        (5, 4, ((0, 1), (2, 3))),
        (7, 0, ((1, 2), (3, 4), (5, 6))),
        (4, 0, ((0, 1), (2, 3))),  # of an even count none is isolated
    ],
)
def test_a_merge_of_an_odd_count_leaves_its_isolated_tablet_alone(
    count: int, isolated: int | None, pairs: tuple[tuple[int, int], ...]
) -> None:
    """The tablets behind it are paired afresh."""
    assert siblings(count, isolated) == pairs
    lasts = last_tokens(count)
    table = TabletMap(
        "ks.t", tuple(Tablet(last, (A,)) for last in lasts), resize_type="merge", isolated=isolated
    )
    assert table.pairs == pairs
    ones = merged(table)
    assert ones.count == -(-count // 2)
    assert set(lasts) - set(ones.last_tokens) == {lasts[even] for even, _ in pairs}
    assert not list(faults(ones))


@pytest.mark.parametrize(
    ("count", "isolated"), [(3, None), (3, 1), (5, 5), (5, 6), (5, -2), (7, 3)]
)
def test_an_odd_count_needs_an_isolated_tablet_of_even_number(
    count: int, isolated: int | None
) -> None:
    """Without one the map has no pairs, and siblings are refused."""
    with pytest.raises(BadInput, match=f"isolated tablet: .*an even number below {count}"):
        siblings(count, isolated)
    assert TabletMap("ks.t", resize_type="merge").pairs == ()
    one = TabletMap("ks.t", (Tablet(INT64_HIGH, (A,)),), resize_type="merge", isolated=0)
    assert one.pairs == ()


@pytest.mark.spec("E-048")
@given(maps())
def test_a_merge_after_a_split_restores_the_tablet_map(table: TabletMap) -> None:
    """Each half of a split has the replicas of the whole."""
    twice = split(table)
    assert twice.count == 2 * table.count
    assert not list(faults(twice))
    for index, tablet in enumerate(table.tablets):
        halves = twice.tablets[2 * index : 2 * index + 2]
        assert {half.replicas for half in halves} == {tablet.replicas}
    assert merged(twice) == table


@pytest.mark.spec("E-051", "E-054")
@given(maps(most=3))
def test_a_merge_is_refused_until_siblings_have_the_same_replicas(table: TabletMap) -> None:
    """The listed moves of the odd tablets alone bring each pair together."""
    if table.count < 2:
        return
    tablets = list(table.tablets)
    pairs = list(apart(table))
    if pairs:
        with pytest.raises(BadInput, match="the replicas of tablet"):
            merged(table)
    for pair in pairs:
        for source, target in pair.moves:
            tablet = tablets[pair.odd]
            tablets[pair.odd] = replace(tablet, replicas=moved(tablet.replicas, source, target))
    assert not list(apart(replace(table, tablets=tuple(tablets))))


@pytest.mark.spec("E-056")
def test_a_co_located_table_is_found_through_the_map_of_its_base() -> None:
    """A group lists the base first, then the others by name."""
    known = {"ks.t": four((A, B)), "ks.v": TabletMap("ks.v", base_table="ks.t")}
    assert complete("ks.v", known) is complete("ks.t", known) is known["ks.t"]
    assert group("ks.t", known) == ("ks.t", "ks.v")
    more = {f"ks.{name}": replace(known["ks.v"], table=f"ks.{name}") for name in "zyxw"}
    assert group("ks.t", {**more, **known}) == ("ks.t", "ks.v", "ks.w", "ks.x", "ks.y", "ks.z")
    assert not [fault for table in known.values() for fault in faults(table)]


A0, A1_, B0_, C0_ = (TabletReplica(*place) for place in (("A", 0), ("A", 1), ("B", 0), ("C", 0)))
WHOLE: tuple[tuple[TransitionKind, Replicas, Replicas, str, str], ...] = (
    ("intranode_migration", (A0, B0_), (A1_, B0_), "streaming", ""),
    ("intranode_migration", (A0, B0_), (B0_, A1_), "use_new", ""),
    ("intranode_migration", (A0,), (A1_,), "write_both_read_new", ""),
    ("intranode_migration", (A1_, B0_), (A0, B0_), "cleanup_target", ""),
    ("intranode_migration", (A0, B0_), (C0_, B0_), "streaming", "another shard of its host"),
    ("intranode_migration", (A0,), (A0, B0_), "streaming", "another shard of its host"),
    ("migration", (A0, B0_), (C0_, B0_), "streaming", ""),
    ("migration", (A0, B0_), (A1_, B0_), "streaming", "on another host"),
    ("migration", (A0, B0_), (B0_, A0), "streaming", "one replica added and one removed"),
    ("migration", (A0,), (A0, B0_), "streaming", "one replica added and one removed"),
    ("migration", (A0, B0_), (A0,), "streaming", "one replica added and one removed"),
    ("intranode_migration", (A0,), (A0,), "streaming", "another shard of its host"),
    ("rebuild", (A0,), (A0, B0_), "streaming", ""),
    ("rebuild_v2", (A0, B0_), (A0,), "streaming", ""),
    ("rebuild_v2", (A0, B0_), (C0_, B0_), "rebuild_repair", ""),
    ("rebuild", (A0, B0_), (A1_, B0_), "streaming", "on another host"),
    ("repair", (A0, B0_), (B0_, A0), "repair", ""),
    ("repair", (A0, B0_), (A0, C0_), "repair", "a repair moves none"),
    ("repair", (A0, B0_), (A0,), "repair", "a repair moves none"),
    ("repair", (A0,), (A0, B0_), "repair", "a repair moves none"),
    ("restore", (A0,), (A0, B0_), "restore", "a restore moves none"),
)


@pytest.mark.parametrize(("kind", "old", "new", "stage", "said"), WHOLE, ids=str)
def test_new_replicas_that_do_not_fit_their_transition_are_a_fault(
    kind: TransitionKind, old: Replicas, new: Replicas, stage: str, said: str
) -> None:
    """What a server writes of each kind is none, in any order."""
    one = TabletMap("ks.t", (Tablet(INT64_HIGH, old, new, stage, kind),))
    assert [said in fault.allowed for fault in faults(one)] == [True] * bool(said)


@pytest.mark.parametrize(
    ("table", "keyspace"),
    [
        ("ks.t", "ks"),
        ("t", ""),
        ("alternator_t.t", "alternator_t"),
        ("alternator_My-Orders.v2.My-Orders.v2", "alternator_My-Orders.v2"),
        ("alternator_My-Orders.v2.My-Orders.v2:by.date", "alternator_My-Orders.v2"),
        ("alternator_My-Orders.v2.My-Orders.v2!:by.date", "alternator_My-Orders.v2"),
        ("alternator_a.a.a.a", "alternator_a.a"),
        ("alternator_a.a.a.a:x", "alternator_a.a"),
        ("alternator_usertable.usertable", "alternator_usertable"),
        ("alternator_of_mine.t", "alternator_of_mine"),
        ("alternator_a.b.c", "alternator_a"),
        ("ks.a.b", "ks"),
        ("ks.a.a", "ks"),
    ],
)
def test_the_keyspace_of_a_table_is_read_from_its_name(table: str, keyspace: str) -> None:
    """Alternator's tables may have dots, and a keyspace of their own."""
    assert keyspace_of(table) == keyspace


@pytest.mark.parametrize("wrong", [None, True, 1.0, "1", INT64_LOW - 1, INT64_HIGH + 1])
def test_a_value_that_is_no_token_is_refused(wrong: Any) -> None:
    """So is a number just outside of the line."""
    with pytest.raises(BadInput, match=r"^token: "):
        tablet_of(wrong, last_tokens(2))
