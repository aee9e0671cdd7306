"""Questions on versions: who refuses an older request, who lets a late copy in.

The model's own rules answer them.
"""

from __future__ import annotations

from kit.engine.timeline import Timeline
from kit.errors import BadInput, KitError
from kit.lessons.questions import PosedQuestion
from kit.lessons.stills import still
from kit.protocols.storage.facts import moment as facts
from kit.protocols.storage.storage import LandLate, Serve, Storage
from kit.views.question import Question

TAKES, TURNS_AWAY = "it takes the copy", "it turns the copy away"


def refusers(timeline: Timeline, request: str) -> PosedQuestion:
    """Which replicas would refuse a request (``write 1``), if its messages reached them now?

    Raises:
        BadInput: when no such request is on its way.
    """
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
    question = Question(
        f"{request.capitalize()} was planned by version {m.epoch(s, s.requests[row.number].epoch)} "
        "and is still on its way. Who refuses it, if it arrives now?",
        tuple(answers),
        refuse,
        f"{said}.",
    )
    return PosedQuestion(question, still(timeline, "replicas"))


def late_copy(timeline: Timeline) -> PosedQuestion:
    """What does its target make of a copy that comes later than its session?

    Raises:
        KitError: when no copy was left behind.
    """
    m, s = versions_of(timeline), timeline.state
    late = next((action for action in m.actions(s) if isinstance(action, LandLate)), None)
    if late is None:
        raise KitError("predict: no copy was left behind")
    takes = m.lets_in(s, m.code[late.target], late.session)
    known = {row.name: row.epoch for row in facts.replicas(m, s)}[late.target]
    state = "open" if takes else "closed"
    by_session = f"by that, session {late.session} is {state}"
    why = by_session if m.history.sessions else "nobody asks for sessions here"
    question = Question(
        f"A copy from {late.source} reaches {late.target} with the permit of session "
        f"{late.session}. What does {late.target} do?",
        (TAKES, TURNS_AWAY),
        (TAKES if takes else TURNS_AWAY,),
        f"{late.target} has applied version {known}; {why}.",
    )
    return PosedQuestion(question, still(timeline, "replicas"))


def versions_of(timeline: Timeline) -> Storage:
    """The model of a timeline, where it must be one of requests under the topology coordinator.

    Raises:
        BadInput: when it is another.
    """
    model = timeline.model
    if not isinstance(model, Storage) or model.history.unit != "version":
        raise BadInput("model", model.name, "requests under the coordinator: vnodes, tablet")
    return model
