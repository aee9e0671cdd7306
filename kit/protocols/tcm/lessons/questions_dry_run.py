"""Questions on a dry run: who sends most, who must not die, which two operations go together."""

from __future__ import annotations

from kit.engine.registry import one_of
from kit.engine.timeline import Timeline
from kit.errors import BadInput, KitError, counted
from kit.lessons.questions import PosedQuestion
from kit.lessons.stills import still
from kit.protocols.tcm.dry_run.history import opening_state
from kit.protocols.tcm.facts import dry_run as dry_run_facts
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.dry_run import OperationPair
from kit.protocols.tcm.lessons.clusters import cluster_of
from kit.views.parts import volume
from kit.views.question import Question


def busiest(timeline: Timeline) -> PosedQuestion:
    """Which node sends the most, of all that the operations begun so far copy?

    Raises:
        KitError: when nothing is copied.
    """
    m, s = cluster_of(timeline), timeline.state
    loads = [load for load in dry_run_facts.traffic(m, s) if load.sends]
    if not loads:
        raise KitError("predict: nothing is copied here")
    most = max((load.sends_bytes or 0, load.sends) for load in loads)
    right = tuple(load.node for load in loads if ((load.sends_bytes or 0), load.sends) == most)
    question = Question(
        "Which node sends the most, of all that has to be copied?",
        tuple(node.name for node in facts.nodes(m, s)),
        right,
        "; ".join(
            f"{load.node} sends {volume(load.sends_bytes)} in {counted(load.sends, 'stream')}"
            for load in loads[:6]
        )
        + ".",
    )
    return PosedQuestion(question, still(timeline, "traffic"))


def victims(timeline: Timeline, level: str) -> PosedQuestion:
    """Whose death, in this step, would take a quorum of a level from some range?

    ``level`` is ``QUORUM``, or ``LOCAL_QUORUM`` and a datacenter.

    Raises:
        BadInput: for a level that no keyspace has.
    """
    m, s = cluster_of(timeline), timeline.state
    lost = dry_run_facts.losses(m, s)
    known = tuple(dict.fromkeys(loss.level for loss in lost))
    if level not in known:
        raise BadInput("level", level, one_of(level, list(known)))
    counts: dict[str, int] = {}
    for loss in lost:
        if loss.level == level:
            for name, ranges in loss.nodes:
                counts[name] = max(counts.get(name, 0), ranges)
    order = [node.name for node in facts.nodes(m, s) if node.up]
    counted_nodes = ", ".join(f"{n} ({counted(counts[n], 'range')})" for n in order if n in counts)
    question = Question(
        f"Epoch {facts.epoch(m, s)}. One more node dies. Whose death "
        f"takes {level} from some range?",
        tuple(order),
        tuple(name for name in order if name in counts),
        f"{level} breaks with {counted_nodes}."
        if counted_nodes
        else f"{level} breaks with no single node.",
    )
    return PosedQuestion(question, still(timeline, "deaths"))


def at_once(timeline: Timeline) -> PosedQuestion:
    """Which two of the planned operations may be under way at once?

    Raises:
        KitError: when there are not two that may begin.
    """
    m = cluster_of(timeline)
    pairs = dry_run_facts.pairs(m, opening_state(timeline))
    if not pairs:
        raise KitError("predict: there are not two operations here that may begin")
    question = Question(
        "Which two may be under way at once?",
        tuple(map(_title, pairs)),
        tuple(_title(pair) for pair in pairs if pair.refusal is None),
        " ".join(f"{_title(pair)}: {_why(pair)}." for pair in pairs),
    )
    return PosedQuestion(question)


def _title(pair: OperationPair) -> str:
    return f"{pair.first.title} and {pair.second.title}"


def _why(pair: OperationPair) -> str:
    if pair.refusal is None:
        return "yes, they lock no range in common"
    return f"no, {(pair.refusal.evidence or (pair.refusal.reason,))[0]}"
