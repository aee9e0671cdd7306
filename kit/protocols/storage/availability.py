"""What a coordinator of versions and fences adds to the promises: answers while nodes live.

Source: Topology over Raft, ``left_token_ring`` and ``fence_version``; CEP-21, "Goals", on
availability.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from kit.engine.model import Property, step
from kit.protocols.storage.actions import Admit, LandLate, Serve, StorageState, TimeOut, WriteBack
from kit.protocols.storage.model import Storage
from kit.protocols.storage.rules.levels import enough, quotas
from kit.protocols.storage.rules.masks import holds


def available(model: Storage) -> Property:
    """No request fails for want of answers while a quorum of its replicas lives.

    Its replicas are those of its plan, before and after the move. Where all of today's live, it
    fails neither for nodes that the operation shut down since it was planned. A request that a
    replica refused is not judged: its client asks again by a newer plan.
    """
    return step(
        "available",
        "A quorum that lives is enough to be answered",
        partial(_answerable, model),
        "INV-AVAIL",
        on=(TimeOut,),
    )


def fenced(model: Storage) -> Property:
    """No replica does what a request below the fence that it knows asks."""
    return step(
        "fenced",
        "A request below the fence has no effect",
        partial(_kept_out, model),
        "INV-FENCE",
        on=(Admit, Serve, WriteBack),
    )


def under_session(model: Storage) -> Property:
    """What comes late changes nothing where its session is not the one that is known as open."""
    return step(
        "session",
        "What streams works under an open session only",
        partial(_permitted, model),
        "INV-SESSION",
        on=(LandLate,),
    )


def _permitted(
    model: Storage, before: StorageState, action: Any, after: StorageState
) -> str | None:
    if not isinstance(action, LandLate) or before.cells == after.cells:
        return None
    trail, i = model.trails[before.at], model.code[action.target]
    if model.history.epochs[trail.nodes[before.known[i]]].session == action.session:
        return None
    return (
        f"{action.target}, at {model.called(before, before.known[i])}, takes a copy with the "
        f"permit of session {action.session}, which is not open there"
    )


def _kept_out(model: Storage, before: StorageState, action: Any, after: StorageState) -> str | None:
    """A replica's fence bars requests of so many epochs before the one that it knows.

    What began before the replica knew the fence may be stored, but is not counted (Q-46).
    """
    if not isinstance(action, Admit | Serve | WriteBack):
        return None
    i, request = model.code[action.replica], before.requests[action.request]
    known = before.known[i]
    fence = model.views(before)[known].fence
    answered = after.requests[action.request].acked & ~request.acked
    if fence is None or request.epoch >= known - fence:
        return None
    begins = isinstance(action, Admit) and model.begun(after, action.request, action.replica)
    began = model.begun(before, action.request, action.replica)
    stored = before.cells != after.cells and not began
    if not (begins or stored or holds(answered, i)):
        return None
    return (
        f"{action.replica} admits {model.title_of(action.request)}, planned by "
        f"{model.called(before, request.epoch)}, though it knows the fence "
        f"{model.epoch(before, known - fence)}"
    )


def _answerable(
    model: Storage, before: StorageState, action: Any, after: StorageState
) -> str | None:
    """A request that is stuck has lost the quorum of the old or of the new replicas before."""
    if not isinstance(action, TimeOut):
        return None
    number, request = action.request, before.requests[action.request]
    views, live = model.views(before), ~before.down
    view, today = views[request.epoch], views[-1]
    refused = view.group(model.writing(before, number)) & ~(request.acked | request.in_flight)
    if refused or request.in_flight & live:
        return None
    ask, home = model.workload[number], model.home(number)
    own = quotas("QUORUM", view.old_replicas, model.dcs, home)
    own += quotas("QUORUM", view.new_replicas, model.dcs, home)
    dead = model.history.epochs[model.trails[before.at].nodes[request.epoch]].dead
    shut_down = model.newest(before).dead & ~dead
    left = not today.writes & ~live and not request.in_flight & ~shut_down
    if not (left or (ask.level == "QUORUM" and enough(own, live))):
        return None
    return (
        f"{model.title_of(number)} fails at level {ask.level}: of the replicas of "
        f"{model.called(before, request.epoch)} "
        f"{', '.join(model.history.names(request.in_flight & before.down))} cannot answer, though "
        f"{', '.join(model.history.names((view.writes | today.writes) & live))} live"
    )
