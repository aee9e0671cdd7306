"""Reads and writes that carry the coordinator's table version, as rules of the model.

A replica whose schema is older than that goes through the log as far as the coordinator has, before
it serves. Source: "Group 0 schema versioning".
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kit.engine.model import Rule
from kit.engine.pairs import paired
from kit.errors import Refusal
from kit.protocols.group0.actions import (
    ApplyCommand,
    FetchSchema,
    SendRequest,
    ServeTableRequest,
)
from kit.protocols.group0.guards import LOOKING
from kit.protocols.group0.raft import RaftRules
from kit.protocols.group0.rules.versions import is_new_enough, version_of
from kit.protocols.group0.setup import Setup, put
from kit.protocols.group0.state import CarriedVersion, Group0State, prefix, tables_after
from kit.protocols.group0.words import TableRequest


class ServingRules:
    """What coordinators and replicas do for requests."""

    def __init__(self, setup: Setup, raft: RaftRules) -> None:
        """The rules for these nodes and requests."""
        self.setup, self.raft = setup, raft
        numbers = range(len(setup.requests))
        self._send, self._fetch, self._serve = (
            [kind(i) for i in numbers] for kind in (SendRequest, FetchSchema, ServeTableRequest)
        )

    def rules(self) -> tuple[Rule[Group0State, Any], ...]:
        """The table."""
        return (
            paired(SendRequest, "send", self._unsent, self._may_send, self._sends),
            paired(FetchSchema, "fetch", self._older, self._may_fetch, self._fetches),
            paired(ServeTableRequest, "serve", self._sent, self._may_serve, self._serves),
        )

    def _at(self, s: Group0State, stage: str, actions: list[Any]) -> list[Any]:
        return [actions[i] for i, request in enumerate(s.requests) if request.stage == stage]

    def _unsent(self, s: Group0State) -> list[Any]:
        return self._at(s, "waiting", self._send)

    def _sent(self, s: Group0State) -> list[Any]:
        return self._at(s, "sent", self._serve)

    def _older(self, s: Group0State) -> list[Any]:
        return [a for a in self._at(s, "sent", self._fetch) if not self.knows(s, a.request)]

    def knows(self, s: Group0State, request: int) -> bool:
        """Whether the replica's table is at least as new as the request's version."""
        asked_for = self.setup.requests[request]
        schema = self._schema(s, asked_for.replica)
        return is_new_enough(
            schema, asked_for.keyspace, asked_for.table, s.requests[request].version
        )

    def _schema(self, s: Group0State, node: int) -> Any:
        return tables_after(prefix(s.log, s.indexes[node].applied), self.setup.safeguards).schema

    def _may_send(self, s: Group0State, action: SendRequest) -> Refusal | None:
        request = self.setup.requests[action.request]
        name = self.setup.names[request.coordinator]
        if not s.up >> request.coordinator & 1:
            return Refusal(f"{name} is down", missing=(name,))
        if self._schema(s, request.coordinator).table(request.keyspace, request.table) is None:
            return Refusal(f"{name} knows no table {request.keyspace}.{request.table}")
        return None

    def _sends(self, s: Group0State, action: SendRequest) -> Group0State:
        request = self.setup.requests[action.request]
        schema = self._schema(s, request.coordinator)
        version = version_of(schema, request.keyspace, request.table)
        index = s.indexes[request.coordinator].applied
        return _with(s, action.request, CarriedVersion("sent", version, index))

    def _down(self, s: Group0State, request: TableRequest) -> Refusal | None:
        name = self.setup.names[request.replica]
        return None if s.up >> request.replica & 1 else Refusal(f"{name} is down", (), (name,))

    def _may_fetch(self, s: Group0State, action: FetchSchema) -> Refusal | None:
        request = self.setup.requests[action.request]
        name, guard = self.setup.names[request.replica], s.guards[request.replica]
        if guard is not None and guard.step in LOOKING:
            return Refusal(f"{name} builds a command on its state", missing=(name,))
        return self._down(s, request)

    def _fetches(self, s: Group0State, action: FetchSchema) -> Group0State:
        node, index = self.setup.requests[action.request].replica, s.requests[action.request].index
        s = replace(s, indexes=put(s.indexes, node, s.indexes[node].knowing(index)))
        while s.indexes[node].applied < index:
            s = self.raft.applies(s, ApplyCommand(self.setup.names[node]))
        return s

    def _may_serve(self, s: Group0State, action: ServeTableRequest) -> Refusal | None:
        request = self.setup.requests[action.request]
        if not self.setup.safeguards.schema_version_check or self.knows(s, action.request):
            return self._down(s, request)
        name, version = self.setup.names[request.replica], s.requests[action.request].version
        own = version_of(self._schema(s, request.replica), request.keyspace, request.table)
        return Refusal(
            f"{name} has version {own} of {request.keyspace}.{request.table}, the request carries "
            f"{version}: {name} fetches the schema first",
            missing=(name,),
        )

    def _serves(self, s: Group0State, action: ServeTableRequest) -> Group0State:
        return _with(s, action.request, replace(s.requests[action.request], stage="served"))


def _with(s: Group0State, request: int, carried: CarriedVersion) -> Group0State:
    return replace(s, requests=put(s.requests, request, carried))
