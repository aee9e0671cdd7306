"""The stage diagrams are the tables of stages."""

from __future__ import annotations

import pytest

from kit.protocols.tablets.panels.tablets import diagram
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
