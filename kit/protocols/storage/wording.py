"""Requests in words: the line of a scenario file, and who knew what when something happened."""

from __future__ import annotations

from typing import Any

from kit.errors import counted
from kit.protocols.storage.actions import (
    Admit,
    ApplyEpoch,
    Cleanup,
    CollectTombstones,
    Commit,
    Fetch,
    Finish,
    Land,
    LandLate,
    Lose,
    ReplicaCrash,
    Serve,
    Start,
    StorageState,
    Tick,
    TimeOut,
    WriteBack,
)
from kit.protocols.storage.model import Storage
from kit.protocols.storage.rules.cells import NOTHING, is_tombstone, timestamp
from kit.protocols.storage.rules.requests import AT_WORK, DONE, REPAIRING


def verb(model: Storage, action: Any) -> str:
    """The action as a line: ``write 1 at epoch 100``, ``write 1 reaches B``, ``answer write 1``."""
    match action:
        case Start(number, epoch):
            return f"{model.title_of(number)} at {model.history.unit} {epoch}"
        case Admit(number, replica):
            return f"{model.title_of(number)} begins at {replica}"
        case Serve(number, replica):
            return f"{model.title_of(number)} reaches {replica}"
        case WriteBack(number, replica):
            return f"{model.title_of(number)} writes back to {replica}"
        case Lose(number, replica):
            return f"lose {model.title_of(number)} to {replica}"
        case Finish(number):
            return f"answer {model.title_of(number)}"
        case TimeOut(number):
            return f"time out {model.title_of(number)}"
        case Commit(text):
            return str(text)
        case ApplyEpoch(node):
            return f"apply {node}"
        case Fetch() | Land() | LandLate():
            return f"{_streams(action)} {action.source} to {action.target}"
        case Tick():
            return "tick"
        case ReplicaCrash(replica) | Cleanup(replica) | CollectTombstones(replica):
            return f"{type(action).__struct_config__.tag} {replica}"
    raise AssertionError(action)


def _streams(action: Fetch | Land | LandLate) -> str:
    if isinstance(action, LandLate):
        return f"late copy of session {action.session},"
    return "copy" if isinstance(action, Fetch) else "land"


def label(model: Storage, s: StorageState, action: Any) -> str:
    """The text of the action's button."""
    match action:
        case Start(number, _):
            return f"{model.workload[number].coordinator} sends {verb(model, action)}"
        case Commit(_):
            edge, to = model.trails[s.at].edge(action.verb)
            return f"{model.trails[to].newest.epoch}: {edge.title}"
        case ApplyEpoch(node):
            return _applies(model, s, node)
        case Finish(number) if model.success(s, number) and model.write_back(s, number):
            return f"write back what {model.title_of(number)} found"
    return verb(model, action)


def _knows(model: Storage, s: StorageState, node: str) -> int:
    i = model.code[node]
    if i < model.replicas:
        return s.known[i]
    return s.requests[model.serving(s, node)].coordinator_epoch


def _applies(model: Storage, s: StorageState, node: str) -> str:
    index = _knows(model, s, node) + 1
    epoch = model.history.epochs[model.trails[s.at].nodes[index]]
    what = f" ({epoch.title})" if epoch.quiet else ""
    return f"{node} applies {model.called(s, index)}{what}"


def cell_text(model: Storage, s: StorageState, cell: int) -> str:
    """A cell as people speak of it: ``write 1``, ``delete 2``, or ``nothing``."""
    if cell == NOTHING:
        return "nothing"
    number = next(
        (n for n, request in enumerate(s.requests) if request.timestamp == timestamp(cell)), None
    )
    assert number is not None, f"no request has written {cell}"
    return model.title_of(number)


def named_shards(shards: tuple[str, ...]) -> str:
    """The shards that a node uses, as the end of a sentence; nothing where it has no several."""
    return f" on {' and '.join(shards)}" if shards else ""


def describe(model: Storage, before: StorageState, action: Any, after: StorageState) -> str:
    """What happened, and who knew what."""
    match action:
        case Start(number, epoch):
            return _started(model, after, number, epoch)
        case Admit() | Serve() | WriteBack():
            return _served(model, before, action, after)
        case Lose(number, replica):
            return f"The message of {model.title_of(number)} to {replica} is lost."
        case Finish(number):
            return _finished(model, before, number, after)
        case TimeOut(number):
            return f"{model.workload[number].coordinator} gives {model.title_of(number)} up."
        case Commit(_):
            edge = model.edge(before, action)
            reached = model.newest(after)
            called = "" if reached.quiet else f"{model.history.unit.capitalize()} {reached.epoch}: "
            return f"{called}{edge.title}."
        case ApplyEpoch(node):
            return f"{_applies(model, before, node)}."
        case Fetch(source, target):
            held = cell_text(model, before, before.cells[model.code[source]])
            return f"{source} is read for {target}: it holds {held}."
        case Land(_, target):
            held = cell_text(model, after, after.cells[model.code[target]])
            return f"The copy arrives: {target} holds {held}."
        case LandLate():
            return _late(model, before, action)
        case Tick():
            delay = model.request_options.ring_delay
            return f"Time passes: {after.waited} of {counted(delay, 'tick')} of RING_DELAY."
        case ReplicaCrash() | Cleanup() | CollectTombstones():
            return _on_disk(action)
    return verb(model, action)


