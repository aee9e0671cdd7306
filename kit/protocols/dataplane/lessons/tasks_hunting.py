"""Exercises of the bug hunt: eight names, who need not know, and a simple model's rows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from kit.lessons.hunting import VARIANTS, drawn
from kit.lessons.hunting import judged as judged_word
from kit.lessons.judge import Arguments, ListedJudge, judged
from kit.lessons.tasks import Case, Marks, Task
from kit.protocols.dataplane.quorums import PassedBarrier, in_use, smallest
from kit.protocols.storage.rules.levels import AnswerQuota, majority
from kit.protocols.tcm.simulators.plain import regrouped

LISTED_SEEDS = range(1, 7)
PARTS = ("add", "switch", "drop")


def all_named(answer: dict[str, Any]) -> Marks:
    """Each variant was given its own missing safeguard; *accuse* shows why a wrong one is wrong."""
    variants = drawn(answer["seed"], answer["of"])
    said = {int(number): word for number, word in answer["names"].items()}
    cases = []
    for number in range(1, VARIANTS + 1):
        if number not in said:
            cases.append(Case(False))
            continue
        verdict = judged_word(variants[number - 1], number, said[number])
        cases.append(Case(verdict.passed, "" if verdict.passed else verdict.heading))
    return Marks(tuple(cases))


def names_of_hunts() -> Iterator[str]:
    """What each variant lacks, for the hunts of some seeds."""
    for seed in LISTED_SEEDS:
        ids = " ".join(variant.missing.id for variant in drawn(seed))
        yield f"seed {seed}, variants 1 to {VARIANTS}: {ids}"


def unaware(group: list[str], contacted: list[str], needed: int) -> bool:
    """Whether some majority of a group may know nothing of an epoch that a barrier waited for."""
    names = sorted({*group, *contacted})
    old, all_asked = (sum(1 << names.index(name) for name in some) for some in (group, contacted))
    quorums = smallest((AnswerQuota(old, majority(old)),), -1)
    return in_use(quorums, (PassedBarrier(all_asked, needed, 1),), 0) != ()


def _some_barrier(chance: random.Random) -> Arguments:
    group = ["A", "B", "C", "D", "E"][: chance.randint(1, 5)]
    waited_for = [*group[chance.randint(0, 1) :], *["X", "Y"][: chance.randint(0, 2)]] or ["X"]
    return [group, waited_for, chance.randint(max(1, len(waited_for) // 2), len(waited_for))]


def groups(before: list[str], after: list[str], done: int) -> list[list[str]]:
    """The read and the write group of a row after so many events, by the simple model."""
    old, new = frozenset(before), frozenset(after)
    row = old, old
    for part in PARTS[:done]:
        row = regrouped(part, row, new - old, old - new)
    return [sorted(group) for group in row]


def _some_row(chance: random.Random) -> Arguments:
    names = [f"n{i}" for i in range(1, 8)]
    size = chance.randint(1, 4)
    return [
        sorted(chance.sample(names, size)),
        sorted(chance.sample(names, size)),
        chance.randint(0, len(PARTS)),
    ]


TASKS = (
    Task(
        "find-the-bug",
        "find the bug, eight times",
        "Name what each of the eight variants lacks: hunt.accuse(number, id) for each, then check "
        "the hunt. Play the variant, search it, read the run that fails, and ask yourself which "
        "safeguard would have stopped it, and at which step.",
        "names",
        "read the last step of the shortest run: what would have had to be refused, waited for or "
        "sent along before it? A wrong name is answered by a run that your variant does not allow.",
        ListedJudge(all_named, names_of_hunts),
    ),
    Task(
        "unaware",
        "who need not know",
        "Write unaware(group, asked, needed). A barrier has waited until needed of the nodes in "
        "asked had applied an epoch. A coordinator that lags asks a majority of group. Tell "
        "whether it may meet a majority in which nobody knows that epoch.",
        "function",
        "choose the majority so that as few as possible of its members were asked. Count the "
        "others that were asked: when they are as many as needed, they may be all that know.",
        judged(
            "unaware",
            unaware,
            (
                [["A", "B", "C"], ["A", "B", "C", "X"], 3],
                [["A", "B", "C"], ["A", "B", "C", "X"], 2],
                [["A", "B", "C"], ["A", "B", "X"], 2],
            ),
            _some_barrier,
        ),
        seeded=True,
    ),
    Task(
        "simple-model",
        "a simple model of your own",
        "Write groups(before, after, done). before and after are the replicas of a row when "
        "nothing is under way, before and after an operation; done is how many of its three events "
        "are committed: new write replicas, read switch, old write replicas dropped. Give the read "
        "group and the write group, each sorted.",
        "function",
        "the first event changes writes alone, the second reads alone, the third writes again.",
        judged(
            "groups",
            groups,
            (
                [["A", "B", "C"], ["B", "C", "X"], 1],
                [["A", "B", "C"], ["B", "C", "X"], 2],
                [["A", "B"], ["A", "B"], 3],
            ),
            _some_row,
        ),
        seeded=True,
    ),
)
