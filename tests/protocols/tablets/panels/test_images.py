"""The stage diagrams are the tables of stages, one drawing for kinds with the same table."""

from __future__ import annotations

import pytest

from kit.protocols.tablets.panels.tablets import diagram, diagrams
from kit.protocols.tablets.rules.stages import TRANSITIONS
from kit.protocols.topology.rules.machines import BOUNDARY
from kit.views.diagrams import END, START


@pytest.mark.spec("E-007", "E-008", "E-009")
def test_a_diagram_has_the_edges_of_its_table() -> None:
    """Every edge once, where it leads, with the boundary as the beginning and the end."""
    for whose, tables in TRANSITIONS.items():
        for kind, table in tables.items():
            drawn = [(source, target) for source, _, target in diagram(kind, whose).transitions]
            assert drawn == [
                (START if e.source == BOUNDARY else e.source,
                 END if e.target == BOUNDARY else e.target)
                for e in table.edges
            ]  # fmt: skip


def test_kinds_with_the_same_table_share_a_drawing() -> None:
    """In the documents a move, a move within a node and a rebuild go through the same stages."""
    names = {kind: diagram(kind, "documents").name for kind in TRANSITIONS["documents"]}
    assert names["migration"] == names["intranode_migration"] == names["rebuild"]
    older = {kind: diagram(kind, "server-2025").name for kind in TRANSITIONS["server-2025"]}
    assert older["repair"] == diagram("repair", "server").name
    assert older["migration"] == older["rebuild"] == "state-tablet-migration-server-2025"
    assert len({each.name for each in diagrams()}) == len(list(diagrams())) == 9
