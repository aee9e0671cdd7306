"""The barrier of tablets node by node: who goes by which stages, who has answered.

Without it (parameter ``answering``) every node has applied a stage once its barrier has passed, in
one step. With it nodes apply in steps of their own, at most one stage apart: stages that read and
write the same replicas count as one.
Source: Topology over Raft, "Shard assignment stability".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.engine.model import Property, Rule, always
from kit.errors import Refusal
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.tablets.rules.replica_sets import Replicas
from kit.protocols.tablets.tracks import actions as act
from kit.protocols.tablets.tracks import working
from kit.protocols.tablets.tracks.coordinating import busy
from kit.protocols.tablets.tracks.planning import excluded_nodes
from kit.protocols.tablets.tracks.state import SelectedReplicas, TabletRow, TracksState, same_stages

if TYPE_CHECKING:
    from kit.protocols.tablets.tracks.model import Tracks


ONE_STAGE = "Nodes are one stage apart at most; stages with equal selectors count as one"


def selected(model: Tracks, s: TracksState) -> SelectedReplicas:
    """The replicas of each tablet that requests read, and those that they write, by its stage."""
    return tuple(_selected(model, row) for row in s.tablets)


def _selected(model: Tracks, row: TabletRow) -> tuple[Replicas, Replicas]:
    if not row.transitions:
        both = tuple(sorted(row.replicas))
        return both, both
    transition = row.transitions[0]
    stage, sets = model.table(transition).state(transition.stage), transition.sets
    return tuple(sorted(sets.chosen(stage.reads))), tuple(sorted(sets.chosen(stage.writes)))


def begun(model: Tracks, s: TracksState) -> TracksState:
    """The first state: every node goes by the stages that there are."""
    return replace(s, views=(selected(model, s),), applied=(0,) * len(model.names))


def followed(model: Tracks, before: TracksState, s: TracksState) -> TracksState:
    """The state after a step: a new view where selectors changed, none that nobody goes by.

    Answers count for the stages that they were given for. Who is down applies all when it is back.
    """
    if not same_stages(before, s) or before.control.coordinator != s.control.coordinator:
        s = replace(s, answered=0)
    now = selected(model, s)
    if s.views[-1] != now:
        s = replace(s, views=(*s.views, now))
    away = ~s.control.reachable | ~s.control.topology.members
    newest = len(s.views) - 1
    applied = tuple(newest if away >> i & 1 else at for i, at in enumerate(s.applied))
    oldest = min(applied)
    return replace(s, views=s.views[oldest:], applied=tuple(at - oldest for at in applied))


def caught_up(s: TracksState, node: int) -> TracksState:
    """The state once a node has applied all stages."""
    applied = (*s.applied[:node], len(s.views) - 1, *s.applied[node + 1 :])
    return replace(s, applied=applied)


def rules(model: Tracks) -> tuple[Rule[TracksState, Any], ...]:
    """What nodes do of themselves, and their answers."""

    def lagging(s: TracksState) -> Iterator[act.ApplyStages]:
        newest = len(s.views) - 1
        return (act.ApplyStages(model.names[i]) for i, at in enumerate(s.applied) if at < newest)

    def apply(s: TracksState, action: act.ApplyStages) -> TracksState:
        node = model.number[action.node]
        return replace(s, applied=(*s.applied[:node], s.applied[node] + 1, *s.applied[node + 1 :]))

    def awaited(s: TracksState) -> Iterable[act.AnswerStages]:
        if not any(piece.work.barrier for piece in working.pieces(model, s)):
            return ()
        left = working.barrier_nodes(s) & ~s.answered
        return (act.AnswerStages(model.names[i]) for i in nodes_in(left))

    def may_answer(s: TracksState, action: act.AnswerStages) -> Refusal | None:
        blocked = busy(model, s)
        if blocked is not None:
            return blocked
        node = model.number[action.node]
        if not s.control.reachable >> node & 1:
            return Refusal("it does not hear the barrier", missing=(action.node,))
        late = s.late
        waits = late is not None and late.runs and working.is_over(s, late)
        here = late is not None and bool(model.mask(late.targets) >> node & 1)
        if waits and here and model.setting.safeguards.sessions:
            return Refusal("work of a stage that is over still runs here")
        return None

    def answer(s: TracksState, action: act.AnswerStages) -> TracksState:
        node = model.number[action.node]
        return replace(caught_up(s, node), answered=s.answered | 1 << node)

    return (
        model.rule(act.AnswerStages, "answer", awaited, may_answer, answer),
        model.rule(act.ApplyStages, "apply", lagging, lambda s, a: None, apply),
    )


def one_stage_apart(model: Tracks) -> Property:
    """No two nodes differ both in the replicas that they read of a tablet and that they write."""

    def check(s: TracksState) -> str | None:
        topology = s.control.topology
        live = s.control.reachable & topology.members & ~excluded_nodes(topology)
        views = {s.views[s.applied[i]]: model.names[i] for i in nodes_in(live)}
        for (near, first), (far, second) in combinations(views.items(), 2):
            for tablet, (a, b) in enumerate(zip(near, far, strict=True)):
                if a[0] != b[0] and a[1] != b[1]:
                    ways = f"{first} {_ways(*a)}, {second} {_ways(*b)}"
                    return f"of tablet {tablet} {ways}"
        return None

    return always("one-stage", ONE_STAGE, check, "INV-ONESTAGE")


def _ways(reads: Replicas, writes: Replicas) -> str:
    return f"reads {' '.join(map(str, reads))} and writes {' '.join(map(str, writes))}"
