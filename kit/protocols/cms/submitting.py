"""The state of a metadata service that takes events: nodes, their work, what submitters know."""

from __future__ import annotations

from typing import Literal, TypeAlias

from kit.errors import BadInput
from kit.model.declared import State
from kit.protocols.cms.rules.events import parsed
from kit.protocols.cms.rules.log import Entry, NodeLog
from kit.protocols.paxos.rules import Accepted, Slot

Stage: TypeAlias = Literal["waiting", "sent", "unknown", "committed", "rejected"]


class Submission(State, frozen=True):
    """An event, the node that submits it, and the node that it asks first (empty: any member)."""

    event: str
    node: str
    contact: str = ""


class Answer(State, frozen=True, cache_hash=True):
    """The outcome of a request: committed as ``epoch``; or why not, and the conflicting epoch."""

    stage: Stage = "waiting"
    epoch: int = 0
    reason: str = ""
    knows_members: bool = False
    """Whether the submitter was told who the members are."""

    @property
    def outcome(self) -> str:
        """``committed as epoch 2``, or why not, and the epoch that stands in the way."""
        if self.stage == "committed":
            return f"committed as epoch {self.epoch}"
        why = f"rejected because {self.reason}"
        return f"{why} (epoch {self.epoch})" if self.epoch else why

    @property
    def ending(self) -> str:
        """The outcome of validation, where nothing is proposed any more, as a template."""
        if self.stage == "committed":
            return f"{{node}} finds {{id}} in its log: {self.outcome}."
        return f"{{node}} finds that “{{event}}” no longer makes sense: {self.outcome}."


class Handling(State, frozen=True, cache_hash=True):
    """A member's work on a request: its ballot, who promised, the newest value that they named."""

    request: int = -1  # -1: it is idle
    ballot: int = 0
    promises: int = 0
    newest: Accepted[Entry] | None = None
    value: Entry | None = None  # what it proposes
    accepts: int = 0  # who has accepted that
    answer: Answer | None = None  # how it ended

    @property
    def is_open(self) -> bool:
        """Whether there is a request without an answer yet."""
        return self.request >= 0 and self.answer is None

    @property
    def heard(self) -> int:
        """The acceptors that have answered the ballot: accepted its value, or promised it."""
        return self.accepts if self.value else self.promises


IDLE = Handling()


class Member(State, frozen=True, cache_hash=True):
    """A node: its log and its part in Paxos are on disk, what it ``handles`` is in memory."""

    up: bool = True
    log: NodeLog = NodeLog()
    slots: tuple[Slot[Entry], ...] = ()
    handles: Handling = IDLE

    def slot(self, epoch: int) -> Slot[Entry]:
        """The slot as it keeps it."""
        return next((each for each in self.slots if each.epoch == epoch), Slot(epoch))

    def keeping(self, slot: Slot[Entry]) -> tuple[Slot[Entry], ...]:
        """All that it keeps, with this in the place of what it kept of the slot."""
        kept = {each.epoch: each for each in (*self.slots, slot)}
        return tuple(kept[epoch] for epoch in sorted(kept))


class CommitState(State, frozen=True, cache_hash=True):
    """All nodes, what each submitter knows of its request, and what may still go wrong."""

    nodes: tuple[Member, ...]
    requests: tuple[Answer, ...]
    crashes: int
    losses: int
    replies: int

    def answered(self, request: int, answer: Answer) -> CommitState:
        """The same, where a submitter knows more of its request."""
        known = (*self.requests[:request], answer, *self.requests[request + 1 :])
        return self.but(requests=known)


def submission_of(text: str, names: tuple[str, ...]) -> Submission:
    """``drop table t at D to A``: the event, the node that submits it, the node asked first.

    Raises BadInput for no event, or a node that is not there.
    """
    event, _, where = text.rpartition(" at ")
    node, _, contact = where.partition(" to ")
    if node not in names or (contact and contact not in names):
        allowed = f"an event, and nodes of {', '.join(names)}: drop table t at B to A"
        raise BadInput("events", text, allowed)
    try:
        parsed(event)
    except BadInput as wrong:
        raise BadInput("events", text, wrong.allowed) from wrong
    return Submission(event, node, contact)
