"""The panels of a coordinator alone: you answer for its replicas."""

from __future__ import annotations

from kit.views.frame import LAMPS
from kit.views.registry import Views
from kit.views.storage.asked import REQUESTS
from kit.views.storage.groups import VIEWS as GROUPS
from kit.views.storage.played import ANSWERS
from kit.views.storage.predict import question
from kit.views.storage.spacetime import SPACETIME

VIEWS = Views((ANSWERS, SPACETIME, GROUPS, REQUESTS, LAMPS), question=question)
