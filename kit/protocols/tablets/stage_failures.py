"""What goes wrong in stages of tablets: work that fails, RPCs that are late.

Sources: Topology over Raft, "Tablet transitions", its error edges; "Topology guards", sessions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.engine.declared import Travel, action, refused
from kit.engine.flows import FlowKind
from kit.errors import Refusal
from kit.protocols.tablets.cluster import LateRpc, Next, TabletsState
from kit.protocols.tablets.hosts import NETWORK
from kit.protocols.tablets.stage_work import Piece, Stages, barrier_nodes, effect

NO_FAULT = refused("no work may fail by itself any more")
AGAIN = refused("it is tried again until it succeeds")
NOT_SENT = refused("no RPC is sent")


class StageFailures(Stages):
    """Failures of barriers and of data work, and RPCs that come late."""

    def may_fail(self, s: TabletsState, piece: Piece) -> Refusal | None:
        """Why a piece of work does not fail now."""
        blocked = self.busy(s)
        if blocked is not None:
            return blocked
        if self.error_edge(s, piece.transition) is None:
            return AGAIN
        return None if not piece.goes(s) or s.failures else NO_FAULT

    def failed(self, s: TabletsState, piece: Piece) -> TabletsState:
        """The state once a piece of work has failed."""
        row = s.tablets[piece.tablet].way(piece.place, piece.transition.but(failed=True))
        return s.with_row(piece.tablet, row)

    def failed_by_chance(self, s: TabletsState, piece: Piece) -> TabletsState:
        """The same, which takes a fault where the work could have succeeded."""
        return self.failed(s.spend("failures") if piece.goes(s) else s, piece)

    def fallible(self, s: TabletsState) -> list[Piece]:
        """The pieces that wait for the barrier and lead somewhere when it fails."""
        return [p for p in self.barriers(s) if self.error_edge(s, p.transition) is not None]

    def goes_past(self, s: TabletsState, piece: Piece) -> bool:
        """Whether the failure of a barrier leads on: past who is down, and past nobody else.

        Else a node could be two stages behind another one (INV-ONESTAGE).
        """
        edge = self.error_edge(s, piece.transition)
        return edge is not None and edge.kind == "proceed"

    @action(kind="fault", verb="fail barrier", fault=True)
    def fail_barrier(self, s: TabletsState) -> Next:
        """The barrier of the tablets fails."""
        pieces = self.fallible(s)
        if not pieces:
            return None
        blocked = self.may_fail(s, pieces[0])
        if blocked is not None:
            return blocked
        if self.answering:
            unheard = barrier_nodes(s) & s.control.reachable & ~s.answered
            if unheard and any(self.goes_past(s, piece) for piece in pieces):
                return refused("who is up answers first", self.named(unheard))
        first, *others = pieces
        s = self.failed_by_chance(s, first)
        for piece in others:
            s = self.failed(s, piece)
        return s

    def failing(self, s: TabletsState) -> dict[int, None]:
        """The tablets whose data work may fail; of very many, those where it cannot but fail."""
        if self.dump is None:
            return self.data_tablets(s)
        return dict.fromkeys(p.tablet for p in self.data_pieces(s) if not p.goes(s))

    @action(
        kind="fault",
        verb="fail work on {tablet}",
        label=Stages.work_label,
        each=failing,
        fault=True,
        says=lambda m, before, a, after: m.work_words(before, a.tablet, "{} fails"),
    )
    def fail_tablet(self, s: TabletsState, tablet: int) -> Next:
        """The next piece of a stage's work on a tablet fails."""
        piece = self.piece_of(s, tablet)
        assert piece is not None
        return self.may_fail(s, piece) or self.failed_by_chance(s, piece)

    @action(
        kind="late fault",
        tag="delay",
        label=Stages.work_label,
        spends="lates",
        each=lambda m, s: m.data_tablets(s) if s.late is None else (),
        fault=True,
        says=lambda m, before, a, after: m.work_words(
            before, a.tablet, "the coordinator gives up the {} RPC; it is still on its way"
        ),
        travels=lambda m, before, a, after: [
            Travel(
                "message",
                m.leader_spot(before),
                NETWORK,
                after.late.work,
                f"coordinator → network: {after.late.work} of tablet {after.late.tablet}",
            )
        ],
    )
    def delay_rpc(self, s: TabletsState, tablet: int) -> Next:
        """The coordinator gives the RPC of a tablet's stage up, but it is still on its way."""
        blocked = self.busy(s)
        if blocked is not None:
            return blocked
        piece = self.piece_of(s, tablet)
        assert piece is not None
        way = piece.transition
        _, written = self.involved(s, way, piece.work.name)
        if not written or not piece.goes(s):
            return NOT_SENT
        return s.but(late=LateRpc(tablet, piece.work.name, written, way.stage, way.session))

    def late_words(self, before: TabletsState, action: Any, after: TabletsState) -> str:
        """What became of what came late."""
        late = before.late
        assert late is not None
        what = f"The late RPC ({late.work} of tablet {late.tablet}, sent in {late.stage})"
        if late.runs:
            return f"{what} has run to its end."
        return f"{what} is let in." if after.late else f"{what} is refused: its stage is over."

    def arrived(self, before: TabletsState, action: Any, after: TabletsState) -> Iterator[Travel]:
        """What comes late is let in or turned away, for its permit."""
        late = before.late
        assert late is not None
        kind: FlowKind = "refusal" if after.late is None else "data"
        label = f"{late.work} {'refused' if after.late is None else 'let in'}"
        for target in late.targets:
            text = f"network → {target}: {label}, sent in {late.stage}"
            yield Travel(kind, NETWORK, self.chip(before, late.tablet, target), label, text)

    @action(kind="late", tag="arrive", verb="arrive late", says=late_words, travels=arrived)
    def arrive_late(self, s: TabletsState) -> Next:
        """That RPC arrives: it is let in, or refused for its permit (S-24)."""
        late = s.late
        if late is None or late.runs:
            return None
        if late.sealed and self.sessions:
            return s.but(late=None)
        return self.with_late_effect(s, late).but(late=late.but(runs=True))

    @action(kind="late", tag="end-late-rpc", verb="end late", says=late_words)
    def end_late(self, s: TabletsState) -> Next:
        """What was let in late has run to its end."""
        late = s.late
        if late is None or not late.runs:
            return None
        return self.with_late_effect(s, late).but(late=None)

    def with_late_effect(self, s: TabletsState, late: LateRpc) -> TabletsState:
        """The state once what came late has done its work."""
        return s.with_row(late.tablet, effect(s.tablets[late.tablet], late.work, late.targets))
