"""Tables for lessons on the epoch protocol: whose majorities meet, what a barrier asks for."""

from __future__ import annotations

from typing import Any

from kit.lessons.stills import timeline_of
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.majorities import first_missed
from kit.protocols.tcm.lessons.clusters import cluster_of
from kit.views.report import BROKEN, HOLDS, Sheet


def meetings(source: Any, token: int) -> Sheet:
    """Whether a majority of readers meets one of writers, for each two epochs of an operation.

    The epochs are those committed so far. A cross stands with a read majority and a write
    majority that share no node.

    Raises:
        BadInput: for a token outside the space.
    """
    timeline = timeline_of(source)
    m, s = cluster_of(timeline), timeline.state
    facts.space(m).check(token, "token")
    epochs = [line.epoch for line in facts.log(m, s)]
    groups = {epoch: _row(m, s, token, epoch) for epoch in epochs}
    cells = [[_met(groups[read], groups[write]) for write in epochs] for read in epochs]
    return Sheet(
        f"Token {token}: a read by one epoch, a write by another",
        ("", *(f"write at {epoch}" for epoch in epochs)),
        tuple((f"read at {epoch}", *row) for epoch, row in zip(epochs, cells, strict=True)),
        (f"{HOLDS} they always share a node; {BROKEN} these two majorities share none",),
    )


def _row(m: Any, s: Any, token: int, epoch: int) -> facts.RangeRow:
    return next(row for row in facts.rows(m, s, at=epoch) if row.left < token <= row.right)


def _met(reading: facts.RangeRow, writing: facts.RangeRow) -> str:
    missed = first_missed(reading.reads, writing.writes)
    if missed is None:
        return HOLDS
    read, write = (",".join(sorted(group)) for group in missed)
    return f"{BROKEN} {read} / {write}"


def barriers(*sources: Any) -> Sheet:
    """What the next step of each timeline waits for, on the first range that is locked."""
    rows = [row for source in sources for row in _barriers(timeline_of(source))]
    heads = ("edition", "events", "range", "datacenter", "must have applied")
    return Sheet("Before the next event", heads, tuple(rows))


def _barriers(timeline: Any) -> list[tuple[str, ...]]:
    m = cluster_of(timeline)
    operation = facts.operations(m, timeline.state)[0]
    steps = ", ".join(step.name for step in operation.steps)
    first = operation.barriers[0].label
    return [
        (
            m.parameters.edition,
            steps,
            row.label,
            row.dc or "all",
            f"{row.needed} of {', '.join(row.replicas)}",
        )
        for row in operation.barriers
        if row.label == first
    ]
