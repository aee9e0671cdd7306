"""Exercises on the CMS, each judged by its model."""

import random
from typing import Any

from kit.lessons.badges import Badge
from kit.lessons.judge import Arguments, TypedJudge, function_task
from kit.lessons.replays import Ground, breaking, ends, run_task, takes
from kit.lessons.tasks import Task
from kit.model.timeline import PassedStep, Timeline
from kit.protocols.cms.commit import Commit
from kit.protocols.cms.drill import BOOT, DUMP
from kit.protocols.cms.migrating_cluster import MigratingCluster, MigratingNode
from kit.protocols.cms.migration import Migration
from kit.protocols.cms.rules.events import Metadata, enact, objection
from kit.protocols.cms.rules.log import Entry
from kit.protocols.cms.rules.members import NAMES, Members
from kit.protocols.cms.rules.members import decides as is_decided
from kit.protocols.paxos.rules import Slot, promise

TYPED = "cms/cms-lost"


def _overtakes(model: Any, step: PassedStep) -> bool:
    log = model.history(step.after)
    return bool(log) and log[0].id == "r2" and not model.history(step.before)


def _both_told(timeline: Timeline) -> str | None:
    stages = [each.stage for each in timeline.state.requests]
    if stages == ["committed", "committed"]:
        return None
    return f"At the end of your run the submitters know: {', '.join(stages)}."


def _began(timeline: Timeline) -> str | None:
    steps = [each.action for each in timeline.passed()]
    nodes = {each.request: each.node for each in steps if isinstance(each, Commit.submit)}
    if {0: "A", 1: "B", **nodes} != {0: "A", 1: "B"}:
        return "r1 has to be submitted to A, and r2 to B."
    opened = [each.node for each in steps if isinstance(each, Commit.open_ballot)]
    is_first = opened[:1] == ["A"] and "B" in opened
    return None if is_first else "A has to open a ballot first, and then B."


def promises(ballots: list[int]) -> list[bool]:
    """Of ballots in the order in which an acceptor is asked: whether it promises each."""
    slot, answers = Slot[str](1), []
    for ballot in ballots:
        answers.append(ballot >= slot.promised)
        slot = promise(slot, ballot)
    return answers


def _ballots(chance: random.Random) -> Arguments:
    return [[chance.randint(1, 9) for _ in range(chance.randint(1, 6))]]


def accepted(events: list[str]) -> list[bool]:
    """Of events in the order of the log, which is empty at first: whether each is accepted."""
    metadata, answers = Metadata(), []
    for epoch, event in enumerate(events, 1):
        answers.append(objection(metadata, event) is None)
        if answers[-1]:
            metadata = enact(metadata, Entry(epoch, event, ""))
    return answers


def _events(chance: random.Random) -> Arguments:
    kinds = ("create table", "alter table", "drop table")
    return [[f"{chance.choice(kinds)} {chance.choice('tu')}" for _ in range(chance.randint(2, 7))]]


def _finds_mismatch(_model: Any, step: PassedStep) -> bool:
    return any(node.unlike for node in step.after.nodes)


def _by_the_log(s: MigratingCluster) -> bool:
    return s.made > 0 and all(
        (log := s.log_of(node)) and node.epoch == log.top and node.facts == (1 << s.made) - 1
        for node in s.nodes
    )


def log_may_begin(nodes: list[tuple[str, bool, list[int]]]) -> bool:
    """Whether the first of these nodes may begin the log: the model's own rule."""
    model = Migration(Migration.Parameters(nodes=len(nodes)))
    cluster = [
        MigratingNode(is_new=version == "new", frozen=switch, facts=sum(1 << each for each in has))
        for version, switch, has in nodes
    ]
    heard = [place for place, node in enumerate(cluster) if node.is_new]
    unlike = [place for place in heard if cluster[place].facts != cluster[0].facts]
    answered, differ = (sum(1 << place for place in some) for some in (heard, unlike))
    cluster[0] = cluster[0].but(initiator=0, answered=answered, unlike=differ)
    s = model.start().but(nodes=tuple(cluster))
    return model.refusal(s, Migration.begin_log("A")) is None


def _nodes(chance: random.Random) -> Arguments:
    usual = [1] * chance.randint(0, 1)
    others = [
        [
            chance.choice(("old", "new")),
            chance.random() < 0.8,
            usual if chance.random() < 0.8 else [2],
        ]
        for _ in range(chance.randint(1, 3))
    ]
    return [[["new", False, usual], *others]]


def decides(readers: list[str], writers: list[str], up: list[str]) -> bool:
    """Whether an event can be committed by the nodes that answer."""
    able, *groups = (sum(1 << NAMES.index(n) for n in names) for names in (up, readers, writers))
    return is_decided(Members(readers=groups[0], writers=groups[1]), able)


def _groups(chance: random.Random) -> Arguments:
    writers = sorted(chance.sample("ABCDE", chance.randint(1, 5)))
    readers = writers[: max(1, len(writers) - chance.randint(0, 1))]
    return [readers, writers, sorted(chance.sample("ABCDE", chance.randint(1, 5)))]


def passing() -> tuple[str, ...]:
    """Lines that pass the drill: the server that is down, the file, a CMS of one, then of three."""
    start = "systemctl {} cassandra".format
    looks = [line for name in "BDC" for line in (f"on {name}", "nodetool cms describe")]
    file = ("jmx dumpClusterMetadata", f"addtocmstool {DUMP} 10.0.0.13", f"{BOOT}: {DUMP}")
    end = ("nodetool cms reconfigure 3", "nodetool cms reconfigure --status")
    return ("on C", start("start"), *looks, *file, start("restart"), f"{BOOT}:", *end)


