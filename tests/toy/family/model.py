"""One lease that clients take in turn, and a store that they write to.

The service gives each lease the next number. It ends a lease by its own clock, which the client
that holds it does not notice: the client may still write.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from kit.engine.model import Model, Safeguard, sometimes, step, switched_off
from kit.engine.parameters import check_limits
from kit.errors import Refusal
from kit.protocols.toy.rules.fence import NOTHING, LeaseSafeguards, refusal
from tests.pairs import paired

MOST = 9


class LeaseParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """Who wants the lease, and how often it is given."""

    clients: Annotated[int, Meta(description="how many there are", ge=1, le=MOST)] = 2
    leases: Annotated[int, Meta(description="how many are given", ge=1, le=MOST)] = 2


class LeaseState(Struct, frozen=True):
    """Each client's newest number, the newest of all, whether its lease runs, the store's number.

    A number is 0 before the first lease or write.
    """

    numbers: tuple[int, ...]
    newest: int
    running: bool
    seen: int


class Take(Struct, frozen=True, tag="take"):
    """A client gets the lease, with the next number."""

    client: int


class Lapse(Struct, frozen=True, tag="lapse"):
    """The service ends the lease that runs; nobody else hears of it."""


class Write(Struct, frozen=True, tag="write"):
    """A client writes with the number of its newest lease, unless that was the last one written."""

    client: int


FENCE = Safeguard(
    "fence", "T-01", "The store refuses an older number than it has seen", ("INV-FENCE",)
)


def _in_order(before: LeaseState, action: Write, after: LeaseState) -> str | None:
    if after.seen >= before.seen:
        return None
    return f"a write with number {after.seen} came after one with number {before.seen}"


class Lease(Model[LeaseState, Take | Lapse | Write]):
    """A lease service, its clients and their store."""

    name = "lease"
    title = "A lease with numbers"
    State = LeaseState
    Action = Take | Lapse | Write
    safeguards = (FENCE,)
    properties = (
        step("in-order", "No write comes after a newer one", _in_order, "INV-FENCE", (Write,)),
        sometimes("second-write", "A second lease is written with", lambda s: s.seen > 1),
    )

    def __init__(self, parameters: LeaseParameters | None = None, off: tuple[str, ...] = ()):
        """A service that gives ``parameters.leases`` leases.

        Raises:
            BadInput: when a parameter is not within 1 to 9.
        """
        self.parameters: LeaseParameters = parameters or LeaseParameters()
        self.off = off
        self.safeguards_on = switched_off(LeaseSafeguards, off)
        check_limits(self.parameters)
        clients = range(self.parameters.clients)
        self.rules = (
            paired(Take, "take", lambda s: tuple(map(Take, clients)), self._may_take, _takes),
            paired(Lapse, "lapse", lambda s: (Lapse(),) if s.running else (), _free, _lapses),
            paired(
                Write,
                "write",
                lambda s: tuple(Write(i) for i in clients if s.numbers[i] not in (NOTHING, s.seen)),
                self._may_write,
                _writes,
            ),
        )

    def start(self) -> LeaseState:
        """Nobody had a lease; nothing is written."""
        return LeaseState((NOTHING,) * self.parameters.clients, NOTHING, False, NOTHING)

    def verb(self, action: Take | Lapse | Write) -> str:
        """``take C1``, ``lapse``, ``write C1``."""
        if isinstance(action, Lapse):
            return "lapse"
        return f"{type(action).__struct_config__.tag} C{action.client}"

    def describe(self, before: LeaseState, action: Take | Lapse | Write, after: LeaseState) -> str:
        """What the step did, in a sentence."""
        match action:
            case Take(client):
                return f"C{client} takes lease {after.newest}."
            case Lapse():
                return f"Lease {before.newest} lapses."
            case Write(client):
                return f"C{client} writes with number {after.seen}."

    def _may_take(self, s: LeaseState, action: Take) -> Refusal | None:
        if s.running:
            return Refusal(f"lease {s.newest} has not lapsed")
        if s.newest == self.parameters.leases:
            return Refusal("every lease was given")
        return None

    def _may_write(self, s: LeaseState, action: Write) -> Refusal | None:
        return refusal(s.numbers[action.client], s.seen, self.safeguards_on)


def _free(s: LeaseState, action: Lapse) -> None:
    return None


def _takes(s: LeaseState, action: Take) -> LeaseState:
    number = s.newest + 1
    numbers = tuple(number if i == action.client else had for i, had in enumerate(s.numbers))
    return LeaseState(numbers, number, True, s.seen)


def _lapses(s: LeaseState, action: Lapse) -> LeaseState:
    return LeaseState(s.numbers, s.newest, False, s.seen)


def _writes(s: LeaseState, action: Write) -> LeaseState:
    return LeaseState(s.numbers, s.newest, s.running, s.numbers[action.client])
