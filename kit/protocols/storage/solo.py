"""One real node, you are the others: replicas of a coordinator, or a replica's coordinators.

The real coordinator gets whatever answers you make up, of any epoch, and must still never tell a
client that a level was reached which was not; the real replica gets messages of any epoch. Both
follow the same rules as everywhere (``kit.protocols.storage.rules.exchange``). Source: CEP-21,
"Test Plan" (tests of the coordinator's and of the replica's path).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, TypeAlias

from msgspec import Struct, field

from kit.errors import Refusal
from kit.masks import holds, members
from kit.model.declared import Declared, Each, State, action, purpose, refused, sometimes, step
from kit.protocols.storage.coordinating import Coordinating, Finish, TimeOut
from kit.protocols.storage.events import ERRORS, Applied, Delivered, Happenings, seat_of
from kit.protocols.storage.moving import ApplyEpoch
from kit.protocols.storage.ranges import Next, StorageState, travels
from kit.protocols.storage.ranges import Replica as Played
from kit.protocols.storage.rules import requests
from kit.protocols.storage.rules.exchange import Answer, ExchangeSwitches, Verdict, receive, sent
from kit.protocols.storage.rules.history import RangeHistory, to_the_end, trails


class Reply(Struct, frozen=True, tag="reply"):
    """You answer for a replica: with success or an error, and with an epoch of your choice.

    ``has_write``: to a read, that the replica holds a write; traces call it ``found``.
    """

    replica: str
    verdict: Verdict
    epoch: int
    has_write: bool = field(default=False, name="found")


class Coordinator(Coordinating):
    """A coordinator with one ``request``; all events are committed, and it may know any epoch."""

    name = "coordinator"
    title = "One real coordinator; you are the replicas (CEP-21)"
    premise = "You answer for the replicas, and see what this coordinator does with your answers."
    about = "The coordinator's request; the other options are those of the dataplane model."
    request: str = "K1 write QUORUM"
    timeouts = True
    first = ("begin", "reply")

    def requested(self) -> tuple[requests.ClientRequest, ...]:
        """The one request."""
        return (requests.parse_request(self.request),)

    def start(self) -> StorageState:
        """Everything is committed, nothing is asked."""
        return super().start().but(trail=to_the_end(self.trails), copies=())

    def key(self, place: str) -> str:
        """The key of a seat: the last word of a key names who sits there."""
        return seat_of(place)

    def cell_text(self, s: StorageState, cell: int) -> str:
        """``write 1`` or ``nothing``: a read finds a write of before."""
        return "nothing" if cell == requests.NOTHING else "write 1"

    def happened(self, before: StorageState, action: Any, after: StorageState) -> Happenings:
        """Your answers, too; what a replica knew before is your affair."""
        if not isinstance(action, Reply):
            return super().happened(before, action, after)
        [ask], [was], [now] = self.workload, before.requests, after.requests
        learns = now.coordinator_epoch > was.coordinator_epoch
        title, error = self.title_of(0), ERRORS[action.verdict]
        did = f"takes {title}" if ask.writes else "returns nothing"
        did = "answers with an error" if error else "returns write 1" if action.has_write else did
        epochs = self.carried(before, 0), action.epoch, action.epoch
        adopted = self.epoch(after, now.coordinator_epoch) if learns else None
        who = 0, title, ask.coordinator, action.replica
        return (Delivered(*who, *epochs, error, did, False, adopted),)

    def _replies(self, s: StorageState) -> Iterator[tuple[int, Verdict, int, bool]]:
        [request], [writes] = s.requests, self.mutations
        if request.phase in (requests.DONE, requests.FAILED):
            return
        for i in members(request.in_flight):
            for index in range(len(self.views(s))):
                epoch = self.epoch(s, index)
                yield i, "ok", epoch, False
                if not writes:
                    yield i, "ok", epoch, True
                yield i, "not-a-member", epoch, False

    def _in_words(self, before: StorageState, a: Any, after: StorageState) -> str:
        [was], [now] = before.requests, after.requests
        catches_up = now.coordinator_epoch > was.coordinator_epoch
        return f"{self.verb(a)}{f'; {self.coordinators[0]} catches up' * catches_up}."

    @action(
        struct=Reply,
        each=_replies,
        verb=lambda m, a: (
            f"{a.replica} answers {'ok' if a.verdict == 'ok' else 'error'} at epoch {a.epoch}"
            f"{', write found' * a.has_write}"
        ),
        says=_in_words,
        travels=travels,
    )
    @purpose("No answer can be older than its message.")
    def reply(
        self, s: StorageState, replica: Played, verdict: Verdict, epoch: int, has_write: bool
    ) -> Next:
        """You answer for a replica. One that is behind catches up before it answers.

        So no answer is older than its message.
        """
        [request] = s.requests
        least = self.epoch(s, sent(self.views(s), request.epoch, self.switches))
        if epoch < least:
            return refused(f"a replica that is behind epoch {least} catches up before it answers")
        answer = Answer(verdict, self.trails[s.trail].index(epoch))
        seen = requests.written(1) if has_write else requests.NOTHING
        return s.but(requests=(self.answered(s, 0, replica, answer, seen),))

    @sometimes()
    def succeeded(self, s: StorageState) -> bool:
        """The request succeeds."""
        [request] = s.requests
        return request.phase == requests.DONE

    @sometimes()
    def failed(self, s: StorageState) -> bool:
        """The request fails."""
        [request] = s.requests
        return request.phase == requests.FAILED

    def verb(self, action: Any) -> str:
        """``answer the client`` and so on: there is one request."""
        alone = {Finish: "answer the client", TimeOut: "time out"}
        return alone.get(type(action)) or super().verb(action)


Itself: TypeAlias = Annotated[int, Each(lambda m: (m.replica,), by_place=True)]


class ReplicaState(State, frozen=True, cache_hash=True):
    """The replica's knowledge and data, and its last answer (None: not asked yet)."""

    known: int = 0
    cell: int = requests.NOTHING
    timestamp: int = field(default=0, name="stamp")
    last: Answer | None = None


