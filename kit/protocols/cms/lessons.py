"""What the lessons on the CMS ask, and their exercises: the models of this family answer."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.errors import BadInput, KitError, check_among
from kit.lessons.badges import Badge
from kit.lessons.judge import Arguments, TypedJudge, function_task
from kit.lessons.questions import PosedQuestion, copied, listed, model_of, posed
from kit.lessons.replays import Ground, breaking, ends, run_task, takes
from kit.lessons.stills import still
from kit.lessons.tasks import Task
from kit.model.scenario import file_named, open_file
from kit.model.timeline import PassedStep, Timeline, played_out
from kit.protocols.cms.cms import Cms, working
from kit.protocols.cms.commit import Commit
from kit.protocols.cms.drill import BOOT, DUMP
from kit.protocols.cms.facts.commit import requests
from kit.protocols.cms.facts.schema import changes, known_line, known_rows
from kit.protocols.cms.migration import MigratingCluster, Migration, numbered
from kit.protocols.cms.rules.log import slice_since
from kit.protocols.cms.rules.members import quorums
from kit.protocols.cms.schema import Schema
from kit.protocols.gossip.rules import schema_of

if TYPE_CHECKING:  # what no page has
    from kit.widgets.player import Player

DONE = "✓"
"""How a change that is done begins in the table of changes."""
UNKNOWN = "nothing"


def answer_to(timeline: Timeline, request: str) -> PosedQuestion:
    """What is a request's submitter told in the end? BadInput for another model or request."""
    model = model_of(timeline, Commit)
    end = played_out(copied(timeline, timeline.tip))
    rows = {row.id: row for row in requests(model, end.state)}
    check_among("request", request, rows)
    row = rows[request]
    endings = (*(f"committed as epoch {place}" for place in range(1, len(rows) + 1)), "rejected")
    return posed(
        f"{row.node} submits {request}: {row.event}. What is {row.node} told in the end?",
        (*endings, UNKNOWN),
        (next((each for each in endings if row.state.startswith(each)), UNKNOWN),),
        f"What {row.node} knows of {request} in the end: {row.state}.",
        still(end, "log"),
    )


def fetched(timeline: Timeline, node: str, peer: str) -> PosedQuestion:
    """What does a node get that asks a peer for the log? BadInput for another model or node."""
    model = model_of(timeline, Commit)
    if unknown := {node, peer}.difference(model.names):
        raise BadInput("node", min(unknown), f"one of {', '.join(model.names)}")
    mine, theirs = (timeline.state.nodes[model.number(name)].log for name in (node, peer))
    uncut = replace(theirs, cut=0, snapshots=())
    others = (slice_since(log, mine.epoch) for log in (uncut, replace(uncut, cut=theirs.cut)))
    sent = slice_since(theirs, mine.epoch).text
    return posed(
        f"{node} is at epoch {mine.epoch} and asks {peer} for everything above that. "
        f"What does {node} get?",
        (*sorted({sent, *(each.text for each in others)}), "nothing"),
        (sent,),
        f"{peer} is at epoch {theirs.epoch}, and has truncated its log up to epoch {theirs.cut}.",
        still(timeline, "stores"),
    )


def deciding(timeline: Timeline) -> PosedQuestion:
    """Which nodes are just enough to decide, by the longest log? BadInput for another model."""
    model = model_of(timeline, Cms)
    known = model.newest(timeline.state)
    readers, writers = (", ".join(model.named(each)) for each in (known.readers, known.writers))
    sets = (mask for mask in range(1, known.writers + 1) if mask & known.writers == mask)
    names = {mask: " and ".join(model.named(mask)) for mask in sorted(sets, key=int.bit_count)}
    right = [names[mask] for mask in quorums(known.readers, known.writers, known.writers)]
    return posed(
        "Which of these are just enough to decide the next epoch, with no node to spare?",
        names.values(),
        right,
        f"Reads count {readers}, and writes count {writers}. A majority of each must store the "
        f"entry: {listed(right)}.",
        still(timeline, "placement"),
    )


def still_able(timeline: Timeline) -> PosedQuestion:
    """What can a cluster still do whose CMS has lost members? BadInput for another model."""
    model, s = model_of(timeline, Cms), timeline.state
    newest, up = model.newest(s), working(model, s)
    able = {
        "change a table": model.commits(s),
        "print the log with nodetool cms dumplog": model.has_quorum(s),
        "change the members of the CMS": model.commits(s),
        "read and write rows at QUORUM": model.serving(s),
    }
    answering = (newest.readers & up).bit_count()
    behind = ""
    if model.has_quorum(s) and not model.commits(s):
        behind = " No member with a quorum knows the newest epoch, so one has to catch up first."
    return posed(
        "What can you still do with this cluster?",
        able,
        [what for what, holds in able.items() if holds],
        f"{answering} of {newest.readers.bit_count()} members answer. The log needs a majority of "
        f"them, even to be read.{behind} Rows need a majority of their own replicas.",
        still(timeline, "members"),
    )


# -- the schema ------------------------------------------------------------------------------------


