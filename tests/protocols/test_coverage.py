"""The rows that runs are to cover: which a run takes, and that they can all be taken."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from kit.model.registry import build, rows_of
from kit.model.timeline import Timeline, played_out


def covered(name: str, **parameters: Any) -> tuple[set[str], set[str]]:
    """The rows of a model, and those that its own schedule takes."""
    model = build(name, parameters)
    rows, timeline = rows_of(model), Timeline(model)
    played_out(timeline)
    path = [timeline.moments[number] for number in timeline.path()]
    taken = {
        row
        for before, after in pairwise(path)
        for row in rows.taken(before.state, after.action, after.state)
    }
    return set(rows.names), taken


def test_a_bootstrap_takes_every_edge_but_cancel() -> None:
    """Of its own diagram, along the run that the model suggests."""
    names, taken = covered("tcm", operations=("bootstrap X --tokens 150",))
    edges = {name for name in names if name.startswith("bootstrap: ")}
    assert taken <= names
    assert len(edges & taken) >= 4
    assert all(" - cancel" in edge for edge in edges - taken)


@pytest.mark.parametrize("operation", ["bootstrap", "decommission"])
def test_an_operation_takes_only_rows_of_its_table(operation: str) -> None:
    """At least one of them."""
    names, taken = covered("vnodes", operation=operation, nodes=3, rf=1)
    assert taken
    assert taken <= names
    assert all(": " in name for name in names)


EDGES = {
    "cleanup": {"cleanup: * → null", "cleanup: null → *"},
    "new_cdc_generation": {
        "new_cdc_generation: * → commit_cdc_generation",
        "new_cdc_generation: commit_cdc_generation → *",
    },
    "leave B": {
        "decommissioning: * → tablet_draining",
        "decommissioning: tablet_draining → write_both_read_old",
        "decommissioning: write_both_read_old → write_both_read_new",
        "decommissioning: write_both_read_new → left_token_ring",
        "decommissioning: left_token_ring → *",
    },
}


@pytest.mark.parametrize("operation", EDGES)
def test_an_operation_without_a_failure_takes_exactly_its_edges(operation: str) -> None:
    """Those of its machine that do not lead back."""
    names, taken = covered("topology", operations=(operation,), nodes=2)
    assert taken == EDGES[operation] <= names


def test_a_cleanup_takes_each_of_its_edges_once() -> None:
    """And none while it waits."""
    model: Any = build("topology", {"operations": ("cleanup",), "nodes": 2})
    rows, timeline, met = rows_of(model), Timeline(model), []
    while (action := timeline.suggest()) is not None:
        before = timeline.state
        timeline.do(action)
        met += rows.taken(before, action, timeline.state)
    assert sorted(met) == sorted(EDGES["cleanup"])
