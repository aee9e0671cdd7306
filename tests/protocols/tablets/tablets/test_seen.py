"""What a student sees of a move within a node: the shards that each stage uses."""

from __future__ import annotations

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.rules.stages import TRANSITIONS
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.views.panel import scene_of
from kit.views.registry import for_model

READS = {"old": "0", "new": "1"}
WRITES = {"old": "0", "both": "0, 1", "new": "1"}


@pytest.mark.spec("E-063")
@pytest.mark.parametrize("edition", EDITIONS)
def test_every_stage_has_a_row_of_shard_columns(edition: Edition) -> None:
    """The tab of sharders lists each stage of a move within a node: the shard for reads, those for
    writes, where a replica is; the stage of now is marked. A node without a replica has no shard
    for writes.
    """
    given = {"edition": edition, "kinds": ("intranode_migration",), "shards": 2, "nodes": 3}
    timeline = Timeline(build("tablets", {**given, "tablets": ("A:0 B:1",), "moves": 1}))
    [panel] = [each for each in for_model(timeline.model).panels if each.name == "sharder"]
    table, marked = TRANSITIONS[edition]["intranode_migration"], set()
    while timeline.forward() is not None:
        ways = timeline.state.tablets[0].transitions
        text = panel.text(scene_of(timeline, timeline.at)).replace("\u200b", "")
        for row in table.states if ways else ():
            now = " ← now" * (row.name == ways[0].stage)
            marked |= {row.name} if now else set()
            line = f"A, {row.name}{now}: shard_for_reads() {READS[row.reads]}, shard_for_writes() "
            assert f"{line}{WRITES[row.writes]}, has_replica() 0, 1\n" in text
            line = f"B, {row.name}{now}: shard_for_reads() 1, shard_for_writes() 1, has_replica() 1"
            assert f"{line}\n" in text
        assert "has_replica() no, shard_for_reads() 0, shard_for_writes() {}" in text
        assert (" ← now" in text) == bool(ways)
        assert "C, streaming" not in text
    assert marked == {row.name for row in table.states} - {"cleanup_target", "revert_migration"}
