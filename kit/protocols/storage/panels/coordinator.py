"""The panels of a coordinator alone: you answer for its replicas."""

from __future__ import annotations

from kit.protocols.storage.facts.named import about
from kit.protocols.storage.panels.groups import VIEWS as GROUPS
from kit.protocols.storage.panels.predict import question
from kit.protocols.storage.panels.request_cards import REQUESTS
from kit.protocols.storage.panels.role_play import ANSWERS
from kit.protocols.storage.panels.spacetime import SPACETIME
from kit.views.promises import LAMPS
from kit.views.registry import Views

VIEWS = Views(
    (ANSWERS, REQUESTS, SPACETIME, GROUPS, LAMPS),
    question=question,
    picture="answers",
    table="requests",
    wide=True,
    named=lambda scene, witness: about(scene.model, witness),
)
