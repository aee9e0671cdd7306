"""The pipeline's answers in the simplest form: loops over the rows that the class engine gives."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import Any

from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.parameters import TcmParameters
from kit.protocols.tcm.rules.quorums import disjoint_majorities
from kit.ring.replication import Keyspace
from kit.ring.tokens import MURMUR3
from kit.ring.topology import Ring

Group = tuple[str, ...]
Line = tuple[int, int, Group, Group]


def engine(
    ring: Ring, keyspaces: tuple[Keyspace, ...], *operations: str, off: tuple[str, ...] = ()
) -> TcmCluster:
    """The model that the class steps through, for the same ring and operations."""
    space = ring.space
    ends = (None, None) if space == MURMUR3 else (space.low, space.high)
    return TcmCluster(
        TcmParameters(
            members=ring.nodes,
            keyspaces=keyspaces,
            low=ends[0],
            high=ends[1],
            operations=operations,
        ),
        off,
    )


def to_rest(model: TcmCluster) -> Any:
    """The state once all operations are done, as the model itself suggests."""
    state = model.start()
    while (action := model.suggest(state)) is not None:
        state = model.act(state, action)
    return state


def tables(model: TcmCluster, keyspace: str) -> list[list[Line]]:
    """The rows of a keyspace at every epoch, from the engine."""
    state = to_rest(model)
    first, last = model.parameters.epoch, model.newest_epoch(state)
    return [
        [(r.left, r.right, r.reads, r.writes) for r in facts.rows(model, state, keyspace, epoch)]
        for epoch in range(first, last + 1)
    ]


def from_arrow(rows: list[dict[str, Any]], names: tuple[str, ...], group: int) -> list[list[Line]]:
    """The rows of the table ``replicas`` in the same form."""
    steps = 1 + max(row["step"] for row in rows)
    found: list[list[Line]] = [[] for _ in range(steps)]
    for row in rows:
        if row["group"] == group:
            reads, writes = (tuple(names[c] for c in row[side]) for side in ("reads", "writes"))
            found[row["step"]].append((row["left"], row["right"], reads, writes))
    return [sorted(lines) for lines in found]


def shares(lines: list[Line], side: int, space_width: int) -> dict[str, float]:
    """The part of the line that each node serves; side 2 for reads, 3 for writes."""
    found: Counter[str] = Counter()
    for line in lines:
        for name in line[side]:
            found[name] += line[1] - line[0]
    return {name: float(Fraction(width, space_width)) for name, width in found.items()}


def missed(readers: list[Line], writers: list[Line]) -> tuple[int, int]:
    """Ranges looked at, and those in which some read majority misses a write majority."""
    bounds = sorted({line[1] for line in (*readers, *writers)})
    count = 0
    for right in bounds:
        reads = next(line[2] for line in readers if line[0] < right <= line[1])
        writes = next(line[3] for line in writers if line[0] < right <= line[1])
        codes = {name: i for i, name in enumerate(sorted({*reads, *writes}))}
        sides = (tuple(codes[name] for name in side) for side in (reads, writes))
        count += disjoint_majorities(*sides) is not None
    return len(bounds), count


def adjacent(steps: int) -> list[tuple[int, int]]:
    """(reader, writer) for every pair of steps that are at most one apart."""
    near = [(a, b) for a, b in pairwise(range(steps))]
    return sorted([*((a, a) for a in range(steps)), *near, *((b, a) for a, b in near)])


def lost(
    lines: list[Line], side: int, unit_of: dict[str, str], unit: str, among: set[str], one: bool
) -> tuple[int, int]:
    """Ranges, and their width, without a quorum of the nodes ``among`` once a unit is lost.

    With ``one`` a single node is enough.
    """
    count = width = 0
    for line in lines:
        group = [name for name in line[side] if name in among]
        reads = [name for name in line[2] if name in among]
        pending = {*group} - {*reads}
        needed = 1 if one else len(reads) // 2 + 1 + len(pending)
        if group and sum(unit_of[name] != unit for name in group) < needed:
            count += 1
            width += line[1] - line[0]
    return count, width
