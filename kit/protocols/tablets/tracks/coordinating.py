"""What the coordinator and the cluster do: the cluster's own steps, and those of the tablets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.engine.model import Rule
from kit.errors import Refusal
from kit.protocols.tablets.tracks import actions as act
from kit.protocols.tablets.tracks import balancing, planning, rf_change, working
from kit.protocols.tablets.tracks.state import (
    TabletCommand,
    TabletRow,
    TabletTransition,
    TracksState,
    deposed_alone,
    in_transition,
    with_tablets,
)
from kit.protocols.topology import coordinator as work
from kit.protocols.topology import topology as cluster
from kit.protocols.topology.control import ControlState, majority_refusal, with_topology
from kit.protocols.topology.coordinator import HAS_PLACES, IN_HAND
from kit.protocols.topology.rules.cluster import mask_of
from kit.protocols.topology.rules.decide import decide
from kit.protocols.topology.rules.tablets import tablets_placed

if TYPE_CHECKING:
    from kit.protocols.tablets.tracks.model import Tracks

TRACKS = ("tablet_migration", "tablet_draining")
PLAN_FIRST = Refusal("the balancer's plan goes into the same command")
NOTHING_MOVES = Refusal("nothing could be moved")
DISABLED = Refusal("balancing is disabled")
RUNNING = Refusal("tablets are still in transition")
TABLETS_FIRST = Refusal("tablets have to move first")
RF_GOES_ON = Refusal("the RF change goes on")


def begins_track(model: Tracks, s: TracksState) -> bool:
    """Whether the coordinator's next decision is to enter the tablet track."""
    decision = work.decision_of(s.control, model.setting)
    operation = decision.operation
    return decision.kind == "begin" and operation is not None and operation.machine == "tablets"


def planned_on(model: Tracks, s: TracksState) -> bool:
    """Whether the coordinator asks for a plan: on the tablet track, or to enter it."""
    return s.control.topology.tablets == "moving" or begins_track(model, s)


def on_track(model: Tracks, s: TracksState) -> bool:
    """Whether tablets may advance: the state machine is on one of their tracks (S-26)."""
    excludes = model.setting.safeguards.tablet_track_excludes
    return s.control.topology.transition in TRACKS or not excludes


def busy(model: Tracks, s: TracksState) -> Refusal | None:
    """Why the coordinator does nothing for tablets now."""
    blocked = model.control.busy(s.control)
    if blocked is not None:
        return blocked
    if s.command is not None:
        return IN_HAND
    if s.control.topology.tablets != "moving" and not in_transition(s):
        return Refusal("no tablet moves")
    return None if on_track(model, s) else Refusal("a node operation holds the state machine")


def at_rest(model: Tracks, s: TracksState) -> bool:
    """Whether nothing is under way, and nothing waits."""
    decision = decide(s.control.topology, s.control.reachable, model.setting)
    return decision.kind == "rest" and not in_transition(s)


def rules(
    model: Tracks, together: tuple[Rule[TracksState, Any], ...] = ()
) -> tuple[Rule[TracksState, Any], ...]:
    """The cluster's rules, in which tablets have their say, and the tablets' own.

    ``together`` are the rules by which many tablets begin, and are worked on, in one step.
    """
    replaced = {
        cluster.TakeDecision: _take_decision(model),
        cluster.CommitDecision: _commit(model),
        cluster.CommitDeposed: _commit_deposed(model),
        cluster.MoveTablets: _move_tablets(model),
        cluster.FindImbalance: _find_imbalance(model),
        cluster.FailWork: _fail_work(model),
    }
    begin, do = together or (_begin(model), _work(model))
    first = (begin, _barrier(model), do)
    lifted = [replaced.get(rule.action) or lift(model, rule) for rule in model.control.rules]
    place = next(
        i for i, rule in enumerate(model.control.rules) if rule.action is cluster.MoveTablets
    )
    return (*lifted[:place], *first, *lifted[place:])


def own(model: Tracks, action: type) -> Any:
    """The cluster's rule for a type of action."""
    return next(rule for rule in model.control.rules if rule.action is action)


