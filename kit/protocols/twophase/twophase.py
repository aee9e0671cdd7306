"""Two-phase commit: resource managers prepare, one transaction manager decides.

A message once sent stays in the network for ever; a receiver may read it any number of times. It
travels, in a picture, in the step in which it is read.
Source: J. Gray and L. Lamport, "Consensus on Transaction Commit" (2006), section 3; the state
counts (288 for 3 managers, 8,832 for 5, 296,448 for 7) are those quoted for that model.
"""

from functools import cache
from typing import Annotated, Any, TypeAlias

from kit.errors import Refusal
from kit.model import declared
from kit.model.declared import Declared, Each, State, Travel, action, purpose, refused, sometimes
from kit.model.model import TransitionRows
from kit.model.registry import Diagram, Scenario

UNDECIDED, COMMITTED, ABORTED = 0, 1, 2
DECISIONS, ENDS = ("", "commit", "abort"), ("undecided", "committed", "aborted")
MOST_MANAGERS = 16
DECIDED = refused("the transaction manager has already decided")

RM: TypeAlias = Annotated[int, Each(lambda m: range(m.rms), "RM{}".format)]
Commit: TypeAlias = Annotated[bool, Each((True, False), ("abort", "commit").__getitem__)]


class TwoPhaseState(State, frozen=True):
    """The state of everybody, and all messages that were ever sent.

    Four bit masks with a bit per manager (bit 0 is RM0): ``prepared`` are those that ever prepared,
    whose message is in the network for good; ``heard`` those whose message the transaction manager
    has read; ``committed`` and ``aborted`` those that did so. One in no mask is working. ``tm`` is
    undecided (0), committed (1) or aborted (2); once decided, its message is in the network.
    """

    prepared: int = 0
    heard: int = 0
    committed: int = 0
    aborted: int = 0
    tm: int = UNDECIDED


Next: TypeAlias = TwoPhaseState | Refusal


class TwoPhase(Declared[TwoPhaseState]):
    """Two-phase commit with ``rms`` resource managers."""

    name, title, State = "twophase", "Two-phase commit", TwoPhaseState
    premise = (
        "Several managers must either all commit or all abort. Each says when it is prepared, and "
        "the transaction manager (TM) decides for all of them."
    )
    about = "Who takes part."
    rms: int = declared.parameter(3, "how many resource managers take part", ge=1, le=MOST_MANAGERS)

    def set_up(self) -> None:
        """All managers, as a bit mask."""
        self.everybody = (1 << self.rms) - 1
        self.symmetry = self.in_order

    def unfinished(self, s: TwoPhaseState) -> int:
        """The managers that neither committed nor aborted, as a bit mask."""
        return self.everybody & ~(s.committed | s.aborted)

    def working(self, s: TwoPhaseState) -> int:
        """Those of them that have not prepared either."""
        return self.everybody & ~(s.prepared | s.committed | s.aborted)

    def unread(self, s: TwoPhaseState) -> int:
        """Those whose message waits for the transaction manager."""
        return s.prepared & ~s.heard

    @action(each=working)
    @purpose("Being prepared is a promise: the manager will do what the decision says.")
    def prepare(self, s: TwoPhaseState, rm: RM) -> Next:
        """{rm} is prepared and tells the transaction manager."""
        return s.but(prepared=s.prepared | 1 << rm)

    @action(each=unfinished, unasked=True)
    @purpose("Until it promises, a manager can still say no.")
    def give_up(self, s: TwoPhaseState, rm: RM) -> Next:
        """{rm} aborts on its own, before it has promised anything."""
        if s.prepared >> rm & 1:
            return refused(
                "this resource manager is prepared, so it has given up its right to abort"
            )
        return s.but(aborted=s.aborted | 1 << rm)

    @action(each=unread, travels=[Travel("message", "{rm}", "TM", "prepared")], by="TM")
    @purpose("To commit, the transaction manager must know that all managers are prepared.")
    def receive_prepared(self, s: TwoPhaseState, rm: RM) -> Next:
        """The transaction manager learns that {rm} is prepared."""
        return DECIDED if s.tm else s.but(heard=s.heard | 1 << rm)

    @action(by="TM")
    @purpose("One manager decides for all, so that none commits while another aborts.")
    def decide(self, s: TwoPhaseState, commit: Commit) -> Next:
        """The transaction manager decides to {commit}."""
        if s.tm:
            return DECIDED
        if commit and s.heard != self.everybody:
            silent = 0 if s.aborted else self.everybody & ~s.heard  # who aborted is never heard
            return refused(
                "the transaction manager has not heard that every resource manager is prepared",
                managers(silent),
            )
        return s.but(tm=COMMITTED if commit else ABORTED)

    @action(each=unfinished, travels=[Travel("message", "TM", "{rm}", "{decision}")])
    @purpose("A prepared manager must not decide alone: all managers follow one decision.")
    def receive_decision(self, s: TwoPhaseState, rm: RM) -> Next:
        """{rm} reads the decision: {outcome}."""
        if not s.tm:
            return refused("the transaction manager has not decided yet")
        if s.tm == COMMITTED:
            return s.but(committed=s.committed | 1 << rm)
        return s.but(aborted=s.aborted | 1 << rm)

    @declared.always()
    def consistent(self, s: TwoPhaseState) -> str | None:
        """No manager commits while another aborts."""
        if s.committed and s.aborted:
            return f"{managers(s.committed)[0]} committed, but {managers(s.aborted)[0]} aborted"
        return None

    @sometimes()
    def all_commit(self, s: TwoPhaseState) -> bool:
        """Every manager commits."""
        return s.committed == self.everybody

    @sometimes()
    def all_abort(self, s: TwoPhaseState) -> bool:
        """Every manager aborts."""
        return s.aborted == self.everybody

    def in_order(self, s: TwoPhaseState) -> tuple[TwoPhaseState, tuple[int, ...]]:
        """The state that stands for all in which the managers have only changed places.

        Managers are interchangeable: sort them by what each of them has done. Also returns which
        manager (by its number in ``s``) has got each place.
        """
        masks = (s.prepared, s.heard, s.committed, s.aborted)
        done = tuple(zip(*(bits(mask, self.rms) for mask in masks), strict=True))
        places = tuple(sorted(range(self.rms), key=done.__getitem__))
        return packed(tuple(map(done.__getitem__, places)), s.tm), places

    def milestone(self, before: TwoPhaseState, action: Any, after: TwoPhaseState) -> str | None:
        """The decision, and the moment in which everybody has carried it out."""
        if after.tm != before.tm:
            return "decided"
        return "all done" if self.everybody in (after.committed, after.aborted) else None

    def words(self, before: TwoPhaseState, action: Any, after: TwoPhaseState) -> dict[str, str]:
        """The decision, and how a manager ends by it."""
        return {"decision": DECISIONS[after.tm], "outcome": ENDS[after.tm]}

    def called(self, place: str) -> str:
        """TM stands for the transaction manager."""
        return "transaction manager" if place == "TM" else place

    def where(self, s: TwoPhaseState, rm: int) -> str:
        """One manager's state: working, prepared, committed or aborted."""
        ends = "committed" if s.committed >> rm & 1 else "aborted" if s.aborted >> rm & 1 else ""
        return ends or ("prepared" if s.prepared >> rm & 1 else "working")

    def readable(self, s: TwoPhaseState) -> dict[str, str]:
        """The state of each manager, and what the transaction manager has heard and decided."""
        return {
            "transaction manager": ENDS[s.tm],
            "heard to be prepared": ", ".join(managers(s.heard)) or "nobody",
            **{f"RM{rm}": self.where(s, rm) for rm in range(self.rms)},
        }