def _skips(m: Any, step: PassedStep) -> bool:
    logs = (node.log for node in step.after.nodes if node.log.snapshots)
    return any(log.entry(log.snapshots[-1].epoch) is None for log in logs)


def _all_heard(m: Any, step: PassedStep) -> bool:
    there = step.after.where(lambda node: node.is_there)
    return any(node.answered == there for node in step.after.nodes)


BADGES = (
    Badge(
        "the metadata service with another member",
        "cms",
        "cms/third-node",
        lambda m, step: m.newest(step.after).readers != m.newest(step.before).readers,
    ),
    Badge("a snapshot that skips entries", "commit", "cms/snapshot-and-archive", _skips),
    Badge(
        "a commit that is rejected",
        "commit",
        "cms/race-rejected",
        lambda m, step: any(each.stage == "rejected" for each in step.after.requests),
    ),
    Badge("a comparison that includes every node", "migration", "migration/mismatch", _all_heard),
)

TASKS = (
    run_task(
        "overtaken",
        "overtaken",
        "A and B submit at the same time, in a CMS of A, B and C. Give a run, as verbs or as a "
        "Player, in which A opens its ballot first, but B's event still becomes epoch 1. Both "
        "submitters have to be told that their event is committed.",
        "C can promise A's ballot if it promises B's higher one before it has accepted anything. "
        "A member whose ballot is void learns the epoch and opens another ballot.",
        Ground("commit", {"events": ("alter table t at A", "alter table u at B")}),
        _began,
        takes(_overtakes, "In your run epoch 1 is not the event of B (r2)."),
        _both_told,
    ),
    function_task(
        "promises",
        "what an acceptor promises",
        "Write promises(ballots). ballots is a list of numbers, in the order in which members ask "
        "one acceptor for its promise. Return a list of True and False: whether it promises each "
        "one.",
        "keep track of the highest ballot promised. A refusal changes nothing.",
        promises,
        ([[1, 3, 2]], [[2, 2, 5, 4, 5]]),
        _ballots,
    ),
    Task(
        "typed-loss",
        "the whole CMS, typed",
        f"Pass the drill {TYPED}. Give the lines that you typed, as a list, or board.typed of a "
        "DrillBoard on this drill.",
        "verbs",
        "one server is only down. Check which node has the newest epoch before you make the file, "
        "and remove the option when the node runs again. checklist shows the steps.",
        TypedJudge(TYPED, passing),
    ),
    function_task(
        "decides",
        "which nodes decide",
        "Write decides(readers, writers, up). All three are lists of names: the members that are "
        "read from, those that are written to, and the nodes that answer. Return whether an "
        "event can be committed.",
        "you need two majorities: one of the readers and one of the writers.",
        decides,
        (
            [["A", "B", "C"], ["A", "B", "C"], ["A", "B"]],
            [["A", "B", "C"], ["A", "B", "C", "D"], ["A", "B"]],
            [["A"], ["A", "B"], ["A"]],
        ),
        _groups,
    ),
    run_task(
        "joined-without",
        "joined without a write",
        "S-80 is off, so the schema and the joins are spread by gossip. Give a run of A, B and "
        "the joiner X, as verbs or as a Player, in which X has joined but lacks a write that was "
        "acknowledged to a client.",
        "A or B has to write before it has heard of X, and X has to copy its data before that "
        "write.",
        Ground("schema", {"nodes": 2, "race": "none", "joins": 1, "writes": 1}, ("ordered",)),
        breaking("streamed", "no node has joined with a write missing."),
    ),
    function_task(
        "accepted",
        "which events the log accepts",
        "Write accepted(events). events is a list of lines such as 'create table t', 'alter table "
        "t' and 'drop table t', in the order in which the CMS checks them. There is no table at "
        "first. Return a list of True and False: whether each one is committed.",
        "keep track of which tables exist after each accepted event. A rejected event changes "
        "nothing.",
        accepted,
        (
            [["create table t", "create table t", "alter table t"]],
            [["create table t", "drop table t", "alter table t", "create table t"]],
        ),
        _events,
    ),
    run_task(
        "mended",
        "found and mended",
        "In the server edition, with two nodes, give a run (as verbs or as a Player) in which a "
        "change by gossip is on only one node when the migration begins, the mismatch is found, "
        "and in the end both nodes follow the log, which has the change.",
        "change the schema on an old node, don't let the two gossip, upgrade both, and let one "
        "initialize and hear from the other. Then abort, inject, and initialize again.",
        Ground("migration", {"edition": "server", "nodes": 2}),
        takes(_finds_mismatch, "No initiator of your run has found a mismatch."),
        ends(_by_the_log, "In the end, not both nodes follow a log that has the change."),
    ),
    function_task(
        "log-may-begin",
        "can the log begin",
        "Write log_may_begin(nodes), as in the documents. Each node is [version, switch, "
        "changes]: 'old' or 'new', whether its switch is set, and the list of changes that it "
        "has. The first node is new, and all new nodes have answered it. Return True if it may "
        "begin the log.",
        "an old node whose switch is not set can still change something. And all nodes must have "
        "the same changes.",
        log_may_begin,
        (
            [[["new", False, [1]], ["old", True, [1]]]],
            [[["new", False, [1]], ["old", False, [1]]]],
            [[["new", False, []], ["new", False, [1]]]],
        ),
        _nodes,
    ),
)