def with_log(name: str, *, ordered: bool = False) -> Player:
    """A story told by gossip, and as a branch the same requests where a log orders them.

    One looks at its start, or at the end of the ``ordered`` branch.

    Raises BadInput for a story that there is not.
    Raises Refused where the story lacks no safeguard, or breaks no promise.
    """
    from kit.widgets.player import Player  # noqa: PLC0415  # judging a task needs no widget

    player = Player(open_file(file_named(name)), controls=False)
    by_gossip = player.timeline.tip
    player.goto(by_gossip)
    player.goto(player.put_back("S-80").tip)
    played_out(player.timeline)
    if not ordered:
        player.goto(by_gossip)
        player.goto(0)
    return player


def done_changes(timeline: Timeline) -> PosedQuestion:
    """Which changes are done, as clients are told in the end? BadInput for another model."""
    end = _ended(timeline)
    rows = changes(end.here, end.state)
    return posed(
        "Which clients are told in the end that their change is done?",
        [row.text for row in rows],
        [row.text for row in rows if row.became.startswith(DONE)],
        "; ".join(f"{row.text}: {row.became}" for row in rows),
        still(end, "schemas"),
    )


def _ended(timeline: Timeline, kind: type = Schema) -> Any:
    model_of(timeline, kind)
    return copied(timeline, timeline.tip)


def starters(timeline: Timeline) -> PosedQuestion:
    """Which nodes can load their schema if they restart in the end? BadInput for another model."""
    end = _ended(timeline)
    lacking = {node.name: schema_of(node.cells).orphans for node in end.state.nodes}
    reasons = [f"{name} has {listed(orphans)}" for name, orphans in lacking.items() if orphans]
    return posed(
        "In the end every node is restarted. Which nodes can load their schema?",
        lacking,
        [name for name, orphans in lacking.items() if not orphans],
        f"{'; '.join(reasons) or 'Nothing on any node needs anything that is missing'}.",
        still(end, "schemas"),
    )


def finders(timeline: Timeline) -> PosedQuestion:
    """Which nodes find the first write when they read the table, at the end of this branch?

    Raises BadInput where the model is not that of a schema.
    Raises KitError where nothing is written.
    """
    end = _ended(timeline)
    if not end.state.written:
        raise KitError("predict: nothing is written on this branch")
    under = end.state.written[0]
    ids = {node.name: node.table_id or "no id" for node in end.state.nodes}
    return posed(
        "In the end every node looks for the first write. Which ones find it in ks.t?",
        ids,
        [name for name, known in ids.items() if known == under],
        f"The write is under id {under}, and the nodes read under these ids: "
        f"{listed(f'{name} {known}' for name, known in ids.items())}.",
        still(end, "schemas"),
    )


def recipients(timeline: Timeline, node: str) -> PosedQuestion:
    """To which nodes does a node send a write now? BadInput for another model or node."""
    model_of(timeline, Schema)
    here: Any = timeline.here
    rows = {row.name: row for row in known_rows(here, timeline.state)}
    check_among("node", node, rows)
    return posed(
        f"A client writes to ks.t, and {node} is the coordinator. Which nodes does it send the "
        "write to?",
        rows,
        (*rows[node].owners, *rows[node].joining),
        f"According to what each node knows: {'; '.join(map(known_line, rows.values()))}.",
        still(timeline, "known"),
    )


# -- from gossip to the log ------------------------------------------------------------------------


def kept_changes(timeline: Timeline) -> PosedQuestion:
    """Which changes that were acknowledged does the log have, at the end of this branch?

    Raises BadInput where the model is not that of the migration.
    Raises KitError where nothing is changed, or no log begins.
    """
    end = _ended(timeline, Migration)
    s = end.state
    if not s.made or not s.logs:
        raise KitError("predict: nothing is changed on this branch, or no log begins")
    held = s.logs[-1].facts_at(s.logs[-1].top)
    return posed(
        "Clients were told that their changes are done. Which of them are in the log in the end?",
        [f"change {number + 1}" for number in range(s.made)],
        [f"change {number + 1}" for number in range(s.made) if held >> number & 1],
        f"The log holds these changes: {numbered(held) or UNKNOWN}.",
        still(end, "beliefs"),
    )


# -- exercises -------------------------------------------------------------------------------------


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
    """A ballot is promised where no higher one was."""
    return [ballot == max(ballots[: place + 1]) for place, ballot in enumerate(ballots)]


def accepted(events: list[str]) -> list[bool]:
    """A table can be created where it is not, and altered or dropped where it is."""
    there: set[str] = set()
    answers = []
    for event in events:
        kind, _, table = event.split()
        answers.append((table in there) != (kind == "create"))
        if answers[-1] and kind != "alter":
            there ^= {table}
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
    """Nobody is open to changes, and all have the same."""
    closed = all(version == "new" or switch for version, switch, _ in nodes)
    return closed and all(has == nodes[0][2] for _, _, has in nodes)


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
    """More than half of either group answers."""
    return all(2 * len({*group} & {*up}) > len(group) for group in (readers, writers))


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
        lambda chance: [[chance.randint(1, 9) for _ in range(chance.randint(1, 6))]],
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
