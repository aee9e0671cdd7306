"""One lease that clients take in turn, and a store that they write to.

The service gives each lease the next number. It ends a lease by its own clock, which the client
that holds it does not notice: the client may still write.
"""

from typing import Annotated, Any, TypeAlias

from kit.errors import Refusal
from kit.model.declared import (
    Declared,
    Each,
    State,
    Travel,
    action,
    entry,
    parameter,
    purpose,
    refused,
    safeguard,
    sometimes,
    step,
)
from kit.model.registry import Scenario
from kit.protocols.toy.rules.fence import NOTHING, refusal

MOST = 9

GIVEN = Travel(
    *("answer", "field:newest", "field:numbers"),
    *("lease {lease}", "service → {client}: lease {lease}"),
)
WRITTEN = Travel(
    *("request", "field:numbers", "field:seen"),
    *("number {number}", "{client} → store: number {number}"),
)
Client: TypeAlias = Annotated[int, Each(lambda m: range(m.clients), "C{}".format)]


class LeaseState(State, frozen=True):
    """Each client's newest number, the newest of all, whether its lease runs, the store's number.

    A number is 0 before the first lease or write.
    """

    numbers: tuple[int, ...]
    newest: int = NOTHING
    running: bool = False
    seen: int = NOTHING


Next: TypeAlias = LeaseState | Refusal | None


class Lease(Declared[LeaseState]):
    """A lease service, its clients and their store."""

    name, title, State = "lease", "A lease with numbers", LeaseState
    clients: int = parameter(2, "how many there are", ge=1, le=MOST)
    leases: int = parameter(2, "how many are given", ge=1, le=MOST)
    fence: bool = safeguard(
        "T-01", "The store refuses an older number than it has seen", ("INV-FENCE",)
    )

    def start(self) -> LeaseState:
        """Nobody had a lease; nothing is written."""
        return LeaseState((NOTHING,) * self.clients)

    def newest_epoch(self, s: LeaseState) -> int:
        """The number of the newest lease."""
        return s.newest

    @action(travels=[GIVEN])
    @purpose("Only one client at a time should believe that it may write.")
    def take(self, s: LeaseState, client: Client) -> Next:
        """{client} takes lease {lease}."""
        if s.running:
            return refused(f"lease {s.newest} has not lapsed")
        if s.newest == self.leases:
            return refused("every lease was given")
        number = s.newest + 1
        numbers = tuple(number if i == client else had for i, had in enumerate(s.numbers))
        return s.but(numbers=numbers, newest=number, running=True)

    @action()
    @purpose("Without an end to it, a client that is gone would keep the lease for ever.")
    def lapse(self, s: LeaseState) -> Next:
        """Lease {lease} lapses."""
        return s.but(running=False) if s.running else None

    @action(travels=[WRITTEN])
    @purpose("A client writes as long as it believes that its lease runs.")
    def write(self, s: LeaseState, client: Client) -> Next:
        """{client} writes with number {number}."""
        number = s.numbers[client]
        if number in (NOTHING, s.seen):
            return None
        return (refusal(number, s.seen) if self.fence else None) or s.but(seen=number)

    @step("INV-FENCE", on=(write,))
    def in_order(self, before: LeaseState, action: Any, after: LeaseState) -> str | None:
        """No write comes after a newer one."""
        if after.seen >= before.seen:
            return None
        return f"a write with number {after.seen} came after one with number {before.seen}"

    @sometimes()
    def second_write(self, s: LeaseState) -> bool:
        """A second lease is written with."""
        return s.seen > 1

    def words(self, before: LeaseState, action: Any, after: LeaseState) -> dict[str, str]:
        """The number of the newest lease, and the one that was written with."""
        return {"lease": str(after.newest), "number": str(after.seen)}


Take, Lapse, Write = Lease.acts

ENTRY = entry(
    Lease,
    scenarios=(
        Scenario(
            "slept",
            "A client sleeps past its lease, then writes",
            script=("take C0", "lapse", "take C1", "write C1"),
        ),
    ),
)
