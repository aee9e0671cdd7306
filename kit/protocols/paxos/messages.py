"""What members say to one another in a round, and what each of them keeps.

Sources: Paxos Made Simple, 2.2 and 2.3; CEP-21, "Event Submission Protocol".
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

from msgspec import Struct

from kit.model.declared import State
from kit.protocols.paxos.rules import Accepted, Slot, appended

Value: TypeAlias = str
Mark: TypeAlias = Accepted[Value] | None


class OfBallot(Struct, frozen=True, cache_hash=True):
    """Something said in a ballot for an epoch."""

    epoch: int
    ballot: int


class Prepare(OfBallot, frozen=True, tag="prepare", cache_hash=True):
    """Promise me to refuse lower ballots for this epoch, and tell me what you have accepted."""

    why: ClassVar = "A majority must refuse lower ballots and report what it has accepted."


class Promise(OfBallot, frozen=True, tag="promise", cache_hash=True):
    """I promise; this is what I have accepted so far."""

    why: ClassVar = "Every majority of promises names any value that might already be chosen."
    accepted: Mark


class Accept(OfBallot, frozen=True, tag="accept", cache_hash=True):
    """Accept this value for the epoch."""

    why: ClassVar = "A value is chosen once a majority has accepted it in one ballot."
    entry: Value


class AcceptedReply(OfBallot, frozen=True, tag="accepted", cache_hash=True):
    """I have accepted it."""

    why: ClassVar = "The proposer counts acceptances: with a majority, the value is chosen."


class RefusedReply(OfBallot, frozen=True, tag="refused", cache_hash=True):
    """I have promised a higher ballot."""

    why: ClassVar = "A higher ballot is in progress: the proposer's next one must be higher still."
    promised: int


class Chosen(Struct, frozen=True, tag="chosen", cache_hash=True):
    """This epoch is taken, by this value."""

    why: ClassVar = "A member that knows what an epoch holds can move on to the next one."
    epoch: int
    entry: Value


class Round(State, frozen=True, cache_hash=True):
    """A proposer's work on an epoch: who promised its ballot, the newest value that they named.

    ``entry`` is what it proposes, ``accepts`` who accepted that, ``higher`` the ballot of who
    refused it. One that ``repairs`` has no value of its own; it is ``done`` where nothing is left.
    """

    epoch: int = 0
    ballot: int = 0
    promises: int = 0
    newest: Mark = None
    entry: Value | None = None
    accepts: int = 0
    higher: int = 0
    repairs: bool = False
    done: bool = False

    def is_of(self, answer: Any) -> bool:
        """Whether an answer is to this ballot."""
        return (self.epoch, self.ballot) == (answer.epoch, answer.ballot)


NO_ROUND = Round()


class PaxosNode(State, frozen=True, cache_hash=True):
    """A node: log and slots are on its disk, its round as a proposer is in memory.

    ``phase`` says which members there are: 0 the former ones, 1 both, 2 the new ones.
    """

    log: tuple[Value, ...] = ()
    slots: tuple[Slot[Value], ...] = ()
    phase: int = 0
    round: Round = NO_ROUND

    def slot(self, epoch: int) -> Slot[Value]:
        """The slot of an epoch as it keeps it."""
        return next((each for each in self.slots if each.epoch == epoch), Slot(epoch))

    def known(self, epoch: int) -> Value | None:
        """The value that it knows to be chosen for an epoch."""
        return self.log[epoch - 1] if epoch <= len(self.log) else None

    def keeping(self, slot: Slot[Value]) -> PaxosNode:
        """The node, which keeps this of a slot."""
        kept = {each.epoch: each for each in (*self.slots, slot)}
        return self.but(slots=tuple(kept[epoch] for epoch in sorted(kept)))

    def learning(self, epoch: int, entry: Value) -> PaxosNode:
        """The node knows what was chosen for an epoch; of one above a gap it makes nothing.

        Its own round for that epoch is over: the compare-and-set has succeeded, or failed.
        """
        log = appended(self.log, epoch, entry)
        if log is self.log:
            return self
        slots = tuple(each for each in self.slots if each.epoch > epoch)
        mine = self.round if self.round.repairs else NO_ROUND
        return self.but(log=log, slots=slots, round=mine)

    def holds(self, epoch: int, entry: Value) -> bool:
        """Whether it has accepted a value for an epoch, or knows that it was chosen."""
        accepted = self.slot(epoch).accepted
        return self.known(epoch) == entry or (accepted is not None and accepted.entry == entry)
