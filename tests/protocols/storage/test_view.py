"""Who answers a request: the replicas that are asked, or the shards of the one that has several."""

from __future__ import annotations

import pytest

from kit.protocols.storage.rules.view import ShardChoice, View

NODE, READS, WRITES = 0b010, 0b01000, 0b11000
GROUPS = range(1 << 3)


@pytest.mark.parametrize("asked", GROUPS)
def test_shards_answer_where_their_node_is_asked(asked: int) -> None:
    """The node's shards stand in its place; where it is not asked, or has none, nothing changes."""
    split = View(asked, asked, asked, asked, shards=ShardChoice(NODE, READS, WRITES))
    others = asked & ~NODE
    for found, shards in ((split.read_at, READS), (split.written_at, WRITES)):
        assert found == (others | shards if asked & NODE else asked)
    whole = View(asked, asked, asked, asked)
    assert (whole.read_at, whole.written_at) == (asked, asked)


@pytest.mark.parametrize("holders", [None, *GROUPS])
def test_who_finds_the_range_on_itself(holders: int | None) -> None:
    """Reads and writes look at masks of their own; without one, nobody looks."""
    for write in (False, True):
        masks = {"stores": holders} if write else {"serves": holders}
        view = View(0b001, 0b111, 0b001, 0b100, **masks)
        assert view.group(write) == (0b111 if write else 0b001)
        for replica in range(3):
            assert view.holds_it(replica, not write)
            assert view.holds_it(replica, write) is (
                holders is None or bool(holders & 1 << replica)
            )
    assert (view.last_modified, view.fence, view.shards) == (0, None, None)
