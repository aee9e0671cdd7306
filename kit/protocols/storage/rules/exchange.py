"""Epochs in messages: who is behind, who catches up, who is no longer asked.

Every message carries its sender's epoch. A replica that is behind catches up first; one that is
ahead and still a member goes on, one that is not answers with an error. Every answer carries the
replica's epoch, and the coordinator catches up when it is the higher one. With enough answers it
validates its plan again by what it knows then. Source: CEP-21, "Read/Write Path Integration".

Four forms of it, as a switch:

- ``epoch``: messages carry the sender's newest epoch;
- ``relevant``: they carry the last epoch that changed this range's replicas, which gives the same
  verdicts;
- ``last-modified``: the finer rule of the published code. A replica refuses a write whose epoch is
  below its own row's version, whether or not it is still a member; reads are not compared;
- ``background``: the same, and a coordinator that hears of a higher epoch in an answer that is no
  error catches up some time later, as that code was read. A search then finds a read that misses
  a write: two replicas of three, one of them behind, answer a coordinator that is further behind.

Epochs are told by their index on a trail. Where messages make nobody catch up, another rule says
what a replica *admits*: ``fence``, nothing that was planned before the fence that it knows
(topology changes over Raft: ``fence_version``); ``one-stage-apart``, nothing that was planned more
than one stage before or after its own (tablets); ``all``, everything.
"""

from typing import Literal

from msgspec import Struct

from kit.protocols.storage.rules.view import View

Admission = Literal["epoch-exchange", "fence", "one-stage-apart", "all"]


def admits(rule: Admission, views: tuple[View, ...], known: int, message: int) -> bool:
    """Whether a replica at epoch ``known`` does what a message of epoch ``message`` asks."""
    if rule == "fence":
        fence = views[known].fence
        return fence is None or message >= known - fence
    if rule == "one-stage-apart":
        return abs(known - message) <= 1
    return True


Exchange = Literal["epoch", "relevant", "last-modified", "background"]
_BY_ROW = ("last-modified", "background")
Verdict = Literal["ok", "not-a-member", "coordinator-behind", "stale"]


class RequestSafeguards(Struct, frozen=True, kw_only=True):
    """One switch a safeguard, with its name; beside it, what happens with it off."""

    epoch_exchange: bool = True  # no epochs are compared, and nobody hears of a newer one
    membership_check: bool = True  # a replica that is ahead takes part though no member any more
    plan_revalidation: bool = True  # whose answers count stays, whatever a coordinator hears


class ExchangeSwitches(Struct, frozen=True):
    """The form of the exchange, and which safeguards of requests are on."""

    exchange: Exchange = "epoch"
    safeguards: RequestSafeguards = RequestSafeguards()


class Answer(Struct, frozen=True):
    """The answer of a replica to a message: its verdict, and what it knows afterwards."""

    verdict: Verdict
    known: int


def sent(views: tuple[View, ...], epoch: int, switches: ExchangeSwitches) -> int:
    """The epoch that a coordinator at ``epoch`` puts into its messages."""
    return views[epoch].last_modified if switches.exchange == "relevant" else epoch


def receive(
    views: tuple[View, ...],
    replica: int,
    known: int,
    message: int,
    write: bool,
    switches: ExchangeSwitches,
) -> Answer:
    """The answer of ``replica``, which knows epoch ``known``, to a message of epoch ``message``.

    Without the safeguard *epoch-exchange* nothing is compared and nobody catches up: the replica
    goes by its own metadata alone. Without *membership-check* one that is ahead takes part although
    it is no member any more.
    """
    ahead = known > message
    safeguards = switches.safeguards
    by_row = safeguards.epoch_exchange and switches.exchange in _BY_ROW
    if safeguards.epoch_exchange:
        known = max(known, message)  # one that is behind catches up first
    view = views[known]
    member = view.group(write) >> replica & 1
    if not member and not (ahead and not safeguards.membership_check):
        return Answer("not-a-member", known)
    if by_row and write and view.last_modified > message:
        return Answer("coordinator-behind", known)
    return Answer("ok", known)


def heard(now: int, answer: Answer, switches: ExchangeSwitches) -> int:
    """The coordinator's epoch after an answer: it catches up with the replica.

    In the form ``background`` only an error is waited for; else it catches up by itself, later.
    """
    if not switches.safeguards.epoch_exchange:
        return now
    if switches.exchange == "background" and answer.verdict == "ok":
        return now
    return max(now, answer.known)


def still_counted(views: tuple[View, ...], now: int, answered: int, write: bool) -> int:
    """The answers that still count: those of members by the newest metadata known (a mask)."""
    return answered & views[now].group(write)


def invalidates(views: tuple[View, ...], epochs: range, answered: int, write: bool) -> int:
    """The answers of today's members that were no members at some of the epochs (a mask).

    A replica that gave a range up and got it back is not what it was: what it answered before is no
    answer now. (Membership today alone would let a read miss a write, as a search of an operation
    that is cancelled and begun again shows.)
    """
    kept = answered
    for epoch in epochs:
        kept &= views[epoch].group(write)
    return still_counted(views, epochs[-1], answered, write) & ~kept
