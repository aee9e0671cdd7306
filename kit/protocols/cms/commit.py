"""Submitting one event to the metadata service: it is validated, and appended to the log.

Source: CEP-21, "Event Submission Protocol".
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from kit.engine.declared import (
    Each,
    NodeModel,
    State,
    action,
    always,
    entry,
    goal,
    parameter,
    purpose,
    refused,
)
from kit.errors import Refusal
from kit.protocols.cms.rules.events import Fact, Metadata, machine_of, objection
from kit.protocols.cms.rules.log import Entry, NodeLog, applied, metadata


class CommitState(State, frozen=True, cache_hash=True):
    """The log, and what became of each request."""

    log: NodeLog
    requests: tuple[str, ...]


Request: TypeAlias = Annotated[int, Each(lambda m: range(len(m.submissions)), "r{}".format)]


class Commit(NodeModel[CommitState]):
    """A metadata service that takes events one by one."""

    name, title, State = "commit", "Submitting an event to the metadata service", CommitState
    submissions: tuple[str, ...] = parameter(
        ("drop table t", "alter table t"), "events that are submitted"
    )

    def set_up(self) -> None:
        """The table that is there at first."""
        self.names = ("A",)
        self.machine = machine_of(Metadata((Fact("table t", "there"),)))

    def start(self) -> CommitState:
        """Nothing is committed."""
        return CommitState(NodeLog(), ("waiting",) * len(self.submissions))

    @action()
    @purpose("One log gives each change its place, the same for all.")
    def submit(self, s: CommitState, request: Request) -> CommitState | Refusal | None:
        """{request} is validated and appended, or rejected."""
        if s.requests[request] != "waiting":
            return None
        event, requests = self.submissions[request], [*s.requests]
        if objection(metadata(s.log, self.machine), event):
            requests[request] = "rejected"
            return s.but(requests=tuple(requests))
        if len(s.log.entries) == len(requests):
            return refused("the log is full")
        requests[request] = "committed"
        new = Entry(s.log.epoch + 1, event, f"r{request}")
        return CommitState(applied(s.log, new, self.machine), tuple(requests))

    @always("INV-LOG")
    def in_order(self, s: CommitState) -> str | None:
        """The epochs of the log have no gap."""
        epochs = [each.epoch for each in s.log.entries]
        return None if epochs == [*range(1, len(epochs) + 1)] else f"epochs {epochs}"

    @goal()
    def answered(self, s: CommitState) -> bool:
        """Each request is answered."""
        return "waiting" not in s.requests


ENTRY = entry(Commit)
