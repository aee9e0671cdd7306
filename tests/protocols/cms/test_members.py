"""The rules of the CMS's members: sizes, places, the order of a change, quorums that meet."""

from __future__ import annotations

from itertools import combinations

import pytest

from kit.masks import majority
from kit.protocols.cms.rules.log import Entry
from kit.protocols.cms.rules.members import (
    Members,
    apart,
    decides,
    enact,
    letters,
    next_step,
    parsed,
    placed,
    quorums,
    size_for,
    sizes_in,
    strangers,
)


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
