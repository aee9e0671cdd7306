"""Figures of opened dumps that rules alone do not give."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.errors import BadInput
from kit.protocols.tablets.dry_run.what_if import drain
from tests.protocols.tablets.dry_run.test_command import host
from tests.protocols.tablets.dry_run.test_opening import edited, opened


def test_a_drain_beside_another_one_leaves_nothing_out(tmp_path: Path) -> None:
    """Tablets with replicas on both nodes that leave are in the answer of each."""
    alone = drain(opened(), host(2))
    leaving = edited(tmp_path, "topology", 0, topology_request="leave")
    beside = drain(opened(topology=leaving), host(2))
    assert alone.replicas == beside.replicas == 5
    moved = sum(len(move.tablets) for move in beside.moves)
    assert moved + sum(len(each.tablets) for each in beside.stuck) == 5
    assert host(1) not in beside.targets


@pytest.mark.spec("E-002")
@pytest.mark.spec("E-009")
@pytest.mark.parametrize(
    ("kind", "stage", "new", "said"),
    [
        ("repair", "repair", (4, 2, 3), "a repair moves none"),
        ("intranode_migration", "streaming", (4, 2, 3), "another shard of its host"),
        ("migration", "streaming", (1, 2, 3), "another host"),
        ("rebuild", "streaming", (1, 2, 3), "another host"),
    ],
)
def test_new_replicas_are_those_of_the_kind(
    kind: str, stage: str, new: tuple[int, ...], said: str, tmp_path: Path
) -> None:
    """What no transition of a kind does is no dump of one cluster; A's shard 0 becomes 1."""
    places = ", ".join(
        f"({host(number)}, {shard})" for number, shard in zip(new, (1, 1, 0), strict=True)
    )
    columns = {"transition": kind, "stage": stage, "new_replicas": f"[{places}]"}
    with pytest.raises(BadInput, match=said):
        opened(tablets=edited(tmp_path, "tablets", 0, **columns))
