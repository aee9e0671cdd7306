"""Questions and exercises on the two upgrades, which the models answer; a node's log as a table."""

from collections.abc import Callable
from typing import Any

from kit.edge.arguments import checked
from kit.errors import KitError, check_among
from kit.lessons.judge import function_task
from kit.lessons.questions import PosedQuestion, listed, model_of, posed
from kit.lessons.replays import Ground, breaking, ends, run_task, takes
from kit.lessons.stills import scene_of, still, timeline_of
from kit.model.flows import OWN_WORDS
from kit.model.timeline import PassedStep, Timeline
from kit.protocols.upgrade import facts
from kit.protocols.upgrade.raft_upgrade import LOG, Cut, RaftUpgrade
from kit.protocols.upgrade.rules import KNOWN, POST, SYNCHRONIZE, next_step
from kit.protocols.upgrade.topology_upgrade import TopologyUpgrade
from kit.views.static import Sheet

NOBODY = "nobody"


def _raft(timeline: Timeline) -> RaftUpgrade:
    return model_of(timeline, RaftUpgrade, "the Raft upgrade")


def upgrade_waits(timeline: Timeline, node: str) -> PosedQuestion:
    """Which nodes does a node wait for in the Raft upgrade? BadInput for another model or node."""
    model = _raft(timeline)
    check_among("node", node, model.names)
    missing = model.named(model.awaited(timeline.state, model.number(node)))
    [row] = [each for each in facts.nodes(model, timeline.state) if each.name == node]
    others = tuple(name for name in model.names if name != node)
    why = (
        f"{node} waits: {row.waits}."
        if missing
        else (f"{node} waits for no node: it can continue.")
    )
    return posed(
        f"Which nodes is {node} waiting for now?",
        (*others, NOBODY),
        tuple(name for name in others if name in missing) or (NOBODY,),
        why,
        still(timeline, "phases"),
    )


def first_advice(timeline: Timeline) -> PosedQuestion:
    """What does an operator do first when a Raft upgrade is stuck here?

    Raises BadInput if the model is not the Raft upgrade; KitError if no node is waiting.
    """
    model = _raft(timeline)
    tree = facts.advice(model, timeline.state, scene_of(timeline).way())
    if not tree:
        raise KitError("predict: no node is waiting for another one here")
    first = next_step(tree)
    kinds = ("restart nodes that are down", "repair a connection", "a rolling restart",
             "manual recovery", "ask support")  # fmt: skip
    at = next((at for at, each in enumerate(tree) if not each.is_good), None)
    choices = (*kinds, "wait")
    return posed(
        "The upgrade is stuck. What do you do first?",
        choices,
        (choices[-1 if at is None else at],),
        f"The first question with the answer no decides what to do: {first}.",
        still(timeline, "advice"),
    )


def missing_from_table(timeline: Timeline) -> PosedQuestion:
    """Which members are not in ``system.topology`` yet? BadInput for another model."""
    model, state = model_of(timeline, TopologyUpgrade, "the topology upgrade"), timeline.state
    inside, missing = model.named(state.normal), model.named(state.unread)
    return posed(
        "If a node read its ring from system.topology now, which members would be missing?",
        (*inside, NOBODY),
        missing or (NOBODY,),
        f"Gossip knows {listed(inside)}; the table lacks {listed(missing) if missing else NOBODY}.",
        still(timeline, "topology"),
    )


@checked
def upgrade_log(source: Any, node: str) -> Sheet:
    """Show what one node has written to its log, up to the moment shown.

    Lines that begin a phase name it; those in the kit's own words say so.

    Raises BadInput if the model is not the Raft upgrade, or if there is no such node.
    """
    timeline = timeline_of(source)
    model = timeline.model
    if not isinstance(model, RaftUpgrade):
        raise KitError("upgrade_log: this is not a run of the Raft upgrade")
    check_among("node", node, model.names)
    written = LOG.lines(model, timeline.moments[0].state, scene_of(timeline).way())
    rows = tuple(
        (line.phase, line.component, f"{line.text} ({OWN_WORDS})" if line.own else line.text)
        for lines in written
        for line in lines
        if line.node == node
    )
    return Sheet(f"The log of {node}", ("phase", "component", "line"), rows)


SLIPS = ("use_raft", "done", "Synchronize", "")


def _cuts_short(_m: Any, step: PassedStep) -> bool:
    refusing = any(node.state == SYNCHRONIZE for node in step.before.nodes)
    return refusing and isinstance(step.action, Cut)


def _breaks(name: str) -> Callable[[Timeline], str | None]:
    def broken(timeline: Timeline) -> str | None:
        [promise] = [prop for prop in timeline.model.properties if prop.name == name]
        if promise.check(timeline.state) is not None:
            return None
        return f"At the end of your run, this promise is still kept: {promise.title}."

    return broken


def state_at_start(value: str | None) -> str:
    """The four known values stand for themselves."""
    known = ("use_pre_raft_procedures", "synchronize", "use_post_raft_procedures", "recovery")
    if value is None:
        return known[0]
    return value if value in known else "recovery"


TASKS = (
    run_task(
        "cut-and-ended",
        "cut, but finished anyway",
        "One pair of nodes can lose its connection. Give a run, as verbs or as a "
        "Player, in which this happens while a node is in synchronize, and every node still "
        "finishes.",
        "bring the nodes as far as synchronize, then cut one pair and heal it: the "
        "nodes continue where they left off.",
        Ground("raft_upgrade", {"nodes": 2, "cuts": 1}),
        takes(_cuts_short, "In your run, no pair is cut while a node is in synchronize."),
        ends(
            lambda s: all(node.state == POST for node in s.nodes),
            "At the end of your run, not every node has finished.",
        ),
    ),
    run_task(
        "different-schemas",
        "Raft over two schemas",
        "S-52 is off: no node waits until schemas are equal. Give a run with two nodes "
        "in which one has finished while the other one has a different schema.",
        "make one change by gossip before the upgrade, and do not let the other node pull it.",
        Ground("raft_upgrade", {"nodes": 2, "changes": 1}, ("schema-synchronization",)),
        _breaks("one-schema"),
    ),
    run_task(
        "not-in-the-group",
        "not in the group",
        "S-62 is off: a node carries on without nodes that it cannot reach. One node "
        "can go down. Give a run with two nodes that ends without one shared group 0: one node "
        "has finished and the other comes back without a group, or each has created its own "
        "group.",
        "the upgrade begins with the last restart. Let one node go down after that.",
        Ground("raft_upgrade", {"nodes": 2, "crashes": 1}, ("all-alive",)),
        _breaks("one-group"),
    ),
    run_task(
        "ring-without-a-member",
        "a ring without a member",
        "S-63 is off: the coordinator serves joins while it is still building its "
        "table. Give a run with two members in which C joins and a member is missing from the "
        "table that C uses.",
        "start with POST, and do not build all the rows.",
        Ground("topology_upgrade", {"nodes": 2, "joiners": 1}, ("requests-after-done",)),
        breaking("in-table", "no member is missing from the table that C uses."),
    ),
    function_task(
        "state-at-start",
        "how a restart reads the row",
        "Write state_at_start(value). value is the content of the row "
        "group0_upgrade_state, or None if there is no row. Return the state in which the node "
        "starts.",
        "four values are known. Without a row, the node has not begun; any other "
        "value counts as recovery.",
        state_at_start,
        ([None], ["synchronize"], ["use_raft"]),
        lambda chance: [chance.choice((None, *KNOWN, *SLIPS))],
    ),
)
