"""What the control model of tablets says: verbs, what a step did, a state as a person reads it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from kit.protocols.tablets.tracks import actions as act
from kit.protocols.tablets.tracks.coordinating import piece_of
from kit.protocols.tablets.tracks.planning import without_target
from kit.protocols.tablets.tracks.state import TabletCommand, TabletRow, TracksState
from kit.protocols.tablets.tracks.working import Piece, pieces
from kit.protocols.topology import topology as cluster

if TYPE_CHECKING:
    from kit.protocols.tablets.tracks.model import Tracks

MOVED = 3
"""Words of a move: the tablet, from where, to where."""

MOST_SAID = 20
"""Tablets that a sentence names."""
VERBS = {
    "migration": "migrate",
    "intranode_migration": "migrate-within",
    "rebuild": "rebuild-tablet",
    "rebuild_v2": "rebuild-tablet-v2",
    "repair": "repair-tablet",
}
"""What is said of the beginning of a transition."""
ALTERS = "alter-co-location"
PLAIN = {
    act.BeginPlan: "plan",
    act.WorkOnAll: "work on all",
    act.PassBarrier: "barrier",
    act.FailBarrier: "fail barrier",
    act.ArriveLate: "arrive late",
    act.EndLate: "end late",
}


ALTER_BASE = re.compile(r"ALTER TABLE (?P<table>\S+) WITH base_table = '?[\w.]+'?;?", re.IGNORECASE)
"""The statement that would co-locate a table with another one."""


def verb(model: Tracks, action: Any) -> str:
    """``migrate 0 A:0 D:0``, ``work 0``, ``barrier``; the cluster's own words for the others."""
    match action:
        case act.BeginTransition(tablet, kind, source, target):
            return " ".join(filter(None, [VERBS[kind], str(tablet), source, target]))
        case act.WorkOnTablet(tablet):
            return f"work on {tablet}"
        case act.AnswerStages(node):
            return f"answer stages {node}"
        case act.ApplyStages(node):
            return f"apply stages {node}"
        case act.FailTablet(tablet):
            return f"fail work on {tablet}"
        case act.DelayRpc(tablet):
            return f"delay {tablet}"
        case act.AlterBaseTable(table):
            return f"{ALTERS} {table}"
    return PLAIN.get(type(action)) or model.control.verb(action)


def commanded(model: Tracks, line: str) -> str:
    """A line of an operator or a client as a verb; another line, or another table's, is as it was.

    These are ``move_tablet ks.v 0 A:0 D:0`` and ``add_tablet_replica ks.v 0 D:0``, which act on all
    of a co-location group, whichever table they name, and ``ALTER TABLE ks.v WITH base_table =
    ks.u`` (Topology over Raft, "Co-located tables").
    """
    altered = ALTER_BASE.fullmatch(line)
    if altered:
        return f"{ALTERS} {altered['table']}"
    name, table, *rest = [*line.split(), "", ""]
    places = [*filter(None, rest)]
    if table not in model.parameters.tables:
        return line
    if name == "add_tablet_replica":
        return " ".join([VERBS[model.parameters.rebuild], *places])
    if name == "move_tablet" and len(places) == MOVED:
        _, source, target = places
        within = source.partition(":")[0] == target.partition(":")[0]
        return " ".join([VERBS["intranode_migration" if within else "migration"], *places])
    return line


def label(model: Tracks, s: TracksState, action: Any) -> str:
    """The verb, with what is committed or worked on."""
    words = verb(model, action)
    match action:
        case act.BeginTransition() if len(model.parameters.tables) > 1:
            return f"{words}: of {', '.join(model.parameters.tables)}"
        case act.WorkOnTablet(tablet) | act.FailTablet(tablet) | act.DelayRpc(tablet):
            piece = piece_of(model, s, tablet)
            if piece is None:
                return words
            return f"{words}: {piece.work.name}{_of_table(model, piece)}"
        case cluster.CommitDecision() if s.command is not None:
            return f"{words}: {briefly(model, s, s.command)}"
        case cluster.CommitDeposed() if s.deposed is not None:
            return f"{words}: {briefly(model, s, s.deposed)}"
    if isinstance(action, cluster.ControlAction):
        return model.control.label(s.control, action)
    return words


def briefly(model: Tracks, s: TracksState, command: TabletCommand) -> str:
    """The first stage that a command leads to, and how many other tablets it moves on."""
    name = model.tablet_words
    parts = [f"{name(tablet)} to {target}" for tablet, _, target in _targets(model, s, command)]
    parts += [f"{transition.kind} of {name(tablet)}" for tablet, transition in command.begins]
    more = f" and {len(parts) - 1:,} more" if len(parts) > 1 else ""
    return f"{parts[0]}{more}" if parts else "nothing"


def _targets(
    model: Tracks, s: TracksState, command: TabletCommand
) -> Iterator[tuple[int, str, str]]:
    """Each tablet that is moved on, the stage that it leaves and where that leads."""
    for change in command.changes:
        row = s.tablets[change.tablet]
        if change.place < len(row.transitions):
            edge = model.table(row.transitions[change.place]).edge(change.after, change.kind)
            target = "the end" if edge is None or edge.target == "*" else edge.target
            yield change.tablet, change.after, target


def said(model: Tracks, s: TracksState, command: TabletCommand) -> str:
    """What a command does to tablets, in words; of very many, to the first of them."""
    parts = [*islice(_parts(model, s, command), MOST_SAID)]
    more = len(command.changes) + len(command.begins) - MOST_SAID
    return "; ".join([*parts, *([f"and {more:,} more"] if more > 0 else [])]) or "nothing"


