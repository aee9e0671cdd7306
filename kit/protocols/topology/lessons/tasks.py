"""Exercises on the coordinator: a way back, a change of the coordinator, who must be up."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

from kit.engine.timeline import Timeline
from kit.lessons.judge import Arguments, judged
from kit.lessons.replays import Ground
from kit.lessons.replays import judged as replayed
from kit.lessons.tasks import Task
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology import topology as act
from kit.protocols.topology.rules.cluster import ClusterTopology, NodeEntry, RequestEntry
from kit.protocols.topology.rules.queue import queue
from kit.protocols.topology.rules.safeguards import Setting

NAMES = "ABCDE"
KINDS = ("join", "leave", "remove", "replace", "rebuild")


def rolled_back(timeline: Timeline) -> str | None:
    """The goal that the join was accepted, then rolled back, and that the node has left."""
    states = [timeline.moments[moment].state.topology for moment in timeline.path()]
    last = states[-1]
    if not any(entry.state == "bootstrapping" for s in states for entry in s.nodes):
        return "No node of your run was ever bootstrapping."
    if not any(s.transition == "left_token_ring" for s in states):
        return "Your run never went through left_token_ring."
    if last.transition or all(entry.state != "left" for entry in last.nodes):
        return "At the end of your run no node has left, or something is still under way."
    return None


def two_coordinators(timeline: Timeline) -> str | None:
    """The goal that an old coordinator's command came too late, and that the join ended well."""
    path = timeline.path()
    stale = [
        timeline.moments[moment]
        for was, moment in pairwise(path)
        if isinstance(timeline.moments[moment].action, act.CommitDeposed)
        and timeline.moments[moment].state.state_id == timeline.moments[was].state.state_id
    ]
    if not stale:
        return "No command of an earlier coordinator was committed without effect in your run."
    last = timeline.moments[path[-1]].state.topology
    done = all(entry.state == "normal" for entry in last.nodes) and not last.transition
    return None if done else "At the end of your run not every node is normal."


def may_begin(kind: str, node: str, other: str, down: list[str], ignored: list[str]) -> bool:
    """Whether a request may begin with these nodes down, in a cluster of A to E.

    ``other`` is the node that is replaced. The truth is the coordinator's own queue.
    """
    names = [*NAMES, "X"]
    joins = kind in ("join", "replace")
    subject = names.index("X") if joins else names.index(node)
    request = NodeEntry(
        state="none" if joins else "normal",
        tokens=not joins,
        request=kind,
        request_id=1,
        replaced=names.index(other) if kind == "replace" else -1,
    )
    nodes = [NodeEntry(state="normal", tokens=True)] * len(NAMES) + [NodeEntry()]
    nodes[subject] = request
    topology = ClusterTopology(
        nodes=tuple(nodes),
        ignored=sum(1 << names.index(name) for name in ignored),
        requests=(RequestEntry(kind, subject),),
        members=(1 << len(NAMES)) - 1,
    )
    alive = (1 << len(names)) - 1 & ~sum(1 << names.index(name) for name in down)
    (entry,) = queue(topology, alive, Setting("server"))
    return not any(nodes_in(entry.waits_for)) and entry.standing == "next"


def _drawn(chance: random.Random) -> Arguments:
    kind = chance.choice(KINDS)
    node, other = chance.sample(NAMES, 2)
    down = sorted(chance.sample(NAMES, chance.randint(0, 2)))
    if kind in ("remove", "replace"):
        down = sorted({*down, node if kind == "remove" else other})
    ignored = sorted(chance.sample(NAMES, chance.randint(0, 2)))
    return [kind, "X" if kind in ("join", "replace") else node, other, down, ignored]


_FAULTY: dict[str, Any] = {"operations": ("join D",), "failures": 1}
_CHANGING: dict[str, Any] = {"operations": ("join D",), "changes": 2}

TASKS = (
    Task(
        "roll-it-back",
        "a join that does not end well",
        "One piece of work may fail. Give a run, as verbs or as a Player, in which D begins to "
        "bootstrap, is rolled back, and has left at the end.",
        "verbs",
        "let the work of a state fail for which the table has a rollback; then go on to the end. "
        "In write_both_read_new it is too late.",
        replayed(Ground("topology", _FAULTY), (rolled_back,)),
    ),
    Task(
        "too-late",
        "the command of somebody who was deposed",
        "A coordinator may be deposed twice. Give a run, as verbs or as a Player, in which one has "
        "decided, another one takes over and commits first, the old command comes late and has no "
        "effect, and D is normal at the end.",
        "verbs",
        "elect another one between decide and commit, let it begin, and then commit deposed.",
        replayed(Ground("topology", _CHANGING), (two_coordinators,)),
    ),
    Task(
        "may-begin",
        "who must be up",
        "Write may_begin(kind, node, other, down, ignored): a request in a cluster of A to E, "
        "whose nodes are all normal. X joins, or replaces `other`; join, leave, remove, replace "
        "and rebuild. `down` and `ignored` are lists of names. True when the request may begin.",
        "function",
        "a join or a leave needs every normal node. A removal or a replace passes over the "
        "ignored ones and over the node that goes. A rebuild needs its own node alone.",
        judged(
            "may_begin",
            may_begin,
            (
                ["join", "X", "A", ["B"], []],
                ["remove", "C", "A", ["C"], []],
                ["remove", "C", "A", ["B", "C"], ["B"]],
                ["rebuild", "A", "B", ["B"], []],
            ),
            _drawn,
        ),
        seeded=True,
    ),
)
