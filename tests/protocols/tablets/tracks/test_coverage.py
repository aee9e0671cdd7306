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

REBUILDS = ("rebuild", "rebuild_v2")
RARE = {"fault": 0.3, "elect": 0.05, "restart": 0.02}
MIGRATION: dict[str, Any] = {"nodes": 3, "tablets": ("A B",)}
WALKED: tuple[dict[str, Any], ...] = (
    MIGRATION,
    {"tablets": ("A:0 B:1",), "shards": 2, "kinds": ("intranode_migration",)},
    {"tablets": ("A B",), "kinds": ("repair",)},
    *(
        {"nodes": 3, "tablets": ("A",), "kinds": (kind,), "rf": 2, "failures": 1}
        for kind in REBUILDS
    ),
    *(
        {"tablets": ("A B C",), "moves": 0, "operations": ("remove C",), "rebuild": rebuild}
        for rebuild in REBUILDS
    ),
)


def walks(edition: Edition) -> Iterator[Any]:
    """What the walks of each kind of transition met in an edition."""
    for given in WALKED:
        faults = {"nodes": 4, "failures": 2, "crashes": 1, "exclusions": 1, "late": 1, **given}
        model = build("tablets", {"edition": edition, **faults})
        # Reads lead back to the old replicas only where the target dies in one stage.
        seeds = range(900 if "rf" in given else 500 if given == MIGRATION else 150)
        yield fuzz(model, seeds, steps=120, weights=RARE, within=0)


# With as many old replicas alive as new ones edition ``seed`` goes on: within a node both die at
# once, and a rebuild has no more old replicas alive than new ones.
UNTAKEN = {
    "seed": {
        row_name(kind, edge)
        for kind in ("intranode_migration", *REBUILDS)
        for edge in TRANSITIONS["seed"][kind].edges
        if edge.when == "more_old"
    },
    "code": set(),
}


@pytest.mark.spec("E-007", "E-008", "E-017")
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
    assert untaken == UNTAKEN[edition]
