"""The panels of reads and writes: groups by epoch, replicas, requests, a run in space and time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.engine.model import Model
from kit.engine.runs import catch_up, every, suggested
from kit.protocols.storage.facts.named import about
from kit.protocols.storage.panels.gates import gates
from kit.protocols.storage.panels.groups import STATUS
from kit.protocols.storage.panels.groups import VIEWS as GROUPS
from kit.protocols.storage.panels.operations import OPERATIONS
from kit.protocols.storage.panels.predict import question
from kit.protocols.storage.panels.replicas import REPLICAS
from kit.protocols.storage.panels.request_cards import REQUESTS
from kit.protocols.storage.panels.spacetime import SPACETIME
from kit.protocols.storage.storage import Commit, Finish, Serve, Start, WriteBack
from kit.views.actions import Macro
from kit.views.promises import LAMPS
from kit.views.registry import Views


def deliver(model: Model[Any, Any], state: Any) -> Iterator[Any]:
    """Yield every message that can reach its replica."""
    return every(model, state, lambda action: isinstance(action, Serve | WriteBack))


def to_commit(model: Model[Any, Any], state: Any) -> Iterator[Any]:
    """Yield what the model suggests until the next thing is a commit or a new request."""
    first = model.suggest(state)
    for action in suggested(
        model, state, lambda a: isinstance(a, Commit) or (isinstance(a, Start) and a != first)
    ):
        yield action
        if isinstance(action, Finish):
            return


RUNS = (
    (Macro("catch-up", "catch up all"), catch_up),
    (Macro("deliver", "deliver all messages"), deliver),
    (Macro("commit", "run to the next commit"), to_commit),
)
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
