"""What the coordinator is at: the queue with reasons, the barrier node by node, the badges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kit.errors import counted
from kit.protocols.topology.facts import moment as facts
from kit.protocols.topology.facts.moment import BarrierFacts, NodeFacts
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.rules.queue import QueueEntry
from kit.views.alike import ToldApart, draw_others, others_lines, told_apart
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import badge, badges, bulb, heads, scroll

STANDINGS = {"running": "▶", "next": "→", "waits": "…", "paused": "‖", "cancelled": "✕"}
"""A sign for each standing, beside its word."""


def draw_queue(scene: Scene) -> Frag:
    """Draw the requests that are not done, in the order in which they are taken."""
    m = scene.model
    entries = facts.entries(m, scene.state)
    if not entries:
        return h("p", "The queue is empty.", k="no-queue", class_="soft")
    return scroll(
        "queue",
        h(
            "table",
            h("caption", "Requests that are not done, and why each stands where it stands"),
            heads("request", "parameter", "stands", "why"),
            h("tbody", [_entry(scene, entry) for entry in entries]),
        ),
    )


def _entry(scene: Scene, entry: QueueEntry) -> Frag:
    m = scene.model
    waits = ", ".join(m.named(entry.waits_for))
    return h(
        "tr",
        h(
            "th",
            facts.title(m, entry),
            scope="row",
            data_of=None if entry.node == NOBODY else m.names[entry.node],
        ),
        h("td", facts.parameter(m, scene.state, entry)),
        h("td", h("span", STANDINGS[entry.standing], aria_hidden="true"), f" {entry.standing}"),
        h("td", entry.reason, f": {waits}" if waits else None),
        k=f"request:{entry.number}",
    )


def queue_text(scene: Scene) -> str:
    """Write the queue, a line for each request."""
    m = scene.model
    lines = []
    for entry in facts.entries(m, scene.state):
        waits = f": {', '.join(m.named(entry.waits_for))}" if entry.waits_for else ""
        reason = f" ({entry.reason}{waits})" if entry.reason else ""
        words = filter(None, (facts.title(m, entry), facts.parameter(m, scene.state, entry)))
        lines.append(f"  {', '.join(words)}: {entry.standing}{reason}")
    return "\n".join(lines) or "  the queue is empty"


def draw_barrier(scene: Scene) -> Frag:
    """Draw what each node has applied, what still runs there, and whether it has answered."""
    m, s = scene.model, scene.state
    runs = facts.barrier(m, s)
    answers = _answers(runs)
    rows = _told_apart(scene, answers)
    return scroll(
        "barrier",
        h(
            "table",
            h("caption", _caption(runs)),
            heads("node", "applied", "requests in flight", "sessions", "answer"),
            h("tbody", [_node(scene, node, answers) for node in rows.listed]),
        ),
        draw_others(rows.others),
    )


Answers = Mapping[str, tuple[str, str]]
"""A node's answer as a sign and in words; of who is not asked there is none."""


def _answers(runs: BarrierFacts | None) -> Answers:
    if runs is None:
        return {}
    waits = {name: ("…", why or "not yet") for name, why in runs.refused}
    return waits | dict.fromkeys(runs.answered, ("✓", "answered"))


def _told_apart(scene: Scene, answers: Answers) -> ToldApart[NodeFacts, tuple[str, ...]]:
    """The members, each with what it has applied, what runs there, and its answer."""
    members = [node for node in facts.nodes(scene.model, scene.state) if node.is_member]
    return told_apart(
        members, lambda node: _words(scene, node, answers), lambda node: node.is_coordinator
    )


def _words(scene: Scene, node: NodeFacts, answers: Answers) -> tuple[str, ...]:
    sessions = (f"session {each}" for each in _sessions(scene, node))
    parts = [f"version {node.version}", *_in_flight(scene, node), *sessions]
    return (*parts, _answer(node, answers)[1])


def _caption(runs: BarrierFacts | None) -> str:
    if runs is None:
        return "No barrier runs"
    return f"{runs.command}: {len(runs.answered)} of {len(runs.needs)} have answered"