def _late(model: Storage, before: StorageState, action: LandLate) -> str:
    late = model.late_copy(before, action)
    brings = (
        f"A copy of session {late.session} arrives late, with {cell_text(model, before, late.cell)}"
    )
    if model.lets_in(before, late.target, late.session):
        return f"{brings}: {action.target} takes it."
    return f"{brings}: for {action.target} that session is not open, so it turns the copy away."


def _on_disk(action: ReplicaCrash | Cleanup | CollectTombstones) -> str:
    match action:
        case ReplicaCrash(replica):
            return f"{replica} fails, and what it holds is out of reach."
        case Cleanup(replica):
            return f"{replica} cleans up: nothing of the range is left on its disk."
        case CollectTombstones(replica):
            return f"{replica} collects the tombstone: it no longer knows of the deletion."


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nobody"


def _started(model: Storage, after: StorageState, number: int, epoch: int) -> str:
    ask, targets = model.workload[number], model.history.names(after.requests[number].in_flight)
    latest, unit = model.newest(after).epoch, model.history.unit
    sends = f"sends {model.title_of(number)} to {_names(targets)} and wants {ask.level}."
    if epoch == latest:
        return f"{ask.coordinator}, at {unit} {epoch}, {sends}"
    behind = f"It is at {unit} {epoch} and has not heard of {unit} {latest}."
    return f"{ask.coordinator} {sends} {behind}"


def _served(
    model: Storage, before: StorageState, action: Admit | Serve | WriteBack, after: StorageState
) -> str:
    number, replica = action.request, action.replica
    ask, request = model.workload[number], before.requests[number]
    i, writing = model.code[replica], model.writing(before, number)
    on = named_shards(model.on_shards(before, i, number, write=writing))
    answer = model.answer(before, action)
    message = model.called(before, request.epoch)
    at = f"{replica}, at {model.called(before, before.known[i])},"
    if isinstance(action, Admit) and answer.verdict == "ok":
        return f"{at} begins {model.title_of(number)}."
    if answer.known > before.known[i]:
        at += f" meets a message of {message}, catches up and"
    if answer.verdict == "not-a-member":
        did = f"is no {'write' if writing else 'read'} replica of the range: it answers an error"
    elif answer.verdict == "stale":
        did = f"does not admit a request planned at {message}: it answers an error"
        if before.cells != after.cells:
            did = f"has stored {model.title_of(number)}, but {did.replace('does', 'now does', 1)}"
    elif answer.verdict == "coordinator-behind":
        did = f"knows newer replicas of the range than {message} has: it answers an error"
    elif writing:
        held, brought = model.returned(before, i, number), model.mutation(before, number)
        stale = " but holds something newer" if held > brought else ""
        did = f"takes {cell_text(model, before, brought)}{stale}{on}"
        if held == brought:
            did = f"has {cell_text(model, before, held)} already"
    else:
        did = f"returns {cell_text(model, before, model.returned(before, i, number))}{on}"
    if request.phase not in AT_WORK:
        return f"{at} {did}; the client has its answer already."
    now = after.requests[number].coordinator_epoch
    if now > request.coordinator_epoch:
        did += f"; {ask.coordinator} hears of {model.called(after, now)} and catches up"
    return f"{at} {did}."


def _finished(model: Storage, before: StorageState, number: int, after: StorageState) -> str:
    ask, request, done = model.workload[number], before.requests[number], after.requests[number]
    answered = _names(model.history.names(request.acked))
    who = f"{ask.coordinator}, at {model.called(before, request.coordinator_epoch)},"
    if done.phase == DONE:
        if ask.writes:
            return f"{who} has {answered} and tells its client: {model.title_of(number)} is done."
        return f"{who} {_returned(model, before, number, after)}."
    if done.phase == REPAIRING != request.phase:
        cell = cell_text(model, before, request.newest_seen)
        return (
            f"{who} has {answered} and finds {cell}. Before it answers, it writes that back to "
            f"{_names(model.history.names(done.in_flight))} and waits: "
            f"{_needs(model, after, number)} must hold it."
        )
    valid = _names(model.history.names(model.valid(before, number)))
    judged = (
        f"{who} validates its plan again: of {answered} count {valid}, "
        f"{ask.level} is {_needs(model, before, number)}."
    )
    if done.phase in AT_WORK:
        does = f"sends {model.title_of(number)}"
        if done.phase == REPAIRING:
            does = f"writes {cell_text(model, before, request.newest_seen)} back again"
        return f"{judged} It {does} to those who have not answered."
    return f"{judged} The request fails."


def _needs(model: Storage, s: StorageState, number: int) -> str:
    """What a request's level needs by what its coordinator knows: ``2 of A, B, X``."""
    return "; ".join(
        f"{quota.needed} of {_names(model.history.names(quota.replicas))}"
        for quota in model.wanted(s, number, model.judged_by(s, number))
    )


def _returned(model: Storage, before: StorageState, number: int, after: StorageState) -> str:
    """What a coordinator does when it answers a read: it may repair in that step, or before."""
    request = before.requests[number]
    answered = _names(model.history.names(request.acked))
    cell = cell_text(model, before, request.newest_seen)
    result = f"returns {cell}{' (deleted)' * is_tombstone(request.newest_seen)}"
    if request.phase == REPAIRING:
        return f"knows that {answered} hold {cell} and {result}"
    cells = zip(model.history.replicas, before.cells, after.cells, strict=True)
    repaired = tuple(name for name, had, has in cells if had != has)
    if repaired:
        return f"has {answered}, writes {cell} back to {_names(repaired)} and {result}"
    return f"has {answered} and {result}"
