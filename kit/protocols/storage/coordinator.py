"""One real coordinator; you are the replicas.

It gets whatever answers you make up, of any epoch, and must still never tell a client that a level
was reached which was not. It follows the same rules as everywhere
(``kit.protocols.storage.rules.exchange``). Source: CEP-21, "Test Plan" (tests of the coordinator's
path).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from kit.engine.declared import action, refused, sometimes
from kit.protocols.storage.coordinating import Coordinating, Finish, Start
from kit.protocols.storage.events import ERRORS, Delivered, Happened, seat_of
from kit.protocols.storage.ranges import Next, Replica, StorageState, travels
from kit.protocols.storage.rules.exchange import Answer, Verdict, sent
from kit.protocols.storage.rules.history import to_the_end
from kit.protocols.storage.rules.requests import (
    DONE,
    FAILED,
    NOTHING,
    ClientRequest,
    parse_request,
    written,
)
from kit.protocols.storage.rules.view import members


class Reply(Struct, frozen=True, tag="reply"):
    """You answer for a replica: with success or an error, and with an epoch of your choice.

    ``has_write``: to a read, that the replica holds a write; traces call it ``found``.
    """

    replica: str
    verdict: Verdict
    epoch: int
    has_write: bool = field(default=False, name="found")


class Coordinator(Coordinating):
    """A coordinator with one ``request``.

    All events of the history are committed; it may know any.
    """

    name = "coordinator"
    title = "One real coordinator; you are the replicas (CEP-21)"
    about = "The coordinator's request; the others are those of the dataplane model."
    request: str = "K1 write QUORUM"
    timeouts = True
    first = ("begin", "reply")

    def requested(self) -> tuple[ClientRequest, ...]:
        """The one request."""
        return (parse_request(self.request),)

    def start(self) -> StorageState:
        """Everything is committed, nothing is asked."""
        return super().start().but(trail=to_the_end(self.trails), copies=())

    def key(self, place: str) -> str:
        """The key of a seat: the last word of a key names who sits there."""
        return seat_of(place)

    def happened(
        self, before: StorageState, action: Any, after: StorageState
    ) -> tuple[Happened, ...]:
        """Your answers, too; what a replica knew before is your affair."""
        if not isinstance(action, Reply):
            return super().happened(before, action, after)
        was, now = before.requests[0].coordinator_epoch, after.requests[0].coordinator_epoch
        did = "returns write 1" if action.has_write else "returns nothing"
        if self.mutations[0]:
            did = f"takes {self.title_of(0)}"
        if action.verdict != "ok":
            did = "answers an error"
        delivered = Delivered(
            0,
            self.title_of(0),
            self.workload[0].coordinator,
            action.replica,
            self.carried(before, 0),
            action.epoch,
            action.epoch,
            ERRORS[action.verdict],
            did,
            False,
            self.epoch(after, now) if now > was else None,
        )
        return (delivered,)

    def _replies(self, s: StorageState) -> Iterator[tuple[int, Verdict, int, bool]]:
        request = s.requests[0]
        if request.phase in (DONE, FAILED):
            return
        for i in members(request.in_flight):
            for index in range(len(self.views(s))):
                epoch = self.epoch(s, index)
                yield i, "ok", epoch, False
                if not self.mutations[0]:
                    yield i, "ok", epoch, True
                yield i, "not-a-member", epoch, False

    @action(struct=Reply, each=_replies, travels=travels)
    def reply(
        self, s: StorageState, replica: Replica, verdict: Verdict, epoch: int, has_write: bool
    ) -> Next:
        """You answer for a replica: whoever is behind catches up before it answers.

        So no answer is older than its message.
        """
        least = self.epoch(s, sent(self.views(s), s.requests[0].epoch, self.switches))
        if epoch < least and self.switches.safeguards.epoch_exchange:
            return refused(f"a replica that is behind epoch {least} catches up before it answers")
        answer = Answer(verdict, self.index(s, epoch))
        seen = written(1) if has_write else NOTHING
        return s.but(requests=(self.answered(s, 0, replica, answer, seen),))

    @sometimes()
    def succeeded(self, s: StorageState) -> bool:
        """The request succeeds."""
        return s.requests[0].phase == DONE

    @sometimes()
    def failed(self, s: StorageState) -> bool:
        """The request fails."""
        return s.requests[0].phase == FAILED

    def verb(self, action: Any) -> str:
        """``A answers ok at epoch 101``, and so on."""
        match action:
            case Start(_, epoch):
                return f"{self.title_of(0)} at epoch {epoch}"
            case Reply(replica, verdict, epoch, has_write):
                says = "ok" if verdict == "ok" else "error"
                return f"{replica} answers {says} at epoch {epoch}{', write found' * has_write}"
            case Finish():
                return "answer the client"
        return "time out"

    def label(self, s: StorageState, action: Any) -> str:
        """The text of the action's button: its verb."""
        return self.verb(action)

    def describe(self, before: StorageState, action: Any, after: StorageState) -> str:
        """What the coordinator makes of it."""
        who, request, now = self.workload[0].coordinator, before.requests[0], after.requests[0]
        match action:
            case Start(_, epoch):
                targets = ", ".join(self.history.names(now.in_flight))
                return f"{who}, at epoch {epoch}, sends {self.title_of(0)} to {targets}."
            case Reply():
                caught_up = now.coordinator_epoch > request.coordinator_epoch
                learns = f"; {who} catches up with it" if caught_up else ""
                return f"{self.verb(action)}{learns}."
            case Finish():
                kept = self.names(self.valid(before, 0))
                known = self.epoch(before, request.coordinator_epoch)
                if now.phase == DONE:
                    return f"{who}, at epoch {known}, counts {kept}: success."
                return f"{who}, at epoch {known}, counts only {kept} of its new plan: failure."
        return f"{who} gives up."