def _node(scene: Scene, node: NodeFacts, answers: Answers) -> Frag:
    sign, words = _answer(node, answers)
    lit = bulb(sign, words) if sign else None
    return h(
        "tr",
        h("th", node.name, scope="row", data_of=node.name),
        h("td", f"version {node.version}"),
        h("td", ", ".join(_in_flight(scene, node)) or "–"),
        h("td", ", ".join(_sessions(scene, node)) or "–"),
        h("td", h("span", lit, f" {words}", class_=None if sign else "soft")),
        k=f"barrier:{node.name}",
    )


def _in_flight(scene: Scene, node: NodeFacts) -> Iterator[str]:
    m, s = scene.model, scene.state
    if s.client != NOBODY and m.names[s.client] == node.name:
        yield f"1 request by version {s.client_version}"


def _sessions(scene: Scene, node: NodeFacts) -> Iterator[str]:
    """The open one, and the guards that are held of it; those of late work of another."""
    m, s = scene.model, scene.state
    held = dict(facts.guards(m, s, m.number[node.name]))
    if node.session:
        yield f"{node.session} open{_guards(held.pop(node.session, 0))}"
    for session, number in held.items():
        yield f"{session} closed{_guards(number)}"


def _guards(number: int) -> str:
    return f", {counted(number, 'guard')}" if number else ""


def _answer(node: NodeFacts, answers: Answers) -> tuple[str, str]:
    return answers.get(node.name, ("", "not asked"))


def barrier_text(scene: Scene) -> str:
    """Write the barrier, a line for each node."""
    m, s = scene.model, scene.state
    runs = facts.barrier(m, s)
    lines = [f"  {_caption(runs)}"]
    answers = _answers(runs)
    rows = _told_apart(scene, answers)
    for node in rows.listed:
        *parts, answer = _words(scene, node, answers)
        lines.append(f"  {node.name}: {', '.join(parts)}; {answer}")
    return "\n".join([*lines, *(f"  {line}" for line in others_lines(rows.others))])


def draw_badges(scene: Scene) -> Frag:
    """Draw version, fence, head of the queue, and the barrier's count."""
    m, s = scene.model, scene.state
    topology, entries, runs = s.topology, facts.entries(m, s), facts.barrier(m, s)
    behind = topology.fence_version < topology.version
    return badges(
        topology.version,
        badge("fence", f"fence {topology.fence_version}", "busy" if behind else ""),
        badge("session", f"session {topology.session}", "busy") if topology.session else None,
        badge("queue", _head(scene, entries)),
        badge("barrier", f"barrier {len(runs.answered)}/{len(runs.needs)}", "busy")
        if runs
        else None,
        badge("coordinator", "! no coordinator", "broken") if s.coordinator == NOBODY else None,
        counts="version",
    )


def _head(scene: Scene, entries: tuple[QueueEntry, ...]) -> str:
    if not entries:
        return "queue empty"
    head = entries[0]
    more = f" +{len(entries) - 1}" if len(entries) > 1 else ""
    return f"{STANDINGS[head.standing]} {facts.title(scene.model, head)}{more}"


def badges_text(scene: Scene) -> str:
    """Write the badges as one line."""
    m, s = scene.model, scene.state
    topology, runs = s.topology, facts.barrier(m, s)
    parts = [
        f"version {topology.version}",
        f"fence {topology.fence_version}",
        *([f"session {topology.session}"] if topology.session else []),
        _head(scene, facts.entries(m, s)),
    ]
    if runs:
        parts.append(f"barrier {len(runs.answered)} of {len(runs.needs)}")
    return ", ".join(parts)


QUEUE = Panel("queue", "Request queue", draw_queue, queue_text, tab="Queue")
BARRIER = Panel("barrier", "Barrier by node", draw_barrier, barrier_text, tab="Barrier")
BADGES = Panel("badges", "Status", draw_badges, badges_text, still=True)
