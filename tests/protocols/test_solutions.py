"""What a teacher's notebook fills in, and questions whose choices stand in the picture."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any

import pytest

from kit.lessons.judge import FURTHER, HIDDEN, SEED
from kit.lessons.tasks import task_named, tasks
from kit.masks import where
from kit.model.registry import build, entries
from kit.model.timeline import Timeline
from kit.protocols.dataplane.lessons import always_meet, groups, unaware
from kit.protocols.group0.discovery import makes_one_group
from kit.protocols.group0.rules.commands import Command, Group0Safeguards, takes_effect
from kit.protocols.paxos.rules import Accepted, newer, to_propose
from kit.protocols.raft import core
from kit.protocols.raft.messages import VoteReply, VoteRequest
from kit.protocols.raft.rules.configuration import Configuration, Member, reached
from kit.protocols.raft.rules.log import Entry
from kit.protocols.raft.state import Options, Server, Stored
from kit.protocols.recovery.mode_cluster import MODES
from kit.protocols.recovery.rules.availability import after_deaths, answers
from kit.protocols.recovery.rules.procedure import regressing
from kit.protocols.storage.rules.levels import Level
from kit.protocols.tcm.lessons.tasks import must_not_die, parts, replicas
from kit.protocols.tcm.rules.quorums import levels, sharing
from kit.protocols.vnodes.lessons import acknowledged
from kit.ring import natural
from kit.ring.columns import np
from kit.ring.replication import SimpleStrategy
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring
from kit.views.frame import frame
from kit.views.panel import Scene, scene_of
from kit.views.question import MOST, Question
from kit.views.registry import for_model
from tests.protocols.by_rules import RULES as BY_RULES

FUNCTIONS = [name for name, task in tasks().items() if task.wants == "function"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_solution_leaves_what_it_is_given_as_it_was(name: str) -> None:
    """In every case, public and drawn."""
    judge: Any = task_named(name).judge
    chance = random.Random(SEED)
    for case in (*judge.public, *(judge.draw(chance) for _ in range(HIDDEN + FURTHER))):
        given = json.loads(json.dumps(case))
        judge.truth(*given)
        assert given == json.loads(json.dumps(case)), case


def met_majority(sizes: list[int], lost: list[int]) -> bool:
    """By the rule of recoveries, where all members vote."""
    places = tuple((f"dc{dc}", "r1") for dc, size in enumerate(sizes) for _ in range(size))
    dead = where(int(dc[2:]) in lost for (dc, _) in places)
    return after_deaths("documents", places, [dead]).holds


def met_levels(replicas: list[str], down: list[str]) -> list[str]:
    """By the rule of levels."""
    counts = {"dc1": (len(replicas), sum(name not in down for name in replicas))}
    levels: tuple[Level, ...] = ("ONE", "TWO", "THREE", "QUORUM", "ALL")
    return [each for each in levels if answers(each, counts, "dc1")]


def entries_back(indexes: list[int], leader: int) -> list[int]:
    """By the rule of the recovery leader."""
    back = regressing({str(at): index for at, index in enumerate(indexes)}, str(leader))
    return [back.get(str(at), 0) for at in range(len(indexes))]


def a_vote(term: int, vote: str, log: list[int], asker: str, wants: list[int]) -> bool:
    """The answer of Raft's core."""
    own = core.first_stored([*map(Member, "ABC")]).log
    for index, of in enumerate(log, 1):
        own = own.appended(Entry(of, index))
    server, asks = Server("A", Stored(term, vote, own)), VoteRequest(*wants)
    sent = core.receive(server, asker, asks, Options(timers=False)).messages
    return any(isinstance(each.message, VoteReply) and each.message.granted for each in sent)


def committed(term: int, log: list[int], stored: list[int]) -> int:
    """As Raft's core counts it."""
    names = "ABCDEFG"[: len(stored)]
    group = Configuration(tuple(map(Member, names)))
    end = reached(group, dict(zip(names, stored, strict=True)))
    return end if end and log[end - 1] == term else 0


def effects(commands: list[list[int]]) -> list[bool]:
    """By the rule of group 0, from state 0 on."""
    taken, newest = list[bool](), 0
    for previous, new in commands:
        taken.append(takes_effect(newest, Command(None, previous, new, ""), Group0Safeguards()))
        newest = new if taken[-1] else newest
    return taken