def _parts(model: Tracks, s: TracksState, command: TabletCommand) -> Iterator[str]:
    for tablet, source, target in _targets(model, s, command):
        yield f"{model.tablet_words(tablet)} goes from {source} to {target}"
    for tablet, transition in command.begins:
        old, new = (" ".join(map(str, each)) for each in (transition.old, transition.new))
        yield f"{transition.kind} of {model.tablet_words(tablet)} from {old} to {new}"


def milestone(model: Tracks, before: TracksState, action: Any, after: TracksState) -> str | None:
    """The stage that a tablet enters, or what the cluster comes to."""
    for tablet, (old, new) in enumerate(zip(before.tablets, after.tablets, strict=True)):
        if old is new:
            continue
        was = [t.stage for t in old.transitions]
        now = [t.stage for t in new.transitions]
        if was != now:
            return f"{model.tablet_words(tablet)}: {now[-1] if now else 'no transition'}"
    if isinstance(action, cluster.ControlAction):
        return model.control.milestone(before.control, action, after.control)
    return None


def describe(model: Tracks, before: TracksState, action: Any, after: TracksState) -> str:
    """What the step did, and why."""
    match action:
        case act.BeginTransition() | act.BeginPlan():
            assert after.command is not None
            return f"The coordinator decides: {said(model, before, after.command)}."
        case act.WorkOnAll():
            return _worked_on_all(model, before, after)
        case act.PassBarrier():
            return "All nodes have applied the stages, and no request of an older stage is left."
        case act.AnswerStages(node):
            return f"{node} has applied all stages and answers the barrier."
        case act.ApplyStages(node):
            return f"{node} goes by the next stage."
        case act.FailBarrier():
            return "The barrier of the tablets fails."
        case act.WorkOnTablet(tablet) | act.FailTablet(tablet) | act.DelayRpc(tablet):
            return _worked(model, before, action, tablet)
        case act.ArriveLate() | act.EndLate():
            return _late(before, after)
        case cluster.TakeDecision() if after.command is not None:
            return f"The coordinator decides: {said(model, before, after.command)}."
        case cluster.CommitDecision() if before.command is not None:
            return _committed(model, before, before.command)
        case cluster.CommitDeposed() if before.deposed is not None:
            late = "What an earlier coordinator had decided is committed late."
            return f"{late} {_committed(model, before, before.deposed)}"
        case cluster.FailWork() if without_target(model, before):
            stuck = without_target(model, before)
            more = f" and {len(stuck) - MOST_SAID:,} more" if len(stuck) > MOST_SAID else ""
            named = " ".join(map(str, stuck[:MOST_SAID]))
            return f"Draining fails: there is no place for {named}{more}."
    return model.control.describe(before.control, action, after.control)


def _committed(model: Tracks, s: TracksState, command: TabletCommand) -> str:
    if command.stale and model.guarded:
        return "Group 0 has changed since the command was decided: no effect."
    return f"Group 0 holds it: {said(model, s, command)}."


def _worked(model: Tracks, s: TracksState, action: Any, tablet: int) -> str:
    piece = piece_of(model, s, tablet)
    assert piece is not None
    name, stage = piece.work.name, piece.transition.stage
    what = {
        act.WorkOnTablet: f"{name} is done",
        act.FailTablet: f"{name} fails",
        act.DelayRpc: f"the coordinator gives up the {name} RPC; it is still on its way",
    }[type(action)]
    return f"Tablet {tablet} in {stage}{_of_table(model, piece)}: {what}."


def _worked_on_all(model: Tracks, before: TracksState, after: TracksState) -> str:
    """How many tablets each kind of work was done on, and on how many it was not."""
    waiting = [piece for piece in pieces(model, before) if not piece.work.barrier]
    done = Counter(
        piece.work.name
        for piece in waiting
        if after.tablets[piece.tablet] is not before.tablets[piece.tablet]
    )
    words = (f"{name} (tablets: {number:,})" for name, number in sorted(done.items()))
    left = len(waiting) - done.total()
    rest = f"; tablets that cannot go on: {left:,}" if left else ""
    return f"Done: {', '.join(words)}{rest}."


def _of_table(model: Tracks, piece: Piece) -> str:
    """Which of several co-located tables the work is for."""
    return f" ({piece.table})" if len(model.parameters.tables) > 1 else ""


def _late(before: TracksState, after: TracksState) -> str:
    late = before.late
    assert late is not None
    what = f"The late RPC ({late.work} of tablet {late.tablet}, sent in {late.stage})"
    if late.runs:
        return f"{what} has run to its end."
    return f"{what} is let in." if after.late else f"{what} is refused: its stage is over."


def readable(model: Tracks, s: TracksState) -> dict[str, str]:
    """The state as a person reads it: every tablet, what is in hand, the cluster."""
    late = s.late
    return {
        **{f"tablet {i}": _row(row) for i, row in enumerate(s.tablets)},
        "decided of tablets": "nothing" if s.command is None else said(model, s, s.command),
        "late RPC": "none" if late is None else f"{late.work} sent in {late.stage}",
        **model.control.readable(s.control),
    }


def _row(row: TabletRow) -> str:
    words = [" ".join(map(str, row.replicas))]
    for t in row.transitions:
        session = f", session {t.session}" if t.session else ""
        words.append(f"{t.kind} to {' '.join(map(str, t.new))} in {t.stage}{session}")
    stray = [str(each) for each in row.some if each not in row.replicas]
    return "; ".join(words + ([f"data also on {' '.join(stray)}"] if stray else []))