def decided(model: Tracks, s: TracksState) -> ControlState | Refusal:
    """The cluster once its coordinator has decided, or why it cannot."""
    end: ControlState | Refusal = own(model, cluster.TakeDecision).outcome(s.control, ())
    return end


def lift(
    model: Tracks,
    rule: Any,
    *,
    choices: Callable[[TracksState], Iterable[tuple[Any, Any]]] | None = None,
    outcome: Callable[[TracksState, Any], TracksState | Refusal | None] | None = None,
) -> Rule[TracksState, Any]:
    """A rule of the cluster, changed in what is given; without that it changes no tablet."""

    def in_cluster(s: TracksState, given: Any) -> Any:
        end = rule.outcome(s.control, given)
        return end if end is None or type(end) is Refusal else replace(s, control=end)

    run = outcome or in_cluster

    def settled(s: TracksState, given: Any) -> TracksState | Refusal | None:
        end = run(s, given)
        return model.settled(s, end) if isinstance(end, TracksState) else end

    offered = choices or (lambda s: rule.choices(s.control))
    return Rule(rule.action, rule.kind, choices=offered, outcome=settled, given=rule.given)


def _take_decision(model: Tracks) -> Rule[TracksState, Any]:
    def outcome(s: TracksState, given: Any) -> TracksState | Refusal:
        if s.command is not None:
            return IN_HAND
        end = decided(model, s)
        if isinstance(end, Refusal):
            changes = busy(model, s) is None and working.changes(model, s)
            return replace(s, command=TabletCommand(changes)) if changes else end
        if s.control.started and begins_track(model, s) and any(balancing.plan(model, s)):
            return PLAN_FIRST
        return replace(s, control=end, command=_with_rf_change(model, s))

    return lift(model, own(model, cluster.TakeDecision), outcome=outcome)


def _with_rf_change(model: Tracks, s: TracksState) -> TabletCommand | None:
    """What the command of an RF change begins; None for any other decision."""
    decision = work.decision_of(s.control, model.setting)
    operation = decision.operation
    if not s.control.started or decision.kind != "begin":
        return None
    if operation is None or operation.machine != "keyspace_rf_change":
        return None
    request = s.control.topology.requests[decision.number - 1]
    return TabletCommand(begins=rf_change.begun(model, s, request), joint=True)


def _in_log(model: Tracks, s: TracksState, command: TabletCommand) -> TracksState:
    """The state with a command of tablets in the log: the cluster learns who has tablets."""
    s = working.committed(model, s, command)
    return _placed(model, s)


def _placed(model: Tracks, s: TracksState) -> TracksState:
    """The state in which the cluster knows who has tablets (S-27: with it off, it does not)."""
    topology = s.control.topology
    on = working.owners(model, s)
    if topology.tablets != "moving" or topology.tablets_on == on or not model.drains_first:
        return s
    control = with_topology(s.control, tablets_placed(topology, on, more=True))
    return replace(s, control=control)


def _commit(model: Tracks) -> Rule[TracksState, Any]:
    rule = own(model, cluster.CommitDecision)

    def outcome(s: TracksState, given: Any) -> TracksState | Refusal | None:
        command, in_cluster = s.command, s.control.attempted.command is not None
        if command is None and not in_cluster:
            return None
        blocked = majority_refusal(s.control)
        if blocked is not None:
            return blocked
        if command is not None:
            s = replace(s, command=None)
        if in_cluster:
            # The plan and the entry into the track are one command.
            s = replace(s, control=rule.outcome(s.control, given))
        return s if command is None else _in_log(model, s, command)

    return lift(model, rule, outcome=outcome)


def _commit_deposed(model: Tracks) -> Rule[TracksState, Any]:
    rule = own(model, cluster.CommitDeposed)

    def outcome(s: TracksState, given: Any) -> TracksState | Refusal | None:
        command, in_cluster = s.deposed, s.control.deposed is not None and not deposed_alone(s)
        if command is None and s.control.deposed is None:
            return None
        blocked = majority_refusal(s.control)
        if blocked is not None:
            return blocked
        if command is not None:
            s = replace(s, deposed=None)
        if in_cluster:
            s = replace(s, control=rule.outcome(s.control, given))
        return s if command is None else _in_log(model, s, command)

    return lift(model, rule, outcome=outcome)


