"""The documents' table of failures for a cluster, filled row by row as nodes fail in a run."""

from __future__ import annotations

from kit.errors import counted
from kit.protocols.recovery.facts import failures as facts
from kit.protocols.recovery.facts.failures import MetFailure
from kit.protocols.recovery.failures import Failures, FailuresState
from kit.protocols.recovery.rules.failure_tables import FailureRow
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import bulb, moved, table_part

NO_TABLE = "The documents have tables for one, two and three datacenters of three nodes, RF 3."
NOT_YET = "not met yet"


def _met(scene: Scene) -> tuple[MetFailure, ...]:
    states = [step.after for step in scene.way()]
    first = scene.way()[0].before if scene.way() else scene.state
    return tuple(facts.met_failures(scene.model, [first, *states]))


def _documents(row: FailureRow) -> str:
    said = "possible" if row.schema else "impossible"
    back = f", {row.back} must be back" if row.back else ""
    return f"schema changes {said}{back}; data available; {row.advice}"


def _computed(m: Failures, s: FailuresState) -> str:
    """Schema changes, and the levels at which data are available in every range."""
    [side] = s.sides()
    lines = facts.level_lines(m, s, side)
    names = [each.name for each in lines if each.standing == "available"]
    missing = facts.voters_missing(s)
    back = f", {counted(missing, 'voter')} must be back" if missing else ""
    levels = f"at {', '.join(names)}" if names else "at no level"
    return f"schema changes {facts.schema_changes(s)}{back}; data {levels}"


def _differs(m: Failures, met: MetFailure) -> bool:
    """Whether the documents' words on schema changes, or on data at QUORUM, are not what is."""
    if met.state is None:
        return False
    [side] = met.state.sides()
    lines = facts.level_lines(m, met.state, side)
    data = all(each.standing == "available" for each in lines if each.level == "QUORUM")
    schema = facts.schema_changes(met.state) == "possible"
    return (schema, data) != (met.row.schema, met.row.data)


def draw(scene: Scene) -> Frag:
    """Draw a row for each failure that the documents know: their words, and what is computed."""
    rows = _met(scene)
    if not rows:
        return h("p", NO_TABLE, class_="soft")
    return table_part(
        "failures",
        "Failures: the documents, and this run",
        ("down", "agree", "the documents", "in this run"),
        (_row(scene.model, each) for each in rows),
    )


def _row(m: Failures, met: MetFailure) -> Frag:
    sign, label = ("!", "differs") if _differs(m, met) else ("✓", "agrees")
    computed = NOT_YET if met.state is None else _computed(m, met.state)
    return h(
        "tr",
        h("th", met.row.words, scope="row"),
        h("td", bulb("·", NOT_YET) if met.state is None else bulb(sign, label)),
        h("td", _documents(met.row)),
        h("td", computed),
        k=f"failure:{met.row.failure}:{met.row.least}",
        class_=moved(met.is_now),
    )


def text(scene: Scene) -> str:
    """Write a line for each failure."""
    lines = []
    for met in _met(scene):
        computed = NOT_YET
        if met.state is not None:
            sign = "differs" if _differs(scene.model, met) else "agrees"
            computed = f"{sign}: {_computed(scene.model, met.state)}"
        lines.append(f"  {met.row.words}: the documents: {_documents(met.row)}; {computed}")
    return "\n".join(lines) or f"  {NO_TABLE}"


FAILURES = Panel("failures", "Table of failures", draw, text, tab="Failures")
