"""Lessons on reads and writes: questions, two worlds side by side, exercises and a bug hunt, and
what a program is told.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.console.clients import RowAnswer, RowRequest
from kit.edge.arguments import checked
from kit.errors import BadInput, KitError
from kit.lessons.badges import Badge
from kit.lessons.hunting import VARIANTS, drawn
from kit.lessons.hunting import judged as judged_word
from kit.lessons.judge import Arguments, ListedJudge, function_task
from kit.lessons.questions import PosedQuestion, copied, model_of, posed
from kit.lessons.replays import Ground, breaking, run_task, takes
from kit.lessons.stills import scene_of, still
from kit.lessons.tasks import Case, Marks, Task
from kit.masks import mask_of
from kit.model.registry import build, check_one_of, one_of
from kit.model.scenario import Script, ScriptLine, ScriptStep, file_named, parse, read, run
from kit.model.timeline import PassedStep, Timeline, played_out
from kit.protocols.dataplane import quorums as simulator
from kit.protocols.dataplane.dataplane import Dataplane
from kit.protocols.storage import facts
from kit.protocols.storage.events import Delivered
from kit.protocols.storage.facts import RequestRow
from kit.protocols.storage.rules.levels import enough
from kit.protocols.storage.rules.requests import DONE, FAILED, parse_request, timestamp
from kit.protocols.tcm.lessons import cluster_of
from kit.views.actions import refusal_text
from kit.views.question import MOST
from kit.views.registry import for_model
from kit.views.static import Sheet

if TYPE_CHECKING:  # what no page has
    from kit.clients.server import Served
    from kit.widgets.player import Player

LEVELS = ("ONE", "TWO", "QUORUM", "ALL")
RULES = ("union", "joint")
MOVES = ("apply", "commit")
WHOLE, BOTH = "from the whole group (union)", "from the old and from the new replicas (joint)"


@checked
def sent_at(epoch: int, level: str = "QUORUM", **parameters: Any) -> Player:
    """Open a Player on a write of this level that was sent at an epoch of the bootstrap. Raises
    BadInput for another epoch or level.
    """
    from kit.widgets.player import Player  # noqa: PLC0415  # judging a task needs no widget

    model = build("dataplane", {**parameters, "requests": [f"K1 write {level}"]})
    player = Player(model, controls=False)
    verb = f"write 1 at epoch {epoch}"
    while verb not in map(model.verb, model.actions(player.state)):
        step = next((a for a in model.actions(player.state) if model.kind(a) in MOVES), None)
        if step is None:
            raise BadInput("epoch", epoch, "one that the bootstrap reaches")
        player.act(step)
    player.act(verb)
    return player


@checked
def needed(epoch: int) -> Sheet:
    """Show how many answers each level needs at an epoch, for both ways to count pending ones."""
    rows = []
    for level in LEVELS:
        players = (sent_at(epoch, level, acknowledgement=rule) for rule in RULES)
        requests = [facts.requests(dataplane_of(p.timeline), p.state)[0] for p in players]
        rows.append((level, *map(_needs, requests)))
    title = f"How many answers a write planned at epoch {epoch} needs"
    return Sheet(title, ("level", WHOLE, BOTH), tuple(rows))


def _needs(row: RequestRow) -> str:
    return " and ".join(f"{quota.needed} of {', '.join(quota.replicas)}" for quota in row.plan)


def outcome(timeline: Timeline, verb: str) -> PosedQuestion:
    """The outcome of a step: what the client hears, what a replica does with a message.

    ``verb`` names it: ``answer read 2``; else BadInput. KitError when there is nothing to ask.
    """
    ahead = copied(timeline)
    model = ahead.model
    if (option := model.find(ahead.state, verb)) is None:
        raise BadInput("verb", verb, one_of(verb, [*map(model.verb, model.actions(ahead.state))]))
    action, refusal = option
    if refusal is not None:
        raise KitError(f"predict: {verb} must wait: {refusal_text(refusal)}")
    ahead.do(action)
    if (question := for_model(model).question(scene_of(ahead))) is None:
        raise KitError(f"predict: there is nothing to ask about {verb}")
    return PosedQuestion(question, still(ahead, "spacetime"))


def holders(timeline: Timeline, cell: str) -> PosedQuestion:
    """Which replicas hold a cell (``write 1``, else BadInput) now, and can be reached?"""
    m, s = dataplane_of(timeline), timeline.state
    written = [row.title for row in facts.requests(m, s) if not row.title.startswith("read")]
    check_one_of("cell", cell, written)
    rows = facts.replicas(m, s)
    lost = [f"{row.name} is down" for row in rows if not row.up]
    return posed(
        f"Which nodes that can be reached have {cell} on disk now?",
        tuple(row.name for row in rows),
        tuple(row.name for row in rows if row.cell == cell and row.up),
        "; ".join([*(f"{row.name} holds {row.cell}" for row in rows), *lost]) + ".",
        still(timeline, "lanes"),
    )


def not_owned(timeline: Timeline) -> PosedQuestion:
    """At the end, which nodes hold data of the range although they are no longer replicas?"""
    ahead = played_out(copied(timeline))
    m, s = dataplane_of(ahead), ahead.state
    rows = facts.replicas(m, s)
    return posed(
        "The run continues to its end. Which nodes hold data of the range without being replicas?",
        tuple(row.name for row in rows),
        tuple(row.name for row in rows if row.not_owned),
        "; ".join(f"{row.name} holds {row.cell}, {row.role}" for row in rows) + ".",
        still(ahead, "lanes"),
    )


def enough_answers(timeline: Timeline, request: int = 0) -> PosedQuestion:
    """Which sets of answers, of those nearest the border, are enough for an open request?"""
    m, s = dataplane_of(timeline), timeline.state
    rows = facts.requests(m, s)
    if not 0 <= request < len(rows) or rows[request].phase != "open":
        raise KitError(f"predict: request {request} is not open")
    row = rows[request]
    group = sorted({name for quota in row.plan for name in quota.replicas})
    wanted = m.wanted(s, request, s.requests[request].epoch)
    half = len(group) // 2
    sets = [names for size in (half, half + 1) if size for names in combinations(group, size)]
    offered = [" ".join(names) for names in sets[:MOST]]
    good = [
        " ".join(names)
        for names in sets[:MOST]
        if enough(wanted, mask_of(m.code[name] for name in names))
    ]
    return posed(
        f"{row.title} was sent at epoch {row.planned} to {len(group)} replicas "
        f"({', '.join(group)}) at level {row.level}. Which answers are enough?",
        offered,
        good,
        f"For this plan, {row.level} means {_needs(row)}.",
        still(timeline, "lanes"),
    )


def dataplane_of(timeline: Timeline) -> Dataplane:
    """The model of a timeline; BadInput when it is none of reads and writes."""
    return model_of(timeline, Dataplane, "dataplane, reads and writes of a range")


_FAR = 2  # epochs apart, at most, of the pairs that are offered


def crossed(timeline: Timeline, label: str) -> PosedQuestion:
    """On one range that an operation changes, when may a read miss an acknowledged write?"""
    rows = simulator.quorums(cluster_of(timeline), levels=[("QUORUM", "QUORUM")]).rows
    known = list(dict.fromkeys(row.range for row in rows))
    check_one_of("range", label, known)
    here = [row for row in rows if row.range == label and 0 < row.apart <= _FAR and row.pairs]
    if not here:
        raise KitError("predict: no two epochs are in use at once here")
    here.sort(key=lambda row: (row.apart, row.read_epoch, row.write_epoch))
    missed = [row for row in here if row.missed]
    return posed(
        f"Every read and every write of {label} goes to a majority. At which of these epochs can a "
        "read miss a write?",
        tuple(map(_epochs_of, here)),
        tuple(map(_epochs_of, missed)),
        " ".join(f"{simulator.miss_text(row)}." for row in missed)
        or "Every read quorum meets every write quorum.",
    )


def _epochs_of(row: simulator.Crossing) -> str:
    return f"read at {row.read_epoch}, write at {row.write_epoch}"


MODES = ("log", "gossip")


def both_worlds(story: str) -> Sheet:
    """Play a scenario file of requests with a log, and by gossip, which alone has ticks."""
    script = parse(read(file_named(f"dataplane/{story}")), story)
    commands = [line for step in script.steps for line in step.commands]
    log, gossip = (_outputs(script, mode, commands) for mode in MODES)
    rows = tuple((line.text, log.get(line, ""), gossip.get(line, "")) for line in commands)
    return Sheet(f"{story} in two worlds", ("command", "with a log", "by gossip"), rows)


def _outputs(script: Script, mode: str, commands: list[ScriptLine]) -> dict[ScriptLine, str]:
    done = [line for line in commands if mode == "gossip" or line.text != "tick"]
    header = [line for line in script.header if not line.text.startswith("mode ")]
    header.append(ScriptLine(header[-1].number, f'mode "{mode}"'))
    steps = tuple(ScriptStep((line,), ()) for line in done)
    _, shown = run(replace(script, header=tuple(header), steps=steps))
    return {line: " ".join(texts) for line, texts in zip(done, shown, strict=True)}


NAMES = "ABCDEFG"


def always_meet(readers: list[str], writers: list[str]) -> bool:
    """Counted: what two majorities need beyond the nodes that there are, they share."""
    alone = len(set(readers) - set(writers)), len(set(writers) - set(readers))
    both = len(set(readers) & set(writers))
    shared = len(readers) // 2 + 1 - alone[0], len(writers) // 2 + 1 - alone[1]
    return sum(shared) > both


def still_quorum(answered: list[str], group: list[str]) -> bool:
    """Whether the answers of members of the newest group are a majority of it."""
    return len({*answered} & {*group}) > len(group) // 2


def _some_answers(chance: random.Random) -> Arguments:
    sizes = chance.randint(0, 5), chance.randint(1, 5)
    return [sorted(chance.sample(NAMES, size)) for size in sizes]


def plan_fails(model: Any, step: PassedStep) -> bool:
    """Whether a request fails although its plan, as it was sent, had its answers."""
    before, now = facts.requests(model, step.before), facts.requests(model, step.after)
    stale = (row.number for row in before if row.enough and not row.valid)
    return any(now[number].phase == "failed" for number in stale)


LISTED_SEEDS = range(1, 7)


def all_named(answer: dict[str, Any]) -> Marks:
    """Each variant was given its own missing safeguard; *accuse* shows why a wrong one is wrong."""
    variants = drawn(answer["seed"], answer["of"])
    said = {int(number): word for number, word in answer["names"].items()}
    cases = []
    for number, variant in enumerate(variants[:VARIANTS], 1):
        verdict = judged_word(variant, number, said[number]) if number in said else None
        passed = verdict is not None and verdict.passed
        cases.append(Case(passed, "" if verdict is None or passed else verdict.heading))
    return Marks(tuple(cases))


def names_of_hunts() -> Iterator[str]:
    """The fault of each variant, for the hunts of some seeds."""
    for seed in LISTED_SEEDS:
        ids = " ".join(variant.missing.id for variant in drawn(seed))
        yield f"seed {seed}, variants 1 to {VARIANTS}: {ids}"


def unaware(group: list[str], answers: list[str], needed: int) -> bool:
    """A majority of those who were not asked, as far as there are any."""
    others = set(group) - set(answers)
    lost = max(0, len(group) // 2 + 1 - len(others))
    return len(answers) - lost >= needed


def _some_barrier(chance: random.Random) -> Arguments:
    group = ["A", "B", "C", "D", "E"][: chance.randint(1, 5)]
    waited_for = [*group[chance.randint(0, 1) :], *["X", "Y"][: chance.randint(0, 2)]] or ["X"]
    return [group, waited_for, chance.randint(max(1, len(waited_for) // 2), len(waited_for))]


def groups(before: list[str], after: list[str], done: int) -> list[list[str]]:
    """New writers first, then readers, then the old writers go."""
    reads = after if done >= 2 else before
    writes = [before, {*before, *after}, {*before, *after}, after][done]
    return [sorted(reads), sorted(writes)]


def _some_row(chance: random.Random) -> Arguments:
    names = [f"n{i}" for i in range(1, 8)]
    size = chance.randint(1, 4)
    before, after = (sorted(chance.sample(names, size)) for _ in range(2))
    return [before, after, chance.randint(0, 3)]


TOLD = {
    "done": "done",
    "unavailable": "unavailable (nothing was sent)",
    "timeout": "a timeout (too few answers arrived)",
    "failure": "a failure (the answers don't count)",
    "": "nothing yet (the request waits)",
}
"""What a program may be told, by the verdict of the model."""


def program_hears(timeline: Timeline, served: Served, request: str) -> PosedQuestion:
    """What answer does a program get that asks for this now, such as ``K1 write QUORUM``?

    Raises BadInput for a request that reads otherwise, or for a served cluster that shows another
    history.
    """
    wish = parse_request(request)
    if served.timeline is not timeline:
        raise BadInput("served", served, "what serves this Player")
    ahead, answers = served.copy(), list[RowAnswer]()
    ahead.ask(RowRequest(wish.coordinator, wish.kind, wish.level), "…", answers.append)
    verdict = answers[0].verdict if answers else ""
    waits = f"{ahead.timeline.now.say} Its messages are held."
    return posed(
        f"A program asks {wish.coordinator} for a {wish.kind} at {wish.level}. What answer does "
        "it get?",
        TOLD.values(),
        (TOLD[verdict],),
        answers[0].why if answers else waits,
        still(ahead.timeline, "spacetime"),
    )


def comes_back(model: Any, step: PassedStep) -> bool:
    """Whether a read returns what a request wrote whose own client was told a failure."""
    before, after = step.before.requests, step.after.requests
    for number, (was, now) in enumerate(zip(before, after, strict=True)):
        if was.phase != now.phase == DONE and not model.mutations[number] and now.newest_seen:
            stamps = [each.timestamp for each in after]
            writer = after[stamps.index(timestamp(now.newest_seen))]
            if writer.phase == FAILED:
                return True
    return False


def which_error(needed: int, live: int, answers: int) -> str:
    """The error of a coordinator to its client, by how many replicas live and how many answered."""
    if live < needed:
        return "unavailable"
    return "done" if answers >= needed else "timeout"


def _some_counts(chance: random.Random) -> Arguments:
    live = chance.randint(0, 5)
    return [chance.randint(1, 5), live, chance.randint(0, live)]


BADGES = (
    Badge(
        "a replica that refuses a coordinator that is behind",
        "dataplane",
        "dataplane/no-longer-a-member",
        lambda m, step: any(
            isinstance(each, Delivered) and "no " in each.error[:3]
            for each in m.happened(step.before, step.action, step.after)
        ),
    ),
)

TASKS = (
    run_task(
        "miss-a-write",
        "lose it yourself",
        "The barrier (S-01) is off. Give a run, as verbs or as a Player, in which a write "
        "succeeds and a later read misses it.",
        "let only X keep up, and commit as far as the read switch. Then one coordinator writes at "
        "an old epoch and another reads at a new one.",
        Ground("dataplane/no-barrier"),
        breaking("visible", "no read has missed a write."),
    ),
    function_task(
        "always-meet",
        "do they always meet?",
        "Write always_meet(readers, writers). Both are groups of node names. Return True when "
        "every majority of one group shares a node with every majority of the other.",
        "a majority of n nodes is more than n / 2 of them. The groups can differ in size; try "
        "every majority of each.",
        always_meet,
        (
            [["A", "B", "C"], ["A", "B", "C", "X"]],
            [["A", "B", "C"], ["B", "C", "X"]],
            [["A", "B"], ["B", "C"]],
        ),
        lambda chance: [sorted(chance.sample(NAMES[:5], chance.randint(1, 4))) for _ in range(2)],
    ),
    run_task(
        "stale-plan",
        "too late",
        "You are the replicas. Give a run of the real coordinator, as verbs or as a Player, in "
        "which its plan gets all the answers that it needs, but the request still fails because "
        "the plan has gone stale.",
        "let it plan at epoch 100, and let the second answer carry an epoch in which the write "
        "group has four members.",
        Ground("coordinator"),
        takes(plan_fails, "No request in your run failed because its plan had gone stale."),
    ),
    function_task(
        "still-quorum",
        "validate the plan again",
        "Write still_quorum(answered, group): the nodes that have answered, and the group at the "
        "newest epoch that the coordinator knows. Return True when the answers are still a quorum.",
        "an answer from a node outside the group does not count. You need a majority of the group, "
        "not of the nodes that were asked.",
        still_quorum,
        (
            [["A", "B"], ["A", "B", "C"]],
            [["A", "B"], ["A", "B", "C", "X"]],
            [["A", "B"], ["B", "C", "X"]],
        ),
        _some_answers,
    ),
    Task(
        "find-the-bug",
        "find the bug, eight times",
        "Name the safeguard that each of the eight variants lacks: call accuse(number, id) of "
        "your hunt for each, then check the hunt. Play the variant, search it, and read the run "
        "that fails. Which safeguard would have stopped it, and at which step?",
        "names",
        "read the last step of the shortest run: what should have been refused, waited for or sent "
        "along before it? If a name is wrong, you get a run that your variant does not allow.",
        ListedJudge(all_named, names_of_hunts),
    ),
    function_task(
        "unaware",
        "which nodes need not know",
        "Write unaware(group, asked, needed). A barrier has waited until `needed` of the nodes "
        "in `asked` had applied an epoch. A coordinator that lags asks a majority of `group`. "
        "Return True when it can pick a majority in which no node knows that epoch.",
        "choose the majority with the fewest members that were asked. Count the asked nodes "
        "outside it: if there are at least `needed` of them, they can be the only nodes that "
        "know the epoch.",
        unaware,
        (
            [["A", "B", "C"], ["A", "B", "C", "X"], 3],
            [["A", "B", "C"], ["A", "B", "C", "X"], 2],
            [["A", "B", "C"], ["A", "B", "X"], 2],
        ),
        _some_barrier,
    ),
    function_task(
        "simple-model",
        "a simple model of your own",
        "Write groups(before, after, done). `before` and `after` are the replicas of a row before "
        "the operation begins and after it ends; `done` is how many of its three events are "
        "committed: new write replicas, read switch, old write replicas dropped. Return the read "
        "group and the write group, each sorted.",
        "the first event changes only writes, the second only reads, and the third only writes.",
        groups,
        (
            [["A", "B", "C"], ["B", "C", "X"], 1],
            [["A", "B", "C"], ["B", "C", "X"], 2],
            [["A", "B"], ["A", "B"], 3],
        ),
        _some_row,
    ),
    run_task(
        "comes-back",
        "it failed, yet there it is",
        "Give a run, as verbs or as a Player, in which a coordinator gives up on a write, so its "
        "program sees a timeout, but a later read still returns that write.",
        "let one replica take the write, then time it out. Nothing removes the write from that "
        "disk, and the other messages are still on their way.",
        Ground("dataplane/timeouts"),
        takes(comes_back, "No read in your run returned a write that had timed out."),
    ),
    function_task(
        "which-error",
        "which error is it?",
        "Write which_error(needed, live, answers): how many answers a level needs, how many "
        "replicas are live when the request arrives, and how many of them answer in time. Return "
        "'done', 'unavailable' or 'timeout'.",
        "a coordinator that sees too few live replicas sends nothing at all.",
        which_error,
        ([2, 3, 2], [2, 1, 1], [2, 3, 1]),
        _some_counts,
    ),
)
