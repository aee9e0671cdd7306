"""What operations hold of a ring that is too fine for single arcs: all of it as one path."""

from __future__ import annotations

from collections.abc import Iterable

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.large import DENSITY
from kit.protocols.tcm.facts.memo import memo
from kit.protocols.tcm.facts.moment import LockRow
from kit.ring.tokens import TokenSpace
from kit.views.circle import LOCKS_AT, arc_path, share
from kit.views.fragment import Frag, h
from kit.views.panel import Scene


def locked(scene: Scene, keyspace: str | None = None) -> list[LockRow]:
    """Return the ranges that operations hold, of a keyspace or of all, each once."""
    rows = {
        (lock.left, lock.right): lock
        for operation in facts.operations(scene.model, scene.state)
        for lock in operation.locks
        if keyspace in (None, lock.keyspace)
    }
    return [rows[bounds] for bounds in sorted(rows)]


def covered_parts(scene: Scene, keyspace: str | None = None) -> list[tuple[float, float]]:
    """The parts of the line that operations hold, of a keyspace or of all; see ``covered``."""
    model, state = scene.model, scene.state
    key = ("covered", state.tcm.events, state.tcm.forgotten, keyspace)
    return memo(model, key, lambda: covered(facts.space(model), locked(scene, keyspace)))


def draw_covered(scene: Scene, keyspace: str) -> Frag | None:
    """Draw the locked part of the ring."""
    parts = covered_parts(scene, keyspace)
    path = "".join(arc_path(left, right, LOCKS_AT) for left, right in parts)
    return h("path", d=path, k=f"lock:{keyspace}", class_="lock") if path else None


def covered(space: TokenSpace, locks: Iterable[LockRow]) -> list[tuple[float, float]]:
    """The parts of the line that are locked, as fine as can be seen."""
    bins: set[int] = set()
    for lock in locks:
        first, last = (int(share(space, end) * DENSITY) for end in (lock.left, lock.right))
        bins.update(range(first, min(last, DENSITY - 1) + 1))
    runs: list[list[int]] = []
    for bin_at in sorted(bins):
        if runs and runs[-1][1] == bin_at:
            runs[-1][1] = bin_at + 1
        else:
            runs.append([bin_at, bin_at + 1])
    return [(left / DENSITY, min(right / DENSITY, 0.9999)) for left, right in runs]