class Replica(Declared[ReplicaState]):
    """A ``replica`` of one range, which may get so many writes (``messages``).

    All events of the history are committed; it may know any.
    """

    name = "replica"
    title = "One real replica; you are the coordinators (CEP-21)"
    premise = "You ask as the coordinators, and see what this replica accepts or refuses."
    about = "The real replica and its messages; the other options are those of the dataplane model."
    State = ReplicaState
    replica: str = ""
    messages: int
    switches: ExchangeSwitches = ExchangeSwitches()

    def placement_history(self) -> RangeHistory:
        """The readers and writers of the range at each epoch."""
        raise NotImplementedError

    def set_up(self) -> None:
        """The trail on which everything is committed."""
        self.history = history = self.placement_history()
        self.index = history.replicas.index(self.replica)
        self.everybody, self.workload = (self.replica,), ()  # of whom a witness may speak
        ways = trails(history)
        self.trail = ways[to_the_end(ways)]
        self.seen = self.trail.views

    def epoch(self, index: int) -> int:
        """The number of the epoch at an index."""
        return self.trail.numbers[index]

    def newest_epoch(self, s: ReplicaState) -> int:
        """The last epoch that the replica knows: all others are committed, too."""
        return self.epoch(s.known)

    def answer(self, s: ReplicaState, action: Any) -> Answer:
        """The answer to a message."""
        message = sent(self.seen, self.trail.index(action.epoch), self.switches)
        return receive(self.seen, self.index, s.known, message, action.write, self.switches)

    def key(self, place: str) -> str:
        """The key of a seat."""
        return seat_of(place)

    def happened(self, before: ReplicaState, action: Any, after: ReplicaState) -> Happenings:
        """The events of a step of the real replica."""
        if isinstance(action, ApplyEpoch):
            return (Applied(self.replica, self.epoch(after.known)),)
        answer = self.answer(before, action)
        carried = sent(self.seen, self.trail.index(action.epoch), self.switches)
        number = after.timestamp  # a read leaves it as it is
        title, error = f"write {number}" if action.write else "read", ERRORS[answer.verdict]
        did = f"takes {title}" if action.write else f"returns {self.cell_text(before.cell)}"
        epochs = self.epoch(carried), self.epoch(before.known), self.epoch(answer.known)
        did = "answers with an error" if error else did
        return (Delivered(number, title, "you", self.replica, *epochs, error, did),)

    def cell_text(self, cell: int) -> str:
        """A cell of the real replica: ``write 1``, the first that you sent, or ``nothing``."""
        return "nothing" if cell == requests.NOTHING else f"write {requests.timestamp(cell)}"

    def _messages(self, s: ReplicaState) -> Iterator[tuple[bool, int]]:
        epochs = range(len(self.seen))
        return ((write, self.epoch(index)) for write in (True, False) for index in epochs)

    def _does(self, before: ReplicaState, action: Any, after: ReplicaState) -> str:
        assert after.last is not None
        kind = "write" if action.write else "read"
        known, now = self.epoch(before.known), self.epoch(after.known)
        caught_up = f", catches up to epoch {now}" * (now > known)
        refuses = after.last.verdict == "not-a-member"
        answers = (
            f"with an error at epoch {now}: it is not a replica"
            if refuses
            else f"ok at epoch {now}"
        )
        return (
            f"{self.replica}, at epoch {known}, gets a {kind} that was planned at epoch "
            f"{action.epoch}{caught_up}, and answers {answers}."
        )

    @action(
        each=_messages,
        kind="message",
        verb=lambda m, a: f"{'write' if a.write else 'read'} at epoch {a.epoch}",
        says=_does,
        travels=travels,
    )
    @purpose("A message can be planned at an older epoch than the replica's.")
    def send(self, s: ReplicaState, write: bool, epoch: int) -> ReplicaState | Refusal:
        """You send a read or a write that was planned at an epoch of your choice.

        At that epoch the replica is a member. Otherwise no coordinator would ask it.
        """
        if not holds(self.seen[self.trail.index(epoch)].group(write), self.index):
            return refused(f"at epoch {epoch}, no coordinator asks {self.replica} for that")
        if write and s.timestamp >= self.messages:
            return refused("the run's budget of writes is used up")
        answer, latest = self.answer(s, Send(write, epoch)), s.timestamp + write
        takes = write and answer.verdict == "ok"
        cell = max(s.cell, requests.written(latest)) if takes else s.cell
        return ReplicaState(answer.known, cell, latest, answer)

    @action(
        struct=ApplyEpoch,
        kind="apply",
        verb="apply {node}",
        says=lambda m, s, a, after: f"{m.replica} applies epoch {m.epoch(after.known)}.",
        travels=travels,
    )
    @purpose("What a replica has applied decides what it accepts.")
    def apply_epoch(self, s: ReplicaState, node: Itself) -> ReplicaState | Refusal:
        """The replica applies its next epoch."""
        if s.known == len(self.seen) - 1:
            return refused(f"{self.replica} has applied every committed epoch")
        return s.but(known=s.known + 1)

    @step("INV-OWN")
    def owners_store(self, before: ReplicaState, action: Any, after: ReplicaState) -> str | None:
        """Only a write replica stores a write."""
        if before.cell == after.cell:
            return None
        if any(holds(view.writes, self.index) for view in self.seen[after.known :]):
            return None
        epoch = self.epoch(after.known)
        return f"{self.replica}, at epoch {epoch}, stores a write but is no longer a write replica"

    @sometimes()
    def took(self, s: ReplicaState) -> bool:
        """The replica does what it is asked."""
        return s.last is not None and s.last.verdict == "ok"

    @sometimes(name="refused")
    def turned_away(self, s: ReplicaState) -> bool:
        """The replica answers with an error."""
        return s.last is not None and s.last.verdict == "not-a-member"


Send = Replica.send.struct
