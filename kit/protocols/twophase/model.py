"""Two-phase commit: resource managers prepare, one transaction manager decides.

A message once sent stays in the network for ever; a receiver may read it any number of times.
Source: J. Gray and L. Lamport, "Consensus on Transaction Commit" (2006), section 3; the state
counts (288 for 3 managers, 8,832 for 5, 296,448 for 7) are those quoted for that model.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct

from kit.engine.model import Model, Property, always, sometimes
from kit.engine.pairs import paired
from kit.engine.parameters import check_limits
from kit.errors import Refusal

UNDECIDED, COMMITTED, ABORTED = 0, 1, 2
MOST_MANAGERS = 16

A = TypeVar("A")


class TwoPhaseParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """Who takes part."""

    rms: Annotated[
        int,
        Meta(
            description="how many resource managers take part",
            ge=1,
            le=MOST_MANAGERS,
        ),
    ] = 3


class TwoPhaseState(Struct, frozen=True):
    """Where everybody is, and which messages were ever sent.

    Four bit masks with a bit per manager (bit 0 is RM0), so that a search takes little time:
    ``prepared`` are those that ever prepared, whose message is in the network for good; ``heard``
    those whose message the transaction manager has read; ``committed`` and ``aborted`` those that
    did so. A manager that prepared and did neither waits; one in no mask is working. ``tm`` is
    undecided (0), committed (1) or aborted (2); once decided, its message is in the network.
    """

    prepared: int
    heard: int
    committed: int
    aborted: int
    tm: int


class Prepare(Struct, frozen=True, tag="prepare"):
    """A resource manager is ready to commit and says so."""

    rm: int


class GiveUp(Struct, frozen=True, tag="give-up"):
    """A resource manager aborts on its own, while it still may."""

    rm: int


class ReceivePrepared(Struct, frozen=True, tag="receive-prepared"):
    """The transaction manager reads a *prepared* message."""

    rm: int


class Decide(Struct, frozen=True, tag="decide"):
    """The transaction manager decides: commit when everybody is prepared, or abort."""

    commit: bool


class ReceiveDecision(Struct, frozen=True, tag="receive-decision"):
    """A resource manager reads the decision and carries it out."""

    rm: int


_PROMISED = Refusal("this resource manager is prepared: it gave up its right to abort")
_ALREADY_DECIDED = Refusal("the transaction manager has decided")
_NO_DECISION = Refusal("the transaction manager has not decided")


def _free(s: TwoPhaseState, action: Prepare) -> Refusal | None:
    return None


def _prepares(s: TwoPhaseState, action: Prepare) -> TwoPhaseState:
    prepared = s.prepared | 1 << action.rm
    return TwoPhaseState(prepared, s.heard, s.committed, s.aborted, s.tm)


def _unbound(s: TwoPhaseState, action: GiveUp) -> Refusal | None:
    return _PROMISED if s.prepared & 1 << action.rm else None


def _gives_up(s: TwoPhaseState, action: GiveUp) -> TwoPhaseState:
    aborted = s.aborted | 1 << action.rm
    return TwoPhaseState(s.prepared, s.heard, s.committed, aborted, s.tm)


def _undecided(s: TwoPhaseState, action: ReceivePrepared) -> Refusal | None:
    return None if s.tm == UNDECIDED else _ALREADY_DECIDED


def _hears(s: TwoPhaseState, action: ReceivePrepared) -> TwoPhaseState:
    heard = s.heard | 1 << action.rm
    return TwoPhaseState(s.prepared, heard, s.committed, s.aborted, s.tm)


def _decides(s: TwoPhaseState, action: Decide) -> TwoPhaseState:
    decision = COMMITTED if action.commit else ABORTED
    return TwoPhaseState(s.prepared, s.heard, s.committed, s.aborted, decision)


def _decided(s: TwoPhaseState, action: ReceiveDecision) -> Refusal | None:
    return _NO_DECISION if s.tm == UNDECIDED else None


def _carries_out(s: TwoPhaseState, action: ReceiveDecision) -> TwoPhaseState:
    bit = 1 << action.rm
    if s.tm == COMMITTED:
        return TwoPhaseState(s.prepared, s.heard, s.committed | bit, s.aborted, s.tm)
    return TwoPhaseState(s.prepared, s.heard, s.committed, s.aborted | bit, s.tm)


def for_each(action: Callable[[int], A]) -> Callable[[int], tuple[A, ...]]:
    """A function from a bit mask of managers to their actions, which it remembers."""

    @cache
    def actions(mask: int) -> tuple[A, ...]:
        return tuple(action(i) for i in range(mask.bit_length()) if mask >> i & 1)

    return actions


def managers(mask: int) -> tuple[str, ...]:
    """The names of the resource managers in a bit mask."""
    return tuple(f"RM{i}" for i in range(mask.bit_length()) if mask >> i & 1)


@cache
def _bits(mask: int, count: int) -> tuple[int, ...]:
    return tuple(mask >> i & 1 for i in range(count))


@cache
def _packed(done: tuple[tuple[int, ...], ...], tm: int) -> TwoPhaseState:
    """The state in which each manager has done so: has prepared, been heard, committed, aborted."""
    prepared, heard, committed, aborted = (
        sum(bit << i for i, bit in enumerate(bits)) for bits in zip(*done, strict=True)
    )
    return TwoPhaseState(prepared, heard, committed, aborted, tm)


def consistent(s: TwoPhaseState) -> str | None:
    """No resource manager commits while another one aborts."""
    if s.committed and s.aborted:
        return f"{managers(s.committed)[0]} committed, {managers(s.aborted)[0]} aborted"
    return None


class TwoPhase(Model[TwoPhaseState, Any]):
    """Two-phase commit with ``rms`` resource managers."""

    name = "twophase"
    title = "Two-phase commit"
    State = TwoPhaseState
    Action = Prepare | GiveUp | ReceivePrepared | Decide | ReceiveDecision

    def __init__(self, parameters: TwoPhaseParameters | None = None) -> None:
        """A model for ``parameters.rms`` managers.

        Raises:
            BadInput: when ``rms`` is not within 1 to 16.
        """
        self.parameters: TwoPhaseParameters = parameters or TwoPhaseParameters()
        self.count = self.parameters.rms
        check_limits(self.parameters)
        self.everybody = (1 << self.count) - 1
        prepare, give_up = for_each(Prepare), for_each(GiveUp)
        hear, carry_out = for_each(ReceivePrepared), for_each(ReceiveDecision)
        decide = (Decide(commit=True), Decide(commit=False))
        self.rules = (
            paired(Prepare, "prepare", lambda s: prepare(self.working(s)), _free, _prepares),
            paired(GiveUp, "give up", lambda s: give_up(self.unfinished(s)), _unbound, _gives_up),
            paired(
                ReceivePrepared,
                "receive prepared",
                lambda s: hear(s.prepared & ~s.heard),
                _undecided,
                _hears,
            ),
            paired(Decide, "decide", lambda s: decide, self._may_decide, _decides),
            paired(
                ReceiveDecision,
                "receive decision",
                lambda s: carry_out(self.unfinished(s)),
                _decided,
                _carries_out,
            ),
        )
        self.properties: tuple[Property, ...] = (
            always("consistent", "Nobody commits while another aborts", consistent),
            sometimes("all-commit", "Everybody commits", lambda s: s.committed == self.everybody),
            sometimes("all-abort", "Everybody aborts", lambda s: s.aborted == self.everybody),
        )

        self.symmetry = self.in_order

    def start(self) -> TwoPhaseState:
        """Everybody works; nothing was sent."""
        return TwoPhaseState(0, 0, 0, 0, UNDECIDED)

    def in_order(self, s: TwoPhaseState) -> tuple[TwoPhaseState, tuple[int, ...]]:
        """The state that stands for all in which the managers have only changed places.

        Managers are interchangeable: sort them by what each of them has done. Also returns which
        manager (by its number in ``s``) has got each place.
        """
        count = self.count
        done = tuple(
            zip(
                _bits(s.prepared, count),
                _bits(s.heard, count),
                _bits(s.committed, count),
                _bits(s.aborted, count),
                strict=True,
            )
        )
        places = tuple(sorted(range(count), key=done.__getitem__))
        return _packed(tuple(map(done.__getitem__, places)), s.tm), places

    def unfinished(self, s: TwoPhaseState) -> int:
        """The managers that neither committed nor aborted, as a bit mask."""
        return self.everybody & ~(s.committed | s.aborted)

    def working(self, s: TwoPhaseState) -> int:
        """Those of them that have not prepared either."""
        return self.everybody & ~(s.prepared | s.committed | s.aborted)

    def _may_decide(self, s: TwoPhaseState, action: Decide) -> Refusal | None:
        if s.tm != UNDECIDED:
            return _ALREADY_DECIDED
        if not action.commit or s.heard == self.everybody:
            return None
        silent = managers(self.everybody & ~s.heard)
        return Refusal("not every resource manager was heard to be prepared", missing=silent)

    def readable(self, s: TwoPhaseState) -> dict[str, str]:
        """Where each manager is, and what the transaction manager has heard and decided."""
        heard = ", ".join(f"RM{i}" for i in range(self.count) if s.heard >> i & 1) or "nobody"
        decided = ("undecided", "committed", "aborted")[s.tm]
        managers = {f"RM{i}": self.where(s, i) for i in range(self.count)}
        return {"transaction manager": decided, "heard to be prepared": heard, **managers}

    def where(self, s: TwoPhaseState, rm: int) -> str:
        """One manager's state: working, prepared, committed or aborted."""
        bit = 1 << rm
        for mask, word in ((s.committed, "committed"), (s.aborted, "aborted")):
            if mask & bit:
                return word
        return "prepared" if s.prepared & bit else "working"

    def verb(self, action: Any) -> str:
        """``prepare RM0``, ``decide commit`` and so on."""
        if isinstance(action, Decide):
            return "decide commit" if action.commit else "decide abort"
        return f"{type(action).__struct_config__.tag} RM{action.rm}"

    def describe(self, before: TwoPhaseState, action: Any, after: TwoPhaseState) -> str:
        """What the step did, in a sentence."""
        match action:
            case Prepare(rm):
                return f"RM{rm} is prepared and tells the transaction manager."
            case GiveUp(rm):
                return f"RM{rm} aborts on its own; it had promised nothing yet."
            case ReceivePrepared(rm):
                return f"The transaction manager learns that RM{rm} is prepared."
            case Decide(commit):
                return f"The transaction manager decides to {'commit' if commit else 'abort'}."
            case _:
                outcome = "committed" if after.tm == COMMITTED else "aborted"
                return f"RM{action.rm} reads the decision: {outcome}."

    def suggest(self, s: TwoPhaseState) -> Any | None:
        """Everybody prepares, is heard, and the decision is carried out: to commit if possible."""
        orderly = [action for action in self.actions(s) if not isinstance(action, GiveUp)]
        last_resort = Decide(commit=False)
        usual = (action for action in orderly if action != last_resort)
        return next(usual, last_resort if last_resort in orderly else None)

    def milestone(self, before: TwoPhaseState, action: Any, after: TwoPhaseState) -> str | None:
        """The decision, and the moment in which everybody has carried it out."""
        if isinstance(action, Decide):
            return "decided"
        return "all done" if self.everybody in (after.committed, after.aborted) else None
