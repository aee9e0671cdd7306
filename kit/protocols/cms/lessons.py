"""What the lessons on the CMS ask, and their exercises."""

import random
from typing import Any

from msgspec.structs import replace

from kit.engine.timeline import PassedStep, Timeline, played_out
from kit.errors import BadInput
from kit.lessons.judge import Arguments, TypedJudge, function_task
from kit.lessons.questions import PosedQuestion, copied, listed, model_of, posed
from kit.lessons.replays import Ground, run_task, takes
from kit.lessons.stills import still
from kit.lessons.tasks import Task
from kit.protocols.cms.cms import Cms, working
from kit.protocols.cms.commit import Commit
from kit.protocols.cms.drill import BOOT, DUMP
from kit.protocols.cms.facts.commit import requests
from kit.protocols.cms.rules.log import slice_since
from kit.protocols.cms.rules.members import NAMES, Members, quorums
from kit.protocols.cms.rules.members import decides as is_decided
from kit.protocols.cms.rules.paxos import Slot, promise

SUBMITTING = "the model commit"
UNKNOWN = "nothing"
TYPED = "cms/cms-lost"


def answer_to(timeline: Timeline, request: str) -> PosedQuestion:
    """What is the submitter of a request told, once the run has come to its end?

    Raises BadInput where the model does not submit events, or for a request that there is not.
    """
    model = model_of(timeline, Commit, SUBMITTING)
    end = played_out(copied(timeline, timeline.tip))
    rows = {row.id: row for row in requests(model, end.state)}
    if request not in rows:
        raise BadInput("request", request, f"one of {', '.join(rows)}")
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
    """What does a node get that asks a peer for the log?

    Raises BadInput where the model does not submit events, or for a node that there is not.
    """
    model = model_of(timeline, Commit, SUBMITTING)
    if unknown := {node, peer}.difference(model.names):
        raise BadInput("node", min(unknown), f"one of {', '.join(model.names)}")
    mine, theirs = (timeline.state.nodes[model.number(name)].log for name in (node, peer))
    uncut = replace(theirs, cut=0, snapshots=())
    others = (slice_since(log, mine.epoch) for log in (uncut, replace(uncut, cut=theirs.cut)))
    sent = slice_since(theirs, mine.epoch).text
    return posed(
        f"{node} is at epoch {mine.epoch} and asks {peer} for what is above. What does it get?",
        (*sorted({sent, *(each.text for each in others)}), "nothing"),
        (sent,),
        f"{peer} is at epoch {theirs.epoch}, and has cut off its log up to epoch {theirs.cut}.",
        still(timeline, "stores"),
    )


def deciding(timeline: Timeline) -> PosedQuestion:
    """Which nodes are just enough to decide the next epoch, by the longest log?

    Raises BadInput where the model is not that of the members.
    """
    model = model_of(timeline, Cms, "the model cms")
    known = model.newest(timeline.state)
    readers, writers = (", ".join(model.named(each)) for each in (known.readers, known.writers))
    sets = (mask for mask in range(1, known.writers + 1) if mask & known.writers == mask)
    names = {mask: " and ".join(model.named(mask)) for mask in sorted(sets, key=int.bit_count)}
    right = [names[mask] for mask in quorums(known.readers, known.writers, known.writers)]
    return posed(
        "Which of these are just enough to decide the next epoch, with nobody to spare?",
        names.values(),
        right,
        f"Reads count {readers}, writes count {writers}; most of both have to store it: "
        f"{listed(right)}.",
        still(timeline, "placement"),
    )


def still_able(timeline: Timeline) -> PosedQuestion:
    """What can still be done by a cluster whose CMS has lost members?

    Raises BadInput where the model is not that of the members.
    """
    model, s = model_of(timeline, Cms, "the model cms"), timeline.state
    newest, up = model.newest(s), working(model, s)
    able = {
        "change a table": model.commits(s),
        "print the log with nodetool cms dumplog": model.has_quorum(s),
        "give the CMS other members": model.commits(s),
        "read and write rows at QUORUM": model.serving(s),
    }
    answering = (newest.readers & up).bit_count()
    return posed(
        "What can you still do with this cluster?",
        able,
        [what for what, holds in able.items() if holds],
        f"{answering} of {newest.readers.bit_count()} members answer. The log needs a majority of "
        "them, also to be read. Rows need a majority of their own replicas.",
        still(timeline, "members"),
    )


# -- exercises -------------------------------------------------------------------------------------


def _overtakes(model: Any, step: PassedStep) -> bool:
    """Whether epoch 1 becomes the second request, after the first one has had a ballot."""
    log = model.history(step.after)
    return bool(log) and log[0].id == "r2" and not model.history(step.before)


def _both_told(timeline: Timeline) -> str | None:
    stages = [each.stage for each in timeline.state.requests]
    if stages == ["committed", "committed"]:
        return None
    return f"At the end of your run the submitters know: {', '.join(stages)}."


def _began(timeline: Timeline) -> str | None:
    """The goal that A has opened a ballot before B has."""
    steps = (each.action for each in timeline.passed())
    opened = [each.node for each in steps if isinstance(each, Commit.open_ballot)]
    is_first = opened[:1] == ["A"] and "B" in opened
    return None if is_first else "A has to open a ballot first, then B."


def promises(ballots: list[int]) -> list[bool]:
    """Of ballots in the order in which an acceptor is asked: whether it promises each."""
    slot, answers = Slot(1), []
    for ballot in ballots:
        answers.append(ballot >= slot.promised)
        slot = promise(slot, ballot)
    return answers


def _ballots(chance: random.Random) -> Arguments:
    return [[chance.randint(1, 9) for _ in range(chance.randint(1, 6))]]


def decides(readers: list[str], writers: list[str], up: list[str]) -> bool:
    """Whether an event can be committed by the nodes that answer."""
    able, *groups = (
        sum(1 << NAMES.index(each) for each in names) for names in (up, readers, writers)
    )
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


TASKS = (
    run_task(
        "overtaken",
        "overtaken",
        "A and B submit at the same time, in a CMS of A, B and C. Give a run, as verbs or as a "
        "Player, in which A opens its ballot first, and yet the event of B is epoch 1. Both "
        "submitters have to be told that their event is committed.",
        "C may promise A's ballot, as long as it promises B's higher one before it has accepted "
        "anything. A member whose ballot is void learns the epoch and opens another one.",
        Ground("commit", {"events": ("alter table t at A", "alter table u at B")}),
        _began,
        takes(_overtakes, "In your run epoch 1 is not the event of B (r2)."),
        _both_told,
    ),
    function_task(
        "promises",
        "what an acceptor promises",
        "Write promises(ballots). ballots are numbers, in the order in which members ask one "
        "acceptor for its promise. Give a list of True and False: which of them it promises.",
        "keep the highest ballot that was promised. A refusal changes nothing.",
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
        "one server is only down. Look which node has the newest epoch before you make the file, "
        "and take the option away when the node runs again. checklist shows the steps.",
        TypedJudge(TYPED, passing),
    ),
    function_task(
        "decides",
        "which nodes decide",
        "Write decides(readers, writers, up). All three are lists of names: the members that are "
        "read from, those that are written to, the nodes that answer. Tell whether an event can be "
        "committed.",
        "two majorities are needed, one of the readers and one of the writers.",
        decides,
        (
            [["A", "B", "C"], ["A", "B", "C"], ["A", "B"]],
            [["A", "B", "C"], ["A", "B", "C", "D"], ["A", "B"]],
            [["A"], ["A", "B"], ["A"]],
        ),
        _groups,
    ),
)
