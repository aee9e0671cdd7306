"""The legacy world beside group 0: one split, one crash, nodes switched off, what changes cost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kit.errors import BadInput
from kit.lessons import (
    digest_costs,
    logins,
    overwritten,
    predict,
    same_crash,
    same_split,
    service_level_delays,
)
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.gossip.lessons import can_log_in, hashed_after, rebuild_delay, role_replicas

MAY, NO_QUORUM = "✓ allowed", "✗ no quorum: more than half of the voters must be up"


@pytest.mark.spec("G-016")
def test_one_split_in_both_worlds() -> None:
    """By gossip both sides change the schema, in group 0 the majority alone; on the minority data
    are there in the range whose only replica is on that side.
    """
    rows = {row[0]: row[1:] for row in same_split("D", nodes=4, rf=1).rows}
    assert {rows[name][1:] for name in "ABC"} == {(MAY, MAY, "✓ 3 of 4")}
    assert rows["D"] == ("D", MAY, NO_QUORUM, "✓ 1 of 4")
    rows = {row[0]: row[1:] for row in same_split("C").rows}
    assert rows["C"] == ("C", MAY, NO_QUORUM, "✗ 0 of 3")


def test_the_side_without_the_leader_elects_one() -> None:
    """A led, and is alone now: the others are a majority; of two halves neither is one."""
    assert [row[3] for row in same_split("B C").rows] == [NO_QUORUM, MAY, MAY]
    assert {row[3] for row in same_split("C D", nodes=4).rows} == {NO_QUORUM}


def after(given: dict[str, object], *verbs: str) -> Timeline:
    """A run of a schema by gossip."""
    timeline = Timeline(build("gossip", given))
    for verb in verbs:
        option = timeline.model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    return timeline


def test_what_is_overwritten_once_all_agree() -> None:
    """The older of two tables of one name; nothing where nobody has overwritten anything."""
    rivals = ("create table ks.t at A", "create table ks.u at A", "create table ks.t at C")
    apart = after({"changes": rivals, "partitions": 1}, "partition A B | C", *rivals)
    moments = len(apart.moments)
    assert predict(apart, overwritten).right == ("create table ks.t at A",)
    assert len(apart.moments) == moments
    ahead = {"changes": rivals, "partitions": 1, "clocks": (9,)}
    apart = after(ahead, "partition A B | C", *rivals)
    assert predict(apart, overwritten).right == ("create table ks.t at C",)
    assert predict(after({"changes": rivals[:1]}, rivals[0]), overwritten).right == (
        "none of these",
    )
    with pytest.raises(BadInput, match="a schema by gossip"):
        predict(Timeline(build("twophase", {})), overwritten)


@pytest.mark.spec("G-042")
def test_one_crash_in_both_worlds() -> None:
    """The joining node passes all stages again, and so does the next node that removes a dead one;
    the next coordinator goes on in the same state.
    """
    join, coordinated, removal, coordinated_removal = same_crash().rows
    assert join[1:] == (
        *("X, joining", "shadow, boot, streamed", "shadow, boot, streamed, member"),
        *("shadow, boot, streamed", "2"),
    )
    assert coordinated[1:] == (
        *("A, coordinator", "join_group0, commit_cdc_generation, write_both_read_old"),
        *("write_both_read_new", "nothing", "2"),
    )
    assert removal[1:] == (
        *("A, neighbour", "removing, restored", "removing, restored, removed"),
        *("removing, restored", "2"),
    )
    assert coordinated_removal[1:] == (
        *("A, coordinator", "tablet_draining, write_both_read_old", "write_both_read_new"),
        *("nothing", "2"),
    )


@pytest.mark.spec("C-042")
def test_a_version_costs_more_with_every_change() -> None:
    """Tables come and go, none stays, and every one of them is still hashed."""
    counts = hashed_after(40)
    assert [cells for cells, _ in counts[::2]] == list(range(1, 22))
    assert {tables for _, tables in counts[::2]} == {0}
    assert repr(digest_costs(40)).splitlines()[1:3] == [
        "cells hashed (legacy): 1 after none, 11 after 20, 21 after 40",
        "tables at the end: 0",
    ]
    assert digest_costs(40).png.startswith(b"\x89PNG")


@pytest.mark.spec("G-040")
def test_logins_and_service_levels() -> None:
    """The role whose only holder is down cannot log in; in group 0 all can. What is polled comes
    up to an interval late.
    """
    rows = {row[0]: row[1:] for row in logins("A").rows}
    assert rows["role1"] == ("✗ A", "✓ A, B, C")
    assert rows["role2"] == ("✓ B", "✓ A, B, C")
    assert {row[2][0] for row in logins("A B", nodes=4, rf=2).rows} == {"✓"}
    assert repr(service_level_delays(4)).splitlines()[1:] == [
        *("legacy: 0 to 4", "group 0: at once, when the entry is applied")
    ]
    assert rebuild_delay("group 0") == (0.0, 0.0)


def test_a_role_is_lost_when_all_its_holders_are() -> None:
    """With factor 2 the role in the last range is held by the last and the first node."""
    nodes = ("A", "B", "C")
    held = role_replicas(2, nodes, 2, "legacy")
    assert held == ("C", "A")
    assert not can_log_in(held, ("B",))
    assert can_log_in(role_replicas(2, nodes, 2, "group 0"), ("B",))


BAD: tuple[tuple[Callable[..., object], dict[str, object], str], ...] = (
    (same_split, {"apart": "Z"}, "names among B, C"),
    (same_split, {"apart": ""}, "one or more of B, C"),
    (same_split, {"apart": "B", "nodes": 9}, "a number from 2 to 6"),
    (logins, {"down": "A B C"}, "not all nodes"),
    (digest_costs, {"changes": 1}, "a number from 2 to 2000"),
    (service_level_delays, {"poll": 0}, "seconds above 0"),
)


@pytest.mark.parametrize(("asks", "given", "words"), BAD)
def test_bad_arguments_are_named(
    asks: Callable[..., object], given: dict[str, object], words: str
) -> None:
    """Names that are no nodes, sides and clusters without nodes, numbers out of their limits."""
    with pytest.raises(BadInput, match=words):
        asks(**given)
