"""One real node, the others played by you: a coordinator alone, and a replica alone.

The coordinator gets whatever answers you make up, of any epoch, and must still never tell a client
that a level was reached which was not. The replica gets messages of any epoch. Both follow the same
rules as everywhere (``kit.protocols.storage.rules.exchange``). Source: CEP-21, "Test Plan"
(tests of the coordinator's and of the replica's path).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from kit.engine.model import Model, sometimes, step
from kit.engine.pairs import paired
from kit.errors import Refusal
from kit.protocols.storage.actions import (
    ApplyEpoch,
    Finish,
    RequestOptions,
    Start,
    StorageState,
    TimeOut,
)
from kit.protocols.storage.model import Storage
from kit.protocols.storage.properties import level_kept
from kit.protocols.storage.rules.cells import NOTHING, newest, written
from kit.protocols.storage.rules.exchange import Answer, ExchangeSwitches, Verdict, receive, sent
from kit.protocols.storage.rules.history import RangeHistory
from kit.protocols.storage.rules.masks import holds
from kit.protocols.storage.rules.requests import DONE, FAILED, ClientRequest
from kit.protocols.storage.rules.trails import Trail, trails


class Reply(Struct, frozen=True, tag="reply"):
    """You answer for a replica: with success or an error, and with an epoch of your choice.

    ``has_write``: to a read, that the replica holds a write; traces call it ``found``.
    """

    replica: str
    verdict: Verdict
    epoch: int
    has_write: bool = field(default=False, name="found")


class Coordinator(Storage):
    """A coordinator with one request. All events of the history are committed; it may know any."""

    name = "coordinator"
    title = "One real coordinator; you are the replicas (CEP-21)"
    Action = Start | Reply | Finish | TimeOut

    def __init__(
        self, history: RangeHistory, request: ClientRequest, options: RequestOptions
    ) -> None:
        """A coordinator of the range of ``history``, with one request."""
        super().__init__(history, (request,), options)
        self.last = _last(self.trails)
        self.rules = (
            paired(Start, "request", self._startable, self._may_start, self._start),
            paired(Reply, "reply", self._replies, self._may_reply, self._reply),
            paired(Finish, "request", self._finishing, self._may_finish, self._finish),
            paired(TimeOut, "request", self._failing, self._may_give_up, self._time_out),
        )
        self.properties = (
            step(
                "consistency-level",
                "An answer of success has enough replicas of the plan that is valid now",
                partial(level_kept, self),
                "INV-CL",
            ),
            sometimes("succeeded", "The request succeeds", partial(_ended, DONE)),
            sometimes("failed", "The request fails", partial(_ended, FAILED)),
        )

    def start(self) -> StorageState:
        """Everything is committed, nothing is asked."""
        return replace(super().start(), at=self.last, copies=())

    def _replies(self, s: StorageState) -> Iterator[Reply]:
        ask, (request,) = self.workload[0], s.requests
        for i, name in enumerate(self.history.replicas):
            if not holds(request.in_flight, i) or request.phase in (DONE, FAILED):
                continue
            for index in range(len(self.views(s))):
                yield Reply(name, "ok", self.epoch(s, index))
                if not ask.writes:
                    yield Reply(name, "ok", self.epoch(s, index), has_write=True)
                yield Reply(name, "not-a-member", self.epoch(s, index))

    def _may_reply(self, s: StorageState, action: Reply) -> Refusal | None:
        """Whoever is behind catches up before it answers: no answer is older than its message."""
        switches = self.request_options.switches
        message = sent(self.views(s), s.requests[0].epoch, switches)
        least = self.epoch(s, message)
        if action.epoch >= least or not switches.safeguards.epoch_exchange:
            return None
        return Refusal(f"a replica that is behind epoch {least} catches up before it answers")

    def _reply(self, s: StorageState, action: Reply) -> StorageState:
        answer = Answer(action.verdict, self.index(s, action.epoch))
        seen = written(1) if action.has_write else NOTHING
        request = self.answered(s, 0, self.code[action.replica], answer, seen)
        return replace(s, requests=(request,))

    def _may_give_up(self, s: StorageState, action: TimeOut) -> Refusal | None:
        return Refusal("it has its answers") if self.satisfied(s, 0) else None

    def verb(self, action: Any) -> str:
        """``A answers ok at epoch 101``, and so on."""
        match action:
            case Start(_, epoch):
                return f"{self.title_of(0)} at epoch {epoch}"
            case Reply(replica, verdict, epoch, written):
                says = {"ok": "ok", "not-a-member": "error"}[verdict]
                return f"{replica} answers {says} at epoch {epoch}{', write found' * written}"
            case Finish():
                return "answer the client"
        return "time out"

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
                kept = ", ".join(self.history.names(self.valid(before, 0))) or "nobody"
                known = self.epoch(before, request.coordinator_epoch)
                if now.phase == DONE:
                    return f"{who}, at epoch {known}, counts {kept}: success."
                return f"{who}, at epoch {known}, counts only {kept} of its new plan: failure."
        return f"{who} gives up."


class ReplicaState(Struct, frozen=True, cache_hash=True):
    """What the replica knows and holds, and its last answer (None: not asked yet)."""

    known: int = 0
    cell: int = NOTHING
    timestamp: int = field(default=0, name="stamp")
    last: Answer | None = None


class Send(Struct, frozen=True, tag="send"):
    """You send a read or a write that was planned at an epoch of your choice."""

    write: bool
    epoch: int


class Replica(Model[ReplicaState, Any]):
    """A replica of one range. All events of the history are committed; it may know any."""

    name = "replica"
    title = "One real replica; you are the coordinators (CEP-21)"
    State = ReplicaState
    Action = Send | ApplyEpoch

    def __init__(
        self, history: RangeHistory, replica: str, switches: ExchangeSwitches, messages: int
    ) -> None:
        """The replica of that name; you may send so many writes and learn by any message."""
        self.history, self.replica, self.switches = history, replica, switches
        self.messages = messages
        self.index = history.replicas.index(replica)
        ways = trails(history)
        self.trail = ways[_last(ways)]
        self.seen = self.trail.views
        self.rules = (
            paired(Send, "message", self._messages, self._may_send, self._send),
            paired(ApplyEpoch, "apply", self._epochs, self._behind, self._apply),
        )
        self.properties = (
            step("owners-store", "Only a write replica stores a write", self._owns, "INV-OWN"),
            sometimes("took", "It does what it is asked", partial(_said, "ok")),
            sometimes("refused", "It answers an error", partial(_said, "not-a-member")),
        )

    def start(self) -> ReplicaState:
        """It knows the first epoch and holds nothing."""
        return ReplicaState()

    def epoch(self, index: int) -> int:
        """The number of the epoch at an index."""
        return self.trail.numbers[index]

    def _messages(self, s: ReplicaState) -> Iterator[Send]:
        for write in (True, False):
            yield from (Send(write, self.epoch(index)) for index in range(len(self.seen)))

    def _may_send(self, s: ReplicaState, action: Send) -> Refusal | None:
        """Its coordinator counted it a member: else it would not have asked."""
        view = self.seen[self.trail.index(action.epoch)]
        if not holds(view.group(action.write), self.index):
            return Refusal(f"at epoch {action.epoch} nobody asks {self.replica} for that")
        if action.write and s.timestamp >= self.messages:
            return Refusal("the run's budget of writes is used up")
        return None

    def answer(self, s: ReplicaState, action: Send) -> Answer:
        """What it makes of the message."""
        message = sent(self.seen, self.trail.index(action.epoch), self.switches)
        return receive(self.seen, self.index, s.known, message, action.write, self.switches)

    def _send(self, s: ReplicaState, action: Send) -> ReplicaState:
        answer = self.answer(s, action)
        latest = s.timestamp + action.write
        takes = action.write and answer.verdict == "ok"
        cell = newest(s.cell, written(latest)) if takes else s.cell
        return ReplicaState(answer.known, cell, latest, answer)

    def _epochs(self, s: ReplicaState) -> Iterator[ApplyEpoch]:
        return iter((ApplyEpoch(self.replica),))

    def _behind(self, s: ReplicaState, action: ApplyEpoch) -> Refusal | None:
        if s.known < len(self.seen) - 1:
            return None
        return Refusal(f"{self.replica} has applied every committed epoch")

    def _apply(self, s: ReplicaState, action: ApplyEpoch) -> ReplicaState:
        return replace(s, known=s.known + 1)

    def _owns(self, before: ReplicaState, action: Any, after: ReplicaState) -> str | None:
        if before.cell == after.cell:
            return None
        if any(holds(view.writes, self.index) for view in self.seen[after.known :]):
            return None
        epoch = self.epoch(after.known)
        return f"{self.replica}, at epoch {epoch}, stores a write but is no write replica any more"

    def verb(self, action: Any) -> str:
        """``write at epoch 101``, ``read at epoch 101``, ``apply B``."""
        if isinstance(action, ApplyEpoch):
            return f"apply {self.replica}"
        return f"{'write' if action.write else 'read'} at epoch {action.epoch}"

    def describe(self, before: ReplicaState, action: Any, after: ReplicaState) -> str:
        """What it did, and what it knew."""
        if isinstance(action, ApplyEpoch):
            return f"{self.replica} applies epoch {self.epoch(after.known)}."
        assert after.last is not None
        caught = after.known > before.known
        kind = "write" if action.write else "read"
        text = (
            f"{self.replica}, at epoch {self.epoch(before.known)}, gets a {kind} that was planned "
            f"at epoch {action.epoch}"
        )
        text += f", catches up to epoch {self.epoch(after.known)}" * caught
        refuses = after.last.verdict == "not-a-member"
        word, why = ("an error", ": it is no replica") if refuses else ("ok", "")
        return f"{text}, and answers {word} at epoch {self.epoch(after.known)}{why}."


def _last(ways: tuple[Trail, ...]) -> int:
    """The trail on which the first operation is done: every step taken, nothing cancelled."""
    at = 0
    while ways[at].leads:
        at = ways[at].leads[0]
    return at


def _ended(phase: int, s: StorageState) -> bool:
    return s.requests[0].phase == phase


def _said(verdict: Verdict, s: ReplicaState) -> bool:
    return s.last is not None and s.last.verdict == verdict
