"""Which steps of a run broke a promise: what a lamp said once stays marked in pictures of runs."""

from __future__ import annotations

from msgspec import Struct

from kit.protocols.storage.actions import Finish
from kit.views.panel import Scene


class Broken(Struct, frozen=True):
    """Step ``step`` of the way (from 0) was the first to break the promise ``title``.

    ``request`` is the number of the request that was answered in it, if one was.
    """

    step: int
    title: str
    witness: str
    request: int | None


def broken(scene: Scene) -> tuple[Broken, ...]:
    """The first step to break each promise, in the order of steps."""
    model = scene.model
    judging = [prop for prop in model.properties if prop.kind == "step"]
    found: dict[str, Broken] = {}
    for i, one in enumerate(scene.way()):
        told = [(p.title, p.check(one.before, one.action, one.after)) for p in judging]
        told += [
            (monitor.title, monitor.verdict(memory))
            for monitor, memory in zip(model.monitors, one.memories, strict=False)
        ]
        for title, witness in told:
            if witness is not None and title not in found:
                number = one.action.request if isinstance(one.action, Finish) else None
                found[title] = Broken(i, title, witness, number)
    return tuple(found.values())
