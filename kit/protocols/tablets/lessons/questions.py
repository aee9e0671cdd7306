"""Questions on a tablet in transition: what comes next, whom a request asks, where failures lead.

Each is answered by the model, which goes there on a copy; KitError when no tablet is in transition.
"""

from __future__ import annotations

from kit.errors import KitError
from kit.lessons.questions import PosedQuestion, copied, model_of, posed
from kit.lessons.stills import still
from kit.model.registry import check_one_of, edition_of
from kit.model.timeline import Timeline
from kit.protocols.tablets.facts import tablets as facts
from kit.protocols.tablets.rules.replica_sets import words
from kit.protocols.tablets.rules.stages import KINDS, TRANSITIONS, TransitionKind
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.rules import machines
from kit.views.static import Sheet

HEADS = ("stage", "reads", "writes", "work", "then", "if it cannot be done")
END = "the end"
AGAIN = "retried"
STAYS = "it stays there and the work is retried"
WHEN = {
    "excluded": "if a replica's node is excluded",
    "more_old": "if more old replicas than new ones are left",
    "more_new": "if at least as many new replicas as old ones are left",
    "more_new_excluded": "if more new replicas are excluded than old ones",
}
"""What an error edge asks for, in words, by the names that the tables use."""
EITHER = {"more_old", "more_new"}  # conditions of which one is always met


def stage_table(
    kind: TransitionKind = "migration", edition: machines.Edition = "documents"
) -> Sheet:
    """The stages of a transition: whom requests use, the work, where it leads. BadInput for a kind
    or an edition that there is not.
    """
    edition = edition_of(edition, machines.EDITIONS)
    check_one_of("kind", kind, KINDS)
    table = TRANSITIONS[edition][kind]
    rows = tuple(_row(table, stage) for stage in table.states)
    return Sheet(f"{kind}, edition {edition}", HEADS, rows)


def _row(table: machines.Machine, stage: machines.StateRow) -> tuple[str, ...]:
    work = ", ".join(row.name.replace("_", " ") for row in stage.work)
    edges = [edge for edge in table.edges if edge.source == stage.name]
    onward = next(_leads_to(edge) for edge in edges if edge.kind == "happy")
    errors = [edge for edge in edges if edge.kind != "happy"]
    ways = [f"{_leads_to(edge)} {WHEN[edge.when]}" for edge in errors if edge.when]
    if not {edge.when for edge in errors} >= EITHER:
        otherwise = onward if any(each.on_failure == "proceed" for each in stage.work) else AGAIN
        last = next((_leads_to(edge) for edge in errors if not edge.when), otherwise)
        ways.append(f"else {last}" if ways else last)
    return stage.name, stage.reads, stage.writes, work, onward, "; ".join(ways)


def _leads_to(edge: machines.EdgeRow) -> str:
    return END if edge.target == machines.BOUNDARY else edge.target


def next_stage(timeline: Timeline) -> PosedQuestion:
    """Which stage comes next, when nothing fails?"""
    m, now = _moving(timeline)
    stage, ahead = now.way.stage, copied(timeline)
    after = stage
    while after == stage and ahead.forward() is not None:
        ways = ahead.state.tablets[now.tablet].transitions
        after = ways[0].stage if ways else END
    return posed(
        f"Tablet {now.tablet} is in {stage}. Nothing fails. Which stage is next?",
        _choices(m, now),
        (after,),
        f"The table of {now.way.kind} leads from {stage} to {after}.",
        still(ahead, "stages"),
    )


def written_to(timeline: Timeline) -> PosedQuestion:
    """Which replicas does a write go to in the stage of now?"""
    return _used(timeline, "write", "goes to")


def read_from(timeline: Timeline) -> PosedQuestion:
    """Which replicas does a read ask in the stage of now?"""
    return _used(timeline, "read", "asks")


def _used(timeline: Timeline, what: str, does: str) -> PosedQuestion:
    _, now = _moving(timeline)
    stage, sets = now.stage, now.way.sets
    selector = stage.writes if what == "write" else stage.reads
    chosen = sets.chosen(selector)
    return posed(
        f"Tablet {now.tablet} is in {stage.name}. Which replicas does a {what} use?",
        map(str, sets.both),
        map(str, chosen),
        f"In {stage.name} a {what} {does} {selector} replicas: {words(chosen)}.",
        still(timeline, "grid", "now"),
    )


def stage_fails(timeline: Timeline) -> PosedQuestion:
    """Where does it lead when the next piece of the stage's work fails? KitError without any."""
    m, now = _moving(timeline)
    stage, piece = now.way.stage, next((name for name, how in now.work if how == "next"), None)
    if piece is None:
        raise KitError("predict: the stage has no work left that could fail")
    edge = m.error_edge(timeline.state, now.way)
    after = STAYS if edge is None else _leads_to(edge)
    lost = ", ".join(sorted(m.lost(timeline.state))) or "no node"
    return posed(
        f"Tablet {now.tablet} is in {stage}, and {piece.replace('_', ' ')} fails. Gone for "
        f"good: {lost}. Which stage comes next?",
        (*_choices(m, now), STAYS),
        (after,),
        f"With {lost} gone, the table leads from {stage} to {after}."
        if edge is not None
        else f"No edge leads out of {stage} with {lost} gone: the coordinator tries again.",
        still(timeline, "stages"),
    )


def late_arrives(timeline: Timeline) -> PosedQuestion:
    """What does a node do with the RPC that comes late? KitError when no RPC is late."""
    model_of(timeline, Tablets)
    if (late := timeline.state.late) is None:
        raise KitError("predict: no RPC is late here")
    ahead = copied(timeline)
    ahead.do(Tablets.arrive_late())
    choices = ("it lets it in", "it refuses it", "it waits for the coordinator")
    over = "has ended on every node" if late.sealed else "has not ended on every node"
    return posed(
        f"A {late.work} of tablet {late.tablet}, sent in {late.stage} with session "
        f"{late.session}, reaches {words(late.targets)} late. What does the node do?",
        choices,
        (choices[ahead.state.late is None],),
        f"Its permit belongs to a stage that {over}.",
        still(ahead, "grid", "sessions"),
    )


def _choices(m: Tablets, now: facts.StageFacts) -> tuple[str, ...]:
    states = TRANSITIONS[m.edition][now.way.kind].states
    return (*(row.name for row in states if row.name != now.way.stage), END)


def _moving(timeline: Timeline) -> tuple[Tablets, facts.StageFacts]:
    m = model_of(timeline, Tablets)
    if not (moving := facts.stages(m, timeline.state)):
        raise KitError("predict: no tablet is in transition here")
    return m, moving[0]
