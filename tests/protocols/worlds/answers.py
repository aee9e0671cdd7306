"""A right answer to every exercise of the family."""

from __future__ import annotations

from typing import Any

from kit.model.registry import build
from kit.model.timeline import Timeline


def without_c() -> list[str]:
    """C crashes once E gets writes, and the others go on."""
    cluster = {"nodes": 4, "rf": 3, "edition": "server", "crashes": 1}
    join = "bootstrap E --tokens 150"
    timeline = Timeline(build("tcm", {**cluster, "operations": (join,)}))
    model = timeline.model
    timeline.do(model.find(timeline.state, join)[0])
    while len(timeline.state.tcm.events) < 4:
        if len(timeline.state.tcm.events) == 2 and not timeline.state.tcm.down:
            timeline.do(model.find(timeline.state, "crash C")[0])
        verbs = {model.verb(action): action for action in model.actions(timeline.state)}
        wanted = next(
            verb
            for kind in ("commit E", "stream", "apply")
            for verb in verbs
            if verb.startswith(kind)
        )
        timeline.do(verbs[wanted])
    return [model.verb(action) for action in timeline.actions()]


def back_in_time() -> list[str]:
    """C dies and is back before anybody gives the barrier up."""
    cluster = {"nodes": 4, "edition": "server", "crashes": 1, "operations": ("join E",)}
    timeline = Timeline(build("topology", cluster))
    model = timeline.model
    while timeline.state.topology.transition != "write_both_read_old":
        timeline.forward()
    for verb in ("crash C", "restart C"):
        timeline.do(model.find(timeline.state, verb)[0])
    while timeline.state.topology.nodes[4].state != "normal":
        timeline.forward()
    return [model.verb(action) for action in timeline.actions()]


RIGHT: dict[str, Any] = {"dies-while-it-joins": without_c, "back-in-time": back_in_time}
