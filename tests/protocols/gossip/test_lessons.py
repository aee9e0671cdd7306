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
from tests.views.frames import after

MAY, NO_QUORUM = "✓ allowed", "✗ no quorum: more than half of the voters must be up"


@pytest.mark.spec("G-016")
def test_a_minority_changes_the_schema_by_gossip_but_not_in_group0() -> None:
    """Data needs only its replicas: with RF 1, D serves the range whose only replica it is."""
    rows = {row[0]: row[1:] for row in same_split("D", nodes=4, rf=1).rows}
    assert {rows[name][1:] for name in "ABC"} == {(MAY, MAY, "✓ 3 of 4")}
    assert rows["D"] == ("D", MAY, NO_QUORUM, "✓ 1 of 4")
    rows = {row[0]: row[1:] for row in same_split("C").rows}
    assert rows["C"] == ("C", MAY, NO_QUORUM, "✗ 0 of 3")


def test_a_majority_without_the_leader_may_change_the_schema_in_group0() -> None:
    """Of two halves neither is a majority."""
    assert [row[3] for row in same_split("B C").rows] == [NO_QUORUM, MAY, MAY]
    assert {row[3] for row in same_split("C D", nodes=4).rows} == {NO_QUORUM}


def test_overwritten_names_the_change_with_the_older_timestamp() -> None:
    """Asking leaves the run as it was. A model other than a schema by gossip is refused."""
    rivals = ("create table ks.t at A", "create table ks.u at A", "create table ks.t at C")
    apart = after("gossip", {"changes": rivals, "partitions": 1}, "partition A B | C", *rivals)
    moments = len(apart.moments)
    assert predict(apart, overwritten).right == ("create table ks.t at A",)
    assert len(apart.moments) == moments
    ahead = {"changes": rivals, "partitions": 1, "clocks": (9,)}
    apart = after("gossip", ahead, "partition A B | C", *rivals)
    assert predict(apart, overwritten).right == ("create table ks.t at C",)
    alone = after("gossip", {"changes": rivals[:1]}, rivals[0])
    assert predict(alone, overwritten).right == ("none of these",)
    with pytest.raises(BadInput, match="a schema by gossip"):
        predict(Timeline(build("twophase", {})), overwritten)


@pytest.mark.spec("G-042")
def test_a_crash_repeats_stages_by_gossip_and_none_under_a_coordinator() -> None:
    """A join and a removal are compared: driver, stages done and repeated, streams."""
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
def test_each_dropped_table_leaves_a_cell_that_schema_versions_still_hash() -> None:
    """After forty changes no table is left, and 21 cells are hashed."""
    counts = hashed_after(40)
    assert [cells for cells, _ in counts[::2]] == list(range(1, 22))
    assert {tables for _, tables in counts[::2]} == {0}
    assert repr(digest_costs(40)).splitlines()[1:3] == [
        "cells hashed (legacy): 1 after none, 11 after 20, 21 after 40",
        "tables at the end: 0",
    ]
    assert digest_costs(40).png.startswith(b"\x89PNG")


@pytest.mark.spec("G-040")
def test_a_login_by_gossip_needs_the_holder_of_its_role_and_in_group0_any_node() -> None:
    """Service levels by gossip come up to one polling interval late, in group 0 at once."""
    rows = {row[0]: row[1:] for row in logins("A").rows}
    assert rows["role1"] == ("✗ A", "✓ A, B, C")
    assert rows["role2"] == ("✓ B", "✓ A, B, C")
    assert {row[2][0] for row in logins("A B", nodes=4, rf=2).rows} == {"✓"}
    assert repr(service_level_delays(4)).splitlines()[1:] == [
        *("legacy: 0 to 4", "group 0: at once, when the entry is applied")
    ]
    assert rebuild_delay("group 0") == (0.0, 0.0)


def test_a_login_fails_when_every_holder_of_its_role_is_down() -> None:
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
def test_a_lesson_of_gossip_names_the_refused_argument(
    asks: Callable[..., object], given: dict[str, object], words: str
) -> None:
    """The error says which names or numbers are allowed."""
    with pytest.raises(BadInput, match=words):
        asks(**given)
