"""Questions on the epoch protocol: barriers, groups, events, streams."""

from __future__ import annotations

from typing import Any

from kit.engine.runs import played_out
from kit.engine.timeline import Timeline
from kit.errors import KitError
from kit.lessons.questions import PosedQuestion, copied, listed
from kit.lessons.stills import still
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.awaited import StreamRow
from kit.protocols.tcm.lessons.clusters import cluster_of
from kit.protocols.tcm.rules.steps import EDITIONS, SENTENCES
from kit.views.question import Question


def barrier(timeline: Timeline) -> PosedQuestion:
    """How many replicas of a range must have applied the last epoch before the next step?

    It asks about the first range of the first operation under way.

    Raises:
        KitError: when no step waits for anybody.
    """
    m, s = cluster_of(timeline), timeline.state
    waiting = [(row, barrier_row) for row in facts.operations(m, s) for barrier_row in row.barriers]
    if not waiting:
        raise KitError("predict: no event waits at a barrier here")
    operation, row = waiting[0]
    coming = next(step.text for step in operation.steps if step.status == "next")
    where = f"{row.label} in {row.dc}" if row.dc else row.label
    counts = range(1, len(row.replicas) + 1)
    question = Question(
        f"Next event: {coming} ({operation.title}). The old and new replicas of {where} are "
        f"{listed(row.replicas)}. How many of them must have applied epoch {row.epoch} first?",
        tuple(str(n) for n in counts),
        (str(row.needed),),
        f"{row.needed} of {len(row.replicas)}: "
        + "; ".join(f"{n} applied, {_met(n, row.needed)}" for n in counts)
        + ".",
    )
    return PosedQuestion(question, still(timeline, "epochs"))


def _met(count: int, needed: int) -> str:
    return "the event may be committed" if count >= needed else "the event waits"


def readers(timeline: Timeline, token: int) -> PosedQuestion:
    """Which nodes answer reads of a token now?"""
    return _serving(timeline, token, "reads")


def writers(timeline: Timeline, token: int) -> PosedQuestion:
    """Which nodes get the writes of a token now?"""
    return _serving(timeline, token, "writes")


def _serving(timeline: Timeline, token: int, side: str) -> PosedQuestion:
    m, s = cluster_of(timeline), timeline.state
    row = facts.owners(m, s, token)
    group: tuple[str, ...] = getattr(row, side)
    question = Question(
        f"Epoch {facts.epoch(m, s)}. A key has token {token}. Which nodes are in the group that "
        f"{'answers its reads' if side == 'reads' else 'gets its writes'}?",
        tuple(node.name for node in facts.nodes(m, s)),
        group,
        f"Token {token} lies in {row.label}: {side} go to {listed(group)}.",
    )
    return PosedQuestion(question, still(timeline, "placements"))


def events(timeline: Timeline) -> PosedQuestion:
    """Which steps will the next operation commit, each in an epoch of its own?

    Raises:
        KitError: when no operation comes next.
    """
    m = cluster_of(timeline)
    ahead = copied(timeline)
    known = len(facts.log(m, ahead.state))
    played_out(ahead)
    log = facts.log(m, ahead.state)[known:]
    if not log:
        raise KitError("predict: no operation comes next here")
    ours = [line for line in log if line.operation == log[0].operation]
    offered = [SENTENCES[name] for name, _ in EDITIONS[m.parameters.edition]]
    texts = tuple(line.text for line in ours)
    question = Question(
        f"The operation: {log[0].operation}. Which of these events will it commit?",
        tuple(dict.fromkeys([*offered, *texts])),
        texts,
        "; ".join(f"epoch {line.epoch}: {line.text}" for line in ours) + ".",
    )
    return PosedQuestion(question, still(ahead, "log"))


def sources(timeline: Timeline) -> PosedQuestion:
    """From which nodes will the operation that is under way, or comes next, stream data?

    Raises:
        KitError: when none streams anything.
    """
    m = cluster_of(timeline)
    ahead = copied(timeline)
    while not _streams(m, ahead.state):
        if ahead.forward() is None:
            raise KitError("predict: nothing is streamed here")
    streams = _streams(m, ahead.state)
    names = tuple(dict.fromkeys(name for row in streams for name in row.sources))
    title = facts.operations(m, ahead.state)[0].title
    question = Question(
        f"The operation: {title}. Which nodes send data?",
        tuple(node.name for node in facts.nodes(m, ahead.state)),
        names,
        "; ".join(f"{r.label}: {listed(r.sources)} to {r.target}" for r in streams) + ".",
    )
    return PosedQuestion(question, still(ahead, "streams"))


def _streams(m: TcmCluster, s: Any) -> tuple[StreamRow, ...]:
    return tuple(row for operation in facts.operations(m, s) for row in operation.streams)