def _move_tablets(model: Tracks) -> Rule[TracksState, Any]:
    """The balancer has nothing more to move, and no tablet is in transition: the track ends."""
    rule = own(model, cluster.MoveTablets)

    def choices(s: TracksState) -> tuple[tuple[Any, Any], ...]:
        if s.control.topology.tablets != "moving":
            return ()
        on = working.owners(model, s) if model.drains_first else 0
        move = cluster.MoveTablets(working.named(model, on))
        return ((move, rule.given(move)),)

    def outcome(s: TracksState, given: Any) -> TracksState | Refusal | None:
        if in_transition(s) or s.command is not None:
            return RUNNING
        end = busy(model, s) or rule.outcome(s.control, given)
        if end is None or isinstance(end, Refusal):
            return end
        if balancing.unfinished(model, s):
            return TABLETS_FIRST
        return replace(s, control=end)

    return lift(model, rule, choices=choices, outcome=outcome)


def _find_imbalance(model: Tracks) -> Rule[TracksState, Any]:
    """The load is uneven where something could be moved."""
    rule = own(model, cluster.FindImbalance)

    def outcome(s: TracksState, given: Any) -> TracksState | Refusal | None:
        end = rule.outcome(s.control, given)
        if end is None or isinstance(end, Refusal):
            return end
        if next(balancing.plan(model, s), None) is None:
            return NOTHING_MOVES if model.parameters.balancing else DISABLED
        return replace(s, control=end)

    return lift(model, rule, outcome=outcome)


def _fail_work(model: Tracks) -> Rule[TracksState, Any]:
    """Draining fails by itself where a replica has no place; in ``documents`` otherwise, too."""
    rule = own(model, cluster.FailWork)

    def choices(s: TracksState) -> tuple[tuple[Any, Any], ...]:
        placeless = _is_placeless(model, s)
        return ((cluster.FailWork(placeless=placeless), placeless),)

    def outcome(s: TracksState, placeless: bool) -> TracksState | Refusal | None:
        end = rule.outcome(s.control, placeless)
        if end is None or isinstance(end, Refusal):
            return end
        if s.command is not None:
            return IN_HAND
        task = work.task_of(s.control, model.setting)
        if task.work is not None and task.work.name in work.TABLETS_WORK:
            if task.work.on_failure == "retry" and in_transition(s):
                return RUNNING
            if any(rf_change.completions(model, s)):
                return RF_GOES_ON
            is_drain = not model.paused and task.work.on_failure != "retry"
            if (placeless or not is_drain) and not _is_placeless(model, s):
                return HAS_PLACES
        return replace(s, control=end)

    return lift(model, rule, choices=choices, outcome=outcome)


def _is_placeless(model: Tracks, s: TracksState) -> bool:
    """Whether a node that is to leave keeps a replica for which there is no place."""
    if s.control.topology.tablets != "moving":
        return False
    left = mask_of(s.control.topology, "left")
    stuck = planning.without_target(model, s)
    return any(not left >> model.number[each.host] & 1 for each in stuck)


