"""Walks over the tracks take every row of every stage table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kit.engine.fuzz import fuzz
from kit.engine.registry import build
from kit.protocols.tablets.rules.stages import TRANSITIONS
from kit.protocols.topology.coverage import row_name
from kit.protocols.topology.rules.machines import EDITIONS, Edition

RARE = {"fault": 0.2, "elect": 0.05, "restart": 0.3}
WALKED: tuple[dict[str, Any], ...] = (
    {"tablets": ("A B",)},
    {"tablets": ("A:0 B:1",), "shards": 2, "kinds": ("intranode_migration",)},
    {"tablets": ("A B",), "kinds": ("repair",)},
    *(
        {"tablets": ("A B C",), "moves": 0, "operations": ("remove C",), "rebuild": rebuild}
        for rebuild in ("rebuild", "rebuild_v2")
    ),
)


def walks(edition: Edition) -> Iterator[Any]:
    """What the walks of each kind of transition met in an edition."""
    for given in WALKED:
        faults = {"nodes": 4, "failures": 2, "crashes": 1, "excluding": 1, **given}
        model = build("tablets", {"edition": edition, **faults})
        yield fuzz(model, range(150), steps=150, weights=RARE, within=0)


@pytest.mark.spec("E-001", "E-007", "E-008", "E-017")
@pytest.mark.parametrize("edition", EDITIONS)
def test_walks_take_every_row_of_every_stage_table(edition: Edition) -> None:
    """Walks over every kind, with work that fails and nodes that die, take each edge."""
    drawn = {
        row_name(name, edge) for name, table in TRANSITIONS[edition].items() for edge in table.edges
    }
    untaken, found_wrong = set(drawn), []
    for walked in walks(edition):
        untaken -= set(walked.rows) - set(walked.untaken)
        found_wrong += list(walked.findings)
    assert not found_wrong
    assert not untaken
