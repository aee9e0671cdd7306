"""What must hold while tablets move, whatever fails and whoever takes over.

What the cluster promises is judged of the cluster; its sentences on tablets are replaced by these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.engine.model import Property, always, goal, sometimes, step
from kit.protocols.tablets.rules.replica_sets import Replicas
from kit.protocols.tablets.rules.stages import REPLACES
from kit.protocols.tablets.tracks.answering import one_stage_apart
from kit.protocols.tablets.tracks.coordinating import TRACKS, at_rest
from kit.protocols.tablets.tracks.rf_change import completions
from kit.protocols.tablets.tracks.state import (
    TabletRow,
    TabletTransition,
    TracksState,
    deposed_alone,
    in_transition,
)
from kit.protocols.topology import topology as cluster
from kit.protocols.topology.rules.machines import BOUNDARY
from kit.protocols.topology.rules.work import under_way

if TYPE_CHECKING:
    from kit.protocols.tablets.tracks.model import Tracks

REPLACED = ("tablets-apart", "tablets-hold", "ends")
"""The cluster's properties that say less of tablets than those here."""
COMMITS = (cluster.CommitDecision, cluster.CommitDeposed)


def _words(replicas: Replicas) -> str:
    return ", ".join(map(str, replicas))


def one_transition(s: TracksState) -> str | None:
    """No tablet has two transitions."""
    for tablet, row in enumerate(s.tablets):
        if len(row.transitions) > 1:
            return f"tablet {tablet} is in {len(row.transitions)} transitions at once"
    return None


SINGLE = always("one-transition", "A tablet has one transition", one_transition, "INV-TABL-2")


def one_per_host(s: TracksState) -> str | None:
    """No host has two replicas of a tablet."""
    for tablet, row in enumerate(s.tablets):
        hosts = [each.host for each in row.replicas]
        if len(set(hosts)) < len(hosts):
            return f"tablet {tablet} has two replicas on one node: {_words(row.replicas)}"
    return None


STORED = "A transition begins with all of its information in group 0"


def begun_in_full(before: TracksState, action: Any, after: TracksState) -> str | None:
    """Whoever reads the row of a transition that begins learns what becomes of the tablet.

    Source: Topology over Raft, "Tablet transitions", the precondition of
    ``allow_write_both_read_old``.
    """
    for tablet, (old, new) in enumerate(zip(before.tablets, after.tablets, strict=True)):
        for each in new.transitions[len(old.transitions) :]:
            lacking = _lacking(new, each)
            if lacking:
                return f"tablet {tablet} enters {each.stage or 'no stage'} without {lacking}"
    return None


def _lacking(row: TabletRow, each: TabletTransition) -> str:
    """The columns that do not say enough of a transition, as words; empty: none."""
    moves = each.kind != "repair"
    columns = {
        "replicas": row.replicas != (),
        "new_replicas": each.new != () and (each.new != each.old) == moves,
        "stage": bool(each.stage),
        "session": bool(each.session) or moves,
    }
    return ", ".join(name for name, is_there in columns.items() if not is_there)


def in_session(s: TracksState) -> str | None:
    """What was sent in a stage does not run once a barrier has passed since its end."""
    late = s.late
    if late is not None and late.runs and late.sealed:
        return f"{late.work} of tablet {late.tablet}, sent in {late.stage}, runs after its end"
    return None


def lifted(prop: Property) -> Property:
    """A property of the cluster as one of the cluster with its tablets."""
    check: Callable[..., Any] = prop.check

    def check_step(before: TracksState, action: Any, after: TracksState) -> str | None:
        # An older command of the cluster's, which is not what comes late here, is not judged.
        if isinstance(action, cluster.CommitDeposed) and deposed_alone(before):
            return None
        broken: str | None = check(before.control, action, after.control)
        return broken

    if prop.kind == "step":
        return replace(prop, check=check_step)
    return replace(prop, check=lambda s: check(s.control))


def properties_of(model: Tracks) -> tuple[Property, ...]:
    """The properties of a model; with S-25 off its harm is judged, not that it is off."""
    inherited = (lifted(p) for p in model.control.properties if p.name not in REPLACED)
    return (
        *inherited,
        *((SINGLE,) if model.one_transition else ()),
        *_apart(model),
        _follow_table(model),
        step("transition-stored", STORED, begun_in_full, "INV-STAGE", COMMITS),
        *_of_replicas(model),
        *_of_rf_changes(model),
        *((one_stage_apart(model),) if model.parameters.answering else ()),
        always("work-in-session", "Nothing runs after its stage", in_session, "INV-SESSION"),
        always("one-per-host", "One replica on a node", one_per_host),
        sometimes("moved", "A transition ends with the new replicas", _moved_of(model)),
        goal("ends", "Every operation can end", lambda s: at_rest(model, s), "INV-PROGRESS"),
    )


def _moved_of(model: Tracks) -> Callable[[TracksState], bool]:
    first = tuple(row.replicas for row in model.rows)
    able = model.parameters.moves or model.parameters.operations
    return lambda s: not able or tuple(row.replicas for row in s.tablets) != first


