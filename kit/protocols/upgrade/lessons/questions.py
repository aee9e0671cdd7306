"""Questions on the two upgrades, which the models answer; the log of a node as a table."""

from __future__ import annotations

from typing import Any

from kit.edge.arguments import checked
from kit.engine.server_log import OWN_WORDS
from kit.engine.timeline import Timeline
from kit.errors import BadInput, KitError
from kit.lessons.questions import PosedQuestion, listed
from kit.lessons.stills import scene_of, still, timeline_of
from kit.protocols.upgrade import facts
from kit.protocols.upgrade.raft_upgrade import LOG, RaftUpgrade
from kit.protocols.upgrade.rules.advice import next_step
from kit.protocols.upgrade.topology_upgrade import TopologyUpgrade
from kit.views.question import Question
from kit.views.static import Sheet

NOBODY = "nobody"


def _raft(timeline: Timeline) -> RaftUpgrade:
    if not isinstance(timeline.model, RaftUpgrade):
        raise KitError("predict: this question is about the Raft upgrade")
    return timeline.model


def upgrade_waits(timeline: Timeline, node: str) -> PosedQuestion:
    """For which nodes does a node wait in the Raft upgrade?

    Raises:
        KitError: where the model is not the Raft upgrade.
        BadInput: for a node that there is not.
    """
    model = _raft(timeline)
    if node not in model.names:
        raise BadInput("node", node, f"one of {', '.join(model.names)}")
    missing = model.named(model.awaited(timeline.state, model.number(node)))
    [row] = [each for each in facts.nodes(model, timeline.state) if each.name == node]
    others = tuple(name for name in model.names if name != node)
    why = f"{node} waits: {row.waits}." if missing else f"{node} waits for nobody: it can go on."
    question = Question(
        f"For which nodes does {node} wait now?",
        (*others, NOBODY),
        tuple(name for name in others if name in missing) or (NOBODY,),
        why,
    )
    return PosedQuestion(question, still(timeline, "phases"))


def first_advice(timeline: Timeline) -> PosedQuestion:
    """What does an operator do first about a Raft upgrade that is stuck here?

    Raises:
        KitError: where the model is not the Raft upgrade, or no node waits.
    """
    model = _raft(timeline)
    if not facts.waiting(model, timeline.state):
        raise KitError("predict: no node waits for another one here")
    tree = facts.advice(model, timeline.state, scene_of(timeline).way())
    first = next_step(tree)
    kinds = ("restart what is down", "repair a connection", "manual recovery",
             "a rolling restart", "ask support")  # fmt: skip
    at = next((at for at, each in enumerate(tree) if not each.is_good), None)
    choices = (*kinds, "wait")
    question = Question(
        "The upgrade is stuck. What do you do first?",
        choices,
        (choices[-1 if at is None else at],),
        f"The first question with a bad answer decides. Do this: {first}.",
    )
    return PosedQuestion(question, still(timeline, "advice"))


def missing_from_table(timeline: Timeline) -> PosedQuestion:
    """Which members has ``system.topology`` not got yet?

    Raises:
        KitError: where the model is not the topology upgrade.
    """
    model, state = timeline.model, timeline.state
    if not isinstance(model, TopologyUpgrade):
        raise KitError("predict: this question is about the topology upgrade")
    inside, missing = model.named(state.normal), model.named(state.unread)
    question = Question(
        "Whom would a node miss that took its ring from system.topology now?",
        (*inside, NOBODY),
        missing or (NOBODY,),
        f"Gossip tells of {listed(inside)}; the table lacks "
        f"{listed(missing) if missing else NOBODY}.",
    )
    return PosedQuestion(question, still(timeline, "topology"))


@checked
def upgrade_log(source: Any, node: str) -> Sheet:
    """What one node has written into its log, up to the moment that is shown.

    Lines that begin a phase name it; those in the kit's own words say so.

    Raises:
        KitError: where the model is not the Raft upgrade.
        BadInput: for a node that there is not.
    """
    timeline = timeline_of(source)
    model = timeline.model
    if not isinstance(model, RaftUpgrade):
        raise KitError("upgrade_log: this is no run of the Raft upgrade")
    if node not in model.names:
        raise BadInput("node", node, f"one of {', '.join(model.names)}")
    written = LOG.lines(model, timeline.moments[0].state, scene_of(timeline).way())
    rows = tuple(
        (line.phase, line.component, f"{line.text} ({OWN_WORDS})" if line.own else line.text)
        for lines in written
        for line in lines
        if line.node == node
    )
    return Sheet(f"The log of {node}", ("phase", "component", "line"), rows)
