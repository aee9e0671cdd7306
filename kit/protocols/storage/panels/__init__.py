"""The panels of reads and writes: lanes over epochs, their groups, a run in space and time."""

import re
from collections.abc import Iterator
from itertools import compress, count
from typing import Any

from kit.errors import counted
from kit.model.model import Model
from kit.model.timeline import catch_up, every, suggested
from kit.protocols.storage import facts
from kit.protocols.storage.events import Completed, Delivered, EpochCommitted
from kit.protocols.storage.facts import about
from kit.protocols.storage.panels.groups import STATUS
from kit.protocols.storage.panels.groups import VIEWS as GROUPS
from kit.protocols.storage.panels.lanes import LANES
from kit.protocols.storage.panels.spacetime import SPACETIME
from kit.protocols.storage.rules.conditions import AllKnow, MajorityKnows
from kit.protocols.storage.storage import Commit, Finish, Serve, Start, Storage, WriteBack
from kit.views.actions import Macro
from kit.views.gate import Gate
from kit.views.panel import Scene
from kit.views.promises import LAMPS
from kit.views.question import Question
from kit.views.registry import Views


def gates(scene: Scene) -> Iterator[Gate]:
    """Yield a gate for each barrier that counts replicas before an event that may be the next."""
    m, s = scene.model, scene.state
    newest, number = len(m.views(s)) - 1, count()
    conditions = ((edge, condition) for edge in m.newest(s).edges for condition in edge.conditions)
    for edge, condition in conditions:
        several = sum(isinstance(each, MajorityKnows | AllKnow) for each in edge.conditions) > 1
        if isinstance(condition, MajorityKnows | AllKnow) and condition.age <= newest:
            replicas = m.history.names(condition.replicas)
            where = "its range" if len(replicas) > 1 else ", ".join(replicas)
            missing = tuple(m.history.replicas[i] for i in condition.missing(s, newest))
            yield Gate(
                f"barrier:{next(number)}",
                m.label(s, Commit(edge.verb)),
                f"applied {m.history.unit} {m.epoch(s, newest) - condition.age}",
                tuple(name for name in replicas if name not in missing),
                missing,
                condition.needed if isinstance(condition, MajorityKnows) else len(replicas),
                where=where if several else "",
            )


def question(scene: Scene) -> Question | None:
    """Ask what a client is told, and which groups a committed epoch changes."""
    if scene.action is None:
        return None
    [*_, event] = scene.model.happened(scene.before, scene.action, scene.state) or (None,)
    if isinstance(event, Completed):
        return _answer(scene, event)
    if isinstance(event, Delivered) and event.epoch not in (None, event.had):
        return meeting(event, scene.say)
    return _groups(scene, event) if isinstance(event, EpochCommitted) else None


def meeting(met: Delivered, because: str) -> Question:
    """The question what a replica makes of a message of another epoch than its own."""
    choices = ("it catches up first", "it does what it was asked", "it answers with an error")
    does = choices[2] if met.error else choices[1]
    by = "without an epoch" if met.epoch is None else f"planned at epoch {met.epoch}"
    return Question(
        f"{met.replica} knows epoch {met.had} and gets a {met.title.split()[0]} {by}. "
        "What does it do?",
        choices,
        (choices[0], does) if met.caught_up else (does,),
        because,
    )


def _answer(scene: Scene, event: Completed) -> Question:
    model, before = scene.model, scene.before
    offered = ["done", "failed"]
    if not model.workload[event.request].writes:
        held = sorted({row.cell for row in facts.replicas(model, before)} | {"nothing"})
        offered = [*(f"returned {cell}" for cell in held), "failed"]
    if event.result not in offered:
        offered.append(event.result)
    row = facts.requests(model, before)[event.request]
    group = sorted({name for quota in row.plan for name in quota.replicas})
    return Question(
        f"{event.coordinator} knows {model.history.unit} {event.epoch}. It sent {event.title} "
        f"to {counted(len(group), 'replica')} ({', '.join(group)}) at level {row.level} and has "
        f"answers from {', '.join(row.answered) or 'nobody'}. What does it tell its client?",
        tuple(offered),
        (event.result,),
        scene.say,
    )


def _groups(scene: Scene, event: EpochCommitted) -> Question:
    *_, before, now = facts.epochs(scene.model, scene.state)
    groups = "the read group", "the write group"
    changed = now.reads != before.reads, now.writes != before.writes
    return Question(
        f"Next: {event.unit} {event.epoch}, {event.title}. Which groups of the range change?",
        groups,
        tuple(compress(groups, changed)),
        f"{event.unit.capitalize()} {event.epoch}: reads go to {', '.join(now.reads)}; "
        f"writes go to {', '.join(now.writes)}.",
    )


def deliver(model: Model[Any, Any], state: Any) -> Iterator[Any]:
    """Yield every message that can reach its replica."""
    return every(model, state, lambda action: isinstance(action, Serve | WriteBack))


def to_commit(model: Model[Any, Any], state: Any) -> Iterator[Any]:
    """Yield what the model suggests until the next thing is a commit or a new request."""
    first = model.suggest(state)
    for action in suggested(
        model, state, lambda a: isinstance(a, Commit) or (isinstance(a, Start) and a != first)
    ):
        yield action
        if isinstance(action, Finish):
            return


def by_epoch(scene: Scene) -> Iterator[str]:
    """Who is written to and read from by the epoch that a step tells of, and who is behind."""
    m, s = scene.model, scene.state
    named = re.search(r"(epoch|version) (\d+)", scene.say, re.IGNORECASE)
    rows = [row for row in facts.epochs(m, s) if named and row.epoch == int(named[2])]
    if named and len(rows) == 1:  # quiet events share their number
        writes, reads = ", ".join(rows[0].writes), ", ".join(rows[0].reads)
        yield f"By {named[1].lower()} {named[2]}, writes go to {writes}, and reads ask {reads}."
    if isinstance(m, Storage):
        yield from (f"{row.name} is {row.behind} behind" for row in facts.replicas(m, s))


RUNS = (
    (Macro("catch-up", "catch up all"), catch_up),
    (Macro("deliver", "deliver all messages"), deliver),
    (Macro("commit", "run to the next commit"), to_commit),
)
VIEWS = Views(
    (STATUS, LANES, GROUPS, SPACETIME, LAMPS),
    RUNS,
    question,
    evidence=("spacetime",),
    picture="lanes",
    table="views",
    badges="status",
    gates=gates,
    named=lambda scene, witness: about(scene.model, witness),
    facts=by_epoch,
)