def _of_rf_changes(model: Tracks) -> tuple[Property, ...]:
    """How many replicas come and go, and that a change of their number comes to its end."""

    def few(s: TracksState) -> str | None:
        for tablet, row in enumerate(s.tablets):
            for each in row.transitions:
                if len(each.sets.pending) > 1 or len(each.sets.leaving) > 1:
                    return f"tablet {tablet} goes from {_words(each.old)} to {_words(each.new)}"
        return None

    def reached(before: TracksState, action: Any, after: TracksState) -> str | None:
        left = next(completions(model, after), None)
        return None if left is None else f"the track ends, tablet {left.tablet} lacks its replicas"

    title = "An RF change ends with all replicas for which there is a place"
    return (
        always("one-replica", "One replica of a tablet comes, and one goes, at a time", few),
        step("replicas-reached", title, reached, "INV-RF", (cluster.MoveTablets,)),
    )


def _apart(model: Tracks) -> tuple[Property, ...]:
    """Where tablets may be in transition, and where they may advance."""
    tracks = (*TRACKS, "rollback_to_normal")

    def apart(s: TracksState) -> str | None:
        where = s.control.topology.transition
        if not in_transition(s) or where in tracks:
            return None
        operation = under_way(s.control.topology)
        before = model.paused and operation is not None and operation.machine.startswith("boot")
        return None if before else f"a tablet is in transition in {where or 'null'}"

    def hold(before: TracksState, action: Any, after: TracksState) -> str | None:
        if before.tablets == after.tablets or not _advanced(before, after):
            return None
        where = before.control.topology.transition
        return None if where in TRACKS or not where else f"a tablet advanced in {where}"

    return (
        always("tablets-apart", "Tablets move in their own tracks", apart, "INV-EXCL"),
        step("tablets-hold", "No tablet advances during a node operation", hold, "INV-EXCL"),
    )


def _follow_table(model: Tracks) -> Property:
    """Stages change along the edges of the table, and ends leave the replicas that they say."""

    def edges(before: TracksState, action: Any, after: TracksState) -> str | None:
        for tablet, (old, new) in enumerate(zip(before.tablets, after.tablets, strict=True)):
            if len(old.transitions) == len(new.transitions) == 1:
                a, b = old.transitions[0].stage, new.transitions[0].stage
                table = model.table(old.transitions[0])
                if a != b and not any((e.source, e.target) == (a, b) for e in table.edges):
                    return f"tablet {tablet} went from {a} to {b}"
            wrong = _ended_wrongly(model, old, new)
            if wrong:
                return f"tablet {tablet} {wrong}"
        return None

    return step("stage-edges", "Stages follow the table", edges, "INV-STAGE", COMMITS)


def _advanced(before: TracksState, after: TracksState) -> bool:
    """Whether a stage changed or some of its work was done; to forget work is no advance."""
    pairs = zip(before.tablets, after.tablets, strict=True)
    return any(
        [t.stage for t in old.transitions] != [t.stage for t in new.transitions]
        or any(t.done < u.done for t, u in zip(old.transitions, new.transitions, strict=True))
        for old, new in pairs
    )


def _ended_wrongly(model: Tracks, old: TabletRow, new: TabletRow) -> str:
    """What is wrong with the end of a transition; empty: nothing."""
    if not old.transitions or new.transitions or not model.one_transition:
        return ""
    [was] = old.transitions
    ends = [e for e in model.table(was).edges if (e.source, e.target) == (was.stage, BOUNDARY)]
    if not ends:
        return f"lost its transition in {was.stage}"
    due = was.new if REPLACES in ends[0].effects else old.replicas
    return "" if new.replicas == due else f"has {_words(new.replicas)}, not {_words(due)}"


def read_of(model: Tracks, row: TabletRow) -> Replicas:
    """The replicas that requests read, by the stage."""
    if not row.transitions:
        return row.replicas
    transition = row.transitions[-1]
    return transition.sets.chosen(model.table(transition).state(transition.stage).reads)


def _of_replicas(model: Tracks) -> tuple[Property, ...]:
    """What replicas hold, and where they are."""

    def complete(s: TracksState) -> str | None:
        for tablet, row in enumerate(s.tablets):
            lacking = tuple(each for each in read_of(model, row) if each not in row.whole)
            if lacking:
                return f"{_words(lacking)} is read and lacks data of tablet {tablet}"
        return None

    def owned(s: TracksState) -> str | None:
        lost = model.excluded(s) | model.hosts((1 << len(model.names)) - 1 & ~s.control.up)
        for tablet, row in enumerate(s.tablets):
            if row.transitions or row.some == row.whole == tuple(sorted(row.replicas)):
                continue
            stray = [r for r in row.some if r not in row.replicas and r.host not in lost]
            if stray:
                return f"{_words(tuple(stray))} has data of tablet {tablet} and is no replica"
        return None

    def on_members(s: TracksState) -> str | None:
        replaced = {e.replaced for e in s.control.topology.nodes if e.replaced >= 0}
        for tablet, row in enumerate(s.tablets):
            for replica in row.replicas:
                node = model.number[replica.host]
                if s.control.topology.nodes[node].state == "left" and node not in replaced:
                    return f"tablet {tablet} has a replica on {replica.host}, which has left"
        return None

    def on_owners(s: TracksState) -> str | None:
        nodes = s.control.topology.nodes
        for tablet, row in enumerate(s.tablets):
            for replica in (*row.replicas, *(r for t in row.transitions for r in t.new)):
                if nodes[model.number[replica.host]].zero_token:
                    return f"tablet {tablet} has a replica on {replica.host}, without tokens"
        return None

    return (
        always("replicas-complete", "Who is read has all the data", complete, "INV-STREAM"),
        always("data-owned", "Outside a transition only replicas have data", owned, "INV-TABL-1"),
        always("replicas-on-members", "No replica is on who has left", on_members, "INV-RF"),
        always("replicas-on-owners", "No replica is on a node without tokens", on_owners),
    )
