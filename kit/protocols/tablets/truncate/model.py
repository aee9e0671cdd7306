"""The model of a truncate: a request that excludes moves, RPCs to the replicas, a session round it.

Its one stage stands in no column but ``session`` (Q-20; edition ``server`` calls it
``truncate_table``). The coordinator sends an RPC until every replica has answered; what it gave up
may still arrive. Sources: Topology over Raft, "Topology state machine" (global requests), "Topology
guards"; published coordinator, its handler of ``truncate_table``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from string import ascii_uppercase
from typing import Any

from msgspec.structs import replace

from kit.engine.model import Model, Property, Rule, always, goal, sometimes, step
from kit.engine.pairs import paired
from kit.engine.parameters import check_limits
from kit.engine.safeguards import switched_off
from kit.errors import BadInput, Refusal
from kit.protocols.tablets.truncate import state as act
from kit.protocols.tablets.truncate import wording
from kit.protocols.tablets.truncate.parameters import (
    SAFEGUARDS,
    TruncateParameters,
    TruncateSafeguards,
)
from kit.protocols.tablets.truncate.state import NEW_ROWS, OLD_ROWS, TruncateState

SESSION = 1  # the request's id names its session
UNDER_WAY = ("opened", "sending", "closed")


class Truncate(Model[TruncateState, Any]):
    """A table with replicas on ``parameters.replicas`` that is truncated."""

    name = "truncate"
    title = "A table of tablets is truncated"
    State = TruncateState
    Action = act.TruncateAction
    safeguards = SAFEGUARDS
    rests_at_goals = True
    faults = ("late fault",)

    def __init__(
        self, parameters: TruncateParameters | None = None, off: tuple[str, ...] = ()
    ) -> None:
        """A model with the safeguards ``off`` switched off.

        Raises:
            BadInput: for a parameter out of its limits, or replicas that are no nodes.
        """
        self.parameters: TruncateParameters = parameters or TruncateParameters()
        self.off = off
        check_limits(self.parameters)
        self.guarded = switched_off(TruncateSafeguards, off).truncate_session
        self.names = tuple(ascii_uppercase[: self.parameters.nodes])
        self.replicas = tuple(dict.fromkeys(self.parameters.replicas.split()))
        if not self.replicas or not {*self.replicas} <= {*self.names}:
            allowed = "some of " + ", ".join(self.names)
            raise BadInput("replicas", self.parameters.replicas, allowed)
        self.all = sum(1 << self.number(name) for name in self.replicas)
        self.rules = self._rules()
        self.properties = properties_of(self)

    def number(self, name: str) -> int:
        """The number of a node."""
        return self.names.index(name)

    def start(self) -> TruncateState:
        """The replicas hold rows, and nothing is under way."""
        given = self.parameters
        return TruncateState(
            views=(0,) * given.nodes,
            rows=tuple(OLD_ROWS * (name in self.replicas) for name in self.names),
            lates=given.late,
            changes=given.changes,
            moves=given.moves,
        )

    def _rules(self) -> tuple[Rule[TruncateState, Any], ...]:
        def once(action: Any, when: Callable[[TruncateState], bool]) -> Any:
            return lambda s: (action,) if when(s) else ()

        def free(s: TruncateState, action: Any) -> None:
            return None

        def moving(s: TruncateState, action: Any) -> Refusal | None:
            return Refusal("tablets are in transition") if s.moving else None

        return (
            paired(
                act.AskTruncate,
                "request",
                once(act.AskTruncate(), lambda s: s.phase == "idle"),
                free,
                lambda s, a: replace(s, phase="asked"),
            ),
            paired(
                act.OpenSession,
                "commit",
                once(act.OpenSession(), lambda s: s.phase == "asked"),
                moving,
                lambda s, a: replace(s, phase="opened", session=SESSION),
            ),
            paired(
                act.PassSessionBarrier,
                "work",
                once(act.PassSessionBarrier(), lambda s: s.phase in ("opened", "closed")),
                self._may_pass,
                lambda s, a: replace(s, phase="sending" if s.phase == "opened" else "done"),
            ),
            paired(
                act.CloseSession,
                "commit",
                once(act.CloseSession(), lambda s: s.phase == "sending"),
                self._may_close,
                lambda s, a: replace(s, phase="closed", session=0, answered=0),
            ),
            paired(act.SendTruncate, "work", self._unanswered, free, self._send),
            paired(act.LearnSession, "apply", self._behind, free, self._learn),
            paired(
                act.WriteRows,
                "client",
                once(act.WriteRows(), lambda s: s.phase == "done" and not s.written),
                free,
                self._write,
            ),
            paired(act.ArriveTruncate, "late", self._on_their_way, free, self._arrive),
            paired(act.DelayTruncate, "late fault", self._delayable, free, self._delay),
            paired(
                act.ChangeCoordinator,
                "elect",
                once(act.ChangeCoordinator(), lambda s: s.changes > 0),
                free,
                lambda s, a: replace(s, answered=0, changes=s.changes - 1),
            ),
            paired(
                act.EndMove,
                "tablets",
                once(act.EndMove(), lambda s: s.moving),
                free,
                lambda s, a: replace(s, moving=False),
            ),
            paired(
                act.MoveTablet,
                "tablets found",
                once(act.MoveTablet(), lambda s: s.moves > 0),
                self._may_move,
                lambda s, a: replace(s, moving=True, moves=s.moves - 1),
            ),
        )

    def _named(self, mask: int) -> tuple[str, ...]:
        return tuple(name for i, name in enumerate(self.names) if mask >> i & 1)

    def _may_pass(self, s: TruncateState, action: Any) -> Refusal | None:
        behind = tuple(n for n, view in zip(self.names, s.views, strict=True) if view != s.session)
        return Refusal("nodes have not applied the session", missing=behind) if behind else None

    def _may_close(self, s: TruncateState, action: Any) -> Refusal | None:
        missing = self._named(self.all & ~s.answered)
        return Refusal("replicas have not answered", missing=missing) if missing else None

    def _may_move(self, s: TruncateState, action: Any) -> Refusal | None:
        if s.moving:
            return Refusal("tablets are in transition")
        waits = s.phase == "asked" or s.phase in UNDER_WAY
        return Refusal("a truncate is asked for or under way") if waits else None

    def _behind(self, s: TruncateState) -> Iterable[act.LearnSession]:
        pairs = zip(self.names, s.views, strict=True)
        return (act.LearnSession(name) for name, view in pairs if view != s.session)

    def _learn(self, s: TruncateState, action: act.LearnSession) -> TruncateState:
        node = self.number(action.node)
        return replace(s, views=(*s.views[:node], s.session, *s.views[node + 1 :]))

    def _unanswered(self, s: TruncateState) -> Iterable[act.SendTruncate]:
        if s.phase != "sending":
            return ()
        return map(act.SendTruncate, self._named(self.all & ~s.answered))

    def _deleted(self, s: TruncateState, node: int) -> TruncateState:
        return replace(s, rows=(*s.rows[:node], 0, *s.rows[node + 1 :]))

    def _send(self, s: TruncateState, action: act.SendTruncate) -> TruncateState:
        node = self.number(action.node)
        return replace(self._deleted(s, node), answered=s.answered | 1 << node)

    def _delayable(self, s: TruncateState) -> Iterable[act.DelayTruncate]:
        if s.phase != "sending" or not s.lates:
            return ()
        return map(act.DelayTruncate, self._named(self.all & ~s.answered & ~s.late))

    def _delay(self, s: TruncateState, action: act.DelayTruncate) -> TruncateState:
        return replace(s, late=s.late | 1 << self.number(action.node), lates=s.lates - 1)

    def _on_their_way(self, s: TruncateState) -> Iterable[act.ArriveTruncate]:
        return map(act.ArriveTruncate, self._named(s.late))

    def let_in(self, s: TruncateState, node: int) -> bool:
        """Whether a node carries a late RPC out: it knows the session as open (S-42)."""
        return s.views[node] == SESSION or not self.guarded

    def _arrive(self, s: TruncateState, action: act.ArriveTruncate) -> TruncateState:
        node = self.number(action.node)
        s = replace(s, late=s.late & ~(1 << node))
        return self._deleted(s, node) if self.let_in(s, node) else s

    def _write(self, s: TruncateState, action: act.WriteRows) -> TruncateState:
        rows = tuple(
            has | NEW_ROWS if name in self.replicas else has
            for name, has in zip(self.names, s.rows, strict=True)
        )
        return replace(s, rows=rows, written=True)

    def suggest(self, s: TruncateState) -> Any | None:
        """The next step when nothing goes wrong."""
        unasked = ("late fault", "elect", "tablets found")
        return next((a for a in self.actions(s) if self.kind(a) not in unasked), None)

    def verb(self, action: Any) -> str:
        """``truncate``, ``send B``, ``arrive B`` and so on."""
        return wording.verb(action)

    def milestone(self, before: TruncateState, action: Any, after: TruncateState) -> str | None:
        """The phase that the truncate enters."""
        return after.phase if before.phase != after.phase else None

    def describe(self, before: TruncateState, action: Any, after: TruncateState) -> str:
        """What the step did, and why."""
        return wording.describe(self, before, action)

    def readable(self, s: TruncateState) -> dict[str, str]:
        """The request and the nodes in words."""
        return wording.readable(self, s)


def properties_of(model: Truncate) -> tuple[Property, ...]:
    """The properties of a model."""

    def kept(s: TruncateState) -> str | None:
        if not s.written:
            return None
        lost = [name for name in model.replicas if not s.rows[model.number(name)] & NEW_ROWS]
        return f"rows written after the truncate are lost on {', '.join(lost)}" if lost else None

    def emptied(s: TruncateState) -> str | None:
        if s.phase not in ("closed", "done"):
            return None
        left = [n for n, rows in zip(model.names, s.rows, strict=True) if rows & OLD_ROWS]
        return f"{', '.join(left)} still has rows of before the truncate" if left else None

    def apart(s: TruncateState) -> str | None:
        both = s.moving and s.phase in UNDER_WAY
        return "tablets move while the table is truncated" if both else None

    def in_session(before: TruncateState, action: Any, after: TruncateState) -> str | None:
        late = before.rows != after.rows and before.phase == "done"
        return "a truncate has effect after its session's barrier" if late else None

    return (
        always("rows-kept", "Rows written after the truncate stay", kept, "INV-VISIBLE"),
        always("rows-gone", "A truncate deletes all rows of before", emptied),
        always("moves-apart", "Nothing moves during a truncate", apart, "INV-EXCL"),
        step("in-session", "A truncate has effect in its session only", in_session, "INV-SESSION",
             (act.ArriveTruncate,)),
        sometimes("done", "The truncate is done", lambda s: s.phase == "done"),
        goal("ends", "The truncate can end", lambda s: s.phase == "done" and not s.moving,
             "INV-PROGRESS"),
    )  # fmt: skip
