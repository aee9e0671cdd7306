"""Lessons on requests under the coordinator: questions on versions and late copies, exercises."""

import random
from typing import Any

from kit.errors import BadInput, KitError
from kit.lessons.judge import Arguments, function_task
from kit.lessons.questions import PosedQuestion, posed
from kit.lessons.replays import Ground, breaking, broken, run_task, takes
from kit.lessons.stills import still
from kit.model.timeline import Timeline
from kit.protocols.storage import facts
from kit.protocols.storage.storage import LandLate, Serve, Storage
from kit.protocols.vnodes.vnodes import AGAIN, ONE

TAKES, TURNS_AWAY = "it takes the copy", "it rejects the copy"


def refusers(timeline: Timeline, request: str) -> PosedQuestion:
    """Which replicas would refuse a request on its way (``write 1``) if it reached them now?"""
    m, s = versions_of(timeline), timeline.state
    rows = {row.title: row for row in facts.requests(m, s) if row.on_the_way}
    if request not in rows:
        raise BadInput("request", request, "one that is on its way: " + ", ".join(rows) or "none")
    row = rows[request]
    answers = {name: m.answer(s, Serve(row.number, name)).verdict for name in row.on_the_way}
    refuse = tuple(name for name, verdict in answers.items() if verdict != "ok")
    known = {each.name: each.epoch for each in facts.replicas(m, s)}
    said = "; ".join(
        f"{name} is at version {known[name]} and {'refuses' if name in refuse else 'admits'} it"
        for name in answers
    )
    return posed(
        f"{request.capitalize()} was planned at version {m.epoch(s, s.requests[row.number].epoch)} "
        "and is still on its way. Which nodes would refuse it if it arrived now?",
        answers,
        refuse,
        f"{said}.",
        still(timeline, "lanes"),
    )


def late_copy(timeline: Timeline) -> PosedQuestion:
    """What does its target do with a copy that arrives after its session?"""
    m, s = versions_of(timeline), timeline.state
    late = next((action for action in m.actions(s) if isinstance(action, LandLate)), None)
    if late is None:
        raise KitError("predict: no copy was left behind")
    takes = m.lets_in(s, m.code[late.target], late.session)
    known = {row.name: row.epoch for row in facts.replicas(m, s)}[late.target]
    state = "open" if takes else "closed"
    by_session = f"where session {late.session} is {state}"
    why = by_session if m.history.sessions else "and sessions are not checked here"
    return posed(
        f"A copy from {late.source} reaches {late.target} with the permit of session "
        f"{late.session}. What does {late.target} do?",
        (TAKES, TURNS_AWAY),
        (TAKES if takes else TURNS_AWAY,),
        f"{late.target} has applied version {known}, {why}.",
        still(timeline, "lanes"),
    )


def versions_of(timeline: Timeline) -> Storage:
    """The model of a timeline; BadInput when it is none of requests under the coordinator."""
    model = timeline.model
    if not isinstance(model, Storage) or model.history.unit != "version":
        raise BadInput("model", model.name, "requests under the coordinator: vnodes, tablet")
    return model


NAMES = "ABCDE"
_TWICE = {**ONE, **AGAIN}
_LATE = {**_TWICE, "operation": "decommission", "late": 1}
_TWO_DOWN = {"edition": "server", "rf": 3, "crashes": 2, "requests": ("K1 write QUORUM",)}


def stays_deleted(timeline: Timeline) -> str | None:
    """The goal that the second attempt has come as far as reads, and nothing is broken."""
    model: Any = timeline.model
    if broken(timeline):
        return "Your run breaks a promise."
    if model.newest(timeline.state).epoch < model.history.epochs[0].epoch + 4:
        return "Your second attempt has not reached write_both_read_new."
    return None


def acknowledged(edition: str, old: list[str], new: list[str], answered: list[str]) -> bool:
    """Counted by hand: in each set, or once in both together."""
    if edition == "documents":
        return all(2 * len({*answered} & {*group}) > len(group) for group in (old, new))
    pending = len({*new} - {*old})
    return len({*answered} & {*old, *new}) >= len(old) // 2 + 1 + pending


def _answers(chance: random.Random) -> Arguments:
    old = sorted(chance.sample(NAMES[:4], 3))
    [leaves] = chance.sample(old, 1)
    [comes] = chance.sample(sorted(set(NAMES) - set(old)), 1)
    new = sorted({*old, comes} - {leaves})
    both = sorted({*old, *new})
    answered = sorted(chance.sample(both, chance.randint(1, len(both))))
    return [chance.choice(["documents", "server"]), old, new, answered]


TASKS = (
    run_task(
        "bring-it-back",
        "the range comes back with its deleted data",
        "X joins, then X leaves again. One safeguard is off (S-41): nodes that lost a range need "
        "not clean it up before the next change. Give a run, as verbs or as a Player, in which a "
        "deletion succeeds and a later read finds the write.",
        "write first, so that B holds the row. Let X's join finish, then delete and collect the "
        "tombstone at X. Then let X leave, and read at B.",
        Ground("vnodes", _TWICE, ("cleanup-first",)),
        breaking("no-resurrection", "no read has found what was deleted."),
    ),
    run_task(
        "wrong-permit",
        "the permit of a closed session",
        "B tries to leave, fails, and tries again. One copy can arrive late. Give a run, as verbs "
        "or as a Player, in which a late copy is rejected, and the second attempt reaches "
        "write_both_read_new, where reads have moved, with every promise kept.",
        "read the copy before the rollback. C must apply the rollback, or the second session, "
        "before the late copy arrives, and C must clean up before it can get the range again.",
        Ground("vnodes", _LATE),
        takes(
            lambda m, step: m.rejects_late(step.before, step.action),
            "In your run, no copy was rejected because of its session.",
        ),
        stays_deleted,
    ),
    run_task(
        "refused-though-alive",
        "refused although enough replicas are up",
        "The rules are those of the published server (edition server), RF is 3, and two replicas "
        "can crash. Give a run, as verbs or as a Player, in which a write fails although a "
        "majority of the old replicas and a majority of the new ones are up.",
        "in write_both_read_old there are four write replicas, one of them pending. How many "
        "answers are needed, and which two can be missing?",
        Ground("vnodes", _TWO_DOWN),
        breaking("available", "no write has failed while a quorum of each set was up."),
    ),
    function_task(
        "acknowledged",
        "two ways to count",
        "Write acknowledged(edition, old, new, answered). `old` and `new` are the replicas of a "
        "range before and after the operation, and `answered` are those that have answered a write "
        "at QUORUM. Return whether the write succeeds. Edition 'documents' needs a majority of "
        "`old` and a majority of `new`. Edition 'server' counts answers over both sets: it needs "
        "a majority of `old`, plus one more answer for each replica that is only in `new`.",
        "for 'documents', count the answers in each set; for 'server', count them once over both "
        "sets.",
        acknowledged,
        (
            ["documents", ["A", "B", "C"], ["B", "C", "D"], ["B", "C"]],
            ["server", ["A", "B", "C"], ["B", "C", "D"], ["B", "C"]],
            ["server", ["A", "B", "C"], ["B", "C", "D"], ["A", "B", "D"]],
            ["documents", ["A", "B", "C"], ["B", "C", "D"], ["A", "B"]],
        ),
        _answers,
    ),
)