@cache
def managers(mask: int) -> tuple[str, ...]:
    """The names of the resource managers in a bit mask."""
    return tuple(f"RM{i}" for i in range(mask.bit_length()) if mask >> i & 1)


@cache
def bits(mask: int, count: int) -> tuple[int, ...]:
    """The lowest bits of a mask, one by one."""
    return tuple(mask >> i & 1 for i in range(count))


@cache
def packed(done: tuple[tuple[int, ...], ...], tm: int) -> TwoPhaseState:
    """The state in which each manager has done so: has prepared, been heard, committed, aborted."""
    columns = zip(*done, strict=True)
    prepared, heard, committed, aborted = (sum(b << i for i, b in enumerate(c)) for c in columns)
    return TwoPhaseState(prepared, heard, committed, aborted, tm)


# Its actions by name, for whoever makes or looks for one: Prepare(rm=0).
Prepare, GiveUp, ReceivePrepared, Decide, ReceiveDecision = TwoPhase.acts
TwoPhaseParameters = TwoPhase.Parameters

MANAGER = (
    ("working", "prepare", "prepared"),
    ("working", "give-up", "aborted"),
    ("working", "receive-decision", "committed or aborted"),
    ("prepared", "receive-decision", "committed or aborted"),
)


def _rows(m: TwoPhase) -> TransitionRows:
    row = "manager: {} - {}".format

    def taken(before: TwoPhaseState, action: Any, after: TwoPhaseState) -> tuple[str, ...]:
        act = m.acts[type(action)]
        own = [row(m.where(before, action.rm), act.tag)] if "rm" in act.names else []
        return (act.kind, *own)

    kinds = (act.kind for act in m.acts.values())
    return TransitionRows((*kinds, *(row(state, event) for state, event, _ in MANAGER)), taken)


ENTRY = declared.entry(
    TwoPhase,
    scenarios=(
        Scenario("commit", "Three managers prepare and commit"),
        Scenario(
            "one-gives-up",
            "One manager gives up, so all abort",
            script=("give-up RM0", "prepare RM1", "decide abort",
                    "receive-decision RM1", "receive-decision RM2"),
        ),
    ),
    diagrams=(Diagram("twophase-manager", "a resource manager", MANAGER),),
    rows=_rows,
)  # fmt: skip
