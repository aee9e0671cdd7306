"""Between two changes of what requests use stands a barrier, in every table of stages (E-064)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.protocols.tablets.rules.stages import KINDS, TRANSITIONS, TransitionKind
from kit.protocols.topology.rules.machines import BOUNDARY, EdgeRow, Edition, Machine, StateRow

Window = frozenset[str]
"""The stages by which somebody may still work."""


def steps(table: Machine) -> Iterator[tuple[EdgeRow, Window]]:
    """Each way through the table: an edge, with the stages in use once it is committed.

    A barrier that is met leaves the stage that it belongs to; one that failed leaves all.
    """
    seen: set[tuple[str, Window]] = set()
    reached = [(BOUNDARY, frozenset({BOUNDARY}))]
    while reached:
        stage, window = reached.pop()
        for edge in table.edges:
            if edge.source != stage:
                continue
            met = edge.kind == "happy" and barrier_of(table, stage)
            after = frozenset({stage}) if met else window
            after |= {edge.target}
            yield edge, after
            if edge.target != BOUNDARY and (edge.target, after) not in seen:
                seen.add((edge.target, after))
                reached.append((edge.target, after))


def barrier_of(table: Machine, stage: str) -> bool:
    """Whether a stage has a barrier."""
    return stage != BOUNDARY and any(work.barrier for work in table.state(stage).work)


def selectors(table: Machine, stage: str, ends: str) -> tuple[str, str]:
    """What requests use; outside the transition one of both sets alone."""
    row = None if stage == BOUNDARY else table.state(stage)
    return (ends, ends) if row is None else (row.reads, row.writes)


def too_far(edition: Edition, kind: TransitionKind) -> set[tuple[str, str]]:
    """The edges after which two nodes may differ in both selectors."""
    table = TRANSITIONS[edition][kind]
    found = set()
    for edge, window in steps(table):
        if edge.target == BOUNDARY:
            continue  # it ends behind a barrier of a stage with the same selectors
        used = [selectors(table, stage, "old") for stage in window]
        if any(a[0] != b[0] and a[1] != b[1] for a in used for b in used):
            found.add((edge.source, edge.target))
    return found


@pytest.mark.spec("E-064")
@pytest.mark.parametrize("kind", KINDS)
def test_in_edition_server_two_nodes_differ_in_one_selector_at_most(kind: TransitionKind) -> None:
    """On every way through the table, also those of failures."""
    assert too_far("server", kind) == set()


@pytest.mark.parametrize("kind", KINDS)
def test_in_edition_documents_but_for_what_follows_a_failed_barrier(kind: TransitionKind) -> None:
    """The read switch's barrier failed: back or on, the next change comes without one (Q-47)."""
    switch = {("write_both_read_new", "cleanup_target"), ("write_both_read_new", "use_new")}
    assert too_far("documents", kind) == (switch if kind != "repair" else set())


def test_without_the_barrier_of_double_writes_two_nodes_would_be_further_apart() -> None:
    """What the first test looks for is found where a barrier is taken away."""
    table = TRANSITIONS["server"]["migration"]
    weaker = [
        row if row.name != "write_both_read_new" else StateRow(row.name, (), row.reads, row.writes)
        for row in table.states
    ]
    broken = Machine(table.name, tuple(weaker), table.edges)
    wide = [window for edge, window in steps(broken) if edge.target == "use_new"]
    assert any({"streaming", "use_new"} <= window for window in wide)
