"""How tablets were copied on the way: by hard links within a node, or streamed between nodes.

Source: Topology over Raft, "Tablet transitions": within a node the files are linked to on the
target shard.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from kit.engine.breaches import PassedStep
from kit.protocols.tablets.rules.stages import STREAM, TransitionKind
from kit.protocols.tablets.stage_work import Piece
from kit.protocols.tablets.tablets import Tablets

WITHIN_NODE: TransitionKind = "intranode_migration"


class Copies(Struct, frozen=True):
    """How many copies of tablets were made in either way; of co-located tables each counts."""

    linked: int = 0
    streamed: int = 0


def copies(m: Tablets, steps: Sequence[PassedStep]) -> Copies:
    """The copies that a run has made so far."""
    kinds = [kind for step in steps for kind in _copied(m, step)]
    linked = kinds.count(WITHIN_NODE)
    return Copies(linked, len(kinds) - linked)


def _copied(m: Tablets, step: PassedStep) -> Iterator[TransitionKind]:
    """The kinds of the transitions whose data a step copies."""
    for piece in done_pieces(m, step):
        sources, targets = m.involved(step.before, piece.transition, STREAM)
        if piece.work.name == STREAM and sources and targets:
            yield piece.transition.kind


def done_pieces(m: Tablets, step: PassedStep) -> Iterator[Piece]:
    """The pieces of work on data that a step does."""
    if isinstance(step.action, Tablets.work_on):
        piece = m.piece_of(step.before, step.action.tablet)
        assert piece is not None
        yield piece
    if isinstance(step.action, Tablets.work_on_all):
        for piece in m.data_pieces(step.before):
            if step.after.tablets[piece.tablet] is not step.before.tablets[piece.tablet]:
                yield piece
