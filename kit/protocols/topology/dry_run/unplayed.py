"""What a dump may hold that is known and that no model of this family plays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from kit.protocols.topology.dry_run.opening import UNTOLD, OpenedTopology
from kit.protocols.topology.rules.columns import SystemTopology
from kit.protocols.topology.rules.states import GLOBAL_REQUEST, NODE_REQUESTS, transition_state

NotModelled = Literal["not modelled"]
NOT_MODELLED: NotModelled = "not modelled"


def is_played(kind: str) -> bool:
    """Whether requests of this kind are played."""
    known = GLOBAL_REQUEST.get(kind)
    return kind in NODE_REQUESTS or (known is not None and known.played)


def not_modelled(opened: OpenedTopology) -> Iterator[str]:
    """States and requests that are known, and not played here."""
    yield from unplayed_states(opened.table)
    for request in opened.requests:
        kind = request.request_type or UNTOLD
        if not request.done and not is_played(kind) and kind != UNTOLD:
            yield f"request {kind}"


def unplayed_states(table: SystemTopology) -> Iterator[str]:
    """What has to end before anything begins: no request is served before the upgrade is done."""
    state = transition_state(table.transition_state or "")
    if state is not None and not state.played:
        yield f"transition state {state.name}"
    if table.upgrade_state not in (None, "done"):
        yield f"upgrade state {table.upgrade_state}"
