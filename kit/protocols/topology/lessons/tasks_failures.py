"""Exercises on what fails halfway: a takeover, a fence that holds, a stream that comes too late."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from kit.engine.timeline import Timeline
from kit.lessons.replays import Ground
from kit.lessons.replays import judged as replayed
from kit.lessons.tasks import Task
from kit.protocols.topology import topology as act
from kit.protocols.topology.control import ControlState
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.serving import let_in, served


def _steps(timeline: Timeline) -> Iterator[tuple[ControlState, Any, ControlState]]:
    """The steps of the run: the state before, the action, the state after."""
    moments = [timeline.moments[at] for at in timeline.path()]
    for before, moment in pairwise(moments):
        yield before.state, moment.action, moment.state


def coordinator_died(timeline: Timeline) -> str | None:
    """The goal that the coordinator crashed while the newcomer was streaming."""
    m: Any = timeline.model
    for before, action, _ in _steps(timeline):
        kills = isinstance(action, act.CrashMember) and m.number(action.node) == before.coordinator
        if kills and before.attempted.streaming:
            return None
    return "In your run no coordinator dies while a stream runs."


def ended_under_another(timeline: Timeline) -> str | None:
    """The goal that every node is normal and up at the end, under another coordinator."""
    first, s = timeline.moments[0].state, timeline.state
    if s.topology.transition or any(entry.state != "normal" for entry in s.topology.nodes):
        return "At the end of your run not every node is normal, or something is under way."
    if s.coordinator in (NOBODY, first.coordinator):
        return "At the end of your run the coordinator is the one that it was at first, or none."
    return None


def fence_refused(timeline: Timeline) -> str | None:
    """The goal that a replica refused a client's request that was below its fence."""
    m: Any = timeline.model
    for before, action, _ in _steps(timeline):
        serves = isinstance(action, act.ServeRequest)
        if serves and not served(before, m.number(action.replica), m.setting):
            return None
    return "In your run no replica refuses a request."


def has_left(timeline: Timeline) -> str | None:
    """The goal that the node that was asked to leave has left at the end."""
    m: Any = timeline.model
    entry = timeline.state.topology.nodes[m.plan.requests[0].node]
    return None if entry.state == "left" else "At the end of your run B has not left."


def _fates(timeline: Timeline) -> list[bool]:
    """Of each late part of a stream, whether it was let in where it came."""
    m: Any = timeline.model
    return [
        let_in(before, m.number(action.node), m.setting)
        for before, action, _ in _steps(timeline)
        if isinstance(action, act.LateArrival)
    ]


def one_let_in(timeline: Timeline) -> str | None:
    """The goal that a late part was let in."""
    return None if True in _fates(timeline) else "In your run no late part of a stream was let in."


def one_refused(timeline: Timeline) -> str | None:
    """The goal that a late part was refused."""
    if False in _fates(timeline):
        return None
    return "In your run no late part of a stream was refused."


GROUNDS = {
    "take-over": Ground("topology", {"operations": ("join D",), "crashes": 1}),
    "below-the-fence": Ground(
        "topology", {"nodes": 4, "operations": ("leave B",), "cuts": 1, "clients": 1}
    ),
    "two-late-parts": Ground("topology", {"operations": ("join D",), "late": 2, "failures": 1}),
}
TASKS = (
    Task(
        "take-over",
        "somebody takes over",
        "A member may die once. Give a run, as verbs or as a Player, in which the coordinator dies "
        "while D is streaming, and in the end every node is normal, under another coordinator.",
        "verbs",
        "the barrier needs the dead member as well. Restart it before you let the barrier fail.",
        replayed(GROUNDS["take-over"], (coordinator_died, ended_under_another)),
    ),
    Task(
        "below-the-fence",
        "below the fence",
        "B leaves; a member may be cut off once, and a client comes. Give a run, as verbs or as a "
        "Player, in which a replica refuses the client's request, and B has left at the end.",
        "verbs",
        "cut a node off before it hears of the new version, and let the client's request begin "
        "there. Give the barrier's drain up, so that the fence is committed. Then reconnect.",
        replayed(GROUNDS["below-the-fence"], (fence_refused, has_left)),
    ),
    Task(
        "two-late-parts",
        "two late parts",
        "Two parts of streams may stay behind, and one step may fail. Give a run, as verbs or as a "
        "Player, in which one late part is let in and another one is refused.",
        "verbs",
        "what arrives while its session is open is let in; let it run to its end. Leave another "
        "part behind, and let the stream fail; the session is closed with the next command.",
        replayed(GROUNDS["two-late-parts"], (one_let_in, one_refused)),
    ),
)
