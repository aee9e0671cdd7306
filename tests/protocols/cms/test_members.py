"""The rules of the CMS's members: sizes, places, the order of a change, quorums that meet."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from kit.masks import majority
from kit.protocols.cms.rules.log import Entry
from kit.protocols.cms.rules.members import (
    Members,
    apart,
    decides,
    enact,
    every_event,
    letters,
    next_step,
    parsed,
    placed,
    quorums,
    size_for,
    sizes_in,
    strangers,
    too_many,
    walked,
)
from kit.ring.topology import Node


def members(readers: int, writers: int = 0, **more: int) -> Members:
    """Members of a cluster of all that have a place."""
    return Members(cluster=255, readers=readers, writers=writers or readers, **more)


@pytest.mark.parametrize(
    ("nodes", "size"),
    [(1, 1), (2, 1), (3, 3), (5, 3), (6, 5), (9, 5), (100, 5), (101, 10), (1000, 10)],
)
def test_the_size_follows_the_cluster(nodes: int, size: int) -> None:
    """1 for up to 2 nodes, 3 for up to 5, 5 for up to 100, and 10 above; bounds are inclusive."""
    assert size_for(nodes) == size


@pytest.mark.parametrize(("nodes", "size"), [(1, 1), (2, 2), (3, 2), (4, 4), (7, 4)])
def test_sizes_are_parameters(nodes: int, size: int) -> None:
    """Other thresholds give other sizes, and no cluster has more members than nodes."""
    assert size_for(nodes, (1, 3), (1, 2, 4)) == size


@pytest.mark.parametrize(
    ("candidates", "present", "size", "chosen"),
    [
        (0b1111, 0b0001, 3, 0b0111),
        (0b1111, 0b1000, 1, 0b1000),
        (0b1110, 0b0111, 3, 0b1110),
        (0b1111, 0b1010, 2, 0b1010),
        (0b0011, 0b0011, 3, 0b0011),
    ],
)
def test_members_stay(candidates: int, present: int, size: int, chosen: int) -> None:
    """By the documents who is a member stays one; the others come in the ring's order."""
    assert placed(candidates, present, size) == chosen


@pytest.mark.parametrize(
    ("now", "wanted", "at_once", "events"),
    [
        (0b001, 0b011, False, ["start add B", "finish add B"]),
        (0b011, 0b001, False, ["start removal of B", "finish removal of B"]),
        (0b011, 0b001, True, ["removal of B"]),
        (0b001, 0b010, True, ["start add B", "finish add B", "removal of A"]),
        (0b001, 0b110, False, [
            *("start add B", "finish add B", "start add C", "finish add C"),
            *("start removal of A", "finish removal of A"),
        ]),
    ],
)  # fmt: skip
def test_a_change_is_a_row_of_events(
    now: int, wanted: int, at_once: bool, events: list[str]
) -> None:
    """All additions one by one, each in two events, then all removals; quorums always meet."""
    at, made = members(now), list[str]()
    while event := next_step(at, wanted, at_once=at_once):
        after = enact(at, Entry(1, event, "A"))
        assert strangers(at, after) is None
        made, at = [*made, event], after
    assert made == events
    assert (at.readers, at.writers) == (wanted, wanted)


def test_who_is_no_longer_wanted_is_dropped_half_added() -> None:
    """A node that is only written to goes out again, where it is not wanted any more."""
    assert next_step(members(0b01, 0b11), 0b01, at_once=False) == "finish removal of B"


@pytest.mark.parametrize(
    ("event", "kind", "named"),
    [
        ("start add B", "start add", 0b10),
        ("replace members A C", "replace members", 0b101),
        ("reconfigure 3 A C", "reconfigure", 0b101),
        ("cancel", "cancel", 0),
    ],
)
def test_an_event_is_a_line(event: str, kind: str, named: int) -> None:
    """It names its kind and its nodes; a number is a size."""
    assert parsed(event) == (kind, named)
    assert sizes_in(event) == (3 * (kind == "reconfigure"), "")
    assert letters(0b101) == "A C"


