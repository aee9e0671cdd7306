"""What a student sees of a schema by gossip: versions, pulls, two sides, what is lost."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import entry_of
from tests.views.frames import after, last_flows, panel_text

ROUND = ("gossip A B", "deliver A>B SYN", "deliver B>A ACK", "deliver A>B ACK2")
RIVALS = ("create table ks.t at A", "create table ks.t at B")


@pytest.mark.spec("C-040")
def test_a_node_that_hears_of_another_digest_pulls_the_cells() -> None:
    """The panel shows each node's digest, those that it has heard, and whom it waits for."""
    timeline = after("gossip", {"nodes": 2}, RIVALS[0], *ROUND)
    text = panel_text(timeline, "versions")
    assert "A  d872eb  ≠ 0ee694 (1:1)  3  –" in text
    assert "B  ≠ d872eb (1:2)  0ee694  1  ← A" in text
    timeline = after("gossip", {"nodes": 2}, RIVALS[0], *ROUND, "pull B A", "deliver B>A pull")
    [flow] = last_flows(timeline)
    assert (flow.from_key, flow.to_key, flow.kind) == ("n:B", "n:A", "request")
    timeline.forward()
    [flow] = last_flows(timeline)
    assert (flow.from_key, flow.to_key, flow.label) == ("n:A", "n:B", "cells d872eb")
    assert "B  = d872eb (1:2)  d872eb  3" in panel_text(timeline, "versions")


@pytest.mark.spec("G-015")
def test_the_panels_show_two_schemas_after_changes_on_both_sides_of_a_partition() -> None:
    """Each side has its own table, and the verdicts one-side and split-brain are broken."""
    changes = ("create table ks.t at A", "create table ks.u at C")
    timeline = after("gossip", {"changes": changes, "partitions": 1}, "partition A B | C", *changes)
    assert "cut: between C and the others" in panel_text(timeline, "nodes")
    text = panel_text(timeline, "schemas")
    assert "≠ table ks.t: A id 2@A, B –, C –" in text
    assert "≠ table ks.u: A –, B –, C id 3@C" in text
    assert [v.name for v in timeline.verdicts() if not v.ok] == ["one-side", "split-brain"]


@pytest.mark.spec("G-017")
def test_the_panels_name_the_change_that_a_newer_timestamp_overwrote() -> None:
    """While only one node knows both changes, none is counted as overwritten."""
    timeline = after("gossip", {"changes": RIVALS, "nodes": 2}, *RIVALS)
    text = panel_text(timeline, "schemas")
    assert "≠ table ks.t: A id 2@A, B id 3@B" in text
    assert "id 2@A  A  ! something newer on B" in text
    assert "overwritten" not in panel_text(timeline, "badges")  # B never knew it, A still has it
    while timeline.forward() is not None:
        pass
    text = panel_text(timeline, "schemas")
    assert "= table ks.t: A id 3@B, B id 3@B" in text
    assert "id 2@A  –  ! lost: something newer took its place" in text
    assert "1 change overwritten" in panel_text(timeline, "badges")
    assert [v.name for v in timeline.verdicts() if not v.ok] == ["lost-update"]


def test_the_model_of_a_schema_by_gossip_has_no_safeguards() -> None:
    """Gossip has no check that would keep two nodes from changing the schema at once."""
    assert entry_of("gossip").safeguards == ()


FACTORS = ("alter keyspace ks rf 2 at A", "alter keyspace ks rf 3 at A")
LATE = ("alter keyspace ks rf 2 at A", "alter keyspace ks rf 3 at B")
REQUESTED = ("pull B A", "deliver B>A pull")
BEHIND = (LATE[0], *ROUND, *REQUESTED, "deliver A>B cells 5930b0")


@pytest.mark.parametrize(
    ("given", "verbs", "lost"),
    [
        # B has something newer where A's change belongs, and has not pulled A's yet: then it has.
        ({"changes": RIVALS}, (*RIVALS, *ROUND), False),
        ({"changes": RIVALS}, (*RIVALS, *ROUND, *REQUESTED, "deliver A>B cells d872eb"), True),
        # A changes again what it changed before, knowingly: B hears of both in one.
        ({"changes": FACTORS}, (*FACTORS, *ROUND, *REQUESTED, "deliver A>B cells a2378e"), False),
        # B has A's change, and a clock that is behind: what it does has no effect at all.
        ({"changes": LATE, "clocks": (9,)}, BEHIND, False),
        ({"changes": LATE, "clocks": (9,)}, (*BEHIND, LATE[1]), True),
    ],
)
def test_an_update_is_lost_when_a_node_with_something_newer_hears_of_it(
    given: dict[str, Any], verbs: tuple[str, ...], lost: bool
) -> None:
    """A change that replaces the node's own, or one it knows with a later timestamp, loses none."""
    timeline = after("gossip", {"nodes": 2, **given}, *verbs)
    broken = [each.name for each in timeline.verdicts() if not each.ok]
    assert ("lost-update" in broken) is lost
