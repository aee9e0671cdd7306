"""Reads and writes that carry the coordinator's table version.

A replica whose schema is older than that goes through the log as far as the coordinator has, before
it serves. Source: "Group 0 schema versioning".
"""

from __future__ import annotations

from typing import Annotated, Any

from kit.errors import Refusal
from kit.masks import mask_of, where
from kit.model.declared import Each, Travel, Words, action, purpose, refused, there_and_back
from kit.protocols.group0 import state
from kit.protocols.group0.rules.schema import TableRequest

CARRIES = "request with version {version}"
Request = Annotated[int, Each(lambda m: range(len(m.table_requests)))]


def text_of(m: Serving, a: Any) -> str:
    """The request as a line."""
    wanted: TableRequest = m.table_requests[a.request]
    return wanted.text


class Serving(state.Members):
    """The actions of coordinators and replicas for requests."""

    schema_version_check: bool

    def at_stage(self, s: state.Group0State, stage: state.Stage) -> int:
        """The requests that have come so far, as a bit mask."""
        return where(request.stage == stage for request in s.requests)

    def knows(self, s: state.Group0State, request: int) -> bool:
        """Whether the replica's table is at least as new as the request's version."""
        replica = self.table_requests[request].replica
        return self.own_version(s, request, replica) >= s.requests[request].version

    def own_version(self, s: state.Group0State, request: int, node: int) -> int:
        """The version that a node has of the table of a request."""
        wanted = self.table_requests[request]
        return self.tables(s, node).schema.version_of(wanted.keyspace, wanted.table)

    def is_down(self, s: state.Group0State, node: int) -> Refusal | None:
        """That a node is down, if it is."""
        name = self.names[node]
        return None if s.up >> node & 1 else refused(f"{name} is down", (name,))

    @action(
        tag="send",
        each=lambda m, s: m.at_stage(s, "waiting"),
        verb=text_of,
        travels=[Travel("request", "{source}", "{target}", "version {version}", tells=CARRIES)],
    )
    @purpose("The two nodes can have different versions of the table.")
    def send_request(self, s: state.Group0State, request: Request) -> state.Next:
        """{source} sends {text} with its version of {table}, {version}."""
        wanted = self.table_requests[request]
        node, table = wanted.coordinator, f"{wanted.keyspace}.{wanted.table}"
        if why := self.is_down(s, node):
            return why
        if self.tables(s, node).schema.table(wanted.keyspace, wanted.table) is None:
            return refused(f"{self.names[node]} does not know table {table}")
        version, index = self.own_version(s, request, node), s.indexes[node].applied
        return s.but(
            requests=state.put(s.requests, request, state.CarriedVersion("sent", version, index))
        )

    @action(
        tag="fetch",
        each=lambda m, s: mask_of(
            i for i, each in enumerate(s.requests) if each.stage == "sent" and not m.knows(s, i)
        ),
        verb=lambda m, a: f"fetch: {text_of(m, a)}",
        travels=there_and_back(
            "{target}", "{source}", "schema?", "version {version}", ("request", "data")
        ),
    )
    @purpose("The sender has a newer version of the table, so the replica catches up first.")
    def fetch_schema(self, s: state.Group0State, request: Request) -> state.Next:
        """{target} applies the log up to index {up_to}, which {source} has already applied."""
        node = self.table_requests[request].replica
        name, guard = self.names[node], s.guards[node]
        if guard is not None and guard.step in state.LOOKING:
            return refused(f"{name} is building a command on its state", (name,))
        return self.is_down(s, node) or s.applied_up_to(node, s.requests[request].index)

    @action(
        tag="serve",
        each=lambda m, s: m.at_stage(s, "sent"),
        verb=lambda m, a: f"serve: {text_of(m, a)}",
        travels=[Travel("answer", "{target}", "{source}", "done")],
    )
    @purpose("Both nodes have to use the same columns.")
    def serve_table_request(self, s: state.Group0State, request: Request) -> state.Next:
        """{target} serves {text} with version {own} of {table}."""
        wanted, carried = self.table_requests[request], s.requests[request]
        if self.schema_version_check and not self.knows(s, request):
            name, own = self.names[wanted.replica], self.own_version(s, request, wanted.replica)
            has = f"{name} has version {own} of {wanted.keyspace}.{wanted.table}"
            carries = f"the request carries {carried.version}: {name} fetches the schema first"
            return refused(f"{has}, {carries}", (name,))
        if why := self.is_down(s, wanted.replica):
            return why
        return s.but(requests=state.put(s.requests, request, carried.but(stage="served")))

    def words(self, before: Any, action: Any, after: Any) -> Words:
        """Of a request its ends, its table, and the versions that meet."""
        more = super().words(before, action, after)
        if not isinstance(action, SendRequest | FetchSchema | ServeTableRequest):
            return more
        wanted, carried = self.table_requests[action.request], after.requests[action.request]
        return {
            **more,
            "source": self.names[wanted.coordinator],
            "target": self.names[wanted.replica],
            "text": wanted.text,
            "table": f"{wanted.keyspace}.{wanted.table}",
            "version": carried.version,
            "up_to": carried.index,
            "own": self.own_version(before, action.request, wanted.replica),
        }


SendRequest, FetchSchema, ServeTableRequest = Serving.acts
