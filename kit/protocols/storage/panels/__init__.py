"""The panels of reads and writes: groups by epoch, replicas, requests, a run in space and time."""

from __future__ import annotations

from kit.protocols.storage.facts.named import about
from kit.protocols.storage.panels.gates import gates
from kit.protocols.storage.panels.groups import VIEWS as GROUPS
from kit.protocols.storage.panels.operations import OPERATIONS
from kit.protocols.storage.panels.predict import question
from kit.protocols.storage.panels.replicas import REPLICAS
from kit.protocols.storage.panels.request_cards import REQUESTS
from kit.protocols.storage.panels.runs import RUNS
from kit.protocols.storage.panels.spacetime import SPACETIME
from kit.protocols.storage.panels.status import STATUS
from kit.views.promises import LAMPS
from kit.views.registry import Views

VIEWS = Views(
    (STATUS, SPACETIME, REPLICAS, GROUPS, REQUESTS, OPERATIONS, LAMPS),
    RUNS,
    question,
    evidence=("spacetime",),
    picture="spacetime",
    table="replicas",
    badges="status",
    gates=gates,
    wide=True,
    named=lambda scene, witness: about(scene.model, witness),
)
