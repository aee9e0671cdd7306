"""Clients' requests by a version, and RPCs of a session that are left behind."""

from __future__ import annotations

from typing import Any

from kit.engine.declared import Node, Travel, action, refused
from kit.errors import Refusal
from kit.protocols.topology.control import Control, ControlState, Next, Travels, view_of
from kit.protocols.topology.rules.cluster import (
    NOBODY,
    Setting,
    is_drained,
    is_open,
    is_served,
    local_view,
    mask_of,
)
from kit.protocols.topology.rules.work import TRUNCATES, state_of, under_way

NETWORK = "network"
TRUNCATE = "truncate_table"
SERVING_STATES = ("normal", "decommissioning", "removing", "rebuilding")
"""The states in which a node takes requests of clients."""
OLDER_RUNS = refused("a request by an older version still runs here")
LEFTOVER_RUNS = refused("work of a session that is closed still runs here")
NOT_HEARD = refused("one of the two is not heard")
LEFT_ALREADY = refused("an RPC of a session was left behind already")


def drain_refusal(s: ControlState, node: int, setting: Setting) -> Refusal | None:
    """Why a node does not answer a barrier yet: older requests, or work of a closed session."""
    view = local_view(s.topology)
    if s.client == node and not is_drained(s.client_version, view, setting.safeguards):
        return OLDER_RUNS
    if s.leftover_at == node and not is_open(s.leftover, view, setting.safeguards):
        return LEFTOVER_RUNS
    return None


def served(s: ControlState, replica: int, setting: Setting) -> bool:
    """Whether the replica serves the client's request, or finds it below its fence."""
    return is_served(s.client_version, view_of(s, replica), setting.safeguards)


def let_in(s: ControlState, node: int, setting: Setting) -> bool:
    """Whether a node lets in what was left behind, by the permit of its session."""
    return is_open(s.leftover, view_of(s, node), setting.safeguards)


def is_truncating(s: ControlState, setting: Setting) -> bool:
    """Whether the coordinator's next piece of work is to send the RPCs of a truncate."""
    operation = under_way(s.topology)
    if operation is None or operation.machine != TRUNCATE or s.coordinator == NOBODY:
        return False
    rows = state_of(operation, setting).work[s.attempted.step :]
    return bool(s.topology.session and rows and rows[0].name == TRUNCATES)


class Serving(Control):
    """What nodes do beside the coordinator: a client's request, and what a session left behind."""

    def takes_clients(self, s: ControlState) -> int:
        """Where a client's request may begin (a mask): one runs at a time."""
        return mask_of(s.topology, *SERVING_STATES) & s.up if s.client == NOBODY else 0

    @action(kind="client", tag="begin", each=takes_clients, spends="faults.clients", unasked=True)
    def begin_request(self, s: ControlState, node: Node) -> Next:
        """A client's request begins at {node}, by the version that it goes by."""
        return s.but(client=node, client_version=view_of(s, node).version)

    def replicas(self, s: ControlState) -> int:
        """Whom the client's request may reach (a mask)."""
        return s.topology.members & s.up if s.client != NOBODY else 0

    def serve_words(self, before: ControlState, action: Any, after: ControlState) -> str:
        """Whether the replica serves the request."""
        ok = served(before, self.number(action.replica), self.setting)
        said = "serves" if ok else "refuses"
        return f"{action.replica} {said} a request by version {before.client_version}."

    def request_served(self, before: ControlState, action: Any, after: ControlState) -> Travels:
        """The request to the replica, and what comes back."""
        name, version = self.names[before.client], before.client_version
        there, back = self.spot(name), self.spot(action.replica)
        label = f"version {version}"
        said = f"{name} → {action.replica}: a request by {label}"
        yield Travel("request", there, back, label, said, stays=True)
        way = f"{action.replica} → {name}"
        if served(before, self.number(action.replica), self.setting):
            yield Travel("answer", back, there, "done", f"{way}: done", leg=1, stays=True)
        else:
            yield Travel(
                "refusal", back, there, "stale", f"{way}: stale version", leg=1, stays=True
            )

    @action(
        kind="client",
        tag="serve",
        each=replicas,
        unasked=True,
        says=serve_words,
        travels=request_served,
    )
    def serve_request(self, s: ControlState, replica: Node) -> Next:
        """The request reaches a replica, which serves it or finds it stale; then it is over."""
        if replica != s.client and s.apart & (1 << s.client | 1 << replica):
            return NOT_HEARD
        return s.but(client=NOBODY, client_version=0)

    @action(
        kind="late fault",
        verb="leave behind",
        label="this RPC is late: it stays behind",
        spends="faults.late",
        fault=True,
        says=lambda m, before, action, after: (
            "The coordinator waits no longer for an RPC of the truncate: it stays behind."
            if is_truncating(before, m.setting)
            else "A part of the stream stays behind in the network."
        ),
    )
    def leave_behind(self, s: ControlState) -> Next:
        """A part of the stream that runs, or an RPC of a truncate, stays behind in the network."""
        if not (s.attempted.streaming or is_truncating(s, self.setting)):
            return None
        if s.leftover:
            return LEFT_ALREADY
        return s.but(leftover=s.topology.session, leftover_at=NOBODY)

    def arrivals(self, s: ControlState) -> int:
        """Where the part that was left behind may arrive (a mask)."""
        on_its_way = s.leftover and s.leftover_at == NOBODY
        return s.topology.members & s.reachable if on_its_way else 0

    def late_work(self, before: ControlState, action: Any, after: ControlState) -> Travels:
        """From the network to the node that it reaches."""
        label = f"session {before.leftover}"
        ok = let_in(before, self.number(action.node), self.setting)
        said = f"network → {action.node}: late work of {label}{'' if ok else ' (refused)'}"
        yield Travel("data", NETWORK, self.spot(action.node), label, said)

    @action(
        kind="late",
        tag="late",
        each=arrivals,
        says=lambda m, before, action, after: (
            f"A late part of session {before.leftover} reaches {action.node}: it "
            + (
                "lets it in."
                if let_in(before, m.number(action.node), m.setting)
                else "knows no such session and refuses it."
            )
        ),
        travels=late_work,
    )
    def late_arrival(self, s: ControlState, node: Node) -> Next:
        """What was left behind reaches a node, with the permit of its session."""
        if let_in(s, node, self.setting):
            return s.but(leftover_at=node)
        return s.but(leftover=0, sealed=False)

    @action(kind="late", tag="end-late", verb="end leftover")
    def end_leftover(self, s: ControlState) -> Next:
        """What was let in late has run to its end."""
        if s.leftover_at == NOBODY:
            return None
        return s.but(leftover=0, leftover_at=NOBODY, sealed=False)
