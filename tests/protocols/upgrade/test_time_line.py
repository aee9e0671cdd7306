"""The time line of the Raft upgrade has each node's five phases, and when it refuses a change."""

from __future__ import annotations

from kit.protocols.upgrade.panels.states import graphs
from kit.protocols.upgrade.raft_upgrade import PHASES
from kit.views.palette import SIGNS
from tests.views.tabled import drawn_rows


def test_every_node_passes_the_five_phases_in_order() -> None:
    """A begins; all lanes end together; in phases 3 and 4 a node refuses changes of the schema."""
    [(_, source)] = graphs()
    rows = {row[0][2]: row[1:] for row in drawn_rows(source) if row[0][2]}
    assert [*rows] == ["A", "B", "C"]
    assert len({sum(columns for columns, *_ in row) for row in rows.values()}) == 1
    for row in rows.values():
        told = [(words, colour) for _, colour, words in row if words]
        names = [f"{at} {name}" for at, name in enumerate(PHASES, 1)]
        refuses, done = SIGNS["removed"], SIGNS["added"]
        assert told == [*zip(names, ("#ffffff", "#ffffff", refuses, refuses, done), strict=True)]


def test_nobody_is_two_phases_ahead() -> None:
    """A phase ends only when all have done it, so nobody is two phases before another."""
    [(_, source)] = graphs()
    lanes = [
        [int(words[:1] or 0) for columns, _, words in row[1:] for _ in range(columns)]
        for row in drawn_rows(source)
        if row[0][2]
    ]
    assert all(max(at) - min(at) <= 1 for at in zip(*lanes, strict=True))
