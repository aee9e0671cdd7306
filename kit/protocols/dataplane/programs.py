"""The lesson on programs that meet a moving cluster: what one is told, and exercises."""

from __future__ import annotations

import random
from typing import Any

from kit.clients.server import Served
from kit.engine.clients import RowAnswer, RowRequest
from kit.engine.timeline import PassedStep, Timeline
from kit.errors import BadInput
from kit.lessons.judge import Arguments, function_task
from kit.lessons.questions import PosedQuestion, posed
from kit.lessons.replays import Ground, run_task, takes
from kit.lessons.stills import still
from kit.protocols.storage.rules.requests import DONE, FAILED, parse_request, timestamp

TOLD = {
    "done": "it is done",
    "unavailable": "unavailable: nothing was sent",
    "timeout": "a timeout: too few answers came",
    "failure": "a failure: the answers don't count",
    "": "nothing yet: it waits",
}
"""What a program may be told, by the verdict of the model."""


def told(timeline: Timeline, served: Served, request: str) -> PosedQuestion:
    """What is a program told that now asks for this, such as ``K1 write QUORUM``?

    Raises BadInput for a request that reads otherwise, or for a served cluster that shows another
    history.
    """
    asked = parse_request(request)
    if served.timeline is not timeline:
        raise BadInput("served", served, "what serves this Player")
    ahead, answers = served.cluster.copy(), list[RowAnswer]()
    ahead.ask(RowRequest(asked.coordinator, asked.kind, asked.level), "…", answers.append)
    verdict = answers[0].verdict if answers else ""
    waits = f"{ahead.timeline.now.say} Its messages are held."
    return posed(
        f"A program asks {asked.coordinator} for a {asked.kind} at {asked.level}. What is it told?",
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
    """What a coordinator tells its client, by how many replicas live and how many answered."""
    if live < needed:
        return "unavailable"
    return "done" if answers >= needed else "timeout"


def _some_counts(chance: random.Random) -> Arguments:
    live = chance.randint(0, 5)
    return [chance.randint(1, 5), live, chance.randint(0, live)]


TASKS = (
    run_task(
        "comes-back",
        "it failed, and there it is",
        "Give a run, as verbs or as a Player, in which a write is given up, so that its program "
        "sees a timeout, and a later read returns that very write.",
        "let one replica have the write, and give it up. Nobody takes it off that disk, and the "
        "other messages are still on their way.",
        Ground("dataplane/timeouts"),
        takes(comes_back, "No read of your run returned a write that had been given up."),
    ),
    function_task(
        "which-error",
        "which error is it?",
        "Write which_error(needed, live, answers): how many answers a level needs, how many "
        "replicas live when the request comes, and how many of them answer in time. Give 'done', "
        "'unavailable' or 'timeout'.",
        "a coordinator that sees too few live replicas sends nothing at all.",
        which_error,
        ([2, 3, 2], [2, 1, 1], [2, 3, 1]),
        _some_counts,
    ),
)
