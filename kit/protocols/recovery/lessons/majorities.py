"""Questions and tables on clusters with nodes down: what can still be done, who must be back."""

from __future__ import annotations

from typing import Any

from kit.edge.arguments import checked
from kit.engine.timeline import Timeline
from kit.errors import BadInput, KitError
from kit.lessons.questions import PosedQuestion, listed
from kit.lessons.stills import still
from kit.protocols.group0.rules.voters import majority
from kit.protocols.recovery.facts import failures as facts
from kit.protocols.recovery.failures import Failures
from kit.protocols.recovery.rules.failure_tables import FAILURES, JudgedFailure, judged
from kit.views.question import Question
from kit.views.static import Sheet, sign

SCHEMA = "schema changes"
MOST_DATACENTERS = max(row.datacenters for row in FAILURES)


def still_possible(timeline: Timeline) -> PosedQuestion:
    """What can still be done with the nodes that are up?

    Raises:
        KitError: when the timeline is not of model ``failures``, or nodes are cut off.
    """
    m, s = _failed(timeline)
    if s.apart:
        raise KitError("predict: nodes are cut off; ask this question on one side alone")
    lines = facts.level_lines(m, s, s.up)
    right = [f"data at {line.name}" for line in lines if line.standing == "available"]
    if facts.schema_changes(s) == "possible":
        right.insert(0, SCHEMA)
    down = facts.down(m, s)
    votes = (s.up & s.voters).bit_count()
    return PosedQuestion(
        Question(
            f"Down: {listed(down)}. What is still possible, for every range?",
            (SCHEMA, *(f"data at {line.name}" for line in lines)),
            tuple(right),
            f"{votes} of {s.voters.bit_count()} voters are up, and it takes "
            f"{majority(s.voters.bit_count())} to change the schema. For data each range counts "
            "its own replicas.",
        ),
        still(timeline, "nodes", "ranges"),
    )


def must_return(timeline: Timeline) -> PosedQuestion:
    """How many nodes have to come back before the schema can be changed?

    Raises:
        KitError: when the timeline is not of model ``failures``, or no node is down.
    """
    m, s = _failed(timeline)
    down = facts.down(m, s)
    if not down:
        raise KitError("predict: no node is down")
    missing = facts.voters_missing(s)
    return PosedQuestion(
        Question(
            f"Down: {listed(down)}. How many voters must be back before the schema can be changed?",
            tuple(map(str, range(len(down) + 1))),
            (str(missing),),
            f"{s.voters.bit_count()} vote, so that it takes {majority(s.voters.bit_count())}; "
            f"up: {(s.up & s.voters).bit_count()}.",
        ),
        still(timeline, "nodes"),
    )


def votes_now(timeline: Timeline) -> PosedQuestion:
    """Which nodes vote now?

    Raises:
        KitError: when the timeline is not of model ``failures``.
    """
    m, s = _failed(timeline)
    names = m.named(s.voters)
    every = "Every member votes." if s.voters == m.everybody else "At most five nodes vote."
    return PosedQuestion(
        Question("Which nodes vote now?", m.names, names, f"{every} Now: {listed(names)}."),
        still(timeline, "nodes"),
    )


@checked
def failures_table(datacenters: int) -> Sheet:
    """The documents' table for so many datacenters of three nodes, beside what is computed.

    Raises:
        BadInput: when the documents have no table for it.
    """
    rows = [row for row in FAILURES if row.datacenters == datacenters]
    if not rows:
        raise BadInput("datacenters", datacenters, f"1 to {MOST_DATACENTERS}")
    return Sheet(
        f"{datacenters} × 3 nodes, RF 3: the documents, and every failure that a row means, tried",
        ("down", "schema changes, documents", "computed", "must be back, documents", "computed",
         "data, documents", "computed: not always at"),
        tuple(_row(judged(row)) for row in rows),
    )  # fmt: skip


def _row(each: JudgedFailure) -> tuple[str, ...]:
    row = each.row
    unmet = [line for line in each.data if line.standing != "available"]
    levels = dict.fromkeys(line.level for line in unmet)
    agrees = each.schema == ("always" if row.schema else "never")
    return (
        row.words,
        "possible" if row.schema else "impossible",
        f"{sign(agrees)} {each.schema}",
        str(row.back),
        f"{sign(each.back == row.back)} {each.back}",
        "available" if row.data else "unavailable",
        f"{sign(not levels)} {listed(levels)}",
    )


@checked
def orders_table(datacenters: int) -> Sheet:
    """For each row of a table: whether group 0 has its majority, by who votes and who dies when.

    Raises:
        BadInput: when the documents have no table for so many datacenters.
    """
    rows = [row for row in FAILURES if row.datacenters == datacenters]
    if not rows:
        raise BadInput("datacenters", datacenters, f"1 to {MOST_DATACENTERS}")
    truths = [judged(row) for row in rows]
    return Sheet(
        f"{datacenters} × 3 nodes: does group 0 have its majority?",
        ("down", "all vote", "five vote: all at once", "five vote: one after another"),
        tuple((each.row.words, each.schema, each.at_once, each.in_turn) for each in truths),
    )


def _failed(timeline: Timeline) -> tuple[Failures, Any]:
    if not isinstance(timeline.model, Failures):
        raise KitError("predict: this question is about the model failures")
    return timeline.model, timeline.state


def sides_possible(timeline: Timeline) -> PosedQuestion:
    """Of two sides of a cut, which can change the schema, and which has data at QUORUM?

    Raises:
        KitError: when the timeline is not of model ``failures``, or nobody is cut off.
    """
    m, s = _failed(timeline)
    if not s.apart:
        raise KitError("predict: nobody is cut off")
    choices: list[str] = []
    right: list[str] = []
    for side in s.sides():
        names = ", ".join(m.named(side)) or "nobody"
        able = {SCHEMA: s.may_commit(side)} | {
            f"data at {line.name}": line.standing == "available"
            for line in facts.level_lines(m, s, side)
            if line.level in ("QUORUM", "LOCAL_QUORUM")
        }
        choices += [f"{names}: {what}" for what in able]
        right += [f"{names}: {what}" for what, holds in able.items() if holds]
    return PosedQuestion(
        Question(
            f"{', '.join(m.named(s.apart))} cannot reach the others. What is possible where?",
            tuple(choices),
            tuple(right),
            f"{majority(s.voters.bit_count())} of {s.voters.bit_count()} voters are needed for the "
            "schema; data count the replicas of each range that a side reaches.",
        ),
        still(timeline, "nodes", "ranges"),
    )
