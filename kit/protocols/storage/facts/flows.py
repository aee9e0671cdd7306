"""What travels in a step of requests: messages and answers, epochs, copies of the range.

A request leaves its coordinator when it is sent and is then on its way (``away:``); it arrives, and
is answered, in the step in which the replica gets it. A card of the request stands for its client.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from kit.engine.flows import Flow, FlowKind, FlowTable
from kit.protocols.storage.coordinating import Coordinating
from kit.protocols.storage.coordinator import Coordinator, Reply
from kit.protocols.storage.facts import solo
from kit.protocols.storage.facts.steps import (
    Applied,
    Completed,
    Copied,
    Delivered,
    Happened,
    Sent,
    happened,
)
from kit.protocols.storage.replica import Replica, ReplicaState, Send
from kit.protocols.storage.storage import (
    Admit,
    ApplyEpoch,
    Cleanup,
    CollectTombstones,
    Commit,
    Crash,
    Fetch,
    Finish,
    Land,
    LandLate,
    Lose,
    Serve,
    Start,
    StorageState,
    Tick,
    TimeOut,
    WriteBack,
)


def node(name: str) -> str:
    """The key of a node at the newest moment of its lifeline."""
    return f"n:{name}"


def seat(name: str) -> str:
    """The key of a node in a role play."""
    return f"seat:{name}"


def log(epoch: int) -> str:
    """The key of the line at which an epoch was committed."""
    return f"log:{epoch}"


def away(request: int, replica: str) -> str:
    """The key of a message that has not reached its replica."""
    return f"away:{request}:{replica}"


def copy(source: str, target: str) -> str:
    """The key of a copy that has not arrived."""
    return f"copy:{source}:{target}"


def _of(
    m: Coordinating, before: StorageState, action: Any, after: StorageState
) -> tuple[Flow, ...]:
    return _flows(happened(m, before, action, after), m.history.unit)


def _reply(
    m: Coordinator, before: StorageState, action: Reply, after: StorageState
) -> tuple[Flow, ...]:
    return _seated(_flows((solo.replied(m, before, action, after),), m.history.unit))


def _of_coordinator(
    m: Coordinator, before: StorageState, action: Any, after: StorageState
) -> tuple[Flow, ...]:
    return _seated(_of(m, before, action, after))


def _of_replica(
    m: Replica, before: ReplicaState, action: Any, after: ReplicaState
) -> tuple[Flow, ...]:
    return _seated(_flows(solo.happened(m, before, action, after), m.history.unit))


def _seated(flows: tuple[Flow, ...]) -> tuple[Flow, ...]:
    """The same between the seats of a role play: the last word of a key names who sits there."""
    return tuple(
        replace(flow, from_key=_seat_of(flow.from_key), to_key=_seat_of(flow.to_key))
        for flow in flows
    )


def _seat_of(key: str) -> str:
    what, _, name = key.rpartition(":")
    return seat({"request": "client", "log": "log"}.get(what, name))


def _flows(events: Iterable[Happened], unit: str) -> tuple[Flow, ...]:
    return tuple(flow for event in events for flow in _of_event(event, unit))


def _of_event(event: Happened, unit: str) -> Iterator[Flow]:
    match event:
        case Sent(request, title, coordinator):
            label = f"{event.back} back" if event.back else title
            does = f"writes {label}" if event.back else f"sends {title}"
            for name in event.targets:
                text = f"{coordinator} → {name}: {does}{_at(event.carries, unit)}"
                yield Flow("request", node(coordinator), away(request, name), label, text)
        case Delivered():
            yield from _exchange(event, unit)
        case Completed(request, title, coordinator):
            kind: FlowKind = "answer" if event.ok else "refusal"
            for name in event.repaired:
                text = f"{coordinator} → {name}: writes {event.back} back"
                yield Flow("request", node(coordinator), node(name), f"{event.back} back", text)
            text, leg = f"{coordinator} → client: {title} {event.result}", 1 * bool(event.repaired)
            yield Flow(kind, node(coordinator), f"request:{request}", event.result, text, leg)
        case Applied(name, epoch):
            label = f"{unit} {epoch}"
            yield Flow("entry", log(epoch), node(name), label, f"log → {name}: {label}")
        case Copied(source, target):
            yield _copy(event, source, target)


def _exchange(event: Delivered, unit: str) -> Iterator[Flow]:
    """A message and its answer; who is behind the other adopts its epoch between or after them."""
    asks, replica = node(event.coordinator), node(event.replica)
    there = f"{event.coordinator} → {event.replica}: "
    back = f"{event.replica} → {event.coordinator}: "
    sent = f"{event.title}{_at(event.epoch, unit)}"
    yield Flow("request", asks, replica, event.title, there + sent)
    if event.caught_up:
        label = _epochs(event.had, event.knows, unit)
        yield Flow("entry", asks, replica, label, there + label, 1)
    if event.late:
        return
    if event.error:
        yield Flow("refusal", replica, asks, "error", f"{back}error, {event.error}", 2)
    else:
        yield Flow(
            "answer", replica, asks, event.did, f"{back}{event.did}{_at(event.answers, unit)}", 2
        )
    if event.adopted is not None:
        label = f"{unit} {event.adopted}"
        yield Flow("entry", replica, asks, label, back + label, 3)


def _copy(event: Copied, source: str, target: str) -> Flow:
    """The range is read at its source and is then on its way; later it arrives.

    What comes late shows its permit, and may be turned away for it.
    """
    permit = f"permit of session {event.session}"
    if event.late:
        said = "turned away" if event.refused else f"{event.cell} arrives late"
        text = f"{source} → {target}: {said}, {permit}"
        return Flow(
            "refusal" if event.refused else "data", node(source), node(target), permit, text
        )
    end = node(target) if event.landed else copy(source, target)
    what = f"{event.cell} arrives" if event.landed else f"streams {event.cell}"
    text = f"{source} → {target}: {what}" + f", {permit}" * bool(event.session)
    return Flow("data", node(source), end, event.cell, text)


def _at(epoch: int | None, unit: str) -> str:
    return "" if epoch is None else f", {unit} {epoch}"


def _epochs(had: int, knows: int, unit: str) -> str:
    return f"{unit} {knows}" if knows == had + 1 else f"{unit}s {had + 1} to {knows}"


# A commit is told of no sender here; a message is shown once it is answered; what is lost comes
# nowhere; time, and what happens on one disk, sends nothing.
_TRAVELS = (Start, Serve, WriteBack, Finish, TimeOut, ApplyEpoch, Fetch, Land)
_STILL = (Admit, Commit, Tick, Lose, Crash, Cleanup, CollectTombstones)
STORAGE = FlowTable(dict.fromkeys(_TRAVELS, _of), (*_STILL, LandLate))
WITH_SESSIONS = FlowTable(dict.fromkeys((*_TRAVELS, LandLate), _of), _STILL)
"""The same where streams belong to sessions, and may come late."""
COORDINATOR = FlowTable({Reply: _reply, **dict.fromkeys((Start, Finish, TimeOut), _of_coordinator)})
REPLICA = FlowTable(dict.fromkeys((Send, ApplyEpoch), _of_replica))
