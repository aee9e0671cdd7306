"""What no coordinator ever writes: why a content of ``system.topology`` cannot be.

Each is judged by the tables of the edition: a transition state is possible with a node's state
where the machine of that state has it. Sources: Topology over Raft, "Topology state machine",
"State transition diagram for nodes", "Zero-token nodes", "Topology state persistence table".
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kit.protocols.topology.rules.columns import SystemTopology, SystemTopologyRow
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import Edition
from kit.protocols.topology.rules.states import (
    CLEANUP_STATUSES,
    NODE_REQUESTS,
    NODE_STATE_OF,
    NODE_STATES,
    TRANSITION_STATE,
    transition_state,
)

IN_TRANSITION = tuple(NODE_STATE_OF.values())
OWNERLESS = ("none", "left")
"""The states of nodes that own no tokens."""

_WORDS: dict[str, tuple[str, ...]] = {
    "node_state": NODE_STATES,
    "topology_request": NODE_REQUESTS,
    "cleanup_status": CLEANUP_STATUSES,
}
UPGRADE_STATES = ("not_upgraded", "build_coordinator_state", "done")
"""The words of column ``upgrade_state`` in their order."""

_ASKED_IN = {
    "join": "none",
    "replace": "none",
    "leave": "normal",
    "remove": "normal",
    "rebuild": "normal",
}
_IN_TRANSITION_FOR: dict[str, str] = dict(NODE_STATE_OF.items())


class Impossible(Struct, frozen=True):
    """A cell that cannot be so: its column, whose row it is in ("" for static ones), its value.

    ``allowed`` says what could stand there.
    """

    column: str
    host: str
    value: object
    allowed: str


def impossible(table: SystemTopology, edition: Edition) -> Iterator[Impossible]:
    """Every cell that cannot be so, those first that the others rest on."""
    for row in table.rows:
        yield from _unknown_words(row)
    if table.upgrade_state not in (None, *UPGRADE_STATES):
        yield Impossible("upgrade_state", "", table.upgrade_state, ", ".join(UPGRADE_STATES))
    yield from _versions(table)
    moving = [row for row in table.rows if row.node_state in IN_TRANSITION]
    for row in moving[1:]:
        first = moving[0]
        allowed = f"one node in transition at a time; {first.host_id} is {first.node_state}"
        yield Impossible("node_state", row.host_id, row.node_state, allowed)
    yield from _transition(table, moving[0] if moving else None, edition)
    yield from _tokens(table)
    hosts = {row.host_id for row in table.rows}
    for row in table.rows:
        yield from _request(row)
        replaces = row.node_state == "replacing" or row.topology_request == "replace"
        if replaces and row.replaced_id not in hosts:
            allowed = "the host id of another node of this table, which this one replaces"
            yield Impossible("replaced_id", row.host_id, row.replaced_id, allowed)
    yield from _ids(table)


def _unknown_words(row: SystemTopologyRow) -> Iterator[Impossible]:
    for column, words in _WORDS.items():
        value: str | None = getattr(row, column)
        if value not in words and (value is not None or column == "node_state"):
            yield Impossible(column, row.host_id, value, ", ".join(words))


def _versions(table: SystemTopology) -> Iterator[Impossible]:
    """The fence follows the version."""
    version, fence = table.version, table.fence_version
    if version is None or version < 1:
        yield Impossible("version", "", version, "a number from 1 on")
    elif fence is None or not 0 <= fence <= version:
        yield Impossible("fence_version", "", fence, f"0 to the version, {version}")


def _transition(
    table: SystemTopology, moving: SystemTopologyRow | None, edition: Edition
) -> Iterator[Impossible]:
    """The transition state goes with the state of the node in transition."""
    given = table.transition_state or ""
    state = transition_state(given)
    if given and state is None:
        yield Impossible("transition_state", "", given, ", ".join(TRANSITION_STATE))
        return
    name = state.name if state else ""
    possible = set(_states_with(moving, edition))
    if (state is None or state.played) and name not in possible:
        who = f"{moving.host_id} {moving.node_state}" if moving else "no node in transition"
        words = ", ".join(sorted(possible - {""})) + (" or null" if "" in possible else "")
        words = words.removeprefix(" or ")
        other = "" if moving is None else _elsewhere(moving, name, edition)
        yield Impossible("transition_state", "", given or None, f"with {who}: {words}{other}")


def _states_with(moving: SystemTopologyRow | None, edition: Edition) -> Iterator[str]:
    """The transition states that are possible; "" stands for null."""
    machines = MACHINES[edition]
    if moving is None:
        yield ""
        for name in ("new_cdc_generation", "tablets", "lock", "truncate_table"):
            yield from (state.name for state in machines[name].states)
        return
    for machine in (f"{moving.node_state}", f"{moving.node_state}_zero_token"):
        if machine in machines:
            yield from (state.name for state in machines[machine].states)


def _elsewhere(moving: SystemTopologyRow, name: str, edition: Edition) -> str:
    """A word on the other edition, where that one has the state."""
    other: Edition = "documents" if edition == "server" else "server"
    return f" (edition {other} has it)" if name in set(_states_with(moving, other)) else ""


def _tokens(table: SystemTopology) -> Iterator[Impossible]:
    """Who owns tokens, and that each has one owner; a node that replaces holds the other's."""
    owners: dict[str, SystemTopologyRow] = {}
    for row in table.rows:
        if row.tokens and row.node_state in OWNERLESS:
            allowed = f"no tokens, since the node is {row.node_state}"
            yield Impossible("tokens", row.host_id, _few(row.tokens), allowed)
        for token in row.tokens:
            other = owners.setdefault(token, row)
            if other is not row and not _replaces(row, other) and not _replaces(other, row):
                allowed = f"each token with one node; {other.host_id} has it"
                yield Impossible("tokens", row.host_id, token, allowed)
                break


def _replaces(row: SystemTopologyRow, other: SystemTopologyRow) -> bool:
    return row.node_state == "replacing" and row.replaced_id == other.host_id


def _few(tokens: tuple[str, ...]) -> str:
    return ", ".join(tokens[:3]) + (" …" if len(tokens) > 3 else "")


def _request(row: SystemTopologyRow) -> Iterator[Impossible]:
    """A pending request belongs to a node that may ask for it.

    A node in transition may still show the request that it is in transition for.
    """
    request = row.topology_request
    if request is None or request not in _ASKED_IN:
        return
    if row.node_state in (_ASKED_IN[request], _IN_TRANSITION_FOR[request]):
        return
    allowed = f"null for a node that is {row.node_state}; a {request} is asked for in "
    yield Impossible("topology_request", row.host_id, request, allowed + _ASKED_IN[request])


def _ids(table: SystemTopology) -> Iterator[Impossible]:
    """A request that is not done is of one node."""
    owners: dict[str, str] = {}
    for row in table.rows:
        is_pending = row.topology_request or row.node_state in IN_TRANSITION
        if not is_pending or not row.request_id:
            continue
        owner = owners.setdefault(row.request_id, row.host_id)
        if owner != row.host_id:
            allowed = f"the id of a request of its own; {owner} has this one"
            yield Impossible("request_id", row.host_id, row.request_id, allowed)
