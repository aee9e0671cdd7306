"""Exercises on rehearsals: whose death breaks a quorum, and who may leave at the same time."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import numpy as np

from kit.errors import KitError
from kit.lessons.judge import Arguments, FoundJudge, judged
from kit.lessons.tasks import Case, Marks, Task
from kit.operators.importers.opening import Imported
from kit.operators.importers.ringfile import RingFile, parse_ring
from kit.protocols.tcm.dry_run.history import dry_run_of, outcome
from kit.protocols.tcm.dry_run.running import model_for
from kit.protocols.tcm.facts import dry_run as dry_run_facts
from kit.protocols.tcm.rules.levels import levels, sharing
from kit.protocols.tcm.rules.operations import Operation
from kit.ring.replication import SimpleStrategy

MOST_NODES, FACTOR = 8, 3
LEAVERS = ("n1", "n2")


def must_not_die(groups: list[list[str]], down: list[str]) -> list[str]:
    """The nodes whose death takes QUORUM from a group, by the engine's own columns."""
    names = sorted({name for group in groups for name in group})
    width = max(len(group) for group in groups)
    rows = [[names.index(name) for name in group] + [-1] * (width - len(group)) for group in groups]
    dead = np.array([name in down for name in names], np.bool_)
    quorum = next(x for x in levels(np.array(rows, np.int32).T, {}, dead) if x.name == "QUORUM")
    nodes = np.arange(len(names), dtype=np.int32)
    units, _ = quorum.lost(sharing(quorum.alive, nodes, alone=True))
    return [names[code] for code in sorted(set(units.tolist()))]


def _some_cluster(chance: random.Random) -> Arguments:
    names = [f"n{i}" for i in range(1, 9)]
    groups = [chance.sample(names, chance.randint(1, 5)) for _ in range(5)]
    return [groups, sorted(chance.sample(names, chance.randint(0, 2)))]


def two_may_leave(text: str) -> Marks:
    """The ring has the form that is asked for, and its two nodes may leave at the same time."""
    given = parse_ring(text)
    wrong = _form(given)
    if wrong is not None:
        return Marks((Case(False, wrong), Case(False)))
    complaint = _apart(given, *LEAVERS)
    both = _apart(given, *reversed(LEAVERS)) is None
    return Marks(
        (Case(True), Case(complaint is None, complaint or "")), (both, both and _done(given))
    )


def _form(given: RingFile) -> str | None:
    nodes = given.ring.nodes
    if len(nodes) > MOST_NODES:
        return f"Your ring has {len(nodes)} nodes; at most {MOST_NODES}, please."
    if not set(LEAVERS) <= {node.name for node in nodes}:
        return f"Your ring lacks {' or '.join(LEAVERS)}."
    if any(len(node.tokens) != 1 for node in nodes):
        return "One token per node, please."
    if any(keyspace.replication == SimpleStrategy(FACTOR) for keyspace in given.keyspaces):
        return None
    return f"No keyspace keeps {FACTOR} replicas (SimpleStrategy)."


def _leave(name: str) -> Operation:
    return Operation("decommission", name)


def _apart(given: RingFile, first: str, second: str) -> str | None:
    """Why the second may not begin to leave once the first has."""
    model = model_for(given, (_leave(first), _leave(second)), begun=0)
    refused = [
        f"{planned.operation.title} is refused: {planned.refusal.reason}."
        for planned in dry_run_facts.planned(model, model.start())
        if planned.refusal is not None
    ]
    if refused:
        return refused[0]
    (pair,) = dry_run_facts.pairs(model, model.start())
    return None if pair.refusal is None else f"{pair.refusal.reason}."


def _done(given: RingFile) -> bool:
    """Whether both come to their end."""
    opened = Imported(given.epoch, given.ring, given.keyspaces)
    try:
        timeline = dry_run_of(opened, tuple(map(_leave, LEAVERS)))
    except KitError:
        return False
    return all(planned.status == "done" for planned in outcome(timeline))


def rings_of_two_leavers() -> Iterator[str]:
    """Rings in which the two stand ever further apart."""
    others = [f"n{i}" for i in range(1, MOST_NODES + 1) if f"n{i}" not in LEAVERS]
    for apart in range(MOST_NODES - 1):
        names = [LEAVERS[0], *others[:apart], LEAVERS[1], *others[apart:]]
        nodes = [{"name": name, "tokens": [100 * i]} for i, name in enumerate(names, 1)]
        replication = {"class": "SimpleStrategy", "replication_factor": FACTOR}
        yield json.dumps(
            {"nodes": nodes, "keyspaces": [{"name": "ks", "replication": replication}]}
        )


TASKS = (
    Task(
        "must-not-die",
        "who must not die next",
        "Write must_not_die(groups, down). `groups` are the replica groups of all ranges, each a "
        "list of nodes; `down` are nodes that are down already, and still count as replicas. Give "
        "the nodes, sorted by name, whose death would take QUORUM from a group that has it now.",
        "function",
        "a quorum is more than half of all replicas, dead ones included. Only a group that has "
        "just enough left can lose it; one that has too few now loses nothing more.",
        judged(
            "must_not_die",
            must_not_die,
            ([[["n1", "n2", "n3"], ["n3", "n4"]], []], [[["n1", "n2", "n3"], ["n4"]], ["n2"]]),
            _some_cluster,
        ),
        seeded=True,
    ),
    Task(
        "two-may-leave",
        "two leave at the same time",
        f"Give a ring of at most {MOST_NODES} nodes with one token each and a keyspace that keeps "
        f"{FACTOR} replicas (SimpleStrategy), in which {LEAVERS[0]} and {LEAVERS[1]} may leave at "
        f"the same time. The public cases are the form of the ring, and that {LEAVERS[0]} begins.",
        "ring",
        "a decommission locks every range that gets a new replica, and the node's own. Count from "
        "which predecessor to which range that reaches, then put the two as far apart as they go.",
        FoundJudge(two_may_leave, rings_of_two_leavers),
    ),
)
