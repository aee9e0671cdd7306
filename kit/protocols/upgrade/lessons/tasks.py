"""Exercises on the way into Raft: an upgrade that was stuck, three hunts, the order of advice."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

from kit.engine.timeline import Timeline
from kit.lessons.judge import Arguments, judged
from kit.lessons.replays import Ground
from kit.lessons.replays import judged as replayed
from kit.lessons.tasks import Task
from kit.protocols.upgrade.raft_upgrade import Cut
from kit.protocols.upgrade.rules.upgrade_state import KNOWN, POST, SYNCHRONIZE, state_at_start

SLIPS = ("use_raft", "done", "Synchronize", "")


def _all_finished(timeline: Timeline) -> str | None:
    """The goal that every node has finished at the end."""
    if all(node.state == POST for node in timeline.state.nodes):
        return None
    return "At the end of your run not every node has finished."


def _cut_while_synchronizing(timeline: Timeline) -> str | None:
    """The goal that a pair was cut while some node was in ``synchronize``."""
    moments = [timeline.moments[at] for at in timeline.path()]
    for before, moment in pairwise(moments):
        refusing = any(node.state == SYNCHRONIZE for node in before.state.nodes)
        if refusing and isinstance(moment.action, Cut):
            return None
    return "In your run no pair is cut while a node is in synchronize."


def _breaks(name: str) -> Callable[[Timeline], str | None]:
    """The goal that a promise is broken at the end."""

    def broken(timeline: Timeline) -> str | None:
        [promise] = [prop for prop in timeline.model.properties if prop.name == name]
        if promise.check(timeline.state) is not None:
            return None
        return f"At the end of your run this still holds: {promise.title}."

    return broken


def _some_value(chance: random.Random) -> Arguments:
    return [chance.choice((None, *KNOWN, *SLIPS))]


TASKS = (
    Task(
        "cut-and-ended",
        "cut, and ended all the same",
        "One pair may lose its connection. Give a run, as verbs or as a Player, in which that "
        "happens while a node is in synchronize, and in the end every node has finished.",
        "verbs",
        "bring the nodes as far as synchronize, cut one pair, and heal it: the nodes go on from "
        "where they were.",
        replayed(
            Ground("raft_upgrade", {"nodes": 2, "cuts": 1}),
            (_cut_while_synchronizing, _all_finished),
        ),
    ),
    Task(
        "different-schemas",
        "Raft over two schemas",
        "S-52 is off: no node waits for equal schema. Give a run of two nodes in which one has "
        "finished, and the other one has another schema.",
        "verbs",
        "one change has to come by gossip before the upgrade, and must not be pulled.",
        replayed(
            Ground("raft_upgrade", {"nodes": 2, "changes": 1}, ("schema-synchronization",)),
            (_breaks("one-schema"),),
        ),
    ),
    Task(
        "not-in-the-group",
        "not in the group",
        "S-62 is off: a node goes on without those that it does not reach. One node may go down. "
        "Give a run of two nodes after which they are not in one group 0: one has finished and "
        "the other one comes back without a group, or each has created a group of its own.",
        "verbs",
        "the upgrade begins with the last restart. Let one node go down after it.",
        replayed(
            Ground("raft_upgrade", {"nodes": 2, "crashes": 1}, ("all-alive",)),
            (_breaks("one-group"),),
        ),
    ),
    Task(
        "ring-without-a-member",
        "a ring without a member",
        "S-63 is off: the coordinator serves joins while it builds its table. Give a run of two "
        "members in which C joins, and a member is missing from the table that C goes by.",
        "verbs",
        "begin with POST, and do not build all rows.",
        replayed(
            Ground("topology_upgrade", {"nodes": 2, "joiners": 1}, ("requests-after-done",)),
            (_breaks("in-table"),),
        ),
    ),
    Task(
        "state-at-start",
        "what a restart makes of the row",
        "Write state_at_start(value). value is what the row group0_upgrade_state holds, or None "
        "where there is no row. Give the state in which the node starts.",
        "function",
        "four values are known. Without a row the node has not begun; what it does not know it "
        "takes for recovery.",
        judged(
            "state_at_start", state_at_start, ([None], ["synchronize"], ["use_raft"]), _some_value
        ),
        seeded=True,
    ),
)