def must_propose(named: list[Any], own: str) -> str:
    """By the rules of Paxos."""
    newest: Accepted[str] | None = None
    for each in named:
        newest = newer(newest, Accepted(*each) if each else None)
    return to_propose(newest, own) or own


RULES: dict[str, Callable[..., Any]] = BY_RULES | {
    "majority-of-datacenters": met_majority,
    "levels-that-are-met": met_levels,
    "entries-that-go-back": entries_back,
    "runs-as": lambda value: MODES.get(value, MODES["unknown"]),
    "votes-for": a_vote,
    "committed-up-to": committed,
    "what-takes-effect": effects,
    "one-group": lambda seeds: makes_one_group({n: tuple(each) for n, each in seeds.items()}),
    "must-propose": must_propose,
}


@pytest.mark.parametrize("name", RULES)
def test_the_rules_of_the_kit_agree_with_each_solution(name: str) -> None:
    """A learner is compared with a function in Python alone."""
    judge: Any = task_named(name).judge
    chance = random.Random(SEED)
    for case in (*judge.public, *(judge.draw(chance) for _ in range(HIDDEN + FURTHER))):
        assert json.dumps(judge.truth(*case)) == json.dumps(RULES[name](*case)), case


@pytest.mark.parametrize(
    ("edition", "old", "new", "answered", "enough"),
    [
        ("documents", "ABC", "ABD", "AB", True),
        ("documents", "ABC", "ABD", "AC", False),
        ("documents", "ABCD", "ABCD", "AB", False),  # half is no majority
        ("documents", "ABCD", "ABCD", "ABC", True),
        ("documents", "A", "B", "A", False),
        ("documents", "A", "B", "AB", True),
        ("server", "ABC", "ABD", "AB", False),  # one more for the pending one
        ("server", "ABC", "ABD", "ABC", True),
        ("server", "ABC", "ABC", "AB", True),
        ("server", "ABCD", "ABCD", "AB", False),
        ("server", "ABCD", "ABCD", "ABC", True),
        ("server", "ABC", "ADE", "ABD", False),
        ("server", "ABC", "ADE", "ABDE", True),
        ("server", "ABC", "ABD", "ABX", False),
    ],
)
def test_the_solution_counts_acknowledgements_by_edition(
    edition: str, old: str, new: str, answered: str, enough: bool
) -> None:
    """A majority of each set, or as many more as there are pending replicas."""
    assert acknowledged(edition, [*old], [*new], [*answered]) is enough


