"""A run of requests on one tablet as the documents tell one: in numbered steps, late streams named.

Source: Topology over Raft, "Topology guards", its example scenario.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from kit.engine.timeline import PassedStep
from kit.protocols.storage.rules.requests import DONE, NOTHING, timestamp
from kit.protocols.storage.rules.view import members
from kit.protocols.storage.storage import (
    CollectTombstones,
    Commit,
    LandLate,
    Serve,
    StorageState,
    WriteBack,
)
from kit.protocols.tablets.rules.tablet_history import NO_TRANSITION, stage_of
from kit.protocols.tablets.tablet import Tablet

ENDS = "roll back to", "give up to"
"""How the events begin with which a transition fails."""


class StoryStep(Struct, frozen=True):
    """One step in words; ``look``: whether a late stream did harm, or was turned away."""

    words: str
    look: Literal["", "ok", "broken"] = ""


def story(m: Tablet, way: Sequence[PassedStep]) -> tuple[StoryStep, ...]:
    """What happened so far: writes that are on all replicas, transitions, and what they left."""
    start = ", ".join(m.history.names(m.history.epochs[0].view.writes))
    lines, whole, begun = [StoryStep(f"The tablet is on {start}.")], set[int](), [""]
    for step in way:
        match step.action:
            case Serve() | WriteBack():
                for number in _everywhere(m, step.after):
                    if number not in whole:
                        whole.add(number)
                        lines.append(StoryStep(_on_all(m, step.after, number)))
            case Commit(verb) if verb.startswith(ENDS):
                left = ", ".join(_left_behind(m, step))
                behind = f", and leaves a stream behind: {left}" if left else ""
                lines.append(StoryStep(f"It fails{behind}."))
                begun.append("")
            case Commit(verb) if verb.startswith("plan "):
                what = f"{'A' if verb == 'plan repair' else 'The'} {verb.removeprefix('plan ')}"
                again = "is tried again" if what in begun else "begins"
                lines.append(StoryStep(f"{what} {again}."))
                begun.append(what)
            case Commit() if begun[-1] and stage_of(m.newest(step.after)) == NO_TRANSITION:
                names = ", ".join(m.history.names(m.newest(step.after).view.writes))
                ends = (
                    f"{lines[-1].words.removesuffix('.')} and completes: the tablet is on {names}."
                )
                repairs = begun[-1] == "A repair"
                _amend(lines, begun[-1], "The tablet is repaired." if repairs else ends)
                begun.append("")
            case CollectTombstones(replica):
                number = _tombstone(m, step.before, replica)
                what = f"The tombstone of {m.title_of(number)} is collected on"
                same = lines[-1].words.startswith(what)
                on = (
                    f"{lines[-1].words.removesuffix('.')}, {replica}."
                    if same
                    else f"{what} {replica}."
                )
                _amend(lines, what, on)
            case LandLate():
                lines.append(_landed(m, step))
    return tuple(lines)


def _amend(lines: list[StoryStep], beginning: str, words: str) -> None:
    """Say more in the last step if it begins so; else in one of its own."""
    if lines[-1].words.startswith(beginning):
        lines.pop()
    lines.append(StoryStep(words))


def _everywhere(m: Tablet, s: StorageState) -> Iterator[int]:
    """The mutations that all replicas have, themselves or a later one."""
    owners = [*members(m.newest(s).view.written_at)]
    for number, request in enumerate(s.requests):
        mark = request.timestamp
        if m.mutations[number] and 0 < mark <= min(timestamp(s.cells[i]) for i in owners):
            yield number


def _on_all(m: Tablet, s: StorageState, number: int) -> str:
    names = ", ".join(m.history.names(m.newest(s).view.written_at))
    ask, key = m.workload[number], m.row_key
    does = f"deletes {key}" if ask.kind == "delete" else f"of {key}"
    also = " and" * (ask.kind == "delete")
    return f"{m.title_of(number).capitalize()} {does}{also} is on all replicas: {names}."


def _left_behind(m: Tablet, step: PassedStep) -> dict[str, None]:
    """The late streams by name, which are new in a step: each is that of its session."""
    before, after = map(m.late_copies, (step.before, step.after))
    return dict.fromkeys(f"s{late.session}" for late in after if late not in before)


def _tombstone(m: Tablet, s: StorageState, replica: str) -> int:
    stamps = [request.timestamp for request in s.requests]
    return stamps.index(timestamp(s.cells[m.code[replica]]))


def _landed(m: Tablet, step: PassedStep) -> StoryStep:
    """What a late stream did: brought back what was deleted, changed nothing, or was rejected."""
    before, action = step.before, step.action
    late, name = m.late_copy(before, action), f"s{action.session}"
    asks = zip(m.workload, before.requests, strict=True)
    deleted = late.cell != NOTHING and any(
        ask.kind == "delete" and r.phase == DONE and r.timestamp > timestamp(late.cell)
        for ask, r in asks
    )
    if not m.lets_in(before, late.target, late.session):
        stays = f": {m.row_key} stays deleted" if deleted else ""
        return StoryStep(f"{action.target} rejects {name}, whose session is closed{stays}.", "ok")
    if before.cells == step.after.cells:
        return StoryStep(f"{name} is applied to {action.target}, which has something newer.")
    back = f": {m.row_key} is back" if deleted else ""
    return StoryStep(f"{name} is applied to {action.target}{back}.", "broken" if deleted else "")
