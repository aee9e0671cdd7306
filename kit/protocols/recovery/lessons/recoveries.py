"""Questions and tables on recoveries: who may lead, where a start ends, whose gossip is taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kit.edge.arguments import checked
from kit.engine.drill import open_drill
from kit.engine.timeline import Timeline
from kit.errors import BadInput, KitError
from kit.lessons.questions import PosedQuestion, listed
from kit.lessons.stills import still, timeline_of
from kit.protocols.recovery.facts import recovery as facts
from kit.protocols.recovery.lost_majority import NO_GROUP
from kit.protocols.recovery.recovering_cluster import RecoveryState
from kit.protocols.recovery.recovery import Recovery, Restart
from kit.protocols.recovery.rules.leader import leaders, regressing
from kit.views.question import Question
from kit.views.static import Sheet, sign

NOWHERE = "in none: it does not start"
OWN = "in one that it creates"


def may_lead(timeline: Timeline) -> PosedQuestion:
    """Which live nodes may lead the recovery?

    Raises:
        KitError: when the timeline is not of model ``recovery``.
    """
    m, s = _recovery(timeline)
    indexes = live_indexes(m, s)
    right = leaders(indexes)
    words = ", ".join(f"{name} {index}" for name, index in indexes.items())
    return PosedQuestion(
        Question(
            "Which of the live nodes may lead the recovery?",
            tuple(indexes),
            right,
            f"The state of the leader becomes that of all others. Commit indexes: {words}.",
        ),
        still(timeline, "nodes"),
    )


def starts_in(timeline: Timeline, node: str) -> PosedQuestion:
    """In which group does a node run once it has started again?

    Raises:
        KitError: when the timeline is not of model ``recovery``, or the node may not start now.
        BadInput: for a name that no node has.
    """
    m, s = _recovery(timeline)
    if node not in m.names:
        raise BadInput("node", node, f"one of {', '.join(m.names)}")
    action = Restart(node)
    if m.refusal(s, action) is not None:
        raise KitError(f"predict: {node} may not be started now")
    after = m.apply(s, action)
    group = after.nodes[m.number(node)].group
    known = tuple(f"in {m.group_name(each)}" for each in range(len(s.groups)))
    right = NOWHERE if group == NO_GROUP else OWN if group >= len(s.groups) else known[group]
    return PosedQuestion(
        Question(
            f"{node} starts again. In which group 0 does it run then?",
            (*known, OWN, NOWHERE),
            (right,),
            m.describe(s, action, after),
        ),
        still(timeline, "rows"),
    )


def hears(timeline: Timeline) -> PosedQuestion:
    """Which nodes take each other's gossip?

    Raises:
        KitError: when the timeline is not of model ``recovery``, or one node is up alone.
    """
    m, s = _recovery(timeline)
    pairs = {f"{row.first} and {row.second}": row for row in facts.gossip(m, s)}
    if not pairs:
        raise KitError("predict: no two nodes are up")
    return PosedQuestion(
        Question(
            "Which of these nodes take each other's gossip?",
            tuple(pairs),
            tuple(name for name, row in pairs.items() if row.accepted),
            "; ".join(f"{name}: {row.why}" for name, row in pairs.items()) + ".",
        ),
        still(timeline, "gossip"),
    )


@checked
def if_led(source: object) -> Sheet:
    """For each live node: whose schema would go back if it led, and which data would dangle."""
    m, s = _recovery(timeline_of(source))
    indexes = live_indexes(m, s)
    rows = []
    for name, index in indexes.items():
        back = regressing(indexes, name)
        known = s.nodes[m.number(name)].columns
        dangling = [
            f"column {row.column} on {row.node}"
            for row in facts.effects(m, s)
            if not known >> row.column - 1 & 1
        ]
        words = (f"{other} by {entries}" for other, entries in back.items())
        fits = sign(not back)
        rows.append((name, str(index), f"{fits} {listed(words)}", listed(dangling)))
    heads = ("leader", "commit index", "goes back", "data without a column")
    return Sheet("If this node led", heads, tuple(rows))


@checked
def walks_graded(name: str, walks: Mapping[str, Iterable[str]]) -> Sheet:
    """Walks through a drill, given as typed lines, each graded by the run that it makes.

    Raises:
        BadInput: for a name that no drill has.
    """
    rows = [(title, *_graded(name, lines)) for title, lines in walks.items()]
    grades = [row.name for row in open_drill(name).grade().rows if row.holds is not None]
    return Sheet(f"Walks through {name}", ("walk", *grades, "because"), tuple(rows))


def _graded(name: str, lines: Iterable[str]) -> tuple[str, ...]:
    drill = open_drill(name)
    for line in lines:
        drill.enter(line)
    judged = [row for row in drill.grade().rows if row.holds is not None]
    wrong = "; ".join(row.why for row in judged if not row.holds)
    return (*(sign(bool(row.holds)) for row in judged), wrong or "nothing is wrong")


def live_indexes(m: Recovery, s: RecoveryState) -> dict[str, int]:
    """The commit indexes of the nodes that are counted on."""
    named = zip(m.names, s.nodes, strict=True)
    return {name: node.index for name, node in named if node.takes_part}


def _recovery(timeline: Timeline) -> tuple[Recovery, RecoveryState]:
    if not isinstance(timeline.model, Recovery):
        raise KitError("predict: this question is about the model recovery")
    return timeline.model, timeline.state
