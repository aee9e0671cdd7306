"""Exercises on group 0: a race that one loses, what takes effect, seeds that make one group."""

from __future__ import annotations

import random

from kit.engine.timeline import Timeline
from kit.lessons.judge import Arguments, judged
from kit.lessons.replays import Ground
from kit.lessons.replays import judged as replayed
from kit.lessons.tasks import Task
from kit.protocols.group0.facts import moment as facts
from kit.protocols.group0.group0 import Group0
from kit.protocols.group0.rules.commands import Command
from kit.protocols.group0.rules.discovery import makes_one_group
from kit.protocols.group0.rules.history import takes_effect
from kit.protocols.group0.rules.safeguards import Group0Safeguards

NODES = "ABCD"


def _has_no_op(timeline: Timeline) -> str | None:
    """The goal that a committed command did nothing."""
    model = timeline.model
    assert isinstance(model, Group0)
    if all(row.effective for row in facts.entries(model, timeline.state)):
        return "Every command of your run takes effect."
    return None


def _told_both(timeline: Timeline) -> str | None:
    """The goal that one client was told of success and the other of an error."""
    answers = sorted(timeline.state.answers)
    return None if answers == ["error", "success"] else f"The clients are told: {answers}."


def effects(commands: list[list[int]]) -> list[bool]:
    """Of commands [previous, new], in the order of the log: which take effect, from state 0 on."""
    newest, taken = 0, []
    for previous, new in commands:
        counts = takes_effect(newest, Command(None, previous, new, ""), Group0Safeguards())
        newest = new if counts else newest
        taken.append(counts)
    return taken


def one_group(seeds: dict[str, list[str]]) -> bool:
    """Whether these contact points make one group, whatever the order of messages."""
    return makes_one_group({name: tuple(points) for name, points in seeds.items()})


def _some_commands(chance: random.Random) -> Arguments:
    states, commands = [0], []
    for new in range(1, chance.randint(3, 8)):
        commands.append([chance.choice(states[-2:]), new])
        if chance.random() < 0.3:
            commands.append(chance.choice(commands))
        states.append(new)
    return [commands]


def _some_seeds(chance: random.Random) -> Arguments:
    return [{name: sorted(chance.sample(NODES, chance.randint(0, 2))) for name in NODES}]


TASKS = (
    Task(
        "lost-race",
        "lose the race",
        "Two clients ask A and B for the same table. Give a run, as verbs or as a Player, in which "
        "both commands are committed, one of them does nothing, and both clients are answered.",
        "verbs",
        "both nodes must read the same newest state id before either command is applied there; "
        "the one whose command did nothing begins again and validates once more.",
        replayed(Ground("group0"), (_has_no_op, _told_both)),
    ),
    Task(
        "what-takes-effect",
        "what takes effect",
        "Write effects(commands). commands is the log: a list of [previous, new] state ids. The "
        "first state is 0. Give a list of True and False: which of them take effect.",
        "function",
        "keep the newest state id; a command that does nothing leaves it as it is, and the same "
        "command may stand in the log twice.",
        judged(
            "effects",
            effects,
            ([[[0, 1], [1, 2], [1, 3]]], [[[0, 1], [0, 1], [1, 4]]]),
            _some_commands,
        ),
        seeded=True,
    ),
    Task(
        "one-group",
        "one group or two",
        "Write one_group(seeds). seeds gives each node the list of its contact points. True when "
        "discovery makes one group, whatever the order of messages.",
        "function",
        "follow the contact points from each node as far as they lead. One node must be reached "
        "from all of them (a node reaches itself).",
        judged(
            "one_group",
            one_group,
            ([{"A": [], "B": ["A"], "C": ["B"]}], [{"A": [], "B": [], "C": ["A", "B"]}]),
            _some_seeds,
        ),
        seeded=True,
    ),
)
