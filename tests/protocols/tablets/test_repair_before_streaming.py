"""Where ``rebuild_repair`` stands: before ``streaming``, whatever stage leads there."""

from __future__ import annotations

import pytest

from kit.protocols.tablets.rules import stages
from kit.protocols.topology.rules.machines import EDITIONS

EDGE = "    {} | streaming | | happy | version"


@pytest.mark.parametrize(
    ("states", "edges", "rebuild"),
    [
        tuple(
            stages._of(edition, each) for each in (stages._STATES, stages._EDGES, stages._REBUILD)
        )
        for edition in EDITIONS
    ],
    ids=EDITIONS,
)
@pytest.mark.parametrize("source", ["write_both_read_old", "settle", "wait_for_disk"])
def test_a_stage_may_stand_before_streaming(
    states: str, edges: str, rebuild: str, source: str
) -> None:
    """The edge into ``streaming`` leads into ``rebuild_repair``, and from there on."""
    [line] = [x for x in edges.splitlines() if " | streaming | | happy" in x]
    changed = edges.replace(line, line.replace("write_both_read_old |", f"{source} |"))
    _, after = stages._repaired_first(states, changed, rebuild)
    happy = [[c.strip() for c in x.split("|")][:2] for x in after.splitlines() if "| happy |" in x]
    assert [source, "rebuild_repair"] in happy
    assert ["rebuild_repair", "streaming"] in happy
    assert [pair for pair in happy if pair[1] == "streaming"] == [["rebuild_repair", "streaming"]]


@pytest.mark.parametrize("count", [0, 2])
def test_one_edge_leads_into_streaming(count: int) -> None:
    """With none, or with several, the error says what is missing."""
    edges = "\n".join(EDGE.format(f"stage{i}") for i in range(count))
    with pytest.raises(ValueError, match=f"lead into streaming, not {count}"):
        stages._repaired_first("", edges, "")
