"""A node that is gone for good holds up no operation: it is ignored, and what was begun ends."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.search.check import check

EDITIONS = ("documents", "server")
OPERATIONS = (
    "join D", "leave C", "rebuild C", "cleanup", "new_cdc_generation", "truncate_table ks.t",
)  # fmt: skip
CASES = [
    *((edition, 3, asks) for edition in EDITIONS for asks in OPERATIONS),
    *((edition, 4, asks) for edition in EDITIONS for asks in ("remove C", "replace E C")),
]


def judged(edition: str, nodes: int, asks: str, *, helped: bool = True) -> Any:
    """What a search says of the goals where one node dies and none is ever restarted."""
    given = {"edition": edition, "nodes": nodes, "operations": (asks,), "crashes": 1, "lag": False}
    model: Any = build("topology", given)
    if not helped:
        model.instructions = ()
    goals = tuple(prop for prop in model.properties if prop.kind == "goal")
    return check(model, goals, monitors=())


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("edition", "nodes", "asks"), CASES)
def test_an_operation_ends_without_a_restart(edition: str, nodes: int, asks: str) -> None:
    """Whoever dies, whenever: once it is ignored the operation succeeds, or is rolled back."""
    found = judged(edition, nodes, asks)
    assert found.complete
    assert found.violation is None


# The published server goes on behind a barrier that failed, where there is no way back.
HELD_UP = [
    *(("documents", 3, asks) for asks in ("join D", "leave C", "truncate_table ks.t")),
    *(("documents", 4, asks) for asks in ("remove C", "replace E C")),
    ("server", 3, "truncate_table ks.t"),
]


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("edition", "nodes", "asks"), CASES)
def test_where_only_a_restart_would_help_progress_is_red(
    edition: str, nodes: int, asks: str
) -> None:
    """Without an operator who has the dead node ignored, these wait for its restart: no progress.

    The others go on by themselves, or are rolled back.
    """
    found = judged(edition, nodes, asks, helped=False)
    assert (found.violation is not None) == ((edition, nodes, asks) in HELD_UP)
    assert found.violation is None or found.violation.property == "ends"


ROLLED_BACK = """join D
decide
commit
crash B
work
work
work
decide
commit
fail
decide
commit
refused answer B
exclude B
answer A
answer C
decide
commit
"""


def test_a_rollback_of_the_documents_passes_an_ignored_node() -> None:
    """The barrier of ``left_token_ring`` waits for B, until B is in ``ignore_nodes``."""
    given = {"edition": "documents", "crashes": 1, "exclusions": 1, "lag": False}
    model: Any = build("topology", given)
    s = model.start()
    for line in ROLLED_BACK.splitlines():
        wanted = line.removeprefix("refused ")
        found = model.find(s, wanted)
        assert found is not None, wanted
        action, refusal = found
        assert (refusal is not None) == line.startswith("refused "), (line, refusal)
        if refusal is None:
            s = model.apply(s, action)
    assert s.topology.transition == "left_token_ring"
    assert model.task(s).work.name == "shut_down"
