"""Questions on a step that is still hidden. Every answer is computed from the model.

A question is a function of a timeline (and of what it asks about). It looks ahead on a copy, so
that what the learner sees stays where it is. Anyone may write another: what it returns is an
:class:`Asked`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from kit.check import check
from kit.errors import BadInput, KitError
from kit.lessons.stills import Still, cluster_of, scene_of, still
from kit.registry import build, entry_of, one_of
from kit.tcm import facts
from kit.tcm.cluster import TcmCluster
from kit.tcm.rules_steps import SENTENCES, SHAPES
from kit.timeline import Timeline
from kit.views.frame import refusal_text
from kit.views.question import Question
from kit.views.registry import for_model

SHOWN_BROKEN = ("placements", "spacetime", "lamps")
ASKED_ABOUT = ("begin", "stream", "commit", "cancel")


class Asked(Struct, frozen=True):
    """A question with its answer, and a picture of the moment that settles it."""

    question: Question
    evidence: Still | None = None


def changes(timeline: Timeline) -> Asked:
    """Whose replicas does the next epoch change?

    Raises:
        KitError: when no epoch comes next.
    """
    ahead = copied(timeline)
    ahead.to_milestone()
    scene = scene_of(ahead)
    question = None if ahead.now.milestone is None else for_model(ahead.model).question(scene)
    if question is None:
        raise KitError("predict: nothing comes next that this question could be about")
    tables = [panel.name for panel in for_model(ahead.model).panels if panel.name == "placements"]
    return Asked(question, still(ahead, *tables))


def allowed(timeline: Timeline, *kinds: str) -> Asked:
    """Which of the actions that one could think of may happen now?

    ``kinds`` are groups of actions (``commit``, ``stream``, …); left out, all but the nodes' own.

    Raises:
        KitError: when there is nothing to choose from.
    """
    model, state = timeline.model, timeline.state
    wanted = kinds or ASKED_ABOUT
    free = [model.label(state, a) for a in model.actions(state) if model.kind(a) in wanted]
    barred = {
        model.label(state, a): refusal_text(why)
        for a, why in model.waiting(state)
        if model.kind(a) in wanted
    }
    if not free and not barred:
        raise KitError("predict: nobody could think of doing anything here")
    reasons = [f"{label}: {why}" for label, why in barred.items()]
    return Asked(
        Question(
            "Which of these may happen now?",
            tuple(sorted({*free, *barred})),
            tuple(dict.fromkeys(free)),
            " ".join([f"Possible now: {_listed(free)}.", *reasons]),
        )
    )


def barrier(timeline: Timeline) -> Asked:
    """How many replicas of a range must have applied the last epoch before the next step?

    It asks about the first range of the first operation under way.

    Raises:
        KitError: when no step waits for anybody.
    """
    m, s = cluster_of(timeline), timeline.state
    found = [(row, one) for row in facts.operations(m, s) for one in row.barriers]
    if not found:
        raise KitError("predict: no step waits at a barrier here")
    operation, row = found[0]
    coming = next(step.text for step in operation.steps if step.status == "next")
    where = f"{row.label} in {row.dc}" if row.dc else row.label
    counts = range(1, len(row.replicas) + 1)
    question = Question(
        f"Next step: {coming} ({operation.title}). The old and new replicas of {where} are "
        f"{_listed(row.replicas)}. How many of them must have applied epoch {row.epoch} first?",
        tuple(str(n) for n in counts),
        (str(row.needed),),
        f"{row.needed} of {len(row.replicas)}: "
        + "; ".join(f"{n} applied, {_met(n, row.needed)}" for n in counts)
        + ".",
    )
    return Asked(question, still(timeline, "epochs"))


def _met(count: int, needed: int) -> str:
    return "the step may be committed" if count >= needed else "the step waits"


def readers(timeline: Timeline, token: int) -> Asked:
    """Which nodes answer reads of a token now?"""
    return _serving(timeline, token, "reads")


def writers(timeline: Timeline, token: int) -> Asked:
    """Which nodes get the writes of a token now?"""
    return _serving(timeline, token, "writes")


def _serving(timeline: Timeline, token: int, side: str) -> Asked:
    m, s = cluster_of(timeline), timeline.state
    row = facts.owners(m, s, token)
    group: tuple[str, ...] = getattr(row, side)
    question = Question(
        f"Epoch {facts.epoch(m, s)}. A key has token {token}. Which nodes are in the group that "
        f"{'answers its reads' if side == 'reads' else 'gets its writes'}?",
        tuple(node.name for node in facts.nodes(m, s)),
        group,
        f"Token {token} lies in {row.label}: {side} go to {_listed(group)}.",
    )
    return Asked(question, still(timeline, "placements"))


def events(timeline: Timeline) -> Asked:
    """Which steps will the next operation commit, each in an epoch of its own?

    Raises:
        KitError: when no operation comes next.
    """
    m = cluster_of(timeline)
    ahead = copied(timeline)
    known = len(facts.log(m, ahead.state))
    while ahead.forward() is not None:
        pass
    log = facts.log(m, ahead.state)[known:]
    if not log:
        raise KitError("predict: no operation comes next here")
    ours = [line for line in log if line.operation == log[0].operation]
    offered = [SENTENCES[name] for name, _ in SHAPES[m.parameters.shape]]
    texts = tuple(line.text for line in ours)
    question = Question(
        f"The operation: {log[0].operation}. Which of these steps will it commit?",
        tuple(dict.fromkeys([*offered, *texts])),
        texts,
        "; ".join(f"epoch {line.epoch}: {line.text}" for line in ours) + ".",
    )
    return Asked(question, still(ahead, "log"))


def sources(timeline: Timeline) -> Asked:
    """From which nodes will the operation that is under way, or comes next, stream data?

    Raises:
        KitError: when none streams anything.
    """
    m = cluster_of(timeline)
    ahead = copied(timeline)
    while not _streams(m, ahead.state):
        if ahead.forward() is None:
            raise KitError("predict: nothing is streamed here")
    streams = _streams(m, ahead.state)
    givers = tuple(dict.fromkeys(name for row in streams for name in row.sources))
    title = facts.operations(m, ahead.state)[0].title
    question = Question(
        f"The operation: {title}. Which nodes send data?",
        tuple(node.name for node in facts.nodes(m, ahead.state)),
        givers,
        "; ".join(f"{r.label}: {_listed(r.sources)} to {r.target}" for r in streams) + ".",
    )
    return Asked(question, still(ahead, "streams"))


def _streams(m: TcmCluster, s: Any) -> tuple[facts.StreamRow, ...]:
    return tuple(row for operation in facts.operations(m, s) for row in operation.streams)


def breaks(timeline: Timeline, safeguard: str) -> Asked:
    """Which property breaks first when a safeguard is switched off?

    The answer is the shortest run that breaks one, found by search in the safeguard's smallest
    configuration.

    Raises:
        BadInput: for a safeguard that the model does not have.
        KitError: when no run breaks anything.
    """
    entry = entry_of(timeline.model.name)
    known = {word: guard for guard in entry.safeguards for word in (guard.name, guard.id)}
    if safeguard not in known:
        raise BadInput("safeguard", safeguard, one_of(safeguard, list(known)))
    guard = known[safeguard]
    run = Timeline(build(entry.name, dict(guard.smallest), (guard.name,)))
    violation = check(run.model).violation
    if violation is None:
        raise KitError(f"predict: without {guard.id} no run breaks any property")
    for action in violation.actions:
        run.do(action)
    broken = [lamp for lamp in run.lamps() if not lamp.ok]
    verbs = _listed(run.model.verb(action) for action in violation.actions)
    question = Question(
        f"{guard.id} is off: “{guard.title}”. Which property breaks first?",
        tuple(lamp.title for lamp in run.lamps()),
        tuple(lamp.title for lamp in broken),
        f"The shortest run that breaks one: {verbs}. "
        + " ".join(f"{lamp.title}: {lamp.witness}." for lamp in broken),
    )
    panels = [panel.name for panel in for_model(run.model).panels]
    return Asked(question, still(run, *(name for name in SHOWN_BROKEN if name in panels)))


def copied(timeline: Timeline) -> Timeline:
    """The same way to the same moment, to look ahead from."""
    copy = Timeline(timeline.model, timeline.script)
    for moment in timeline.path(timeline.at)[1:]:
        copy.do(timeline.moments[moment].action)
    return copy


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words) or "nothing"