@pytest.mark.parametrize(
    ("event", "after"),
    [
        ("bootstrap D", {"cluster": 15}),
        ("decommission B", {"leaving": 2}),
        ("left B", {"cluster": 5}),
        ("assassinate B", {"cluster": 5, "readers": 1, "writers": 1}),
        ("removenode B", {"leaving": 2, "given_up": 2}),
        ("members without B", {"given_up": 2}),
        ("members without B: A C", {"given_up": 2, "chosen": 5}),
        ("decommission B: A C", {"leaving": 2, "chosen": 5}),
        ("reconfigure 2", {"size": 2}),
        ("reconfigure dc1:2,dc2:1", {"by_dc": "dc1:2,dc2:1"}),
        ("reconfigure dc1:2,dc2:1 A C", {"by_dc": "dc1:2,dc2:1", "chosen": 5}),
        ("choose A C", {"chosen": 5}),
        ("startup B", {"moved": 2}),
        ("change", {}),
        ("force members C", {"readers": 4, "writers": 4}),
    ],
)
def test_events_make_members(event: str, after: dict[str, Any]) -> None:
    """An assassinated node leaves both sets at once; what concerns others leaves the members."""
    at = Members(cluster=7, readers=3, writers=3)
    assert enact(at, Entry(2, event, "A")) == at.but(**after)


def test_a_cancelled_addition_is_taken_back() -> None:
    """Who is half in is out, and what was finished stays."""
    at = enact(Members(7, 3, 7), Entry(2, "cancel", "A"))
    assert (at.readers, at.writers, at.chosen) == (3, 3, 3)


@pytest.mark.parametrize(
    ("readers", "writers", "nodes", "may"),
    [
        (0b111, 0b111, 0b011, True),
        (0b111, 0b111, 0b001, False),
        (0b111, 0b1111, 0b011, False),
        (0b111, 0b1111, 0b1011, True),
        (0b001, 0b011, 0b001, False),
        (0, 0b011, 0b011, False),
        (0b001, 0b001, 0b001, True),
        (0b001, 0b011, 0b011, True),
    ],
)
def test_who_decides(readers: int, writers: int, nodes: int, may: bool) -> None:
    """Most of the read set and most of the write set; the smallest such sets are the quorums."""
    assert decides(members(readers, writers), nodes) is may
    assert (nodes in quorums(readers, writers, 255)) is may


@pytest.mark.parametrize(
    ("readers", "writers", "able", "smallest"),
    [
        (0b111, 0b111, 0b111, ["AB", "AC", "BC"]),
        (0b111, 0b111, 0b1011, ["AB"]),  # C is not able, and D is no member
        (0b111, 0b111, 0b001, []),
        (0b111, 0b1111, 0b1111, ["ABC", "ABD", "ACD", "BCD"]),
        (0b001, 0b011, 0b111, ["AB"]),
        (0b011, 0b001, 0b111, ["AB"]),
        (0b11111, 0b11111, 0b10111, ["ABC", "ABE", "ACE", "BCE"]),
    ],
)
def test_quorums_are_the_smallest_sets(
    readers: int, writers: int, able: int, smallest: list[str]
) -> None:
    """None of them has another one in it."""
    masks = quorums(readers, writers, able)
    assert sorted(letters(mask).replace(" ", "") for mask in masks) == smallest


@pytest.mark.spec("B-048")
@pytest.mark.parametrize("size", range(1, 11))
def test_quorums_of_neighbouring_memberships_meet(size: int) -> None:
    """One node more or less, in either set or in both: all quorums of both share a member."""
    now = Members(readers=(1 << size) - 1, writers=(1 << size) - 1)
    changes = (
        *(("start add K", "finish add K"), ("start removal of A", "finish removal of A")),
        *(("start add K", "cancel"), ("start removal of A", "cancel")),
        *(("removal of A",), ("assassinate A",), ("start add K", "assassinate K")),
    )
    for events in changes if size > 1 else changes[:1]:
        at = now
        for event in events:
            after = enact(at, Entry(1, event, "A"))
            assert strangers(at, after) is None
            at = after


def test_a_second_node_has_to_wait_for_the_first() -> None:
    """Who is assassinated while another one is half added would part reads from writes."""
    half = Members(readers=0b0111, writers=0b1111)
    assert strangers(half, enact(half, Entry(2, "assassinate A", "B"))) == (0b0011, 0b1100)


