"""Each step of a run in one line: who sent what to whom, and which epoch went with it."""

from __future__ import annotations

from collections.abc import Iterator

from kit.engine.breaches import Breach
from kit.protocols.storage.events import (
    Applied,
    Completed,
    Copied,
    Delivered,
    DiskEvent,
    EpochCommitted,
    Happened,
    Sent,
)
from kit.protocols.storage.storage import Finish
from kit.views.panel import Scene


def events(scene: Scene) -> Iterator[tuple[int, Happened]]:
    """Yield every step on the way with its number (from 0), and what it was."""
    for i, step in enumerate(scene.way()):
        for event in scene.model.happened(step.before, step.action, step.after):
            yield i, event


def wrong_answers(scene: Scene) -> dict[int, Breach]:
    """What was broken by the answer to a request, by the request's number."""
    return {
        breach.action.request: breach
        for breach in scene.breaches()
        if isinstance(breach.action, Finish)
    }


def at(epoch: int | None) -> str:
    """An epoch as it is written on an arrow; messages may carry none."""
    return "no epoch" if epoch is None else f"@{epoch}"


def line(event: Happened) -> str:
    """Write one step, short enough for a list."""
    match event:
        case Sent():
            return _sent(event)
        case Delivered():
            return _met(event)
        case Completed():
            return _completed(event)
        case EpochCommitted():
            return f"{event.unit} {event.epoch} is committed: {event.title}"
        case Applied():
            return f"{event.node} applies {event.epoch}"
        case Copied() if event.late:
            does = "turns away" if event.refused else "takes"
            return f"{event.target} {does} {event.cell} of {event.source}, session {event.session}"
        case Copied():
            word = "arrives from" if event.landed else "is read at"
            where = f"{word} {event.source}" + ("" if event.landed else f" {at(event.epoch)}")
            return f"copy for {event.target} {where}: {event.cell}"
        case DiskEvent():
            return f"{event.replica} {event.what}"


def _sent(event: Sent) -> str:
    """A request on its way, or what a read writes back."""
    again = " again" if event.again else ""
    way = f"{at(event.carries)} to {', '.join(event.targets) or 'nobody'}"
    if event.back:
        return f"{event.coordinator}, {event.title}: writes {event.back} back{again} {way}"
    return f"{event.coordinator} sends {event.title}{again} {way}"


def _completed(event: Completed) -> str:
    """An answer to a client, with the replica plan that it rests on."""
    sign = "✓" if event.ok else "✗"
    plan = "; ".join(
        f"{len(quota.counted)} of {quota.needed} needed of {', '.join(quota.replicas)}"
        for quota in event.plan
    )
    result = f"{event.coordinator} at {event.epoch} {sign} {event.title}: {event.result}"
    back = f", written back to {', '.join(event.repaired)}" if event.repaired else ""
    return f"{result}{back} (plan: {plan})" if plan else f"{result}{back}"


def _met(event: Delivered) -> str:
    """A message, what its replica made of it, and what the coordinator learned."""
    caught = f", catches up {event.had}→{event.knows}" if event.caught_up else ""
    knew = f" (at {event.had}{caught})"
    answer = f"✗ error, {event.error}" if event.error else event.did
    learns = ""
    if event.adopted:
        learns = f"; {event.coordinator} catches up to {event.adopted} from {event.replica}"
    late = "; too late" if event.late else f"; answer {at(event.answers)}{learns}"
    return f"{event.title} {at(event.epoch)} → {event.replica}{knew}: {answer}{late}"
