"""Exercises on models: a run of two-phase commit, a search, an invariant, steps of a model."""

import random

from kit.lessons.judge import Arguments, function_task
from kit.lessons.replays import Ground, ends, run_task

RMS = 3
WORDS = ("working", "prepared", "committed", "aborted")


def disagree(managers: list[str]) -> bool:
    """Whether one manager committed while another one aborted."""
    return "committed" in managers and "aborted" in managers


def every_state(start: int, arrows: list[list[int]]) -> list[int]:
    """The states that a search visits from ``start``, sorted. Arrows lead from one on."""
    reached, before = {start}, 0
    while len(reached) > before:
        before = len(reached)
        reached |= {target for source, target in arrows if source in reached}
    return sorted(reached)


def _some_arrows(chance: random.Random) -> Arguments:
    states = chance.randint(3, 8)
    arrows = [
        [chance.randrange(states), chance.randrange(states)]
        for _ in range(chance.randint(2, 2 * states))
    ]
    return [chance.randrange(states), arrows]


def steps(state: tuple[int, list[int], list[bool]]) -> list[list[object]]:
    """Each client that is not done reads what is new to it, or writes one more."""
    epoch, seen, done = state
    after: list[list[object]] = []
    for client in range(len(seen)):
        if not done[client]:
            now_seen, now_done = list(seen), list(done)
            if seen[client] == epoch:
                now_done[client] = True
            now_seen[client] = epoch
            after.append([epoch + (seen[client] == epoch), now_seen, now_done])
    return sorted(after)


def _some_register(chance: random.Random) -> Arguments:
    clients, epoch = chance.randint(1, 4), chance.randint(0, 3)
    seen = [chance.randint(-1, epoch) for _ in range(clients)]
    return [[epoch, seen, [chance.random() < 0.3 for _ in range(clients)]]]


TASKS = (
    run_task(
        "prepared-in-vain",
        "prepared in vain",
        "There are three managers in this two-phase commit. Give a run, as verbs or as a Player, "
        "in which the transaction manager hears that every manager is prepared, but in the end "
        "every manager has aborted.",
        "nothing forces the transaction manager to commit, even after it has heard from all of "
        "them.",
        Ground("twophase", {"rms": RMS}),
        ends(
            lambda s: s.heard.bit_count() == RMS,
            "The transaction manager did not hear that every manager is prepared.",
        ),
        ends(lambda s: s.aborted.bit_count() == RMS, "Not every manager has aborted in the end."),
    ),
    function_task(
        "every-state",
        "your own search",
        "Write every_state(start, arrows). States are numbers, and arrows is a list of the "
        "possible steps, each [from, to]. Return all states that a search from `start` visits, "
        "as a sorted list.",
        "keep a list of states to look at. Take one and add the states its arrows lead to, except "
        "those you have seen: arrows can form a cycle.",
        every_state,
        ([0, [[0, 1], [1, 2], [3, 0]]], [2, [[2, 4], [4, 2]]], [1, [[0, 1]]]),
        _some_arrows,
    ),
    function_task(
        "an-invariant",
        "your own invariant",
        "Write disagree(managers). managers is a list of words, one per manager: working, "
        "prepared, committed or aborted. Return whether the promise of two-phase commit is broken.",
        "no manager may have committed if another one has aborted; the other managers do not "
        "matter.",
        disagree,
        ([["committed", "prepared", "aborted"]], [["aborted", "working", "aborted"]]),
        lambda chance: [[chance.choice(WORDS) for _ in range(chance.randint(1, 6))]],
    ),
    function_task(
        "steps-of-a-model",
        "the steps of a model",
        "Write steps(state) for the register of this lesson, with any number of clients. state is "
        "[epoch, seen, done], two lists with one entry per client (seen is -1 for nothing). Return "
        "all states that one step can lead to, as a sorted list. A client that is not done reads "
        "the epoch if it has not seen the current one. Otherwise it writes, which adds one to the "
        "epoch.",
        "a client that is done does nothing more; a write does not change seen. Build new lists, "
        "and leave the lists in the state unchanged.",
        steps,
        ([[0, [-1, -1], [False, False]]], [[1, [0, 1], [True, False]]]),
        _some_register,
    ),
)
