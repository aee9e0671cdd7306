"""What an event waits for: conditions on who knows what, and on what is still under way.

Each looks at a few facts of a moment and at the index of the newest epoch there. ``age`` says which
epoch is meant: so many before the newest one, so that a condition means the same on every way that
leads to it. A condition about an epoch that is older than all that anybody may still know holds.
Source: CEP-21, "Consistency Guarantees"; the barriers of topology changes and tablets over Raft.
"""

from typing import Any, TypeAlias

from msgspec import UNSET, Struct

from kit.masks import members
from kit.protocols.storage.rules.requests import AT_WORK, FAILED, NOTHING, OPEN, Request

RangeFacts: TypeAlias = Any
"""A state: conditions look at its ``known``, ``copies``, ``requests``, ``down``, ``cleaned``."""


class Condition(Struct, frozen=True, cache_hash=True):
    """A condition of an event, told by a moment and the index of the newest epoch there."""

    def holds(self, facts: RangeFacts, newest: int) -> bool:
        """Whether it is met."""
        raise NotImplementedError

    def missing(self, facts: RangeFacts, newest: int) -> tuple[int, ...]:
        """The replicas that it waits for: none, where it waits for requests or copies."""
        return ()


class MajorityKnows(Condition, frozen=True):
    """Enough of ``replicas`` (a mask) know the epoch: ``needed`` of them. The progress barrier."""

    replicas: int
    needed: int
    age: int = 0

    def holds(self, facts: RangeFacts, newest: int) -> bool:
        """Whether enough of them know it."""
        least, knowing = newest - self.age, 0
        for i, index in enumerate(facts.known):
            if index >= least:
                knowing |= 1 << i
        return (knowing & self.replicas).bit_count() >= self.needed

    def missing(self, facts: RangeFacts, newest: int) -> tuple[int, ...]:
        """The replicas that do not know it yet."""
        return behind(facts, newest - self.age, self.replicas)


def behind(facts: RangeFacts, least: int, group: int) -> tuple[int, ...]:
    """Those of a group (a mask) that do not know an epoch."""
    return tuple([i for i, index in enumerate(facts.known) if index < least and group >> i & 1])


class AllKnow(Condition, frozen=True):
    """All of ``replicas`` (a mask: those that are not ignored) know the epoch, and coordinators.

    A coordinator without an open request can be told at any time: it never keeps anybody waiting.
    ``but_down``: those that are down are ignored, too. ``ignored`` are requests (a mask) whose
    coordinators are.
    """

    replicas: int
    age: int = 0
    but_down: bool = False
    ignored: int = 0

    def holds(self, facts: RangeFacts, newest: int) -> bool:
        """Whether nobody is missing, and no open request's coordinator knows less."""
        least = newest - self.age
        return not self.missing(facts, newest) and all(
            request.coordinator_epoch >= least or self.ignored >> number & 1
            for number, request in enumerate(facts.requests)
            if request.phase in AT_WORK
        )

    def missing(self, facts: RangeFacts, newest: int) -> tuple[int, ...]:
        """The replicas that do not know it yet."""
        group = self.replicas & ~facts.down if self.but_down else self.replicas
        return behind(facts, newest - self.age, group)


class NothingBelow(Condition, frozen=True):
    """No request that was planned by an earlier epoch is open, or at work on what it writes.

    A coordinator is waited for until it has all answers or gives up: what it sent then stays on its
    way, and nobody waits for that. ``ignored`` are requests (a mask) of coordinators that nobody
    waits for at all; messages count that are on their way to ``replicas`` (a mask). These wait for
    writes that they are at work on, whoever sent them. Source: Topology over Raft, "Tracking
    replica-side requests".
    """

    age: int = 0
    ignored: int = 0
    replicas: int = -1

    def holds(self, facts: RangeFacts, newest: int) -> bool:
        """Whether all of them are over."""
        least, group = newest - self.age, self.replicas & ~facts.down
        return all(
            request.epoch >= least
            or (
                (self.ignored >> number & 1 or request.phase == FAILED)
                and not begun_writes(request) & group
            )
            for number, request in enumerate(facts.requests)
            if request.phase in AT_WORK or request.in_flight & group
        )


def begun_writes(request: Request) -> int:
    """The replicas (a mask) that are at work on what a request writes, or writes back."""
    writes = request.timestamp or request.phase > OPEN
    return 0 if request.begun is UNSET or not writes else request.begun


class NothingElsewhere(Condition, frozen=True):
    """No write is at work on other ``shards`` than those ``chosen`` by now (masks).

    Who began it by an older epoch holds that one until it ends. Source: Topology over Raft,
    "Tracking replica-side requests".
    """

    shards: int
    chosen: int

    def holds(self, facts: RangeFacts, newest: int) -> bool:
        """Whether there is none."""
        shards, chosen = self.shards & ~facts.down, self.chosen & ~facts.down
        return all(begun_writes(request) & shards in (0, chosen) for request in facts.requests)


class NoWriteBegun(Condition, frozen=True):
    """No write is at work on ``replicas`` (a mask).

    Source: Topology over Raft, "Tracking replica-side requests".
    """

    replicas: int

    def holds(self, facts: RangeFacts, newest: int) -> bool:
        """Whether there is none."""
        return not any(begun_writes(r) & self.replicas & ~facts.down for r in facts.requests)


class SessionClosed(Condition, frozen=True):
    """No copy is on its way: all that streams belongs to a session, and that one is closed."""

    def holds(self, facts: RangeFacts, newest: int) -> bool:
        """Whether none is."""
        return all(copied < NOTHING for copied in facts.copies)


class HaveCleaned(Condition, frozen=True):
    """Those of ``replicas`` (a mask) that live have cleaned up."""

    replicas: int

    def holds(self, facts: RangeFacts, newest: int) -> bool:
        """Whether all of them have."""
        return not self.replicas & ~(facts.cleaned | facts.down)

    def missing(self, facts: RangeFacts, newest: int) -> tuple[int, ...]:
        """The replicas that have not."""
        return members(self.replicas & ~(facts.cleaned | facts.down))


class MoreLost(Condition, frozen=True):
    """Of ``these`` more are down or ``ignored`` than of ``those`` (masks of replicas)."""

    these: int
    those: int = 0
    ignored: int = 0

    def holds(self, facts: RangeFacts, newest: int) -> bool:
        """Whether there are more."""
        lost: int = facts.down | self.ignored
        return (self.these & lost).bit_count() > (self.those & lost).bit_count()

    def missing(self, facts: RangeFacts, newest: int) -> tuple[int, ...]:
        """Those that are lost, for a failure is what it waits for."""
        return members((self.these | self.those) & (facts.down | self.ignored))
