"""A step that commits, as the run of model ``commit`` that brings its event into the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kit.model.timeline import PassedStep
from kit.protocols.tcm.facts import moment as facts
from kit.search.zoom import FinerRun

MEMBERS, MOST_NODES = 3, 7
"""As many nodes that are up all the time are taken for the CMS, one of fewer; as many nodes can be
in the finer model.
"""


def committed_by(m: Any, way: Sequence[PassedStep]) -> FinerRun | None:
    """The submissions of all events so far; the last one is that of the last step, if it commits.

    An operator is no node: what one asks for, the first member submits. Nodes that have no part in
    this are left out.
    """
    commits = [step for step in way if len(step.after.tcm.events) > len(step.before.tcm.events)]
    if not commits or commits[-1] is not way[-1]:
        return None
    down = {name for step in way for name in step.after.tcm.down}
    steady = tuple(name for name in m.tcm.present(way[0].before.tcm) if name not in down)
    if not steady:
        return None
    members = steady[: MEMBERS if len(steady) >= MEMBERS else 1]
    drivers = [m.tcm.submitter(step.before.tcm, step.action.action) for step in commits]
    submitters = [driver or members[0] for driver in drivers]
    names = tuple(dict.fromkeys((*members, *submitters)))
    if len(names) > MOST_NODES:
        return None
    rows = facts.log(m, way[-1].after)
    contacts = [node if node in members else members[0] for node in submitters]
    events = [
        f"{row.operation.title}: {row.text} at {node} to {member}"
        for row, node, member in zip(rows, submitters, contacts, strict=True)
    ]
    count = len(rows)
    here = "" if rows[-1].epoch == count else f" (the cluster's epoch {rows[-1].epoch})"
    return FinerRun(
        "commit",
        {
            "nodes": len(names),
            "given_names": names,
            "members": len(members),
            "events": tuple(events),
        },
        "append",
        count,
        f"submit r{count} {contacts[-1]}",
        f"How epoch {count}{here} gets into the log, with {', '.join(members)} as the CMS",
    )
