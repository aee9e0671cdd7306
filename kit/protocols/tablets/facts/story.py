"""A run of requests on one tablet as the documents tell one: in numbered steps, late streams named.

Source: Topology over Raft, "Topology guards", its example scenario.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kit.engine.timeline import PassedStep
from kit.protocols.storage.rules.requests import DONE, timestamp
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

FAILS = "roll back to", "give up to"
"""How the events begin with which a transition fails."""
HARM, KEPT = "! ", "✓ "
"""What a line begins with in which a late stream did harm, or was turned away."""


def story(m: Tablet, way: Sequence[PassedStep]) -> tuple[str, ...]:
    """What happened so far: writes that are on all replicas, transitions, and what they left."""
    start = ", ".join(m.history.names(m.history.epochs[0].view.writes))
    lines, whole, begun = [f"The tablet is on {start}."], set[int](), [""]
    for step in way:
        match step.action:
            case Serve() | WriteBack():
                now = {*_everywhere(m, step.after)} - whole
                whole |= now
                lines += (_on_all(m, step.after, number) for number in sorted(now))
            case Commit(verb) if verb.startswith(FAILS):
                late = set(m.late_copies(step.after)) - set(m.late_copies(step.before))
                left = ", ".join(sorted({f"s{each.session}" for each in late}))
                lines.append(f"It fails{f', and leaves a stream behind: {left}' if left else ''}.")
                begun.append("")
            case Commit(verb) if verb.startswith("plan "):
                what = f"{'A' if verb == 'plan repair' else 'The'} {verb.removeprefix('plan ')}"
                lines.append(f"{what} {'is tried again' if what in begun else 'begins'}.")
                begun.append(what)
            case Commit() if begun[-1] and stage_of(m.newest(step.after)) == NO_TRANSITION:
                last = _taken(lines, begun[-1])
                names = ", ".join(m.history.names(m.newest(step.after).view.writes))
                ends = (
                    f"{f'{last} and' if last else begun[-1]} completes: the tablet is on {names}."
                )
                lines.append("The tablet is repaired." if begun[-1] == "A repair" else ends)
                begun.append("")
            case CollectTombstones(replica):
                mark = timestamp(step.before.cells[m.code[replica]])
                number = [request.timestamp for request in step.before.requests].index(mark)
                what = f"The tombstone of {m.title_of(number)} is collected on"
                last = _taken(lines, what)
                lines.append(f"{f'{last},' if last else what} {replica}.")
            case LandLate():
                lines.append(_landed(m, step))
    return tuple(lines)


def _taken(lines: list[str], beginning: str) -> str:
    """The last line, taken off, where it begins so: more is to be said in it; else nothing."""
    return lines.pop().removesuffix(".") if lines[-1].startswith(beginning) else ""


def _everywhere(m: Tablet, s: StorageState) -> Iterator[int]:
    """The mutations that all replicas have, themselves or a later one."""
    oldest = min(timestamp(s.cells[i]) for i in members(m.newest(s).view.written_at))
    for number, request in enumerate(s.requests):
        if m.mutations[number] and 0 < request.timestamp <= oldest:
            yield number


def _on_all(m: Tablet, s: StorageState, number: int) -> str:
    names = ", ".join(m.history.names(m.newest(s).view.written_at))
    does = "deletes {} and" if m.workload[number].kind == "delete" else "of {}"
    title = m.title_of(number).capitalize()
    return f"{title} {does.format(m.row_key)} is on all replicas: {names}."


def _landed(m: Tablet, step: PassedStep) -> str:
    """What a late stream did: brought back what was deleted, changed nothing, or was rejected."""
    before, action = step.before, step.action
    late, to, name = m.late_copy(before, action), action.target, f"s{action.session}"
    asks = zip(m.workload, before.requests, strict=True)
    done = [(r.timestamp, ask.kind) for ask, r in asks if ask.writes and r.phase == DONE]
    mark, kind = max(done, default=(0, ""))
    deleted = kind == "delete" and 0 < timestamp(late.cell) < mark
    if m.rejects_late(before, action):
        stays = f": {m.row_key} stays deleted" if deleted else ""
        return f"{KEPT}{to} rejects {name}, whose session is closed{stays}."
    if before.cells == step.after.cells:
        return f"{name} is applied to {to}, which has nothing to gain from it."
    return (
        f"{HARM}{name} is applied to {to}: {m.row_key} is back."
        if deleted
        else f"{name} is applied to {to}."
    )
