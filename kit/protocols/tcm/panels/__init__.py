"""The panels of the epoch protocol: tables, ring, log, epochs, operations, streams, locks."""

from __future__ import annotations

from kit.protocols.tcm.facts.parts import about
from kit.protocols.tcm.panels.dry_run import DEATHS, PLANNED, TRAFFIC
from kit.protocols.tcm.panels.epochs import EPOCHS
from kit.protocols.tcm.panels.gates import gates
from kit.protocols.tcm.panels.line import LINE
from kit.protocols.tcm.panels.log import LOG
from kit.protocols.tcm.panels.logical import LOGICAL
from kit.protocols.tcm.panels.majorities import MAJORITIES
from kit.protocols.tcm.panels.operation import LOCKS, OPERATION, STREAMS
from kit.protocols.tcm.panels.placement import PLACEMENTS
from kit.protocols.tcm.panels.predict import question
from kit.protocols.tcm.panels.rehearsal import REHEARSAL
from kit.protocols.tcm.panels.ring import RING
from kit.protocols.tcm.panels.runs import RUNS
from kit.protocols.tcm.panels.status import STATUS
from kit.views.promises import LAMPS
from kit.views.registry import Views

# The rehearsal and its parts stand first where they are shown: for somebody's own ring.
VIEWS = Views(
    (
        *(STATUS, REHEARSAL, PLANNED, DEATHS, TRAFFIC),
        *(PLACEMENTS, MAJORITIES, RING, LINE, EPOCHS, OPERATION),
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
)
