"""Two-phase commit: resource managers prepare, one transaction manager decides.

A message once sent stays in the network for ever; a receiver may read it any number of times.
Source: J. Gray and L. Lamport, "Consensus on Transaction Commit" (2006), section 3; the state
counts (288 for 3 managers, 8,832 for 5, 296,448 for 7) are those quoted for that model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import BadInput, Refusal
from kit.model import Model, Property, Rule, always, sometimes

WORKING, PREPARED, COMMITTED, ABORTED = 0, 1, 2, 3
STATES = ("working", "prepared", "committed", "aborted")
MOST_MANAGERS = 16


class TwoPhaseParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """``rms``: how many resource managers take part (1 to 16)."""

    rms: int = 3


class TwoPhaseState(Struct, frozen=True, cache_hash=True):
    """Where everybody is, and which messages were ever sent.

    ``rm[i]`` indexes :data:`STATES`; ``tm`` does too (working means undecided). ``prepared`` is a
    bit mask of the managers whose *prepared* message is in the network, ``heard`` of those whose
    message the transaction manager has read; its decision message is in the network as soon as
    ``tm`` is committed or aborted.
    """

    rm: tuple[int, ...]
    tm: int
    prepared: int
    heard: int


class Prepare(Struct, frozen=True, tag="prepare"):
    """A resource manager is ready to commit and says so."""

    rm: int


class GiveUp(Struct, frozen=True, tag="give-up"):
    """A resource manager aborts on its own, while it still may."""

    rm: int


class HearPrepared(Struct, frozen=True, tag="hear-prepared"):
    """The transaction manager reads a *prepared* message."""

    rm: int


class Decide(Struct, frozen=True, tag="decide"):
    """The transaction manager decides: commit when everybody is prepared, or abort."""

    commit: bool


class Obey(Struct, frozen=True, tag="obey"):
    """A resource manager reads the decision and carries it out."""

    rm: int


class TwoPhase(Model[TwoPhaseState, Any]):
    """Two-phase commit with ``rms`` resource managers."""

    name = "twophase"
    title = "Two-phase commit"
    State = TwoPhaseState
    Action = Prepare | GiveUp | HearPrepared | Decide | Obey

    def __init__(self, parameters: TwoPhaseParameters | None = None) -> None:
        """A model for ``parameters.rms`` managers.

        Raises:
            BadInput: when ``rms`` is not within 1 to 16.
        """
        self.parameters: TwoPhaseParameters = parameters or TwoPhaseParameters()
        self.count = self.parameters.rms
        if not 1 <= self.count <= MOST_MANAGERS:
            raise BadInput("rms", self.count, f"a number from 1 to {MOST_MANAGERS}")
        self.everybody = (1 << self.count) - 1
        everyone = range(self.count)
        self._prepare = tuple(Prepare(i) for i in everyone)
        self._give_up = tuple(GiveUp(i) for i in everyone)
        self._hear = tuple(HearPrepared(i) for i in everyone)
        self._obey = tuple(Obey(i) for i in everyone)
        self._decide = (Decide(commit=True), Decide(commit=False))
        self.rules = (
            Rule(Prepare, "prepare", lambda s: self._prepare, self._is_working, self._prepares),
            Rule(GiveUp, "give up", lambda s: self._give_up, self._is_working, self._gives_up),
            Rule(HearPrepared, "hear", lambda s: self._hear, self._is_unheard, self._hears),
            Rule(Decide, "decide", lambda s: self._decide, self._may_decide, self._decides),
            Rule(Obey, "obey", lambda s: self._obey, self._must_obey, self._obeys),
        )
        self.properties = PROPERTIES

    def start(self) -> TwoPhaseState:
        """Everybody works; nothing was sent."""
        return TwoPhaseState((WORKING,) * self.count, WORKING, 0, 0)

    def _is_working(self, s: TwoPhaseState, action: Prepare | GiveUp) -> Refusal | None:
        return None if s.rm[action.rm] == WORKING else _NO_LONGER_WORKING

    def _prepares(self, s: TwoPhaseState, action: Prepare) -> TwoPhaseState:
        i = action.rm
        rm = (*s.rm[:i], PREPARED, *s.rm[i + 1 :])
        return TwoPhaseState(rm, s.tm, s.prepared | 1 << i, s.heard)

    def _gives_up(self, s: TwoPhaseState, action: GiveUp) -> TwoPhaseState:
        i = action.rm
        return TwoPhaseState((*s.rm[:i], ABORTED, *s.rm[i + 1 :]), s.tm, s.prepared, s.heard)

    def _is_unheard(self, s: TwoPhaseState, action: HearPrepared) -> Refusal | None:
        if s.tm != WORKING:
            return _ALREADY_DECIDED
        bit = 1 << action.rm
        if not s.prepared & bit:
            return _NOT_SENT
        return _ALREADY_HEARD if s.heard & bit else None

    def _hears(self, s: TwoPhaseState, action: HearPrepared) -> TwoPhaseState:
        return TwoPhaseState(s.rm, s.tm, s.prepared, s.heard | 1 << action.rm)

    def _may_decide(self, s: TwoPhaseState, action: Decide) -> Refusal | None:
        if s.tm != WORKING:
            return _ALREADY_DECIDED
        if not action.commit or s.heard == self.everybody:
            return None
        silent = tuple(f"RM{i}" for i in range(self.count) if not s.heard >> i & 1)
        return Refusal("not every resource manager was heard to be prepared", missing=silent)

    def _decides(self, s: TwoPhaseState, action: Decide) -> TwoPhaseState:
        return replace(s, tm=COMMITTED if action.commit else ABORTED)

    def _must_obey(self, s: TwoPhaseState, action: Obey) -> Refusal | None:
        if s.tm == WORKING:
            return _NO_DECISION
        return _ALREADY_DONE if s.rm[action.rm] == s.tm else None

    def _obeys(self, s: TwoPhaseState, action: Obey) -> TwoPhaseState:
        i = action.rm
        return TwoPhaseState((*s.rm[:i], s.tm, *s.rm[i + 1 :]), s.tm, s.prepared, s.heard)

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
            case HearPrepared(rm):
                return f"The transaction manager learns that RM{rm} is prepared."
            case Decide(commit):
                return f"The transaction manager decides to {'commit' if commit else 'abort'}."
            case _:
                return f"RM{action.rm} reads the decision: {STATES[after.rm[action.rm]]}."

    def suggest(self, s: TwoPhaseState) -> Any | None:
        """Everybody prepares, is heard, and the decision to commit is carried out."""
        enabled = [action for action in self.actions(s) if action != Decide(commit=False)]
        return next((action for action in enabled if not isinstance(action, GiveUp)), None)

    def milestone(self, before: TwoPhaseState, action: Any, after: TwoPhaseState) -> str | None:
        """The decision, and the moment in which everybody has carried it out."""
        if isinstance(action, Decide):
            return "decided"
        return "all done" if set(after.rm) in ({COMMITTED}, {ABORTED}) else None


_NO_LONGER_WORKING = Refusal("this resource manager has already prepared, committed or aborted")
_ALREADY_DECIDED = Refusal("the transaction manager has decided")
_NOT_SENT = Refusal("no such message was sent")
_ALREADY_HEARD = Refusal("the transaction manager has read this message")
_NO_DECISION = Refusal("the transaction manager has not decided")
_ALREADY_DONE = Refusal("this resource manager has carried the decision out")


def consistent(s: TwoPhaseState) -> str | None:
    """No resource manager commits while another one aborts."""
    if COMMITTED in s.rm and ABORTED in s.rm:
        return f"RM{s.rm.index(COMMITTED)} committed, RM{s.rm.index(ABORTED)} aborted"
    return None


PROPERTIES: tuple[Property, ...] = (
    always("consistent", "Nobody commits while another aborts", consistent),
    sometimes("all-commit", "Everybody commits", lambda s: set(s.rm) == {COMMITTED}),
    sometimes("all-abort", "Everybody aborts", lambda s: set(s.rm) == {ABORTED}),
)
