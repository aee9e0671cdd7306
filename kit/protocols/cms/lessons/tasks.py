"""Exercises on the CMS, each judged by its model."""

import random
from typing import Any

from kit.engine.timeline import PassedStep, Timeline
from kit.lessons.judge import Arguments, function_task
from kit.lessons.replays import Ground, breaking, run_task, takes
from kit.protocols.cms.commit import Commit
from kit.protocols.cms.rules.events import Metadata, enact, objection
from kit.protocols.cms.rules.log import Entry
from kit.protocols.cms.rules.paxos import Slot, promise


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
    run_task(
        "joined-without",
        "joined without a write",
        "S-80 is off, so the schema and the joins are spread by gossip. Give a run of A, B and "
        "the joiner X, as verbs or as a Player, in which X has joined and lacks a write that a "
        "client was told is done.",
        "one of the two has to write while it has not heard of X, and X has to copy its data "
        "before that write.",
        Ground("schema", {"nodes": 2, "race": "none", "joins": 1, "writes": 1}, ("ordered",)),
        breaking("streamed", "no node has joined without a write."),
    ),
    function_task(
        "accepted",
        "which events the log accepts",
        "Write accepted(events). events are lines such as 'create table t', 'alter table t' and "
        "'drop table t', in the order in which the CMS looks at them. There is no table at first. "
        "Give a list of True and False: which of them are committed.",
        "keep the tables that there are after each event that was accepted. One that is rejected "
        "changes nothing.",
        accepted,
        (
            [["create table t", "create table t", "alter table t"]],
            [["create table t", "drop table t", "alter table t", "create table t"]],
        ),
        _events,
    ),
)
