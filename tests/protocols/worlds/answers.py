"""A right answer to every exercise of the family."""

from __future__ import annotations

from typing import Any

from kit.engine.registry import build
from kit.engine.timeline import Timeline


def without_c() -> list[str]:
    """C crashes once E gets writes, and the others go on."""
    cluster = {"nodes": 4, "rf": 3, "edition": "server", "crashes": 1}
    join = "bootstrap E --tokens 150"
    timeline = Timeline(build("tcm", {**cluster, "operations": (join,)}))
    model, said = timeline.model, ""
    timeline.do(model.find(timeline.state, join)[0])
    while "finish" not in said:
        if "start" in said:
            timeline.do(model.find(timeline.state, "crash C")[0])
        verbs = {model.verb(action): action for action in model.actions(timeline.state)}
        wanted = next(
            verb
            for kind in ("commit E", "stream", "apply")
            for verb in verbs
            if verb.startswith(kind)
        )
        said = timeline.do(verbs[wanted]).say
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


def is_open(
    world: str, ranges: list[dict[str, list[str]]], members: list[str], answered: list[str]
) -> bool:
    """Everybody, or more than half of each datacenter of each range."""
    if world == "topology":
        return all(name in answered for name in members)
    return all(
        2 * sum(name in answered for name in there) > len(there)
        for replicas in ranges
        for there in replicas.values()
    )


RIGHT: dict[str, Any] = {
    "dies-while-it-joins": without_c,
    "back-in-time": back_in_time,
    "is-it-open": lambda: is_open,
}
