"""The panels of the epoch protocol: tables, ring, log, epochs, operations, streams, locks."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from kit.errors import counted
from kit.model.model import Model
from kit.model.timeline import catch_up, suggested
from kit.protocols.tcm.facts.moment import about, keyspaces, rows
from kit.protocols.tcm.panels.dry_run import DEATHS, PLANNED, REHEARSAL, TRAFFIC
from kit.protocols.tcm.panels.operation import EPOCHS, LOCKS, MOST_NODES, OPERATION, STREAMS, gates
from kit.protocols.tcm.panels.placement import PLACEMENTS, question
from kit.protocols.tcm.panels.ring import RING
from kit.protocols.tcm.panels.tables import LOG, LOGICAL, MAJORITIES, STATUS
from kit.views.actions import Macro
from kit.views.panel import Scene
from kit.views.promises import LAMPS
from kit.views.registry import Views


def to_barrier(model: Model[Any, Any], state: Any) -> Iterator[Any]:
    """Yield what the model suggests until the next thing to do is a commit, or nothing is."""
    return suggested(model, state, lambda action: model.kind(action) in ("commit", "begin"))


def only(scene: Scene) -> Iterator[str]:
    """Who is only written to, or only read from, by the epoch that a step tells of."""
    m, named = scene.model, re.search(r"[Ee]poch (\d+)", scene.say)
    if named and len(m.names) <= MOST_NODES and len(keyspaces(m)) == 1:
        table = rows(m, scene.state, at=int(named[1]))
        written = Counter(name for row in table for name in {*row.writes} - {*row.reads})
        read = Counter(name for row in table for name in {*row.reads} - {*row.writes})
        for what, count in {"written": written, "read": read}.items():
            said = (f"{name} in {counted(count[name], 'range')}" for name in sorted(count))
            yield f"only {what}: {', '.join(said) or 'nobody'}"


RUNS = (
    (Macro("catch-up", "catch up all"), catch_up),
    (Macro("barrier", "run to the barrier"), to_barrier),
)
# The rehearsal and its parts stand first where they are shown: for somebody's own ring.
VIEWS = Views(
    (
        *(STATUS, REHEARSAL, PLANNED, DEATHS, TRAFFIC),
        *(PLACEMENTS, MAJORITIES, RING, EPOCHS, OPERATION),
        *(LOG, LAMPS, STREAMS, LOCKS, LOGICAL),
    ),
    RUNS,
    question,
    evidence=("placements",),
    picture="ring",
    table="rehearsal",  # where it is not shown, the first that is: the placements
    badges="status",
    gates=gates,
    named=lambda scene, witness: about(scene.model, scene.state, witness),
    offered=("begin", "stream", "commit", "cancel"),
    facts=only,
)
