"""What a scenario file shows of a moment: a few lines of plain text, short enough for a slide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kit.errors import BadInput
from kit.protocols.storage.events import QuotaRow
from kit.protocols.storage.facts import moment as facts
from kit.protocols.storage.facts.moment import RequestRow
from kit.protocols.storage.storage import Storage, StorageState


def replicas(m: Storage, s: StorageState, name: str) -> str:
    """What each replica knows, does and holds (one of them, when it is named)."""
    if name and name not in m.history.replicas:
        raise BadInput("replica", name, "one of " + ", ".join(m.history.replicas))
    lines = []
    for row in facts.replicas(m, s):
        notes = [row.role, f"holds {row.cell}"]
        notes += [_not_owned(m)] * row.not_owned
        notes += ["down"] * (not row.up)
        if name in ("", row.name):
            lines.append(f"{row.name} at {m.history.unit} {row.epoch}: {', '.join(notes)}")
    return "\n".join(lines)


def _not_owned(m: Storage) -> str:
    what = "not cleaned up yet" if m.cleaning else "nothing cleans it up by itself"
    return f"data not owned: {what}"


def requests(m: Storage, s: StorageState, _: str) -> str:
    """Where each request stands."""
    return "\n".join(f"{row.title}: {_stands(row)}" for row in facts.requests(m, s))


def _stands(row: RequestRow) -> str:
    late = f"; still on its way to {', '.join(row.on_the_way)}" if row.on_the_way else ""
    if row.phase != "open":
        return f"{row.result or row.phase}{late}"
    plan = "; ".join(map(_quota, row.plan))
    judged = "" if row.valid or not row.enough else "; the plan is no longer valid"
    back = f"writes {row.writes_back} back; " if row.writes_back else ""
    now = f"planned at {row.planned}, {row.coordinator} knows {row.knows}"
    return f"{back}{now}; {plan}{judged}{late}"


def _quota(quota: QuotaRow) -> str:
    counted = ",".join(quota.counted) or "nobody"
    return f"{quota.needed} of {','.join(quota.replicas)} needed, answered: {counted}"


def views(m: Storage, s: StorageState, _: str) -> str:
    """The range's groups at each epoch, and who knows which one."""
    return "\n".join(
        f"{row.epoch}: reads {','.join(row.reads)}; writes {','.join(row.writes)}"
        + (f"; known to {','.join(row.knows)}" if row.knows else "")
        for row in facts.epochs(m, s)
    )


def log(m: Storage, s: StorageState, _: str) -> str:
    """Every committed epoch."""
    rows = facts.epochs(m, s)[1:]
    return "\n".join(f"{row.epoch}: {row.title}" for row in rows) or "nothing is committed"


OUTPUT: dict[str, Callable[[Any, Any, str], str]] = {
    "replicas": replicas,
    "requests": requests,
    "views": views,
    "log": log,
}
