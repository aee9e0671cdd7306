"""What the coordinator is at: the queue with reasons, the barrier node by node, the badges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kit.errors import counted
from kit.protocols.topology.facts import moment as facts
from kit.protocols.topology.facts.moment import BarrierFacts, NodeFacts
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.rules.queue import QueueEntry
from kit.views.declared import Alike, Badges, Column, Table, panel_of, status
from kit.views.fragment import Frag, Kid, h
from kit.views.panel import Scene
from kit.views.parts import bulb

STANDINGS = {"running": "▶", "next": "→", "waits": "…", "paused": "‖", "cancelled": "✕"}
"""A sign for each standing, beside its word."""


# -- the requests that are not done, in the order in which they are taken --------------------------


def _queue(scene: Scene) -> Iterator[tuple[str, str, list[Kid], str, QueueEntry, str]]:
    """Title, parameter, how it stands, why; the request itself, and the node that it is about."""
    m = scene.model
    for entry in facts.entries(m, scene.state):
        stands: list[Kid] = [
            h("span", STANDINGS[entry.standing], aria_hidden="true"),
            f" {entry.standing}",
        ]
        waits = f": {', '.join(m.named(entry.waits_for))}" if entry.waits_for else ""
        about = "" if entry.node == NOBODY else str(m.names[entry.node])
        parameter = facts.parameter(m, scene.state, entry)
        yield facts.title(m, entry), parameter, stands, f"{entry.reason}{waits}", entry, about


def _request(row: tuple[str, str, list[Kid], str, QueueEntry, str]) -> str:
    title, parameter, _, why, entry, _ = row
    reason = f" ({why})" if entry.reason else ""
    return f"{', '.join(filter(None, (title, parameter)))}: {entry.standing}{reason}"


# -- the barrier: what each node has applied, what still runs there, whether it has answered -------

Answers = Mapping[str, tuple[str, str]]
"""A node's answer as a sign and in words; of who is not asked there is none."""
Asked = tuple[NodeFacts, str, str, tuple[str, ...], tuple[str, str]]
"""A member, its version, its requests in flight, its sessions, and its answer."""


def _answers(runs: BarrierFacts | None) -> Answers:
    if runs is None:
        return {}
    waits = {name: ("…", why or "not yet") for name, why in runs.refused}
    return waits | dict.fromkeys(runs.answered, ("✓", "answered"))


def _asked(scene: Scene) -> Iterator[Asked]:
    answers = _answers(scene.of(facts.barrier))
    for node in scene.of(facts.nodes):
        if node.is_member:
            yield (
                *(node, f"version {node.version}", ", ".join(_in_flight(scene, node))),
                *(tuple(_sessions(scene, node)), answers.get(node.name, ("", "not asked"))),
            )


def _in_flight(scene: Scene, node: NodeFacts) -> Iterator[str]:
    m, s = scene.model, scene.state
    if s.client != NOBODY and m.names[s.client] == node.name:
        yield f"1 request by version {s.client_version}"


def _sessions(scene: Scene, node: NodeFacts) -> Iterator[str]:
    """The open one, and the guards that are held of it; those of late work of another."""
    m, s = scene.model, scene.state
    held = dict(facts.guards(m, s, m.number(node.name)))
    if node.session:
        yield f"{node.session} open{_guards(held.pop(node.session, 0))}"
    for session, number in held.items():
        yield f"{session} closed{_guards(number)}"


def _guards(number: int) -> str:
    return f", {counted(number, 'guard')}" if number else ""


def _answer(row: Asked) -> Frag:
    sign, words = row[4]
    lit = bulb(sign, words) if sign else None
    return h("span", lit, f" {words}", class_=None if sign else "soft")


def _look(row: Asked) -> tuple[str, ...]:
    _, version, in_flight, sessions, (_, answer) = row
    return version, in_flight, *(f"session {each}" for each in sessions), answer


def _node(row: Asked) -> str:
    *parts, answer = filter(None, _look(row))
    return f"{row[0].name}: {', '.join(parts)}; {answer}"


def _caption(scene: Scene) -> str:
    runs = scene.of(facts.barrier)
    if runs is None:
        return "No barrier runs"
    return f"{runs.command}: {len(runs.answered)} of {len(runs.needs)} have answered"


# -- badges ----------------------------------------------------------------------------------------


def _badges(scene: Scene) -> Badges:
    """Version, fence, head of the queue, and the barrier's count."""
    s, runs = scene.state, scene.of(facts.barrier)
    topology = s.topology
    yield "version", f"version {topology.version}", "plain"
    behind = topology.fence_version < topology.version
    yield "fence", f"fence {topology.fence_version}", "busy" if behind else ""
    yield "session", f"session {topology.session}" if topology.session else "", "busy"
    yield "queue", _head(scene, scene.of(facts.entries)), ""
    yield "barrier", f"barrier {len(runs.answered)}/{len(runs.needs)}" if runs else "", "busy"
    yield "coordinator", "! no coordinator" if s.coordinator == NOBODY else "", "broken"


def _head(scene: Scene, entries: tuple[QueueEntry, ...]) -> str:
    if not entries:
        return "queue empty"
    head = entries[0]
    more = f" +{len(entries) - 1}" if len(entries) > 1 else ""
    return f"{STANDINGS[head.standing]} {facts.title(scene.model, head)}{more}"


def _status(scene: Scene) -> str:
    """Write the badges as one line."""
    topology, runs = scene.state.topology, scene.of(facts.barrier)
    parts = [
        f"version {topology.version}",
        f"fence {topology.fence_version}",
        f"session {topology.session}" if topology.session else "",
        _head(scene, scene.of(facts.entries)),
        f"barrier {len(runs.answered)} of {len(runs.needs)}" if runs else "",
    ]
    return ", ".join(filter(None, parts))


BADGES = status(_badges, "badges", _status)
QUEUE = panel_of(
    "queue",
    "Request queue",
    Table(
        _queue,
        "request:{0[4].number}",
        (
            "request",
            Column("parameter", lambda row: row[1], none=""),
            "stands",
            Column("why", lambda row: row[3], none=""),
        ),
        caption="Requests that are not done, and why each stands where it stands",
        of="{0[5]}",
        line=_request,
        empty="The queue is empty.",
    ),
    tab="Queue",
)
BARRIER = panel_of(
    "barrier",
    "Barrier by node",
    Table(
        _asked,
        "barrier:{0[0].name}",
        (
            Column("node", lambda row: row[0].name),
            "applied",
            "requests in flight",
            "sessions",
            Column("answer", _answer),
        ),
        caption=_caption,
        of="{0[0].name}",
        line=_node,
        titled=True,
        alike=Alike(_look, lambda scene, row: row[0].is_coordinator),
    ),
    tab="Barrier",
)
