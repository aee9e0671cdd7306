"""The panels of reads and writes: groups by epoch, replicas, requests, a run in space and time."""

from __future__ import annotations

from kit.views.frame import LAMPS
from kit.views.registry import Views
from kit.views.storage.asked import REQUESTS
from kit.views.storage.groups import VIEWS as GROUPS
from kit.views.storage.operations import OPERATIONS
from kit.views.storage.predict import question
from kit.views.storage.replicas import REPLICAS
from kit.views.storage.runs import RUNS
from kit.views.storage.spacetime import SPACETIME
from kit.views.storage.status import STATUS

VIEWS = Views(
    (STATUS, SPACETIME, REPLICAS, GROUPS, REQUESTS, OPERATIONS, LAMPS),
    RUNS,
    question,
)