def _begin(model: Tracks) -> Rule[TracksState, Any]:
    def candidates(s: TracksState) -> Iterator[act.BeginTransition]:
        if planned_on(model, s):
            yield from balancing.plan(model, s)
            yield from balancing.balance_moves(model, s, later=True)

    def condition(s: TracksState, action: act.BeginTransition) -> Refusal | None:
        row = s.tablets[action.tablet]
        if not planning.free(model, row):
            under_way = row.transitions[0]
            said = f"tablet {action.tablet} is in transition: {under_way.kind}, {under_way.stage}"
            return Refusal(said)
        if not begins_track(model, s):
            return busy(model, s)
        if s.command is not None or not s.control.started:
            return IN_HAND
        end = decided(model, s)
        return end if isinstance(end, Refusal) else None

    def effect(s: TracksState, action: act.BeginTransition) -> TracksState:
        row = s.tablets[action.tablet]
        new = planning.replaced(row, action.source, action.target)
        transition = TabletTransition(action.kind, "", row.replicas, new)
        balances = not _is_drain(model, s, action) and not _completes(model, s, action)
        joint = begins_track(model, s)
        control: Any = decided(model, s) if joint else s.control
        command = TabletCommand(begins=((action.tablet, transition),), joint=joint)
        return replace(s, control=control, command=command, moves=s.moves - balances)

    return model.rule(act.BeginTransition, "decide", candidates, condition, effect)


def _is_drain(model: Tracks, s: TracksState, action: act.BeginTransition) -> bool:
    return any(
        (tablet, str(source)) == (action.tablet, action.source)
        for tablet, source in planning.drains(model, s)
    )


def _completes(model: Tracks, s: TracksState, action: act.BeginTransition) -> bool:
    return action in rf_change.completions(model, s)


def _barrier(model: Tracks) -> Rule[TracksState, Any]:
    def candidates(s: TracksState) -> tuple[act.PassBarrier, ...]:
        waits = any(piece.work.barrier for piece in working.pieces(model, s))
        return (act.PassBarrier(),) if waits else ()

    def condition(s: TracksState, action: act.PassBarrier) -> Refusal | None:
        blocked = busy(model, s)
        if blocked is not None:
            return blocked
        one_by_one = model.parameters.answering
        missing = working.barrier_nodes(s) & ~(s.answered if one_by_one else s.control.reachable)
        if missing:
            said = "a node has not answered" if one_by_one else "a node does not hear the barrier"
            return Refusal(said, missing=working.named(model, missing))
        late = s.late
        waits = late is not None and late.runs and working.is_over(s, late)
        if waits and model.setting.safeguards.sessions:
            return Refusal("work of a stage that is over still runs")
        return None

    def effect(s: TracksState, action: act.PassBarrier) -> TracksState:
        rows = dict[int, TabletRow]()
        for piece in working.pieces(model, s):
            if piece.work.barrier:
                row = rows.get(piece.tablet, s.tablets[piece.tablet])
                rows[piece.tablet] = working.done_row(row, piece)
        s, late = with_tablets(s, rows), s.late
        if late is not None and working.is_over(s, late):
            s = replace(s, late=replace(late, sealed=True))
        return replace(s, answered=0)

    return model.rule(act.PassBarrier, "work", candidates, condition, effect)


def piece_of(model: Tracks, s: TracksState, tablet: int) -> working.Piece | None:
    """The next piece of data work on a tablet; None where none comes next."""
    return next(
        (
            piece
            for piece in working.pieces(model, s)
            if piece.tablet == tablet and not piece.work.barrier
        ),
        None,
    )


def data_work(model: Tracks, s: TracksState) -> tuple[int, ...]:
    """The tablets on which data work comes next."""
    return tuple(dict.fromkeys(p.tablet for p in working.pieces(model, s) if not p.work.barrier))


def _work(model: Tracks) -> Rule[TracksState, Any]:
    def condition(s: TracksState, action: act.WorkOnTablet) -> Refusal | None:
        blocked = busy(model, s)
        if blocked is not None:
            return blocked
        piece = piece_of(model, s, action.tablet)
        assert piece is not None
        missing = piece.hosts & ~s.control.reachable
        if missing:
            return Refusal("a replica is not heard", missing=working.named(model, missing))
        return None if piece.possible else Refusal("nobody is left to stream from")

    def effect(s: TracksState, action: act.WorkOnTablet) -> TracksState:
        piece = piece_of(model, s, action.tablet)
        assert piece is not None
        return working.worked(model, s, piece)

    return model.rule(
        act.WorkOnTablet,
        "work",
        lambda s: map(act.WorkOnTablet, data_work(model, s)),
        condition,
        effect,
    )