@pytest.mark.parametrize(
    ("readers", "writers", "meet"),
    [
        ("A", "A", True),
        ("A", "B", False),
        ("ABC", "ABC", True),
        ("ABC", "ABD", False),
        ("ABCD", "ABCE", True),
        ("ABC", "ABCD", True),
        ("AB", "ABCD", True),
        ("AB", "ABCDE", False),
        ("AB", "BCDE", False),
        ("ABC", "CDE", False),
        ("AB", "BC", True),
        ("ABCDE", "ABCFG", False),
    ],
)
def test_the_solution_knows_whether_majorities_meet(readers: str, writers: str, meet: bool) -> None:
    """The answer is that of trying every pair of smallest majorities."""
    sets = [
        [{*each} for each in combinations(group, len(group) // 2 + 1)]
        for group in (readers, writers)
    ]
    assert all(read & write for read, write in product(*sets)) is meet
    assert always_meet([*readers], [*writers]) is meet


@pytest.mark.parametrize(
    ("group", "answers", "needed", "may"),
    [
        ("ABC", "", 0, True),
        ("ABC", "", 1, False),
        ("ABC", "A", 1, True),  # B and C are the majority that knows
        ("ABC", "AB", 2, False),  # one of the two is of any majority
        ("ABC", "AB", 1, True),
        ("ABC", "ABC", 2, False),
        ("ABC", "ABC", 1, True),
        ("ABCD", "AB", 2, False),
        ("ABCDE", "AB", 2, True),
        ("ABC", "XY", 2, True),
        ("A", "A", 1, False),
    ],
)
def test_the_solution_knows_how_many_may_be_unaware(
    group: str, answers: str, needed: int, may: bool
) -> None:
    """As many as may answer from outside of the majority that knows."""
    assert unaware([*group], [*answers], needed) is may


@pytest.mark.parametrize(
    ("done", "reads", "writes"),
    [(0, "BC", "BC"), (1, "BC", "ABC"), (2, "AB", "ABC"), (3, "AB", "AB")],
)
def test_the_solution_sorts_readers_and_writers(done: int, reads: str, writes: str) -> None:
    """In whatever order the nodes are given."""
    assert groups([*"CB"], [*"BA"], done) == [[*reads], [*writes]]


@pytest.mark.parametrize(
    ("rights", "cuts", "numbers"),
    [
        ([1, 5], [3], [1, 1]),
        ([10, 20, 30], [20], [2, 1]),  # a range that ends at the cut ends before it
        ([10, 20, 30], [5, 15], [0, 1, 2]),
    ],
)
def test_the_solution_counts_ranges_where_they_end(
    rights: list[int], cuts: list[int], numbers: list[int]
) -> None:
    """From the start of the line on."""
    assert parts(rights, cuts) == numbers


def walked(tokens: dict[str, int], token: int, rf: int) -> list[str]:
    """The replicas of a token, by the engine's own walk."""
    nodes = [Node(name, (owned,)) for name, owned in tokens.items()]
    ring = Ring.of(nodes, small(max(tokens.values()) + 100))
    [codes] = natural.replicas(ring, SimpleStrategy(rf), np.array([token]))
    return [ring.names[code] for code in codes]


def lost_next(groups: list[list[str]], down: list[str]) -> list[str]:
    """The nodes whose death takes QUORUM from a group, by the engine's own columns."""
    names = sorted({name for group in groups for name in group})
    width = max(len(group) for group in groups)
    rows = [[names.index(name) for name in group] + [-1] * (width - len(group)) for group in groups]
    dead = np.array([name in down for name in names], np.bool_)
    quorum = next(x for x in levels(np.array(rows, np.int32).T, {}, dead) if x.name == "QUORUM")
    nodes = np.arange(len(names), dtype=np.int32)
    units, _ = quorum.lost(sharing(quorum.alive, nodes, alone=True))
    return [names[code] for code in sorted(set(units.tolist()))]


@pytest.mark.parametrize(
    ("name", "solution", "engine"),
    [("replicas", replicas, walked), ("must-not-die", must_not_die, lost_next)],
)
def test_the_engine_agrees_with_each_solution(name: str, solution: Any, engine: Any) -> None:
    """Exercises of a class's size are answered by the rules of the whole kit, too."""
    judge: Any = task_named(name).judge
    chance = random.Random(SEED)
    for case in (*judge.public, *(judge.draw(chance) for _ in range(HIDDEN + FURTHER))):
        assert solution(*case) == engine(*case), case


STEPS = 40


IN_THE_PICTURE = {"tcm", "topology", "recovery", "recovery_mode", "raft_upgrade"}


def asked(name: str) -> Iterator[tuple[Question, Scene]]:
    """The questions along the usual run, each with what is shown while it is open."""
    model = build(name)
    timeline = Timeline(model)
    while len(timeline.moments) <= STEPS and timeline.forward() is not None:
        pass
    for moment in timeline.moments[1:]:
        question = for_model(model).question(scene_of(timeline, moment.id))
        if question is not None:
            yield question, scene_of(timeline, moment.parent)


@pytest.mark.parametrize("name", entries())
def test_each_question_has_its_choices_in_the_picture(name: str) -> None:
    """Some thing that stands for a choice is in the frame before the step."""
    views, pressed = for_model(build(name)), 0
    for question, scene in asked(name):
        assert len(question.things) <= len(question.choices) <= MOST, question
        assert set(question.right) <= set(question.choices), question
        drawn = frame(scene, views.panels, views.macros)
        shown = {part.get("data-of") for part in drawn.walk()}
        things = set(filter(None, question.things))
        assert not things or things & shown, question
        pressed += bool(things)
    assert pressed or name not in IN_THE_PICTURE
