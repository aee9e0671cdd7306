"""Deltas: small changes of a placement that can be inverted, merged and applied.

A delta cuts rows, adds nodes to groups and drops them, and takes cuts back (CEP-21, "Bootstrap":
split, add, switch, drop; "Decommission": merge). It is keyed by range and node, so that deltas of
operations on disjoint ranges can be applied in any order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from msgspec import Struct

Spans = tuple[tuple[int, int], ...]


class Edit(Struct, frozen=True, order=True):
    """One node (by code) comes to, or goes from, the groups of all rows in ``(left, right]``."""

    left: int
    right: int
    node_code: int


class Edits(Struct, frozen=True, order=True):
    """Additions and drops on one table, in the canonical form of ``edits``."""

    adds: tuple[Edit, ...] = ()
    drops: tuple[Edit, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.adds or self.drops)


class Delta(Struct, frozen=True, order=True):
    """First ``cuts``, then the edits of both tables, then ``merges`` (bounds that are given up)."""

    cuts: tuple[int, ...] = ()
    reads: Edits = Edits()
    writes: Edits = Edits()
    merges: tuple[int, ...] = ()

    empty: ClassVar[Delta]

    def __bool__(self) -> bool:
        return bool(self.cuts or self.reads or self.writes or self.merges)


Delta.empty = Delta()


def edits(adds: Iterable[Edit] = (), drops: Iterable[Edit] = ()) -> Edits:
    """Edits in canonical form: adjacent ranges of a node are one, all are sorted."""
    return Edits(_canonical(adds), _canonical(drops))


def _canonical(given: Iterable[Edit]) -> tuple[Edit, ...]:
    edits: list[Edit] = []
    for edit in sorted(given, key=lambda e: (e.node_code, e.left, e.right)):
        last = edits[-1] if edits else None
        if last and last.node_code == edit.node_code and edit.left <= last.right:
            edits[-1] = Edit(last.left, max(last.right, edit.right), edit.node_code)
        else:
            edits.append(edit)
    return tuple(sorted(edits))


def invert(delta: Delta) -> Delta:
    """The delta that takes this one back."""
    return Delta(
        cuts=delta.merges,
        reads=Edits(delta.reads.drops, delta.reads.adds),
        writes=Edits(delta.writes.drops, delta.writes.adds),
        merges=delta.cuts,
    )


def merge(first: Delta, second: Delta) -> Delta:
    """One delta that acts as ``first``, then ``second``; what they take back of each other goes."""
    reads = _then(first.reads, second.reads)
    writes = _then(first.writes, second.writes)
    undone = (set(first.cuts) & set(second.merges)) | (set(first.merges) & set(second.cuts))
    edited = (*reads.adds, *reads.drops, *writes.adds, *writes.drops)
    edges = {bound for edit in edited for bound in (edit.left, edit.right)}
    kept_cuts = (set(first.cuts) & set(second.merges)) & edges
    cuts = ((set(first.cuts) | set(second.cuts)) - undone) | (undone & edges)
    merges = ((set(first.merges) | set(second.merges)) - undone) | kept_cuts
    return Delta(tuple(sorted(cuts)), reads, writes, tuple(sorted(merges)))


def _then(first: Edits, second: Edits) -> Edits:
    """The edits of ``first``, then ``second``: an addition and a drop cancel, in either order."""
    nodes = {e.node_code for side in (first, second) for e in (*side.adds, *side.drops)}
    adds: list[Edit] = []
    drops: list[Edit] = []
    for node in nodes:
        added, dropped = _spans(first.adds, node), _spans(first.drops, node)
        adding, dropping = _spans(second.adds, node), _spans(second.drops, node)
        new = (*_minus(added, dropping), *_minus(adding, dropped))
        gone = (*_minus(dropped, adding), *_minus(dropping, added))
        adds += [Edit(*span, node) for span in new]
        drops += [Edit(*span, node) for span in gone]
    return edits(adds, drops)


def _spans(given: Iterable[Edit], node: int) -> Spans:
    return tuple((edit.left, edit.right) for edit in given if edit.node_code == node)


def _minus(area: Spans, taken: Spans) -> Spans:
    for left, right in taken:
        area = tuple(
            piece
            for a, b in area
            for piece in ((a, min(b, left)), (max(a, right), b))
            if piece[0] < piece[1]
        )
    return area
