"""The panels of the epoch protocol: tables, ring, log, epochs, operations, streams, locks."""

from __future__ import annotations

from kit.views.frame import LAMPS
from kit.views.registry import Views
from kit.views.tcm.epochs import EPOCHS
from kit.views.tcm.line import LINE
from kit.views.tcm.log import LOG
from kit.views.tcm.logical import LOGICAL
from kit.views.tcm.operation import LOCKS, OPERATION, STREAMS
from kit.views.tcm.placement import PLACEMENTS
from kit.views.tcm.predict import question
from kit.views.tcm.rehearsal import DEATHS, PLANNED, TRAFFIC
from kit.views.tcm.ring import RING
from kit.views.tcm.runs import RUNS
from kit.views.tcm.status import STATUS

# The rehearsal's panels stand first where they are shown: for somebody's own ring.
VIEWS = Views(
    (
        *(STATUS, PLANNED, DEATHS, TRAFFIC),
        *(PLACEMENTS, RING, LINE, EPOCHS, OPERATION, LOG, LAMPS, STREAMS, LOCKS, LOGICAL),
    ),
    RUNS,
    question,
)
