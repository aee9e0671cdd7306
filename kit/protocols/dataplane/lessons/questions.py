"""Questions on reads and writes: what is a client told, who still holds what, which answers do?"""

from __future__ import annotations

from itertools import combinations

from kit.engine.registry import one_of
from kit.engine.runs import played_out
from kit.engine.timeline import Timeline
from kit.errors import BadInput, KitError
from kit.lessons.questions import PosedQuestion, copied, model_of
from kit.lessons.stills import scene_of, still
from kit.protocols.dataplane.dataplane import Dataplane
from kit.protocols.storage.facts import moment as facts
from kit.protocols.storage.rules.levels import enough
from kit.protocols.storage.rules.view import mask_of
from kit.views.actions import refusal_text
from kit.views.question import MOST, Question
from kit.views.registry import for_model


def outcome(timeline: Timeline, verb: str) -> PosedQuestion:
    """What comes of a step: what the client is told, what a replica makes of a message.

    ``verb`` names the step, as ``answer read 2`` or ``write 1 reaches B``.

    Raises:
        BadInput: when there is no such step now.
        KitError: when it may not happen, or there is nothing to ask about it.
    """
    ahead = copied(timeline)
    model = ahead.model
    option = model.find(ahead.state, verb)
    if option is None:
        raise BadInput("verb", verb, one_of(verb, [*map(model.verb, model.actions(ahead.state))]))
    action, refusal = option
    if refusal is not None:
        raise KitError(f"predict: {verb} has to wait: {refusal_text(refusal)}")
    ahead.do(action)
    question = for_model(model).question(scene_of(ahead))
    if question is None:
        raise KitError(f"predict: there is nothing to ask about {verb}")
    return PosedQuestion(question, still(ahead, "spacetime"))


def holders(timeline: Timeline, cell: str) -> PosedQuestion:
    """Which replicas hold a cell (``write 1``) now, and can be reached?

    Raises:
        BadInput: when no request writes such a cell.
    """
    m, s = dataplane_of(timeline), timeline.state
    written = [row.title for row in facts.requests(m, s) if not row.title.startswith("read")]
    if cell not in written:
        raise BadInput("cell", cell, one_of(cell, written))
    rows = facts.replicas(m, s)
    lost = [f"{row.name} is down" for row in rows if not row.up]
    question = Question(
        f"On whose disk is {cell} now, within reach?",
        tuple(row.name for row in rows),
        tuple(row.name for row in rows if row.cell == cell and row.up),
        "; ".join([*(f"{row.name} holds {row.cell}" for row in rows), *lost]) + ".",
    )
    return PosedQuestion(question, still(timeline, "replicas"))


def not_owned(timeline: Timeline) -> PosedQuestion:
    """When all is done, whose disk holds data of the range although it is no replica any more?"""
    ahead = played_out(copied(timeline))
    m, s = dataplane_of(ahead), ahead.state
    rows = facts.replicas(m, s)
    question = Question(
        "Everything is carried out to its end. Who holds data of the range and is no replica?",
        tuple(row.name for row in rows),
        tuple(row.name for row in rows if row.not_owned),
        "; ".join(f"{row.name} holds {row.cell}, {row.role}" for row in rows) + ".",
    )
    return PosedQuestion(question, still(ahead, "replicas"))


def enough_answers(timeline: Timeline, request: int = 0) -> PosedQuestion:
    """Which sets of answers are enough for a request that is open?

    Of many sets those nearest to the border are offered.

    Raises:
        KitError: when the request is not open.
    """
    m, s = dataplane_of(timeline), timeline.state
    rows = facts.requests(m, s)
    if not 0 <= request < len(rows) or rows[request].phase != "open":
        raise KitError(f"predict: request {request} is not open")
    row = rows[request]
    group = sorted({name for quota in row.plan for name in quota.replicas})
    wanted = m.wanted(s, request, s.requests[request].epoch)
    sets = [
        names
        for size in range(1, len(group) + 1)
        for names in combinations(group, size)
        if size in _border(len(group))
    ][:MOST]
    good = [names for names in sets if enough(wanted, mask_of(m.code[name] for name in names))]
    needs = " and ".join(f"{quota.needed} of {', '.join(quota.replicas)}" for quota in row.plan)
    question = Question(
        f"{row.title} was sent at epoch {row.planned} to {len(group)} replicas, "
        f"{', '.join(group)}, and wants {row.level}. Which answers are enough?",
        tuple(" ".join(names) for names in sets),
        tuple(" ".join(names) for names in good),
        f"{row.level} of this plan: {needs}.",
    )
    return PosedQuestion(question, still(timeline, "requests"))


def _border(size: int) -> tuple[int, ...]:
    """Sizes of sets about half of a group."""
    return (size // 2, size // 2 + 1)


def dataplane_of(timeline: Timeline) -> Dataplane:
    """The model of a timeline, where it must be one of reads and writes.

    Raises:
        BadInput: when it is another.
    """
    return model_of(timeline, Dataplane, "dataplane, reads and writes of a range")