@pytest.mark.parametrize("size", range(1, 6))
def test_meeting_is_what_all_pairs_say(size: int) -> None:
    """The rule agrees with looking at each two majorities of each two groups."""
    every = range(1, 1 << size)
    for one in every:
        for other in every:
            pairs = [
                (sum(a), sum(b))
                for a in combinations([1 << i for i in range(size) if one >> i & 1],
                                      majority(one.bit_count()))
                for b in combinations([1 << i for i in range(size) if other >> i & 1],
                                      majority(other.bit_count()))
            ]  # fmt: skip
            assert (apart(one, other) is None) is all(a & b for a, b in pairs)


@pytest.mark.parametrize(("before", "after"), [(0b1, 0b10), (0b111, 0b1110), (0b111, 0b11100)])
def test_several_at_once_may_part_the_quorums(before: int, after: int) -> None:
    """Replacing members in one event leaves quorums that share nobody."""
    assert strangers(members(before), members(after)) is not None


def test_who_is_read_too_early_may_be_a_stranger() -> None:
    """D joins both sets at once, and alone is read: A, B and C can decide without D."""
    before, after = members(0b0111), members(0b1000, 0b1111)
    both = strangers(before, after)
    assert both is not None
    assert not both[0] & both[1]
    assert apart(before.readers, after.writers) is None


SIX = tuple(Node(name, (10 * at,), f"dc{at % 2 + 1}", "r1") for at, name in enumerate("ABCDEF", 1))


@pytest.mark.parametrize(
    ("sizes", "without", "chosen"),
    [
        ({"dc1": 1, "dc2": 2}, "", "A B C"),
        ({"dc2": 2, "dc1": 1}, "", "A B C"),
        ({"dc2": 1, "dc1": 0}, "", "A"),
        ({"dc1": 3}, "B", "D F"),
        ({"dc1": 0, "dc2": 0}, "", "no: a CMS needs at least one member"),
        ({"dc3": 1}, "", "no: there is no datacenter dc3"),
        ({"dc1": 4}, "", "no: dc1 has fewer than 4 nodes"),
        ({"dc1": 3}, "BD", "no: too few nodes are up and free for a majority of that size"),
    ],
)
def test_sizes_of_datacenters(sizes: dict[str, int], without: str, chosen: str) -> None:
    """In any order; a datacenter may have none, but not all of them. A, C and E are in dc2."""
    why = too_many(SIX, sizes, without)
    assert (f"no: {why}" if why else " ".join(walked(SIX, sizes, without))) == chosen


@pytest.mark.parametrize(
    ("nodes", "dcs", "events"),
    [
        (
            1,
            1,
            [
                *("change", "cancel", "reconfigure 1", "bootstrap A", "decommission A"),
                *("removenode A", "members without A", "left A"),
                *("assassinate A", "startup A", "unregister A", "start add A"),
                *("start removal of A", "removal of A", "finish add A", "finish removal of A"),
                *("choose A", "reconfigure 1 A"),
                *("decommission A: A", "removenode A: A", "members without A: A"),
            ],
        ),
        (
            1,
            2,
            [
                *("change", "cancel", "reconfigure 1", "reconfigure dc2:1"),
                *("reconfigure dc1:1,dc2:1", "bootstrap A", "decommission A"),
                *("removenode A", "members without A", "left A"),
                *("assassinate A", "startup A", "unregister A", "start add A"),
                *("start removal of A", "removal of A", "finish add A", "finish removal of A"),
                *("choose A", "reconfigure 1 A", "reconfigure dc2:1 A"),
                "reconfigure dc1:1,dc2:1 A",
                *("decommission A: A", "removenode A: A", "members without A: A"),
            ],
        ),
    ],
)
def test_all_that_may_be_committed(nodes: int, dcs: int, events: list[str]) -> None:
    """In a cluster of one node, whatever the datacenters."""
    assert list(every_event(nodes, dcs)) == events


def test_all_that_may_be_committed_of_two_nodes() -> None:
    """Each event of a node for each of them, sizes up to two, and every choice of both."""
    events = list(every_event(2))
    assert [event for event in events if event.startswith("bootstrap")] == [
        "bootstrap A",
        "bootstrap B",
    ]
    assert [event for event in events if event.startswith("choose")] == [
        "choose A",
        "choose B",
        "choose A B",
    ]
    assert [
        event for event in events if event.startswith("reconfigure") and event[-1].isdigit()
    ] == [
        "reconfigure 1",
        "reconfigure 2",
    ]
